// A random MPI program: makes a list of actions from a seed, which every rank derives alike, and goes through it. A
// rank takes part where it is a member of the communicator or was chosen by the seed. As all ranks keep the same order,
// the program has no deadlock. Its I/O does not depend on timing: files are never shorter than FILE_BYTES while they
// are open, and reads stay below. With --print it prints the list instead; with --only it does these actions alone.
#include "common.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What OMPIO of Open MPI 4 cannot do: groups that open one file at the same time get in each other's way, and a file
// has mixed up state after MPI_File_preallocate.
#ifdef OPEN_MPI
enum { HAS_OMPIO = true };
#else
enum { HAS_OMPIO = false };
#endif

enum {
    COMMS = 8,
    FILES = 4,
    PATHS = 64,
    REQUESTS = 64,
    ACTIONS_MAX = 4096,
    FILE_BYTES = 16384,
    PLACE = 1024,   // offsets of transfers are below: in the part of a rank, or in its view
    TRANSFER = 512, // largest size
    WORLD = 0,
    SELF = 1
};

struct comm_slot {
    bool used;
    int serial;             // of all communicators
    MPI_Comm comm;          // MPI_COMM_NULL: not a member
    int rank, size, leader; // leader: its first rank, in MPI_COMM_WORLD
};

struct path {
    bool by_group; // each group of the communicator has its own
    int serial;    // of the communicator
    int open;      // handles
};

struct file_slot {
    bool used;
    int path, comm_serial, etype_bytes;
    bool is_divided; // by a view
    MPI_File file;   // MPI_FILE_NULL: not a member
    int rank, size;
};

struct program {
    struct example example;
    long long seed, actions;
    const char *only;
    bool print;
    bool is_on[ACTIONS_MAX];

    // of the current action
    int number;
    uint64_t random;
    bool runs;
    struct comm_slot *on;
    struct file_slot *file;

    struct comm_slot comm[COMMS];
    int comm_serials;
    struct file_slot files[FILES];
    struct path path[PATHS];
    int paths;
    int posix[PATHS]; // actions that made files of single ranks
    int posixes;
    MPI_Request request[REQUESTS];
    int requests;
    FILE *notes;
    char data[REQUESTS + 1][2 * TRANSFER]; // one per request, and one for all else
};

static uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

// A number below `bound` that follows from the action; different for each `what`.
static int draw(const struct program *p, int what, int bound) {
    return (int)(mix(p->random + (uint64_t)what * 0x9e3779b97f4a7c15u) % (uint64_t)bound);
}

enum { BY_RANK = 1000 }; // what a rank draws for itself is different for each rank

static int draw_own(const struct program *p, int what, int bound) {
    return draw(p, what + BY_RANK * (p->example.rank + 1), bound);
}

static bool is_chosen(const struct program *p) { return p->runs && draw_own(p, 1, 2); }

static int size_of_transfer(const struct program *p) { return 4 * (1 + draw_own(p, 2, TRANSFER / 4)); }

static char *memory(struct program *p) { return p->data[REQUESTS]; }

// --- communicators

static struct comm_slot *free_comm(struct program *p) {
    for (int i = SELF + 1; i < COMMS; i++) {
        if (!p->comm[i].used) return &p->comm[i];
    }
    return NULL;
}

static void describe(struct comm_slot *slot) {
    MPI_Group group, world;
    int first = 0;
    if (slot->comm == MPI_COMM_NULL) return;
    MUST(MPI_Comm_rank(slot->comm, &slot->rank));
    MUST(MPI_Comm_size(slot->comm, &slot->size));
    MUST(MPI_Comm_group(slot->comm, &group));
    MUST(MPI_Comm_group(MPI_COMM_WORLD, &world));
    MUST(MPI_Group_translate_ranks(group, 1, &first, world, &slot->leader));
    MUST(MPI_Group_free(&group));
    MUST(MPI_Group_free(&world));
}

static struct comm_slot *add_comm(struct program *p) {
    struct comm_slot *slot = free_comm(p);
    if (slot) *slot = (struct comm_slot){.used = true, .serial = p->comm_serials++, .comm = MPI_COMM_NULL};
    return slot;
}

static void act_split(struct program *p) {
    struct comm_slot *slot = add_comm(p);
    int colors = 1 + draw(p, 4, 3), color = draw_own(p, 5, colors + 1) - 1;
    if (!slot || !p->runs || p->on->comm == MPI_COMM_NULL) return;
    MUST(MPI_Comm_split(p->on->comm, color < 0 ? MPI_UNDEFINED : color, draw_own(p, 6, 10), &slot->comm));
    describe(slot);
}

static void act_dup(struct program *p) {
    struct comm_slot *slot = add_comm(p);
    if (!slot || !p->runs || p->on->comm == MPI_COMM_NULL) return;
    MUST(MPI_Comm_dup(p->on->comm, &slot->comm));
    describe(slot);
}

// Every rank but one of each group, or every other rank; only these call.
static void act_create_group(struct program *p) {
    struct comm_slot *slot = add_comm(p);
    if (!slot || !p->runs || p->on->comm == MPI_COMM_NULL) return;
    MPI_Group all, some;
    int member[64], count = 0, left_out = draw(p, 4, p->on->size), every_other = draw(p, 5, 2);
    for (int i = p->on->size; i-- > 0;) {
        if (every_other ? (i + left_out) % 2 : i != left_out) member[count++] = i;
    }
    bool is_member = every_other ? (p->on->rank + left_out) % 2 : p->on->rank != left_out;
    if (!is_member) return;
    MUST(MPI_Comm_group(p->on->comm, &all));
    MUST(MPI_Group_incl(all, count, member, &some));
    MUST(MPI_Comm_create_group(p->on->comm, some, p->number, &slot->comm));
    MUST(MPI_Group_free(&some));
    MUST(MPI_Group_free(&all));
    describe(slot);
}

// Its files may stay open.
static void act_free(struct program *p) {
    if (p->on <= &p->comm[SELF]) return;
    if (p->runs && p->on->comm != MPI_COMM_NULL) MUST(MPI_Comm_free(&p->on->comm));
    p->on->used = false;
}

// --- files

static char *path_of(const struct program *p, int path, const struct comm_slot *on) {
    char name[32];
    bool by_group = p->path[path].by_group;
    snprintf(name, sizeof name, by_group ? "part%d" : "file%d", path);
    return example_path(&p->example, name, by_group ? on->leader : -1);
}

static int new_path(struct program *p, bool by_group) {
    p->path[p->paths] = (struct path){.by_group = by_group, .serial = p->on->serial};
    return p->paths++;
}

static bool may_share(const struct program *p) { return !HAS_OMPIO || p->on == &p->comm[WORLD]; }

static void world_barrier(const struct program *p) {
    if (p->runs) MUST(MPI_Barrier(MPI_COMM_WORLD));
}

// A file of the same communicator again, or one that all groups share, by other ranks; or -1.
static int old_path(struct program *p) {
    int start = draw(p, 7, PATHS);
    for (int i = 0; i < p->paths; i++) {
        int path = (start + i) % p->paths;
        if (p->path[path].serial == p->on->serial) return path;
        if (p->path[path].by_group || !may_share(p)) continue;
        world_barrier(p);
        return path;
    }
    return -1;
}

// What the first rank does alone, so that it is known whether there is a file.
static void look_first(struct program *p, const char *path) {
    int found = 0;
    MPI_File file;
    if (p->on->rank == 0 && MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS) {
        found = 1;
        MUST(MPI_File_read_at(file, 0, memory(p), 64, MPI_BYTE, MPI_STATUS_IGNORE));
        MUST(MPI_File_close(&file));
    }
    MUST(MPI_Bcast(&found, 1, MPI_INT, 0, p->on->comm));
}

static void write_header(struct program *p, const char *path) {
    if (p->on->rank == 0) {
        int fd = open(path, O_WRONLY | O_CREAT, 0644);
        must(fd >= 0, path);
        must(write(fd, memory(p), 100) == 100, "write");
        must(close(fd) == 0, "close");
    }
    MUST(MPI_Barrier(p->on->comm));
}

static void open_file(struct program *p, struct file_slot *slot, bool look, bool header) {
    char *path = path_of(p, slot->path, p->on);
    if (look) look_first(p, path);
    if (header) write_header(p, path);
    slot->rank = p->on->rank;
    slot->size = p->on->size;
    MUST(MPI_File_open(p->on->comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &slot->file));
    MUST(MPI_File_set_size(slot->file, FILE_BYTES));
    free(path);
}

static void act_open(struct program *p) {
    struct file_slot *slot = p->files;
    while (slot < p->files + FILES && slot->used) slot++;
    if (slot == p->files + FILES || p->paths == PATHS) return;
    bool by_group = draw(p, 4, 3) || !may_share(p), again = draw(p, 5, 3) == 0;
    int path = again ? old_path(p) : -1;
    bool is_alone = path >= 0 || by_group; // another group cannot make it at the same time
    if (path < 0) path = new_path(p, by_group);
    p->path[path].open++;
    *slot = (struct file_slot){.used = true, .path = path, .comm_serial = p->on->serial, .etype_bytes = 1};
    slot->file = MPI_FILE_NULL;
    if (!p->runs || p->on->comm == MPI_COMM_NULL) return;
    open_file(p, slot, is_alone && draw(p, 6, 3) == 0, draw(p, 8, 4) == 0);
}

static void act_open_missing(struct program *p) {
    MPI_File file;
    if (!p->runs || p->on->comm == MPI_COMM_NULL) return;
    char *path = example_path(&p->example, "missing", p->number);
    must(MPI_File_open(p->on->comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS, path);
    free(path);
}

static void complete(struct program *p) {
    MPI_Status status[REQUESTS];
    if (p->requests) MUST(MPI_Waitall(p->requests, p->request, status));
    p->requests = 0;
}

static void close_file(struct program *p, struct file_slot *slot) {
    if (slot->file != MPI_FILE_NULL) {
        complete(p);
        MUST(MPI_File_close(&slot->file));
    }
    p->path[slot->path].open--;
    slot->used = false;
}

static void act_close(struct program *p) { close_file(p, p->file); }

// Without the barriers it could be seen by some and not by others.
static void act_delete(struct program *p) {
    if (p->paths == 0) return;
    int number = draw(p, 4, p->paths);
    struct path *path = &p->path[number];
    bool is_group = path->by_group && path->serial == p->on->serial;
    struct comm_slot *on = path->by_group ? p->on : &p->comm[WORLD];
    if (path->open || (path->by_group && !is_group) || !p->runs || on->comm == MPI_COMM_NULL) return;
    char *name = path_of(p, number, on);
    MUST(MPI_Barrier(on->comm));
    if (on->rank == 0) MPI_File_delete(name, MPI_INFO_NULL); // it may be gone already
    MUST(MPI_Barrier(on->comm));
    free(name);
}

// --- collective calls on files; those that change its view or size need that all requests are complete

static bool has_file(const struct program *p) { return p->runs && p->file->file != MPI_FILE_NULL; }

// A place in the rank's own part, as an offset in its view: what ranks write together must not overlap.
static MPI_Offset place_at(const struct program *p, MPI_Offset bytes) {
    MPI_Offset part = p->file->is_divided ? 0 : p->file->rank * 2 * PLACE;
    return (part + bytes) / p->file->etype_bytes;
}

static MPI_Offset place(const struct program *p) { return place_at(p, 4 * draw_own(p, 3, PLACE / 4)); }

// A view that gives each rank its blocks, or the whole file.
static MPI_Datatype view_type(const struct program *p, MPI_Datatype etype, int count, int etype_bytes) {
    const struct file_slot *file = p->file;
    MPI_Datatype type, vector;
    if (draw(p, 6, 3) == 1) {
        MUST(MPI_Type_vector(2, count, count * file->size, etype, &vector));
        MUST(MPI_Type_create_resized(vector, 0, (MPI_Aint)2 * count * etype_bytes * file->size, &type));
        MUST(MPI_Type_free(&vector));
    } else {
        int sizes[2] = {4, count * file->size}, part[2] = {4, count}, start[2] = {0, 0};
        MUST(MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, etype, &type));
    }
    MUST(MPI_Type_commit(&type));
    return type;
}

static void act_view(struct program *p) {
    struct file_slot *file = p->file;
    int etype_bytes = draw(p, 4, 2) ? 4 : 1, count = (4 << draw(p, 5, 5)) / etype_bytes;
    MPI_Datatype etype = etype_bytes == 4 ? MPI_INT : MPI_BYTE, type = etype;
    if (!has_file(p)) return;
    complete(p);
    file->etype_bytes = etype_bytes;
    file->is_divided = draw(p, 6, 3);
    MPI_Offset displacement = file->is_divided ? (MPI_Offset)count * etype_bytes * file->rank : 0;
    if (file->is_divided) type = view_type(p, etype, count, etype_bytes);
    MUST(MPI_File_set_view(file->file, displacement, etype, type, "native", MPI_INFO_NULL));
    if (file->is_divided) MUST(MPI_Type_free(&type));
}

static void act_write_at_all(struct program *p) {
    if (!has_file(p)) return;
    MUST(MPI_File_write_at_all(p->file->file, place(p), memory(p), size_of_transfer(p), MPI_BYTE, MPI_STATUS_IGNORE));
}

static void act_read_at_all(struct program *p) {
    if (!has_file(p)) return;
    MUST(MPI_File_read_at_all(p->file->file, place(p), memory(p), size_of_transfer(p), MPI_BYTE, MPI_STATUS_IGNORE));
}

static void act_write_all(struct program *p) {
    if (!has_file(p)) return;
    MUST(MPI_File_seek(p->file->file, place(p), MPI_SEEK_SET));
    MUST(MPI_File_write_all(p->file->file, memory(p), size_of_transfer(p), MPI_BYTE, MPI_STATUS_IGNORE));
}

static void act_read_all(struct program *p) {
    if (!has_file(p)) return;
    MUST(MPI_File_seek(p->file->file, place(p), MPI_SEEK_SET));
    MUST(MPI_File_read_all(p->file->file, memory(p), size_of_transfer(p), MPI_BYTE, MPI_STATUS_IGNORE));
}

static void act_split_write(struct program *p) {
    if (!has_file(p)) return;
    MUST(MPI_File_write_at_all_begin(p->file->file, place(p), memory(p), size_of_transfer(p), MPI_BYTE));
    example_work(draw_own(p, 4, 500));
    MUST(MPI_File_write_at_all_end(p->file->file, memory(p), MPI_STATUS_IGNORE));
}

static void act_split_read(struct program *p) {
    if (!has_file(p)) return;
    MUST(MPI_File_read_at_all_begin(p->file->file, place(p), memory(p), size_of_transfer(p), MPI_BYTE));
    MUST(MPI_File_read_at_all_end(p->file->file, memory(p), MPI_STATUS_IGNORE));
}

// Shared pointers need the same view on all ranks.
static void act_write_ordered(struct program *p) {
    if (!has_file(p)) return;
    complete(p);
    p->file->is_divided = false;
    MUST(MPI_File_set_view(p->file->file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    p->file->etype_bytes = 1;
    MUST(MPI_File_write_ordered(p->file->file, memory(p), size_of_transfer(p), MPI_BYTE, MPI_STATUS_IGNORE));
    if (draw(p, 4, 2)) return;
    MUST(MPI_File_seek_shared(p->file->file, 4 * draw(p, 5, PLACE / 4), MPI_SEEK_SET));
    MUST(MPI_File_read_ordered(p->file->file, memory(p), size_of_transfer(p), MPI_BYTE, MPI_STATUS_IGNORE));
}

static void act_set_size(struct program *p) {
    if (!has_file(p)) return;
    complete(p);
    MUST(MPI_File_set_size(p->file->file, FILE_BYTES * (1 + draw(p, 4, 3))));
}

static void act_preallocate(struct program *p) {
    if (HAS_OMPIO || !has_file(p)) return;
    complete(p);
    MUST(MPI_File_preallocate(p->file->file, FILE_BYTES * (1 + draw(p, 4, 2))));
}

static void act_sync(struct program *p) {
    if (!has_file(p)) return;
    complete(p);
    MUST(MPI_File_sync(p->file->file));
}

// --- calls of single ranks on files

static void act_write_at(struct program *p) {
    if (!has_file(p) || !is_chosen(p)) return;
    for (int i = 0; i <= draw_own(p, 4, 3); i++)
        MUST(MPI_File_write_at(p->file->file, place_at(p, i * TRANSFER), memory(p), size_of_transfer(p), MPI_BYTE,
                               MPI_STATUS_IGNORE));
}

static void act_read_at(struct program *p) {
    if (!has_file(p) || !is_chosen(p)) return;
    MUST(MPI_File_read_at(p->file->file, place(p), memory(p), size_of_transfer(p), MPI_BYTE, MPI_STATUS_IGNORE));
}

static void act_write(struct program *p) {
    if (!has_file(p) || !is_chosen(p)) return;
    MPI_Datatype type; // memory with gaps
    MUST(MPI_Type_vector(1 + draw_own(p, 4, TRANSFER / 8), 4, 8, MPI_BYTE, &type));
    MUST(MPI_Type_commit(&type));
    MUST(MPI_File_seek(p->file->file, place(p), MPI_SEEK_SET));
    MUST(MPI_File_write(p->file->file, memory(p), 1, type, MPI_STATUS_IGNORE));
    MUST(MPI_Type_free(&type));
}

// Several at once, each with memory of its own; completed later.
static void act_iwrite(struct program *p) {
    if (!has_file(p) || !is_chosen(p)) return;
    for (int i = 0; i <= draw_own(p, 4, 3) && p->requests < REQUESTS; i++, p->requests++)
        MUST(MPI_File_iwrite_at(p->file->file, place_at(p, i * TRANSFER), p->data[p->requests], size_of_transfer(p),
                                MPI_BYTE, &p->request[p->requests]));
}

static void act_iread(struct program *p) {
    if (!has_file(p) || !is_chosen(p) || p->requests == REQUESTS) return;
    MUST(MPI_File_iread_at(p->file->file, place(p), p->data[p->requests], size_of_transfer(p), MPI_BYTE,
                           &p->request[p->requests]));
    p->requests++;
}

static void act_complete(struct program *p) {
    if (!is_chosen(p)) return;
    while (draw_own(p, 4, 2) && p->requests) MUST(MPI_Wait(&p->request[--p->requests], MPI_STATUS_IGNORE));
    complete(p);
}

// Files of their own; some write, sync and read, others write only.
static void act_posix(struct program *p) {
    if (p->posixes == PATHS) return;
    p->posix[p->posixes++] = p->number;
    if (!is_chosen(p)) return;
    char *path = example_path(&p->example, "own", p->number * p->example.ranks + p->example.rank);
    int fd = open(path, O_RDWR | O_CREAT, 0644), bytes = size_of_transfer(p);
    must(fd >= 0, path);
    for (int i = 0; i <= draw_own(p, 4, 5); i++) must(write(fd, memory(p), (size_t)bytes) == bytes, "write");
    if (draw_own(p, 5, 4) == 0) must(fsync(fd) == 0, "fsync");
    if (draw_own(p, 6, 2)) must(pread(fd, memory(p), (size_t)bytes, 0) == bytes, "pread");
    must(close(fd) == 0, "close");
    free(path);
}

// Of some action; ranks that did not take part in it find nothing.
static void act_unlink(struct program *p) {
    if (p->posixes == 0 || !is_chosen(p)) return;
    int number = p->posix[draw(p, 4, p->posixes)];
    char *path = example_path(&p->example, "own", number * p->example.ranks + p->example.rank);
    if (access(path, F_OK) == 0) must(unlink(path) == 0, path);
    free(path);
}

static void act_stdio(struct program *p) {
    if (!is_chosen(p)) return;
    if (!p->notes) {
        char *path = example_path(&p->example, "notes", p->example.rank);
        p->notes = fopen(path, "w");
        must(p->notes != NULL, path);
        free(path);
    }
    for (int i = 0; i <= draw_own(p, 4, 4); i++) must(fwrite(memory(p), 4, 20, p->notes) == 20, "fwrite");
    if (draw_own(p, 5, 2)) must(fprintf(p->notes, "action %d\n", p->number) > 0, "fprintf");
    if (draw_own(p, 6, 2)) must(fflush(p->notes) == 0, "fflush");
}

// --- communication

static bool has_comm(const struct program *p) { return p->runs && p->on->comm != MPI_COMM_NULL; }

static void act_barrier(struct program *p) {
    if (has_comm(p)) MUST(MPI_Barrier(p->on->comm));
}

static void act_ibarrier(struct program *p) {
    MPI_Request request;
    if (!has_comm(p)) return;
    MUST(MPI_Ibarrier(p->on->comm, &request));
    example_work(draw_own(p, 4, 300));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void act_bcast(struct program *p) {
    if (has_comm(p)) MUST(MPI_Bcast(memory(p), 16, MPI_BYTE, draw(p, 4, p->on->size), p->on->comm));
}

static void act_reduce(struct program *p) {
    int from = 1, to;
    if (has_comm(p)) MUST(MPI_Reduce(&from, &to, 1, MPI_INT, MPI_SUM, draw(p, 4, p->on->size), p->on->comm));
}

static void act_allreduce(struct program *p) {
    int from = 1, to;
    if (has_comm(p)) MUST(MPI_Allreduce(&from, &to, 1, MPI_INT, MPI_SUM, p->on->comm));
}

static void act_gather(struct program *p) {
    int from = 1, to[64];
    if (has_comm(p)) MUST(MPI_Gather(&from, 1, MPI_INT, to, 1, MPI_INT, draw(p, 4, p->on->size), p->on->comm));
}

static void act_message(struct program *p) {
    if (!has_comm(p) || p->on->size < 2) return;
    int from = draw(p, 4, p->on->size), to = (from + 1 + draw(p, 5, p->on->size - 1)) % p->on->size;
    if (p->on->rank == from) MUST(MPI_Send(memory(p), 16, MPI_BYTE, to, p->number, p->on->comm));
    if (p->on->rank == to) MUST(MPI_Recv(memory(p), 16, MPI_BYTE, from, p->number, p->on->comm, MPI_STATUS_IGNORE));
}

// The first rank gets a message from each, in any order.
static void act_collect(struct program *p) {
    if (!has_comm(p)) return;
    if (p->on->rank > 0) MUST(MPI_Send(memory(p), 16, MPI_BYTE, 0, p->number, p->on->comm));
    for (int i = 1; i < p->on->size && p->on->rank == 0; i++)
        MUST(MPI_Recv(memory(p), 16, MPI_BYTE, MPI_ANY_SOURCE, p->number, p->on->comm, MPI_STATUS_IGNORE));
}

static void act_ring(struct program *p) {
    if (!has_comm(p)) return;
    int next = (p->on->rank + 1) % p->on->size, last = (p->on->rank + p->on->size - 1) % p->on->size;
    MUST(MPI_Sendrecv(memory(p), 16, MPI_BYTE, next, p->number, memory(p) + 16, 16, MPI_BYTE, last, p->number,
                      p->on->comm, MPI_STATUS_IGNORE));
}

static void act_exchange(struct program *p) {
    MPI_Request request[2];
    MPI_Status status[2];
    if (!has_comm(p)) return;
    int next = (p->on->rank + 1) % p->on->size, last = (p->on->rank + p->on->size - 1) % p->on->size;
    MUST(MPI_Irecv(memory(p), 16, MPI_BYTE, next, p->number, p->on->comm, &request[0]));
    MUST(MPI_Isend(memory(p) + 16, 16, MPI_BYTE, last, p->number, p->on->comm, &request[1]));
    MUST(MPI_Waitall(2, request, status));
}

// Ranks go one after the other, and some of them write.
static void act_turns(struct program *p) {
    if (!has_comm(p)) return;
    int rank = p->on->rank;
    if (rank > 0) MUST(MPI_Recv(memory(p), 16, MPI_BYTE, rank - 1, p->number, p->on->comm, MPI_STATUS_IGNORE));
    act_stdio(p);
    if (rank + 1 < p->on->size) MUST(MPI_Send(memory(p), 16, MPI_BYTE, rank + 1, p->number, p->on->comm));
}

static void act_pause(struct program *p) {
    if (is_chosen(p)) example_work(200 + draw_own(p, 4, 2000));
}

// --- the list

enum needs { NOTHING, A_COMM, A_FILE };

static const struct kind {
    const char *name;
    int weight;
    enum needs needs;
    void (*act)(struct program *);
} kinds[] = {{"open", 10, A_COMM, act_open},
             {"open missing", 2, A_COMM, act_open_missing},
             {"close", 5, A_FILE, act_close},
             {"delete", 2, A_COMM, act_delete},
             {"split", 5, A_COMM, act_split},
             {"dup", 2, A_COMM, act_dup},
             {"create group", 3, A_COMM, act_create_group},
             {"free", 1, A_COMM, act_free},
             {"set view", 4, A_FILE, act_view},
             {"write_at_all", 5, A_FILE, act_write_at_all},
             {"read_at_all", 3, A_FILE, act_read_at_all},
             {"write_all", 4, A_FILE, act_write_all},
             {"read_all", 2, A_FILE, act_read_all},
             {"split write_at_all", 2, A_FILE, act_split_write},
             {"split read_at_all", 1, A_FILE, act_split_read},
             {"write_ordered", 2, A_FILE, act_write_ordered},
             {"set_size", 1, A_FILE, act_set_size},
             {"preallocate", 1, A_FILE, act_preallocate},
             {"sync", 2, A_FILE, act_sync},
             {"write_at", 5, A_FILE, act_write_at},
             {"read_at", 3, A_FILE, act_read_at},
             {"write", 3, A_FILE, act_write},
             {"iwrite_at", 3, A_FILE, act_iwrite},
             {"iread_at", 2, A_FILE, act_iread},
             {"complete", 3, NOTHING, act_complete},
             {"POSIX", 4, NOTHING, act_posix},
             {"unlink", 1, NOTHING, act_unlink},
             {"stdio", 4, NOTHING, act_stdio},
             {"barrier", 4, A_COMM, act_barrier},
             {"ibarrier", 1, A_COMM, act_ibarrier},
             {"bcast", 3, A_COMM, act_bcast},
             {"reduce", 2, A_COMM, act_reduce},
             {"allreduce", 2, A_COMM, act_allreduce},
             {"gather", 2, A_COMM, act_gather},
             {"message", 3, A_COMM, act_message},
             {"collect", 1, A_COMM, act_collect},
             {"ring", 2, A_COMM, act_ring},
             {"exchange", 2, A_COMM, act_exchange},
             {"turns", 2, A_COMM, act_turns},
             {"pause", 3, NOTHING, act_pause}};

static const struct kind *draw_kind(const struct program *p) {
    int sum = 0, count = (int)(sizeof kinds / sizeof *kinds);
    for (int i = 0; i < count; i++) sum += kinds[i].weight;
    int place = draw(p, 20, sum);
    for (int i = 0; i < count; i++) {
        place -= kinds[i].weight;
        if (place < 0) return &kinds[i];
    }
    return NULL;
}

// What the action is about: a used slot; NULL if there is none. MPI_COMM_WORLD more often than others.
static struct comm_slot *draw_comm(struct program *p) {
    for (int i = 0; i < COMMS && draw(p, 21, 3); i++) {
        struct comm_slot *slot = &p->comm[(draw(p, 22, COMMS) + i) % COMMS];
        if (slot->used) return slot;
    }
    return &p->comm[WORLD];
}

static struct file_slot *draw_file(struct program *p) {
    for (int i = 0; i < FILES; i++) {
        struct file_slot *slot = &p->files[(draw(p, 23, FILES) + i) % FILES];
        if (slot->used) return slot;
    }
    return NULL;
}

static void print_action(const struct program *p, const struct kind *kind) {
    if (p->example.rank != 0) return;
    printf("%4d %s", p->number, kind->name);
    if (kind->needs == A_COMM) printf(", communicator %d", p->on->serial);
    if (kind->needs == A_FILE) printf(", file %d of communicator %d", p->file->path, p->file->comm_serial);
    printf("\n");
}

static void act(struct program *p, int number) {
    p->number = number;
    p->random = mix((uint64_t)p->seed << 20 | (uint64_t)number);
    p->runs = p->is_on[number] && !p->print;
    p->on = draw_comm(p);
    p->file = draw_file(p);
    const struct kind *kind = draw_kind(p);
    if (kind->needs == A_FILE && !p->file) return;
    if (p->print && p->is_on[number]) print_action(p, kind);
    kind->act(p);
}

// --- the program

// "3,5-8": actions that are done.
static void read_only(struct program *p) {
    const char *at = p->only;
    for (int i = 0; i < ACTIONS_MAX; i++) p->is_on[i] = !*at;
    while (*at) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        if (end == at || (*end && *end != ',') || first < 0 || last >= ACTIONS_MAX)
            example_refuse(&p->example, "--only: not a list of actions");
        for (long i = first; i <= last; i++) p->is_on[i] = true;
        at = *end ? end + 1 : end;
    }
}

static void finish(struct program *p) {
    complete(p);
    for (int i = 0; i < FILES; i++) {
        if (p->files[i].used) close_file(p, &p->files[i]);
    }
    for (int i = SELF + 1; i < COMMS; i++) {
        if (p->comm[i].used && p->comm[i].comm != MPI_COMM_NULL) MUST(MPI_Comm_free(&p->comm[i].comm));
    }
    if (p->notes) must(fclose(p->notes) == 0, "fclose");
}

int main(int argc, char **argv) {
    static struct program p = {.actions = 40, .only = ""};
    const struct example_option options[] = {{"seed", OPTION_COUNT, &p.seed, "what the program is made from", NULL},
                                             {"actions", OPTION_COUNT, &p.actions, "how many", NULL},
                                             {"only", OPTION_WORD, &p.only, "these actions, such as 3,5-8", NULL},
                                             {"print", OPTION_FLAG, &p.print, "the list of actions", NULL},
                                             {0}};
    example_start(&p.example, &argc, &argv, "Does random things in an order without deadlock.", options);
    if (p.actions > ACTIONS_MAX || p.example.ranks > 64) example_refuse(&p.example, "4096 actions, 64 ranks at most");
    read_only(&p);
    for (int i = 0; i <= SELF; i++) {
        p.comm[i] = (struct comm_slot){.used = true, .serial = p.comm_serials++};
        p.comm[i].comm = i == WORLD ? MPI_COMM_WORLD : MPI_COMM_SELF;
        describe(&p.comm[i]);
    }
    for (int number = 0; number < p.actions; number++) act(&p, number);
    finish(&p);
    if (p.print) return MPI_Finalize();
    return example_end(&p.example);
}
