#include "reduce/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/varint.h"
#include "fmt/records.h"

enum { HASH_BYTES = 8, HEAD_BYTES = HASH_BYTES + VARINT_MAX_BYTES, FILE_ROOM = 128 };

// --- entries

int reduce_entry_next(struct fields_in *in, struct reduce_entry *entry) {
    uint64_t len;
    if (in->at == in->end) return 0;
    RETURN_IF(in->end - in->at < HASH_BYTES, ERR_FORMAT);
    memcpy(&entry->hash, in->at, HASH_BYTES);
    const uint8_t *body = varint_get(in->at + HASH_BYTES, in->end, &len);
    RETURN_IF(!body || len > (uint64_t)(in->end - body), ERR_FORMAT);
    entry->at = in->at;
    entry->body = (struct fields_in){body, body + len};
    in->at = body + len;
    entry->len = (size_t)(in->at - entry->at);
    return 1;
}

static int append_entry(struct bytes *out, uint64_t hash, const uint8_t *body, size_t len) {
    uint8_t head[HEAD_BYTES];
    memcpy(head, &hash, HASH_BYTES);
    const uint8_t *end = varint_put(head + HASH_BYTES, len);
    FORWARD(bytes_append(out, head, (size_t)(end - head)));
    return bytes_append(out, body, len);
}

// What the entries of one file are compared by.
struct file_name {
    struct field name, object;
    bool has_facts;
    struct fields_in record; // with its head
};

static int read_name(struct fields_in *body, struct file_name *file) {
    struct field f[FILE_OBJECT + 1];
    struct fields_in fields;
    unsigned kind;
    file->record.at = body->at;
    RETURN_IF(fields_next_record(body, &kind, &fields) <= 0 || kind != RECORD_FILE, ERR_FORMAT);
    file->record.end = body->at;
    FORWARD(fields_by_key(fields, f, FILE_OBJECT + 1));
    file->name = f[FILE_NAME];
    file->object = f[FILE_OBJECT];
    file->has_facts = f[FILE_TYPE].number;
    return 0;
}

static int compare_fields(const struct field *a, const struct field *b) {
    size_t len = a->len < b->len ? a->len : b->len;
    int order = len ? memcmp(a->data, b->data, len) : 0;
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_entries(const struct reduce_entry *a, const struct reduce_entry *b, int *order) {
    struct file_name left, right;
    struct fields_in bodies[2] = {a->body, b->body};
    *order = (a->hash > b->hash) - (a->hash < b->hash);
    if (*order) return 0;
    FORWARD(read_name(&bodies[0], &left));
    FORWARD(read_name(&bodies[1], &right));
    *order = compare_fields(&left.name, &right.name);
    if (!*order) *order = compare_fields(&left.object, &right.object);
    return 0;
}

// --- the process's own

static void put_file(struct fields_out *out, const struct reduce_file *file) {
    size_t name_len = strnlen(file->name, file->name_len);
    fields_begin(out, RECORD_FILE);
    fields_bytes(out, FILE_NAME, file->name, name_len);
    if (name_len < file->name_len)
        fields_bytes(out, FILE_OBJECT, file->name + name_len + 1, file->name_len - name_len - 1);
    if (file->type) {
        fields_number(out, FILE_DEVICE, file->device);
        fields_number(out, FILE_INODE, file->inode);
        fields_number(out, FILE_BLOCK_SIZE, file->block_bytes);
        fields_number(out, FILE_TYPE, file->type);
    }
    fields_end(out);
}

int reduce_builder_add(struct reduce_builder *builder, const struct reduce_file *file,
                       const struct spill_counters *layer, size_t layers, int64_t rank) {
    struct bytes body = {0};
    size_t room = file->name_len + FILE_ROOM + layers * COUNTERS_MAX_RECORD;
    uint8_t *at = bytes_reserve(&body, room);
    RETURN_IF(!at, -ENOMEM);
    struct fields_out out = {.at = at, .end = at + room};
    put_file(&out, file);
    for (size_t i = 0; i < layers; i++) {
        const struct counters_ranks ranks = counters_ranks_of(rank, &layer[i].counters);
        counters_put_reduced(&out, &layer[i], &ranks);
    }
    struct reduce_place place = {.hash = hash_bytes(0, file->name, file->name_len), .at = builder->data.len};
    int code = out.overflow ? ERR_LIMIT : append_entry(&builder->data, place.hash, at, (size_t)(out.at - at));
    place.len = builder->data.len - place.at;
    bytes_free(&body);
    return code ? code : array_push(builder->place, builder->count, place);
}

static int by_hash(const void *a, const void *b, void *data) {
    const struct reduce_place *left = a, *right = b;
    if (left->hash != right->hash) return left->hash < right->hash ? -1 : 1;
    struct fields_in in[2] = {{(const uint8_t *)data + left->at, (const uint8_t *)data + left->at + left->len},
                              {(const uint8_t *)data + right->at, (const uint8_t *)data + right->at + right->len}};
    struct reduce_entry entry[2];
    int order = 0;
    if (reduce_entry_next(&in[0], &entry[0]) <= 0 || reduce_entry_next(&in[1], &entry[1]) <= 0) return 0;
    return compare_entries(&entry[0], &entry[1], &order) ? 0 : order;
}

int reduce_builder_end(struct reduce_builder *builder, struct reduce_set *set) {
    int code = 0;
    *set = (struct reduce_set){.count = builder->count};
    if (builder->count > 1)
        qsort_r(builder->place, builder->count, sizeof *builder->place, by_hash, builder->data.data);
    for (size_t i = 0; i < builder->count && !code; i++)
        code = bytes_append(&set->data, builder->data.data + builder->place[i].at, builder->place[i].len);
    free(builder->place);
    bytes_free(&builder->data);
    return code;
}

// --- sets

static struct fields_in rest_of(const struct reduce_set *set, size_t from) {
    struct fields_in in = fields_of(&set->data);
    in.at += from;
    return in;
}

size_t reduce_set_find(const struct reduce_set *set, uint64_t pivot) {
    struct fields_in in = fields_of(&set->data);
    struct reduce_entry entry;
    while (reduce_entry_next(&in, &entry) > 0) {
        if (entry.hash >= pivot) return (size_t)(entry.at - set->data.data);
    }
    return set->data.len;
}

int reduce_set_cut(struct reduce_set *set, size_t from, size_t to) {
    struct fields_in in;
    struct reduce_entry entry;
    if (from) memmove(set->data.data, set->data.data + from, to - from);
    set->data.len = to - from;
    set->count = 0;
    for (in = rest_of(set, 0); reduce_entry_next(&in, &entry) > 0;) set->count++;
    return in.at == in.end ? 0 : ERR_FORMAT;
}

// --- merging

struct layer {
    struct counters counters;
    struct counters_ranks ranks;
};

// Of the values of two lists the most frequent ones stay; of equally frequent ones the larger.
static void keep_most_frequent(struct counters_common *common, const struct counters_common *left_out) {
    for (unsigned i = 0; i < left_out->used; i++) {
        unsigned least = 0;
        for (unsigned j = 1; j < COUNTERS_CANDIDATES; j++) {
            bool is_less = common->count[j] != common->count[least] ? common->count[j] < common->count[least]
                                                                    : common->value[j] < common->value[least];
            if (is_less) least = j;
        }
        bool is_more = left_out->count[i] != common->count[least] ? left_out->count[i] > common->count[least]
                                                                  : left_out->value[i] > common->value[least];
        if (!is_more) continue;
        common->value[least] = left_out->value[i];
        common->count[least] = left_out->count[i];
    }
}

static void merge_layer(struct layer *layer, const struct layer *other) {
    struct counters_common left_out[2] = {{.used = 0}, {.used = 0}};
    if (!layer->ranks.count) {
        *layer = *other;
        return;
    }
    counters_merge_ranks(&layer->counters, &layer->ranks, &other->counters, &other->ranks, left_out);
    keep_most_frequent(&layer->counters.sizes, &left_out[0]);
    keep_most_frequent(&layer->counters.strides, &left_out[1]);
}

static int merge_layers(struct fields_in *body, struct layer layers[LAYER_COUNT]) {
    struct fields_in fields;
    struct spill_counters entry;
    struct layer other;
    uint32_t process;
    unsigned kind;
    int more;
    while ((more = fields_next_record(body, &kind, &fields)) > 0) {
        RETURN_IF(kind != RECORD_COUNTERS, ERR_FORMAT);
        FORWARD(counters_get(fields, &process, &entry));
        FORWARD(counters_get_ranks(fields, &entry.counters, &other.ranks));
        other.counters = entry.counters;
        merge_layer(&layers[entry.layer], &other);
    }
    return more;
}

static int put_layers(const struct layer layers[LAYER_COUNT], struct bytes *body) {
    for (unsigned i = 0; i < LAYER_COUNT; i++) {
        if (!layers[i].ranks.count) continue;
        const struct spill_counters entry = {.layer = i, .counters = layers[i].counters};
        uint8_t *at = bytes_reserve(body, COUNTERS_MAX_RECORD);
        RETURN_IF(!at, -ENOMEM);
        struct fields_out out = {.at = at, .end = at + COUNTERS_MAX_RECORD};
        counters_put_reduced(&out, &entry, &layers[i].ranks);
        RETURN_IF(out.overflow, ERR_LIMIT);
        body->len += (size_t)(out.at - at);
    }
    return 0;
}

// One entry from two of the same file.
static int join_entries(const struct reduce_entry *a, const struct reduce_entry *b, struct layer layers[LAYER_COUNT],
                        struct bytes *body, struct bytes *out) {
    struct fields_in in[2] = {a->body, b->body};
    struct file_name file[2];
    FORWARD(read_name(&in[0], &file[0]));
    FORWARD(read_name(&in[1], &file[1]));
    const struct fields_in *record = &file[file[1].has_facts && !file[0].has_facts].record;
    memset(layers, 0, LAYER_COUNT * sizeof *layers);
    for (unsigned i = 0; i < 2; i++) FORWARD(merge_layers(&in[i], layers));
    body->len = 0;
    FORWARD(bytes_append(body, record->at, (size_t)(record->end - record->at)));
    FORWARD(put_layers(layers, body));
    return append_entry(out, a->hash, body->data, body->len);
}

struct merging {
    struct fields_in in[2];
    struct reduce_entry entry[2];
    int more[2];
    struct layer *layers;
    struct bytes body;
};

static int step(struct merging *m, unsigned i) {
    m->more[i] = reduce_entry_next(&m->in[i], &m->entry[i]);
    return m->more[i] < 0 ? m->more[i] : 0;
}

// Which comes next: 0, 1, or 2: both.
static int choose(struct merging *m, unsigned *which) {
    int order = 0;
    *which = m->more[0] ? 0 : 1;
    if (!m->more[0] || !m->more[1]) return 0;
    FORWARD(compare_entries(&m->entry[0], &m->entry[1], &order));
    *which = order < 0 ? 0 : order > 0 ? 1 : 2;
    return 0;
}

static int merge(struct merging *m, struct reduce_set *out) {
    unsigned which;
    FORWARD(step(m, 0));
    FORWARD(step(m, 1));
    while (m->more[0] || m->more[1]) {
        FORWARD(choose(m, &which));
        if (which == 2)
            FORWARD(join_entries(&m->entry[0], &m->entry[1], m->layers, &m->body, &out->data));
        else
            FORWARD(bytes_append(&out->data, m->entry[which].at, m->entry[which].len));
        out->count++;
        if (which != 1) FORWARD(step(m, 0));
        if (which != 0) FORWARD(step(m, 1));
    }
    return 0;
}

int reduce_set_merge(struct reduce_set *set, const uint8_t *data, size_t len) {
    struct merging m = {.in = {fields_of(&set->data), {data, data + len}}};
    struct reduce_set out = {0};
    if (!len) return 0;
    m.layers = malloc(LAYER_COUNT * sizeof *m.layers);
    int code = m.layers ? merge(&m, &out) : -ENOMEM;
    free(m.layers);
    bytes_free(&m.body);
    reduce_set_free(code ? &out : set);
    if (!code) *set = out;
    return code;
}

void reduce_set_free(struct reduce_set *set) {
    bytes_free(&set->data);
    set->count = 0;
}
