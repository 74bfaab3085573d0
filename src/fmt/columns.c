#include "fmt/columns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"
#include "base/varint.h"
#include "fmt/fields.h"

// How the values of a column are written.
enum form {
    FORM_PLAIN,  // numbers as they are
    FORM_BEFORE, // the folded difference from the record before it in the group
    FORM_LEFT,   // the folded difference from the number that comes before it in the same record
    FORM_BYTES,
};

enum { FORM_BITS = 2, FORM_MASK = (1 << FORM_BITS) - 1 };

// What one number is the difference from; both are 0 at the start.
static uint64_t reference(unsigned form, uint64_t before, uint64_t left) {
    return form == FORM_BEFORE ? before : form == FORM_LEFT ? left : 0;
}

// --- from records

struct row {
    struct fields_in body; // what is not written yet
    uint32_t group;
    uint32_t next; // row of the group; 0: there is none, because no row follows itself
    struct field field;
    uint64_t left;
};

struct group {
    unsigned kind;
    uint32_t first, last; // rows
    size_t fields;
    size_t shape; // place of its first field in `tag` and `form`
};

struct maker {
    struct row *row;
    size_t rows;
    struct group *group;
    size_t groups;
    uint64_t *tag; // key << 1 | is_bytes, of all groups
    size_t tags;
    struct bytes form;
    struct lookup by_shape; // hash -> number of the group
    struct bytes columns;
};

static uint64_t tag_of(const struct field *field) { return (uint64_t)field->key << 1 | field->is_bytes; }

// Whether the group has the shape that the last tags are.
static bool has_shape(const struct maker *m, const struct group *group, unsigned kind, size_t shape) {
    size_t fields = m->tags - shape;
    return group->kind == kind && group->fields == fields &&
           (!fields || !memcmp(m->tag + group->shape, m->tag + shape, fields * sizeof *m->tag));
}

static int add_row(struct maker *m, unsigned kind, struct fields_in body) {
    struct row row = {.body = body};
    size_t shape = m->tags;
    int more;
    while ((more = fields_next(&body, &row.field)) > 0) FORWARD(array_push(m->tag, m->tags, tag_of(&row.field)));
    RETURN_IF(more < 0 || m->rows >= UINT32_MAX, ERR_FORMAT);
    size_t fields = m->tags - shape;
    uint64_t hash = hash_add(fields ? hash_bytes(0, m->tag + shape, fields * sizeof *m->tag) : 0, kind);
    uint32_t at = (uint32_t)m->rows;
    row.group = lookup_find(&m->by_shape, hash);
    if (row.group != LOOKUP_NONE && has_shape(m, &m->group[row.group], kind, shape)) {
        m->tags = shape;
        m->row[m->group[row.group].last].next = at;
        m->group[row.group].last = at;
    } else {
        struct group fresh = {.kind = kind, .first = at, .last = at, .fields = fields, .shape = shape};
        row.group = (uint32_t)m->groups;
        FORWARD(array_push(m->group, m->groups, fresh));
        FORWARD(lookup_set(&m->by_shape, hash, row.group));
    }
    return array_push(m->row, m->rows, row);
}

static struct row *next_row(struct maker *m, const struct row *row) { return row->next ? &m->row[row->next] : NULL; }

static size_t varint_bytes(uint64_t value) { return (size_t)(70 - __builtin_clzll(value | 1)) / 7; }

// The form in which the numbers take the fewest bytes.
static unsigned choose_form(struct maker *m, const struct group *group) {
    size_t bytes[FORM_BYTES] = {0};
    uint64_t before = 0;
    unsigned best = FORM_PLAIN;
    for (struct row *row = &m->row[group->first]; row; row = next_row(m, row)) {
        uint64_t value = row->field.number;
        bytes[FORM_PLAIN] += varint_bytes(value);
        bytes[FORM_BEFORE] += varint_bytes(varint_fold((int64_t)(value - before)));
        bytes[FORM_LEFT] += varint_bytes(varint_fold((int64_t)(value - row->left)));
        before = value;
    }
    for (unsigned form = FORM_BEFORE; form < FORM_BYTES; form++) {
        if (bytes[form] < bytes[best]) best = form;
    }
    return best;
}

static int put_numbers(struct maker *m, const struct group *group, unsigned form) {
    uint64_t before = 0;
    for (struct row *row = &m->row[group->first]; row; row = next_row(m, row)) {
        uint64_t value = row->field.number, from = reference(form, before, row->left);
        FORWARD(bytes_append_varint(&m->columns, form == FORM_PLAIN ? value : varint_fold((int64_t)(value - from))));
        before = row->left = value;
    }
    return 0;
}

static int put_bytes(struct maker *m, const struct group *group) {
    for (struct row *row = &m->row[group->first]; row; row = next_row(m, row))
        FORWARD(bytes_append_varint(&m->columns, row->field.len));
    for (struct row *row = &m->row[group->first]; row; row = next_row(m, row))
        FORWARD(bytes_append(&m->columns, row->field.data, row->field.len));
    return 0;
}

static int put_group(struct maker *m, const struct group *group) {
    for (size_t i = 0; i < group->fields; i++) {
        for (struct row *row = &m->row[group->first]; row; row = next_row(m, row)) fields_next(&row->body, &row->field);
        bool is_bytes = m->tag[group->shape + i] & 1;
        uint8_t form = (uint8_t)(is_bytes ? FORM_BYTES : choose_form(m, group));
        FORWARD(bytes_append(&m->form, &form, 1));
        FORWARD(is_bytes ? put_bytes(m, group) : put_numbers(m, group, form));
    }
    return 0;
}

static int put_shape(const struct maker *m, const struct group *group, struct bytes *out) {
    uint64_t key_before = 0;
    FORWARD(bytes_append_varint(out, group->kind));
    FORWARD(bytes_append_varint(out, group->fields));
    for (size_t i = group->shape; i < group->shape + group->fields; i++) {
        uint64_t key = m->tag[i] >> 1, step = varint_fold((int64_t)(key - key_before));
        FORWARD(bytes_append_varint(out, step << FORM_BITS | m->form.data[i]));
        key_before = key;
    }
    return 0;
}

static int put_plan(const struct maker *m, struct bytes *out) {
    size_t known = 0;
    FORWARD(bytes_append_varint(out, m->rows));
    for (size_t i = 0; i < m->rows; i++) {
        FORWARD(bytes_append_varint(out, m->row[i].group));
        if (m->row[i].group == known) FORWARD(put_shape(m, &m->group[known++], out));
    }
    return 0;
}

static int make(struct maker *m, struct fields_in records, struct bytes *out) {
    struct fields_in body;
    unsigned kind;
    int more;
    while ((more = fields_next_record(&records, &kind, &body)) > 0) FORWARD(add_row(m, kind, body));
    FORWARD(more);
    for (size_t i = 0; i < m->groups; i++) FORWARD(put_group(m, &m->group[i]));
    FORWARD(put_plan(m, out));
    return bytes_append(out, m->columns.data, m->columns.len);
}

int columns_from_records(const uint8_t *records, size_t len, struct bytes *out) {
    struct maker m = {0};
    int code = make(&m, (struct fields_in){records, len ? records + len : records}, out);
    free(m.row);
    free(m.group);
    free(m.tag);
    bytes_free(&m.form);
    bytes_free(&m.columns);
    lookup_free(&m.by_shape);
    return code;
}

// --- to records

struct column {
    uint64_t tag;
    unsigned form;
    const uint8_t *at;    // next number or length
    const uint8_t *bytes; // next of them
    uint64_t before;
};

struct shape {
    uint64_t kind;
    size_t first, fields; // columns
    size_t rows;
};

struct reader {
    const uint8_t *at, *end;
    uint64_t rows;
    uint32_t *group; // of each row
    struct shape *shape;
    size_t shapes;
    struct column *column;
    size_t columns;
    struct bytes body;
};

static int get(struct reader *r, uint64_t *value) {
    const uint8_t *at = varint_get(r->at, r->end, value);
    RETURN_IF(!at, ERR_FORMAT);
    r->at = at;
    return 0;
}

static int get_shape(struct reader *r) {
    struct shape shape = {.first = r->columns};
    uint64_t fields, head, key = 0;
    FORWARD(get(r, &shape.kind));
    FORWARD(get(r, &fields));
    RETURN_IF(shape.kind > UINT32_MAX || fields > (uint64_t)(r->end - r->at), ERR_FORMAT);
    shape.fields = (size_t)fields;
    for (size_t i = 0; i < shape.fields; i++) {
        FORWARD(get(r, &head));
        key += (uint64_t)varint_unfold(head >> FORM_BITS);
        RETURN_IF(key > UINT32_MAX, ERR_FORMAT);
        struct column column = {.form = (unsigned)head & FORM_MASK};
        column.tag = key << 1 | (column.form == FORM_BYTES);
        FORWARD(array_push(r->column, r->columns, column));
    }
    return array_push(r->shape, r->shapes, shape);
}

static int get_plan(struct reader *r) {
    uint64_t group;
    FORWARD(get(r, &r->rows));
    RETURN_IF(r->rows > (uint64_t)(r->end - r->at), ERR_FORMAT);
    r->group = malloc((size_t)r->rows * sizeof *r->group + 1);
    RETURN_IF(!r->group, -ENOMEM);
    for (size_t i = 0; i < r->rows; i++) {
        FORWARD(get(r, &group));
        RETURN_IF(group > r->shapes, ERR_FORMAT);
        if (group == r->shapes) FORWARD(get_shape(r));
        r->group[i] = (uint32_t)group;
        r->shape[group].rows++;
    }
    return 0;
}

// Finds where a column begins and ends. After this, its numbers need no more checks.
static int find_column(struct reader *r, struct column *column, size_t rows) {
    uint64_t value, sum = 0;
    column->at = r->at;
    for (size_t i = 0; i < rows; i++) {
        FORWARD(get(r, &value));
        uint64_t left = (uint64_t)(r->end - r->at);
        if (column->form != FORM_BYTES) continue;
        RETURN_IF(sum > left || value > left - sum, ERR_FORMAT);
        sum += value;
    }
    column->bytes = r->at;
    r->at += sum;
    return 0;
}

static int find_columns(struct reader *r) {
    for (size_t i = 0; i < r->shapes; i++) {
        const struct shape *shape = &r->shape[i];
        for (size_t j = 0; j < shape->fields; j++) FORWARD(find_column(r, &r->column[shape->first + j], shape->rows));
    }
    return r->at == r->end ? 0 : ERR_FORMAT;
}

static int take_bytes(struct reader *r, struct column *column, size_t len) {
    FORWARD(bytes_append_varint(&r->body, len));
    FORWARD(bytes_append(&r->body, column->bytes, len));
    column->bytes += len;
    return 0;
}

static int take_row(struct reader *r, const struct shape *shape) {
    uint64_t value, left = 0;
    r->body.len = 0;
    for (size_t i = 0; i < shape->fields; i++) {
        struct column *column = &r->column[shape->first + i];
        column->at = varint_get(column->at, r->end, &value);
        RETURN_IF(!column->at, ERR_FORMAT);
        FORWARD(bytes_append_varint(&r->body, column->tag));
        if (column->form == FORM_BYTES) {
            FORWARD(take_bytes(r, column, (size_t)value));
            continue;
        }
        if (column->form != FORM_PLAIN)
            value = reference(column->form, column->before, left) + (uint64_t)varint_unfold(value);
        column->before = left = value;
        FORWARD(bytes_append_varint(&r->body, value));
    }
    return 0;
}

static int take_rows(struct reader *r, size_t most, struct bytes *out) {
    size_t start = out->len;
    for (size_t i = 0; i < r->rows; i++) {
        const struct shape *shape = &r->shape[r->group[i]];
        FORWARD(take_row(r, shape));
        FORWARD(bytes_append_varint(out, shape->kind));
        FORWARD(bytes_append_varint(out, r->body.len));
        FORWARD(bytes_append(out, r->body.data, r->body.len));
        RETURN_IF(out->len - start > most, ERR_FORMAT);
    }
    return 0;
}

int columns_to_records(const uint8_t *data, size_t len, size_t most, struct bytes *out) {
    struct reader r = {.at = data, .end = len ? data + len : data};
    int code = get_plan(&r);
    if (code == 0) code = find_columns(&r);
    if (code == 0) code = take_rows(&r, most, out);
    free(r.group);
    free(r.shape);
    free(r.column);
    bytes_free(&r.body);
    return code;
}
