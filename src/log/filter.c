#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "log/cursor.h"

static bool call_passes(const struct log_filter *filter, const struct log_call *call)
{
    return (!filter->layers || filter->layers >> call->layer & 1) &&
           (!filter->classes || filter->classes >> call->class & 1);
}

bool log_filter_has_process(const struct log_filter *filter, const struct log_process *process)
{
    return (!filter->process || filter->process == process) && (!filter->has_pid || filter->pid == process->pid) &&
           (!filter->has_rank || (process->has_rank && process->rank == filter->rank));
}

int log_sieve_init(struct log_sieve *sieve, const struct log *log, const struct log_filter *filter)
{
    *sieve = (struct log_sieve){0};
    if (filter) sieve->filter = *filter;
    sieve->has_time = sieve->filter.has_from || sieve->filter.has_to;
    if (sieve->filter.layers || sieve->filter.classes) {
        sieve->call_ids = log->call_ids;
        sieve->calls = malloc(log->call_ids);
        RETURN_IF(!sieve->calls, -ENOMEM);
        for (uint32_t id = 0; id < log->call_ids; id++)
            sieve->calls[id] = call_passes(&sieve->filter, log_call_of(log, id));
    }
    if (sieve->filter.file_glob) {
        sieve->files = calloc(log->files.count + 1, 1);
        RETURN_IF(!sieve->files, -ENOMEM);
    }
    return 0;
}

void log_sieve_free(struct log_sieve *sieve)
{
    free(sieve->calls);
    free(sieve->files);
}

bool log_sieve_place(const struct log_sieve *sieve, const struct log_place *place)
{
    const struct log_filter *filter = &sieve->filter;
    const struct log_process *process = place->process;
    if (place->type != BLOCK_EVENTS || !process || !log_filter_has_process(filter, process)) return false;
    if (filter->has_to && filter->to_ns < 0) return false;
    if (filter->has_to && place->start_ns > (uint64_t)filter->to_ns) return false;
    return !filter->has_from || filter->from_ns <= 0 || place->end_ns >= (uint64_t)filter->from_ns;
}
