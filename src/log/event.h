// An event of a log with everything that the log knows about it, and the filter that chooses events.
#pragma once

#include "fmt/stream.h"
#include "log/log.h"

// All zero lets every event pass.
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
    uint64_t id;      // unique in the log
    uint64_t parent;  // meaningful with has_parent
    int64_t start_ns; // since the job's start
    int64_t duration_ns;
    const struct log_process *process;
    const struct log_call *call;
    const struct log_file *file;   // or NULL
    const struct log_call *around; // the call that this one was made inside; NULL: none, or no longer remembered
    struct log_event_raw {         // as the stream has it
        uint64_t offset;
        uint64_t size;
        int64_t result;
        uint64_t tick;
        const uint64_t *attribute; // by enum event_attribute; only those in attribute_mask are set
        uint32_t attribute_mask;
        uint32_t tid;
        uint32_t handle;
        int error;
        bool has_offset;
        bool has_result;
        bool unaligned;
    } raw;
    bool has_parent;
    bool moves;      // a transfer that did not fail, counted once: by the highest layer that moved the bytes
    uint32_t thread; // number of the thread, in the order of first events: in its process, or in the log (log/visit.h)
    // What few calls have; NULL for the others.
    const struct log_file *file2;     // target of a rename or a link
    const struct log_hints *hints;    // of a call that opens a file or gives hints
    const struct log_datatype *etype; // of a view
    const struct log_datatype *filetype;
    const struct log_datatype *datatype; // of a transfer whose memory is not contiguous
    const char *line;                    // of the call site
    int64_t call_time_ns;                // inside calls; the duration unless the call is asynchronous
};

// `around`, `moves` and `thread` are there for consumers of a visit only (log/visit.h).

// Communication between the events of a thread: not events themselves, but counted where they happened.
struct log_comm {
    const struct log_process *process;
    bool has_thread; // else it is the process's, from where the events do not tell of it any more
    uint32_t tid;
    uint64_t tick; // of the event that follows; behind the last one: the latest that is known
    bool has_event;
    uint64_t event;   // that follows in the stream, meaningful with has_event
    int64_t start_ns; // of that event; behind the last one: the end of it
    enum stream_comm_kind kind;
    uint64_t count;
    uint64_t bytes;
    int64_t time_ns;
};

static inline bool log_class_moves(unsigned class)
{
    return class == CLASS_READ || class == CLASS_WRITE;
}

// Bytes that the event moved.
static inline uint64_t log_event_bytes(const struct log_event *event)
{
    return event->raw.has_result && event->raw.result > 0 ? (uint64_t)event->raw.result : 0;
}

// Time inside calls: what was only submitted does not take its whole duration.
static inline int64_t log_event_busy_ns(const struct log_event *event)
{
    return event->call->traits & CALL_ASYNC ? event->call_time_ns : event->duration_ns;
}
