#include "model/file/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/scoped.h"
#include "model/file/keywords.h"
#include "model/file/write_private.h"

enum { UNFOLD_ALL = JSON_OUT_MAX_DEPTH };

size_t write_directory_len(const struct file_set *set) {
    size_t len = 0;
    for (size_t i = 0; set->pattern[i]; i++) {
        if (set->pattern[i] == '/' && set->pattern[i + 1]) len = i + 1;
        if (!set->number_count) continue;
        if (set->pattern[i] == '*') break;
        if (set->pattern[i] == '\\') i++;
    }
    return len;
}

// A kind is named after its call and its file.
static int name_kind(struct writing *w, const struct op_kind *kind) {
    if (kind->set == OP_NO_SET) return string_table_add_unique(&w->kinds, kind->call);
    char *name;
    RETURN_IF(asprintf(&name, "%s %s", kind->call, w->files.text[kind->set]) < 0, -ENOMEM);
    int code = string_table_add_unique(&w->kinds, name);
    free(name);
    return code;
}

static int write_names(struct writing *w) {
    const struct model *model = w->model;
    for (size_t i = 0; i < model->files; i++) {
        const struct file_set *set = model->file[i].set;
        FORWARD(string_table_add_unique(&w->files, set->pattern + write_directory_len(set)));
    }
    for (size_t i = 0; i < model->communicators; i++)
        FORWARD(string_table_add_unique(&w->communicators, model->communicator[i].origin));
    for (size_t i = 0; i < model->kinds; i++) FORWARD(name_kind(w, &model->kind[i]));
    return 0;
}

enum { MOST_TO_LOOK_AT = 1 << 28 };

// --- files and kinds

static int write_file_number(struct writing *w, const struct file_set_number *number) {
    struct json_out *json = w->json;
    json_object(json);
    if (!number->value) json_members(json, m_number("first", number->first), m_signed("step", number->step));
    key_number(json, "count", number->count);
    if (number->every != 1) key_number(json, "every", number->every);
    if (number->width != 1) key_number(json, "width", number->width);
    if (number->value) {
        json_key(json, "values");
        // At most 18 digits: they fit signed numbers too.
        FORWARD(write_numbers(w, (const int64_t *)number->value, number->count));
    }
    json_close(json);
    return 0;
}

static int write_files(struct writing *w) {
    struct json_out *json = w->json;
    key_array(json, "files");
    for (size_t i = 0; i < w->model->files; i++) {
        const struct file_set *set = w->model->file[i].set;
        const char *name = set->pattern + write_directory_len(set);
        json_fold(json);
        json_object(json);
        key_text(w->json, "file", w->files.text[i]);
        if (strcmp(name, w->files.text[i])) key_text(w->json, "name", name);
        if (set->number_count) {
            key_number(w->json, "members", set->member_count);
            key_array(json, "numbers");
            for (size_t k = 0; k < set->number_count; k++) FORWARD(write_file_number(w, &set->number[k]));
            json_close(json);
        }
        json_close(json);
    }
    json_close(json);
    return 0;
}

static void write_constants(struct writing *w, const struct op_kind *kind) {
    char flags[MODEL_FLAGS_BYTES];
    const char *whence = model_whence_name(kind->whence), *error = kind->error ? strerrorname_np(kind->error) : NULL;
    if (kind->class == CLASS_OPEN) {
        model_flags_text(kind->layer, kind->flags, flags);
        key_text(w->json, "flags", flags);
    }
    if (kind->whence) json_members(w->json, whence ? m_text("whence", whence) : m_number("whence", kind->whence));
    if (kind->error) json_members(w->json, error ? m_text("error", error) : m_signed("error", kind->error));
}

static void write_kind(struct writing *w, size_t id) {
    const struct op_kind *kind = &w->model->kind[id];
    bool transfers = op_kind_moves(kind);
    json_fold(w->json);
    json_object(w->json);
    key_text(w->json, "kind", w->kinds.text[id]);
    if (strcmp(w->kinds.text[id], kind->call)) key_text(w->json, "call", kind->call);
    if (kind->class != CLASS_NONE)
        json_members(w->json, m_text("layer", call_layer_name(kind->layer)),
                     m_text("class", call_class_name(kind->class)));
    if (kind->set != OP_NO_SET) key_text(w->json, "file", w->files.text[kind->set]);
    if (kind->set2 != OP_NO_SET) key_text(w->json, "file2", w->files.text[kind->set2]);
    if (transfers) key_text(w->json, "pointer", model_pointer_name(kind));
    if (kind->has_offset) key_bool(w->json, "has_offset", true);
    if (kind->has_view) key_bool(w->json, "view", true);
    if (kind->collective) key_bool(w->json, "collective", true);
    if (kind->nonblocking) key_bool(w->json, "nonblocking", true);
    if (kind->etype_bytes) key_number(w->json, "etype_bytes", kind->etype_bytes);
    if (kind->memory) key_number(w->json, "memory", kind->memory - 1u);
    if (kind->hints) key_number(w->json, "hints", kind->hints - 1u);
    if (kind->handle) key_number(w->json, "handle", kind->handle);
    if (kind->communicator) key_text(w->json, "communicator", w->communicators.text[kind->communicator - 1]);
    write_constants(w, kind);
    json_close(w->json);
}

// --- programs: the order of their phases

static void write_order_items(struct writing *w, const struct loops *items, size_t count) {
    struct json_out *json = w->json;
    for (size_t i = 0; i < count; i++) {
        const struct loops *item = &items[i];
        if (item->type == LOOPS_OP) json_unsigned(json, item->op.kind + 1u);
        for (uint64_t k = 0; item->type == LOOPS_LIST && k < item->count; k++) {
            json_unsigned(json, item->list[k].kind + 1u);
        }
        if (item->type != LOOPS_LOOP) continue;
        json_object(json);
        key_number(w->json, "loop", item->count);
        key_array(json, "body");
        write_order_items(w, item->body, item->length);
        json_close(json);
        json_close(json);
    }
}

static int write_order(struct writing *w, const struct model_program *program) {
    size_t count = program->end - program->first;
    SCOPED(arena_free) struct arena arena = {0};
    struct op *ops;
    struct loops_seq seq;
    FORWARD(arena_array(&arena, ops, count));
    for (size_t i = 0; i < count; i++) ops[i].kind = w->model->phase[program->first + i].family;
    FORWARD(loops_fold(&arena, ops, count, &seq));
    key_array(w->json, "order");
    write_order_items(w, seq.item, seq.count);
    json_close(w->json);
    return 0;
}

static int write_programs(struct writing *w) {
    struct json_out *json = w->json;
    key_array(json, "programs");
    for (size_t i = 0; i < w->model->programs; i++) {
        const struct model_program *program = &w->model->program[i];
        json_fold(json);
        json_object(json);
        json_members(json, m_bool("mpi", program->is_mpi), m_number("np", program->np));
        FORWARD(write_order(w, program));
        json_close(json);
    }
    json_close(json);
    return 0;
}

// --- families

// Ascending numbers as ranges: 0-15, 0-12:4 (every fourth), 3.
void write_ranges(struct writing *w, const char *key, const uint32_t *number, size_t count) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out) {
        w->json->error = -ENOMEM;
        return;
    }
    for (size_t i = 0, n; i < count; i += n) {
        uint32_t step = i + 1 < count ? number[i + 1] - number[i] : 0;
        for (n = 1; i + n < count && number[i + n] - number[i + n - 1] == step;) n++;
        if (n == 2 && step > 1) n = 1;
        fprintf(out, i ? ",%" PRIu32 : "%" PRIu32, number[i]);
        if (n > 1) fprintf(out, "-%" PRIu32, number[i + n - 1]);
        if (n > 1 && step > 1) fprintf(out, ":%" PRIu32, step);
    }
    if (fclose(out)) w->json->error = -ENOMEM;
    if (text) key_text(w->json, key, text);
    free(text);
}

static int write_parts(struct writing *w, const char *key, const struct model_family *family,
                       const struct model_part *part, size_t count) {
    struct json_out *json = w->json;
    if (!count) return 0;
    key_array(json, key);
    for (size_t i = 0; i < count; i++) {
        json_object(json);
        write_ranges(w, "ranks", part[i].rank, part[i].ranks);
        if (part[i].thread) key_number(w->json, "thread", part[i].thread);
        if (part[i].phs != family->count) write_ranges(w, "phases", part[i].ph, part[i].phs);
        key_array(json, "items");
        FORWARD(write_items(w, &part[i]));
        json_close(json);
        json_close(json);
    }
    json_close(json);
    return 0;
}

// Counts the operations of all processes in one phase; UINT64_MAX if there are more.
static uint64_t count_ops(const struct model_family *family) {
    uint64_t sum = 0, all;
    for (size_t i = 0; i < family->parts; i++) {
        const struct model_part *part = &family->part[i];
        for (size_t k = 0; k < part->items.count; k++) {
            bool overflows = __builtin_mul_overflow(part->items.item[k].ops, part->ranks, &all) ||
                             __builtin_add_overflow(sum, all, &sum);
            if (overflows) return UINT64_MAX;
        }
    }
    return sum;
}

// Writes what follows from the operations, for people. It is left out if it would take long: only models made by hand
// have that many operations.
static int write_summary(struct writing *w, const struct model_family *family) {
    struct model_file_use use;
    SCOPED_FREE struct op_summary *row = NULL;
    size_t rows;
    if (count_ops(family) > MOST_TO_LOOK_AT) return 0;
    FORWARD(model_count_files(w->model, family, &use));
    FORWARD(model_summarise_ops(w->model, family, &row, &rows));
    if (!rows) return 0;
    const char *mode = NULL;
    uint64_t bits = 0;
    for (size_t i = 0; i < rows; i++) {
        if (row[i].moves) mode = !mode || !strcmp(row[i].mode, mode) ? row[i].mode : "mixed";
        bits |= row[i].bits;
    }
    key_text(w->json, "access", use.shared ? "shared" : "unique");
    if (mode) json_members(w->json, m_text("mode", mode), m_number("alignment", bits & (0 - bits)));
    return 0;
}

static int write_family(struct writing *w, size_t id) {
    const struct model_family *family = &w->model->family[id];
    json_object(w->json);
    json_members(w->json, m_number("family", id + 1), m_number("program", family->program),
                 m_number("phases", family->count), m_text("separator", model_cut_name(family->cut)),
                 m_number("weight", family->weight));
    FORWARD(write_summary(w, family));
    FORWARD(write_parts(w, "parts", family, family->part, family->parts));
    FORWARD(write_parts(w, "others", family, family->other, family->others));
    json_close(w->json);
    return 0;
}

static int write_structure(struct writing *w) {
    FORWARD(write_programs(w));
    if (w->model->communicators) FORWARD(write_communicators(w));
    FORWARD(write_files(w));
    if (w->model->types.count) FORWARD(write_types(w));
    if (w->model->hints_count) write_hints(w, false);
    key_array(w->json, "kinds");
    for (size_t i = 0; i < w->model->kinds; i++) write_kind(w, i);
    json_close(w->json);
    key_array(w->json, "families");
    for (size_t i = 0; i < w->model->families; i++) FORWARD(write_family(w, i));
    json_close(w->json);
    return 0;
}

// --- the whole

static int write_all(struct writing *w) {
    struct json_out *json = w->json;
    FORWARD(write_names(w));
    json_object(json);
    key_number(w->json, "ioseer_model", MODEL_VERSION);
    key_object(json, "structure");
    FORWARD(write_structure(w));
    json_close(json);
    key_object(json, "observed");
    FORWARD(write_observed(w));
    json_close(json);
    json_close(json);
    return 0;
}

int model_write(const struct model *model, FILE *out) {
    struct arena arena = {0};
    struct writing w = {.model = model,
                        .json = json_out_begin(out, UNFOLD_ALL),
                        .files.arena = &arena,
                        .kinds.arena = &arena,
                        .communicators.arena = &arena};
    RETURN_IF(!w.json, -ENOMEM);
    int code = write_all(&w), ended = json_out_end(w.json);
    string_table_free(&w.files);
    string_table_free(&w.kinds);
    string_table_free(&w.communicators);
    arena_free(&arena);
    return code ? code : ended;
}
