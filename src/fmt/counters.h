// Counters of one file in one process and layer. Each means exactly what Darshan's counter of that name means. The
// reader adds events, the recorder adds calls that it does not trace any more. No function allocates memory. Times have
// the unit that the caller uses; 0 means never.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/call.h"
#include "fmt/clock_map.h"
#include "fmt/fields.h"

enum { COUNTERS_BINS = 10, COUNTERS_CANDIDATES = 32, COUNTERS_TOP = 4, COUNTERS_DIMS = 5 };
enum { COUNTERS_PARTS = PART_END - PART_VAR };

// In a pair, reading comes first and writing follows it. Logs hold the numbers: new counters go to the end.
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
    COUNTER_RENAMED_FROM, // input.renamed_from
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
    COUNTER_READ_BUSY_UNTIL, // when the last call of that kind ended: sums count the time of later calls from there
    COUNTER_WRITE_BUSY_UNTIL,
    COUNTER_META_BUSY_UNTIL,
    // The first call, for joining this part to the one before it.
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
    // For MPI-IO, which also uses those counters above that it shares with POSIX.
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
    // For HDF5, which also uses opens, flushes, reads, writes, their sizes and times.
    COUNTER_REGULAR_HYPERSLAB_SELECTS,
    COUNTER_IRREGULAR_HYPERSLAB_SELECTS,
    COUNTER_POINT_SELECTS,
    COUNTER_DATASPACE_NDIMS, // this and the next three are as at the last open
    COUNTER_DATASPACE_NPOINTS,
    COUNTER_DATATYPE_SIZE,
    COUNTER_CHUNK_SIZE,                                     // the fastest dimension first
    COUNTER_USE_MPIIO = COUNTER_CHUNK_SIZE + COUNTERS_DIMS, // 1: files were opened through MPI-IO, transfers collective
    COUNTER_USE_DEPRECATED,                                 // 1: opened by an old function
    // For PnetCDF, which also uses those of MPI-IO and what a variable is.
    COUNTER_CREATES,
    COUNTER_REDEFS,
    COUNTER_INDEP_WAITS,
    COUNTER_COLL_WAITS,
    COUNTER_WAIT_FAILURES, // not after the trace
    COUNTER_WAIT_START,
    COUNTER_WAIT_END,
    COUNTER_WAIT_TIME,
    COUNTER_IS_RECORD_VAR,
    COUNTER_PUT_VAR, // this and the next four: one per enum call_part
    COUNTER_GET_VAR = COUNTER_PUT_VAR + COUNTERS_PARTS,
    COUNTER_IPUT_VAR = COUNTER_GET_VAR + COUNTERS_PARTS,
    COUNTER_IGET_VAR = COUNTER_IPUT_VAR + COUNTERS_PARTS,
    COUNTER_BPUT_VAR = COUNTER_IGET_VAR + COUNTERS_PARTS,
    COUNTER_LAST = COUNTER_BPUT_VAR + COUNTERS_PARTS - 1,
    COUNTER_COUNT
};

static inline bool counter_is_moment(unsigned counter) {
    return (counter >= COUNTER_OPEN_START && counter <= COUNTER_CLOSE_END) ||
           (counter >= COUNTER_READ_BUSY_UNTIL && counter <= COUNTER_META_BUSY_UNTIL) ||
           (counter >= COUNTER_READ_FIRST_START && counter <= COUNTER_META_FIRST_END) ||
           counter == COUNTER_WAIT_START || counter == COUNTER_WAIT_END;
}

static inline bool counter_is_span(unsigned counter) {
    return (counter >= COUNTER_READ_TIME && counter <= COUNTER_MAX_WRITE_TIME) || counter == COUNTER_WAIT_TIME;
}

enum counters_seam {
    SEAM_NONE,   // no access and no open yet
    SEAM_ACCESS, // an access came before any open: the access before it is in the part before
    SEAM_RESET,  // an open came before any access
};

// The first distinct values, each with its exact count.
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

// A dataset as it was opened.
struct counters_dataset {
    uint64_t ndims;
    uint64_t npoints;
    uint64_t type_size;
    uint64_t chunk[COUNTERS_DIMS]; // the fastest dimension first
    bool is_deprecated;
    bool has_records; // it can grow in its first dimension
};

struct counters_input {
    uint32_t call;       // this build's id
    uint32_t block_size; // of the file; 0: unknown
    uint64_t offset;
    bool has_offset;
    bool unaligned; // the memory
    bool is_target; // renames: the file has the new name, not the old one
    int64_t result; // bytes moved, or what the call returned; failed calls do not count
    uint64_t start;
    uint64_t duration;
    uint32_t mode;      // opens: 0 if unknown
    uint32_t flags;     // ATTRIBUTE_FLAGS or 0: fcntl's command (is it a dup?); the mode of an open of MPI-IO
    uint32_t comm_size; // ATTRIBUTE_COMM_SIZE or 0
    bool has_hints;     // ATTRIBUTE_HINTS
    bool is_collective; // ATTRIBUTE_COLLECTIVE
    bool has_failed;    // waits only: others are not counted
    uint32_t selection; // enum selection_kind, for transfers of datasets
    uint32_t shape;     // the log's number of a regular one, else 0
    const struct counters_dataset *dataset; // with opens of datasets, or NULL
    uint64_t renamed_from; // with is_target: the old name; a file number in the recorder, a record id in the reader
};

enum counters_missed { MISSED_SIZE = 1 << 0, MISSED_STRIDE = 1 << 1 };

// The layer whose counters a call adds to. As in Darshan, fileno adds to those of POSIX. LAYER_NONE: the call does not
// count; a file that had only such calls has no counters. `flags` as in counters_input.
unsigned counters_layer(uint32_t call, uint32_t flags);
// Whether the call also counts for its second file, as a target (renames).
bool counters_has_target(uint32_t call);

// What is counted among the sizes: the size, and for datasets also the shape of what was selected.
enum { COUNTERS_SHAPE_SHIFT = 40 };
static inline uint64_t counters_size_key(uint64_t size, uint32_t shape) {
    const uint64_t most = (UINT64_C(1) << COUNTERS_SHAPE_SHIFT) - 1;
    return shape ? (uint64_t)shape << COUNTERS_SHAPE_SHIFT | (size < most ? size : most) : size;
}

// Returns which values of the access (its size's key, value[COUNTER_LAST_STRIDE]) found no room among the candidates,
// as enum counters_missed. The recorder drops them, the reader keeps them in a list of its own.
unsigned counters_add(struct counters *c, const struct counters_input *in);

// What the next call on one open file is compared with. Counters that stand for several files need it for each of them.
enum { COUNTERS_STATE = COUNTER_META_BUSY_UNTIL - COUNTER_LAST_BYTE_READ + 1, COUNTERS_POSITIONS = 1024 };
struct counters_position {
    uint64_t key; // handle and layer
    uint64_t state[COUNTERS_STATE];
};

// The place of the open file in a table of COUNTERS_POSITIONS, which forgets one that was there before.
struct counters_position *counters_position_of(struct counters_position *table, uint32_t handle, unsigned layer);
// Like counters_add, for counters that stand for several files. They are never compared with those of an earlier part.
unsigned counters_add_apart(struct counters *c, const struct counters_input *in, struct counters_position *position);

// One of several reads or writes that differ only in these fields.
struct counters_access {
    uint64_t offset;
    uint64_t start;
    uint64_t duration;
};

enum { COUNTERS_RUN = 32 };

// Values that found no room among the candidates.
struct counters_left_out {
    unsigned sizes; // how often the size
    unsigned strides;
    uint64_t stride[COUNTERS_RUN];
    uint64_t stride_count[COUNTERS_RUN];
};

bool counters_is_access(uint32_t call); // a read or write
// The same as counters_add for each, at most COUNTERS_RUN; `in` has what they share: call, file, result and the rest.
void counters_add_run(struct counters *c, const struct counters_input *in, const struct counters_access *access,
                      unsigned count, struct counters_left_out *left_out);

// False if there is no room for a new value.
bool counters_common_add(struct counters_common *common, uint64_t value, uint64_t count);

// Adds the counters of a later part, as if all had been counted together. Times are not exact: if several calls run at
// once across the seam, the sums leave out only the overlap of the first call of each kind (read, write, metadata).
// Values that find no room go to `left_out` (sizes, strides), which may be NULL.
void counters_merge(struct counters *c, const struct counters *later, struct counters_common left_out[2]);

// Adds the counters of another rank or process: its calls and times do not follow those of the first.
void counters_merge_rank(struct counters *c, const struct counters *other, struct counters_common left_out[2]);

// Read, write and metadata time, which determine the fastest and slowest rank.
static inline uint64_t counters_time(const struct counters *c) {
    return c->value[COUNTER_READ_TIME] + c->value[COUNTER_WRITE_TIME] + c->value[COUNTER_META_TIME];
}

// Opens without fileno, dup and fdopen, which Darshan's counters of opens include.
static inline uint64_t counters_true_opens(const struct counters *c, unsigned layer) {
    uint64_t derived =
        layer == LAYER_POSIX ? c->value[COUNTER_FILENOS] + c->value[COUNTER_DUPS] : c->value[COUNTER_FDOPENS];
    return c->value[COUNTER_OPENS] > derived ? c->value[COUNTER_OPENS] - derived : 0;
}

static inline uint64_t counters_bytes(const struct counters *c) {
    return c->value[COUNTER_BYTES_READ] + c->value[COUNTER_BYTES_WRITTEN];
}

// How ranks compare whose counters were added up; times are nanoseconds.
struct counters_ranks {
    uint64_t count; // of the ranks
    struct {
        int64_t rank;
        uint64_t bytes;
        uint64_t time;
    } fastest, slowest;
    double variance_time; // seconds squared
    double variance_bytes;
};

struct counters_ranks counters_ranks_of(int64_t rank, const struct counters *c);
// Adds the counters of other ranks, in any order. Both describe the counters before this.
void counters_merge_ranks(struct counters *c, struct counters_ranks *ranks, const struct counters *other,
                          const struct counters_ranks *others, struct counters_common left_out[2]);

// From clock units to nanoseconds since the job's start.
void counters_to_ns(struct counters *c, const struct clock_map *clock);

struct counters_value {
    const char *name; // with the prefix of its module
    bool is_real;
    bool is_id;      // the integer is a record id, without a sign
    bool is_unknown; // imported counters only: their log did not know it
    int64_t integer;
    double real; // seconds
};

enum { COUNTERS_MAX_VALUES = 144 };

// The most frequent values and their counts; of equal counts the larger value first, and 0 never. The caller sets the
// arrays to 0.
void counters_top(const struct counters_common *common, uint64_t value[COUNTERS_TOP], uint64_t count[COUNTERS_TOP]);

// The extent of a regular selection and the distance of its blocks, by dimension, as Darshan has them.
struct counters_shape {
    uint64_t length[COUNTERS_DIMS];
    uint64_t stride[COUNTERS_DIMS];
};

// Which of Darshan's modules lists the counters.
struct counters_module {
    unsigned layer;
    bool is_object;                     // of an object in a file
    const struct counters_ranks *ranks; // NULL for the counters of one rank
    const int64_t *numbers;             // counters of another log, which are listed as they are: integers, and
    const double *reals;                // floating-point numbers; NULL: those of `struct counters` are listed
    // The shape with that number; NULL: unknown.
    void (*shape_of)(const void *context, uint32_t number, struct counters_shape *shape);
    const void *context;
};

// The counters under Darshan's names, in Darshan's order (calls/darshan.counters); times are nanoseconds. Returns how
// many there are, 0 for a layer without counters.
size_t counters_list(const struct counters *c, const struct counters_module *module,
                     struct counters_value out[COUNTERS_MAX_VALUES]);

// The reverse, from module->numbers and module->reals, as far as ioseer counts the same; what is not known is 0.
void counters_from_list(struct counters *c, struct counters_ranks *ranks, const struct counters_module *module);

// In a chunk of kind CHUNK_COUNTERS; times are clock units.
struct spill_counters {
    uint32_t file; // the number that the process gave it; 0: the entry is not in use
    uint32_t layer;
    struct counters counters;
};

// RECORD_COUNTERS in a log; times are nanoseconds. Counters that are 0 are not written.
enum counters_key {
    COUNTERS_PROCESS = 1, // absent: reduced over ranks
    COUNTERS_FILE =
        2, // the number that the process gave it; without a process the log's, absent: that of the record before
    COUNTERS_LAYER = 3,
    COUNTERS_SIZES = 4, // bytes: varint value, varint count, and so on
    COUNTERS_STRIDES = 5,
    COUNTERS_SAME = 6,      // one bit per counter that is not written because another has the same value (counters.c)
    COUNTERS_OLD_RANKS = 7, // older logs only: the next in another form
    COUNTERS_RANKS = 8,     // without a process: whose counters these are (counters_ranks.c)
    COUNTERS_FIRST = 16     // + enum counter
};

enum { COUNTERS_MAX_RECORD = 4096 }; // bytes that suffice for one

void counters_put(struct fields_out *out, uint32_t process, const struct spill_counters *entry);
// Those of several ranks; `file` is the log's number.
void counters_put_reduced(struct fields_out *out, const struct spill_counters *entry,
                          const struct counters_ranks *ranks);
int counters_get(struct fields_in body, uint32_t *process, struct spill_counters *entry);
// COUNTERS_RANKS
void counters_put_ranks(struct fields_out *out, const struct counters *c, const struct counters_ranks *ranks);
int counters_get_ranks(struct fields_in body, const struct counters *c, struct counters_ranks *ranks);
