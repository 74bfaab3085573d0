// Lists of operations that follow no rule.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "model/file/keywords.h"
#include "model/file/packed.h"
#include "model/file/reading.h"

enum { COLUMNS = 1 + AT_COUNT };

// --- one by one

static int read_list_op(struct reading *r, const struct json_value *value, struct op *op)
{
    const char *name;
    FORWARD(json_in_need_text(value, "op", &name, NULL, r->error));
    op->kind = names_find(&r->kinds, name);
    if (op->kind == LOOKUP_NONE) return json_in_fail(r->error, value, "there is no kind \"%s\"", name);
    for (unsigned c = 0; c < AT_COUNT; c++) {
        const char *key = model_coordinate_name(&r->model->kind[op->kind], c);
        if (json_in_member(value, key)) FORWARD(json_in_need_int64(value, key, &op->at[c], r->error));
    }
    return 0;
}

static int read_ops(struct reading *r, const struct json_value *value, uint64_t count, struct op **out)
{
    const struct json_value *ops;
    FORWARD(json_in_need_array(value, "ops", &ops, r->error));
    if (json_in_length(ops) != count) {
        return json_in_fail(r->error, ops, "%zu operations, but there should be %" PRIu64, json_in_length(ops), count);
    }
    *out = arena_alloc(&r->model->arena, (count + 1) * sizeof **out);
    RETURN_IF(!*out, -ENOMEM);
    for (size_t i = 0; i < count; i++) FORWARD(read_list_op(r, json_in_at(ops, i), &(*out)[i]));
    return 0;
}

// --- packed

// Kinds come as 64-bit numbers first, into the place of the offset.
static int take_columns(const struct bytes *columns, struct op *ops, uint64_t count)
{
    const uint8_t *at = columns->data, *end = at + columns->len;
    FORWARD(packed_take(&at, end, &ops->at[0], sizeof *ops, count));
    for (uint64_t i = 0; i < count; i++) {
        RETURN_IF(ops[i].at[0] < 0 || ops[i].at[0] > UINT32_MAX, ERR_FORMAT);
        ops[i].kind = (uint32_t)ops[i].at[0];
    }
    for (unsigned c = 0; c < AT_COUNT; c++) FORWARD(packed_take(&at, end, &ops->at[c], sizeof *ops, count));
    return at == end ? 0 : ERR_FORMAT;
}

static int unpack_ops(struct reading *r, const struct json_value *value, uint64_t count, struct op **out)
{
    const char *key = json_in_member(value, "zstd") ? "zstd" : "base64", *text;
    size_t len;
    struct bytes columns = {0};
    FORWARD(json_in_need_text(value, key, &text, &len, r->error));
    int code = packed_columns(text, len, key, &columns);
    if (!code && columns.len / COLUMNS < count) code = ERR_FORMAT; // each number takes a byte or more
    if (!code) {
        *out = arena_alloc(&r->model->arena, (count + 1) * sizeof **out);
        code = *out ? take_columns(&columns, *out, count) : -ENOMEM;
    }
    bytes_free(&columns);
    if (!code || code == -ENOMEM) return code;
    json_in_fail(r->error, value, "\"%s\" does not hold %" PRIu64 " packed operations", key, count);
    return code;
}

// --- which list is whose

static int share_lists(struct reading *r, const struct json_value *value, uint64_t lists, struct op *ops,
                       struct model_item *item)
{
    const struct json_value *which = json_in_member(value, "which");
    FORWARD(read_charge(r, value, r->tables));
    int64_t *of = arena_alloc(&r->scratch, (r->tables + 1) * sizeof *of);
    item->list = arena_alloc(&r->model->arena, (r->tables + 1) * sizeof *item->list);
    RETURN_IF(!of || !item->list, -ENOMEM);
    if (which) {
        FORWARD(read_numbers(r, which, "which", r->tables, of));
    } else if (lists > 1 && lists != r->tables) {
        return json_in_fail(r->error, value, "which of the %" PRIu64 " lists is whose is not said", lists);
    }
    for (size_t t = 0; t < r->tables; t++) {
        if (!which && lists > 1) of[t] = (int64_t)t;
        if (of[t] < 0 || (uint64_t)of[t] >= lists) return json_in_fail(r->error, which, "there is no such list");
        item->list[t] = ops + (uint64_t)of[t] * item->count;
    }
    // Each list is looked at as often as it occurs.
    uint64_t *times = arena_alloc(&r->scratch, (lists + 1) * sizeof *times);
    RETURN_IF(!times, -ENOMEM);
    for (size_t t = 0; t < r->tables; t++) times[of[t]]++;
    for (uint64_t i = 0; i < lists; i++) {
        FORWARD(read_check_list(r, value, ops + i * item->count, item->count, times[i]));
    }
    return 0;
}

int read_list(struct reading *r, const struct json_value *value, struct model_item *item)
{
    uint64_t lists = 1, all;
    struct op *ops = NULL;
    item->type = LOOPS_LIST;
    FORWARD(read_count(r, value, "list", 1, INT64_MAX, &item->count));
    FORWARD(read_optional_count(r, value, "lists", 1, r->tables, &lists));
    if (__builtin_mul_overflow(item->count, lists, &all)) return json_in_fail(r->error, value, "too many operations");
    item->ops = item->count;
    if (json_in_member(value, "ops")) {
        FORWARD(read_ops(r, value, all, &ops));
    } else {
        FORWARD(unpack_ops(r, value, all, &ops));
    }
    return share_lists(r, value, lists, ops, item);
}
