#include <errno.h>
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
           (!filter->has_rank || (process->has_rank && process->rank == filter->rank));
}

int log_matcher_init(struct log_matcher *matcher, const struct log *log, const struct log_filter *filter) {
    *matcher = (struct log_matcher){0};
    if (filter) matcher->filter = *filter;
    matcher->has_time = matcher->filter.has_from || matcher->filter.has_to;
    matcher->has_fields = matcher->filter.has_tid || matcher->filter.failed;
    if (matcher->filter.layers || matcher->filter.classes || matcher->filter.op_glob) {
        matcher->call_ids = log->call_ids;
        matcher->calls = malloc(log->call_ids);
        RETURN_IF(!matcher->calls, -ENOMEM);
        for (uint32_t id = 0; id < log->call_ids; id++)
            matcher->calls[id] = log_filter_has_call(&matcher->filter, log_call_of(log, id));
    }
    if (matcher->filter.file_glob) {
        matcher->files = calloc(log->files.count + 1, 1);
        RETURN_IF(!matcher->files, -ENOMEM);
    }
    return 0;
}

void log_matcher_free(struct log_matcher *matcher) {
    free(matcher->calls);
    free(matcher->files);
}

bool log_matcher_has_place(const struct log_matcher *matcher, const struct log_place *place) {
    const struct log_filter *filter = &matcher->filter;
    const struct log_process *process = place->process;
    if (place->type != BLOCK_EVENTS || !process || !log_filter_has_process(filter, process)) return false;
    if (filter->has_to && filter->to_ns < 0) return false;
    if (filter->has_to && place->start_ns > (uint64_t)filter->to_ns) return false;
    return !filter->has_from || filter->from_ns <= 0 || place->end_ns >= (uint64_t)filter->from_ns;
}

static bool has_name(const struct log_filter *filter, const struct log_file *file) {
    return file && glob_match(filter->file_glob, file->name);
}

bool log_filter_passes(const struct log_filter *filter, const struct log_event *event) {
    int64_t last_ns = event->start_ns + (filter->under_way ? event->duration_ns : 0);
    return log_filter_has_process(filter, event->process) && log_filter_has_call(filter, event->call) &&
           (!filter->has_tid || event->raw.tid == filter->tid) && (!filter->failed || event->raw.error) &&
           (!filter->has_from || last_ns >= filter->from_ns) && (!filter->has_to || event->start_ns <= filter->to_ns) &&
           (!filter->file_glob || has_name(filter, event->file) || has_name(filter, event->file2));
}

enum file_match { MATCH_UNKNOWN, MATCH_PASSES, MATCH_FAILS };

// Several threads may evaluate the same file at the same time.
bool log_matcher_has_file(const struct log_matcher *matcher, const struct log *log, const struct log_file *file) {
    if (!file) return false;
    uint8_t *known = &matcher->files[log_file_index(log, file)], match = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (match == MATCH_UNKNOWN) {
        match = glob_match(matcher->filter.file_glob, file->name) ? MATCH_PASSES : MATCH_FAILS;
        __atomic_store_n(known, match, __ATOMIC_RELAXED);
    }
    return match == MATCH_PASSES;
}
