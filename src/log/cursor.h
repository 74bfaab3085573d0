// The events of one block that pass the filter, in the order of their starts.
#pragma once

#include "log/event.h"
#include "log/private.h"

// A filter prepared for speed: no names are compared per event.
struct log_matcher {
    struct log_filter filter;
    bool has_time;
    bool has_fields;   // tid, server or failed
    uint8_t *calls;    // by call id: 1 if the call passes; NULL: all calls pass
    uint32_t call_ids; // higher ids do not pass
    uint8_t *files;    // by index in the log's table: enum file_match, evaluated on first use; NULL: all files pass
    bool *users;       // by index of the process: it has a file that passes; NULL: all files pass
    unsigned classes;  // bit n: a call of enum call_class n passes
};

bool log_filter_has_process(const struct log_filter *filter, const struct log_process *process);

int log_matcher_init(struct log_matcher *matcher, const struct log *log, const struct log_filter *filter);
void log_matcher_free(struct log_matcher *matcher);
bool log_matcher_has_place(const struct log_matcher *matcher, const struct log_place *place);
// The same, and the place may have events that pass: of some calls or files there are none in it.
bool log_matcher_has_events(const struct log_matcher *matcher, const struct log_place *place);
bool log_matcher_has_file(const struct log_matcher *matcher, const struct log *log, const struct log_file *file);

// The communication before one event of a block.
struct log_comm_note {
    uint64_t event; // id
    uint32_t tid;
    uint64_t tick;
    uint64_t start; // clock units
    uint32_t mask;  // bit n: comm[n] is set
    struct stream_comm comm[STREAM_COMM_KINDS];
    size_t partner_first; // in the notes' list
    uint32_t partner_count;
};

// The communication in a block. The first note belongs to the block's first event, even if it is empty: the
// communication at the end of the stream's previous block is added there.
struct log_comm_notes {
    struct log_comm_note *note;
    size_t count;
    struct log_comm_note behind; // after the last event; if a call is open there, `announced` has its number
    uint64_t announced;          // the call that followed `behind`; STREAM_NO_PARENT: the next event
    struct stream_partner *partner;
    size_t partners;
    struct stream_partner carried[STREAM_MAX_PARTNERS]; // from a late event to the next one
    uint32_t carried_count;
    uint64_t carried_from; // number of the event or call that began next
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
    bool sorted;         // events are decoded on demand
    bool failed;         // the rest of the block is damaged
    bool is_over;        // what is behind the last event has been noted
    uint64_t decoded;    // events so far
    struct bytes stored; // the block as stored in the file
    struct bytes raw;    // the decompressed block
    struct bytes events; // an unsorted block: its decoded events, one after the other
    struct log_sort_key *key;
    size_t key_count;
    size_t key_at;
    double clock_rate; // of the process
    struct {           // recently used files, by their low bits; all zero is correct for number 0, no file
        uint32_t local;
        const struct log_file *file;
    } recent[CURSOR_RECENT_FILES];
    struct stream_decoder decoder;
    struct stream_event raw_event; // the last decoded event
    struct log_event event;        // the current event; its attributes point into raw_event
    bool is_plain;                 // the current event is `found`; `event` has only its start and id
    struct stream_plain found;
    uint32_t last_tid; // for the caller: the last thread id and its number + 1
    uint32_t last_thread;
    uint64_t plain_made;               // bit n: plain[n] is known to be made from slot n
    struct log_cursor_plain {          // by slot: the fields that all its plain events share
        struct stream_slot_state slot; // the slot state that this was made from
        struct log_event event;
    } plain[STREAM_SLOTS];
};

// Reads the block and moves the cursor before its first event. A cursor can be reused after the end.
int log_cursor_start(struct log_cursor *cursor, const struct log_place *place, struct log_comm_notes *comm);
// Returns 1 and makes the next event the current one; 0 at the end or at damage; a negative code if reading fails.
int log_cursor_next(struct log_cursor *cursor);
// Writes the current event.
void log_cursor_put(struct log_cursor *cursor, struct log_event *event);
// Writes up to `most` plain events that follow the current one and start before the given time, over older events or
// zeros. Returns their number. Sets *has_current if the event after them is now the current one; otherwise call
// log_cursor_next.
size_t log_cursor_run(struct log_cursor *cursor, struct log_event *event, size_t most, int64_t until_ns,
                      bool *has_current);
void log_cursor_free(struct log_cursor *cursor);
