// Datatypes and hints of MPI: their records, and datatypes as nested loops.
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/varint.h"
#include "log/private.h"

// The form must agree with the other fields of the record.
static int check_form(struct log *log, const struct log_datatype *type) {
    struct datatype *flat = &log->scratch;
    FORWARD(datatype_get(flat, type->form, type->form_len));
    RETURN_IF(type->cut ? flat->bytes > type->bytes : flat->bytes != type->bytes, ERR_FORMAT);
    return 0;
}

int log_parse_datatype(struct log *log, struct fields_in body) {
    struct field f[DATATYPE_HASH + 1];
    const char *form = NULL;
    FORWARD(fields_by_key(body, f, DATATYPE_HASH + 1));
    struct log_datatype type = {
        .id = (uint32_t)f[DATATYPE_ID].number,
        .bytes = f[DATATYPE_BYTES].number,
        .lower_bound = varint_unfold(f[DATATYPE_LOWER_BOUND].number),
        .extent = varint_unfold(f[DATATYPE_EXTENT].number),
        .combiner = (unsigned)f[DATATYPE_COMBINER].number,
        .cut = f[DATATYPE_CUT].number == 1,
        .hash = f[DATATYPE_HASH].number,
        .form_len = f[DATATYPE_FORM].len,
    };
    FORWARD(log_parse_text(log, &f[DATATYPE_NAME], &type.name));
    FORWARD(log_parse_text(log, &f[DATATYPE_FORM], &form));
    type.form = (const uint8_t *)form;
    FORWARD(check_form(log, &type));
    return log_put_row(&log->datatypes, &log->datatype_by_id, type.id, &type, sizeof type);
}

// "name", a zero byte, "value".
static int parse_hint(struct log *log, const struct field *field, struct log_hint_list *list) {
    const char *text;
    FORWARD(log_parse_text(log, field, &text));
    size_t name_len = strlen(text);
    RETURN_IF(name_len >= field->len, ERR_FORMAT);
    // The capacity is a power of two: the list is full when its length is one.
    if ((list->count & (list->count - 1)) == 0) {
        struct log_hint *bigger = arena_alloc(&log->arena, (list->count ? list->count * 2 : 1) * sizeof *bigger);
        RETURN_IF(!bigger, -ENOMEM);
        if (list->count) memcpy(bigger, list->hint, list->count * sizeof *bigger);
        list->hint = bigger;
    }
    list->hint[list->count++] = (struct log_hint){text, text + name_len + 1};
    return 0;
}

int log_parse_hints(struct log *log, struct fields_in body) {
    struct log_hints hints = {0};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key == HINTS_ID) hints.id = (uint32_t)field.number;
        if (field.key == HINTS_ASKED) FORWARD(parse_hint(log, &field, &hints.asked));
        if (field.key == HINTS_IN_FORCE) FORWARD(parse_hint(log, &field, &hints.in_force));
    }
    FORWARD(more);
    return log_put_row(&log->hints, &log->hints_by_id, hints.id, &hints, sizeof hints);
}

static uint32_t lookup_local(const struct lookup *by_local, const struct log_process *process, uint64_t local) {
    if (local == 0 || local > UINT32_MAX) return LOOKUP_NONE;
    return lookup_find(by_local, lookup_pair(process->id, (uint32_t)local));
}

const struct log_datatype *log_process_datatype(const struct log *log, const struct log_process *process,
                                                uint64_t local) {
    uint32_t at = lookup_local(&log->datatype_by_local, process, local);
    return at == LOOKUP_NONE ? NULL : log_datatype_at(log, at);
}

const struct log_hints *log_process_hints(const struct log *log, const struct log_process *process, uint64_t local) {
    uint32_t at = lookup_local(&log->hints_by_local, process, local);
    return at == LOOKUP_NONE ? NULL : log_hints_at(log, at);
}

int log_datatype_flat(struct log *log, const struct log_datatype *type, const struct datatype **flat) {
    if (!type->flat) {
        struct log_datatype *own = (struct log_datatype *)log->datatypes.item + (type - log_datatype_at(log, 0));
        struct datatype *made = arena_alloc(&log->arena, sizeof *made);
        FORWARD(datatype_get(&log->scratch, type->form, type->form_len));
        struct datatype_item *item = arena_alloc(&log->arena, log->scratch.items * sizeof *item);
        RETURN_IF(!made || !item, -ENOMEM);
        *made = log->scratch;
        made->cut = type->cut;
        made->item = item;
        if (made->items) memcpy(item, log->scratch.item, made->items * sizeof *item);
        own->flat = made;
    }
    *flat = type->flat;
    return 0;
}

int log_datatype_tiling(struct log *log, const struct log_datatype *type, int64_t displacement,
                        struct datatype_tiling *tiling) {
    *tiling = (struct datatype_tiling){.bytes = type->bytes, .extent = type->extent, .displacement = displacement};
    return log_datatype_flat(log, type, &tiling->type);
}
