#include "fmt/counters.h"

#include <fcntl.h>
#include <string.h>

#include "base/err.h"
#include "base/varint.h"
#include "fmt/records.h"

enum { READING, WRITING };

// The sums of time: offsets from COUNTER_READ_TIME, COUNTER_READ_BUSY_UNTIL and so on.
enum time_sum { TIME_READ, TIME_WRITE, TIME_META };

static enum call_count count_of(uint32_t call, uint32_t flags) {
    if (call >= call_table_len) return COUNT_NONE;
    enum call_count count = call_table[call].count;
    if (count != COUNT_FCNTL) return count;
    return flags == F_DUPFD || flags == F_DUPFD_CLOEXEC ? COUNT_DUP : COUNT_NONE;
}

unsigned counters_layer(uint32_t call, uint32_t flags) {
    enum call_count count = count_of(call, flags);
    if (count == COUNT_NONE) return LAYER_NONE;
    if (count == COUNT_FILENO) return LAYER_POSIX;
    unsigned layer = call_table[call].layer;
    return layer <= LAYER_PNETCDF ? layer : LAYER_NONE;
}

bool counters_has_target(uint32_t call) { return count_of(call, 0) == COUNT_RENAME; }

bool counters_common_add(struct counters_common *common, uint64_t value, uint64_t count) {
    unsigned used = common->used < COUNTERS_CANDIDATES ? (unsigned)common->used : COUNTERS_CANDIDATES;
    const uint64_t *at = common->value;
    unsigned i = 0;
    // Compares four at a time: if there are many candidates, mostly none matches.
    while (i + 4 <= used && !((at[i] == value) | (at[i + 1] == value) | (at[i + 2] == value) | (at[i + 3] == value)))
        i += 4;
    while (i < used && at[i] != value) i++;
    if (i == COUNTERS_CANDIDATES) return false;
    if (i == used) {
        common->value[i] = value;
        common->used = used + 1;
    }
    common->count[i] += count;
    return true;
}

static void add_moments(uint64_t *first, uint64_t *last, uint64_t start, uint64_t end) {
    if (start == 0) start = 1; // 0 means never
    if (*first == 0 || start < *first) *first = start;
    if (end > *last) *last = end;
}

// Adds the part of a call that lies after the end of the last call of its kind.
static void add_time(uint64_t *v, enum time_sum sum, uint64_t start, uint64_t end) {
    uint64_t *busy_until = &v[COUNTER_READ_BUSY_UNTIL + sum];
    if (!v[COUNTER_READ_FIRST_END + sum]) {
        v[COUNTER_READ_FIRST_START + sum] = start;
        v[COUNTER_READ_FIRST_END + sum] = end;
    }
    if (end <= *busy_until) return;
    v[COUNTER_READ_TIME + sum] += end - (start > *busy_until ? start : *busy_until);
    *busy_until = end;
}

static unsigned size_bin(uint64_t size) {
    static const uint64_t upper[COUNTERS_BINS - 1] = {
        100, 1 << 10, 10 << 10, 100 << 10, 1 << 20, 4 << 20, 10 << 20, 100 << 20, 1 << 30,
    };
    unsigned bin = size > upper[3] ? 4 : 0;
    while (bin < COUNTERS_BINS - 1 && size > upper[bin]) bin++;
    return bin;
}

static bool is_multiple(uint64_t offset, uint32_t of) {
    if ((of & (of - 1)) == 0) return (offset & (of - 1)) == 0; // saves the division
    return offset % of == 0;
}

// Compares the offset of an access with the last byte of the access before it, and returns the gap between them. The
// offsets are signed: an empty access at the start of a file ends at -1.
static uint64_t compare_with_last(uint64_t *v, unsigned kind, int64_t last, int64_t offset) {
    if (offset > last) v[COUNTER_SEQ_READS + kind]++;
    if (offset - 1 == last) v[COUNTER_CONSEC_READS + kind]++;
    return offset > last && last != 0 ? (uint64_t)offset - (uint64_t)last - 1 : 0;
}

// The strides of a run. Equal strides that follow each other are counted together.
struct stride_run {
    uint64_t stride;
    uint64_t count;
    struct counters_left_out *missed;
};

static void end_stride_run(struct counters *c, struct stride_run *run) {
    if (!run->count || counters_common_add(&c->strides, run->stride, run->count)) return;
    run->missed->stride[run->missed->strides] = run->stride;
    run->missed->stride_count[run->missed->strides++] = run->count;
}

static void add_positions(struct counters *c, const struct counters_input *in, unsigned kind,
                          const struct counters_access *access, unsigned count, struct counters_left_out *missed) {
    uint64_t *v = c->value, bytes = (uint64_t)in->result;
    struct stride_run run = {.missed = missed};
    int64_t last = (int64_t)v[COUNTER_LAST_BYTE_READ + kind], most = (int64_t)v[COUNTER_MAX_BYTE_READ + kind];
    if (v[COUNTER_READ_SEAM + kind] == SEAM_NONE) {
        v[COUNTER_READ_SEAM + kind] = SEAM_ACCESS;
        v[COUNTER_READ_SEAM_OFFSET + kind] = access->offset & INT64_MAX;
    }
    for (unsigned i = 0; i < count; i++) {
        int64_t offset = (int64_t)(access[i].offset & INT64_MAX);
        uint64_t stride = compare_with_last(v, kind, last, offset);
        last = (int64_t)((uint64_t)offset + bytes - 1);
        if (last > most) most = last;
        if (in->block_size && !is_multiple((uint64_t)offset, in->block_size)) v[COUNTER_FILE_NOT_ALIGNED]++;
        if (stride != run.stride) {
            end_stride_run(c, &run);
            run.stride = stride;
            run.count = 0;
        }
        run.count++;
    }
    end_stride_run(c, &run);
    v[COUNTER_LAST_BYTE_READ + kind] = (uint64_t)last;
    v[COUNTER_MAX_BYTE_READ + kind] = (uint64_t)most;
    v[COUNTER_LAST_STRIDE] = run.stride;
}

// The counter of reads; the one of writes is the next.
static enum counter mpiio_access(const struct call_info *call) {
    static const uint8_t counter[] = {
        [FORM_NONBLOCKING] = COUNTER_NB_READS, [FORM_SPLIT] = COUNTER_SPLIT_READS, [FORM_BUFFERED] = COUNTER_NB_READS};
    if (call->form != FORM_BLOCKING) return counter[call->form];
    return call->traits & CALL_COLLECTIVE ? COUNTER_COLL_READS : COUNTER_INDEP_READS;
}

static enum counter part_access(const struct call_info *call, unsigned kind) {
    static const uint8_t counter[][2] = {[FORM_BLOCKING] = {COUNTER_GET_VAR, COUNTER_PUT_VAR},
                                         [FORM_NONBLOCKING] = {COUNTER_IGET_VAR, COUNTER_IPUT_VAR},
                                         [FORM_BUFFERED] = {COUNTER_BPUT_VAR, COUNTER_BPUT_VAR}};
    return counter[call->form][kind] + (call->part ? call->part - PART_VAR : 0);
}

static void add_times(uint64_t *v, unsigned kind, uint64_t size, const struct counters_access *access, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = access[i].start, end = start + access[i].duration;
        add_moments(&v[COUNTER_READ_START + kind], &v[COUNTER_READ_END + kind], start, end);
        add_time(v, kind == READING ? TIME_READ : TIME_WRITE, start, end);
        if (access[i].duration <= v[COUNTER_MAX_READ_TIME + kind]) continue;
        v[COUNTER_MAX_READ_TIME + kind] = access[i].duration;
        v[COUNTER_MAX_READ_TIME_SIZE + kind] = size;
    }
}

static void add_selection(uint64_t *v, const struct counters_input *in, unsigned count) {
    if (in->selection == SELECTION_REGULAR) v[COUNTER_REGULAR_HYPERSLAB_SELECTS] += count;
    if (in->selection == SELECTION_IRREGULAR) v[COUNTER_IRREGULAR_HYPERSLAB_SELECTS] += count;
    if (in->selection == SELECTION_ELEMENTS) v[COUNTER_POINT_SELECTS] += count;
    if (in->is_collective) v[COUNTER_USE_MPIIO] = 1;
}

static void add_dataset(uint64_t *v, const struct counters_dataset *dataset) {
    v[COUNTER_DATASPACE_NDIMS] = dataset->ndims;
    v[COUNTER_DATASPACE_NPOINTS] = dataset->npoints;
    v[COUNTER_DATATYPE_SIZE] = dataset->type_size;
    memcpy(&v[COUNTER_CHUNK_SIZE], dataset->chunk, sizeof dataset->chunk);
    if (dataset->is_deprecated) v[COUNTER_USE_DEPRECATED] = 1;
    if (dataset->has_records) v[COUNTER_IS_RECORD_VAR] = 1;
}

void counters_add_run(struct counters *c, const struct counters_input *in, const struct counters_access *access,
                      unsigned count, struct counters_left_out *missed) {
    uint64_t *v = c->value;
    const struct call_info *call = &call_table[in->call];
    unsigned kind = call->count == COUNT_READ ? READING : WRITING;
    uint64_t size = (uint64_t)in->result;
    if (in->block_size) v[COUNTER_FILE_ALIGNMENT] = in->block_size;
    v[COUNTER_READS + kind] += count;
    v[COUNTER_BYTES_READ + kind] += size * count;
    v[COUNTER_SIZE_READ + kind * COUNTERS_BINS + size_bin(size)] += count;
    if (in->unaligned) v[COUNTER_MEM_NOT_ALIGNED] += count;
    if (v[COUNTER_FIRST_KIND] == 0) v[COUNTER_FIRST_KIND] = kind + 1;
    if (v[COUNTER_LAST_KIND] == (kind == READING ? WRITING + 1 : READING + 1)) v[COUNTER_RW_SWITCHES]++;
    v[COUNTER_LAST_KIND] = kind + 1;
    add_times(v, kind, size, access, count);
    missed->sizes = counters_common_add(&c->sizes, counters_size_key(size, in->shape), count) ? 0 : count;
    missed->strides = 0;
    // A transfer of MPI-IO may be scattered over the file, so its last byte is unknown.
    if (call->layer == LAYER_MPIIO || call->layer == LAYER_PNETCDF) {
        v[mpiio_access(call) + kind] += count;
        if (call->layer == LAYER_PNETCDF) v[part_access(call, kind)] += count;
    } else if (call->layer == LAYER_HDF5) {
        add_selection(v, in, count);
    } else if (in->has_offset) {
        add_positions(c, in, kind, access, count, missed);
    }
}

bool counters_is_access(uint32_t call) {
    enum call_count count = count_of(call, 0);
    return count == COUNT_READ || count == COUNT_WRITE;
}

static unsigned add_access(struct counters *c, const struct counters_input *in) {
    const struct counters_access access = {in->offset, in->start, in->duration};
    struct counters_left_out missed;
    counters_add_run(c, in, &access, 1, &missed);
    return (missed.sizes ? MISSED_SIZE : 0) | (missed.strides ? MISSED_STRIDE : 0);
}

static void add_open(uint64_t *v, const struct counters_input *in, enum call_count count, uint64_t end) {
    v[count == COUNT_CREATE ? COUNTER_CREATES : COUNTER_OPENS]++;
    if (count == COUNT_DUP) v[COUNTER_DUPS]++;
    if (count == COUNT_FILENO) v[COUNTER_FILENOS]++;
    if (count == COUNT_FDOPEN) v[COUNTER_FDOPENS]++;
    if (in->mode) v[COUNTER_MODE] = in->mode;
    if (call_table[in->call].layer == LAYER_MPIIO) {
        v[in->comm_size == 1 ? COUNTER_INDEP_OPENS : COUNTER_COLL_OPENS]++;
        v[COUNTER_MODE] = in->flags;
        v[COUNTER_HINTS] += in->has_hints;
    }
    if (in->dataset) add_dataset(v, in->dataset);
    if (in->is_collective) v[COUNTER_USE_MPIIO] = 1;
    add_moments(&v[COUNTER_OPEN_START], &v[COUNTER_OPEN_END], in->start, end);
    add_time(v, TIME_META, in->start, end);
    if (count != COUNT_OPEN) return;
    for (unsigned kind = READING; kind <= WRITING; kind++) {
        v[COUNTER_LAST_BYTE_READ + kind] = 0;
        if (v[COUNTER_READ_SEAM + kind] == SEAM_NONE) v[COUNTER_READ_SEAM + kind] = SEAM_RESET;
    }
}

static void add_rename(uint64_t *v, const struct counters_input *in) {
    if (in->is_target) {
        v[COUNTER_RENAME_TARGETS]++;
        v[COUNTER_RENAMED_FROM] = in->renamed_from;
    } else {
        v[COUNTER_RENAME_SOURCES]++;
    }
}

// As in Darshan, syncs count as time of writing, but those of HDF5 and PnetCDF as metadata, and the time of mappings
// does not count.
static void add_other(uint64_t *v, const struct counters_input *in, enum call_count count, uint64_t end) {
    static const uint8_t counter[] = {
        [COUNT_SEEK] = COUNTER_SEEKS,   [COUNT_STAT] = COUNTER_STATS,     [COUNT_MMAP] = COUNTER_MMAPS,
        [COUNT_FSYNC] = COUNTER_FSYNCS, [COUNT_FDSYNC] = COUNTER_FDSYNCS, [COUNT_FLUSH] = COUNTER_FLUSHES,
        [COUNT_VIEW] = COUNTER_VIEWS,   [COUNT_HINTS] = COUNTER_HINTS,    [COUNT_SYNC] = COUNTER_SYNCS,
        [COUNT_REDEF] = COUNTER_REDEFS,
    };
    switch (count) {
    case COUNT_CLOSE: add_moments(&v[COUNTER_CLOSE_START], &v[COUNTER_CLOSE_END], in->start, end); break;
    case COUNT_RENAME: add_rename(v, in); break;
    default: v[counter[count]]++; break;
    }
    if (count == COUNT_VIEW) v[COUNTER_HINTS] += in->has_hints;
    bool durable = count == COUNT_FSYNC || count == COUNT_FDSYNC || count == COUNT_FLUSH || count == COUNT_SYNC;
    if (call_layer_is_above(call_table[in->call].layer)) durable = false;
    if (count != COUNT_MMAP) add_time(v, durable ? TIME_WRITE : TIME_META, in->start, end);
}

static void add_wait(uint64_t *v, const struct counters_input *in, uint64_t end) {
    v[call_table[in->call].traits & CALL_COLLECTIVE ? COUNTER_COLL_WAITS : COUNTER_INDEP_WAITS]++;
    if (in->has_failed) v[COUNTER_WAIT_FAILURES]++;
    add_moments(&v[COUNTER_WAIT_START], &v[COUNTER_WAIT_END], in->start, end);
    v[COUNTER_WAIT_TIME] += in->duration;
}

unsigned counters_add(struct counters *c, const struct counters_input *in) {
    enum call_count count = count_of(in->call, in->flags);
    uint64_t end = in->start + in->duration;
    if (in->block_size) c->value[COUNTER_FILE_ALIGNMENT] = in->block_size;
    switch (count) {
    case COUNT_NONE: return 0;
    case COUNT_READ:
    case COUNT_WRITE: return add_access(c, in);
    case COUNT_WAIT: add_wait(c->value, in, end); return 0;
    case COUNT_OPEN:
    case COUNT_CREATE:
    case COUNT_DUP:
    case COUNT_FILENO:
    case COUNT_FDOPEN: add_open(c->value, in, count, end); return 0;
    default: add_other(c->value, in, count, end); return 0;
    }
}

struct counters_position *counters_position_of(struct counters_position *table, uint32_t handle, unsigned layer) {
    uint64_t key = (uint64_t)handle << 8 | layer;
    struct counters_position *position =
        &table[(handle + layer * (COUNTERS_POSITIONS / LAYER_COUNT)) % COUNTERS_POSITIONS];
    if (position->key != key) *position = (struct counters_position){.key = key};
    return position;
}

static void forget_first_calls(uint64_t *v) {
    memset(&v[COUNTER_READ_SEAM], 0, (COUNTER_META_FIRST_END - COUNTER_READ_SEAM + 1) * sizeof *v);
}

unsigned counters_add_apart(struct counters *c, const struct counters_input *in, struct counters_position *position) {
    uint64_t *state = &c->value[COUNTER_LAST_BYTE_READ];
    memcpy(state, position->state, sizeof position->state);
    unsigned missed = counters_add(c, in);
    memcpy(position->state, state, sizeof position->state);
    forget_first_calls(c->value);
    return missed;
}

enum merge_rule { MERGE_SUM, MERGE_MOST, MERGE_EARLIEST, MERGE_LATER, MERGE_APART };

static enum merge_rule merge_rule(unsigned counter) {
    if (counter >= COUNTER_OPEN_START && counter <= COUNTER_CLOSE_START) return MERGE_EARLIEST;
    if (counter >= COUNTER_OPEN_END && counter <= COUNTER_CLOSE_END) return MERGE_MOST;
    if (counter >= COUNTER_DATASPACE_NDIMS && counter < COUNTER_USE_MPIIO) return MERGE_LATER;
    switch (counter) {
    case COUNTER_RENAMED_FROM:
    case COUNTER_MODE:
    case COUNTER_FILE_ALIGNMENT: return MERGE_LATER;
    case COUNTER_WAIT_START: return MERGE_EARLIEST;
    case COUNTER_WAIT_END:
    case COUNTER_IS_RECORD_VAR:
    case COUNTER_USE_MPIIO:
    case COUNTER_USE_DEPRECATED:
    case COUNTER_MAX_BYTE_READ:
    case COUNTER_MAX_BYTE_WRITTEN: return MERGE_MOST;
    case COUNTER_MAX_READ_TIME:
    case COUNTER_MAX_WRITE_TIME:
    case COUNTER_MAX_READ_TIME_SIZE:
    case COUNTER_MAX_WRITE_TIME_SIZE: return MERGE_APART;
    default: return counter < COUNTER_LAST_BYTE_READ || counter >= COUNTER_INDEP_OPENS ? MERGE_SUM : MERGE_APART;
    }
}

static uint64_t merge_value(enum merge_rule rule, uint64_t earlier, uint64_t later) {
    switch (rule) {
    case MERGE_SUM: return earlier + later;
    case MERGE_MOST: return earlier > later ? earlier : later;
    case MERGE_EARLIEST: return earlier && (!later || earlier < later) ? earlier : later;
    case MERGE_LATER: return later ? later : earlier;
    default: return earlier;
    }
}

// The later part compared its first access with a last byte of 0. This compares it with the access that came before.
// Returns the stride between the two, 0 if there is nothing to add.
static uint64_t mend_position(const struct counters *c, struct counters *later, unsigned kind) {
    uint64_t *v = later->value;
    if (v[COUNTER_READ_SEAM + kind] != SEAM_ACCESS || c->value[COUNTER_READ_SEAM + kind] == SEAM_NONE) return 0;
    int64_t offset = (int64_t)(v[COUNTER_READ_SEAM_OFFSET + kind] & INT64_MAX);
    if (offset > 0) v[COUNTER_SEQ_READS + kind]--;
    if (offset == 1) v[COUNTER_CONSEC_READS + kind]--;
    uint64_t stride = compare_with_last(v, kind, (int64_t)c->value[COUNTER_LAST_BYTE_READ + kind], offset);
    for (unsigned i = 0; stride != 0 && i < COUNTERS_CANDIDATES && i < later->strides.used; i++) {
        if (later->strides.value[i] == 0 && later->strides.count[i] > 0) later->strides.count[i]--;
    }
    return stride;
}

static void mend_time(const struct counters *c, struct counters *later, enum time_sum sum) {
    uint64_t *v = later->value;
    uint64_t busy_until = c->value[COUNTER_READ_BUSY_UNTIL + sum];
    uint64_t start = v[COUNTER_READ_FIRST_START + sum], end = v[COUNTER_READ_FIRST_END + sum];
    if (end == 0 || start >= busy_until) return;
    uint64_t overlap = (end < busy_until ? end : busy_until) - start;
    v[COUNTER_READ_TIME + sum] -= overlap < v[COUNTER_READ_TIME + sum] ? overlap : v[COUNTER_READ_TIME + sum];
}

static void merge_one(struct counters_common *common, uint64_t value, uint64_t count,
                      struct counters_common *left_out) {
    if (count && !counters_common_add(common, value, count) && left_out) counters_common_add(left_out, value, count);
}

static void merge_common(struct counters_common *common, const struct counters_common *later,
                         struct counters_common *left_out) {
    for (unsigned i = 0; i < COUNTERS_CANDIDATES && i < later->used; i++)
        merge_one(common, later->value[i], later->count[i], left_out);
}

static void merge_state(uint64_t *v, const uint64_t *later) {
    for (unsigned kind = READING; kind <= WRITING; kind++) {
        if (later[COUNTER_MAX_READ_TIME + kind] > v[COUNTER_MAX_READ_TIME + kind]) {
            v[COUNTER_MAX_READ_TIME + kind] = later[COUNTER_MAX_READ_TIME + kind];
            v[COUNTER_MAX_READ_TIME_SIZE + kind] = later[COUNTER_MAX_READ_TIME_SIZE + kind];
        }
        if (later[COUNTER_READ_SEAM + kind] == SEAM_NONE) continue;
        v[COUNTER_LAST_BYTE_READ + kind] = later[COUNTER_LAST_BYTE_READ + kind];
        if (v[COUNTER_READ_SEAM + kind] != SEAM_NONE) continue;
        v[COUNTER_READ_SEAM + kind] = later[COUNTER_READ_SEAM + kind];
        v[COUNTER_READ_SEAM_OFFSET + kind] = later[COUNTER_READ_SEAM_OFFSET + kind];
    }
    for (unsigned sum = TIME_READ; sum <= TIME_META; sum++) {
        uint64_t *busy_until = &v[COUNTER_READ_BUSY_UNTIL + sum];
        *busy_until = merge_value(MERGE_MOST, *busy_until, later[COUNTER_READ_BUSY_UNTIL + sum]);
        if (v[COUNTER_READ_FIRST_END + sum]) continue;
        v[COUNTER_READ_FIRST_START + sum] = later[COUNTER_READ_FIRST_START + sum];
        v[COUNTER_READ_FIRST_END + sum] = later[COUNTER_READ_FIRST_END + sum];
    }
    if (v[COUNTER_FIRST_KIND] == 0) v[COUNTER_FIRST_KIND] = later[COUNTER_FIRST_KIND];
    v[COUNTER_LAST_KIND] = merge_value(MERGE_LATER, v[COUNTER_LAST_KIND], later[COUNTER_LAST_KIND]);
}

void counters_merge(struct counters *c, const struct counters *later, struct counters_common left_out[2]) {
    struct counters mended = *later;
    uint64_t stride[2];
    for (unsigned kind = READING; kind <= WRITING; kind++) stride[kind] = mend_position(c, &mended, kind);
    for (unsigned sum = TIME_READ; sum <= TIME_META; sum++) mend_time(c, &mended, (enum time_sum)sum);
    uint64_t last_kind = c->value[COUNTER_LAST_KIND], first_kind = later->value[COUNTER_FIRST_KIND];
    if (last_kind && first_kind && last_kind != first_kind) mended.value[COUNTER_RW_SWITCHES]++;

    for (unsigned i = 0; i < COUNTER_COUNT; i++) c->value[i] = merge_value(merge_rule(i), c->value[i], mended.value[i]);
    merge_state(c->value, mended.value);
    struct counters_common *left_strides = left_out ? &left_out[1] : NULL;
    merge_common(&c->sizes, &mended.sizes, left_out);
    for (unsigned kind = READING; kind <= WRITING; kind++)
        merge_one(&c->strides, stride[kind], stride[kind] != 0, left_strides);
    merge_common(&c->strides, &mended.strides, left_strides);
}

void counters_merge_rank(struct counters *c, const struct counters *other, struct counters_common left_out[2]) {
    struct counters beside = *other;
    forget_first_calls(beside.value);
    counters_merge(c, &beside, left_out);
}

void counters_to_ns(struct counters *c, const struct clock_map *clock) {
    for (unsigned i = 0; i < COUNTER_COUNT; i++) {
        if (c->value[i] == 0) continue;
        if (counter_is_span(i)) c->value[i] = (uint64_t)clock_map_scale(clock, (int64_t)c->value[i]);
        if (!counter_is_moment(i)) continue;
        int64_t ns = clock_map_ns(clock, c->value[i]);
        c->value[i] = ns > 0 ? (uint64_t)ns : 1;
    }
}

// Counters that often have the same value as another one, which is written instead. The order is that of the bits of
// COUNTERS_SAME.
static const struct {
    uint8_t counter;
    uint8_t as;
} twins[] = {
    {COUNTER_READ_BUSY_UNTIL, COUNTER_READ_END},
    {COUNTER_WRITE_BUSY_UNTIL, COUNTER_WRITE_END},
    {COUNTER_META_BUSY_UNTIL, COUNTER_CLOSE_END},
    {COUNTER_READ_FIRST_START, COUNTER_READ_START},
    {COUNTER_WRITE_FIRST_START, COUNTER_WRITE_START},
    {COUNTER_META_FIRST_START, COUNTER_OPEN_START},
    {COUNTER_READ_FIRST_END, COUNTER_READ_END},
    {COUNTER_WRITE_FIRST_END, COUNTER_WRITE_END},
    {COUNTER_META_FIRST_END, COUNTER_OPEN_END},
    {COUNTER_LAST_BYTE_READ, COUNTER_MAX_BYTE_READ},
    {COUNTER_LAST_BYTE_WRITTEN, COUNTER_MAX_BYTE_WRITTEN},
    {COUNTER_MAX_READ_TIME, COUNTER_READ_TIME},
    {COUNTER_MAX_WRITE_TIME, COUNTER_WRITE_TIME},
};

enum { TWINS = sizeof twins / sizeof *twins };

static void put_common(struct fields_out *out, unsigned key, const struct counters_common *common) {
    uint8_t buffer[COUNTERS_CANDIDATES * 2 * VARINT_MAX_BYTES];
    uint8_t *at = buffer;
    for (unsigned i = 0; i < COUNTERS_CANDIDATES && i < common->used; i++) {
        at = varint_put(at, common->value[i]);
        at = varint_put(at, common->count[i]);
    }
    if (at > buffer) fields_bytes(out, key, buffer, (size_t)(at - buffer));
}

// Moments of a reduced record, in the order in which they mostly come: each is written as the difference from the one
// before it, folded. A record of a file has few bytes that do not repeat, and these are most of them.
static const uint8_t chain[] = {COUNTER_OPEN_START,  COUNTER_OPEN_END,  COUNTER_READ_START,  COUNTER_READ_END,
                                COUNTER_WRITE_START, COUNTER_WRITE_END, COUNTER_CLOSE_START, COUNTER_CLOSE_END,
                                COUNTER_WAIT_START,  COUNTER_WAIT_END};

enum { CHAIN = sizeof chain };

// `last` is of the chain: 0 before its first moment.
static void put_moments(struct fields_out *out, uint64_t *values) {
    uint64_t last = 0;
    for (unsigned i = 0; i < CHAIN; i++) {
        uint64_t *value = &values[chain[i]];
        if (!*value) continue;
        fields_number(out, COUNTERS_FIRST + chain[i], varint_fold((int64_t)(*value - last)));
        last = *value;
        *value = 0;
    }
}

static void add_moments_up(uint64_t *values, const bool *is_there) {
    uint64_t last = 0;
    for (unsigned i = 0; i < CHAIN; i++) {
        if (is_there[chain[i]]) values[chain[i]] = last += (uint64_t)varint_unfold(values[chain[i]]);
    }
}

static void put_all(struct fields_out *out, uint32_t process, const struct spill_counters *entry,
                    const struct counters_ranks *ranks) {
    fields_begin(out, RECORD_COUNTERS);
    if (process) fields_number(out, COUNTERS_PROCESS, process);
    if (entry->file) fields_number(out, COUNTERS_FILE, entry->file);
    fields_number(out, COUNTERS_LAYER, entry->layer);
    if (ranks) counters_put_ranks(out, &entry->counters, ranks);
    put_common(out, COUNTERS_SIZES, &entry->counters.sizes);
    put_common(out, COUNTERS_STRIDES, &entry->counters.strides);
    uint64_t values[COUNTER_COUNT], same = 0;
    memcpy(values, entry->counters.value, sizeof values);
    for (unsigned i = 0; i < TWINS; i++) {
        if (!values[twins[i].counter] || values[twins[i].counter] != values[twins[i].as]) continue;
        same |= UINT64_C(1) << i;
        values[twins[i].counter] = 0;
    }
    if (same) fields_number(out, COUNTERS_SAME, same);
    if (ranks) put_moments(out, values);
    for (unsigned i = 0; i < COUNTER_COUNT; i++) {
        if (values[i]) fields_number(out, COUNTERS_FIRST + i, values[i]);
    }
    fields_end(out);
}

void counters_put(struct fields_out *out, uint32_t process, const struct spill_counters *entry) {
    put_all(out, process, entry, NULL);
}

void counters_put_reduced(struct fields_out *out, const struct spill_counters *entry,
                          const struct counters_ranks *ranks) {
    put_all(out, 0, entry, ranks);
}

static int get_common(const struct field *field, struct counters_common *common) {
    RETURN_IF(!field->is_bytes, ERR_FORMAT);
    const uint8_t *at = field->data, *end = field->data + field->len;
    while (at < end) {
        uint64_t value, count;
        at = varint_get(at, end, &value);
        RETURN_IF(!at, ERR_FORMAT);
        at = varint_get(at, end, &count);
        RETURN_IF(!at || !counters_common_add(common, value, count), ERR_FORMAT);
    }
    return 0;
}

int counters_get(struct fields_in body, uint32_t *process, struct spill_counters *entry) {
    struct field field;
    int more;
    uint64_t same = 0;
    bool is_reduced = false, is_there[COUNTER_COUNT] = {false};
    *process = 0;
    memset(entry, 0, sizeof *entry);
    uint64_t *values = entry->counters.value;
    while ((more = fields_next(&body, &field)) > 0) {
        switch (field.key) {
        case COUNTERS_PROCESS: *process = (uint32_t)field.number; break;
        case COUNTERS_FILE: entry->file = (uint32_t)field.number; break;
        case COUNTERS_LAYER: entry->layer = (uint32_t)field.number; break;
        case COUNTERS_SIZES: FORWARD(get_common(&field, &entry->counters.sizes)); break;
        case COUNTERS_STRIDES: FORWARD(get_common(&field, &entry->counters.strides)); break;
        case COUNTERS_SAME: same = field.number; break;
        case COUNTERS_OLD_RANKS:
        case COUNTERS_RANKS: is_reduced = true; break;
        default:
            if (field.key < COUNTERS_FIRST || field.key >= COUNTERS_FIRST + COUNTER_COUNT) break;
            values[field.key - COUNTERS_FIRST] = field.number;
            is_there[field.key - COUNTERS_FIRST] = true;
        }
    }
    RETURN_IF(entry->layer >= LAYER_COUNT, ERR_FORMAT);
    if (is_reduced) add_moments_up(values, is_there);
    for (unsigned i = 0; i < TWINS; i++) {
        if (same >> i & 1) values[twins[i].counter] = values[twins[i].as];
    }
    return more;
}
