// One block's events in the order of their starts, those that pass the filter.
#pragma once

#include "log/event.h"
#include "log/private.h"

// A filter made ready: nothing is compared by name per event.
struct log_matcher {
    struct log_filter filter;
    bool has_time;
    uint8_t *calls;    // by call id: 1 passes; NULL where all do
    uint32_t call_ids; // ids beyond these do not pass
    uint8_t *files;    // by position in the log's table: enum file_match, found out when first needed; NULL: all pass
};

bool log_filter_has_process(const struct log_filter *filter, const struct log_process *process);

int log_matcher_init(struct log_matcher *matcher, const struct log *log, const struct log_filter *filter);
void log_matcher_free(struct log_matcher *matcher);
bool log_matcher_has_place(const struct log_matcher *matcher, const struct log_place *place);
bool log_matcher_has_file(const struct log_matcher *matcher, const struct log *log, const struct log_file *file);

// The communication before an event of a block.
struct log_comm_note {
    uint64_t event; // id
    uint32_t tid;
    uint64_t tick;
    uint64_t start; // clock units
    uint32_t mask;  // bit n: comm[n] is set
    struct stream_comm comm[STREAM_COMM_KINDS];
};

// A block's communication. The first note is of the block's first event, whether or not there is any before it: what
// the stream's block before this one ended with belongs there.
struct log_comm_notes {
    struct log_comm_note *note;
    size_t count;
    struct log_comm_note behind; // behind the last event; of what is around, `announced` has the number
    uint64_t announced;          // the call that `behind` came before; STREAM_NO_PARENT: the next event
};

struct log_sort_key;

enum { CURSOR_RECENT_FILES = 16 };

struct log_cursor {
    struct log *log;
    const struct log_matcher *matcher;
    const struct log_place *place;
    struct log_comm_notes *comm; // to fill, or NULL
    void *owner;                 // for the caller
    uint32_t stream;
    bool sorted;         // decoded as it is asked for
    bool failed;         // damage inside: nothing follows
    uint64_t decoded;    // events so far
    struct bytes stored; // the block as it is in the file
    struct bytes raw;    // the block
    struct bytes events; // of a block that is not sorted: decoded events, one after the other
    struct log_sort_key *key;
    size_t key_count;
    size_t key_at;
    double clock_rate; // of the process
    struct {           // files looked up lately, by their low bits; all zero is right for number 0, no file
        uint32_t local;
        const struct log_file *file;
    } recent[CURSOR_RECENT_FILES];
    struct stream_decoder decoder;
    struct stream_event raw_event; // the last that was decoded
    struct log_event event;        // the current one; its attributes are the raw event's
    bool is_plain;                 // the current one is `found`; `event` only has its start and id
    struct stream_plain found;
    uint32_t last_tid; // for the caller: a thread and its number + 1
    uint32_t last_thread;
    struct log_cursor_plain {          // by slot: what plain events of it have in common
        struct stream_slot_state slot; // that this was made of
        struct log_event event;
    } plain[STREAM_SLOTS];
};

// Reads the block; the cursor then stands before its first event. May be used again after the end.
int log_cursor_start(struct log_cursor *cursor, const struct log_place *place, struct log_comm_notes *comm);
// 1 with the next event as the current one, 0 at the end or where damage begins, a negative code where reading fails.
int log_cursor_next(struct log_cursor *cursor);
// Writes the current event.
void log_cursor_put(struct log_cursor *cursor, struct log_event *event);
// Writes events that follow the current one and are nothing special, at most so many, as long as they start before the
// time; gives their number. *has_current: the one that follows them is the current one now; else log_cursor_next is
// next.
size_t log_cursor_run(struct log_cursor *cursor, struct log_event *event, size_t most, int64_t until_ns,
                      bool *has_current);
void log_cursor_free(struct log_cursor *cursor);
