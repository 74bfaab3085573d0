// The communicators of the process, and with whom its threads communicate. A handle means another communicator after it
// was freed, so each communicator has a number, given when it is made.
#include <stddef.h>
#include <string.h>

#include "base/varint.h"
#include "fmt/fields.h"
#include "rec/mpi/plugin.h"

enum {
    NUMBER_WORLD = 1,
    NUMBER_SELF = 2,
    NUMBER_LIMIT = 65536,   // in a process; further ones have number 0
    BYTES_LIMIT = 16 << 20, // of all records; from there on members are not listed
    BUCKETS = 256,
    LOCK_ATTEMPTS = 1 << 22,
    BATCH = 4096, // ranks
};

struct known_comm {
    struct known_comm *next; // with the same hash
    MPI_Comm handle;
    bool live;
    bool has_record;
    struct mpi_comm is;
    uint64_t creations; // collective ones that this process took part in
};

static struct known_comm *bucket[BUCKETS]; // entries are used again, but never freed
static uint32_t last_number = NUMBER_SELF;
static _Atomic uint64_t record_bytes;
static _Atomic uint32_t lock;
static _Atomic bool is_stuck;

// In a forked child another thread of the parent may seem to hold it for ever.
static bool lock_table(void) {
    for (int i = 0; i < LOCK_ATTEMPTS && !is_stuck; i++) {
        if (!atomic_load_explicit(&lock, memory_order_relaxed) && !atomic_exchange(&lock, 1)) return true;
        cpu_relax();
    }
    is_stuck = true;
    return false;
}

static void unlock_table(void) { spin_unlock(&lock); }

static struct known_comm **bucket_of(MPI_Comm comm) { return &bucket[(uintptr_t)comm * 0x9e3779b97f4a7c15u >> 56]; }

static struct known_comm *find(MPI_Comm comm) {
    struct known_comm *known = *bucket_of(comm);
    while (known && !(known->live && known->handle == comm)) known = known->next;
    return known;
}

static uint32_t new_number(MPI_Comm comm) {
    if (comm == plugin.world) return NUMBER_WORLD;
    if (comm == plugin.self) return NUMBER_SELF;
    if (last_number < NUMBER_LIMIT) return ++last_number;
    plugin.core->spill_count_loss(LOSS_TABLE_FULL, 1);
    return 0;
}

// With the lock held. The handle may be known from a communicator that MPI itself has freed.
static struct known_comm *add(MPI_Comm comm) {
    struct known_comm **first = bucket_of(comm), *known = find(comm);
    if (!known) {
        for (known = *first; known && known->live;) known = known->next;
    }
    if (!known) {
        if (!(known = plugin.core->memory_alloc(sizeof *known))) return NULL;
        known->next = *first;
        *first = known;
    }
    *known = (struct known_comm){.next = known->next, .handle = comm, .live = true, .is.number = new_number(comm)};
    return known;
}

// --- records

// The parts of plugin_scratch().
struct workspace {
    uint8_t fields[4 * MEMBERS_MAX_BYTES];
    uint8_t members[MEMBERS_MAX_BYTES];
    int rank[BATCH];
    int world_rank[BATCH];
};

_Static_assert((int)RECORDER_FURTHER < (int)STREAM_MAX_PARTNERS, "all partners that are written fit a record");
_Static_assert(sizeof(struct workspace) <= PLUGIN_SCRATCH_BYTES, "a workspace fits");

// Without MPI_Init (sessions) there is no MPI_COMM_WORLD, and nobody has a rank in it.
static void add_members(struct workspace *work, struct members_out *out, MPI_Group group, int size, MPI_Group world) {
    bool is_known = world != plugin.no_group;
    for (int done = 0; done < size; done += BATCH) {
        int count = size - done < BATCH ? size - done : BATCH;
        for (int i = 0; i < count; i++) work->rank[i] = done + i;
        if (is_known) {
            is_known =
                plugin.mpi.Group_translate_ranks(group, count, work->rank, world, work->world_rank) == MPI_SUCCESS;
        }
        for (int i = 0; i < count; i++) {
            bool has_rank = is_known && work->world_rank[i] != MPI_UNDEFINED;
            members_add(out, has_rank ? work->world_rank[i] : MEMBERS_UNKNOWN);
        }
    }
    members_end(out);
}

static void put_group(struct fields_out *out, struct workspace *work, MPI_Group group, MPI_Group world,
                      const enum communicator_key key[3]) {
    struct members_out members;
    int size = 0;
    plugin.mpi.Group_size(group, &size);
    members_start(&members, work->members);
    add_members(work, &members, group, size, world);
    size_t len = (size_t)(members.at - work->members);
    bool is_listed = atomic_load(&record_bytes) < BYTES_LIMIT;
    fields_number(out, key[0], (uint64_t)size);
    if (is_listed) fields_bytes(out, key[1], work->members, len);
    if (members.cut || !is_listed) fields_number(out, key[2], members.hash);
    atomic_fetch_add(&record_bytes, len);
}

static void put_groups(struct fields_out *out, struct workspace *work, MPI_Comm comm) {
    static const enum communicator_key local[] = {COMMUNICATOR_SIZE, COMMUNICATOR_MEMBERS, COMMUNICATOR_HASH};
    static const enum communicator_key remote[] = {COMMUNICATOR_REMOTE_SIZE, COMMUNICATOR_REMOTE_MEMBERS,
                                                   COMMUNICATOR_REMOTE_HASH};
    MPI_Group world = plugin.no_group, group;
    int has_world = 0, is_inter = 0;
    plugin.mpi.Initialized(&has_world);
    if (has_world && plugin.mpi.Comm_group(plugin.world, &world) != MPI_SUCCESS) world = plugin.no_group;
    if (plugin.mpi.Comm_group(comm, &group) == MPI_SUCCESS) {
        put_group(out, work, group, world, local);
        plugin.mpi.Group_free(&group);
    }
    plugin.mpi.Comm_test_inter(comm, &is_inter);
    if (is_inter && plugin.mpi.Comm_remote_group(comm, &group) == MPI_SUCCESS) {
        put_group(out, work, group, world, remote);
        plugin.mpi.Group_free(&group);
    }
    if (world != plugin.no_group) plugin.mpi.Group_free(&world);
}

struct comm_source {
    enum comm_origin origin;
    uint32_t parent;
    uint64_t ordinal;
    MPI_Comm like; // has the same members, and can be asked
};

static void write_record(uint32_t number, const struct comm_source *source) {
    struct workspace *work = number ? plugin_scratch() : NULL;
    if (!work) return;
    struct fields_out out = {.at = work->fields, .end = work->fields + sizeof work->fields};
    fields_number(&out, COMMUNICATOR_NUMBER, number);
    fields_number(&out, COMMUNICATOR_ORIGIN, source->origin);
    if (source->parent) fields_number(&out, COMMUNICATOR_PARENT, source->parent);
    if (source->ordinal) fields_number(&out, COMMUNICATOR_ORDINAL, source->ordinal);
    put_groups(&out, work, source->like);
    plugin.core->record(RECORD_COMMUNICATOR, work->fields, (size_t)(out.at - work->fields));
}

// --- the table

// Nobody else knows the communicator yet, or all that know it write the same.
static struct mpi_comm describe(MPI_Comm comm, const struct comm_source *source) {
    struct mpi_comm is = {0};
    plugin.mpi.Comm_size(source->like, &is.size);
    plugin.mpi.Comm_rank(source->like, &is.rank);
    if (!lock_table()) return is;
    struct known_comm *known = source->origin == ORIGIN_UNKNOWN ? find(comm) : NULL; // another thread was faster
    if (!known) known = add(comm);
    bool is_new = known && !known->has_record;
    if (known) {
        is.number = known->is.number;
        known->is = is;
        known->has_record = true;
    }
    unlock_table();
    if (is_new) write_record(is.number, source);
    return is;
}

bool mpi_comm_known(MPI_Comm comm, struct mpi_comm *is) {
    if (!lock_table()) return false;
    const struct known_comm *known = find(comm);
    if (known) *is = known->is;
    unlock_table();
    return known;
}

struct mpi_comm mpi_comm_of(MPI_Comm comm) {
    struct mpi_comm is;
    struct comm_source source = {.like = comm};
    if (mpi_comm_known(comm, &is)) return is;
    if (comm == plugin.world) source.origin = ORIGIN_WORLD;
    if (comm == plugin.self) source.origin = ORIGIN_SELF;
    return describe(comm, &source);
}

void mpi_comm_start(void) {
    MPI_Comm parent = plugin.no_comm;
    mpi_comm_of(plugin.world);
    mpi_comm_of(plugin.self);
    if (plugin.mpi.Comm_get_parent(&parent) != MPI_SUCCESS || parent == plugin.no_comm) return;
    describe(parent, &(struct comm_source){.origin = ORIGIN_SPAWN, .like = parent});
}

// MPI_Comm_create_group is collective over the new communicator only.
static uint64_t count_creation(MPI_Comm comm, enum comm_origin origin) {
    uint64_t before = 0;
    if (!lock_table()) return 0;
    struct known_comm *known = find(comm);
    if (known) before = known->creations;
    if (known && origin != ORIGIN_GROUP) known->creations++;
    unlock_table();
    return before;
}

static struct comm_source source_of(MPI_Comm comm, enum comm_origin origin, MPI_Comm like) {
    uint32_t parent = mpi_comm_of(comm).number;
    return (struct comm_source){origin, parent, count_creation(comm, origin), like};
}

void mpi_leave_make(struct mpi_probe *p, uint32_t call, enum comm_origin origin, MPI_Comm comm, const MPI_Comm *made,
                    int result) {
    mpi_leave_comm(p, call, COMM_SYNCHRONISING, 0, result);
    if (result != MPI_SUCCESS) return;
    struct comm_source source = source_of(comm, origin, *made);
    bool is_null = *made == plugin.no_comm, is_group = origin == ORIGIN_GROUP; // whose members alone make the call
    if (!is_group) plugin_add_partner(PARTNER_ALL, comm, 0);
    if (is_null) return;
    plugin_forget_comm(*made);
    describe(*made, &source);
    if (is_group) plugin_add_partner(PARTNER_ALL, *made, 0);
}

// The new communicator must not be used yet, and MPI need not have set the handle. Its members are those of the old
// one. A handle that is in use already is what the program's variable held before.
void mpi_leave_idup(struct mpi_probe *p, uint32_t call, MPI_Comm comm, const MPI_Comm *made, int result) {
    struct mpi_comm is;
    mpi_leave_comm(p, call, COMM_SYNCHRONISING, 0, result);
    if (result != MPI_SUCCESS) return;
    struct comm_source source = source_of(comm, ORIGIN_DUP, comm);
    if (*made != plugin.no_comm && !mpi_comm_known(*made, &is)) describe(*made, &source);
}

// Before the call: after it the handle may mean another communicator.
void mpi_enter_comm_free(struct mpi_probe *p, const MPI_Comm *comm) {
    p->thread = plugin_thread;
    p->comm = *comm;
    p->known_comm = NULL;
    plugin_forget_comm(*comm);
    if (!lock_table()) return;
    struct known_comm *known = find(*comm);
    if (known) known->live = false;
    p->known_comm = known;
    unlock_table();
}

void mpi_leave_comm_free(struct mpi_probe *p, uint32_t call, int result) {
    (void)call;
    if (result == MPI_SUCCESS || !p->known_comm || !lock_table()) return;
    if (!p->known_comm->live && p->known_comm->handle == p->comm) p->known_comm->live = true;
    unlock_table();
}

// --- partners

// In an inter-communicator the root itself gives MPI_ROOT, and the others of its group MPI_PROC_NULL.
static struct partner partner_of(const struct mpi_comm *is, enum partner_role role, MPI_Comm comm, int peer) {
    struct partner partner = {.comm = (uintptr_t)comm, .peer = peer};
    bool is_root = peer == MPI_ROOT && (role == PARTNER_FROM_ROOT || role == PARTNER_TO_ROOT);
    if (peer < 0 && !is_root) return partner;
    uint8_t *end = varint_put(partner.entry, (uint64_t)is->number << 3 | role);
    end = varint_put(end, (uint64_t)(is_root ? is->rank : peer));
    partner.entry_bytes = (uint32_t)(end - partner.entry);
    partner.calls = PARTNER_IDLE;
    return partner;
}

bool plugin_prepare_partner(enum partner_role role, MPI_Comm comm, int peer) {
    struct thread *thread = plugin_thread;
    struct partner *place = plugin_partner_place(&thread->partners, role, comm, peer);
    struct mpi_comm is;
    bool is_free = !place->entry_bytes || place->calls == PARTNER_IDLE;
    if (plugin.event_clock_uses_ns || !is_free || (role == PARTNER_RECEIVE && peer == MPI_ANY_SOURCE)) return false;
    if (!mpi_comm_known(comm, &is) || !is.number || !emit_claim(thread)) return false;
    *place = partner_of(&is, role, comm, peer);
    emit_unclaim(thread);
    return true;
}

// The partner in its place, or among the further ones, or a new one of these; NULL if there is no room.
static struct partner *find_partner(struct partners *all, const struct partner *partner, enum partner_role role) {
    MPI_Comm comm = (MPI_Comm)partner->comm;
    struct partner *place = plugin_partner_place(all, role, comm, partner->peer);
    if (plugin_is_partner(place, role, comm, partner->peer)) return place;
    for (uint32_t i = 0; i < all->further_count; i++) {
        if (!memcmp(all->further[i].entry, partner->entry, sizeof partner->entry)) return &all->further[i];
    }
    if (all->further_count == RECORDER_FURTHER) return NULL;
    all->further[all->further_count] = *partner;
    return &all->further[all->further_count++];
}

static void count_rest(struct partners *all) {
    if (!all->rest.entry_bytes) {
        all->rest = (struct partner){.entry_bytes = 2, .entry = {PARTNER_MORE}, .calls = PARTNER_IDLE};
    }
    plugin_count_call(all, &all->rest);
}

void plugin_add_partner(enum partner_role role, MPI_Comm comm, int peer) {
    struct thread *thread = plugin_thread;
    struct mpi_comm is = mpi_comm_of(comm);
    struct partner partner = partner_of(&is, role, comm, peer);
    if (!partner.entry_bytes || !emit_claim(thread)) return;
    struct partner *found = is.number ? find_partner(&thread->partners, &partner, role) : NULL;
    if (found) {
        plugin_count_call(&thread->partners, found);
    } else {
        count_rest(&thread->partners);
    }
    emit_unclaim(thread);
}

// --- messages that were matched by a probe

static __thread struct {
    MPI_Message message;
    MPI_Comm comm;
} matched __attribute__((tls_model("initial-exec")));

void mpi_leave_match(struct mpi_probe *p, uint32_t call, MPI_Comm comm, const MPI_Message *message, int flag,
                     int result) {
    if (result == MPI_SUCCESS && flag) {
        matched.message = *message;
        matched.comm = comm;
    }
    mpi_leave_comm(p, call, COMM_COMPLETING, 0, result);
}

void mpi_enter_matched(struct mpi_probe *p, MPI_Count count, MPI_Datatype type, const MPI_Message *message) {
    mpi_enter_move(p, count, type);
    p->is_matched = matched.comm && *message == matched.message;
}

void mpi_leave_matched(struct mpi_probe *p, uint32_t call, const MPI_Status *status, int result) {
    mpi_leave_comm(p, call, COMM_MOVING, p->size, result);
    if (p->is_matched && result == MPI_SUCCESS) plugin_add_partner(PARTNER_RECEIVE, matched.comm, status->MPI_SOURCE);
    matched.comm = 0;
}
