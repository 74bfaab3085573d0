// MODEL files: whatever is accepted can be expanded, comes back the same through the writer, and can be compared.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "model/compare/diff.h"
#include "model/file/read.h"
#include "model/file/write.h"

enum { MOST_RANKS = 4096, MOST_OPS = 100000 };

// More ranks and phases only take longer.
static bool is_small(const char *text, size_t len) {
    struct json_in in;
    struct json_in_error error;
    if (json_in_parse(&in, text, len, &error) < 0) return true; // the reader will refuse it
    const struct json_value *structure = json_in_member(in.root, "structure");
    const struct json_value *programs = json_in_member(structure, "programs");
    const struct json_value *families = json_in_member(structure, "families");
    bool small = json_in_length(programs) < 16;
    uint64_t number;
    for (size_t i = 0; i < json_in_length(programs); i++) {
        const struct json_value *np = json_in_member(json_in_at(programs, i), "np");
        if (json_in_uint64(np, &number) == 0 && number > MOST_RANKS) small = false;
    }
    for (size_t i = 0; i < json_in_length(families); i++) {
        const struct json_value *phases = json_in_member(json_in_at(families, i), "phases");
        if (json_in_uint64(phases, &number) == 0 && number > MOST_RANKS) small = false;
    }
    json_in_free(&in);
    return small;
}

static double count_ops(const struct model_part *part, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double each = 1;
        for (size_t k = 0; k < part[i].items.count; k++) each += (double)part[i].items.item[k].ops;
        sum += each * (double)part[i].ranks * (double)part[i].phs;
    }
    return sum;
}

static bool is_short(const struct model *model) {
    double ops = 0;
    for (size_t i = 0; i < model->families; i++) {
        const struct model_family *family = &model->family[i];
        ops += count_ops(family->part, family->parts) + count_ops(family->other, family->others);
    }
    return ops <= MOST_OPS;
}

static int look(const struct model_step *step, void *context) {
    const struct model *model = context;
    const struct op_kind *kind = step->kind;
    char name[8192];
    if (step->phase >= model->phases || step->op->at[AT_SIZE] < 0) abort();
    if (kind->set != OP_NO_SET) {
        file_set_member_name(model->file[kind->set].set, (size_t)step->op->at[AT_MEMBER], name, sizeof name);
    }
    return 0;
}

static void expand(const struct model *model) {
    for (uint32_t p = 0; p < model->programs; p++) {
        uint32_t threads = model_threads(model, p);
        for (uint32_t rank = 0; rank < model->program[p].np && rank < 8; rank++) {
            for (uint32_t thread = 0; thread < threads && thread < 4; thread++) {
                if (model_expand(model, p, rank, thread, look, (void *)model)) abort();
            }
        }
    }
}

static char *written(const struct model *model, size_t *len) {
    char *text;
    FILE *out = open_memstream(&text, len);
    if (!out || model_write(model, out)) abort();
    fclose(out);
    return text;
}

static bool are_equal(const struct model *a, const struct model *b) {
    struct diff diff;
    if (diff_make(&diff, a, b)) abort();
    bool equal = diff.equal;
    diff_free(&diff);
    return equal;
}

// The model as it comes back through the writer.
static struct model written_and_read(const struct model *model) {
    struct model again;
    struct json_in_error error;
    size_t once_len, twice_len;
    char *once = written(model, &once_len);
    if (model_parse(&again, once, once_len, &error) < 0) abort();
    char *twice = written(&again, &twice_len);
    if (once_len != twice_len || memcmp(once, twice, once_len) != 0) abort();
    free(once);
    free(twice);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static struct model before; // the last one: something to compare with
    struct model model;
    struct json_in_error error;
    if (!is_small((const char *)data, len)) return 0;
    if (model_parse(&model, (const char *)data, len, &error) < 0) {
        if (!error.message[0]) abort();
        return 0;
    }
    if (is_short(&model)) {
        expand(&model);
        struct model again = written_and_read(&model);
        if (!are_equal(&again, &again)) abort();
        if (are_equal(&before, &again) != are_equal(&again, &before)) abort();
        are_equal(&model, &before);
        model_free(&before);
        before = again;
    }
    model_free(&model);
    return 0;
}
