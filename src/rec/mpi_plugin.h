// The MPI side of the recorder, compiled once for each MPI (with its mpi.h) and opened by the core when a program uses
// that MPI. It must not depend on the MPI library: its functions come through the core's table, its data symbols are
// looked up.
#ifndef IOSEER_REC_MPI_PLUGIN_H
#define IOSEER_REC_MPI_PLUGIN_H

#include <mpi.h>

#include "calls.h"
#include "rec/mpi_core.h"

#define MPI_SHIM static inline __attribute__((always_inline))

// What the plugin knows of an open MPI file.
struct mpi_file {
    bool open;
    MPI_File fh;
    struct file *file;
    uint32_t serial;
    uint64_t etype_bytes;
    uint64_t displacement;
    bool plain_view;      // its bytes are the file's bytes from the displacement on
    struct pending split; // the split call under way; call 0: none
};

struct mpi_probe {
    struct thread *thread;
    uint64_t start;
    uintptr_t caller;
    struct mpi_file *file;
    struct call_frame frame;
    uint64_t offset;
    uint64_t view_offset;
    uint64_t size;
    MPI_Datatype type; // of the memory of a transfer
    bool has_offset;
    bool unaligned;
    MPI_Request request;   // before the call
    MPI_Status *status;    // of the wait, where I/O requests are under way
    MPI_Request *requests; // a copy, where I/O requests are under way
    int request_count;
};

struct plugin {
    const struct mpi_core *core;
    _Atomic uint64_t *tick;    // core->tick
    const bool *clock_uses_ns; // core->clock_uses_ns
    MPI_Comm world;
    MPI_Datatype byte;
    MPI_Datatype no_type;
    MPI_Info no_info;
    _Atomic uint64_t type_salt; // another one each time a datatype is freed: its handle may come to mean another type
    _Atomic int io_requests;    // nonblocking transfers under way
    int (*type_size)(MPI_Datatype, MPI_Count *);
    int (*get_elements)(const MPI_Status *, MPI_Datatype, MPI_Count *);
    int (*get_position)(MPI_File, MPI_Offset *);
    int (*get_byte_offset)(MPI_File, MPI_Offset, MPI_Offset *);
    int (*error_class)(int, int *);
    int (*comm_rank)(MPI_Comm, int *);
    int (*comm_size)(MPI_Comm, int *);
    int (*type_extent)(MPI_Datatype, MPI_Count *, MPI_Count *);
    int (*library_version)(char *, int *);
};

extern struct plugin plugin __attribute__((visibility("hidden")));
extern void *const *plugin_real __attribute__((visibility("hidden")));

static inline uint64_t plugin_now(void)
{
    if (__builtin_expect(*plugin.clock_uses_ns, 0)) return clock_ns(CLOCK_MONOTONIC) >> CLOCK_NS_SHIFT;
    return cpu_counter() >> CLOCK_COUNTER_SHIFT;
}

// --- communication: the hot path of MPI programs. All that needs the call's arguments happens before the call and
// inline, so that they stay where they are.

extern __thread struct thread *plugin_thread __attribute__((tls_model("initial-exec"), visibility("hidden")));
struct thread *plugin_find_thread(void);

MPI_SHIM bool mpi_enter_comm(struct mpi_probe *p)
{
    struct thread *thread = plugin_thread;
    if (UNLIKELY(!thread || !thread->ready)) thread = plugin_find_thread();
    p->thread = thread;
    if (UNLIKELY(!thread || thread->in_mpi)) return false;
    thread->in_mpi = true;
    atomic_fetch_add_explicit(plugin.tick, 1, memory_order_relaxed);
    p->start = plugin_now();
    return true;
}

MPI_SHIM void mpi_count_comm(struct mpi_probe *p, enum stream_comm_kind kind, uint64_t bytes)
{
    struct thread *thread = p->thread;
    if (UNLIKELY(!thread->comm)) return; // as in emit_left_out
    struct stream_comm *comm = &thread->comm[kind];
    comm->units += plugin_now() - p->start;
    comm->count++;
    comm->bytes += bytes;
    thread->in_mpi = false;
    if (UNLIKELY(!thread->limit_aside)) plugin.core->attend(thread);
}

// Sizes of types are asked for once: programs use few, and the same one again and again. No datatype is 0, neither as a
// number (MPICH) nor as a pointer (Open MPI).
uint64_t plugin_ask_type_bytes(struct thread *thread, MPI_Datatype type);

MPI_SHIM uint64_t plugin_type_key(MPI_Datatype type)
{
    return (uint64_t)(uintptr_t)type + atomic_load_explicit(&plugin.type_salt, memory_order_relaxed);
}

MPI_SHIM uint64_t plugin_type_bytes(struct thread *thread, MPI_Datatype type)
{
    if (LIKELY(thread->last_type.key == plugin_type_key(type))) return thread->last_type.bytes;
    return plugin_ask_type_bytes(thread, type);
}

MPI_SHIM bool mpi_enter_move(struct mpi_probe *p, MPI_Count count, MPI_Datatype type)
{
    if (UNLIKELY(!mpi_enter_comm(p))) return false;
    p->size = (uint64_t)count * plugin_type_bytes(p->thread, type);
    return true;
}

// Vectors of counts: how many bytes is not asked.
MPI_SHIM bool mpi_enter_some(struct mpi_probe *p)
{
    p->size = 0;
    return mpi_enter_comm(p);
}

MPI_SHIM void mpi_leave_sync(struct mpi_probe *p, uint32_t call, int result)
{
    (void)call, (void)result;
    mpi_count_comm(p, COMM_SYNCHRONISING, 0);
}

MPI_SHIM void mpi_leave_move(struct mpi_probe *p, uint32_t call, int result)
{
    (void)call, (void)result;
    mpi_count_comm(p, COMM_MOVING, p->size);
}

MPI_SHIM void mpi_leave_done(struct mpi_probe *p, uint32_t call, int result)
{
    (void)call, (void)result;
    mpi_count_comm(p, COMM_COMPLETING, 0);
}

// --- completion: requests of nonblocking I/O are looked for only while there are any

MPI_SHIM bool mpi_enter_wait(struct mpi_probe *p, MPI_Request *request, MPI_Status *status)
{
    if (UNLIKELY(!mpi_enter_comm(p))) return false;
    p->status = NULL;
    if (UNLIKELY(atomic_load_explicit(&plugin.io_requests, memory_order_relaxed))) {
        p->request = *request;
        p->status = status;
    }
    return true;
}

void plugin_request_done(struct mpi_probe *p, MPI_Request request, const MPI_Status *status);
bool plugin_copy_requests(struct mpi_probe *p, int count, const MPI_Request *requests);
void plugin_requests_done(struct mpi_probe *p, int count, const int *indices, const MPI_Status *statuses);

MPI_SHIM void mpi_leave_wait(struct mpi_probe *p, uint32_t call, int result)
{
    if (UNLIKELY(p->status != NULL)) plugin_request_done(p, p->request, p->status);
    mpi_leave_done(p, call, result);
}

MPI_SHIM void mpi_leave_test(struct mpi_probe *p, uint32_t call, int *flag, int result)
{
    if (UNLIKELY(p->status && *flag)) plugin_request_done(p, p->request, p->status);
    mpi_leave_done(p, call, result);
}

MPI_SHIM bool mpi_enter_waitall(struct mpi_probe *p, int count, MPI_Request *requests)
{
    if (!mpi_enter_comm(p)) return false;
    p->requests = NULL;
    if (UNLIKELY(atomic_load_explicit(&plugin.io_requests, memory_order_relaxed))) {
        plugin_copy_requests(p, count, requests);
    }
    return true;
}

MPI_SHIM void mpi_leave_waitall(struct mpi_probe *p, uint32_t call, int count, MPI_Request *requests,
                                MPI_Status *statuses, int result)
{
    (void)requests;
    if (UNLIKELY(p->requests != NULL)) plugin_requests_done(p, count, NULL, statuses);
    mpi_leave_done(p, call, result);
}

MPI_SHIM void mpi_leave_testall(struct mpi_probe *p, uint32_t call, int *flag, int count, MPI_Request *requests,
                                MPI_Status *statuses, int result)
{
    (void)requests;
    if (UNLIKELY(p->requests != NULL)) plugin_requests_done(p, *flag ? count : 0, NULL, statuses);
    mpi_leave_done(p, call, result);
}

MPI_SHIM void mpi_leave_waitany(struct mpi_probe *p, uint32_t call, int *index, MPI_Status *status, int result)
{
    if (UNLIKELY(p->requests != NULL)) plugin_requests_done(p, *index >= 0, index, status);
    mpi_leave_done(p, call, result);
}

MPI_SHIM void mpi_leave_testany(struct mpi_probe *p, uint32_t call, int *index, int *flag, MPI_Status *status,
                                int result)
{
    if (UNLIKELY(p->requests != NULL)) plugin_requests_done(p, *flag && *index >= 0, index, status);
    mpi_leave_done(p, call, result);
}

MPI_SHIM void mpi_leave_waitsome(struct mpi_probe *p, uint32_t call, int *outcount, int *indices, MPI_Status *statuses,
                                 int result)
{
    if (UNLIKELY(p->requests != NULL)) plugin_requests_done(p, *outcount, indices, statuses);
    mpi_leave_done(p, call, result);
}

// --- the job and its files (mpi_plugin.c)

bool mpi_enter_setup(struct mpi_probe *p);
void mpi_leave_init(struct mpi_probe *p, uint32_t call, int result);
bool mpi_enter_type_free(struct mpi_probe *p);
void mpi_leave_type_free(struct mpi_probe *p, uint32_t call, int result);
void mpi_leave_finalize(struct mpi_probe *p, uint32_t call, int result);
bool mpi_enter_io(struct mpi_probe *p);
bool mpi_enter_file(struct mpi_probe *p, MPI_File fh);
bool mpi_enter_close(struct mpi_probe *p, const MPI_File *fh);
bool mpi_enter_at(struct mpi_probe *p, MPI_File fh, MPI_Offset view, MPI_Count count, MPI_Datatype type);
bool mpi_enter_individual(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type);
bool mpi_enter_shared(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type);
bool mpi_enter_end(struct mpi_probe *p, MPI_File fh);
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
void mpi_leave_begin(struct mpi_probe *p, uint32_t call, MPI_File fh, int result);
void mpi_leave_end(struct mpi_probe *p, uint32_t call, MPI_File fh, const MPI_Status *status, int result);

#endif
