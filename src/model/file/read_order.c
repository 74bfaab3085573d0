// The order of a program's phases: loops over families.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "model/file/reading.h"

struct ordering {
    struct reading *r;
    uint32_t program;
    uint32_t *seen; // by family: phases so far
};

static int family_of(const struct ordering *o, const struct json_value *value, uint32_t *id)
{
    const struct model *model = o->r->model;
    uint64_t number;
    if (json_in_uint64(value, &number) || !number || number > model->families) {
        return json_in_fail(o->r->error, value, "\"order\" holds what is neither a family nor a loop");
    }
    *id = (uint32_t)(number - 1);
    if (model->family[*id].program == o->program) return 0;
    return json_in_fail(o->r->error, value, "family %" PRIu64 " is of another program", number);
}

static int loop_of(const struct ordering *o, const struct json_value *value, uint64_t *count,
                   const struct json_value **body)
{
    FORWARD(read_count(o->r, value, "loop", 1, INT32_MAX, count));
    FORWARD(json_in_need_array(value, "body", body, o->r->error));
    return json_in_length(*body) ? 0 : json_in_fail(o->r->error, value, "a loop over nothing");
}

// How many phases the items stand for. The depth is bounded by that of JSON texts.
static int count_phases(const struct ordering *o, const struct json_value *items, uint64_t *phases)
{
    *phases = 0;
    for (size_t i = 0; i < json_in_length(items); i++) {
        const struct json_value *value = json_in_at(items, i), *body;
        uint64_t times = 1, each = 1;
        uint32_t family;
        if (json_in_type(value) == JSON_OBJECT) {
            FORWARD(loop_of(o, value, &times, &body));
            FORWARD(count_phases(o, body, &each));
        } else {
            FORWARD(family_of(o, value, &family));
        }
        bool overflows = __builtin_mul_overflow(times, each, &each) || __builtin_add_overflow(*phases, each, phases);
        if (overflows) return json_in_fail(o->r->error, value, "too many phases");
    }
    return 0;
}

static int add_phases(const struct ordering *o, const struct json_value *items)
{
    struct model *model = o->r->model;
    for (size_t i = 0; i < json_in_length(items); i++) {
        const struct json_value *value = json_in_at(items, i), *body;
        uint64_t times;
        uint32_t family;
        if (json_in_type(value) != JSON_OBJECT) {
            FORWARD(family_of(o, value, &family));
            model->phase[model->phases++] = (struct model_phase){.family = family, .ph = ++o->seen[family]};
            continue;
        }
        FORWARD(loop_of(o, value, &times, &body));
        for (uint64_t k = 0; k < times; k++) FORWARD(add_phases(o, body));
    }
    return 0;
}

static int order_program(struct ordering *o, const struct json_value *value)
{
    struct model *model = o->r->model;
    struct model_program *program = &model->program[o->program];
    const struct json_value *order;
    uint64_t count;
    FORWARD(json_in_need_array(value, "order", &order, o->r->error));
    FORWARD(count_phases(o, order, &count));
    uint64_t numbers; // that take as much memory
    if (__builtin_mul_overflow(count, sizeof *model->phase / sizeof(uint32_t), &numbers)) numbers = UINT64_MAX;
    FORWARD(read_charge(o->r, order, numbers));
    struct model_phase *more = realloc(model->phase, (model->phases + count + 1) * sizeof *more);
    RETURN_IF(!more, -ENOMEM);
    model->phase = more;
    program->first = model->phases;
    FORWARD(add_phases(o, order));
    program->end = model->phases;
    return 0;
}

int read_order(struct reading *r)
{
    const struct json_value *programs = json_in_member(r->structure, "programs");
    struct ordering o = {.r = r, .seen = arena_alloc(&r->scratch, (r->model->families + 1) * sizeof *o.seen)};
    RETURN_IF(!o.seen, -ENOMEM);
    for (; o.program < r->model->programs; o.program++) {
        FORWARD(order_program(&o, json_in_at(programs, o.program)));
    }
    for (size_t i = 0; i < r->model->families; i++) {
        uint32_t count = r->model->family[i].count;
        if (o.seen[i] == count) continue;
        const struct json_value *families = json_in_member(r->structure, "families");
        return json_in_fail(r->error, json_in_at(families, i),
                            "family %zu has %" PRIu32 " phases, but is %" PRIu32 " times in the order", i + 1, count,
                            o.seen[i]);
    }
    return 0;
}
