#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/glob.h"
#include "log/cursor.h"

bool log_filter_has_call(const struct log_filter *filter, const struct log_call *call) {
    return (!filter->layers || filter->layers >> call->layer & 1) &&
           (!filter->classes || filter->classes >> call->class & 1) &&
           (!filter->op_glob || glob_match(filter->op_glob, call->name));
}

bool log_filter_has_process(const struct log_filter *filter, const struct log_process *process) {
    return (!filter->process || filter->process == process) && (!filter->has_pid || filter->pid == process->pid) &&
           (!filter->has_rank || (process->has_rank && !process->group && process->rank == filter->rank));
}

static bool has_files(const struct log_filter *filter) { return filter->file_glob || filter->file_passes; }

static bool has_name(const struct log_filter *filter, const struct log_file *file) {
    if (!file) return false;
    return filter->file_passes ? filter->file_passes(filter->file_context, file->name)
                               : glob_match(filter->file_glob, file->name);
}

static int choose_calls(struct log_matcher *matcher, const struct log *log) {
    matcher->call_ids = log->call_ids;
    matcher->calls = malloc(log->call_ids + 1);
    matcher->classes = 0;
    RETURN_IF(!matcher->calls, -ENOMEM);
    for (uint32_t id = 0; id < log->call_ids; id++) {
        const struct log_call *call = log_call_of(log, id);
        matcher->calls[id] = log_filter_has_call(&matcher->filter, call);
        if (matcher->calls[id]) matcher->classes |= 1u << call->class;
    }
    return 0;
}

static int choose_users(struct log_matcher *matcher, const struct log *log) {
    const struct link_row *link = log->process_files.item;
    matcher->files = calloc(log->files.count + 1, 1);
    matcher->users = calloc(log->processes.count + 1, sizeof *matcher->users);
    RETURN_IF(!matcher->files || !matcher->users, -ENOMEM);
    for (size_t i = 0; i < log->process_files.count; i++) {
        const struct log_process *process = log_process_find(log, link[i].process);
        if (process && !matcher->users[process->index])
            matcher->users[process->index] = log_matcher_has_file(matcher, log, log_file_find(log, link[i].global));
    }
    return 0;
}

int log_matcher_init(struct log_matcher *matcher, const struct log *log, const struct log_filter *filter) {
    *matcher = (struct log_matcher){0};
    if (filter) matcher->filter = *filter;
    matcher->has_time = matcher->filter.has_from || matcher->filter.has_to;
    matcher->has_fields = matcher->filter.has_tid || matcher->filter.has_server || matcher->filter.failed;
    matcher->classes = UINT_MAX;
    if (matcher->filter.layers || matcher->filter.classes || matcher->filter.op_glob)
        FORWARD(choose_calls(matcher, log));
    return has_files(&matcher->filter) ? choose_users(matcher, log) : 0;
}

void log_matcher_free(struct log_matcher *matcher) {
    free(matcher->calls);
    free(matcher->files);
    free(matcher->users);
}

bool log_matcher_has_place(const struct log_matcher *matcher, const struct log_place *place) {
    const struct log_filter *filter = &matcher->filter;
    const struct log_process *process = place->process;
    if (place->type != BLOCK_EVENTS || !process || !log_filter_has_process(filter, process)) return false;
    if (place->below && (!filter->below || (filter->layers && !(filter->layers & LAYERS_BELOW)))) return false;
    if (filter->has_to && filter->to_ns < 0) return false;
    if (filter->has_to && place->start_ns > (uint64_t)filter->to_ns) return false;
    return !filter->has_from || filter->from_ns <= 0 || place->end_ns >= (uint64_t)filter->from_ns;
}

// An index without counts, as that of a log whose blocks were searched for, says nothing.
bool log_matcher_has_events(const struct log_matcher *matcher, const struct log_place *place) {
    uint64_t known = 0, passing = 0;
    if (!log_matcher_has_place(matcher, place)) return false;
    if (matcher->users && !matcher->users[place->process->index]) return false;
    for (unsigned class = 0; class < CLASS_COUNT; class ++) {
        known += place->class_count[class];
        if (matcher->classes >> class & 1) passing += place->class_count[class];
    }
    return passing || known != place->events;
}

bool log_filter_passes(const struct log_filter *filter, const struct log_event *event) {
    int64_t last_ns = event->start_ns + (filter->under_way ? event->duration_ns : 0);
    return log_filter_has_process(filter, event->process) && log_filter_has_call(filter, event->call) &&
           (!filter->has_tid || event->raw.tid == filter->tid) && (!filter->failed || event->raw.error) &&
           (!filter->has_server || log_event_server(event) == filter->server) &&
           (filter->below || !call_layer_is_below(event->call->layer)) &&
           (!filter->has_from || last_ns >= filter->from_ns) && (!filter->has_to || event->start_ns <= filter->to_ns) &&
           (!has_files(filter) || has_name(filter, event->file) || has_name(filter, event->file2));
}

enum file_match { MATCH_UNKNOWN, MATCH_PASSES, MATCH_FAILS };

// Several threads may evaluate the same file at the same time.
bool log_matcher_has_file(const struct log_matcher *matcher, const struct log *log, const struct log_file *file) {
    if (!file) return false;
    uint8_t *known = &matcher->files[log_file_index(log, file)], match = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (match == MATCH_UNKNOWN) {
        match = has_name(&matcher->filter, file) ? MATCH_PASSES : MATCH_FAILS;
        __atomic_store_n(known, match, __ATOMIC_RELAXED);
    }
    return match == MATCH_PASSES;
}
