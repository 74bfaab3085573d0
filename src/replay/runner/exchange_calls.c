// Collective calls, and independent ones with file views, on files in memory. Next to each call the same requests are
// made without MPI, so that what memory costs can be taken off.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "base/scoped.h"
#include "replay/runner/exchange.h"
#include "replay/runner/world.h"

enum {
    LARGEST_CALL = 16 << 20,
    LARGEST_ALONE = 256 << 10,
    OTHER_BYTES = 32 << 20,
    IN_A_ROW = 3,
    BUFFERS = 4,
    TOGETHER_LEAST = 6
};
static const double ALONE_SHARE = 0.2, FIRST_SHARE = 0.4; // of the time that is left
// At most at a time for an independent call with a view.
static const size_t READ_WINDOW = 4 << 20, WRITE_WINDOW = 512 << 10;

static const uint64_t buffer_bytes[BUFFERS] = {256 << 10, 1 << 20, 4 << 20, 16 << 20};

// Bytes, pieces and rounds vary independently, and already among the first ones, in case there is little time.
static const struct {
    uint64_t bytes; // of all ranks
    uint64_t piece;
    unsigned buffer;
} together[] = {
    {256 << 10, 4 << 10, 3}, {4 << 20, 512, 3},      {1 << 20, 4 << 10, 0},   {4 << 20, 64 << 10, 3},
    {4 << 20, 64 << 10, 1},  {16 << 20, 1 << 20, 3}, {256 << 10, 512, 3},     {1 << 20, 64 << 10, 3},
    {4 << 20, 4 << 10, 3},   {1 << 20, 512, 1},      {4 << 20, 64 << 10, 0},  {16 << 20, 64 << 10, 2},
    {16 << 20, 4 << 10, 3},  {4 << 20, 512, 0},      {16 << 20, 64 << 10, 1},
};
static const struct {
    uint64_t bytes, piece; // of each rank
} alone[] = {{4 << 10, 4 << 10},   {64 << 10, 512},      {64 << 10, 4 << 10},
             {64 << 10, 64 << 10}, {256 << 10, 4 << 10}, {256 << 10, 1 << 10}};
enum { TOGETHER = sizeof together / sizeof *together, ALONE = sizeof alone / sizeof *alone };

struct calls {
    struct exchange *x;
    char folder[PATH_MAX / 2];
    bool made; // the folder, on this node
    int guard;
    MPI_File shared[BUFFERS], own;
    int shared_fd, own_fd;
    char *data;  // LARGEST_CALL bytes
    char *other; // OTHER_BYTES
};

// --- files

// All ranks learn of an error that one has.
static int agree(int code) {
    int worst;
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return worst;
}

static void name_file(const struct calls *c, bool own, char path[PATH_MAX]) {
    if (own)
        snprintf(path, PATH_MAX, "%s/file-own.%d", c->folder, world.rank);
    else
        snprintf(path, PATH_MAX, "%s/file-shared", c->folder);
}

static int make_file(struct calls *c, bool own, size_t bytes, int *fd) {
    char path[PATH_MAX];
    name_file(c, own, path);
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    RETURN_IF(*fd < 0, -errno);
    return pwrite(*fd, c->data, bytes, 0) == (ssize_t)bytes ? 0 : -ENOSPC;
}

// The folder is on the node of rank 0. Others get one of the same name, which a guard removes.
static int make_folder(struct calls *c) {
    char byte;
    c->guard = -1;
    snprintf(c->folder, sizeof c->folder, "%s", c->x->job->directory);
    if (c->x->leader != world.rank || !world.rank) return 0;
    RETURN_IF(mkdir(c->folder, 0700) < 0, errno == EEXIST ? 0 : -errno);
    c->made = true;
    if (!process_start_guard(&c->guard)) return 0;
    while (read(c->guard, &byte, 1) < 0 && errno == EINTR) continue;
    char path[PATH_MAX];
    for (int rank = -1; rank < world.size; rank++) {
        if (rank < 0)
            name_file(c, false, path);
        else
            snprintf(path, sizeof path, "%s/file-own.%d", c->folder, rank);
        unlink(path);
    }
    rmdir(c->folder);
    _exit(0);
}

static MPI_Info hints_for(const struct calls *c, uint64_t buffer) {
    MPI_Info info;
    char text[24];
    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%llu", (unsigned long long)buffer);
    MPI_Info_set(info, "cb_buffer_size", text);
    snprintf(text, sizeof text, "%d", c->x->nodes);
    MPI_Info_set(info, "cb_nodes", text);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    return info;
}

static int open_shared(struct calls *c) {
    char path[PATH_MAX];
    name_file(c, false, path);
    for (unsigned i = 0; i < BUFFERS; i++) {
        MPI_Info info = hints_for(c, buffer_bytes[i]);
        int code = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &c->shared[i]);
        MPI_Info_free(&info);
        FORWARD(agree(code == MPI_SUCCESS ? 0 : -EIO));
    }
    return 0;
}

// ROMIO says more about an open file than the standard's hints.
static void name_library(struct calls *c) {
    MPI_Info info;
    int keys = 0;
    const char *name = "ompio";
    MPI_File_get_info(c->own, &info);
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1];
        MPI_Info_get_nthkey(info, i, key);
        if (!strncmp(key, "romio_", 6)) name = "romio";
    }
    MPI_Info_free(&info);
    snprintf(c->x->library, sizeof c->x->library, "%s", name);
}

static int open_files(struct calls *c) {
    char path[PATH_MAX];
    FORWARD(agree(make_folder(c)));
    int code = c->x->leader == world.rank ? make_file(c, false, LARGEST_CALL, &c->shared_fd) : 0;
    if (!code) code = make_file(c, true, 2 * LARGEST_ALONE, &c->own_fd);
    FORWARD(agree(code));
    name_file(c, true, path);
    code = MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &c->own);
    FORWARD(agree(code == MPI_SUCCESS ? 0 : -EIO));
    name_library(c);
    return open_shared(c);
}

static void close_files(struct calls *c) {
    for (unsigned i = 0; i < BUFFERS; i++) {
        if (c->shared[i] != MPI_FILE_NULL) MPI_File_close(&c->shared[i]);
    }
    if (c->own != MPI_FILE_NULL) MPI_File_close(&c->own);
    if (c->shared_fd >= 0) close(c->shared_fd);
    if (c->own_fd >= 0) close(c->own_fd);
    if (c->guard >= 0) close(c->guard); // it removes the folder
    free(c->data);
    free(c->other);
}

// --- what memory costs

// Seconds of the first `bytes` of a file, in blocks: the mean of as many times in a row as calls are made.
static double time_memory(const struct calls *c, int fd, bool write, uint64_t bytes, uint64_t block) {
    double start = clock_seconds();
    for (unsigned k = 0; k < IN_A_ROW; k++) {
        for (uint64_t at = 0, part; at < bytes; at += part) {
            part = bytes - at < block ? bytes - at : block;
            ssize_t moved = write ? pwrite(fd, c->data, part, (off_t)at) : pread(fd, c->data, part, (off_t)at);
            if (moved <= 0) return 0;
        }
    }
    return (clock_seconds() - start) / IN_A_ROW;
}

// --- calls of all ranks

// Pieces of the file in turns: these are turn[0] of turn[1].
static bool set_view(MPI_File file, uint64_t bytes, uint64_t piece, const int turn[2]) {
    MPI_Datatype type;
    MPI_Offset first = (MPI_Offset)piece * turn[0];
    MPI_Type_vector((int)(bytes / piece), (int)piece, (int)piece * turn[1], MPI_BYTE, &type);
    MPI_Type_commit(&type);
    int code = MPI_File_set_view(file, first, MPI_BYTE, type, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
    return code == MPI_SUCCESS;
}

// Of a rank; 0: the pieces are too large for so many ranks.
static uint64_t share_of(unsigned i) {
    uint64_t row = together[i].piece * (uint64_t)world.size;
    return together[i].bytes / row * together[i].piece;
}

// Programs work between their calls, and storage takes its time: by then the caches of the processors have other data,
// and the program's own as it has just made it.
static void use_caches(const struct calls *c, size_t bytes) {
    for (size_t i = 0; i < OTHER_BYTES; i += 64) c->other[i]++;
    memset(c->data, c->other[0], bytes);
}

static double time_call(const struct calls *c, MPI_File file, bool write, int bytes, int *code) {
    use_caches(c, (size_t)bytes);
    exchange_wait();
    MPI_Barrier(MPI_COMM_WORLD);
    double start = clock_seconds();
    int one = write ? MPI_File_write_at_all(file, 0, c->data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                    : MPI_File_read_at_all(file, 0, c->data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (one != MPI_SUCCESS) *code = one;
    return clock_seconds() - start;
}

static int time_together(struct calls *c, unsigned place, unsigned i, bool write) {
    MPI_File file = c->shared[together[i].buffer];
    int mine = (int)share_of(i), code = MPI_SUCCESS;
    uint64_t all = (uint64_t)mine * (uint64_t)world.size, domain = all / (uint64_t)c->x->nodes;
    exchange_step(c->x, write ? "MPI_File_write_at_all" : "MPI_File_read_at_all");
    const int turn[] = {world.rank, world.size};
    if (!set_view(file, (uint64_t)mine, together[i].piece, turn)) code = MPI_ERR_IO;
    double memory = 0, seconds = 0, longest;
    if (!world.rank) memory = time_memory(c, c->shared_fd, write, domain, buffer_bytes[together[i].buffer]);
    for (unsigned k = 0; k < IN_A_ROW; k++) seconds += time_call(c, file, write, mine, &code) / IN_A_ROW;
    MPI_Allreduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    exchange_note(c->x, place, longest, memory);
    return agree(code == MPI_SUCCESS ? 0 : -EIO);
}

static struct replay_timing timing_together(const struct calls *c, unsigned i) {
    uint64_t all = share_of(i) * (uint64_t)world.size;
    uint64_t row = buffer_bytes[together[i].buffer] * (uint64_t)c->x->nodes;
    return (struct replay_timing){
        .kind = TIMING_COLLECTIVE, .bytes = all, .pieces = all / together[i].piece, .rounds = (all + row - 1) / row};
}

// The first time shows for how many of them there is time; a few are timed in any case.
static int time_all_together(struct calls *c, double until) {
    unsigned place[TOGETHER][2] = {0}, count = TOGETHER;
    double now = clock_seconds(), first = now + (until - now) * FIRST_SHARE;
    for (unsigned repeat = 0; repeat < EXCHANGE_REPEATS; repeat++) {
        for (unsigned i = 0; i < count; i++) {
            struct replay_timing timing = timing_together(c, i);
            if (repeat && !exchange_goes_on(until)) return 0;
            if (!repeat && i >= TOGETHER_LEAST && !exchange_goes_on(first)) count = i;
            for (unsigned write = 0; write < 2 && i < count && timing.bytes; write++) {
                timing.write = write;
                if (repeat == 0) place[i][write] = exchange_add(c->x, timing);
                FORWARD(time_together(c, place[i][write], i, write));
            }
        }
    }
    return 0;
}

// --- calls of single ranks

// What MPI reads and writes for the view. Both libraries read the holes, too. For writing, ROMIO reads and writes back
// a window, holes and all, and OMPIO writes each piece.
static double time_own_memory(const struct calls *c, unsigned i, bool write) {
    uint64_t extent = 2 * alone[i].bytes - alone[i].piece;
    bool is_romio = !strcmp(c->x->library, "romio");
    if (alone[i].piece == alone[i].bytes) return time_memory(c, c->own_fd, write, alone[i].bytes, alone[i].bytes);
    if (!write) return time_memory(c, c->own_fd, false, extent, READ_WINDOW);
    if (!is_romio) return time_memory(c, c->own_fd, true, alone[i].bytes, alone[i].piece);
    return time_memory(c, c->own_fd, false, extent, WRITE_WINDOW) +
           time_memory(c, c->own_fd, true, extent, WRITE_WINDOW);
}

// All ranks at once, each in a file of its own: none waits for another's lock.
static int time_alone(struct calls *c, unsigned place, unsigned i, bool write) {
    exchange_step(c->x, write ? "MPI_File_write_at" : "MPI_File_read_at");
    int bytes = (int)alone[i].bytes, code = MPI_SUCCESS;
    if (!set_view(c->own, alone[i].bytes, alone[i].piece, (const int[]){0, 2})) code = MPI_ERR_IO;
    double mine[2], all[2];
    exchange_wait();
    mine[1] = time_own_memory(c, i, write);
    exchange_wait();
    double start = clock_seconds();
    for (unsigned k = 0; k < IN_A_ROW; k++) {
        int one = write ? MPI_File_write_at(c->own, 0, c->data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                        : MPI_File_read_at(c->own, 0, c->data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        if (one != MPI_SUCCESS) code = one;
    }
    mine[0] = (clock_seconds() - start) / IN_A_ROW;
    exchange_wait();
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    exchange_note(c->x, place, all[0] / world.size, all[1] / world.size);
    return agree(code == MPI_SUCCESS ? 0 : -EIO);
}

static int time_all_alone(struct calls *c, double until) {
    unsigned place[ALONE][2] = {0};
    for (unsigned repeat = 0; repeat < EXCHANGE_REPEATS; repeat++) {
        if (repeat > 1 && !exchange_goes_on(until)) return 0;
        for (unsigned i = 0; i < ALONE; i++) {
            struct replay_timing timing = {
                .kind = TIMING_INDEPENDENT, .bytes = alone[i].bytes, .pieces = alone[i].bytes / alone[i].piece};
            for (unsigned write = 0; write < 2; write++) {
                timing.write = write;
                if (repeat == 0) place[i][write] = exchange_add(c->x, timing);
                FORWARD(time_alone(c, place[i][write], i, write));
            }
        }
    }
    return 0;
}

int exchange_calls(struct exchange *x, double until) {
    struct calls c = {.x = x, .guard = -1, .own = MPI_FILE_NULL, .shared_fd = -1, .own_fd = -1};
    for (unsigned i = 0; i < BUFFERS; i++) c.shared[i] = MPI_FILE_NULL;
    c.data = malloc(LARGEST_CALL);
    c.other = calloc(1, OTHER_BYTES);
    if (c.data) memset(c.data, 1, LARGEST_CALL);
    int code = agree(c.data && c.other ? 0 : -ENOMEM);
    if (!code) code = open_files(&c);
    double now = clock_seconds();
    if (!code) code = time_all_alone(&c, now + (until - now) * ALONE_SHARE);
    if (!code) code = time_all_together(&c, until);
    close_files(&c);
    return code;
}
