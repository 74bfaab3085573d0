// The events of some blocks, merged in the order of their starts, a batch at a time. A block is read when its first
// event is due and let go after its last. One thread at a time may use a source; several sources run at once.
#pragma once

#include "log/cursor.h"
#include "log/heap.h"

struct log_batch {
    struct log_event *event;
    size_t count, room;
    uint64_t *attribute; // ATTRIBUTE_LIMIT for each event; made when the first one has any
    struct log_comm *comm;
    size_t comms;
};

int log_batch_init(struct log_batch *batch, size_t events);
void log_batch_free(struct log_batch *batch);

enum log_source_order {
    SOURCE_BY_START,
    SOURCE_BY_STREAM, // stream by stream, each as it was written: for communication
};

struct log_source_options {
    enum log_source_order order;
    bool has_relations; // of one process: fills in `around`, `moves` and `thread`
    bool has_comm;      // communication goes into the batches, when its block has been read
};

struct log_block_due;
struct log_stream_comm;

// What is remembered of a call that may have others inside.
struct log_around {
    uint64_t id;
    const struct log_call *call; // NULL: the entry is not in use
    bool has_parent;
};

enum { SOURCE_AROUND = 64 };

struct log_source {
    struct log *log;
    const struct log_matcher *matcher;
    struct log_source_options options;
    struct log_block_due *due; // blocks by their start
    size_t due_count;
    size_t due_at;
    struct log_heap heap;     // of cursors: the blocks under way, the front included
    struct log_cursor *front; // on top of the heap; NULL before it is known whose turn it is
    int64_t front_until_ns;   // while its events start before this, no other block's turn can come
    struct log_cursor **idle;
    size_t idle_count;
    // Relations.
    struct lookup thread_of;        // by thread id
    struct log_around *around;      // [SOURCE_AROUND], made when first needed: memory is bounded
    struct log_stream_comm *stream; // by stream, with has_comm
    size_t streams;
};

// The places must stay. Those that the matcher does not want are left out.
int log_source_open(struct log_source *source, struct log *log, const struct log_matcher *matcher,
                    const struct log_place *const *places, size_t count, struct log_source_options options);
// When its first event starts, or INT64_MAX.
int64_t log_source_start_ns(const struct log_source *source);
// 1 with a batch that holds something, 0 at the end, or a negative code. Replaces what is in the batch.
int log_source_fill(struct log_source *source, struct log_batch *batch);
void log_source_close(struct log_source *source);
