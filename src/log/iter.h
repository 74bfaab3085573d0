// The log's events in the order of their starts, over all streams or some, in bounded memory: a block is read when its
// first event is due and let go after its last.
#pragma once

#include "fmt/stream.h"
#include "log/log.h"

// All zero lets everything through.
struct log_filter {
    unsigned layers;  // bit n: enum call_layer n
    unsigned classes; // bit n: enum call_class n
    bool has_rank;
    int64_t rank;
    bool has_pid;
    uint32_t pid;
    const struct log_process *process;
    const char *file_glob; // base/glob.h; either file of a call with two
    bool has_from;
    int64_t from_ns; // events that start then or later
    bool under_way;  // and those that end then or later
    bool has_to;
    int64_t to_ns; // events that start then or earlier
};

struct log_event {
    uint64_t id;     // unique in the log
    uint64_t parent; // meaningful with has_parent
    bool has_parent;
    int64_t start_ns; // since the job's start
    int64_t duration_ns;
    int64_t call_time_ns; // inside calls; the duration unless the call is asynchronous
    const struct log_process *process;
    const struct log_call *call;
    const struct log_file *file;  // or NULL
    const struct log_file *file2; // rename's and link's target, or NULL
    const struct log_hints
        *hints; // of a call that opens a file or gives hints; these four are NULL where there is none
    const struct log_datatype *etype; // of a view
    const struct log_datatype *filetype;
    const struct log_datatype *datatype; // of a transfer whose memory is not contiguous
    const char *line;                    // of the call site, or NULL
    struct stream_event raw;             // offset, size, result, error, attributes …; times in clock units
};

struct log_iter;

// The filter is copied; what it points to must stay.
int log_iter_open(struct log_iter **iter, struct log *log, const struct log_filter *filter);
// 1 with the next event, good until the next call; 0 at the end; a negative code where reading fails. Damaged blocks
// are passed over and counted in log_health.
int log_iter_next(struct log_iter *iter, const struct log_event **event);
void log_iter_close(struct log_iter *iter);
