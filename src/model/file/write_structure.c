// `structure`: what the application does wherever it runs.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "model/file/keywords.h"
#include "model/file/writing.h"

enum { MOST_TO_LOOK_AT = 1 << 28 };

// --- files and kinds

static int write_file_number(struct writing *w, const struct file_set_number *number)
{
    struct json_out *json = w->json;
    json_object(json);
    if (!number->value) {
        key_number(w->json, "first", number->first);
        key_signed(json, "step", number->step);
    }
    key_number(w->json, "count", number->count);
    if (number->every != 1) key_number(w->json, "every", number->every);
    if (number->width != 1) key_number(w->json, "width", number->width);
    if (number->value) {
        json_key(json, "values");
        // At most 18 digits: they fit signed numbers too.
        FORWARD(write_numbers(w, (const int64_t *)number->value, number->count));
    }
    json_close(json);
    return 0;
}

static int write_files(struct writing *w)
{
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

static void write_true(struct writing *w, const char *key, bool value)
{
    if (!value) return;
    key_bool(w->json, key, true);
}

static void write_constants(struct writing *w, const struct op_kind *kind)
{
    char flags[MODEL_FLAGS_BYTES];
    if (kind->class == CLASS_OPEN) {
        model_flags_text(kind->layer, kind->flags, flags);
        key_text(w->json, "flags", flags);
    }
    if (kind->whence && model_whence_name(kind->whence)) {
        key_text(w->json, "whence", model_whence_name(kind->whence));
    } else if (kind->whence) {
        key_number(w->json, "whence", kind->whence);
    }
    const char *error = kind->error ? strerrorname_np(kind->error) : NULL;
    if (error) {
        key_text(w->json, "error", error);
    } else if (kind->error) {
        key_signed(w->json, "error", kind->error);
    }
}

static void write_kind(struct writing *w, size_t id)
{
    const struct op_kind *kind = &w->model->kind[id];
    bool transfers = kind->class == CLASS_READ || kind->class == CLASS_WRITE;
    json_fold(w->json);
    json_object(w->json);
    key_text(w->json, "kind", w->kinds.text[id]);
    if (strcmp(w->kinds.text[id], kind->call)) key_text(w->json, "call", kind->call);
    if (kind->class != CLASS_NONE) {
        key_text(w->json, "layer", call_layer_name(kind->layer));
        key_text(w->json, "class", call_class_name(kind->class));
    }
    if (kind->set != OP_NO_SET) key_text(w->json, "file", w->files.text[kind->set]);
    if (kind->set2 != OP_NO_SET) key_text(w->json, "file2", w->files.text[kind->set2]);
    if (transfers) key_text(w->json, "pointer", model_pointer_name(kind));
    write_true(w, "has_offset", kind->has_offset);
    write_true(w, "view", kind->has_view);
    write_true(w, "collective", kind->collective);
    write_true(w, "nonblocking", kind->nonblocking);
    if (kind->etype_bytes) key_number(w->json, "etype_bytes", kind->etype_bytes);
    if (kind->memory) key_number(w->json, "memory", kind->memory - 1u);
    if (kind->hints) key_number(w->json, "hints", kind->hints - 1u);
    write_constants(w, kind);
    json_close(w->json);
}

// --- programs: the order of their phases

static void write_order_items(struct writing *w, const struct loops *items, size_t count)
{
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

static int write_order(struct writing *w, const struct model_program *program)
{
    size_t count = program->end - program->first;
    struct op *ops = calloc(count + 1, sizeof *ops);
    RETURN_IF(!ops, -ENOMEM);
    for (size_t i = 0; i < count; i++) ops[i].kind = w->model->phase[program->first + i].family;
    struct arena arena = {0};
    struct loops_seq seq;
    int code = loops_fold(&arena, ops, count, &seq);
    if (!code) {
        key_array(w->json, "order");
        write_order_items(w, seq.item, seq.count);
        json_close(w->json);
    }
    arena_free(&arena);
    free(ops);
    return code;
}

static int write_programs(struct writing *w)
{
    struct json_out *json = w->json;
    key_array(json, "programs");
    for (size_t i = 0; i < w->model->programs; i++) {
        const struct model_program *program = &w->model->program[i];
        json_fold(json);
        json_object(json);
        key_bool(json, "mpi", program->is_mpi);
        key_number(w->json, "np", program->np);
        FORWARD(write_order(w, program));
        json_close(json);
    }
    json_close(json);
    return 0;
}

// --- families

// Ascending numbers as ranges: 0-15, 0-12:4 (every fourth), 3.
void write_ranges(struct writing *w, const char *key, const uint32_t *number, size_t count)
{
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
                       const struct model_part *part, size_t count)
{
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
static uint64_t count_ops(const struct model_family *family)
{
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
static int write_summary(struct writing *w, const struct model_family *family)
{
    struct model_file_use use;
    struct op_summary *row;
    size_t rows;
    if (count_ops(family) > MOST_TO_LOOK_AT) return 0;
    FORWARD(model_count_files(w->model, family, &use));
    FORWARD(model_summarise_ops(w->model, family, &row, &rows));
    if (rows) {
        const char *mode = row[0].mode;
        uint64_t bits = 0;
        for (size_t i = 0; i < rows; i++) {
            if (strcmp(row[i].mode, mode)) mode = "mixed";
            bits |= row[i].bits;
        }
        key_text(w->json, "access", use.shared ? "shared" : "unique");
        key_text(w->json, "mode", mode);
        key_number(w->json, "alignment", bits & (0 - bits));
    }
    free(row);
    return 0;
}

static int write_family(struct writing *w, size_t id)
{
    const struct model_family *family = &w->model->family[id];
    json_object(w->json);
    key_number(w->json, "family", id + 1);
    key_number(w->json, "program", family->program);
    key_number(w->json, "phases", family->count);
    key_text(w->json, "separator", model_cut_name(family->cut));
    key_number(w->json, "weight", family->weight);
    FORWARD(write_summary(w, family));
    FORWARD(write_parts(w, "parts", family, family->part, family->parts));
    FORWARD(write_parts(w, "others", family, family->other, family->others));
    json_close(w->json);
    return 0;
}

int write_structure(struct writing *w)
{
    FORWARD(write_programs(w));
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
