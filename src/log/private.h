// Shared by the files of this folder; other folders use log.h.
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/lookup.h"
#include "fmt/fields.h"
#include "fmt/stream.h"
#include "log/import.h"
#include "log/stats.h"

enum {
    LOG_MAX_RECORD_BYTES = 1 << 30, // of all records together; more means damage
    LOG_MAX_CALL_ID = 1 << 16,
};

// A growable array. Items may move until the log is open; until then they refer to each other by number.
struct table {
    void *item;
    size_t count;
};

// Adds an item of zeros. Returns NULL if there is no memory.
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

struct mapped_row { // RECORD_MAPPED
    uint32_t process;
    uint32_t file; // the process's own number
    struct log_mapped mapped;
};

struct aggregate_row { // RECORD_AGGREGATE
    uint32_t process;
    uint32_t file; // the process's own number
    uint64_t files;
};

struct callsite_row {
    uint32_t process;
    uint32_t id;
    const char *line;
};

// A RECORD_COUNTERS record as stored; it is decoded when its process is read.
struct log_reduction {
    int64_t start_ns;
    uint32_t process; // one of its ranks; 0: none is known
};

struct counters_row {
    uint32_t process;
    uint32_t file;      // without a process
    uint32_t reduction; // without a process: its place
    uint32_t number;    // position in the log
    const uint8_t *body;
    size_t len;
};

struct imported_row { // a RECORD_IMPORTED record as stored
    unsigned module;
    uint32_t number; // position in the log
    uint32_t file;
    int64_t rank;
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
    uint64_t events_unread; // of the places, lost with damaged blocks
    bool has_gap;           // a search skipped bytes between two blocks
    pthread_mutex_t
        damage; // protects `health`, `events_unread`, the `damaged` of places, `whole_until_ns` of processes
    uint64_t record_bytes;
    uint64_t blocks_read; // of events; atomic

    struct table processes; // struct log_process …
    struct table worlds;
    struct table files;
    struct table calls;
    struct table losses;
    struct table loss_processes; // uint32_t, parallel to losses: process number + 1, 0: none
    struct table settings;
    struct table places;
    struct table streams;
    struct table datatypes;
    struct table hints;
    struct table devices;
    struct table mounts;
    struct table hosts;         // struct log_host
    struct table communicators; // struct communicator
    struct table mapped;        // struct mapped_row
    struct table aggregates;    // struct aggregate_row
    struct table servers;       // struct log_server
    struct table below;         // struct log_below
    struct log_stack stack;
    bool has_stack;
    struct table process_files; // struct link_row
    struct table process_datatypes;
    struct table process_hints;
    struct table selections;
    struct table datasets;
    struct table process_selections;
    struct table process_datasets;
    struct datatype scratch; // for checks of forms
    struct table callsites;
    struct table counters;   // sorted by process once the log is open; those of several ranks, without one, come first
    struct table reductions; // struct log_reduction
    struct log_import import;
    bool is_import;
    struct table imported; // struct imported_row, once the log is open by module
    uint32_t last_file;    // number of the file record before, in the same block

    struct lookup process_by_id; // each lookup returns indices of a table above
    struct lookup file_by_id;
    struct lookup stream_by_id;
    struct lookup stream_by_local; // key: process, the number in the process
    struct lookup file_by_local;   // key: process, the number in the process
    struct lookup datatype_by_id;
    struct lookup hints_by_id;
    struct lookup device_by_id;
    struct lookup mount_by_id;
    struct lookup server_by_id;
    struct lookup communicator_by_number; // key: process, number
    struct lookup datatype_by_local;
    struct lookup hints_by_local;
    struct lookup selection_by_id;
    struct lookup dataset_by_id;
    struct lookup selection_by_local;
    struct lookup dataset_by_local;
    struct lookup callsite_by_id; // key: process, number

    const struct log_place **event_places; // event blocks with a known process, by process, then in the log's order
    size_t *process_places;                // index of each process's first block there; one more entry for the end

    const struct log_call **call_by_id; // entries are never NULL
    uint8_t *traits;                    // by call id, for the stream decoder
    bool *call_seen;                    // in the events read so far
    uint32_t call_ids;                  // length of the three arrays
    struct log_call unknown_call;
};

// Reads exactly `len` bytes; ERR_TRUNCATED if the file has fewer.
int log_read_at(const struct log *log, void *out, size_t len, uint64_t offset);
// Reads the header of the block at `offset`. ERR_TRUNCATED if the block goes beyond `end`; `block` is good then if its
// header_bytes are not 0.
int log_read_block_header(const struct log *log, uint64_t end, uint64_t offset, struct log_block *block);
// Reads the block at `offset`. Replaces the contents of `stored` (as in the file) and `raw`.
int log_read_block_at(const struct log *log, uint64_t offset, struct log_block *block, struct bytes *stored,
                      struct bytes *raw);

// Fills `places`, from the index if it is good.
int log_find_blocks(struct log *log);
// Adds the records of one block to the tables. Counts and skips those that make no sense.
int log_parse_records(struct log *log, const struct bytes *raw);
// Parsers of fields and records that several files share.
// group.c: what a record has that stands for several processes.
int log_parse_group(struct log *log, struct fields_in body, const struct field f[PROCESS_WITH + 1],
                    struct log_process *process);
int log_parse_text(struct log *log, const struct field *field, const char **text);
// Adds a row. With a lookup, replaces a row with the same key.
int log_put_row(struct table *table, struct lookup *lookup, uint64_t key, const void *row, size_t bytes);
int log_parse_datatype(struct log *log, struct fields_in body);
int log_parse_hints(struct log *log, struct fields_in body);
int log_parse_selection(struct log *log, struct fields_in body);
int log_parse_dataset(struct log *log, struct fields_in body);
// How many fields of bytes a body has under a key.
size_t log_count_fields(struct fields_in body, unsigned key);
// All words of a key.
int log_parse_words(struct log *log, struct fields_in body, unsigned key, struct log_strings *words);
int log_parse_stack(struct log *log, struct fields_in body);
int log_parse_server(struct log *log, struct fields_in body);
int log_parse_below(struct log *log, struct fields_in body);
int log_parse_import(struct log *log, struct fields_in body);
int log_parse_imported(struct log *log, struct fields_in body);
void log_sort_imported(struct log *log);
// The records of an imported log as those of log_stats, in its order, or `by_file`: by layer, file and rank.
int log_imported_stats(struct log *log, const struct log_filter *filter, bool by_file, log_stats_callback *callback,
                       void *context);

// Turns numbers into pointers, after all records are read.
int log_link(struct log *log);
// Finds the ranks that ran together.
int log_assign_worlds(struct log *log);

// Counts a block as damaged, once. `events_left` is the number of events lost with it, from `from_ns` on.
void log_note_damage(struct log *log, const struct log_place *place, uint64_t events_left, int64_t from_ns);

// Whether a code of the reading functions means damage. These have counted it.
static inline bool log_is_damage(int code) {
    return code == ERR_FORMAT || code == ERR_CHECKSUM || code == ERR_TRUNCATED;
}

// Returns the blocks with the events of a process, or of all (NULL), and their number.
size_t log_event_places(const struct log *log, const struct log_process *process,
                        const struct log_place *const **places);

const struct log_call *log_call_of(const struct log *log, uint32_t id); // never NULL
