#include "log/communication.h"

#include "base/err.h"
#include "log/source.h"

enum { COMM_BATCH = 256 };

static int read_streams(struct log_source *source, const struct log_filter *filter, log_comm_callback *callback,
                        void *context) {
    struct log_batch batch;
    int more = log_batch_init(&batch, COMM_BATCH);
    while (more >= 0 && (more = log_source_fill(source, &batch)) > 0) {
        for (size_t i = 0; i < batch.comms && more >= 0; i++) {
            const struct log_comm *comm = &batch.comm[i];
            if (filter->has_from && comm->start_ns < filter->from_ns) continue;
            if (filter->has_to && comm->start_ns > filter->to_ns) continue;
            int code = callback(comm, context);
            if (code < 0) more = code;
        }
    }
    log_batch_free(&batch);
    return more;
}

// Blocks are not selected by time: the communication at the end of a block may belong to a later event.
static int read_all_streams(struct log *log, const struct log_filter *filter, log_comm_callback *callback,
                            void *context) {
    const struct log_matcher matcher = {.filter = {.has_rank = filter->has_rank,
                                                   .rank = filter->rank,
                                                   .has_pid = filter->has_pid,
                                                   .pid = filter->pid,
                                                   .process = filter->process}};
    const struct log_place *const *places;
    size_t count = log_event_places(log, filter->process, &places);
    struct log_source source;
    int code = log_source_open(&source, log, &matcher, places, count,
                               (struct log_source_options){.order = SOURCE_BY_STREAM, .has_comm = true});
    if (code == 0) code = read_streams(&source, filter, callback, context);
    log_source_close(&source);
    return code;
}

int log_comm_untraced(const struct log_process *process, log_comm_callback *callback, void *context) {
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        const struct log_comm_sum *sum = &process->comm[kind];
        if (!sum->count) continue;
        const struct log_comm comm = {
            .process = process,
            .kind = (enum stream_comm_kind)kind,
            .count = sum->count,
            .bytes = sum->bytes,
            .time_ns = sum->time_ns,
        };
        FORWARD(callback(&comm, context));
    }
    return 0;
}

int log_comm(struct log *log, const struct log_filter *filter, log_comm_callback *callback, void *context) {
    static const struct log_filter everything;
    if (!filter) filter = &everything;
    FORWARD(read_all_streams(log, filter, callback, context));
    if (filter->has_from || filter->has_to) return 0;
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        if (log_filter_has_process(filter, process)) FORWARD(log_comm_untraced(process, callback, context));
    }
    return 0;
}
