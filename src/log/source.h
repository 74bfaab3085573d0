// Merges the events of some blocks in the order of their starts, in batches. A block is read when its first event is
// due and freed after its last. Only one thread at a time may use a source; different sources can run in parallel.
#pragma once

#include "log/cursor.h"
#include "log/heap.h"

struct log_batch {
    struct log_event *event;
    size_t count, room;
    bool has_above;      // some events are of layers above MPI-IO
    bool has_below;      // some are below the system call
    uint64_t *attribute; // ATTRIBUTE_LIMIT per event; allocated for the first event that has attributes
    struct log_comm *comm;
    size_t comms;
    struct stream_partner *partner; // of the communication, one after the other
    size_t partners;
};

int log_batch_init(struct log_batch *batch, size_t events);
void log_batch_free(struct log_batch *batch);

enum log_source_order {
    SOURCE_BY_START,
    SOURCE_BY_STREAM, // one stream after the other, each as written: for communication
};

struct log_source_options {
    enum log_source_order order;
    bool has_relations; // for a single process: sets `around`, `moves` and `thread`
    bool has_comm;      // adds communication to the batch in which its block ends
};

struct log_block_due;
struct log_stream_comm;

// What is remembered about a call that may contain others.
struct log_around {
    uint64_t id;
    const struct log_call *call; // NULL: the entry is free
    bool has_parent;
};

enum { SOURCE_AROUND = 64 };

struct log_source {
    struct log *log;
    const struct log_matcher *matcher;
    struct log_source_options options;
    struct log_block_due *due; // blocks by start
    size_t due_count;
    size_t due_at;
    struct log_heap heap;     // cursors of the open blocks, with the front
    struct log_cursor *front; // top of the heap; NULL if the next block is not known yet
    int64_t front_until_ns;   // no other block comes before events that start before this time
    struct log_cursor **idle;
    size_t idle_count;
    // For has_relations.
    struct lookup thread_of;                // by thread id
    struct log_around *around;              // [SOURCE_AROUND], allocated on first use; fixed size
    struct log_around *above[LAYERS_ABOVE]; // the same, of calls above MPI-IO: each contains many others
    struct log_stream_comm *stream;         // by stream, if has_comm
    size_t streams;
};

// The places must stay valid. Leaves out those that the matcher excludes.
int log_source_open(struct log_source *source, struct log *log, const struct log_matcher *matcher,
                    const struct log_place *const *places, size_t count, struct log_source_options options);
// Start of its first event, or INT64_MAX.
int64_t log_source_start_ns(const struct log_source *source);
// Returns 1 with a batch that is not empty, 0 at the end, or a negative code. Replaces the contents of the batch.
int log_source_fill(struct log_source *source, struct log_batch *batch);
void log_source_close(struct log_source *source);
