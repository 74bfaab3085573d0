// Counters of one file in one process and layer, with the meaning of Darshan's, counter for counter.
// One accumulator serves the reader, which feeds it events, and the recorder, which feeds it calls past the trace cap;
// it never allocates. Times are in whatever unit the caller uses throughout; 0 means never.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/call.h"
#include "fmt/clock_map.h"
#include "fmt/fields.h"

enum { COUNTERS_BINS = 10, COUNTERS_CANDIDATES = 32, COUNTERS_TOP = 4 };

// Where there is a pair, reading comes first and writing is the next one. Numbers are stored in logs: new ones go at
// the end.
enum counter {
    COUNTER_OPENS,
    COUNTER_FILENOS,
    COUNTER_DUPS,
    COUNTER_READS,
    COUNTER_WRITES,
    COUNTER_SEEKS,
    COUNTER_STATS,
    COUNTER_MMAPS,
    COUNTER_FSYNCS,
    COUNTER_FDSYNCS,
    COUNTER_RENAME_SOURCES,
    COUNTER_RENAME_TARGETS,
    COUNTER_RENAMED_FROM, // what input.renamed_from said
    COUNTER_MODE,
    COUNTER_BYTES_READ,
    COUNTER_BYTES_WRITTEN,
    COUNTER_MAX_BYTE_READ,
    COUNTER_MAX_BYTE_WRITTEN,
    COUNTER_CONSEC_READS,
    COUNTER_CONSEC_WRITES,
    COUNTER_SEQ_READS,
    COUNTER_SEQ_WRITES,
    COUNTER_RW_SWITCHES,
    COUNTER_MEM_NOT_ALIGNED,
    COUNTER_FILE_NOT_ALIGNED,
    COUNTER_FILE_ALIGNMENT,
    COUNTER_MAX_READ_TIME_SIZE,
    COUNTER_MAX_WRITE_TIME_SIZE,
    COUNTER_SIZE_READ,
    COUNTER_SIZE_WRITE = COUNTER_SIZE_READ + COUNTERS_BINS,
    COUNTER_FDOPENS = COUNTER_SIZE_WRITE + COUNTERS_BINS,
    COUNTER_FLUSHES,
    // Moments.
    COUNTER_OPEN_START,
    COUNTER_READ_START,
    COUNTER_WRITE_START,
    COUNTER_CLOSE_START,
    COUNTER_OPEN_END,
    COUNTER_READ_END,
    COUNTER_WRITE_END,
    COUNTER_CLOSE_END,
    // Sums and maxima of time.
    COUNTER_READ_TIME,
    COUNTER_WRITE_TIME,
    COUNTER_META_TIME,
    COUNTER_MAX_READ_TIME,
    COUNTER_MAX_WRITE_TIME,
    // What the next call is compared with.
    COUNTER_LAST_BYTE_READ, // signed; 0 before the first access and after an open
    COUNTER_LAST_BYTE_WRITTEN,
    COUNTER_LAST_KIND, // 0 none, 1 read, 2 write
    COUNTER_LAST_STRIDE,
    COUNTER_READ_BUSY_UNTIL, // the latest end of a call of that kind: later ones add to the sums from there
    COUNTER_WRITE_BUSY_UNTIL,
    COUNTER_META_BUSY_UNTIL,
    // What the first call was, for joining this part to the one before it.
    COUNTER_READ_SEAM, // enum counters_seam
    COUNTER_WRITE_SEAM,
    COUNTER_READ_SEAM_OFFSET,
    COUNTER_WRITE_SEAM_OFFSET,
    COUNTER_FIRST_KIND,
    COUNTER_READ_FIRST_START,
    COUNTER_WRITE_FIRST_START,
    COUNTER_META_FIRST_START,
    COUNTER_READ_FIRST_END,
    COUNTER_WRITE_FIRST_END,
    COUNTER_META_FIRST_END,
    // Of MPI-IO, which also uses those above that it shares with POSIX.
    COUNTER_INDEP_OPENS,
    COUNTER_COLL_OPENS,
    COUNTER_INDEP_READS,
    COUNTER_INDEP_WRITES,
    COUNTER_COLL_READS,
    COUNTER_COLL_WRITES,
    COUNTER_SPLIT_READS,
    COUNTER_SPLIT_WRITES,
    COUNTER_NB_READS,
    COUNTER_NB_WRITES,
    COUNTER_SYNCS,
    COUNTER_HINTS,
    COUNTER_VIEWS,
    COUNTER_COUNT
};

static inline bool counter_is_moment(unsigned counter)
{
    return (counter >= COUNTER_OPEN_START && counter <= COUNTER_CLOSE_END) ||
           (counter >= COUNTER_READ_BUSY_UNTIL && counter <= COUNTER_META_BUSY_UNTIL) ||
           (counter >= COUNTER_READ_FIRST_START && counter <= COUNTER_META_FIRST_END);
}

static inline bool counter_is_span(unsigned counter)
{
    return counter >= COUNTER_READ_TIME && counter <= COUNTER_MAX_WRITE_TIME;
}

enum counters_seam {
    SEAM_NONE,   // no access and no open yet
    SEAM_ACCESS, // the first access came before any open: its neighbour is in the part before
    SEAM_RESET,  // an open came first
};

// The first distinct values that were seen, each with its exact count.
struct counters_common {
    uint64_t value[COUNTERS_CANDIDATES];
    uint64_t count[COUNTERS_CANDIDATES];
    uint64_t used;
};

struct counters { // plain data, all zero at the start
    uint64_t value[COUNTER_COUNT];
    struct counters_common sizes;
    struct counters_common strides;
};

struct counters_input {
    uint32_t call;       // this build's id
    uint32_t block_size; // of the file; 0 where it is not known
    uint64_t offset;
    bool has_offset;
    bool unaligned; // memory
    bool is_target; // of a rename: the file is the new name, not the old one
    int64_t result; // bytes moved, or what the call returned; failed calls are not to be fed
    uint64_t start;
    uint64_t duration;
    uint32_t mode;         // of opens, where known
    uint32_t flags;        // ATTRIBUTE_FLAGS or 0: fcntl's command says whether it is a dup; MPI-IO's mode of opening
    uint32_t comm_size;    // ATTRIBUTE_COMM_SIZE or 0
    bool has_hints;        // ATTRIBUTE_HINTS
    uint64_t renamed_from; // with is_target: the old name; a file number in the recorder, a record id in the reader
};

enum counters_missed { MISSED_SIZE = 1 << 0, MISSED_STRIDE = 1 << 1 };

// The layer whose record a call counts in (fileno counts as a reference in the POSIX one, as Darshan has it);
// LAYER_NONE for calls that do not count: a file that saw only these has no record. `flags` as in counters_input.
unsigned counters_layer(uint32_t call, uint32_t flags);
// Whether the call counts for its second file too, as a target (renames).
bool counters_has_target(uint32_t call);

// Returns which of the access's values (its result, value[COUNTER_LAST_STRIDE]) found no room among the candidates,
// as enum counters_missed; the recorder lets them go, the reader keeps them aside.
unsigned counters_add(struct counters *c, const struct counters_input *in);

// False where there is no room for a new value.
bool counters_common_add(struct counters_common *common, uint64_t value, uint64_t count);

// Adds what happened later, as if one accumulator had seen all of it. Exact but for times: where several calls run at
// once across the seam, only the overlap of the first of each kind (read, write, metadata) is left out of the sums.
// Values that find no room go to `left_out` (sizes, strides), which may be NULL.
void counters_merge(struct counters *c, const struct counters *later, struct counters_common left_out[2]);

// Adds what another rank did: neither calls nor times of the two are neighbours.
void counters_merge_rank(struct counters *c, const struct counters *other, struct counters_common left_out[2]);

// Read, write and metadata time, what a rank's speed is measured by.
static inline uint64_t counters_time(const struct counters *c)
{
    return c->value[COUNTER_READ_TIME] + c->value[COUNTER_WRITE_TIME] + c->value[COUNTER_META_TIME];
}

// Opens proper: Darshan's counters include what was derived from an open file.
static inline uint64_t counters_true_opens(const struct counters *c, unsigned layer)
{
    uint64_t derived =
        layer == LAYER_POSIX ? c->value[COUNTER_FILENOS] + c->value[COUNTER_DUPS] : c->value[COUNTER_FDOPENS];
    return c->value[COUNTER_OPENS] > derived ? c->value[COUNTER_OPENS] - derived : 0;
}

static inline uint64_t counters_bytes(const struct counters *c)
{
    return c->value[COUNTER_BYTES_READ] + c->value[COUNTER_BYTES_WRITTEN];
}

// How the ranks of a reduced record compare; times are nanoseconds.
struct counters_ranks {
    struct {
        int64_t rank;
        uint64_t bytes;
        uint64_t time;
    } fastest, slowest;
    double variance_time; // seconds squared
    double variance_bytes;
};

// From clock units to nanoseconds since the job's start.
void counters_to_ns(struct counters *c, const struct clock_map *clock);

struct counters_value {
    const char *name; // with its module's prefix
    bool is_real;
    int64_t integer;
    double real; // seconds
};

enum { COUNTERS_MAX_VALUES = 128 };

// The counters of a layer under Darshan's names, in its order; times are taken as nanoseconds. `ranks` is NULL for what
// is not reduced. Returns their number, 0 for a layer that has none.
size_t counters_list(const struct counters *c, const struct counters_ranks *ranks, unsigned layer,
                     struct counters_value out[COUNTERS_MAX_VALUES]);

// How the recorder keeps them in a chunk of kind CHUNK_COUNTERS; times are clock units.
struct spill_counters {
    uint32_t file; // the process's own number; 0: the entry is not in use
    uint32_t layer;
    struct counters counters;
};

// RECORD_COUNTERS in a log; times are nanoseconds. A counter that is 0 is left out.
enum counters_key {
    COUNTERS_PROCESS = 1,
    COUNTERS_FILE = 2, // the process's own number
    COUNTERS_LAYER = 3,
    COUNTERS_SIZES = 4, // bytes: varint value, varint count, and so on
    COUNTERS_STRIDES = 5,
    COUNTERS_SAME = 6,  // counters that are left out because another one has the same value, a bit each (counters.c)
    COUNTERS_FIRST = 16 // + enum counter
};

enum { COUNTERS_MAX_RECORD = 4096 }; // bytes that suffice for one

void counters_put(struct fields_out *out, uint32_t process, const struct spill_counters *entry);
int counters_get(struct fields_in body, uint32_t *process, struct spill_counters *entry);
