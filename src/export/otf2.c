// An archive of the Open Trace Format 2, by its own library, for Vampir and its kin. A process is a location group, a
// lane (lanes.h) a location, a call a region; what it does to a file is a record of I/O.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <otf2/otf2.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/utf8.h"
#include "export/export.h"
#include "export/lanes.h"
#include "log/describe.h"
#include "log/visit.h"

// An open of a file, or all uses of a file by calls whose open is not known.
struct handle {
    const struct log_file *file;
    uint8_t layer;
    bool is_created; // there is a record of it
    bool is_destroyed;
};

struct archive {
    struct log *log;
    const struct export_watch *watch;
    OTF2_Archive *otf2;
    OTF2_GlobalDefWriter *definitions;
    OTF2_AttributeList *attributes;
    struct lanes lanes;
    OTF2_EvtWriter **writer; // by lane
    size_t writers;
    uint64_t *records; // by lane
    size_t counts;
    const struct log_call **region; // calls in the order of their first use
    size_t regions;
    struct lookup region_of; // by the call's id
    struct handle *handle;
    size_t handles;
    struct lookup handle_of; // by process and number, or by process, layer and file
    struct lookup nodes;     // of the system tree, by the hash of the host's name
    uint32_t strings, node_count;
    bool has_world; // the ranks have a communicator
    struct bytes text;
    uint64_t events, first_time, last_time;
    int error; // the first one
};

enum attribute { AT_ID, AT_PARENT, AT_OFFSET, AT_ERRNO, AT_SERVER, AT_FILE };

// --- errors

// Instead of printing. The system's number is still there if a write has failed.
static OTF2_ErrorCode keep_error(void *context, const char *file, uint64_t line, const char *function,
                                 OTF2_ErrorCode code, const char *format, va_list words) {
    struct archive *a = context;
    (void)file, (void)line, (void)function, (void)format, (void)words;
    if (code != OTF2_SUCCESS && !a->error)
        a->error = code == OTF2_ERROR_ENOSPC ? -ENOSPC : code == OTF2_ERROR_ENOMEM ? -ENOMEM : errno ? -errno : -EIO;
    return code;
}

static int check(const struct archive *a, OTF2_ErrorCode code) {
    return code == OTF2_SUCCESS ? 0 : a->error ? a->error : -EIO;
}

// --- handles

static int find_handle(struct archive *a, const struct log_event *event, bool is_open, uint32_t *found) {
    uint32_t number = event->raw.handle;
    uint64_t key = hash_add(hash_add(event->process->index, event->call->layer),
                            number ? number : UINT64_C(1) << 32 | event->file->index);
    *found = lookup_find(&a->handle_of, key);
    if (*found != LOOKUP_NONE && !a->handle[*found].is_destroyed) return 0;
    *found = (uint32_t)a->handles;
    FORWARD(lookup_set(&a->handle_of, key, *found));
    return array_push(a->handle, a->handles,
                      (struct handle){.file = event->file, .layer = event->call->layer, .is_created = is_open});
}

// --- records

static OTF2_IoAccessMode access_mode(unsigned layer, uint64_t flags) {
    enum { MPI_RDONLY = 2, MPI_WRONLY = 4 };
    if (layer == LAYER_MPIIO)
        return flags & MPI_RDONLY   ? OTF2_IO_ACCESS_MODE_READ_ONLY
               : flags & MPI_WRONLY ? OTF2_IO_ACCESS_MODE_WRITE_ONLY
                                    : OTF2_IO_ACCESS_MODE_READ_WRITE;
    if (layer != LAYER_POSIX) return OTF2_IO_ACCESS_MODE_READ_WRITE;
    return (flags & O_ACCMODE) == O_RDONLY   ? OTF2_IO_ACCESS_MODE_READ_ONLY
           : (flags & O_ACCMODE) == O_WRONLY ? OTF2_IO_ACCESS_MODE_WRITE_ONLY
                                             : OTF2_IO_ACCESS_MODE_READ_WRITE;
}

struct flag_pair {
    unsigned system, otf2;
};

static unsigned translate(uint64_t flags, const struct flag_pair *pair) {
    unsigned otf2 = 0;
    for (; pair->system; pair++) {
        if ((flags & pair->system) == pair->system) otf2 |= pair->otf2;
    }
    return otf2;
}

static OTF2_ErrorCode write_open(struct archive *a, OTF2_EvtWriter *writer, const struct log_event *event,
                                 OTF2_TimeStamp time, uint32_t handle) {
    static const struct flag_pair creation[] = {
        {O_CREAT, OTF2_IO_CREATION_FLAG_CREATE},        {O_TRUNC, OTF2_IO_CREATION_FLAG_TRUNCATE},
        {O_DIRECTORY, OTF2_IO_CREATION_FLAG_DIRECTORY}, {O_EXCL, OTF2_IO_CREATION_FLAG_EXCLUSIVE},
        {O_NOFOLLOW, OTF2_IO_CREATION_FLAG_NO_FOLLOW},  {0}};
    static const struct flag_pair status[] = {{O_CLOEXEC, OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC},
                                              {O_APPEND, OTF2_IO_STATUS_FLAG_APPEND},
                                              {O_NONBLOCK, OTF2_IO_STATUS_FLAG_NON_BLOCKING},
                                              {O_SYNC, OTF2_IO_STATUS_FLAG_SYNC},
                                              {O_DSYNC, OTF2_IO_STATUS_FLAG_DATA_SYNC},
                                              {O_DIRECT, OTF2_IO_STATUS_FLAG_AVOID_CACHING},
                                              {0}};
    unsigned layer = event->call->layer;
    uint64_t flags = log_event_attribute(event, ATTRIBUTE_FLAGS), posix = layer == LAYER_POSIX ? flags : 0;
    return OTF2_EvtWriter_IoCreateHandle(writer, a->attributes, time, handle, access_mode(layer, flags),
                                         translate(posix, creation), translate(posix, status));
}

static OTF2_ErrorCode write_seek(struct archive *a, OTF2_EvtWriter *writer, const struct log_event *event,
                                 OTF2_TimeStamp time, uint32_t handle) {
    static const OTF2_IoSeekOption from[] = {OTF2_IO_SEEK_FROM_START, OTF2_IO_SEEK_FROM_CURRENT, OTF2_IO_SEEK_FROM_END,
                                             OTF2_IO_SEEK_DATA, OTF2_IO_SEEK_HOLE};
    uint64_t whence = log_event_attribute(event, ATTRIBUTE_WHENCE);
    uint64_t result = event->raw.has_result && event->raw.result >= 0 ? (uint64_t)event->raw.result : event->raw.offset;
    return OTF2_EvtWriter_IoSeek(writer, a->attributes, time, handle, (int64_t)event->raw.offset,
                                 from[whence < sizeof from / sizeof from[0] ? whence : 0], result);
}

static OTF2_ErrorCode write_operation(struct archive *a, OTF2_EvtWriter *writer, const struct log_event *event,
                                      OTF2_TimeStamp time, uint32_t handle) {
    unsigned class = event->call->class, flags = OTF2_IO_OPERATION_FLAG_NONE;
    if (event->call->traits & CALL_ASYNC) flags |= OTF2_IO_OPERATION_FLAG_NON_BLOCKING;
    if (log_event_is_collective(event)) flags |= OTF2_IO_OPERATION_FLAG_COLLECTIVE;
    if (event->raw.has_offset && log_class_moves(class))
        OTF2_AttributeList_AddUint64(a->attributes, AT_OFFSET, event->raw.offset);
    return OTF2_EvtWriter_IoOperationBegin(writer, a->attributes, time, handle,
                                           class == CLASS_READ    ? OTF2_IO_OPERATION_MODE_READ
                                           : class == CLASS_WRITE ? OTF2_IO_OPERATION_MODE_WRITE
                                                                  : OTF2_IO_OPERATION_MODE_FLUSH,
                                           flags, log_class_moves(class) ? event->raw.size : 0, event->id);
}

static bool is_operation(unsigned class) { return log_class_moves(class) || class == CLASS_SYNC; }

// What the call does to a file. Sets `handle` of an operation, which gets a second record when it ends.
static int write_io(struct archive *a, OTF2_EvtWriter *writer, const struct log_event *event, struct lane_call *call) {
    unsigned class = event->call->class;
    OTF2_TimeStamp time = log_job(a->log)->start_ns + (uint64_t)event->start_ns;
    bool is_change = class == CLASS_OPEN || class == CLASS_CLOSE || class == CLASS_SEEK;
    uint32_t handle;
    if (!event->file || !(is_operation(class) || is_change)) return 0;
    if (is_change && (event->raw.error || !event->raw.handle)) return 0;
    FORWARD(find_handle(a, event, class == CLASS_OPEN, &handle));
    switch (class) {
    case CLASS_OPEN: return check(a, write_open(a, writer, event, time, handle));
    case CLASS_SEEK: return check(a, write_seek(a, writer, event, time, handle));
    case CLASS_CLOSE:
        a->handle[handle].is_destroyed = true;
        return check(a, OTF2_EvtWriter_IoDestroyHandle(writer, a->attributes, time, handle));
    default: call->handle = handle; return check(a, write_operation(a, writer, event, time, handle));
    }
}

static int begin_call(void *context, uint32_t lane, const struct log_event *event, struct lane_call *call) {
    struct archive *a = context;
    OTF2_TimeStamp time = log_job(a->log)->start_ns + (uint64_t)event->start_ns;
    uint32_t server = log_event_server(event), region;
    call->handle = LOOKUP_NONE;
    FORWARD(lookup_intern(&a->region_of, event->call->id, region, a->region, a->regions, event->call));
    if (time < a->first_time) a->first_time = time;
    OTF2_AttributeList_AddUint64(a->attributes, AT_ID, event->id);
    if (log_event_is_inside(event)) OTF2_AttributeList_AddUint64(a->attributes, AT_PARENT, event->parent);
    if (event->raw.error) OTF2_AttributeList_AddInt32(a->attributes, AT_ERRNO, log_event_errno(event));
    if (server != LOG_NO_SERVER) OTF2_AttributeList_AddUint32(a->attributes, AT_SERVER, server);
    if (event->file) OTF2_AttributeList_AddIoFileRef(a->attributes, AT_FILE, event->file->index);
    FORWARD(check(a, OTF2_EvtWriter_Enter(a->writer[lane], a->attributes, time, region)));
    return write_io(a, a->writer[lane], event, call);
}

static int end_call(void *context, uint32_t lane, const struct lane_call *call) {
    struct archive *a = context;
    OTF2_TimeStamp time = log_job(a->log)->start_ns + (uint64_t)call->end_ns;
    if (time > a->last_time) a->last_time = time;
    if (call->handle != LOOKUP_NONE)
        FORWARD(check(a, OTF2_EvtWriter_IoOperationComplete(a->writer[lane], a->attributes, time, call->handle,
                                                            log_class_moves(call->call->class) ? call->bytes : 0,
                                                            call->id)));
    return check(
        a, OTF2_EvtWriter_Leave(a->writer[lane], a->attributes, time, lookup_find(&a->region_of, call->call->id)));
}

static int add_lane(void *context, uint32_t lane) {
    struct archive *a = context;
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(a->otf2, lane);
    RETURN_IF(!writer, a->error ? a->error : -EIO);
    return array_push(a->writer, a->writers, writer);
}

// --- definitions

static int define_text(struct archive *a, const char *text, uint32_t *string) {
    a->text.len = 0;
    FORWARD(utf8_append(&a->text, text, strlen(text)));
    FORWARD(bytes_append(&a->text, "", 1));
    *string = a->strings++;
    return check(a, OTF2_GlobalDefWriter_WriteString(a->definitions, *string, (const char *)a->text.data));
}

static int define_attributes(struct archive *a) {
    static const struct {
        const char *name, *meaning;
        OTF2_Type type;
    } row[] = {
        [AT_ID] = {"id", "id of the event in the log", OTF2_TYPE_UINT64},
        [AT_PARENT] = {"parent", "id of the call that made this call", OTF2_TYPE_UINT64},
        [AT_OFFSET] = {"offset", "of the first byte in the file", OTF2_TYPE_UINT64},
        [AT_ERRNO] = {"errno", "the error of a call that failed", OTF2_TYPE_INT32},
        [AT_SERVER] = {"server", "number of the server of the stack", OTF2_TYPE_UINT32},
        [AT_FILE] = {"file", "that the call is about", OTF2_TYPE_IO_FILE},
    };
    for (uint32_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        uint32_t name, meaning;
        FORWARD(define_text(a, row[i].name, &name));
        FORWARD(define_text(a, row[i].meaning, &meaning));
        FORWARD(check(a, OTF2_GlobalDefWriter_WriteAttribute(a->definitions, i, name, meaning, row[i].type)));
    }
    return 0;
}

static int define_calls(struct archive *a) {
    for (uint32_t id = 0; id < a->regions; id++) {
        const struct log_call *call = a->region[id];
        uint32_t name, layer;
        FORWARD(define_text(a, call->name, &name));
        FORWARD(define_text(a, call_layer_name(call->layer), &layer));
        FORWARD(
            check(a, OTF2_GlobalDefWriter_WriteRegion(
                         a->definitions, id, name, name, layer,
                         log_class_moves(call->class) ? OTF2_REGION_ROLE_FILE_IO : OTF2_REGION_ROLE_FILE_IO_METADATA,
                         call->layer == LAYER_MPIIO ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_UNKNOWN, OTF2_REGION_FLAG_NONE,
                         OTF2_UNDEFINED_STRING, 0, 0)));
    }
    return 0;
}

// The names are those that OTF2 knows, where it knows one. Numbers of definitions begin with 0 and have no gaps.
static int define_layers(struct archive *a) {
    static const struct {
        const char *name;
        OTF2_IoParadigmClass class;
    } row[LAYER_COUNT] = {
        [LAYER_POSIX] = {"POSIX", OTF2_IO_PARADIGM_CLASS_SERIAL},
        [LAYER_STDIO] = {"ISO-C", OTF2_IO_PARADIGM_CLASS_SERIAL},
        [LAYER_MPIIO] = {"MPI-IO", OTF2_IO_PARADIGM_CLASS_PARALLEL},
        [LAYER_HDF5] = {"HDF5", OTF2_IO_PARADIGM_CLASS_PARALLEL},
        [LAYER_PNETCDF] = {"PnetCDF", OTF2_IO_PARADIGM_CLASS_PARALLEL},
        [LAYER_NETCDF] = {"NetCDF", OTF2_IO_PARADIGM_CLASS_PARALLEL},
        [LAYER_CLIENT] = {"GlusterFS client", OTF2_IO_PARADIGM_CLASS_SERIAL},
        [LAYER_NET] = {"GlusterFS network", OTF2_IO_PARADIGM_CLASS_SERIAL},
        [LAYER_SERVER] = {"GlusterFS server", OTF2_IO_PARADIGM_CLASS_SERIAL},
        [LAYER_DISK] = {"GlusterFS disk", OTF2_IO_PARADIGM_CLASS_SERIAL},
    };
    for (uint8_t layer = 1; layer < LAYER_COUNT; layer++) {
        uint32_t name;
        FORWARD(define_text(a, row[layer].name, &name));
        FORWARD(check(a, OTF2_GlobalDefWriter_WriteIoParadigm(a->definitions, layer - 1, name, name, row[layer].class,
                                                              layer == LAYER_POSIX ? OTF2_IO_PARADIGM_FLAG_OS
                                                                                   : OTF2_IO_PARADIGM_FLAG_NONE,
                                                              0, NULL, NULL, NULL)));
    }
    return 0;
}

static int define_files(struct archive *a) {
    for (size_t i = 0; i < log_file_count(a->log); i++) {
        const struct log_file *file = log_file_at(a->log, i);
        uint32_t name;
        char *both = NULL;
        if (file->object && asprintf(&both, "%s:%s", file->name, file->object) < 0) return -ENOMEM;
        int code = define_text(a, both ? both : file->name, &name);
        free(both);
        FORWARD(code);
        FORWARD(check(a, OTF2_GlobalDefWriter_WriteIoRegularFile(a->definitions, file->index, name,
                                                                 OTF2_UNDEFINED_SYSTEM_TREE_NODE)));
    }
    return 0;
}

static int define_handles(struct archive *a) {
    uint32_t name;
    FORWARD(define_text(a, "", &name));
    for (uint32_t i = 0; i < a->handles; i++) {
        const struct handle *handle = &a->handle[i];
        FORWARD(check(a, OTF2_GlobalDefWriter_WriteIoHandle(
                             a->definitions, i, name, handle->file->index, handle->layer - 1,
                             handle->is_created ? OTF2_IO_HANDLE_FLAG_NONE : OTF2_IO_HANDLE_FLAG_PRE_CREATED,
                             handle->layer == LAYER_MPIIO && a->has_world ? 0 : OTF2_UNDEFINED_COMM,
                             OTF2_UNDEFINED_IO_HANDLE)));
        if (handle->is_created) continue;
        FORWARD(check(a, OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(
                             a->definitions, i, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_STATUS_FLAG_NONE)));
    }
    return 0;
}

// --- who made the calls

static int define_node(struct archive *a, const char *host, uint32_t *node) {
    uint32_t name, class;
    uint64_t key = hash_text(0, host ? host : "");
    *node = lookup_find(&a->nodes, key);
    if (*node != LOOKUP_NONE) return 0;
    *node = a->node_count++;
    FORWARD(lookup_set(&a->nodes, key, *node));
    FORWARD(define_text(a, host ? host : "unknown", &name));
    FORWARD(define_text(a, *node ? "node" : "machine", &class));
    return check(a, OTF2_GlobalDefWriter_WriteSystemTreeNode(a->definitions, *node, name, class,
                                                             *node ? 0 : OTF2_UNDEFINED_SYSTEM_TREE_NODE));
}

static int define_group(struct archive *a, uint32_t group, const char *title, const char *host) {
    uint32_t node, name;
    FORWARD(define_node(a, host, &node));
    FORWARD(define_text(a, title, &name));
    return check(a,
                 OTF2_GlobalDefWriter_WriteLocationGroup(a->definitions, group, name, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                         node, OTF2_UNDEFINED_LOCATION_GROUP));
}

static int define_processes(struct archive *a) {
    uint32_t root, processes = (uint32_t)log_process_count(a->log);
    char title[256];
    FORWARD(define_node(a, "ioseer: all hosts", &root));
    for (uint32_t i = 0; i < processes; i++) {
        const struct log_process *process = log_process_at(a->log, i);
        const char *exe = process->exe ? process->exe : "?", *base = strrchr(exe, '/');
        if (process->has_rank)
            snprintf(title, sizeof title, process->group ? "MPI Ranks %s" : "MPI Rank %s",
                     describe_ranks(process).text);
        else
            snprintf(title, sizeof title, "%.200s %" PRIu32, base ? base + 1 : exe, process->pid);
        FORWARD(define_group(a, i, title, process->host));
    }
    for (uint32_t i = 0; i < log_server_count(a->log); i++) {
        snprintf(title, sizeof title, "Server %" PRIu32, i);
        FORWARD(define_group(a, processes + i, title, log_server_at(a->log, i)->host));
    }
    return 0;
}

static int define_locations(struct archive *a) {
    for (uint32_t i = 0; i < a->lanes.count; i++) {
        const struct lane *lane = &a->lanes.lane[i];
        uint32_t name,
            group = lane->process ? lane->process->index : (uint32_t)log_process_count(a->log) + lane->server;
        char title[64];
        snprintf(title, sizeof title, lane->process ? "Thread %" PRIu32 "%s" : "Server %" PRIu32 "%s",
                 lane->process ? lane->tid : lane->server, lane->number ? ", at the same time" : "");
        FORWARD(define_text(a, title, &name));
        FORWARD(check(a, OTF2_GlobalDefWriter_WriteLocation(a->definitions, i, name, OTF2_LOCATION_TYPE_CPU_THREAD,
                                                            a->records[i], group)));
    }
    return 0;
}

// The first lane of each rank of the world, by rank. False if one has none: then there is no communicator.
static bool find_ranks(const struct archive *a, const struct log_world *world, uint64_t *location) {
    uint64_t found = 0;
    for (uint32_t i = (uint32_t)a->lanes.count; i-- > 0;) {
        const struct log_process *process = a->lanes.lane[i].process;
        if (!process || !process->has_rank || a->lanes.lane[i].number ||
            log_world_at(a->log, process->world) != world || (uint64_t)process->rank >= world->size)
            continue;
        if (location[process->rank] == UINT64_MAX) found++;
        location[process->rank] = i;
    }
    return found == world->size;
}

static int define_communicator(struct archive *a, const uint64_t *location, uint32_t size, uint64_t *rank) {
    uint32_t name;
    for (uint32_t i = 0; i < size; i++) rank[i] = i;
    FORWARD(define_text(a, "MPI_COMM_WORLD", &name));
    FORWARD(check(a, OTF2_GlobalDefWriter_WriteGroup(a->definitions, 0, name, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                                     OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, size, location)));
    FORWARD(check(a, OTF2_GlobalDefWriter_WriteGroup(a->definitions, 1, name, OTF2_GROUP_TYPE_COMM_GROUP,
                                                     OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, size, rank)));
    return check(a,
                 OTF2_GlobalDefWriter_WriteComm(a->definitions, 0, name, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

static int define_world(struct archive *a) {
    const struct log_world *world = log_largest_world(a->log);
    if (!world || !world->size || world->size > a->lanes.count) return 0;
    uint64_t *location = malloc(world->size * sizeof *location * 2);
    RETURN_IF(!location, -ENOMEM);
    memset(location, 0xff, world->size * sizeof *location);
    a->has_world = find_ranks(a, world, location);
    int code = a->has_world ? define_communicator(a, location, (uint32_t)world->size, location + world->size) : 0;
    free(location);
    return code;
}

static int define_all(struct archive *a) {
    uint64_t first = a->first_time < a->last_time ? a->first_time : a->last_time;
    a->definitions = OTF2_Archive_GetGlobalDefWriter(a->otf2);
    RETURN_IF(!a->definitions, a->error ? a->error : -EIO);
    FORWARD(check(a, OTF2_GlobalDefWriter_WriteClockProperties(a->definitions, 1000000000, first,
                                                               a->last_time - first + 1, first)));
    FORWARD(define_attributes(a));
    FORWARD(define_processes(a));
    FORWARD(define_locations(a));
    FORWARD(define_calls(a));
    FORWARD(define_layers(a));
    FORWARD(define_files(a));
    FORWARD(define_world(a));
    FORWARD(define_handles(a));
    return check(a, OTF2_Archive_CloseGlobalDefWriter(a->otf2, a->definitions));
}

// --- the archive

static OTF2_FlushType flush(void *context, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool is_final) {
    (void)context, (void)type, (void)location, (void)caller, (void)is_final;
    return OTF2_FLUSH;
}

// A buffer has one chunk: without a second one OTF2 writes the first. By itself it would keep all events.
static void *allocate(void *context, OTF2_FileType type, OTF2_LocationRef location, void **chunk, uint64_t size) {
    (void)context, (void)type, (void)location;
    return *chunk ? NULL : (*chunk = malloc(size));
}

static void free_all(void *context, OTF2_FileType type, OTF2_LocationRef location, void **chunk, bool is_final) {
    (void)context, (void)type, (void)location, (void)is_final;
    free(*chunk);
    *chunk = NULL;
}

static int add_events(void *context, const struct log_event *const *event, size_t count) {
    struct archive *a = context;
    for (size_t i = 0; i < count; i++) FORWARD(lanes_event(&a->lanes, event[i]));
    return a->watch->progress(a->watch->context, a->events += count);
}

static int write_events(struct archive *a) {
    struct log_consumer consumer = {.context = a, .wants_above = true, .wants_below = true, .ordered = add_events};
    FORWARD(check(a, OTF2_Archive_OpenEvtFiles(a->otf2)));
    FORWARD(log_visit(&(struct log_visit){.log = a->log, .consumer = &consumer, .consumers = 1}));
    FORWARD(lanes_finish(&a->lanes));
    for (uint32_t i = 0; i < a->writers; i++) {
        uint64_t records;
        FORWARD(check(a, OTF2_EvtWriter_GetNumberOfEvents(a->writer[i], &records)));
        FORWARD(array_push(a->records, a->counts, records));
        FORWARD(check(a, OTF2_Archive_CloseEvtWriter(a->otf2, a->writer[i])));
    }
    FORWARD(check(a, OTF2_Archive_CloseEvtFiles(a->otf2)));
    FORWARD(check(a, OTF2_Archive_OpenDefFiles(a->otf2)));
    for (uint32_t i = 0; i < a->writers; i++) { // readers expect a file for each location
        OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(a->otf2, i);
        RETURN_IF(!local, a->error ? a->error : -EIO);
        FORWARD(check(a, OTF2_Archive_CloseDefWriter(a->otf2, local)));
    }
    return check(a, OTF2_Archive_CloseDefFiles(a->otf2));
}

static int write_archive(struct archive *a, const char *path) {
    static const OTF2_FlushCallbacks callbacks = {.otf2_pre_flush = flush};
    static const OTF2_MemoryCallbacks memory = {allocate, free_all};
    struct rlimit files; // OTF2 keeps the file of each location open
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    errno = 0;
    a->attributes = OTF2_AttributeList_New();
    a->otf2 = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                                OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    RETURN_IF(!a->otf2 || !a->attributes, a->error ? a->error : -ENOMEM);
    FORWARD(check(a, OTF2_Archive_SetFlushCallbacks(a->otf2, &callbacks, a)));
    FORWARD(check(a, OTF2_Archive_SetMemoryCallbacks(a->otf2, &memory, a)));
    FORWARD(check(a, OTF2_Archive_SetSerialCollectiveCallbacks(a->otf2)));
    FORWARD(check(a, OTF2_Archive_SetCreator(a->otf2, "ioseer " IOSEER_VERSION)));
    FORWARD(write_events(a));
    return define_all(a);
}

int export_otf2(struct log *log, const char *path, const struct export_watch *watch, struct problem *problem) {
    struct archive a = {.log = log, .watch = watch, .first_time = UINT64_MAX};
    a.lanes = (struct lanes){.context = &a, .add = add_lane, .begin = begin_call, .end = end_call};
    (void)problem;
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(keep_error, &a);
    int code = write_archive(&a, path);
    // After a failed write OTF2 would crash when it closes: then the archive stays open until the program ends.
    if (code == 0) code = check(&a, OTF2_Archive_Close(a.otf2));
    OTF2_Error_RegisterCallback(before, NULL);
    if (a.attributes) OTF2_AttributeList_Delete(a.attributes);
    lanes_free(&a.lanes);
    free(a.writer);
    free(a.records);
    free(a.region);
    lookup_free(&a.region_of);
    free(a.handle);
    lookup_free(&a.handle_of);
    lookup_free(&a.nodes);
    bytes_free(&a.text);
    return code;
}
