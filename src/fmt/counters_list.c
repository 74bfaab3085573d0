#include <string.h>

#include "fmt/counters.h"

// Where a listed value comes from: an enum counter or one of these.
enum value_source {
    SOURCE_ZERO = COUNTER_COUNT, // of one process: there are no ranks to compare
    SOURCE_ZERO_REAL,
    SOURCE_EIGHT,
    SOURCE_STRIDE,
    SOURCE_STRIDE_COUNT = SOURCE_STRIDE + COUNTERS_TOP,
    SOURCE_ACCESS = SOURCE_STRIDE_COUNT + COUNTERS_TOP,
    SOURCE_ACCESS_COUNT = SOURCE_ACCESS + COUNTERS_TOP,
    SOURCE_END = SOURCE_ACCESS_COUNT + COUNTERS_TOP,
};

struct value_row {
    const char *name;
    uint8_t source;
};

static const struct value_row posix_rows[] = {
    {"POSIX_OPENS", COUNTER_OPENS},
    {"POSIX_FILENOS", COUNTER_FILENOS},
    {"POSIX_DUPS", COUNTER_DUPS},
    {"POSIX_READS", COUNTER_READS},
    {"POSIX_WRITES", COUNTER_WRITES},
    {"POSIX_SEEKS", COUNTER_SEEKS},
    {"POSIX_STATS", COUNTER_STATS},
    {"POSIX_MMAPS", COUNTER_MMAPS},
    {"POSIX_FSYNCS", COUNTER_FSYNCS},
    {"POSIX_FDSYNCS", COUNTER_FDSYNCS},
    {"POSIX_RENAME_SOURCES", COUNTER_RENAME_SOURCES},
    {"POSIX_RENAME_TARGETS", COUNTER_RENAME_TARGETS},
    {"POSIX_RENAMED_FROM", COUNTER_RENAMED_FROM},
    {"POSIX_MODE", COUNTER_MODE},
    {"POSIX_BYTES_READ", COUNTER_BYTES_READ},
    {"POSIX_BYTES_WRITTEN", COUNTER_BYTES_WRITTEN},
    {"POSIX_MAX_BYTE_READ", COUNTER_MAX_BYTE_READ},
    {"POSIX_MAX_BYTE_WRITTEN", COUNTER_MAX_BYTE_WRITTEN},
    {"POSIX_CONSEC_READS", COUNTER_CONSEC_READS},
    {"POSIX_CONSEC_WRITES", COUNTER_CONSEC_WRITES},
    {"POSIX_SEQ_READS", COUNTER_SEQ_READS},
    {"POSIX_SEQ_WRITES", COUNTER_SEQ_WRITES},
    {"POSIX_RW_SWITCHES", COUNTER_RW_SWITCHES},
    {"POSIX_MEM_NOT_ALIGNED", COUNTER_MEM_NOT_ALIGNED},
    {"POSIX_MEM_ALIGNMENT", SOURCE_EIGHT},
    {"POSIX_FILE_NOT_ALIGNED", COUNTER_FILE_NOT_ALIGNED},
    {"POSIX_FILE_ALIGNMENT", COUNTER_FILE_ALIGNMENT},
    {"POSIX_MAX_READ_TIME_SIZE", COUNTER_MAX_READ_TIME_SIZE},
    {"POSIX_MAX_WRITE_TIME_SIZE", COUNTER_MAX_WRITE_TIME_SIZE},
    {"POSIX_SIZE_READ_0_100", COUNTER_SIZE_READ},
    {"POSIX_SIZE_READ_100_1K", COUNTER_SIZE_READ + 1},
    {"POSIX_SIZE_READ_1K_10K", COUNTER_SIZE_READ + 2},
    {"POSIX_SIZE_READ_10K_100K", COUNTER_SIZE_READ + 3},
    {"POSIX_SIZE_READ_100K_1M", COUNTER_SIZE_READ + 4},
    {"POSIX_SIZE_READ_1M_4M", COUNTER_SIZE_READ + 5},
    {"POSIX_SIZE_READ_4M_10M", COUNTER_SIZE_READ + 6},
    {"POSIX_SIZE_READ_10M_100M", COUNTER_SIZE_READ + 7},
    {"POSIX_SIZE_READ_100M_1G", COUNTER_SIZE_READ + 8},
    {"POSIX_SIZE_READ_1G_PLUS", COUNTER_SIZE_READ + 9},
    {"POSIX_SIZE_WRITE_0_100", COUNTER_SIZE_WRITE},
    {"POSIX_SIZE_WRITE_100_1K", COUNTER_SIZE_WRITE + 1},
    {"POSIX_SIZE_WRITE_1K_10K", COUNTER_SIZE_WRITE + 2},
    {"POSIX_SIZE_WRITE_10K_100K", COUNTER_SIZE_WRITE + 3},
    {"POSIX_SIZE_WRITE_100K_1M", COUNTER_SIZE_WRITE + 4},
    {"POSIX_SIZE_WRITE_1M_4M", COUNTER_SIZE_WRITE + 5},
    {"POSIX_SIZE_WRITE_4M_10M", COUNTER_SIZE_WRITE + 6},
    {"POSIX_SIZE_WRITE_10M_100M", COUNTER_SIZE_WRITE + 7},
    {"POSIX_SIZE_WRITE_100M_1G", COUNTER_SIZE_WRITE + 8},
    {"POSIX_SIZE_WRITE_1G_PLUS", COUNTER_SIZE_WRITE + 9},
    {"POSIX_STRIDE1_STRIDE", SOURCE_STRIDE},
    {"POSIX_STRIDE2_STRIDE", SOURCE_STRIDE + 1},
    {"POSIX_STRIDE3_STRIDE", SOURCE_STRIDE + 2},
    {"POSIX_STRIDE4_STRIDE", SOURCE_STRIDE + 3},
    {"POSIX_STRIDE1_COUNT", SOURCE_STRIDE_COUNT},
    {"POSIX_STRIDE2_COUNT", SOURCE_STRIDE_COUNT + 1},
    {"POSIX_STRIDE3_COUNT", SOURCE_STRIDE_COUNT + 2},
    {"POSIX_STRIDE4_COUNT", SOURCE_STRIDE_COUNT + 3},
    {"POSIX_ACCESS1_ACCESS", SOURCE_ACCESS},
    {"POSIX_ACCESS2_ACCESS", SOURCE_ACCESS + 1},
    {"POSIX_ACCESS3_ACCESS", SOURCE_ACCESS + 2},
    {"POSIX_ACCESS4_ACCESS", SOURCE_ACCESS + 3},
    {"POSIX_ACCESS1_COUNT", SOURCE_ACCESS_COUNT},
    {"POSIX_ACCESS2_COUNT", SOURCE_ACCESS_COUNT + 1},
    {"POSIX_ACCESS3_COUNT", SOURCE_ACCESS_COUNT + 2},
    {"POSIX_ACCESS4_COUNT", SOURCE_ACCESS_COUNT + 3},
    {"POSIX_FASTEST_RANK", SOURCE_ZERO},
    {"POSIX_FASTEST_RANK_BYTES", SOURCE_ZERO},
    {"POSIX_SLOWEST_RANK", SOURCE_ZERO},
    {"POSIX_SLOWEST_RANK_BYTES", SOURCE_ZERO},
    {"POSIX_F_OPEN_START_TIMESTAMP", COUNTER_OPEN_START},
    {"POSIX_F_READ_START_TIMESTAMP", COUNTER_READ_START},
    {"POSIX_F_WRITE_START_TIMESTAMP", COUNTER_WRITE_START},
    {"POSIX_F_CLOSE_START_TIMESTAMP", COUNTER_CLOSE_START},
    {"POSIX_F_OPEN_END_TIMESTAMP", COUNTER_OPEN_END},
    {"POSIX_F_READ_END_TIMESTAMP", COUNTER_READ_END},
    {"POSIX_F_WRITE_END_TIMESTAMP", COUNTER_WRITE_END},
    {"POSIX_F_CLOSE_END_TIMESTAMP", COUNTER_CLOSE_END},
    {"POSIX_F_READ_TIME", COUNTER_READ_TIME},
    {"POSIX_F_WRITE_TIME", COUNTER_WRITE_TIME},
    {"POSIX_F_META_TIME", COUNTER_META_TIME},
    {"POSIX_F_MAX_READ_TIME", COUNTER_MAX_READ_TIME},
    {"POSIX_F_MAX_WRITE_TIME", COUNTER_MAX_WRITE_TIME},
    {"POSIX_F_FASTEST_RANK_TIME", SOURCE_ZERO_REAL},
    {"POSIX_F_SLOWEST_RANK_TIME", SOURCE_ZERO_REAL},
    {"POSIX_F_VARIANCE_RANK_TIME", SOURCE_ZERO_REAL},
    {"POSIX_F_VARIANCE_RANK_BYTES", SOURCE_ZERO_REAL},
};

static const struct value_row stdio_rows[] = {
    {"STDIO_OPENS", COUNTER_OPENS},
    {"STDIO_FDOPENS", COUNTER_FDOPENS},
    {"STDIO_READS", COUNTER_READS},
    {"STDIO_WRITES", COUNTER_WRITES},
    {"STDIO_SEEKS", COUNTER_SEEKS},
    {"STDIO_FLUSHES", COUNTER_FLUSHES},
    {"STDIO_BYTES_WRITTEN", COUNTER_BYTES_WRITTEN},
    {"STDIO_BYTES_READ", COUNTER_BYTES_READ},
    {"STDIO_MAX_BYTE_READ", COUNTER_MAX_BYTE_READ},
    {"STDIO_MAX_BYTE_WRITTEN", COUNTER_MAX_BYTE_WRITTEN},
    {"STDIO_FASTEST_RANK", SOURCE_ZERO},
    {"STDIO_FASTEST_RANK_BYTES", SOURCE_ZERO},
    {"STDIO_SLOWEST_RANK", SOURCE_ZERO},
    {"STDIO_SLOWEST_RANK_BYTES", SOURCE_ZERO},
    {"STDIO_F_META_TIME", COUNTER_META_TIME},
    {"STDIO_F_WRITE_TIME", COUNTER_WRITE_TIME},
    {"STDIO_F_READ_TIME", COUNTER_READ_TIME},
    {"STDIO_F_OPEN_START_TIMESTAMP", COUNTER_OPEN_START},
    {"STDIO_F_CLOSE_START_TIMESTAMP", COUNTER_CLOSE_START},
    {"STDIO_F_WRITE_START_TIMESTAMP", COUNTER_WRITE_START},
    {"STDIO_F_READ_START_TIMESTAMP", COUNTER_READ_START},
    {"STDIO_F_OPEN_END_TIMESTAMP", COUNTER_OPEN_END},
    {"STDIO_F_CLOSE_END_TIMESTAMP", COUNTER_CLOSE_END},
    {"STDIO_F_WRITE_END_TIMESTAMP", COUNTER_WRITE_END},
    {"STDIO_F_READ_END_TIMESTAMP", COUNTER_READ_END},
    {"STDIO_F_FASTEST_RANK_TIME", SOURCE_ZERO_REAL},
    {"STDIO_F_SLOWEST_RANK_TIME", SOURCE_ZERO_REAL},
    {"STDIO_F_VARIANCE_RANK_TIME", SOURCE_ZERO_REAL},
    {"STDIO_F_VARIANCE_RANK_BYTES", SOURCE_ZERO_REAL},
};

enum { POSIX_ROWS = sizeof posix_rows / sizeof *posix_rows, STDIO_ROWS = sizeof stdio_rows / sizeof *stdio_rows };
_Static_assert(SOURCE_END <= UINT8_MAX, "a row's source fits");
_Static_assert((int)POSIX_ROWS <= (int)COUNTERS_MAX_VALUES && (int)STDIO_ROWS <= (int)COUNTERS_MAX_VALUES,
               "the list fits");

// More often first, then the smaller value.
static bool ranks_before(const struct counters_common *common, unsigned a, unsigned b)
{
    if (common->count[a] != common->count[b]) return common->count[a] > common->count[b];
    return common->value[a] < common->value[b];
}

// The most frequent values and their counts; 0 and 0 where there are fewer.
static void find_top(const struct counters_common *common, uint64_t value[COUNTERS_TOP], uint64_t count[COUNTERS_TOP])
{
    unsigned used = common->used < COUNTERS_CANDIDATES ? (unsigned)common->used : COUNTERS_CANDIDATES;
    for (unsigned i = 0; i < used; i++) {
        unsigned place = 0; // how many rank before it
        for (unsigned j = 0; j < used; j++) place += j != i && ranks_before(common, j, i);
        if (place >= COUNTERS_TOP || common->count[i] == 0) continue;
        value[place] = common->value[i];
        count[place] = common->count[i];
    }
}

size_t counters_list(const struct counters *c, unsigned layer, struct counters_value out[COUNTERS_MAX_VALUES])
{
    if (layer != LAYER_POSIX && layer != LAYER_STDIO) return 0;
    const struct value_row *rows = layer == LAYER_POSIX ? posix_rows : stdio_rows;
    size_t count = layer == LAYER_POSIX ? POSIX_ROWS : STDIO_ROWS;
    uint64_t values[SOURCE_END] = {[SOURCE_EIGHT] = 8};
    memcpy(values, c->value, sizeof c->value);
    find_top(&c->strides, &values[SOURCE_STRIDE], &values[SOURCE_STRIDE_COUNT]);
    find_top(&c->sizes, &values[SOURCE_ACCESS], &values[SOURCE_ACCESS_COUNT]);
    for (size_t i = 0; i < count; i++) {
        unsigned source = rows[i].source;
        out[i] = (struct counters_value){.name = rows[i].name};
        out[i].is_real = source == SOURCE_ZERO_REAL || counter_is_moment(source) || counter_is_span(source);
        if (out[i].is_real)
            out[i].real = (double)values[source] / 1e9;
        else
            out[i].integer = (int64_t)values[source];
    }
    return count;
}
