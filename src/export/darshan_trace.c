// Segments and heat maps of an export to Darshan's format, from the events.
//
// A record of DXT is what one process did to one file: first all writes, then all reads. Events come in the order of
// time, so segments wait in memory until there are SEGMENTS_WAITING of a process; then they go, sorted, to a file
// without a name, whose *extents* hold segments of one list each. Memory does not grow with the number of events.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/intern.h"
#include "darshan/spool.h"
#include "export/darshan_parts.h"
#include "export/heat_map.h"
#include "fmt/counters.h"
#include "fmt/record_id.h"
#include "log/visit.h"

enum { SEGMENTS_WAITING = 1 << 16 };

struct segment { // as in the log
    int64_t offset, length;
    double start, end;
    uint64_t thread;
};
_Static_assert(sizeof(struct segment) == DARSHAN_SEGMENT_THREAD_BYTES, "a segment is as in the log");

struct waiting {
    uint32_t list; // twice the index of the traced file, and 1 for reads
    struct segment segment;
};

struct traced_file {
    const struct log_file *file;
    unsigned module;
    uint64_t segments[2]; // writes, reads
};

struct extent {
    uint32_t list;
    uint64_t at; // in the file
    uint64_t count;
};

struct tracing {
    const struct darshan_export *export;
    int fd;           // of the file without a name
    uint64_t spooled; // bytes of it; atomic
    struct heat_maps heat;
    pthread_mutex_t lock; // of the next, and of who calls the watch
    uint64_t events;
};

// The state of one process.
struct trace {
    struct tracing *all;
    const struct log_process *process;
    bool is_wanted;
    int64_t rank;
    struct traced_file *file;
    size_t files;
    struct lookup by_file; // by module and file
    struct waiting *waiting;
    size_t waiting_count;
    struct extent *extent;
    size_t extents;
    struct heat heat[HEAT_KINDS];
};

// --- segments

static int write_at(int fd, const void *data, size_t len, uint64_t at) {
    for (const char *from = data; len;) {
        ssize_t done = pwrite(fd, from, len, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        RETURN_IF(done <= 0, done < 0 ? -errno : -EIO);
        from += done;
        at += (uint64_t)done;
        len -= (size_t)done;
    }
    return 0;
}

// Sorts the waiting segments by list, each list in the order of time. `end` becomes the end of each list.
static void sort(const struct trace *trace, struct segment *sorted, uint32_t *end, size_t lists) {
    for (size_t i = 0; i < trace->waiting_count; i++) end[trace->waiting[i].list]++;
    uint32_t before = 0;
    for (size_t i = 0; i < lists; i++) {
        uint32_t count = end[i];
        end[i] = before;
        before += count;
    }
    for (size_t i = 0; i < trace->waiting_count; i++) sorted[end[trace->waiting[i].list]++] = trace->waiting[i].segment;
}

static int write_sorted(struct trace *trace, const struct segment *sorted, const uint32_t *end, size_t lists) {
    size_t len = trace->waiting_count * sizeof *sorted;
    uint64_t at = __atomic_fetch_add(&trace->all->spooled, len, __ATOMIC_RELAXED);
    for (size_t i = 0; i < lists; i++) {
        uint32_t begin = i ? end[i - 1] : 0;
        if (begin == end[i]) continue;
        FORWARD(array_push(trace->extent, trace->extents,
                           (struct extent){(uint32_t)i, at + begin * sizeof *sorted, end[i] - begin}));
    }
    return write_at(trace->all->fd, sorted, len, at);
}

static int spool_waiting(struct trace *trace) {
    size_t lists = trace->files * 2;
    if (!trace->waiting_count) return 0;
    struct segment *sorted = malloc(trace->waiting_count * sizeof *sorted);
    uint32_t *end = calloc(lists, sizeof *end);
    int code = sorted && end ? 0 : -ENOMEM;
    if (code == 0) sort(trace, sorted, end, lists);
    if (code == 0) code = write_sorted(trace, sorted, end, lists);
    free(sorted);
    free(end);
    trace->waiting_count = 0;
    return code;
}

static int add_segment(struct trace *trace, unsigned module, const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    bool is_read = call_table[event->call->build_id].count == COUNT_READ;
    uint32_t at;
    FORWARD(lookup_intern(&trace->by_file, lookup_pair(module, event->file->index), at, trace->file, trace->files,
                          (struct traced_file){.file = event->file, .module = module}));
    trace->file[at].segments[is_read]++;
    trace->waiting[trace->waiting_count++] = (struct waiting){
        .list = at * 2 + is_read,
        .segment = {.offset = raw->has_offset ? (int64_t)raw->offset : -1,
                    .length = raw->result,
                    .start = (double)event->start_ns / 1e9,
                    .end = (double)(event->start_ns + event->duration_ns) / 1e9,
                    .thread = raw->tid},
    };
    return trace->waiting_count == SEGMENTS_WAITING ? spool_waiting(trace) : 0;
}

// --- events

static int add_event(struct trace *trace, const struct log_event *event) {
    static const struct {
        unsigned trace; // module; DARSHAN_NULL: none
        unsigned heat;
    } kinds[LAYER_COUNT] = {[LAYER_POSIX] = {DARSHAN_DXT_POSIX, HEAT_POSIX},
                            [LAYER_MPIIO] = {DARSHAN_DXT_MPIIO, HEAT_MPIIO},
                            [LAYER_STDIO] = {DARSHAN_NULL, HEAT_STDIO}};
    const struct log_event_raw *raw = &event->raw;
    unsigned layer = event->call->layer;
    if (!event->file || raw->error || !raw->has_result || raw->result < 0) return 0;
    if (!counters_is_access(event->call->build_id) || !log_event_is_possible(event)) return 0;
    if (layer != LAYER_POSIX && layer != LAYER_MPIIO && layer != LAYER_STDIO) return 0;
    FORWARD(heat_add(&trace->heat[kinds[layer].heat], &trace->all->heat, event));
    return kinds[layer].trace == DARSHAN_NULL ? 0 : add_segment(trace, kinds[layer].trace, event);
}

static int report(struct tracing *all, size_t events) {
    const struct export_watch *watch = all->export->watch;
    pthread_mutex_lock(&all->lock);
    int code = watch->progress(watch->context, all->events += events);
    pthread_mutex_unlock(&all->lock);
    return code;
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    struct trace *trace = state;
    for (size_t i = 0; i < count && trace->is_wanted; i++) FORWARD(add_event(trace, &event[i]));
    return report(trace->all, count);
}

static void discard(void *state) {
    struct trace *trace = state;
    for (unsigned i = 0; i < HEAT_KINDS; i++) free(trace->heat[i].bytes);
    lookup_free(&trace->by_file);
    free(trace->file);
    free(trace->waiting);
    free(trace->extent);
    free(trace);
}

// Processes without a rank are rank 0 in a job without MPI, and in no record otherwise.
static int begin(void *context, const struct log_process *process, void **state) {
    struct tracing *all = context;
    struct trace *trace = calloc(1, sizeof *trace);
    RETURN_IF(!trace, -ENOMEM);
    trace->all = all;
    trace->process = process;
    trace->is_wanted = process->has_rank || !log_world_count(all->export->log);
    trace->rank = process->has_rank ? process->rank : 0;
    *state = trace;
    trace->waiting = malloc(SEGMENTS_WAITING * sizeof *trace->waiting);
    if (trace->waiting) return 0;
    discard(trace);
    return -ENOMEM;
}

// --- records

static int compare_extents(const void *a, const void *b) {
    const struct extent *left = a, *right = b;
    if (left->list != right->list) return left->list < right->list ? -1 : 1;
    return left->at < right->at ? -1 : left->at > right->at;
}

static int copy_extent(const struct trace *trace, unsigned module, const struct extent *extent) {
    struct segment part[512];
    for (uint64_t done = 0, now; done < extent->count; done += now) {
        const uint64_t most = sizeof part / sizeof part[0];
        now = extent->count - done < most ? extent->count - done : most;
        ssize_t got = pread(trace->all->fd, part, now * sizeof *part, (off_t)(extent->at + done * sizeof *part));
        RETURN_IF(got != (ssize_t)(now * sizeof *part), got < 0 ? -errno : -EIO);
        FORWARD(darshan_write_bytes(trace->all->export->writer, module, part, now * sizeof *part));
    }
    return 0;
}

static int write_head(const struct trace *trace, const struct traced_file *traced) {
    struct {
        uint64_t id;
        int64_t rank;
        int64_t shared; // 0: Darshan does not join these records
        char host[DARSHAN_TRACE_HOST_BYTES];
        uint64_t segments[2];
    } head = {.id = export_darshan_id(trace->all->export, traced->file), .rank = trace->rank};
    _Static_assert(sizeof head == DARSHAN_BASE_BYTES + DARSHAN_TRACE_HEAD_BYTES, "a head is as in the log");
    const char *host = trace->process->host ? trace->process->host : "";
    memcpy(head.host, host, strnlen(host, sizeof head.host - 1));
    memcpy(head.segments, traced->segments, sizeof head.segments);
    FORWARD(darshan_write_name(trace->all->export->writer, head.id, traced->file->name, traced->file->object));
    return darshan_write_bytes(trace->all->export->writer, traced->module, &head, sizeof head);
}

static int write_trace(struct trace *trace) {
    FORWARD(spool_waiting(trace));
    if (trace->extents > 1) qsort(trace->extent, trace->extents, sizeof *trace->extent, compare_extents);
    for (size_t i = 0, at = 0; i < trace->files; i++) {
        FORWARD(write_head(trace, &trace->file[i]));
        for (; at < trace->extents && trace->extent[at].list / 2 == i; at++)
            FORWARD(copy_extent(trace, trace->file[i].module, &trace->extent[at]));
    }
    for (unsigned i = 0; i < HEAT_KINDS; i++) FORWARD(heat_join(&trace->all->heat, &trace->heat[i], i, trace->rank));
    return 0;
}

static int end(void *context, void *state) {
    (void)context;
    int code = write_trace(state);
    discard(state);
    return code;
}

// --- what is missing

static bool lacks_events(const struct log *log) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        if (process->trace_ended || process->counts_all) return true;
    }
    for (size_t i = 0; i < log_loss_count(log); i++) {
        if (loss_is_of_events(log_loss_at(log, i)->reason)) return true;
    }
    const struct log_health *health = log_health(log);
    return health->truncated || health->bytes_skipped || health->blocks_damaged || health->records_damaged;
}

// Calls that are missing in events are counted all the same, if it was the trace that ended.
static bool lacks_counters(const struct log *log) {
    for (size_t i = 0; i < log_loss_count(log); i++) {
        unsigned reason = log_loss_at(log, i)->reason;
        if (reason == LOSS_TRACE_CAP || reason == LOSS_DISK_FULL) continue;
        if (loss_is_of_events(reason) || reason == LOSS_COUNTERS_FULL || reason == LOSS_NO_SPILL) return true;
    }
    const struct log_health *health = log_health(log);
    return health->truncated || health->bytes_skipped || health->blocks_damaged || health->records_damaged;
}

static uint64_t imported_partial(const struct log_import *import) {
    uint64_t partial = 0;
    for (size_t i = 0; i < import->module_count; i++) {
        const struct darshan_part *part = &import->modules[i];
        bool is_partial = part->is_partial || part->state == DARSHAN_DAMAGED;
        if (is_partial && part->module < DARSHAN_SLOTS) partial |= UINT64_C(1) << part->module;
    }
    return partial;
}

uint64_t export_darshan_partial(const struct log *log) {
    if (log_import(log)) return imported_partial(log_import(log));
    const uint64_t traces = UINT64_C(1) << DARSHAN_DXT_POSIX | UINT64_C(1) << DARSHAN_DXT_MPIIO;
    return lacks_counters(log) ? UINT64_MAX : lacks_events(log) ? traces : 0;
}

int export_darshan_trace(const struct darshan_export *export) {
    struct tracing all = {.export = export, .fd = spool_file(export->path), .lock = PTHREAD_MUTEX_INITIALIZER};
    RETURN_IF(all.fd < 0, all.fd);
    heat_begin(&all.heat, log_run_ns(export->log));
    const struct log_consumer consumer = {
        .context = &all, .begin = begin, .events = add_events, .end = end, .discard = discard};
    int code = log_visit(&(struct log_visit){.log = export->log, .consumer = &consumer, .consumers = 1});
    // A map of a part of the bytes would look like one of all. Maps of an imported log are among its records.
    if (code == 0 && !log_import(export->log) && !lacks_events(export->log))
        code = heat_write(&all.heat, export->writer);
    heat_free(&all.heat);
    close(all.fd);
    return code;
}
