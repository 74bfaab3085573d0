#include "summary/objects.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_keys.h"

static __attribute__((format(printf, 2, 3))) void add(struct objects_words *words, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int len = vsnprintf(words->text + words->len, sizeof words->text - words->len, format, list);
    va_end(list);
    words->len += len > 0 ? (size_t)len : 0;
    if (words->len >= sizeof words->text) words->len = sizeof words->text - 1;
}

static const char *const kinds[SELECTION_KINDS] = {
    [SELECTION_NONE] = "none",           [SELECTION_ALL] = "all",         [SELECTION_REGULAR] = "hyperslab",
    [SELECTION_IRREGULAR] = "irregular", [SELECTION_ELEMENTS] = "points",
};

// The event's offset counts elements of the dataset, the fastest dimension first.
bool objects_start_of(const struct log_event *event, uint64_t start[SELECTION_MAX_RANK]) {
    const struct log_selection *selection = event->selection;
    if (!event->raw.has_offset || !selection->points || !event->raw.size) return false;
    uint64_t bytes = event->raw.size / selection->points;
    uint64_t element = bytes ? event->raw.offset / bytes : 0;
    for (unsigned i = selection->rank; i-- > 0;) {
        uint64_t dim = i ? selection->dims[i] : 0;
        start[i] = dim ? element % dim : element;
        if (dim) element /= dim;
    }
    return true;
}

// --- text

static void add_sizes(struct objects_words *words, const uint64_t *list, unsigned rank) {
    if (!rank) add(words, "scalar");
    for (unsigned i = 0; i < rank; i++) {
        if (i) add(words, "x");
        if (list[i] == 0 && i == 0)
            add(words, "*");
        else
            add(words, "%" PRIu64, list[i]);
    }
}

static void add_list(struct objects_words *words, const char *before, const uint64_t *list, unsigned rank) {
    for (unsigned i = 0; i < rank; i++) add(words, "%s%" PRIu64, i ? "," : before, list[i]);
}

static bool has_gaps(const struct log_selection *selection) {
    for (unsigned i = 0; i < selection->rank; i++) {
        if (selection->count[i] > 1 && selection->stride[i] != selection->block[i]) return true;
    }
    return false;
}

static void add_regular(struct objects_words *words, const struct log_selection *selection) {
    uint64_t extent[SELECTION_MAX_RANK];
    for (unsigned i = 0; i < selection->rank; i++) extent[i] = selection->count[i] * selection->block[i];
    add_sizes(words, has_gaps(selection) ? selection->count : extent, selection->rank);
    if (!has_gaps(selection)) return;
    add(words, " blocks of ");
    add_sizes(words, selection->block, selection->rank);
    add_list(words, " every ", selection->stride, selection->rank);
}

struct objects_words objects_text_shape(const struct log_selection *selection) {
    struct objects_words words = {0};
    bool is_known = selection->points_known;
    switch (selection->kind) {
    case SELECTION_REGULAR: add_regular(&words, selection); break;
    case SELECTION_IRREGULAR:
        if (!is_known) break;
        add(&words, "%" PRIu64 " elements in %" PRIu64 " blocks within ", selection->points, selection->blocks);
        add_sizes(&words, selection->block, selection->rank);
        break;
    case SELECTION_ELEMENTS:
        if (!is_known) break;
        add(&words, "%" PRIu64 " points within ", selection->points);
        add_sizes(&words, selection->block, selection->rank);
        break;
    default: add(&words, "%s", kinds[selection->kind] ? kinds[selection->kind] : "unknown"); break;
    }
    if (!words.len) add(&words, "%s, various", kinds[selection->kind]);
    add(&words, " of ");
    add_sizes(&words, selection->dims, selection->rank);
    return words;
}

struct objects_words objects_text_selection(const struct log_event *event) {
    const struct log_selection *selection = event->selection;
    struct objects_words words = objects_text_shape(selection);
    uint64_t start[SELECTION_MAX_RANK];
    bool has_start = selection->kind >= SELECTION_REGULAR && objects_start_of(event, start);
    if (has_start) add_list(&words, " at ", start, selection->rank);
    return words;
}

// The names of HDF5's constants, in lower case.
static const char *const layouts[] = {"compact", "contiguous", "chunked", "virtual"};
static const char *const classes[] = {"integer",  "float",     "time", "string", "bitfield", "opaque",
                                      "compound", "reference", "enum", "vlen",   "array"};
static const char *const allocations[] = {"default", "early", "late", "incremental"};
static const char *const fills[] = {"alloc", "never", "ifset"};

#define NAME_OF(names, number)                                                                                         \
    ((number) >= 0 && (size_t)(number) < sizeof(names) / sizeof *(names) ? (names)[number] : NULL)

struct objects_words objects_text_dataset(const struct log_dataset *dataset) {
    struct objects_words words = {0};
    const char *class = NAME_OF(classes, dataset->type_class), *layout = NAME_OF(layouts, dataset->layout);
    add(&words, "%" PRIu64 "-byte %s ", dataset->bytes, class ? class : "elements");
    add_sizes(&words, dataset->dims, dataset->rank);
    if (layout) add(&words, ", %s", layout);
    if (dataset->chunk_rank) {
        add(&words, " by ");
        add_sizes(&words, dataset->chunk, dataset->chunk_rank);
    }
    for (size_t i = 0; i < dataset->filters.count; i++) {
        const char *name = strchr(dataset->filters.word[i], ' ');
        add(&words, ", %s", name && name[1] ? name + 1 : dataset->filters.word[i]);
    }
    return words;
}

// --- JSON

// A dimension that can grow is null.
static void json_dims(struct json_out *json, const char *key, const uint64_t *dims, unsigned rank, uint64_t unknown) {
    key_array(json, key);
    for (unsigned i = 0; i < rank; i++) {
        if (dims[i] == unknown)
            json_null(json);
        else
            json_unsigned(json, dims[i]);
    }
    json_close(json);
}

void objects_json_shape(struct json_out *json, const struct log_selection *selection) {
    bool is_box = selection->kind > SELECTION_REGULAR, is_known = selection->points_known;
    bool can_grow = selection->rank && !is_known;
    key_text(json, "kind", kinds[selection->kind]);
    json_dims(json, "dims", selection->dims, selection->rank, 0);
    key_number_if(json, "points", !can_grow, is_known ? selection->points : 0);
    if (selection->kind < SELECTION_REGULAR || (is_box && !is_known)) return;
    if (selection->kind == SELECTION_IRREGULAR) key_number(json, "blocks", selection->blocks);
    if (!is_box) key_numbers(json, "stride", selection->stride, selection->rank);
    if (!is_box) key_numbers(json, "count", selection->count, selection->rank);
    key_numbers(json, is_box ? "box" : "block", selection->block, selection->rank);
}

void objects_json_selection(struct json_out *json, const struct log_event *event) {
    const struct log_selection *selection = event->selection;
    uint64_t start[SELECTION_MAX_RANK];
    if (!selection) {
        json_null(json);
        return;
    }
    json_object(json);
    objects_json_shape(json, selection);
    if (selection->kind >= SELECTION_REGULAR && objects_start_of(event, start))
        key_numbers(json, selection->kind > SELECTION_REGULAR ? "box_start" : "start", start, selection->rank);
    json_close(json);
}

static void json_filters(struct json_out *json, const struct log_strings *filters) {
    key_array(json, "filters");
    for (size_t i = 0; i < filters->count; i++) {
        const char *name = strchr(filters->word[i], ' ');
        int64_t id = 0;
        if (sscanf(filters->word[i], "%" SCNd64, &id) != 1) id = -1;
        json_object_of(json, m_signed("id", id), m_text("name", name && name[1] ? name + 1 : NULL));
    }
    json_close(json);
}

void objects_json_dataset(struct json_out *json, const struct log_dataset *dataset) {
    json_object(json);
    key_numbers(json, "dims", dataset->dims, dataset->rank);
    json_dims(json, "max_dims", dataset->max_dims, dataset->rank, UINT64_MAX);
    json_members(json, m_text("type", NAME_OF(classes, dataset->type_class)), m_number("element_size", dataset->bytes),
                 m_text("layout", NAME_OF(layouts, dataset->layout)));
    key_numbers(json, "chunk", dataset->chunk, dataset->chunk_rank);
    json_filters(json, &dataset->filters);
    json_members(json, m_text("allocation_time", NAME_OF(allocations, dataset->allocation_time)),
                 m_text("fill_time", NAME_OF(fills, dataset->fill_time)),
                 m_number_if("alignment_threshold", dataset->alignment, dataset->alignment_from),
                 m_number_if("alignment", dataset->alignment, dataset->alignment), m_bool("mpiio", dataset->by_mpi),
                 m_bool("collective_metadata_reads", dataset->collective_reads),
                 m_bool("collective_metadata_writes", dataset->collective_writes));
    json_close(json);
}
