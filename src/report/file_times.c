#include "report/file_times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"

enum { RECENT = 256 }; // a program that uses a few files in turn needs no lookup

// The files of one process.
struct reading {
    struct file_times *times;
    uint32_t process;
    struct file_time *time;
    size_t count;
    struct lookup of_file;   // is_inside and index of the file -> index in `time`
    uint32_t recent[RECENT]; // some of them, by file: index in `time`
};

static void discard(void *state) {
    struct reading *reading = state;
    lookup_free(&reading->of_file);
    free(reading->time);
    free(reading);
}

static int begin(void *context, const struct log_process *process, void **state) {
    struct file_times *times = context;
    if (process->is_launcher || process->counts_all) return 0; // the counters have all of the latter
    struct reading *reading = calloc(1, sizeof *reading);
    RETURN_IF(!reading, -ENOMEM);
    reading->times = times;
    reading->process = (uint32_t)log_process_index(times->log, process);
    *state = reading;
    return 0;
}

static int time_of(struct reading *reading, const struct log_file *file, bool is_inside, struct file_time **time) {
    const struct file_time own = {.process = reading->process,
                                  .file = (uint32_t)log_file_index(reading->times->log, file),
                                  .is_inside = is_inside};
    uint64_t key = lookup_pair(is_inside, own.file);
    uint32_t *recent = &reading->recent[own.file % RECENT], at = *recent;
    if (at >= reading->count || reading->time[at].file != own.file || reading->time[at].is_inside != is_inside)
        at = lookup_find(&reading->of_file, key);
    if (at == LOOKUP_NONE) {
        at = (uint32_t)reading->count;
        FORWARD(lookup_set(&reading->of_file, key, at));
        FORWARD(array_push(reading->time, reading->count, own));
    }
    *recent = at;
    *time = &reading->time[at];
    return 0;
}

// A call such as copy_file_range consists of transfers of its own layer, one on each file, which last as long as it.
static bool is_inside(const struct log_event *event) {
    return event->has_parent && !(event->around && event->around->layer == event->call->layer);
}

static int add(struct reading *reading, const struct log_event *event, const struct log_file *file) {
    struct file_time *time;
    if (!file) return 0;
    FORWARD(time_of(reading, file, is_inside(event), &time));
    unsigned class = event->call->class;
    unsigned kind = class == CLASS_READ                           ? FILE_TIME_READ
                    : class == CLASS_WRITE || class == CLASS_SYNC ? FILE_TIME_WRITE
                                                                  : FILE_TIME_META;
    int64_t start_ns = event->start_ns, end_ns = start_ns + event->duration_ns;
    if (!event->raw.error) time->is_there = true;
    if (end_ns <= time->of[kind].until_ns) return 0;
    time->of[kind].ns += end_ns - (start_ns < time->of[kind].until_ns ? time->of[kind].until_ns : start_ns);
    time->of[kind].until_ns = end_ns;
    return 0;
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    for (size_t i = 0; i < count && state; i++) {
        FORWARD(add(state, &event[i], event[i].file));
        if (event[i].raw.attribute_mask) FORWARD(add(state, &event[i], event[i].file2));
    }
    return 0;
}

static int end(void *context, void *state) {
    struct file_times *times = context;
    const struct reading *reading = state;
    int code = 0;
    if (!reading) return 0;
    for (size_t i = 0; i < reading->count && !code; i++) code = array_push(times->time, times->count, reading->time[i]);
    discard(state);
    return code;
}

struct log_consumer file_times_consumer(struct file_times *times) {
    return (struct log_consumer){
        .context = times, .begin = begin, .events = add_events, .end = end, .discard = discard};
}

void file_times_free(struct file_times *times) { free(times->time); }
