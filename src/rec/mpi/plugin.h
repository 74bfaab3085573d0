// The MPI side of the recorder. It is compiled once for each MPI, with its mpi.h, and loaded by the core if a program
// uses that MPI. It must not link to the MPI library: functions come through the core's table, data symbols are looked
// up.
#pragma once

#include <mpi.h>

#include "calls.h"
#include "fmt/communicator.h"
#include "rec/mpi/core_interface.h"

#define MPI_SHIM static inline __attribute__((always_inline))
#define MPI_RECORDED __attribute__((noinline))
#define MPI_RARE __attribute__((noinline, cold))

// An open MPI file.
struct mpi_file {
    struct mpi_file *next; // with the same hash
    bool open;
    MPI_File fh;
    struct file *file;
    uint32_t serial;
    uint64_t etype_bytes;
    uint64_t displacement;
    bool plain_view;           // it shows the file's bytes from the displacement on, without gaps
    _Atomic uint64_t position; // of the individual pointer, in bytes of the view; POSITION_UNKNOWN: ask MPI
    struct pending split;      // the split call under way; call 0: none
};

#define POSITION_UNKNOWN UINT64_MAX

struct mpi_probe {
    struct thread *thread;
    uintptr_t caller;
    struct mpi_file *file;
    struct call_frame frame;
    uint64_t tick;
    uint64_t start;
    uint64_t offset;
    uint64_t view_offset;
    uint64_t size;
    MPI_Datatype type;    // of a transfer's memory
    uint32_t type_number; // as in struct thread
    bool has_offset;
    MPI_Status own_status; // if the program passed none
    struct mpi_wait *wait; // if there is I/O among the requests, else NULL
    MPI_Comm comm;         // to be freed
    struct known_comm *known_comm;
    bool is_matched; // the communicator of the message is known
};

// The functions of MPI that the plugin itself calls, as plugin.mpi.NAME. All are local by the standard.
// Those of MPI_MOVING have shims, too; they are only for bounded.c, which waits for none of them.
#if MPI_VERSION >= 4
#define MPI_ASKED_LARGE(NAME) NAME(Type_get_envelope_c) NAME(Type_get_contents_c) // for types made with large counts
#else
#define MPI_ASKED_LARGE(NAME)
#endif
// clang-format off
#define MPI_ASKED(NAME)                                                                                                \
    NAME(Cancel) NAME(Comm_get_attr) NAME(Comm_get_errhandler) NAME(Comm_get_parent) NAME(Comm_group) NAME(Comm_rank)  \
    NAME(Comm_remote_group) NAME(Comm_set_errhandler) NAME(Comm_size) NAME(Comm_test_inter) NAME(Errhandler_free)      \
    NAME(Error_class) NAME(File_get_byte_offset) NAME(File_get_info) NAME(File_get_position) NAME(Get_count)           \
    NAME(Get_elements_x) NAME(Get_library_version) NAME(Group_free) NAME(Group_size) NAME(Group_translate_ranks)       \
    NAME(Info_free) NAME(Info_get) NAME(Info_get_nkeys) NAME(Info_get_nthkey) NAME(Initialized) NAME(Request_free)     \
    NAME(Type_get_contents) NAME(Type_get_envelope) NAME(Type_get_extent_x) NAME(Type_get_name)                        \
    NAME(Type_get_true_extent_x) NAME(Type_size_x) MPI_ASKED_LARGE(NAME)
#define MPI_MOVING(NAME) NAME(Ibarrier) NAME(Iprobe) NAME(Irecv) NAME(Isend) NAME(Test)
// clang-format on

struct plugin {
    const struct mpi_core *core;
    _Atomic uint64_t tick;    // of the process
    bool event_clock_uses_ns; // *core->event_clock_uses_ns
    MPI_Comm world;
    MPI_Comm self;
    MPI_Comm no_comm;
    MPI_Group no_group;
    MPI_Datatype byte;
    MPI_Datatype no_type;
    MPI_Info no_info;
    MPI_Request no_request;
    MPI_Errhandler errors_return;
    _Atomic uint64_t type_salt; // changes when a datatype is freed, because its handle may be used for another type
    _Atomic int io_requests;    // nonblocking transfers under way
    void *real[MPI_SLOTS];      // core->real
#define ASKED_POINTER(name) __typeof__(&PMPI_##name) name;
    struct {
        MPI_ASKED(ASKED_POINTER)
        MPI_MOVING(ASKED_POINTER)
    } mpi;
};

extern struct plugin plugin __attribute__((visibility("hidden")));

MPI_RARE uint64_t plugin_now_ns(void);

static inline uint64_t plugin_now(void) {
    if (UNLIKELY(plugin.event_clock_uses_ns)) return plugin_now_ns();
    return cpu_counter() >> CPU_COUNTER_SHIFT;
}

// The time of communication is a difference: the counter is shifted after the subtraction.
static inline uint64_t plugin_now_unshifted(void) {
    if (UNLIKELY(plugin.event_clock_uses_ns)) return plugin_now_ns() << CPU_COUNTER_SHIFT;
    return cpu_counter();
}

// Zeroed, so that bytes that MPI does not set are the same each time.
MPI_SHIM MPI_Status *mpi_own_status(struct mpi_probe *p) {
    p->own_status = (MPI_Status){0};
    return &p->own_status;
}

// --- communication: the hot path of MPI programs. Rare work before the call is in functions without parameters, so
// that the call's own arguments stay in their registers.

extern __thread struct thread *plugin_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden"))); // not NULL
MPI_RARE bool plugin_find_thread(void);

MPI_SHIM void mpi_enter_comm(struct mpi_probe *p) {
    p->thread = plugin_thread;
    p->thread->outside_mpi = false;
    atomic_fetch_add_explicit(&plugin.tick, 1, memory_order_relaxed);
    p->thread->comm_start = plugin_now_unshifted();
}

MPI_SHIM void mpi_end_comm(struct thread *thread, enum stream_comm_kind kind, uint64_t bytes, uint64_t now) {
    struct stream_comm *comm = &thread->comm[kind];
    comm->units += (now - thread->comm_start) >> CPU_COUNTER_SHIFT;
    comm->count++;
    comm->bytes += bytes;
    thread->outside_mpi = true;
}

MPI_SHIM void mpi_leave_comm(struct mpi_probe *p, uint32_t call, enum stream_comm_kind kind, uint64_t bytes,
                             int result) {
    (void)call, (void)result;
    if (UNLIKELY(!p->thread->saved_limit) && !emit_next_slowly(p->thread)) return;
    mpi_end_comm(p->thread, kind, bytes, plugin_now_unshifted());
}

// The sizes of types are cached: programs use few types, again and again. No datatype is 0, neither as a number (MPICH)
// nor as a pointer (Open MPI).
MPI_RARE uint64_t plugin_ask_type_bytes(void);

static inline unsigned plugin_type_place(MPI_Datatype type) {
#ifdef OPEN_MPI
    enum { TYPE_BYTES = 512 }; // predefined types lie side by side
    return (unsigned)((uintptr_t)type / TYPE_BYTES % RECORDER_TYPES);
#else
    return (unsigned)type % RECORDER_TYPES; // predefined types are numbered from 0
#endif
}

MPI_SHIM uint64_t plugin_type_key(MPI_Datatype type) {
    return (uint64_t)(uintptr_t)type + atomic_load_explicit(&plugin.type_salt, memory_order_relaxed);
}

MPI_SHIM uint64_t plugin_type_bytes(struct thread *thread, MPI_Datatype type) {
    const struct type_bytes *known = &thread->types[plugin_type_place(type)];
    if (LIKELY((MPI_Datatype)known->type == type)) return known->bytes;
    thread->type_asked = (uintptr_t)type;
    return plugin_ask_type_bytes();
}

// --- partners. The hot path only counts: the partner is known and so is the datatype; anything else is a miss.

// The place of a partner, found with few instructions: the lowest bits of the sum that count are at a multiple of
// SCALE.
static inline struct partner *plugin_partner_place(struct partners *all, enum partner_role role, MPI_Comm comm,
                                                   int peer) {
#ifdef OPEN_MPI
    enum { SCALE = 8, COMM_BYTES = 256 }; // handles are pointers to structures of some 500 bytes
#else
    enum { SCALE = 1, COMM_BYTES = 1 };     // handles are numbered
#endif
    enum { ROLE_STEP = RECORDER_PARTNERS / PARTNER_ROLES }; // the same pair has another place in each role
    if (role == PARTNER_ALL) return &all->group[(uintptr_t)comm / COMM_BYTES % RECORDER_GROUPS];
    unsigned sum = (unsigned)(uintptr_t)comm + ((unsigned)peer + role * ROLE_STEP) * SCALE;
    size_t scaled = sum & (RECORDER_PARTNERS - 1) * SCALE;
    return (struct partner *)((char *)all->place + scaled * (sizeof *all->place / SCALE));
}

static inline bool plugin_is_partner(const struct partner *partner, enum partner_role role, MPI_Comm comm, int peer) {
    return (MPI_Comm)partner->comm == comm && (role == PARTNER_ALL || partner->peer == peer);
}

static inline void plugin_count_call(struct partners *partners, struct partner *partner) {
    if (UNLIKELY(++partner->calls == 0)) partners->used[partners->used_count++] = partner;
}

// Before the call. False if it must be counted after the call, by plugin_add_partner().
MPI_SHIM bool mpi_count_partner(enum partner_role role, MPI_Comm comm, int peer) {
    struct thread *thread = plugin_thread;
    struct partner *partner = plugin_partner_place(&thread->partners, role, comm, peer);
    __asm__("" : "+r"(partner)); // one register: the compiler would keep the index in another
    if (UNLIKELY(!plugin_is_partner(partner, role, comm, peer))) return false;
    plugin_count_call(&thread->partners, partner);
    return true;
}

// Takes that back: the call begins anew.
static inline void mpi_uncount_partner(enum partner_role role, MPI_Comm comm, int peer) {
    struct partners *partners = &plugin_thread->partners;
    if (plugin_partner_place(partners, role, comm, peer)->calls-- == 0) partners->used_count--;
}

MPI_SHIM bool mpi_knows_type(MPI_Datatype type) {
    return LIKELY((MPI_Datatype)plugin_thread->types[plugin_type_place(type)].type == type);
}

// Makes mpi_count_partner() succeed the next time. Asks MPI nothing: only the call itself knows whether the handle is
// good. Returns false if the communicator is new, the peer is not known before the call, or the place is taken.
MPI_RARE bool plugin_prepare_partner(enum partner_role role, MPI_Comm comm, int peer);
// After a call that MPI accepted.
MPI_RARE void plugin_add_partner(enum partner_role role, MPI_Comm comm, int peer);

// The same as mpi_enter_comm, mpi_enter_move and mpi_leave_comm after mpi_count_partner() and mpi_knows_type(): the
// clock is the processor's. Bytes are counted before the call, so that no register must keep them.
MPI_SHIM void mpi_enter_comm_quickly(struct mpi_probe *p) {
    p->thread = plugin_thread;
    p->thread->outside_mpi = false;
    atomic_fetch_add_explicit(&plugin.tick, 1, memory_order_relaxed);
    p->thread->comm_start = cpu_counter();
}

MPI_SHIM void mpi_enter_move_quickly(struct mpi_probe *p, MPI_Count count, MPI_Datatype type) {
    struct thread *thread = plugin_thread;
    thread->comm[COMM_MOVING].bytes += (uint64_t)count * thread->types[plugin_type_place(type)].bytes;
    p->size = 0;
    mpi_enter_comm_quickly(p);
}

MPI_SHIM void mpi_leave_comm_quickly(struct mpi_probe *p, uint32_t call, enum stream_comm_kind kind, uint64_t bytes,
                                     int result) {
    (void)call, (void)result;
    if (UNLIKELY(!p->thread->saved_limit) && !emit_next_slowly(p->thread)) return;
    mpi_end_comm(p->thread, kind, bytes, cpu_counter());
}

MPI_SHIM void mpi_enter_move(struct mpi_probe *p, MPI_Count count, MPI_Datatype type) {
    mpi_enter_comm(p);
    p->size = (uint64_t)count * plugin_type_bytes(p->thread, type);
}

// --- completion while nonblocking I/O is under way (wait.c); otherwise these calls are plain communication

MPI_SHIM bool plugin_waits_for_io(void) { return atomic_load_explicit(&plugin.io_requests, memory_order_relaxed) != 0; }

// Sets `statuses` to our own if the program passed none.
void mpi_enter_wait(struct mpi_probe *p, int count, const MPI_Request *requests, MPI_Status **statuses);
// Only if p->wait is set. `count` of the requests are complete: those at `indices`; NULL: the first ones. What was not
// I/O is still to be counted as communication.
void mpi_leave_wait(struct mpi_probe *p, uint32_t call, int count, const int *indices, int result);

// --- what the parts of the plugin share

extern const char plugin_request_queue[1] __attribute__((visibility("hidden"))); // its address identifies the queue

static inline uint64_t plugin_request_id(MPI_Request request) { return (uint64_t)(uintptr_t)request; }

// Temporary memory of the thread. The program's heap is not used: a hole in it would make each malloc of MPI slower.
enum { PLUGIN_SCRATCH_BYTES = 80 << 10 };
void *plugin_scratch(void);
// The class of an error that MPI returned; 0 for MPI_SUCCESS.
int plugin_error(int result);
// Bytes of a transfer. Without a status: the bytes asked for, which MPI guarantees for writes that succeed.
int64_t plugin_moved_bytes(const MPI_Status *status, uint64_t asked);

// --- datatypes and hints (datatypes.c, hints.c). They call only local functions of MPI, and only with objects that MPI
// has just accepted: an invalid object would end the program.

struct mpi_type {
    uint32_t number;    // of its RECORD_DATATYPE; 0 if there is none
    bool is_contiguous; // instances follow each other without a gap
    uint64_t bytes;
    int64_t lower_bound;
    int64_t extent;
};

struct mpi_type mpi_type_of(MPI_Datatype type);

// The number of a RECORD_HINTS: what `info` asks for, and what is in force on the open file `fh` (NULL: no file). 0 if
// there are no hints.
uint32_t mpi_hints_of(MPI_Info info, const MPI_File *fh);

// --- communicators (communicators.c)

struct mpi_comm {
    uint32_t number; // of its RECORD_COMMUNICATOR; 0 if there is none
    int size;
    int rank;
};

// False if the recorder has not seen it. Asks MPI nothing.
bool mpi_comm_known(MPI_Comm comm, struct mpi_comm *is);
// MPI has accepted the communicator.
struct mpi_comm mpi_comm_of(MPI_Comm comm);
void mpi_comm_start(void); // after MPI_Init
// Partners of this handle are not those of the next communicator with the same handle.
void plugin_forget_comm(MPI_Comm comm);

void mpi_leave_make(struct mpi_probe *p, uint32_t call, enum comm_origin origin, MPI_Comm comm, const MPI_Comm *made,
                    int result);
void mpi_leave_idup(struct mpi_probe *p, uint32_t call, MPI_Comm comm, const MPI_Comm *made, int result);
void mpi_enter_comm_free(struct mpi_probe *p, const MPI_Comm *comm);
void mpi_leave_comm_free(struct mpi_probe *p, uint32_t call, int result);

void mpi_leave_match(struct mpi_probe *p, uint32_t call, MPI_Comm comm, const MPI_Message *message, int flag,
                     int result);
void mpi_enter_matched(struct mpi_probe *p, MPI_Count count, MPI_Datatype type, const MPI_Message *message);
void mpi_leave_matched(struct mpi_probe *p, uint32_t call, const MPI_Status *status, int result);

static inline int mpi_source(int source, const MPI_Status *status) {
    return source == MPI_ANY_SOURCE ? status->MPI_SOURCE : source;
}

// --- clocks of several hosts (clocks.c)

void mpi_clocks_prepare(void); // before MPI_Init
void mpi_clocks_early(void);   // after it
void mpi_clocks_late(void);    // before MPI_Finalize

// --- counters of all ranks (finalize.c)

void mpi_add_up(void); // before MPI_Finalize

// --- the job and its files (plugin.c)

void mpi_enter_init(struct mpi_probe *p);
void mpi_enter_finalize(struct mpi_probe *p);
void mpi_leave_init(struct mpi_probe *p, uint32_t call, int result);

MPI_SHIM void mpi_leave_finalize(struct mpi_probe *p, uint32_t call, int result) {
    (void)call, (void)result;
    p->thread->in_mpi_setup = false;
}

void mpi_enter_type_free(struct mpi_probe *p, const MPI_Datatype *type);

MPI_SHIM void mpi_leave_type_free(struct mpi_probe *p, uint32_t call, int result) { (void)p, (void)call, (void)result; }

void mpi_enter_io(struct mpi_probe *p);
void mpi_enter_file(struct mpi_probe *p, MPI_File fh);
void mpi_enter_at(struct mpi_probe *p, MPI_File fh, MPI_Offset view, MPI_Count count, MPI_Datatype type);
void mpi_enter_individual(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type);
void mpi_enter_shared(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type);
void mpi_enter_end(struct mpi_probe *p, MPI_File fh);
void mpi_leave_open(struct mpi_probe *p, uint32_t call, MPI_Comm comm, const char *filename, int amode, MPI_Info info,
                    const MPI_File *fh, int result);
void mpi_leave_close(struct mpi_probe *p, uint32_t call, int result);
void mpi_leave_delete(struct mpi_probe *p, uint32_t call, const char *filename, int result);
void mpi_leave_file(struct mpi_probe *p, uint32_t call, MPI_Offset size, int result);
void mpi_leave_view(struct mpi_probe *p, uint32_t call, MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
                    MPI_Datatype filetype, MPI_Info info, int result);
void mpi_leave_info(struct mpi_probe *p, uint32_t call, MPI_File fh, MPI_Info info, int result);
void mpi_leave_seek(struct mpi_probe *p, uint32_t call, MPI_File fh, int result);
void mpi_leave_data(struct mpi_probe *p, uint32_t call, const MPI_Status *status, int result);
void mpi_leave_request(struct mpi_probe *p, uint32_t call, const MPI_Request *request, int result);
void mpi_leave_begin(struct mpi_probe *p, uint32_t call, int result);
void mpi_leave_end(struct mpi_probe *p, uint32_t call, const MPI_Status *status, int result);
