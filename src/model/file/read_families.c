// Families of phases, and their parts.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "model/file/keywords.h"
#include "model/file/reading.h"

enum { MOST_THREADS = 1 << 16 }; // of a process

static int all_phases(struct reading *r, const struct json_value *value, struct model_part *part)
{
    part->phs = r->family->count;
    FORWARD(read_charge(r, value, part->phs));
    part->ph = arena_alloc(&r->model->arena, part->phs * sizeof *part->ph);
    RETURN_IF(!part->ph, -ENOMEM);
    for (uint32_t i = 0; i < part->phs; i++) part->ph[i] = i + 1;
    return 0;
}

static int read_part(struct reading *r, const struct json_value *value, struct model_part *part)
{
    const struct json_value *phases = json_in_member(value, "phases"), *items;
    const struct model_family *family = r->family;
    uint64_t thread = 0;
    if (!json_in_member(value, "ranks")) return json_in_fail(r->error, value, "there is no \"ranks\"");
    FORWARD(read_ranges(r, json_in_member(value, "ranks"), "ranks", 0, r->model->program[family->program].np - 1,
                        &part->rank, &part->ranks));
    if (phases) {
        FORWARD(read_ranges(r, phases, "phases", 1, family->count, &part->ph, &part->phs));
    } else {
        FORWARD(all_phases(r, value, part));
    }
    FORWARD(read_optional_count(r, value, "thread", 0, MOST_THREADS - 1, &thread));
    FORWARD(json_in_need_array(value, "items", &items, r->error));
    part->thread = (uint32_t)thread;
    r->part = part;
    r->tables = part->ranks * part->phs; // of 32 bits each
    r->depth = 0;
    r->times = 1;
    return read_items(r, items, &part->items);
}

static int read_parts(struct reading *r, const struct json_value *family, const char *key, struct model_part **parts,
                      size_t *made)
{
    const struct json_value *values = NULL;
    FORWARD(read_optional_array(r, family, key, &values));
    size_t count = json_in_length(values);
    *parts = arena_alloc(&r->model->arena, (count + 1) * sizeof **parts);
    RETURN_IF(!*parts, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        *made = i + 1; // what a part that is no good has is let go with the others
        FORWARD(read_part(r, json_in_at(values, i), &(*parts)[i]));
    }
    return 0;
}

static int read_family(struct reading *r, const struct json_value *value, struct model_family *family)
{
    uint64_t program, phases;
    const char *separator;
    if (!r->model->programs) return json_in_fail(r->error, value, "a family without a program");
    FORWARD(read_count(r, value, "program", 0, r->model->programs - 1, &program));
    FORWARD(read_count(r, value, "phases", 1, INT32_MAX, &phases));
    FORWARD(json_in_need_text(value, "separator", &separator, NULL, r->error));
    FORWARD(json_in_need_uint64(value, "weight", &family->weight, r->error));
    int cut = model_cut_find(separator);
    if (cut < 0) return json_in_fail(r->error, value, "there is no separator \"%s\"", separator);
    family->program = (uint32_t)program;
    family->count = (uint32_t)phases;
    family->cut = (enum segment_cut)cut;
    r->family = family;
    r->bytes = 0;
    r->others = false;
    FORWARD(read_parts(r, value, "parts", &family->part, &family->parts));
    r->others = true;
    FORWARD(read_parts(r, value, "others", &family->other, &family->others));
    if (r->bytes == (unsigned __int128)family->weight * family->count) return 0;
    return json_in_fail(r->error, json_in_member(value, "weight"),
                        "the weight is %" PRIu64 " bytes, but the operations of the %" PRIu32
                        " phases do not move so many",
                        family->weight, family->count);
}

int read_families(struct reading *r)
{
    struct model *model = r->model;
    const struct json_value *families;
    FORWARD(json_in_need_array(r->structure, "families", &families, r->error));
    size_t count = json_in_length(families);
    model->family = calloc(count + 1, sizeof *model->family);
    RETURN_IF(!model->family, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        const struct json_value *value = json_in_at(families, i);
        struct model_family *family = &model->family[model->families++];
        FORWARD(read_family(r, value, family));
        bool overflows = __builtin_add_overflow(model->bytes, (uint64_t)r->bytes, &model->bytes);
        if (overflows || r->bytes > UINT64_MAX) return json_in_fail(r->error, value, "too many bytes for 64 bits");
    }
    return 0;
}
