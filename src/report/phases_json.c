#include "report/phases_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "base/order.h"
#include "model/file/keywords.h"

// --- processes and files of a family

static int add_ranks(struct family_use *use, const struct model_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t r = 0; r < parts[i].ranks; r++) FORWARD(array_push(use->rank, use->ranks, parts[i].rank[r]));
    }
    if (use->ranks) qsort(use->rank, use->ranks, sizeof *use->rank, order_uint32);
    size_t kept = 0;
    for (size_t i = 0; i < use->ranks; i++) {
        if (!kept || use->rank[kept - 1] != use->rank[i]) use->rank[kept++] = use->rank[i];
    }
    use->ranks = kept;
    return 0;
}

int family_use_init(struct family_use *use, const struct model *model, const struct model_family *family,
                    const struct op_summary *op, size_t op_count)
{
    *use = (struct family_use){.main_file = OP_NO_SET};
    FORWARD(family->parts ? add_ranks(use, family->part, family->parts)
                          : add_ranks(use, family->other, family->others));
    uint64_t most = 0;
    for (size_t i = 0; i < op_count; i++) {
        if (op[i].kind->set == OP_NO_SET || (op[i].bytes <= most && use->main_file != OP_NO_SET)) continue;
        most = op[i].bytes;
        use->main_file = op[i].kind->set;
    }
    return model_count_files(model, family, &use->files);
}

void family_use_free(struct family_use *use)
{
    free(use->rank);
}

size_t phases_family_end(const struct model *model, size_t first)
{
    size_t end = first;
    while (end < model->phases && model->phase[end].family == model->phase[first].family) end++;
    return end;
}

// --- JSON

static void key_ranks(struct json_out *json, const uint32_t *rank, size_t count, size_t most)
{
    key_array(json, "ranks");
    for (size_t i = 0; i < count && i < most; i++) json_unsigned(json, rank[i]);
    json_close(json);
}

// The offsets of one phase of the family where no expression gives them.
static void key_offset_table(struct json_out *json, const struct op_summary *op, uint32_t ph, size_t most)
{
    const struct model_value *value = &op->item->at[AT_OFFSET];
    size_t place = model_place(op->part->ph, op->part->phs, ph);
    if (value->text || !value->table || place == SIZE_MAX) return;
    key_array(json, "offset_table");
    for (size_t i = 0; i < op->part->ranks && i < most; i++)
        json_signed(json, value->table[place * op->part->ranks + i]);
    json_close(json);
}

static void write_operation(struct json_out *json, const struct op_summary *op, const struct family_use *use,
                            uint32_t ph, size_t most)
{
    const struct model_item *item = op->item;
    const char *size_expression = item->at[AT_SIZE].text;
    bool is_op = item->type == LOOPS_OP;
    json_object(json);
    json_members(json, m_text("op", call_class_name(op->class)), m_text("call", op->kind->call));
    if (op->part->ranks < use->ranks) key_ranks(json, op->part->rank, op->part->ranks, most);
    json_members(json, m_number("rep", op->rep), m_number_if("size", op->has_size, op->size));
    if (!op->has_size && !op->has_more && size_expression) key_text(json, "size_expr", size_expression);
    json_members(json, m_signed_if("disp", op->has_disp, op->disp),
                 m_text("offset_expr", is_op && op->kind->has_offset ? item->at[AT_OFFSET].text : NULL));
    if (is_op) key_offset_table(json, op, ph, most);
    json_members(json, m_text("view_expr", is_op && op->kind->has_view ? item->at[AT_SECOND].text : NULL),
                 m_text("logical_expr", item->logical.text), m_bool("collective", op->kind->collective),
                 m_number("count", op->count), m_number("bytes", op->bytes), m_bool("blocking", !op->kind->nonblocking),
                 m_text("pointer", model_pointer_name(op->kind)), m_text("mode", op->mode),
                 m_number("alignment", op->bits & (0 - op->bits)), m_signed("low", op->low), m_signed("high", op->high),
                 m_number("thread", op->part->thread));
    json_close(json);
}

static void key_others(struct json_out *json, const struct model *model, const struct model_family *family, uint32_t ph)
{
    key_object(json, "others");
    uint64_t count[CLASS_COUNT] = {0};
    model_count_others(model, family, ph, count);
    for (unsigned class = CLASS_OPEN; class < CLASS_COUNT; class ++) {
        if (count[class]) key_number(json, call_class_name(class), count[class]);
    }
    if (count[CLASS_NONE]) key_number(json, "barrier", count[CLASS_NONE]);
    json_close(json);
}

struct family_ops {
    const struct op_summary *op;
    size_t count;
    struct family_use use;
};

static void write_phase(struct json_out *json, const struct model *model, size_t id, const struct family_ops *ops,
                        size_t most)
{
    const struct model_phase *phase = &model->phase[id];
    const struct model_family *family = &model->family[phase->family];
    const struct family_use *use = &ops->use;
    double seconds = (double)phase->duration_ns / 1e9;
    json_object(json);
    json_members(json, m_number("id", id + 1),
                 m_text("file", use->main_file == OP_NO_SET ? NULL : model->file[use->main_file].set->pattern),
                 m_number("files", use->files.files),
                 m_text("access", use->files.files ? use->files.shared ? "shared" : "unique" : NULL),
                 m_number("np", use->ranks));
    key_ranks(json, use->rank, use->ranks, most);
    key_array(json, "ops");
    for (size_t i = 0; i < ops->count && i < most; i++) write_operation(json, &ops->op[i], use, phase->ph, most);
    json_close(json);
    key_others(json, model, family, phase->ph);
    json_members(json, m_number("weight", family->weight), m_number("tick", phase->tick),
                 m_seconds("start", phase->start_ns), m_seconds("span", phase->span_ns),
                 m_seconds("duration", phase->duration_ns),
                 m_double_if("bandwidth", seconds > 0, seconds > 0 ? (double)family->weight / seconds : 0),
                 m_number_if("family", family->count > 1, phase->family + 1), m_number("ph", phase->ph),
                 m_text("separator", model_cut_name(family->cut)), m_number("program", family->program));
    json_close(json);
}

static int write_phases(struct json_out *json, const struct model *model, size_t most)
{
    for (size_t first = 0, end; first < model->phases && first < most; first = end) {
        const struct model_family *family = &model->family[model->phase[first].family];
        struct op_summary *op;
        struct family_ops ops;
        end = phases_family_end(model, first);
        FORWARD(model_summarise_ops(model, family, &op, &ops.count));
        ops.op = op;
        int code = family_use_init(&ops.use, model, family, op, ops.count);
        for (size_t i = first; i < end && i < most && !code; i++) write_phase(json, model, i, &ops, most);
        family_use_free(&ops.use);
        free(op);
        FORWARD(code);
    }
    return 0;
}

static void write_family(struct json_out *json, const struct model *model, size_t id)
{
    const struct model_family *family = &model->family[id];
    json_object_of(json, m_number("family", id + 1), m_number("count", family->count),
                   m_seconds_if("period", family->has_period, family->period_ns),
                   m_number_if("ticks", family->has_period, family->period_ticks),
                   m_double_if("irregularity", family->has_period, family->irregularity));
}

int phases_json(const struct model *model, struct json_out *json, size_t most)
{
    json_object(json);
    key_array(json, "phases");
    int code = write_phases(json, model, most);
    json_close(json);
    key_array(json, "families");
    for (size_t i = 0, shown = 0; i < model->families && shown < most; i++) {
        if (model->family[i].count < 2) continue;
        write_family(json, model, i);
        shown++;
    }
    json_close(json);
    json_members(json, m_seconds("gap", model->gap_ns), m_number("bytes", model->bytes),
                 m_number("unphased_bytes", model->unphased));
    key_object(json, "unphased");
    json_members(json, m_number("launchers", model->unphased_launchers), m_number("unnamed", model->unphased_unnamed),
                 m_number("untraced", model->unphased_untraced));
    json_close(json);
    json_close(json);
    return code;
}
