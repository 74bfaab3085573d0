// The counters under Darshan's names.
#include <string.h>

#include "fmt/counters.h"

// Where a listed value comes from: an enum counter or one of these.
enum value_source {
    SOURCE_MEM_ALIGNMENT = COUNTER_COUNT, // always 8
    SOURCE_FASTEST_RANK,                  // from here to the variances: 0 if there are no ranks to compare
    SOURCE_FASTEST_RANK_BYTES,
    SOURCE_SLOWEST_RANK,
    SOURCE_SLOWEST_RANK_BYTES,
    SOURCE_FASTEST_RANK_TIME,
    SOURCE_SLOWEST_RANK_TIME,
    SOURCE_VARIANCE_RANK_TIME,
    SOURCE_VARIANCE_RANK_BYTES,
    SOURCE_STRIDE,
    SOURCE_STRIDE_COUNT = SOURCE_STRIDE + COUNTERS_TOP,
    SOURCE_ACCESS = SOURCE_STRIDE_COUNT + COUNTERS_TOP,
    SOURCE_ACCESS_COUNT = SOURCE_ACCESS + COUNTERS_TOP,
    SOURCE_LENGTH = SOURCE_ACCESS_COUNT + COUNTERS_TOP, // of each access, by dimension
    SOURCE_BLOCK_STRIDE = SOURCE_LENGTH + COUNTERS_TOP * COUNTERS_DIMS,
    SOURCE_END = SOURCE_BLOCK_STRIDE + COUNTERS_TOP * COUNTERS_DIMS,
};

struct value_row {
    const char *name;
    uint8_t source;
};

struct module {
    const struct value_row *rows;
    size_t count;
};

#include "counter_rows.h" // made from calls/darshan.counters: `modules`, by layer

_Static_assert(SOURCE_END <= UINT8_MAX, "a row's source fits");
_Static_assert(sizeof pnetcdf_objects_rows / sizeof *pnetcdf_objects_rows <= COUNTERS_MAX_VALUES,
               "the longest list fits");

// Frequent values come first, larger ones first among equals. A value of 0 does not count.
static bool ranks_before(const struct counters_common *common, unsigned a, unsigned b) {
    if (!common->value[a] || common->count[a] != common->count[b])
        return common->value[a] && common->count[a] > common->count[b];
    return common->value[a] > common->value[b];
}

void counters_top(const struct counters_common *common, uint64_t value[COUNTERS_TOP], uint64_t count[COUNTERS_TOP]) {
    unsigned used = common->used < COUNTERS_CANDIDATES ? (unsigned)common->used : COUNTERS_CANDIDATES;
    for (unsigned i = 0; i < used; i++) {
        unsigned place = 0; // how many values rank before it
        for (unsigned j = 0; j < used; j++) place += j != i && ranks_before(common, j, i);
        if (place >= COUNTERS_TOP || !common->count[i] || !common->value[i]) continue;
        value[place] = common->value[i];
        count[place] = common->count[i];
    }
}

static void set_ranks(const struct counters_ranks *ranks, uint64_t values[SOURCE_END]) {
    values[SOURCE_FASTEST_RANK] = (uint64_t)ranks->fastest.rank;
    values[SOURCE_FASTEST_RANK_BYTES] = ranks->fastest.bytes;
    values[SOURCE_FASTEST_RANK_TIME] = ranks->fastest.time;
    values[SOURCE_SLOWEST_RANK] = (uint64_t)ranks->slowest.rank;
    values[SOURCE_SLOWEST_RANK_BYTES] = ranks->slowest.bytes;
    values[SOURCE_SLOWEST_RANK_TIME] = ranks->slowest.time;
}

static bool is_time(unsigned source) {
    return source == SOURCE_FASTEST_RANK_TIME || source == SOURCE_SLOWEST_RANK_TIME || counter_is_moment(source) ||
           counter_is_span(source);
}

static bool is_real(unsigned source) {
    return is_time(source) || source == SOURCE_VARIANCE_RANK_TIME || source == SOURCE_VARIANCE_RANK_BYTES;
}

static struct counters_value list_value(const struct value_row *row, const uint64_t values[SOURCE_END],
                                        const struct counters_ranks *ranks) {
    struct counters_value value = {.name = row->name, .is_real = true, .is_id = row->source == COUNTER_RENAMED_FROM};
    switch (row->source) {
    case SOURCE_VARIANCE_RANK_TIME: value.real = ranks ? ranks->variance_time : 0; break;
    case SOURCE_VARIANCE_RANK_BYTES: value.real = ranks ? ranks->variance_bytes : 0; break;
    default:
        value.is_real = is_time(row->source);
        if (value.is_real)
            value.real = (double)values[row->source] / 1e9;
        else
            value.integer = (int64_t)values[row->source];
    }
    return value;
}

// The sizes of transfers of datasets also have the shape of what was selected.
static void split_shapes(const struct counters_module *module, uint64_t values[SOURCE_END]) {
    for (unsigned i = 0; i < COUNTERS_TOP; i++) {
        uint64_t *size = &values[SOURCE_ACCESS + i];
        struct counters_shape shape = {{0}, {0}};
        uint32_t number = (uint32_t)(*size >> COUNTERS_SHAPE_SHIFT);
        if (number && module->shape_of) module->shape_of(module->context, number, &shape);
        if (number) *size &= (UINT64_C(1) << COUNTERS_SHAPE_SHIFT) - 1;
        memcpy(&values[SOURCE_LENGTH + i * COUNTERS_DIMS], shape.length, sizeof shape.length);
        memcpy(&values[SOURCE_BLOCK_STRIDE + i * COUNTERS_DIMS], shape.stride, sizeof shape.stride);
    }
}

// Of counters from elsewhere, -1 means that they are not known.
static size_t list_imported(const struct module *list, const struct counters_module *module,
                            struct counters_value out[COUNTERS_MAX_VALUES]) {
    size_t numbers = 0, reals = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct counters_value value = {.name = list->rows[i].name,
                                       .is_real = is_real(list->rows[i].source),
                                       .is_id = list->rows[i].source == COUNTER_RENAMED_FROM};
        if (value.is_real) {
            value.real = module->reals[reals++];
            value.is_unknown = value.real == -1;
        } else {
            value.integer = module->numbers[numbers++];
            value.is_unknown = value.integer == -1 && !value.is_id;
        }
        out[i] = value;
    }
    return list->count;
}

static const struct module *list_of(const struct counters_module *module) {
    static const struct module none = {0};
    if (module->layer >= LAYER_COUNT) return &none;
    return module->is_object ? &object_modules[module->layer] : &modules[module->layer];
}

size_t counters_list(const struct counters *c, const struct counters_module *module,
                     struct counters_value out[COUNTERS_MAX_VALUES]) {
    const struct counters_ranks *ranks = module->ranks;
    const struct module *list = list_of(module);
    if (module->numbers) return list_imported(list, module, out);
    uint64_t values[SOURCE_END] = {[SOURCE_MEM_ALIGNMENT] = 8};
    memcpy(values, c->value, sizeof c->value);
    counters_top(&c->strides, &values[SOURCE_STRIDE], &values[SOURCE_STRIDE_COUNT]);
    counters_top(&c->sizes, &values[SOURCE_ACCESS], &values[SOURCE_ACCESS_COUNT]);
    if (ranks) set_ranks(ranks, values);
    if (module->is_object) split_shapes(module, values);
    for (size_t i = 0; i < list->count; i++) out[i] = list_value(&list->rows[i], values, ranks);
    return list->count;
}

static void add_common(struct counters_common *common, const uint64_t *value, const uint64_t *count) {
    for (unsigned i = 0; i < COUNTERS_TOP; i++) {
        if (value[i] && count[i]) counters_common_add(common, value[i], count[i]);
    }
}

// Nanoseconds; something that was at the very start is not "never".
static uint64_t ns_of(double seconds) {
    const double most = (double)(INT64_MAX / 4);
    if (!(seconds > 0)) return 0;
    if (seconds * 1e9 >= most) return INT64_MAX / 4;
    return seconds * 1e9 < 1 ? 1 : (uint64_t)(seconds * 1e9 + 0.5);
}

// Sums over ranks that did not know it are below 0, too.
static uint64_t known_count(const struct counters_value *value) {
    return value->integer > 0 || value->is_id ? (uint64_t)value->integer : 0;
}

// Darshan counts the opens and transfers of MPI-IO and PnetCDF by kind only.
static void add_up_kinds(const struct module *list, uint64_t values[SOURCE_END]) {
    static const uint8_t reads[] = {COUNTER_INDEP_READS, COUNTER_COLL_READS, COUNTER_SPLIT_READS, COUNTER_NB_READS};
    bool has_opens = false, has_reads = false;
    for (size_t i = 0; i < list->count; i++) {
        has_opens |= list->rows[i].source == COUNTER_OPENS;
        has_reads |= list->rows[i].source == COUNTER_READS;
    }
    if (!has_opens) values[COUNTER_OPENS] = values[COUNTER_INDEP_OPENS] + values[COUNTER_COLL_OPENS];
    for (size_t i = 0; i < sizeof reads && !has_reads; i++) {
        values[COUNTER_READS] += values[reads[i]];
        values[COUNTER_WRITES] += values[reads[i] + 1];
    }
}

void counters_from_list(struct counters *c, struct counters_ranks *ranks, const struct counters_module *module) {
    struct counters_value list[COUNTERS_MAX_VALUES];
    const struct value_row *rows = list_of(module)->rows;
    uint64_t values[SOURCE_END] = {0};
    size_t count = counters_list(NULL, module, list);
    memset(c, 0, sizeof *c);
    memset(ranks, 0, sizeof *ranks);
    for (size_t i = 0; i < count; i++) {
        if (list[i].is_unknown) continue;
        switch (rows[i].source) {
        case SOURCE_VARIANCE_RANK_TIME: ranks->variance_time = list[i].real; break;
        case SOURCE_VARIANCE_RANK_BYTES: ranks->variance_bytes = list[i].real; break;
        default: values[rows[i].source] = list[i].is_real ? ns_of(list[i].real) : known_count(&list[i]);
        }
    }
    add_up_kinds(list_of(module), values);
    memcpy(c->value, values, sizeof c->value);
    add_common(&c->sizes, &values[SOURCE_ACCESS], &values[SOURCE_ACCESS_COUNT]);
    add_common(&c->strides, &values[SOURCE_STRIDE], &values[SOURCE_STRIDE_COUNT]);
    ranks->fastest.rank = (int64_t)values[SOURCE_FASTEST_RANK];
    ranks->fastest.bytes = values[SOURCE_FASTEST_RANK_BYTES];
    ranks->fastest.time = values[SOURCE_FASTEST_RANK_TIME];
    ranks->slowest.rank = (int64_t)values[SOURCE_SLOWEST_RANK];
    ranks->slowest.bytes = values[SOURCE_SLOWEST_RANK_BYTES];
    ranks->slowest.time = values[SOURCE_SLOWEST_RANK_TIME];
}
