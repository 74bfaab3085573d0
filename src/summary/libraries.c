#include "summary/libraries.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/human.h"
#include "base/json_keys.h"
#include "base/order.h"
#include "base/scoped.h"
#include "base/table.h"
#include "summary/objects.h"

const char *library_name(unsigned layer) {
    static const struct {
        const char *layer, *name;
    } names[] = {{"hdf5", "HDF5"}, {"pnetcdf", "PnetCDF"}, {"netcdf", "NetCDF"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(call_layer_name(layer), names[i].layer)) return names[i].name;
    }
    return call_layer_name(layer);
}

unsigned library_next(const struct call_tree *tree, unsigned layer) {
    for (layer = layer > 0 ? layer - 1 : 0; layer > LAYER_NONE; layer--) {
        if (!call_layer_is_above(layer)) continue;
        for (size_t i = CALL_TREE_ROOT + 1; i < tree->count; i++) {
            if (tree->node[i].call->layer == layer) return layer;
        }
    }
    return LAYER_NONE;
}

static const char *words_for(enum library_part part) {
    static const char *const words[] = {[PART_TRANSFERS] = "transfers",
                                        [PART_OPENS] = "opens and creations",
                                        [PART_CLOSES] = "closes and flushes",
                                        [PART_OTHERS] = "other calls"};
    return words[part];
}

static struct library_sum sum_of(const struct library_sum part[LIBRARY_PARTS]) {
    struct library_sum sum = {0};
    for (unsigned i = 0; i < LIBRARY_PARTS; i++) library_sum_add(&sum, &part[i]);
    return sum;
}

// --- words

static __attribute__((format(printf, 2, 3))) void add(struct library_words *words, const char *format, ...) {
    size_t len = strlen(words->text);
    va_list list;
    va_start(list, format);
    vsnprintf(words->text + len, sizeof words->text - len, format, list);
    va_end(list);
}

// What the bytes of a part are, besides the elements.
static const char *what_of(enum library_part part, const struct library_sum *sum, unsigned direction) {
    bool reads = direction == DIRECTION_READ;
    switch (part) {
    case PART_TRANSFERS:
        if (sum->file_bytes[direction] > sum->bytes[direction])
            return reads ? "more than was asked for: whole chunks, sieving or metadata"
                         : "more than was asked for: whole chunks, fill values, sieving or metadata";
        if (sum->file_bytes[direction] < sum->bytes[direction])
            return reads ? "less than was asked for: it was in memory, compressed or never written"
                         : "less than was asked for: kept in memory, compressed or written over";
        return "as asked for";
    case PART_OPENS: return reads ? "metadata" : "metadata and fill values";
    case PART_CLOSES: return reads ? "metadata" : "metadata and what was kept in memory";
    default: return "metadata, and what was asked for before";
    }
}

struct library_words library_moved(const struct call_tree *tree, unsigned layer, unsigned direction) {
    struct library_sum part[LIBRARY_PARTS], sum;
    struct library_words words = {""};
    const char *separator = ": ";
    call_tree_library(tree, layer, part);
    sum = sum_of(part);
    if (!sum.bytes[direction] && !sum.file_bytes[direction]) return words;
    bool reads = direction == DIRECTION_READ;
    add(&words, "%s %s %s; its calls %s %s", library_name(layer), reads ? "read" : "wrote",
        human_bytes(sum.bytes[direction]).text, reads ? "took" : "put", human_bytes(sum.file_bytes[direction]).text);
    add(&words, reads ? " out of the files" : " into the files");
    for (unsigned i = 0; i < LIBRARY_PARTS; i++) {
        if (!part[i].file_bytes[direction] && !part[i].bytes[direction]) continue;
        add(&words, "%s%s in %s (%s)", separator, human_bytes(part[i].file_bytes[direction]).text, words_for(i),
            what_of(i, &part[i], direction));
        separator = ", ";
    }
    add(&words, ".");
    return words;
}

struct library_words library_time(const struct call_tree *tree, unsigned layer, bool with_mpi) {
    struct library_sum part[LIBRARY_PARTS], sum;
    struct library_words words = {""};
    call_tree_library(tree, layer, part);
    sum = sum_of(part);
    if (!sum.ns) return words;
    add(&words, "The calls of %s took %s, summed over all processes: %s in the calls below and %s (%s) in %s itself",
        library_name(layer), human_seconds(sum.ns).text, human_seconds(sum.below_ns).text,
        human_seconds(sum.ns - sum.below_ns).text, human_percent((double)(sum.ns - sum.below_ns) / (double)sum.ns).text,
        library_name(layer));
    add(&words, with_mpi ? ", with its communication." : ".");
    return words;
}

static void add_row(struct table *table, const char *layer, const char *part, const struct library_sum *sum) {
    table_text(table, layer);
    table_text(table, part);
    table_count(table, sum->calls);
    table_duration(table, sum->ns);
    table_duration(table, sum->ns - sum->below_ns);
    for (unsigned d = 0; d < DIRECTION_COUNT; d++) {
        table_bytes(table, sum->bytes[d]);
        table_bytes(table, sum->file_bytes[d]);
    }
    table_count(table, sum->file_calls[DIRECTION_READ] + sum->file_calls[DIRECTION_WRITE]);
    table_row(table);
}

int libraries_text(const struct call_tree *tree, FILE *out) {
    static const struct table_column columns[] = {{"LAYER", TABLE_TEXT},
                                                  {"PART", TABLE_TEXT},
                                                  {"CALLS", TABLE_NUMBER},
                                                  {"TIME", TABLE_UNIT},
                                                  {"OWN", TABLE_UNIT},
                                                  {"READ", TABLE_UNIT},
                                                  {"FROM FILES", TABLE_UNIT},
                                                  {"WRITTEN", TABLE_UNIT},
                                                  {"TO FILES", TABLE_UNIT},
                                                  {"REQUESTS", TABLE_NUMBER},
                                                  {0}};
    struct table table = table_begin(out, columns);
    table.indent = 2;
    for (unsigned layer = LAYER_COUNT; (layer = library_next(tree, layer));) {
        struct library_sum part[LIBRARY_PARTS], sum;
        call_tree_library(tree, layer, part);
        sum = sum_of(part);
        add_row(&table, call_layer_name(layer), "all", &sum);
        for (unsigned i = 0; i < LIBRARY_PARTS; i++) {
            if (part[i].calls) add_row(&table, "", words_for(i), &part[i]);
        }
    }
    return table_end(&table);
}

// --- JSON

static void key_sum(struct json_out *json, const struct library_sum *sum) {
    json_members(json, m_number("calls", sum->calls), m_seconds("time", sum->ns), m_seconds("below", sum->below_ns),
                 m_number("bytes_read", sum->bytes[DIRECTION_READ]),
                 m_number("bytes_written", sum->bytes[DIRECTION_WRITE]),
                 m_number("file_bytes_read", sum->file_bytes[DIRECTION_READ]),
                 m_number("file_bytes_written", sum->file_bytes[DIRECTION_WRITE]),
                 m_number("file_reads", sum->file_calls[DIRECTION_READ]),
                 m_number("file_writes", sum->file_calls[DIRECTION_WRITE]));
}

static void library_json(const struct call_tree *tree, unsigned layer, struct json_out *json) {
    struct library_sum part[LIBRARY_PARTS], sum;
    call_tree_library(tree, layer, part);
    sum = sum_of(part);
    json_object(json);
    json_members(json, m_text("layer", call_layer_name(layer)), m_text("name", library_name(layer)));
    key_sum(json, &sum);
    key_array(json, "parts");
    for (unsigned i = 0; i < LIBRARY_PARTS; i++) {
        if (!part[i].calls) continue;
        json_object(json);
        key_text(json, "part", library_part_name(i));
        key_sum(json, &part[i]);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static void object_json(const struct object_sum *sum, struct json_out *json) {
    json_object(json);
    json_members(json, m_text("layer", call_layer_name(sum->layer)), m_text("file", sum->object->name),
                 m_text("object", sum->object->object));
    json_key(json, "dataset");
    objects_json_dataset(json, sum->dataset);
    json_members(json, m_text("description", objects_text_dataset(sum->dataset).text), m_number("opens", sum->opens),
                 m_number("processes", sum->processes), m_number("reads", sum->calls[DIRECTION_READ]),
                 m_number("writes", sum->calls[DIRECTION_WRITE]), m_number("collective", sum->collective),
                 m_number("bytes_read", sum->bytes[DIRECTION_READ]),
                 m_number("bytes_written", sum->bytes[DIRECTION_WRITE]),
                 m_seconds("time_read", sum->ns[DIRECTION_READ]), m_seconds("time_written", sum->ns[DIRECTION_WRITE]));
    struct object_requests read = object_moved(sum, DIRECTION_READ), written = object_moved(sum, DIRECTION_WRITE);
    json_members(json, m_number("file_bytes_read", read.bytes), m_number("file_bytes_written", written.bytes),
                 m_number("file_reads", read.calls), m_number("file_writes", written.calls));
    json_close(json);
}

int libraries_json(const struct call_tree *tree, struct json_out *json, size_t most) {
    SCOPED_FREE const struct object_sum **order = calloc(tree->objects + 1, sizeof *order);
    RETURN_IF(!order, -ENOMEM);
    key_array(json, "libraries");
    for (unsigned layer = LAYER_COUNT; (layer = library_next(tree, layer));) library_json(tree, layer, json);
    json_close(json);
    size_t count = call_tree_objects(tree, order);
    key_array(json, "objects");
    for (size_t i = 0; i < count && i < most; i++) object_json(order[i], json);
    json_close(json);
    key_number(json, "objects_left_out", count > most ? count - most : 0);
    return 0;
}

// The nodes that are written: those with the most time, and those around them.
static int choose_nodes(const struct call_tree *tree, size_t most, uint32_t *place) {
    SCOPED_FREE struct order *order = malloc((tree->count + 1) * sizeof *order);
    RETURN_IF(!order, -ENOMEM);
    for (size_t i = 0; i < tree->count; i++) order[i] = (struct order){tree->node[i].ns, i};
    order_sort(order, tree->count);
    for (size_t i = 0, chosen = 0; i < tree->count && chosen < most; i++) {
        for (size_t at = order[i].index; at != CALL_TREE_ROOT && !place[at]; at = tree->node[at].parent) {
            place[at] = 1;
            chosen++;
        }
    }
    uint32_t next = 1; // a parent comes before its children
    for (size_t i = 0; i < tree->count; i++) {
        if (place[i]) place[i] = next++;
    }
    return 0;
}

int libraries_json_tree(const struct call_tree *tree, struct json_out *json, size_t most) {
    SCOPED_FREE uint32_t *place = calloc(tree->count + 1, sizeof *place);
    RETURN_IF(!place, -ENOMEM);
    FORWARD(choose_nodes(tree, most, place));
    size_t written = 0;
    key_array(json, "call_tree");
    for (size_t i = CALL_TREE_ROOT + 1; i < tree->count; i++) {
        const struct call_node *node = &tree->node[i];
        if (!place[i]) continue;
        json_object_of(json, m_number("id", place[i]), m_number_if("parent", node->parent, place[node->parent]),
                       m_text("op", node->call->name), m_text("layer", call_layer_name(node->call->layer)),
                       m_text("class", call_class_name(node->call->class)), m_number("calls", node->calls),
                       m_number("bytes_read", node->bytes[DIRECTION_READ]),
                       m_number("bytes_written", node->bytes[DIRECTION_WRITE]), m_seconds("time", node->ns),
                       m_seconds("below", node->below_ns < node->ns ? node->below_ns : node->ns));
        written++;
    }
    json_close(json);
    key_number(json, "call_tree_cut", tree->count ? tree->count - 1 - written : 0);
    return 0;
}
