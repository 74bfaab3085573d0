#include "report/phases_json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "base/order.h"
#include "model/file/keywords.h"
#include "summary/objects.h"

// --- runs of phases

static int add_ranks(struct phase_run *run, const struct model_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t r = 0; r < parts[i].ranks; r++) FORWARD(array_push(run->rank, run->ranks, parts[i].rank[r]));
    }
    if (run->ranks) qsort(run->rank, run->ranks, sizeof *run->rank, order_uint32);
    size_t kept = 0;
    for (size_t i = 0; i < run->ranks; i++) {
        if (!kept || run->rank[kept - 1] != run->rank[i]) run->rank[kept++] = run->rank[i];
    }
    run->ranks = kept;
    return 0;
}

// The files of the operations with the most bytes, or else of the most operations.
static int name_files(struct phase_run *run) {
    const struct op_summary *main = NULL;
    for (size_t i = 0; i < run->ops; i++) {
        const struct op_summary *op = &run->op[i];
        run->moves |= op->moves;
        run->names += op->moves ? 0 : op->count;
        if (op->kind->set == OP_NO_SET) continue;
        if (call_layer_is_above(run->model->layer) && main) continue; // of these, the first row's
        if (!main || op->bytes > main->bytes || (op->bytes == main->bytes && op->count > main->count)) main = op;
    }
    if (!main) return 0;
    const char *pattern = run->model->file[main->kind->set].set->pattern;
    int len = main->is_of_sets ? (int)main->folder : INT_MAX;
    RETURN_IF(asprintf(&run->name, "%.*s%s", len, pattern, main->is_of_sets ? "..." : "") < 0, -ENOMEM);
    run->object = model_object_name(run->model, run->name);
    if (run->object) run->name[run->object - 1 - run->name] = '\0';
    return 0;
}

int phase_run_next(struct phase_run *run) {
    const struct model *model = run->model;
    size_t first = run->end;
    phase_run_free(run);
    *run = (struct phase_run){.model = model, .first = first, .end = first};
    if (first >= model->phases) return 0;
    run->family = &model->family[model->phase[first].family];
    for (; run->end < model->phases && model->phase[run->end].family == model->phase[first].family; run->end++)
        run->ns += model->phase[run->end].duration_ns, run->other_ns += model->phase[run->end].other_ns;
    FORWARD(model_summarise_ops(model, run->family, &run->op, &run->ops));
    FORWARD(run->family->parts ? add_ranks(run, run->family->part, run->family->parts)
                               : add_ranks(run, run->family->other, run->family->others));
    FORWARD(name_files(run));
    FORWARD(model_count_files(model, run->family, &run->files));
    return 1;
}

void phase_run_free(struct phase_run *run) {
    free(run->op);
    free(run->name);
    free(run->rank);
}

// --- JSON

static void key_ranks(struct json_out *json, const uint32_t *rank, size_t count, size_t most) {
    key_array(json, "ranks");
    for (size_t i = 0; i < count && i < most; i++) json_unsigned(json, rank[i]);
    json_close(json);
}

// The offsets in one phase of the family if no expression gives them.
static void key_offset_table(struct json_out *json, const struct op_summary *op, uint32_t ph, size_t most) {
    const struct model_value *value = &op->item->at[AT_OFFSET];
    size_t place = model_place(op->part->ph, op->part->phs, ph);
    if (value->text || !value->table || place == SIZE_MAX) return;
    key_array(json, "offset_table");
    for (size_t i = 0; i < op->part->ranks && i < most; i++)
        json_signed(json, value->table[place * op->part->ranks + i]);
    json_close(json);
}

// Of a layer above MPI-IO: the object, and what of it an operation selects.
static int key_selection(struct json_out *json, const struct op_summary *op, const struct phase_run *run) {
    const struct model *model = run->model;
    struct selection_place place;
    if (!call_layer_is_above(model->layer)) return 0;
    key_text(json, "object", model_set_object(model, op->kind->set));
    int code = model_place_selection(model, run->family, op, &place);
    const struct log_selection *selection = place.selection;
    json_key(json, "selection");
    if (!code && selection) {
        json_object(json);
        objects_json_shape(json, selection);
        if (place.start) key_array(json, "start_expr");
        for (unsigned i = 0; place.start && i < selection->rank; i++) json_text(json, place.start[i]);
        if (place.start) json_close(json);
        if (place.step) key_array(json, "step");
        for (unsigned i = 0; place.step && i < selection->rank; i++) json_signed(json, place.step[i]);
        if (place.step) json_close(json);
        json_close(json);
    } else {
        json_null(json);
    }
    selection_place_free(&place);
    return code;
}

static int write_operation(struct json_out *json, const struct op_summary *op, const struct phase_run *run, uint32_t ph,
                           size_t most) {
    const struct model_item *item = op->item;
    const char *size_expression = item->at[AT_SIZE].text;
    bool is_op = item->type == LOOPS_OP;
    json_object(json);
    json_members(json, m_text("op", op->name), m_text("call", op->kind->call));
    FORWARD(key_selection(json, op, run));
    if (op->part->ranks < run->ranks) key_ranks(json, op->part->rank, op->part->ranks, most);
    json_members(json, m_number("rep", op->rep), m_number_if("size", op->has_size, op->size),
                 m_number_if("request", op->has_size, op_summary_size(op)));
    if (op->moves && !op->has_size && !op->has_more && size_expression) key_text(json, "size_expr", size_expression);
    json_members(json, m_signed_if("disp", op->has_disp, op->disp),
                 m_text("offset_expr", is_op && op->kind->has_offset ? item->at[AT_OFFSET].text : NULL));
    if (is_op && op->kind->has_offset) key_offset_table(json, op, ph, most);
    if (is_op && !op->moves) key_text(json, "member_expr", item->at[AT_MEMBER].text);
    json_members(json, m_text("view_expr", is_op && op->kind->has_view ? item->at[AT_SECOND].text : NULL),
                 m_text("logical_expr", item->logical.text), m_bool("collective", op->kind->collective),
                 m_number("count", op->count), m_number("bytes", op->bytes), m_bool("blocking", !op->kind->nonblocking),
                 m_text("pointer", op->moves ? model_pointer_name(op->kind) : NULL),
                 m_text("mode", op->moves ? op->mode : NULL),
                 m_number_if("alignment", op->moves, op->bits & (0 - op->bits)), m_signed_if("low", op->moves, op->low),
                 m_signed_if("high", op->moves, op->high), m_number("thread", op->part->thread));
    json_close(json);
    return 0;
}

static void key_others(struct json_out *json, const struct model *model, const struct model_family *family,
                       uint32_t ph) {
    key_object(json, "others");
    uint64_t count[CLASS_COUNT] = {0};
    model_count_others(model, family, ph, count);
    for (unsigned class = CLASS_OPEN; class < CLASS_COUNT; class ++) {
        if (count[class]) key_number(json, call_class_name(class), count[class]);
    }
    if (count[CLASS_NONE]) key_number(json, "barrier", count[CLASS_NONE]);
    json_close(json);
}

static int write_phase(struct json_out *json, const struct phase_run *run, size_t id, size_t most) {
    const struct model *model = run->model;
    const struct model_phase *phase = &model->phase[id];
    const struct model_family *family = run->family;
    double seconds = (double)phase->duration_ns / 1e9;
    json_object(json);
    json_members(json, m_number("id", id + 1), m_text("file", run->name));
    if (call_layer_is_above(model->layer))
        json_members(json, m_text("object", run->object), m_number("objects", run->files.objects));
    json_members(json, m_number("files", run->files.files),
                 m_text("access", run->files.files ? run->files.shared ? "shared" : "unique" : NULL),
                 m_number("np", run->ranks));
    key_ranks(json, run->rank, run->ranks, most);
    key_array(json, "ops");
    for (size_t i = 0; i < run->ops && i < most; i++) FORWARD(write_operation(json, &run->op[i], run, phase->ph, most));
    json_close(json);
    key_others(json, model, family, phase->ph);
    json_members(json, m_number("weight", family->weight), m_number("tick", phase->tick),
                 m_seconds("start", phase->start_ns), m_seconds("span", phase->span_ns),
                 m_seconds("duration", phase->duration_ns), m_seconds("other", phase->other_ns),
                 m_double_if("bandwidth", seconds > 0 && (run->moves || !run->ops),
                             seconds > 0 ? (double)family->weight / seconds : 0),
                 m_double_if("rate", seconds > 0 && run->names, seconds > 0 ? (double)run->names / seconds : 0),
                 m_number_if("family", family->count > 1, phase->family + 1), m_number("ph", phase->ph),
                 m_text("separator", model_cut_name(family->cut)), m_number("program", family->program));
    uint32_t at_once = 0;
    model_count_turns(model, family, phase->ph, &at_once);
    json_members(json, m_number_if("turns", at_once, at_once));
    json_close(json);
    return 0;
}

static int write_phases(struct json_out *json, const struct model *model, size_t most) {
    struct phase_run run = {.model = model};
    int code = 1;
    while (run.end < most && (code = phase_run_next(&run)) > 0) {
        for (size_t i = run.first; i < run.end && i < most && code > 0; i++) {
            int written = write_phase(json, &run, i, most);
            if (written < 0) code = written;
        }
        if (code < 0) break;
    }
    phase_run_free(&run);
    return code < 0 ? code : 0;
}

static void write_family(struct json_out *json, const struct model *model, size_t id) {
    const struct model_family *family = &model->family[id];
    json_object_of(json, m_number("family", id + 1), m_number("count", family->count),
                   m_seconds_if("period", family->has_period, family->period_ns),
                   m_number_if("ticks", family->has_period, family->period_ticks),
                   m_double_if("irregularity", family->has_period, family->irregularity));
}

int phases_json(const struct model *model, struct json_out *json, size_t most) {
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
                 m_number("inherited", model->unphased_inherited), m_number("untraced", model->unphased_untraced));
    json_close(json);
    json_close(json);
    return code;
}
