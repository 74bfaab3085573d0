// One block's events in the order of their starts, those that pass the filter.
#pragma once

#include "log/iter.h"
#include "log/private.h"

// A filter made ready: nothing is compared by name per event.
struct log_sieve {
    struct log_filter filter;
    bool has_time;
    uint8_t *calls;    // by call id: 1 passes; NULL where all do
    uint32_t call_ids; // ids beyond these do not pass
    uint8_t *files;    // by position in the log's table: enum sieve_file, found out when first needed; NULL: all pass
};

enum sieve_file { SIEVE_UNKNOWN, SIEVE_PASSES, SIEVE_FAILS };

bool log_filter_has_process(const struct log_filter *filter, const struct log_process *process);

int log_sieve_init(struct log_sieve *sieve, const struct log *log, const struct log_filter *filter);
void log_sieve_free(struct log_sieve *sieve);
bool log_sieve_place(const struct log_sieve *sieve, const struct log_place *place);

// An event's id in the log; `stream` is the one that it stands in.
uint64_t log_event_id(const struct log *log, const struct log_process *process, uint32_t stream,
                      const struct stream_event *raw);

struct sort_key;

enum { CURSOR_RECENT_FILES = 16 };

struct log_cursor {
    struct log *log;
    struct log_sieve *sieve;
    const struct log_place *place;
    uint32_t stream;
    bool sorted;         // decoded as it is asked for
    bool failed;         // damage inside: nothing follows
    uint64_t decoded;    // events so far
    struct bytes raw;    // the block
    struct bytes events; // of a block that is not sorted: decoded events, one after the other
    struct sort_key *key;
    size_t key_count;
    size_t key_capacity;
    size_t key_at;
    double clock_rate; // of the process
    struct {           // files looked up lately, by their low bits; all zero says the truth of number 0
        uint32_t local;
        const struct log_file *file;
    } recent[CURSOR_RECENT_FILES];
    struct stream_decoder decoder;
    struct log_event event; // the current one
};

// Reads the block; the cursor then stands before its first event. May be used again after the end.
int log_cursor_start(struct log_cursor *cursor, const struct log_place *place);
// 1 with the next event in cursor->event, 0 at the end or where damage begins, a negative code where reading fails.
int log_cursor_next(struct log_cursor *cursor);
void log_cursor_free(struct log_cursor *cursor);
