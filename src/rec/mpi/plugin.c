#include "rec/mpi/plugin.h"

#include <stdlib.h>
#include <string.h>

#include "rec/file_system_name.h"
#include "rec/mpi/roll.h"

struct plugin plugin;
static struct thread nobody; // for threads without a state: it is never ready
__thread struct thread *plugin_thread __attribute__((tls_model("initial-exec"))) = &nobody;

// A log has access modes as numbers, which are the same for every MPI.
_Static_assert(MPI_MODE_CREATE == 1 && MPI_MODE_RDONLY == 2 && MPI_MODE_WRONLY == 4 && MPI_MODE_RDWR == 8 &&
                   MPI_MODE_DELETE_ON_CLOSE == 16 && MPI_MODE_UNIQUE_OPEN == 32 && MPI_MODE_EXCL == 64 &&
                   MPI_MODE_APPEND == 128 && MPI_MODE_SEQUENTIAL == 256,
               "access modes have the numbers of doc/format.md");

enum { FILE_BUCKETS = 256 };

static struct mpi_file *_Atomic files[FILE_BUCKETS];
static _Atomic uint32_t files_lock;

// All threads that have called MPI. States are never freed: new threads take them over.
static struct known_thread {
    struct thread *thread;
    struct known_thread *next;
} * _Atomic threads;

static void remember_thread(struct thread *thread) {
    struct known_thread *known = threads;
    while (known && known->thread != thread) known = known->next;
    if (known || !(known = plugin.core->memory_alloc(sizeof *known))) return;
    *known = (struct known_thread){thread, threads};
    while (!atomic_compare_exchange_weak(&threads, &known->next, known)) continue;
}

bool plugin_find_thread(void) {
    struct thread *thread = plugin.core->thread();
    if (!thread) return false;
    remember_thread(thread);
    plugin_thread = thread;
    return true;
}

uint64_t plugin_now_ns(void) { return clock_ns(CLOCK_MONOTONIC) >> EVENT_CLOCK_NS_SHIFT; }

uint64_t plugin_ask_type_bytes(void) {
    MPI_Count bytes = 0;
    struct thread *thread = plugin_thread;
    MPI_Datatype type = (MPI_Datatype)thread->type_asked;
    // MPI may end the program if the plugin asks for the size of MPI_DATATYPE_NULL, though the program's own call only
    // returns an error.
    if (type == plugin.no_type || plugin.mpi.Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) bytes = 0;
    thread->types[plugin_type_place(type)] = (struct type_bytes){.type = thread->type_asked, .bytes = (uint64_t)bytes};
    thread->type_numbers[plugin_type_place(type)] = 0;
    return (uint64_t)bytes;
}

static MPI_RARE uint32_t ask_memory_type(struct mpi_probe *p) {
    struct thread *thread = p->thread;
    struct mpi_type type = mpi_type_of(p->type);
    uint32_t number = type.is_contiguous ? 0 : type.number;
    unsigned place = plugin_type_place(p->type);
    if (thread->types[place].type == (uintptr_t)p->type) thread->type_numbers[place] = number + 1;
    return number;
}

// The number of the datatype of a transfer's memory if that is not contiguous. MPI has accepted the type.
static inline uint32_t memory_type(struct mpi_probe *p) {
    return LIKELY(p->type_number) ? p->type_number - 1 : ask_memory_type(p);
}

// Runs before the call: after it the handle may stand for another type. The program has never seen the types that MPI
// frees inside its own calls, or has freed them before.
void mpi_enter_type_free(struct mpi_probe *p, const MPI_Datatype *type) {
    const uint64_t odd = 0x9e3779b97f4a7c15u; // no two handles become the same key
    (void)p;
    atomic_fetch_add(&plugin.type_salt, odd);
    for (struct known_thread *known = threads; known; known = known->next) {
        known->thread->types[plugin_type_place(*type)].type = 0;
    }
}

// Its thread may be using the place for another communicator just now.
static void forget_partner(struct partner *partner, MPI_Comm comm) {
    uintptr_t handle = (uintptr_t)comm;
    __atomic_compare_exchange_n(&partner->comm, &handle, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void plugin_forget_comm(MPI_Comm comm) {
    for (struct known_thread *known = threads; known; known = known->next) {
        struct partners *partners = &known->thread->partners;
        for (unsigned i = 0; i < RECORDER_PARTNERS; i++) forget_partner(&partners->place[i], comm);
        for (unsigned i = 0; i < RECORDER_GROUPS; i++) forget_partner(&partners->group[i], comm);
    }
}

// The inline functions of emit.h call these.
void emit_push(struct thread *thread, struct call_frame *frame, uint64_t known) {
    plugin.core->emit_push(thread, frame, known);
}

void emit_deferred(struct thread *thread) { plugin.core->emit_deferred(thread); }

void *plugin_scratch(void) {
    static __thread void *scratch __attribute__((tls_model("initial-exec")));
    if (!scratch) scratch = plugin.core->memory_alloc(PLUGIN_SCRATCH_BYTES);
    return scratch;
}

// --- open files

static struct mpi_file *_Atomic *bucket_of(MPI_File fh) { return &files[(uintptr_t)fh * 0x9e3779b97f4a7c15u >> 56]; }

static struct mpi_file *file_find(MPI_File fh) {
    struct mpi_file *file = atomic_load_explicit(bucket_of(fh), memory_order_acquire);
    while (file && !(file->fh == fh && file->open)) file = file->next;
    return file;
}

// Entries are reused but never freed: another thread may be reading the list.
static struct mpi_file *file_add(MPI_File fh) {
    struct mpi_file *_Atomic *bucket = bucket_of(fh);
    spin_lock_as(&files_lock, 1);
    struct mpi_file *file = *bucket;
    while (file && file->open) file = file->next;
    if (!file && (file = plugin.core->memory_alloc(sizeof *file))) {
        file->next = *bucket;
        atomic_store_explicit(bucket, file, memory_order_release);
    }
    if (file) {
        *file = (struct mpi_file){.next = file->next, .fh = fh, .position = POSITION_UNKNOWN};
        file->open = true;
    }
    spin_unlock(&files_lock);
    return file;
}

// --- entering

static inline void enter_call(struct mpi_probe *p) {
    p->thread = plugin_thread;
    p->thread->outside_mpi = false;
    p->tick = atomic_fetch_add_explicit(&plugin.tick, 1, memory_order_relaxed) + 1;
}

static inline void enter_file(struct mpi_probe *p, MPI_File fh) {
    enter_call(p);
    p->file = file_find(fh);
    p->has_offset = false;
    p->size = 0;
}

// Must be the last step before the call.
static inline void begin(struct mpi_probe *p) {
    emit_push_plain(p->thread, &p->frame, p->tick);
    p->start = plugin_now();
}

void mpi_enter_io(struct mpi_probe *p) {
    enter_call(p);
    p->file = NULL;
    p->size = 0;
    begin(p);
}

// Any of these may move the individual pointer.
void mpi_enter_file(struct mpi_probe *p, MPI_File fh) {
    enter_file(p, fh);
    if (p->file) p->file->position = POSITION_UNKNOWN;
    begin(p);
}

static MPI_RARE bool ask_offset(struct mpi_probe *p, MPI_File fh) {
    MPI_Offset byte = 0, etypes = p->file->etype_bytes ? (MPI_Offset)(p->view_offset / p->file->etype_bytes) : 0;
    bool is_known = plugin.mpi.File_get_byte_offset(fh, etypes, &byte) == MPI_SUCCESS;
    p->offset = (uint64_t)byte;
    return is_known;
}

// Maps an offset in the view to the file: by arithmetic for plain views; for others the plugin asks MPI.
static inline void locate(struct mpi_probe *p, MPI_File fh, uint64_t view_bytes) {
    p->view_offset = view_bytes;
    p->offset = p->file->displacement + view_bytes;
    p->has_offset = LIKELY(p->file->plain_view) || ask_offset(p, fh);
}

static inline void enter_data(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type) {
    enter_file(p, fh);
    p->type = type;
    p->type_number = 0;
    if (count <= 0) return;
    p->size = (uint64_t)count * plugin_type_bytes(p->thread, type);
    p->type_number = p->thread->type_numbers[plugin_type_place(type)];
}

void mpi_enter_at(struct mpi_probe *p, MPI_File fh, MPI_Offset view, MPI_Count count, MPI_Datatype type) {
    enter_data(p, fh, count, type);
    if (p->file && view >= 0) locate(p, fh, (uint64_t)view * p->file->etype_bytes);
    begin(p);
}

// The pointer is known only after a transfer of all requested bytes. Otherwise the plugin asks MPI.
static bool advance_position(struct mpi_probe *p, MPI_File fh, uint64_t *position) {
    uint64_t known = atomic_load_explicit(&p->file->position, memory_order_relaxed);
    do {
        MPI_Offset etypes = 0;
        *position = known;
        if (known != POSITION_UNKNOWN) continue;
        if (plugin.mpi.File_get_position(fh, &etypes) != MPI_SUCCESS) return false;
        *position = (uint64_t)etypes * p->file->etype_bytes;
    } while (!atomic_compare_exchange_strong(&p->file->position, &known, *position + p->size));
    return true;
}

void mpi_enter_individual(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type) {
    uint64_t position;
    enter_data(p, fh, count, type);
    if (p->file && advance_position(p, fh, &position)) locate(p, fh, position);
    begin(p);
}

// All processes move the shared pointer, so its position is not known.
void mpi_enter_shared(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type) {
    enter_data(p, fh, count, type);
    begin(p);
}

// The second half continues the call that the first half began.
void mpi_enter_end(struct mpi_probe *p, MPI_File fh) {
    enter_file(p, fh);
    if (p->file) p->file->position = POSITION_UNKNOWN;
    const struct pending *split = p->file ? &p->file->split : NULL;
    bool is_ours = split && split->call != CALL_none && split->own_stream == p->thread->stream;
    emit_push(p->thread, &p->frame, is_ours ? split->own_number : CALL_FRAME_SILENT);
    p->start = plugin_now();
}

// --- leaving

int plugin_error(int result) {
    int class = 0;
    if (result == MPI_SUCCESS) return 0;
    return plugin.mpi.Error_class(result, &class) == MPI_SUCCESS && class ? class : 1;
}

static void finish(struct mpi_probe *p, struct emission *e) {
    plugin.core->emit_finish(p->thread, &p->frame, e);
    p->thread->outside_mpi = true;
}

static void finish_with(struct mpi_probe *p, struct emission *e, int result) {
    emit_result(e, result == MPI_SUCCESS ? 0 : -1, 0, plugin_error(result));
    finish(p, e);
}

static MPI_RARE void drop_frame(struct mpi_probe *p) {
    plugin.core->emit_leave(p->thread, &p->frame);
    p->thread->outside_mpi = true;
}

static inline struct file *recorded_file(const struct mpi_probe *p) { return p->file ? p->file->file : NULL; }

// Starts the event of a call on a file. Returns false, and drops the frame, if the file is left out.
static bool start_event(struct emission *e, struct mpi_probe *p, uint32_t call, struct file *file, uint64_t end) {
    struct plain_event event = {.call = call, .start = p->start, .end = end, .caller = p->caller};
    if (!file) {
        drop_frame(p);
        return false;
    }
    emit_start(e, event, file, p->file ? p->file->serial : 0);
    return true;
}

void mpi_leave_file(struct mpi_probe *p, uint32_t call, MPI_Offset size, int result) {
    struct emission e;
    if (!start_event(&e, p, call, recorded_file(p), plugin_now())) return;
    e.event.size = (uint64_t)size;
    finish_with(p, &e, result);
}

// Adds what the call asked for and, for an open file, what is in force.
static void add_hints(struct emission *e, MPI_Info info, const MPI_File *fh) {
    bool has_info = info != plugin.no_info;
    uint32_t number = fh ? mpi_hints_of(info, fh) : 0;
    if (has_info) emit_attribute(e, ATTRIBUTE_HINTS, 1);
    if (number) emit_attribute(e, ATTRIBUTE_HINTS_ID, number);
}

void mpi_leave_open(struct mpi_probe *p, uint32_t call, MPI_Comm comm, const char *filename, int amode, MPI_Info info,
                    const MPI_File *fh, int result) {
    uint64_t end = plugin_now();
    struct file *name = plugin.core->file(without_file_system(filename));
    struct mpi_comm is = {0};
    if (result == MPI_SUCCESS) p->file = file_add(*fh);
    if (p->file) {
        p->file->file = name;
        p->file->serial = plugin.core->handles_new_serial();
        p->file->etype_bytes = 1;
        p->file->plain_view = true;
    }
    struct emission e;
    if (!start_event(&e, p, call, name, end)) return;
    if (!mpi_comm_known(comm, &is) && result == MPI_SUCCESS) is = mpi_comm_of(comm);
    emit_attribute(&e, ATTRIBUTE_FLAGS, (uint32_t)amode);
    if (is.size) emit_attribute(&e, ATTRIBUTE_COMM_SIZE, (uint32_t)is.size);
    if (is.number) emit_attribute(&e, ATTRIBUTE_COMM, is.number);
    add_hints(&e, info, result == MPI_SUCCESS ? fh : NULL);
    finish_with(p, &e, result);
}

void mpi_leave_close(struct mpi_probe *p, uint32_t call, int result) {
    struct mpi_file *file = p->file;
    mpi_leave_file(p, call, 0, result);
    if (file && result == MPI_SUCCESS) file->open = false;
}

void mpi_leave_delete(struct mpi_probe *p, uint32_t call, const char *filename, int result) {
    struct emission e;
    if (start_event(&e, p, call, plugin.core->file(without_file_system(filename)), plugin_now()))
        finish_with(p, &e, result);
}

// A view is plain if the filetype has no holes.
static void set_view(struct mpi_file *file, MPI_Offset disp, const struct mpi_type *etype,
                     const struct mpi_type *filetype) {
    file->etype_bytes = etype->bytes;
    file->displacement = disp > 0 ? (uint64_t)disp : 0;
    file->plain_view = filetype->is_contiguous;
}

static void add_view(struct emission *e, const struct mpi_type *etype, const struct mpi_type *filetype) {
    emit_attribute(e, ATTRIBUTE_ETYPE_BYTES, etype->bytes);
    emit_attribute(e, ATTRIBUTE_FILETYPE_BYTES, filetype->bytes);
    emit_attribute(e, ATTRIBUTE_FILETYPE_EXTENT, (uint64_t)filetype->extent);
    if (etype->number) emit_attribute(e, ATTRIBUTE_ETYPE, etype->number);
    if (filetype->number) emit_attribute(e, ATTRIBUTE_FILETYPE, filetype->number);
}

void mpi_leave_view(struct mpi_probe *p, uint32_t call, MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
                    MPI_Datatype filetype, MPI_Info info, int result) {
    bool is_set = result == MPI_SUCCESS;
    struct emission e;
    if (!start_event(&e, p, call, recorded_file(p), plugin_now())) return;
    e.event.offset = (uint64_t)disp;
    if (is_set) {
        struct mpi_type of_element = mpi_type_of(etype), of_file = mpi_type_of(filetype);
        set_view(p->file, disp, &of_element, &of_file);
        add_view(&e, &of_element, &of_file);
    }
    add_hints(&e, info, is_set ? &fh : NULL);
    finish_with(p, &e, result);
}

void mpi_leave_info(struct mpi_probe *p, uint32_t call, MPI_File fh, MPI_Info info, int result) {
    struct emission e;
    if (!start_event(&e, p, call, recorded_file(p), plugin_now())) return;
    add_hints(&e, info, result == MPI_SUCCESS ? &fh : NULL);
    finish_with(p, &e, result);
}

void mpi_leave_seek(struct mpi_probe *p, uint32_t call, MPI_File fh, int result) {
    MPI_Offset position = 0;
    struct emission e;
    if (!start_event(&e, p, call, recorded_file(p), plugin_now())) return;
    if (result == MPI_SUCCESS && plugin.mpi.File_get_position(fh, &position) == MPI_SUCCESS) {
        e.event.offset = (uint64_t)position * p->file->etype_bytes;
    } else {
        e.extra.flags |= EVENT_NO_OFFSET;
        emit_result(&e, -1, 0, plugin_error(result));
    }
    finish(p, &e);
}

static __thread struct {
    MPI_Status status;
    int64_t bytes;
} last_answer __attribute__((tls_model("initial-exec")));

static MPI_RARE int64_t ask_moved_bytes(const MPI_Status *status, uint64_t asked) {
    MPI_Count bytes = 0;
    if (plugin.mpi.Get_elements_x(status, plugin.byte, &bytes) != MPI_SUCCESS || bytes < 0) return (int64_t)asked;
    last_answer.status = *status;
    return last_answer.bytes = bytes;
}

// A status with the same bytes as the last one has the same answer. 0 means that there was no last one.
int64_t plugin_moved_bytes(const MPI_Status *status, uint64_t asked) {
    if (status == MPI_STATUS_IGNORE) return (int64_t)asked;
    if (LIKELY(!memcmp(status, &last_answer.status, sizeof *status) && last_answer.bytes)) return last_answer.bytes;
    return ask_moved_bytes(status, asked);
}

// Whether the offset in the view may differ from that in the file.
static bool has_view(const struct mpi_probe *p) {
    return p->has_offset && !(p->file->plain_view && p->file->displacement == 0);
}

static MPI_RARE void leave_data_slowly(struct mpi_probe *p, struct plain_event event, int64_t moved, int result) {
    struct emission e;
    event.caller = p->caller;
    emit_start(&e, event, p->file->file, p->file->serial);
    if (!p->has_offset) e.event.offset = 0;
    if (!p->has_offset) e.extra.flags |= EVENT_NO_OFFSET;
    if (has_view(p)) emit_attribute(&e, ATTRIBUTE_VIEW_OFFSET, p->view_offset);
    uint32_t datatype = result == MPI_SUCCESS ? memory_type(p) : 0;
    if (datatype) emit_attribute(&e, ATTRIBUTE_DATATYPE, datatype);
    if (moved != (int64_t)p->size) {
        p->file->position = POSITION_UNKNOWN;
        emit_result(&e, moved, (int64_t)p->size, plugin_error(result));
    }
    finish(p, &e);
}

void mpi_leave_data(struct mpi_probe *p, uint32_t call, const MPI_Status *status, int result) {
    uint64_t end = plugin_now();
    if (UNLIKELY(!recorded_file(p))) {
        drop_frame(p);
        return;
    }
    int64_t moved = LIKELY(result == MPI_SUCCESS) ? plugin_moved_bytes(status, p->size) : -1;
    enum event_attribute attribute = has_view(p) ? ATTRIBUTE_VIEW_OFFSET : ATTRIBUTE_LIMIT;
    struct plain_event event = {.call = call, .offset = p->offset, .size = p->size, .start = p->start, .end = end};
    if (LIKELY(moved == (int64_t)p->size && p->has_offset && !memory_type(p)) &&
        LIKELY(emit_finish_plain(p->thread, &p->frame, p->file->serial, event, attribute, p->view_offset, false))) {
        p->thread->outside_mpi = true;
        return;
    }
    leave_data_slowly(p, event, moved, result);
}

// --- nonblocking and split transfers: from submission to observed completion

// The frame was dropped; its number is that of the call if it had children.
static struct pending pending_of(struct mpi_probe *p, uint32_t call, int result, uint64_t end) {
    p->file->position = POSITION_UNKNOWN;
    return (struct pending){.context = plugin_request_queue,
                            .call = call,
                            .serial = p->file->serial,
                            .file = p->file->file,
                            .offset = p->has_offset ? p->offset : 0,
                            .has_offset = p->has_offset,
                            .size = p->size,
                            .start = p->start,
                            .call_time = end - p->start,
                            .caller = p->caller,
                            .tick = atomic_load_explicit(&plugin.tick, memory_order_relaxed),
                            .view_offset = p->view_offset,
                            .has_view = has_view(p),
                            .datatype = result == MPI_SUCCESS ? memory_type(p) : 0,
                            .own_stream = p->thread->stream,
                            .own_number = p->frame.number,
                            .parent_number = STREAM_NO_PARENT};
}

void mpi_leave_request(struct mpi_probe *p, uint32_t call, const MPI_Request *request, int result) {
    uint64_t end = plugin_now();
    drop_frame(p);
    if (!recorded_file(p)) return;
    struct pending what = pending_of(p, call, result, end);
    if (result == MPI_SUCCESS) {
        what.id = plugin_request_id(*request);
        plugin.core->pending_add(p->thread, &what);
        atomic_fetch_add(&plugin.io_requests, 1);
    } else {
        plugin.core->pending_emit(p->thread, &what, -plugin_error(result), 0);
    }
}

void mpi_leave_begin(struct mpi_probe *p, uint32_t call, int result) {
    uint64_t end = plugin_now();
    drop_frame(p);
    if (!recorded_file(p)) return;
    p->file->split = pending_of(p, call, result, end);
    if (result != MPI_SUCCESS) {
        plugin.core->pending_emit(p->thread, &p->file->split, -plugin_error(result), 0);
        p->file->split.call = CALL_none;
    }
}

void mpi_leave_end(struct mpi_probe *p, uint32_t call, const MPI_Status *status, int result) {
    (void)call;
    drop_frame(p);
    if (!recorded_file(p) || p->file->split.call == CALL_none) return;
    if (p->file->split.own_number == STREAM_NO_PARENT) { // only the second half had children
        p->file->split.own_number = p->frame.number;
        p->file->split.own_stream = p->thread->stream;
    }
    int64_t moved = result == MPI_SUCCESS ? plugin_moved_bytes(status, p->file->split.size) : -plugin_error(result);
    plugin.core->pending_emit(p->thread, &p->file->split, moved, plugin_now() - p->start);
    p->file->split.call = CALL_none;
}

// --- the job

static int local_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
                                        "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text && *text) return atoi(text);
    }
    return -1;
}

// "MPICH Version:\t4.0.2\nMPICH Release date: …" becomes "MPICH 4.0.2", "Open MPI v4.1.4, package: …" its first part.
static void tidy_version(char *version) {
    version[strcspn(version, "\n,")] = 0;
    char *label = strstr(version, "Version:");
    if (!label) return;
    const char *number = label + strlen("Version:");
    number += strspn(number, " \t");
    memmove(label, number, strlen(number) + 1);
}

static void enter_setup(struct mpi_probe *p) {
    p->thread = plugin_thread;
    p->thread->in_mpi_setup = true;
}

void mpi_enter_init(struct mpi_probe *p) {
    enter_setup(p);
    roll_sign();
    mpi_clocks_prepare();
}

void mpi_enter_finalize(struct mpi_probe *p) {
    enter_setup(p);
    mpi_clocks_late();
    mpi_add_up();
}

void mpi_leave_init(struct mpi_probe *p, uint32_t call, int result) {
    int rank = 0, size = 0, len = 0;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    (void)call;
    p->thread->in_mpi_setup = false;
    if (result != MPI_SUCCESS) return;
    plugin.mpi.Comm_rank(plugin.world, &rank);
    plugin.mpi.Comm_size(plugin.world, &size);
    plugin.mpi.Get_library_version(version, &len);
    tidy_version(version);
    plugin.core->describe(rank, size, local_rank(), version);
    mpi_comm_start();
    mpi_clocks_early();
}

// --- the plugin

#include "mpi_shims.h"

static void *const shims[MPI_SLOTS] = {
#define SHIM_ADDRESS(name) [SLOT_##name] = (void *)shim_##name,
    MPI_NAMES(SHIM_ADDRESS)
#undef SHIM_ADDRESS
};

static void *const *start(const struct mpi_core *core) {
    plugin.core = core;
    *core->tick = &plugin.tick;
    plugin.event_clock_uses_ns = *core->event_clock_uses_ns;
    memcpy(plugin.real, core->real, sizeof plugin.real);
#ifdef OPEN_MPI
    plugin.world = core->symbol("ompi_mpi_comm_world");
    plugin.self = core->symbol("ompi_mpi_comm_self");
    plugin.no_comm = core->symbol("ompi_mpi_comm_null");
    plugin.no_group = core->symbol("ompi_mpi_group_null");
    plugin.byte = core->symbol("ompi_mpi_byte");
    plugin.no_type = core->symbol("ompi_mpi_datatype_null");
    plugin.no_info = core->symbol("ompi_mpi_info_null");
    plugin.no_request = core->symbol("ompi_request_null");
    plugin.errors_return = core->symbol("ompi_mpi_errors_return");
#else
    plugin.world = MPI_COMM_WORLD;
    plugin.self = MPI_COMM_SELF;
    plugin.no_comm = MPI_COMM_NULL;
    plugin.no_group = MPI_GROUP_NULL;
    plugin.byte = MPI_BYTE;
    plugin.no_type = MPI_DATATYPE_NULL;
    plugin.no_info = MPI_INFO_NULL;
    plugin.no_request = MPI_REQUEST_NULL;
    plugin.errors_return = MPI_ERRORS_RETURN;
#endif
#define ASK(name) *(void **)&plugin.mpi.name = core->symbol("PMPI_" #name);
    MPI_ASKED(ASK)
#undef ASK
#define ASK(name) *(void **)&plugin.mpi.name = core->real[SLOT_PMPI_##name];
    MPI_MOVING(ASK)
#undef ASK
    return shims;
}

extern const struct mpi_plugin ioseer_plugin __attribute__((visibility("default")));
const struct mpi_plugin ioseer_plugin = {.build = MPI_BUILD, .start = start};
