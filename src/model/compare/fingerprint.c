#include "model/compare/fingerprint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

#define LAST_RANK UINT64_MAX

struct digesting {
    struct fingerprint *digest;
    const struct model *model;
    struct part_digest *part; // all of them, family after family
    size_t parts;
    size_t *first_phase; // by family: where its phases begin in `phase_at`
    uint32_t *phase_at;  // [first_phase[family] + ph - 1]: place in the model
    // Of the part under way: the number that each file has in it.
    uint32_t part_number;
    uint32_t *seen_by; // by file: part_number of the last part that used it
    uint32_t *local;   // by file
    uint32_t *file;    // the other way round
    size_t files;
};

// --- kinds and files

static uint64_t hash_type(const struct model_type *type)
{
    uint64_t hash = hash_add(hash_add(type->bytes, (uint64_t)type->extent), type->cut);
    for (uint32_t i = 0; i < type->flat.items; i++) {
        const struct datatype_item *item = &type->flat.item[i];
        hash = hash_add(hash_add(hash, (uint64_t)item->offset), item->count);
        hash = hash_add(hash_add(hash_add(hash, (uint64_t)item->stride), item->bytes), item->span);
    }
    return hash;
}

static uint64_t hash_hints(const struct model_hints *hints)
{
    uint64_t hash = 0; // a sum: the order does not count
    for (size_t i = 0; i < hints->asked_count; i++)
        hash += hash_text(hash_text(6, hints->asked[i].name), hints->asked[i].value);
    return hash;
}

// The place of a view's type is a coordinate: it says something only together with the table of types.
static struct kind_digest fingerprint_kind(const struct fingerprint *digest, const struct op_kind *kind)
{
    struct kind_digest to = {0};
    if (kind->memory) to.memory = digest->type[kind->memory - 1];
    if (kind->hints) to.hints = hash_hints(&digest->model->hints[kind->hints - 1]);
    uint64_t hash = hash_text(kind->class, kind->call);
    hash = hash_add(hash, kind->layer);
    hash = hash_add(hash, (uint64_t)kind->collective | (uint64_t)kind->nonblocking << 1 |
                              (uint64_t)kind->has_offset << 2 | (uint64_t)kind->has_view << 3);
    hash = hash_add(hash, (uint64_t)kind->flags << 32 | kind->whence);
    hash = hash_add(hash_add(hash, to.memory), to.hints);
    if (kind->etype_bytes) hash = hash_add(hash_add(hash, kind->etype_bytes), digest->types);
    to.whole = hash_add(hash, (uint64_t)fingerprint_error(kind));
    return to;
}

static uint64_t local_file(struct digesting *d, uint32_t file)
{
    if (file == OP_NO_SET) return file;
    if (d->seen_by[file] != d->part_number) {
        d->seen_by[file] = d->part_number;
        d->local[file] = (uint32_t)d->files;
        d->file[d->files++] = file;
    }
    return d->local[file];
}

static uint64_t mix_kind(struct digesting *d, uint64_t hash, uint32_t id)
{
    const struct op_kind *kind = &d->model->kind[id];
    hash = hash_add(hash, d->digest->kind[id].whole);
    hash = hash_add(hash, local_file(d, kind->set));
    return hash_add(hash, local_file(d, kind->set2));
}

// --- what does not change with ph

static uint64_t hash_ranks(const struct model_part *part, uint32_t np)
{
    uint64_t hash = 1;
    for (size_t i = 0, end; i < part->ranks; i = end) {
        for (end = i + 1; end < part->ranks && part->rank[end] == part->rank[end - 1] + 1;) end++;
        uint64_t first = part->rank[i], last = part->rank[end - 1];
        if (last + 1 == np) {
            if (first == last && first) first = LAST_RANK;
            last = LAST_RANK;
        }
        hash = hash_add(hash_add(hash, first), last);
    }
    return hash;
}

static uint64_t mix_value(struct part_digest *to, uint64_t hash, const struct model_value *value)
{
    if (!value->text) return hash_add(hash, value->table != NULL);
    if (strstr(value->text, "ph")) to->uses_ph = true;
    return hash_text(hash, value->text);
}

static uint64_t hash_items(struct digesting *d, struct part_digest *to, const struct model_items *items)
{
    uint64_t hash = hash_add(2, items->count);
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        hash = hash_add(hash_add(hash, item->type), item->count);
        if (item->type == LOOPS_LOOP) hash = hash_add(hash, hash_items(d, to, &item->body));
        if (item->type != LOOPS_OP) continue;
        hash = mix_kind(d, hash, item->kind);
        for (unsigned s = 0; s < item->steps; s++) {
            for (unsigned c = 0; c < AT_COUNT; c++) hash = hash_add(hash, (uint64_t)item->step[s].at[c]);
        }
        for (unsigned c = 0; c < AT_COUNT; c++) hash = mix_value(to, hash, &item->at[c]);
    }
    return hash;
}

// --- what does: tables and lists

static uint64_t mix_list(struct digesting *d, uint64_t hash, const struct op *ops, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        hash = mix_kind(d, hash, ops[i].kind);
        for (unsigned c = 0; c < AT_COUNT; c++) hash = hash_add(hash, (uint64_t)ops[i].at[c]);
    }
    return hash;
}

static uint64_t hash_tables(struct digesting *d, const struct model_items *items, size_t first, size_t ranks)
{
    uint64_t hash = 3;
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        if (item->type == LOOPS_LOOP) hash = hash_add(hash, hash_tables(d, &item->body, first, ranks));
        for (size_t r = 0; item->type == LOOPS_LIST && r < ranks; r++) {
            hash = mix_list(d, hash, item->list[first + r], item->count);
        }
        for (unsigned c = 0; item->type == LOOPS_OP && c < AT_COUNT; c++) {
            const struct model_value *value = &item->at[c];
            for (size_t r = 0; !value->text && value->table && r < ranks; r++)
                hash = hash_add(hash, (uint64_t)value->table[first + r]);
        }
    }
    return hash;
}

// --- how it looks

static void look_at_op(const struct model *model, struct look *look, uint32_t id, uint64_t size, uint64_t count,
                       uint64_t reps[CLASS_COUNT])
{
    const struct op_kind *kind = &model->kind[id];
    look->classes |= 1u << kind->class;
    look->sizes += hash_add(hash_add(4, kind->class), size);
    look->calls |= UINT64_C(1) << (hash_text(5, kind->call) & 63);
    look->loops = hash_add(look->loops, kind->class);
    reps[kind->class] += count;
}

static void look_at_items(const struct model *model, struct look *look, const struct model_items *items, uint64_t count,
                          uint64_t reps[CLASS_COUNT])
{
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        const struct model_value *size = &item->at[AT_SIZE];
        look->loops = hash_add(hash_add(look->loops, item->type), item->count);
        if (item->type == LOOPS_LOOP) {
            look_at_items(model, look, &item->body, count * item->count, reps);
        } else if (item->type == LOOPS_LIST) {
            if (item->count) look_at_op(model, look, item->list[0][0].kind, 0, count * item->count, reps);
        } else {
            uint64_t hash = size->text ? hash_text(0, size->text) : size->table ? (uint64_t)size->table[0] : 0;
            look_at_op(model, look, item->kind, hash, count, reps);
        }
    }
}

// Parts of different ranks that look alike count once: their number depends on that of the processes.
static void look_at_parts(const struct model *model, struct look *look, const struct model_part *parts, size_t count)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        struct look one = {0};
        uint64_t reps[CLASS_COUNT] = {0};
        look_at_items(model, &one, &parts[i].items, 1, reps);
        uint64_t hash = hash_add(hash_add(one.loops, one.sizes), one.calls);
        if (hash == last) continue;
        last = hash;
        for (unsigned class = 0; class < CLASS_COUNT; class ++) look->reps = hash_add(look->reps, reps[class]);
        look->classes |= one.classes;
        look->sizes += one.sizes;
        look->calls |= one.calls;
        look->loops = hash_add(look->loops, one.loops);
    }
}

// --- parts and phases

static int keep_files(struct digesting *d, struct part_digest *to)
{
    to->files = d->files;
    to->file = arena_copy(&d->digest->arena, d->file, d->files * sizeof *d->file);
    return to->file || !d->files ? 0 : -ENOMEM;
}

static uint64_t count_ops(const struct model_part *part)
{
    uint64_t ops = 0;
    for (size_t i = 0; i < part->items.count; i++) {
        if (__builtin_add_overflow(ops, part->items.item[i].ops, &ops)) return UINT64_MAX;
    }
    return __builtin_mul_overflow(ops, part->ranks, &ops) ? UINT64_MAX : ops;
}

static int fingerprint_part(struct digesting *d, uint32_t family, const struct model_part *part, bool is_other)
{
    struct part_digest *to = &d->part[d->parts++];
    uint32_t np = d->model->program[d->model->family[family].program].np, count = d->model->family[family].count;
    *to = (struct part_digest){.part = part, .is_other = is_other};
    d->part_number = (uint32_t)d->parts;
    d->files = 0;
    to->fixed = hash_add(hash_ranks(part, np), hash_items(d, to, &part->items));
    to->fixed = hash_add(to->fixed, (uint64_t)part->thread << 1 | is_other);
    uint64_t ops = count_ops(part);
    for (size_t i = 0; i < part->phs; i++) {
        RETURN_IF(part->ph[i] < 1 || part->ph[i] > count, ERR_FORMAT);
        struct phase_digest *phase = &d->digest->phase[d->phase_at[d->first_phase[family] + part->ph[i] - 1]];
        uint64_t hash = hash_add(phase->structure, to->fixed);
        if (to->uses_ph) hash = hash_add(hash, part->ph[i]);
        phase->structure = hash_add(hash, hash_tables(d, &part->items, i * part->ranks, part->ranks));
        phase->part[phase->parts++] = to;
        uint64_t *sum = is_other ? &phase->others : &phase->ops;
        if (__builtin_add_overflow(*sum, ops, sum)) *sum = UINT64_MAX;
    }
    return keep_files(d, to);
}

static void count_parts(struct digesting *d, uint32_t family, const struct model_part *part, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < part[i].phs; k++) {
            if (part[i].ph[k] < 1 || part[i].ph[k] > d->model->family[family].count) continue;
            d->digest->phase[d->phase_at[d->first_phase[family] + part[i].ph[k] - 1]].parts++;
        }
    }
}

static int fingerprint_family(struct digesting *d, uint32_t id)
{
    const struct model_family *family = &d->model->family[id];
    struct look look = {0};
    look_at_parts(d->model, &look, family->part, family->parts);
    if (!family->parts) look_at_parts(d->model, &look, family->other, family->others);
    count_parts(d, id, family->part, family->parts);
    count_parts(d, id, family->other, family->others);
    for (uint32_t i = 0; i < family->count; i++) {
        struct phase_digest *phase = &d->digest->phase[d->phase_at[d->first_phase[id] + i]];
        phase->look = look;
        phase->part = arena_alloc(&d->digest->arena, (phase->parts + 1) * sizeof *phase->part);
        RETURN_IF(!phase->part, -ENOMEM);
        phase->parts = 0;
    }
    for (size_t i = 0; i < family->parts; i++) FORWARD(fingerprint_part(d, id, &family->part[i], false));
    for (size_t i = 0; i < family->others; i++) FORWARD(fingerprint_part(d, id, &family->other[i], true));
    return 0;
}

// Where the phases of each family are. A family has each ph from 1 on once.
static int place_phases(struct digesting *d)
{
    const struct model *model = d->model;
    size_t next = 0;
    for (size_t i = 0; i < model->families; i++) {
        d->first_phase[i] = next;
        RETURN_IF(model->family[i].count > model->phases - next, ERR_FORMAT);
        next += model->family[i].count;
    }
    RETURN_IF(next != model->phases, ERR_FORMAT);
    memset(d->phase_at, 0xff, (model->phases + 1) * sizeof *d->phase_at);
    for (size_t i = 0; i < model->phases; i++) {
        const struct model_phase *phase = &model->phase[i];
        RETURN_IF(phase->family >= model->families, ERR_FORMAT);
        RETURN_IF(phase->ph < 1 || phase->ph > model->family[phase->family].count, ERR_FORMAT);
        uint32_t *at = &d->phase_at[d->first_phase[phase->family] + phase->ph - 1];
        RETURN_IF(*at != UINT32_MAX, ERR_FORMAT);
        *at = (uint32_t)i;
    }
    return 0;
}

static int fingerprint_all(struct digesting *d)
{
    const struct model *model = d->model;
    FORWARD(place_phases(d));
    for (size_t i = 0; i < model->types.count; i++)
        d->digest->types = hash_add(d->digest->types, d->digest->type[i] = hash_type(&model->types.type[i]));
    for (size_t i = 0; i < model->kinds; i++) d->digest->kind[i] = fingerprint_kind(d->digest, &model->kind[i]);
    for (uint32_t i = 0; i < model->families; i++) FORWARD(fingerprint_family(d, i));
    for (size_t i = 0; i < model->programs; i++) {
        const struct model_program *program = &model->program[i];
        uint64_t hash = hash_add(program->np, program->is_mpi);
        for (size_t k = program->first; k < program->end; k++) hash = hash_add(hash, d->digest->phase[k].structure);
        d->digest->program[i] = hash;
    }
    for (size_t i = 0; i < model->phases && !d->digest->has_times; i++)
        d->digest->has_times = model->phase[i].duration_ns > 0 || model->phase[i].other_ns > 0;
    return 0;
}

static int prepare(struct digesting *d)
{
    const struct model *model = d->model;
    struct fingerprint *digest = d->digest;
    struct arena *arena = &digest->arena;
    size_t parts = 0;
    for (size_t i = 0; i < model->families; i++) parts += model->family[i].parts + model->family[i].others;
    digest->type = arena_alloc(arena, (model->types.count + 1) * sizeof *digest->type);
    digest->kind = arena_alloc(arena, (model->kinds + 1) * sizeof *digest->kind);
    digest->phase = arena_alloc(arena, (model->phases + 1) * sizeof *digest->phase);
    digest->program = arena_alloc(arena, (model->programs + 1) * sizeof *digest->program);
    d->part = arena_alloc(arena, (parts + 1) * sizeof *d->part);
    d->first_phase = calloc(model->families + 1, sizeof *d->first_phase);
    d->phase_at = calloc(model->phases + 1, sizeof *d->phase_at);
    d->seen_by = calloc(model->files + 1, sizeof *d->seen_by);
    d->local = calloc(model->files + 1, sizeof *d->local);
    d->file = calloc(model->files + 1, sizeof *d->file);
    RETURN_IF(!digest->type || !digest->kind || !digest->phase || !digest->program || !d->part, -ENOMEM);
    return d->first_phase && d->phase_at && d->seen_by && d->local && d->file ? 0 : -ENOMEM;
}

int fingerprint_make(struct fingerprint *digest, const struct model *model)
{
    struct digesting d = {.digest = digest, .model = model};
    *digest = (struct fingerprint){.model = model};
    int code = prepare(&d);
    if (!code) code = fingerprint_all(&d);
    free(d.first_phase);
    free(d.phase_at);
    free(d.seen_by);
    free(d.local);
    free(d.file);
    if (code) fingerprint_free(digest);
    return code;
}

void fingerprint_free(struct fingerprint *digest)
{
    arena_free(&digest->arena);
    *digest = (struct fingerprint){0};
}

unsigned fingerprint_likeness(const struct phase_digest *a, const struct phase_digest *b)
{
    if (a->structure == b->structure) return LIKE_EQUAL;
    if (a->look.classes != b->look.classes) return 0;
    return 2 + 4u * (a->look.sizes == b->look.sizes) + 4u * (a->look.reps == b->look.reps) +
           4u * (a->look.loops == b->look.loops) + 2u * (a->look.calls == b->look.calls);
}
