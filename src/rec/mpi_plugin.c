#include "rec/mpi_plugin.h"

#include <stdlib.h>
#include <string.h>

#include "rec/mpi_describe.h"

struct plugin plugin;
void *const *plugin_real;
__thread struct thread *plugin_thread __attribute__((tls_model("initial-exec")));

// A log holds access modes as numbers, the same whatever the MPI.
_Static_assert(MPI_MODE_CREATE == 1 && MPI_MODE_RDONLY == 2 && MPI_MODE_WRONLY == 4 && MPI_MODE_RDWR == 8 &&
                   MPI_MODE_DELETE_ON_CLOSE == 16 && MPI_MODE_UNIQUE_OPEN == 32 && MPI_MODE_EXCL == 64 &&
                   MPI_MODE_APPEND == 128 && MPI_MODE_SEQUENTIAL == 256,
               "access modes have the numbers of doc/format.md");

enum { FILES = 1024 };

static struct mpi_file files[FILES];
static _Atomic uint32_t files_lock;
static const char request_queue[1]; // its address names the queue of nonblocking transfers

static uint64_t request_id(MPI_Request request)
{
    return (uint64_t)(uintptr_t)request;
}

struct thread *plugin_find_thread(void)
{
    return plugin_thread = plugin.core->thread();
}

uint64_t plugin_ask_type_bytes(struct thread *thread, MPI_Datatype type)
{
    MPI_Count bytes = 0;
    // To ask for the size of no type could end a program that the call itself would only tell so.
    if (type == plugin.no_type || plugin.type_size(type, &bytes) != MPI_SUCCESS || bytes < 0) bytes = 0;
    thread->last_type.key = plugin_type_key(type);
    thread->last_type.bytes = (uint64_t)bytes;
    thread->last_type.is_described = false;
    return (uint64_t)bytes;
}

// The number of the datatype of a transfer's memory where that is not contiguous. MPI has accepted the type.
static uint32_t memory_type(struct mpi_probe *p)
{
    struct thread *thread = p->thread;
    bool is_last = thread->last_type.key == plugin_type_key(p->type);
    if (LIKELY(is_last && thread->last_type.is_described)) return thread->last_type.number;
    struct mpi_type type = mpi_type_of(p->type);
    uint32_t number = type.is_contiguous ? 0 : type.number;
    if (is_last) {
        thread->last_type.number = number;
        thread->last_type.is_described = true;
    }
    return number;
}

// Before the call: from then on nobody may use the handle until it means another type. What MPI frees inside its own
// calls the program has never seen, or has freed before.
bool mpi_enter_type_free(struct mpi_probe *p)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u; // no two handles become the same key
    const struct thread *thread = plugin_thread;
    (void)p;
    if (!thread || !thread->in_mpi) atomic_fetch_add(&plugin.type_salt, odd);
    return false;
}

void mpi_leave_type_free(struct mpi_probe *p, uint32_t call, int result)
{
    (void)p, (void)call, (void)result;
}

// --- open files

static struct mpi_file *file_find(MPI_File fh)
{
    for (unsigned i = 0; i < FILES; i++) {
        if (files[i].open && files[i].fh == fh) return &files[i];
    }
    return NULL;
}

static struct mpi_file *file_add(MPI_File fh)
{
    spin_lock_as(&files_lock, 1);
    struct mpi_file *file = NULL;
    for (unsigned i = 0; i < FILES && !file; i++) {
        if (!files[i].open) file = &files[i];
    }
    if (file) *file = (struct mpi_file){.open = true, .fh = fh};
    spin_unlock(&files_lock);
    return file;
}

// --- entering

static bool begin(struct mpi_probe *p)
{
    if (!mpi_enter_comm(p)) return false;
    p->file = NULL;
    p->has_offset = false;
    p->size = 0;
    plugin.core->push(p->thread, &p->frame);
    p->start = plugin_now();
    return true;
}

bool mpi_enter_io(struct mpi_probe *p)
{
    return begin(p);
}

bool mpi_enter_file(struct mpi_probe *p, MPI_File fh)
{
    if (!begin(p)) return false;
    p->file = file_find(fh);
    return true;
}

bool mpi_enter_close(struct mpi_probe *p, const MPI_File *fh)
{
    return mpi_enter_file(p, *fh);
}

// Where the view's bytes lie in the file is arithmetic for plain views; for the others the MPI library itself is asked.
static void locate(struct mpi_probe *p, MPI_File fh, MPI_Offset view)
{
    MPI_Offset byte = 0;
    if (!p->file || view < 0) return;
    p->view_offset = (uint64_t)view * p->file->etype_bytes;
    p->has_offset = true;
    if (p->file->plain_view) {
        p->offset = p->file->displacement + p->view_offset;
    } else if (plugin.get_byte_offset(fh, view, &byte) == MPI_SUCCESS) {
        p->offset = (uint64_t)byte;
    } else {
        p->has_offset = false;
    }
}

static bool enter_data(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type)
{
    if (!mpi_enter_file(p, fh)) return false;
    p->size = count > 0 ? (uint64_t)count * plugin_type_bytes(p->thread, type) : 0;
    p->type = type;
    return true;
}

bool mpi_enter_at(struct mpi_probe *p, MPI_File fh, MPI_Offset view, MPI_Count count, MPI_Datatype type)
{
    if (!enter_data(p, fh, count, type)) return false;
    locate(p, fh, view);
    p->start = plugin_now();
    return true;
}

bool mpi_enter_individual(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type)
{
    MPI_Offset position;
    if (!enter_data(p, fh, count, type)) return false;
    if (p->file && plugin.get_position(fh, &position) == MPI_SUCCESS) locate(p, fh, position);
    p->start = plugin_now();
    return true;
}

// The shared pointer is another process's too: nobody knows where it is without asking all of them.
bool mpi_enter_shared(struct mpi_probe *p, MPI_File fh, MPI_Count count, MPI_Datatype type)
{
    return enter_data(p, fh, count, type);
}

// The second half carries on the call that the first half began.
bool mpi_enter_end(struct mpi_probe *p, MPI_File fh)
{
    if (!mpi_enter_file(p, fh)) return false;
    const struct pending *split = p->file ? &p->file->split : NULL;
    if (split && split->call != CALL_none && split->own_stream == p->thread->stream) p->frame.known = split->own_number;
    return true;
}

// --- leaving

static struct emission emission_of(const struct mpi_probe *p, uint32_t call, struct file *file, uint64_t end)
{
    struct emission e = {.call = call, .file = file, .start = p->start, .end = end, .caller = p->caller};
    e.serial = p->file ? p->file->serial : 0;
    e.subject = e.serial ? e.serial : emit_subject_of_file(file);
    return e;
}

static int error_of(int result)
{
    int class = 0;
    if (result == MPI_SUCCESS) return 0;
    return plugin.error_class(result, &class) == MPI_SUCCESS && class ? class : 1;
}

static void finish(struct mpi_probe *p, struct emission *e)
{
    plugin.core->finish(p->thread, &p->frame, e);
    p->thread->in_mpi = false;
}

static void drop_frame(struct mpi_probe *p)
{
    plugin.core->leave(p->thread, &p->frame);
    p->thread->in_mpi = false;
}

static bool is_recorded(const struct mpi_probe *p)
{
    return p->file && p->file->file;
}

static void finish_simple(struct mpi_probe *p, uint32_t call, struct file *file, uint64_t size, int result)
{
    struct emission e = emission_of(p, call, file, plugin_now());
    e.size = size;
    emit_result(&e, result == MPI_SUCCESS ? 0 : -1, 0, error_of(result));
    finish(p, &e);
}

void mpi_leave_file(struct mpi_probe *p, uint32_t call, MPI_Offset size, int result)
{
    if (is_recorded(p)) {
        finish_simple(p, call, p->file->file, (uint64_t)size, result);
    } else {
        drop_frame(p);
    }
}

// ROMIO takes a file system's name before the path: "ufs:/tmp/x".
static const char *path_of(const char *filename)
{
    const char *colon = strchr(filename, ':');
    return colon && colon - filename > 1 && !memchr(filename, '/', (size_t)(colon - filename)) ? colon + 1 : filename;
}

// What the call asked for and, of an open file, what is in force now.
static void add_hints(struct emission *e, MPI_Info info, const MPI_File *fh)
{
    bool has_info = info != plugin.no_info;
    uint32_t number = fh ? mpi_hints_of(info, fh) : 0;
    if (has_info) emit_attribute(e, ATTRIBUTE_HINTS, 1);
    if (number) emit_attribute(e, ATTRIBUTE_HINTS_ID, number);
}

void mpi_leave_open(struct mpi_probe *p, uint32_t call, MPI_Comm comm, const char *filename, int amode, MPI_Info info,
                    const MPI_File *fh, int result)
{
    uint64_t end = plugin_now();
    struct file *name = plugin.core->file(path_of(filename));
    int size = 0;
    if (result == MPI_SUCCESS) p->file = file_add(*fh);
    if (p->file) {
        p->file->file = name;
        p->file->serial = plugin.core->serial();
        p->file->etype_bytes = 1;
        p->file->plain_view = true;
    }
    if (!name) {
        drop_frame(p);
        return;
    }
    plugin.comm_size(comm, &size);
    struct emission e = emission_of(p, call, name, end);
    emit_attribute(&e, ATTRIBUTE_FLAGS, (uint32_t)amode);
    emit_attribute(&e, ATTRIBUTE_COMM_SIZE, (uint32_t)size);
    add_hints(&e, info, result == MPI_SUCCESS ? fh : NULL);
    emit_result(&e, result == MPI_SUCCESS ? 0 : -1, 0, error_of(result));
    finish(p, &e);
}

void mpi_leave_close(struct mpi_probe *p, uint32_t call, int result)
{
    struct mpi_file *file = p->file;
    mpi_leave_file(p, call, 0, result);
    if (file && result == MPI_SUCCESS) file->open = false;
}

void mpi_leave_delete(struct mpi_probe *p, uint32_t call, const char *filename, int result)
{
    struct file *name = plugin.core->file(path_of(filename));
    if (name) {
        finish_simple(p, call, name, 0, result);
    } else {
        drop_frame(p);
    }
}

// A view is plain where the filetype has no holes.
static void take_view(struct mpi_file *file, MPI_Offset disp, const struct mpi_type *etype,
                      const struct mpi_type *filetype)
{
    file->etype_bytes = etype->bytes;
    file->displacement = disp > 0 ? (uint64_t)disp : 0;
    file->plain_view = filetype->is_contiguous;
}

static void add_view(struct emission *e, const struct mpi_type *etype, const struct mpi_type *filetype)
{
    emit_attribute(e, ATTRIBUTE_ETYPE_BYTES, etype->bytes);
    emit_attribute(e, ATTRIBUTE_FILETYPE_BYTES, filetype->bytes);
    emit_attribute(e, ATTRIBUTE_FILETYPE_EXTENT, (uint64_t)filetype->extent);
    if (etype->number) emit_attribute(e, ATTRIBUTE_ETYPE, etype->number);
    if (filetype->number) emit_attribute(e, ATTRIBUTE_FILETYPE, filetype->number);
}

void mpi_leave_view(struct mpi_probe *p, uint32_t call, MPI_File fh, MPI_Offset disp, MPI_Datatype etype,
                    MPI_Datatype filetype, MPI_Info info, int result)
{
    uint64_t end = plugin_now();
    bool is_set = result == MPI_SUCCESS;
    if (!is_recorded(p)) {
        drop_frame(p);
        return;
    }
    struct emission e = emission_of(p, call, p->file->file, end);
    e.offset = (uint64_t)disp;
    if (is_set) {
        struct mpi_type of_element = mpi_type_of(etype), of_file = mpi_type_of(filetype);
        take_view(p->file, disp, &of_element, &of_file);
        add_view(&e, &of_element, &of_file);
    }
    add_hints(&e, info, is_set ? &fh : NULL);
    emit_result(&e, is_set ? 0 : -1, 0, error_of(result));
    finish(p, &e);
}

void mpi_leave_info(struct mpi_probe *p, uint32_t call, MPI_File fh, MPI_Info info, int result)
{
    uint64_t end = plugin_now();
    if (!is_recorded(p)) {
        drop_frame(p);
        return;
    }
    struct emission e = emission_of(p, call, p->file->file, end);
    add_hints(&e, info, result == MPI_SUCCESS ? &fh : NULL);
    emit_result(&e, result == MPI_SUCCESS ? 0 : -1, 0, error_of(result));
    finish(p, &e);
}

void mpi_leave_seek(struct mpi_probe *p, uint32_t call, MPI_File fh, int result)
{
    uint64_t end = plugin_now();
    MPI_Offset position = 0;
    if (!is_recorded(p)) {
        drop_frame(p);
        return;
    }
    struct emission e = emission_of(p, call, p->file->file, end);
    if (result == MPI_SUCCESS && plugin.get_position(fh, &position) == MPI_SUCCESS) {
        e.offset = (uint64_t)position * p->file->etype_bytes;
    } else {
        e.extra.flags |= EVENT_NO_OFFSET;
        emit_result(&e, -1, 0, error_of(result));
    }
    finish(p, &e);
}

static int64_t moved_bytes(const MPI_Status *status, uint64_t asked)
{
    MPI_Count bytes = 0;
    if (!status || plugin.get_elements(status, plugin.byte, &bytes) != MPI_SUCCESS || bytes < 0) return (int64_t)asked;
    return bytes;
}

// Whether the offset in the view is another than in the file.
static bool has_view(const struct mpi_probe *p)
{
    return p->has_offset && p->file && !(p->file->plain_view && p->file->displacement == 0);
}

static void fill_data(const struct mpi_probe *p, struct emission *e)
{
    e->offset = p->has_offset ? p->offset : 0;
    e->size = p->size;
    if (!p->has_offset) e->extra.flags |= EVENT_NO_OFFSET;
    if (has_view(p)) emit_attribute(e, ATTRIBUTE_VIEW_OFFSET, p->view_offset);
}

void mpi_leave_data(struct mpi_probe *p, uint32_t call, const MPI_Status *status, int result)
{
    uint64_t end = plugin_now();
    if (!is_recorded(p)) {
        drop_frame(p);
        return;
    }
    struct emission e = emission_of(p, call, p->file->file, end);
    fill_data(p, &e);
    uint32_t datatype = result == MPI_SUCCESS ? memory_type(p) : 0;
    if (UNLIKELY(datatype)) emit_attribute(&e, ATTRIBUTE_DATATYPE, datatype);
    int error = error_of(result);
    emit_result(&e, error ? -1 : moved_bytes(status, p->size), (int64_t)p->size, error);
    finish(p, &e);
}

// --- nonblocking and split transfers: from submission to observed completion

static struct pending pending_of(struct mpi_probe *p, uint32_t call, int result)
{
    return (struct pending){.context = request_queue,
                            .call = call,
                            .serial = p->file->serial,
                            .file = p->file->file,
                            .subject = p->file->serial,
                            .offset = p->has_offset ? p->offset : 0,
                            .has_offset = p->has_offset,
                            .size = p->size,
                            .start = p->start,
                            .call_time = plugin_now() - p->start,
                            .caller = p->caller,
                            .tick = atomic_load_explicit(plugin.core->tick, memory_order_relaxed),
                            .view_offset = p->view_offset,
                            .has_view = has_view(p),
                            .datatype = result == MPI_SUCCESS ? memory_type(p) : 0,
                            .own_stream = p->thread->stream,
                            .own_number = p->frame.number,
                            .parent_number = STREAM_NO_PARENT};
}

void mpi_leave_request(struct mpi_probe *p, uint32_t call, const MPI_Request *request, int result)
{
    if (is_recorded(p)) {
        struct pending what = pending_of(p, call, result);
        if (result == MPI_SUCCESS) {
            what.id = request_id(*request);
            plugin.core->async_add(p->thread, &what);
            atomic_fetch_add(&plugin.io_requests, 1);
        } else {
            plugin.core->async_emit(p->thread, &what, -error_of(result), 0);
        }
    }
    drop_frame(p);
}

void plugin_request_done(struct mpi_probe *p, MPI_Request request, const MPI_Status *status)
{
    struct pending done;
    if (!plugin.core->async_take(p->thread, request_queue, request_id(request), &done)) return;
    atomic_fetch_sub(&plugin.io_requests, 1);
    plugin.core->async_emit(p->thread, &done, moved_bytes(status, done.size), plugin_now() - p->start);
    p->start = plugin_now(); // the wait was I/O: it is not communication as well
}

bool plugin_copy_requests(struct mpi_probe *p, int count, const MPI_Request *requests)
{
    p->requests = count > 0 ? malloc((size_t)count * sizeof *requests) : NULL;
    p->request_count = count;
    if (p->requests) memcpy(p->requests, requests, (size_t)count * sizeof *requests);
    return p->requests != NULL;
}

void plugin_requests_done(struct mpi_probe *p, int count, const int *indices, const MPI_Status *statuses)
{
    for (int i = 0; i < count; i++) {
        int index = indices ? indices[i] : i;
        if (index < 0 || index >= p->request_count) continue;
        bool has_status = statuses && statuses != MPI_STATUSES_IGNORE;
        plugin_request_done(p, p->requests[index], has_status ? &statuses[i] : NULL);
    }
    free(p->requests);
}

void mpi_leave_begin(struct mpi_probe *p, uint32_t call, MPI_File fh, int result)
{
    (void)fh;
    if (is_recorded(p)) {
        p->file->split = pending_of(p, call, result);
        if (result != MPI_SUCCESS) {
            plugin.core->async_emit(p->thread, &p->file->split, -error_of(result), 0);
            p->file->split.call = CALL_none;
        }
    }
    drop_frame(p);
}

void mpi_leave_end(struct mpi_probe *p, uint32_t call, MPI_File fh, const MPI_Status *status, int result)
{
    (void)call, (void)fh;
    drop_frame(p);
    if (!is_recorded(p) || p->file->split.call == CALL_none) return;
    if (p->file->split.own_number == STREAM_NO_PARENT) { // only the second half had children
        p->file->split.own_number = p->frame.number;
        p->file->split.own_stream = p->thread->stream;
    }
    int64_t moved = result == MPI_SUCCESS ? moved_bytes(status, p->file->split.size) : -error_of(result);
    plugin.core->async_emit(p->thread, &p->file->split, moved, plugin_now() - p->start);
    p->file->split.call = CALL_none;
}

// --- the job

bool mpi_enter_setup(struct mpi_probe *p)
{
    p->thread = plugin.core->thread();
    if (!p->thread || p->thread->in_mpi) return false;
    p->thread->in_mpi_setup = true;
    return true;
}

static int local_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
                                        "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text && *text) return atoi(text);
    }
    return -1;
}

// "MPICH Version:\t4.0.2\nMPICH Release date: …" becomes "MPICH 4.0.2", "Open MPI v4.1.4, package: …" its first part.
static void tidy_version(char *version)
{
    version[strcspn(version, "\n,")] = 0;
    char *label = strstr(version, "Version:");
    if (!label) return;
    const char *number = label + strlen("Version:");
    number += strspn(number, " \t");
    memmove(label, number, strlen(number) + 1);
}

void mpi_leave_init(struct mpi_probe *p, uint32_t call, int result)
{
    int rank = 0, size = 0, len = 0;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    (void)call;
    p->thread->in_mpi_setup = false;
    if (result != MPI_SUCCESS) return;
    plugin.comm_rank(plugin.world, &rank);
    plugin.comm_size(plugin.world, &size);
    plugin.library_version(version, &len);
    tidy_version(version);
    plugin.core->describe(rank, size, local_rank(), version);
}

void mpi_leave_finalize(struct mpi_probe *p, uint32_t call, int result)
{
    (void)call, (void)result;
    p->thread->in_mpi_setup = false;
}

// --- the plugin

#include "mpi_shims.h"

static void *const shims[MPI_SLOTS] = {
#define SHIM_ADDRESS(name) [SLOT_##name] = (void *)shim_##name,
    MPI_NAMES(SHIM_ADDRESS)
#undef SHIM_ADDRESS
};

static void find(void *target, const char *name)
{
    *(void **)target = plugin.core->symbol(name);
}

__attribute__((visibility("default"))) void *const *ioseer_mpi_plugin(const struct mpi_core *core);
void *const *ioseer_mpi_plugin(const struct mpi_core *core)
{
    plugin.core = core;
    plugin.tick = core->tick;
    plugin.clock_uses_ns = core->clock_uses_ns;
    plugin_real = core->real;
#ifdef OPEN_MPI
    plugin.world = core->symbol("ompi_mpi_comm_world");
    plugin.byte = core->symbol("ompi_mpi_byte");
    plugin.no_type = core->symbol("ompi_mpi_datatype_null");
    plugin.no_info = core->symbol("ompi_mpi_info_null");
#else
    plugin.world = MPI_COMM_WORLD;
    plugin.byte = MPI_BYTE;
    plugin.no_type = MPI_DATATYPE_NULL;
    plugin.no_info = MPI_INFO_NULL;
#endif
    find(&plugin.type_size, "PMPI_Type_size_x");
    find(&plugin.type_extent, "PMPI_Type_get_extent_x");
    find(&plugin.get_elements, "PMPI_Get_elements_x");
    find(&plugin.get_position, "PMPI_File_get_position");
    find(&plugin.get_byte_offset, "PMPI_File_get_byte_offset");
    find(&plugin.error_class, "PMPI_Error_class");
    find(&plugin.comm_rank, "PMPI_Comm_rank");
    find(&plugin.comm_size, "PMPI_Comm_size");
    find(&plugin.library_version, "PMPI_Get_library_version");
    mpi_types_start();
    mpi_hints_start();
    return shims;
}
