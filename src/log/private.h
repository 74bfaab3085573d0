// What the files of this folder share; the rest of the program uses log.h.
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "base/lookup.h"
#include "fmt/fields.h"
#include "fmt/stream.h"
#include "log/log.h"

enum {
    LOG_MAX_RECORD_BYTES = 1 << 30, // of all records together; a log that claims more is damaged
    LOG_MAX_CALL_ID = 1 << 16,
};

// An array that grows. Its items may move until the log is open, so links are numbers until then.
struct table {
    void *item;
    size_t count;
};

// A new item, all zero, or NULL.
void *table_add(struct table *table, size_t item_bytes);

struct stream_row {
    uint32_t id;
    uint32_t process;
    uint32_t local;
};

struct link_row { // RECORD_PROCESS_FILE and the like
    uint32_t process;
    uint32_t local;
    uint32_t global;
};

struct callsite_row {
    uint32_t process;
    uint32_t id;
    const char *line;
};

// A RECORD_COUNTERS record as it is: it is taken apart when its process is due.
struct counters_row {
    uint32_t process;
    uint32_t number; // keeps the log's order
    const uint8_t *body;
    size_t len;
};

struct log {
    int fd;
    uint64_t size;
    struct log_header header;
    struct log_job job;
    struct log_health health;
    struct arena arena;
    pthread_mutex_t damage; // of `health` and the places' damaged
    uint64_t record_bytes;

    struct table processes; // struct log_process …
    struct table worlds;
    struct table files;
    struct table calls;
    struct table losses;
    struct table loss_processes; // uint32_t, beside losses: process number + 1, 0 for none
    struct table settings;
    struct table places;
    struct table streams;
    struct table datatypes;
    struct table hints;
    struct table devices;
    struct table process_files; // struct link_row
    struct table process_datatypes;
    struct table process_hints;
    struct datatype scratch; // for looking into forms
    struct table callsites;
    struct table counters; // by process once the log is open

    struct lookup process_by_id; // all give positions in the tables above
    struct lookup file_by_id;
    struct lookup stream_by_id;
    struct lookup stream_by_local; // process, the process's own number
    struct lookup file_by_local;   // process, the process's own number
    struct lookup datatype_by_id;
    struct lookup hints_by_id;
    struct lookup device_by_id;
    struct lookup datatype_by_local;
    struct lookup hints_by_local;
    struct lookup callsite_by_id; // process, number

    const struct log_place **event_places; // blocks of events whose process is known, by process, then as in the log
    size_t *process_places;                // where each process's begin there, and after the last process their number

    const struct log_call **call_by_id; // never NULL inside
    uint8_t *traits;                    // of the calls by id, for the stream decoder
    bool *call_seen;                    // in the events that were read so far
    uint32_t call_ids;                  // length of all three
    struct log_call unknown_call;
};

// Reads exactly that many bytes; ERR_TRUNCATED where the file has fewer.
int log_read_at(const struct log *log, void *out, size_t len, uint64_t offset);
// A block and what it holds, wherever it lies. Replaces what is in `stored` (as in the file) and `raw`.
int log_read_block_at(const struct log *log, uint64_t offset, struct log_block *block, struct bytes *stored,
                      struct bytes *raw);
// A block of events with a decoder that stands before the first; `raw` must stay as long as it is used.
int log_read_events(struct log *log, const struct log_place *place, struct log_block *block, struct bytes *stored,
                    struct bytes *raw, struct stream_decoder *decoder);

// Fills `places`, from the index where there is a good one.
int log_find_blocks(struct log *log);
// Takes in the records of one block; those that make no sense are counted and passed over.
int log_take_records(struct log *log, const struct bytes *raw);
// Of one record; what the files of this folder that take records share.
int log_take_text(struct log *log, const struct field *field, const char **text);
int64_t log_take_ns(int64_t ns);
// Adds a row. With a lookup a row of the same key is replaced, in its place.
int log_put_row(struct table *table, struct lookup *lookup, uint64_t key, const void *row, size_t bytes);
int log_take_datatype(struct log *log, struct fields_in body);
int log_take_hints(struct log *log, struct fields_in body);

// Turns numbers into pointers once all records are there.
int log_link(struct log *log);
// Finds out which ranks belong together.
int log_find_worlds(struct log *log);

// Counts a block as damaged, once; `events_left` are those that it should have held.
void log_note_damage(struct log *log, const struct log_place *place, uint64_t events_left);

// Whether the block was found damaged, by whichever thread.
bool log_place_is_damaged(struct log *log, const struct log_place *place);

// The blocks of a process's events, or of all (NULL); gives their number.
size_t log_event_places(const struct log *log, const struct log_process *process,
                        const struct log_place *const **places);

const struct log_call *log_call_of(const struct log *log, uint32_t id); // never NULL
