#include "model/compare/fingerprint.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

#define LAST_RANK UINT64_MAX

struct fingerprinting {
    struct fingerprint *fingerprint;
    const struct model *model;
    struct part_fingerprint *part; // all of them, family after family
    size_t parts;
    size_t *first_phase; // by family: where its phases begin in `phase_at`
    uint32_t *phase_at;  // [first_phase[family] + ph - 1]: place in the model
    // Of the current part: the number of each file in it.
    uint32_t part_number;
    uint32_t *seen_by; // by file: part_number of the last part that used it
    uint32_t *local;   // by file
    uint32_t *file;    // the other way round
    size_t files;
};

// --- kinds and files

static uint64_t hash_type(const struct model_type *type) {
    uint64_t hash = hash_add(hash_add(type->bytes, (uint64_t)type->extent), type->cut);
    for (uint32_t i = 0; i < type->flat.items; i++) {
        const struct datatype_item *item = &type->flat.item[i];
        hash = hash_add(hash_add(hash, (uint64_t)item->offset), item->count);
        hash = hash_add(hash_add(hash_add(hash, (uint64_t)item->stride), item->bytes), item->span);
    }
    return hash;
}

static uint64_t hash_hints(const struct model_hints *hints) {
    uint64_t hash = 0; // a sum: the order does not count
    for (size_t i = 0; i < hints->asked_count; i++)
        hash += hash_text(hash_text(6, hints->asked[i].name), hints->asked[i].value);
    return hash;
}

static uint64_t hash_membership(uint64_t hash, const struct model_value *value, uint32_t np) {
    if (!value->table) return value->text ? hash_text(hash, value->text) : hash;
    for (uint32_t i = 0; i < np; i++) hash = hash_add(hash, (uint64_t)value->table[i]);
    return hash;
}

static uint64_t hash_communicator(const struct model *model, const struct model_communicator *communicator) {
    uint32_t np = model->program[communicator->program].np;
    uint64_t hash = hash_text(7, communicator->origin);
    return hash_membership(hash_membership(hash, &communicator->color, np), &communicator->key, np);
}

// The place of the type of a view is a coordinate: it means something only together with the table of types.
static struct kind_fingerprint fingerprint_kind(const struct fingerprint *fingerprint, const struct op_kind *kind) {
    struct kind_fingerprint to = {0};
    if (kind->memory) to.memory = fingerprint->type[kind->memory - 1];
    if (kind->hints) to.hints = hash_hints(&fingerprint->model->hints[kind->hints - 1]);
    uint64_t hash = hash_text(kind->class, kind->call);
    hash = hash_add(hash, kind->layer);
    hash = hash_add(hash, (uint64_t)kind->collective | (uint64_t)kind->nonblocking << 1 |
                              (uint64_t)kind->has_offset << 2 | (uint64_t)kind->has_view << 3);
    hash = hash_add(hash, (uint64_t)kind->flags << 32 | kind->whence);
    hash = hash_add(hash_add(hash, to.memory), to.hints);
    if (kind->communicator)
        hash = hash_add(
            hash, hash_communicator(fingerprint->model, &fingerprint->model->communicator[kind->communicator - 1]));
    hash = hash_add(hash, kind->handle);
    if (kind->etype_bytes) hash = hash_add(hash_add(hash, kind->etype_bytes), fingerprint->types);
    to.whole = hash_add(hash, (uint64_t)fingerprint_error(kind));
    return to;
}

static uint64_t local_file(struct fingerprinting *d, uint32_t file) {
    if (file == OP_NO_SET) return file;
    if (d->seen_by[file] != d->part_number) {
        d->seen_by[file] = d->part_number;
        d->local[file] = (uint32_t)d->files;
        d->file[d->files++] = file;
    }
    return d->local[file];
}

static uint64_t mix_kind(struct fingerprinting *d, uint64_t hash, uint32_t id) {
    const struct op_kind *kind = &d->model->kind[id];
    hash = hash_add(hash, d->fingerprint->kind[id].whole);
    hash = hash_add(hash, local_file(d, kind->set));
    return hash_add(hash, local_file(d, kind->set2));
}

// --- what is the same in all phases of a family

static uint64_t hash_ranks(const struct model_part *part, uint32_t np) {
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

static uint64_t mix_value(struct part_fingerprint *to, uint64_t hash, const struct model_value *value) {
    if (!value->text) return hash_add(hash, value->table != NULL);
    if (strstr(value->text, "ph")) to->uses_ph = true;
    return hash_text(hash, value->text);
}

static uint64_t hash_items(struct fingerprinting *d, struct part_fingerprint *to, const struct model_items *items) {
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

// --- what changes from phase to phase: tables and lists

static uint64_t mix_list(struct fingerprinting *d, uint64_t hash, const struct op *ops, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        hash = mix_kind(d, hash, ops[i].kind);
        for (unsigned c = 0; c < AT_COUNT; c++) hash = hash_add(hash, (uint64_t)ops[i].at[c]);
    }
    return hash;
}

static uint64_t hash_tables(struct fingerprinting *d, const struct model_items *items, size_t first, size_t ranks) {
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

// --- features

static void add_op_features(const struct model *model, struct phase_features *features, uint32_t id, uint64_t size,
                            uint64_t count, uint64_t reps[CLASS_COUNT]) {
    const struct op_kind *kind = &model->kind[id];
    const char *name = op_kind_name(kind);
    features->classes |= 1u << kind->class;
    if (name && !op_kind_moves(kind))
        features->classes |= 1u << (CLASS_COUNT + hash_text(8, name) % (32 - CLASS_COUNT));
    features->sizes += hash_add(hash_add(4, kind->class), size);
    features->calls |= UINT64_C(1) << (hash_text(5, kind->call) & 63);
    features->loops = hash_add(features->loops, kind->class);
    reps[kind->class] += count;
}

static void add_item_features(const struct model *model, struct phase_features *features,
                              const struct model_items *items, uint64_t count, uint64_t reps[CLASS_COUNT]) {
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        const struct model_value *size = &item->at[AT_SIZE];
        features->loops = hash_add(hash_add(features->loops, item->type), item->count);
        if (item->type == LOOPS_LOOP) {
            add_item_features(model, features, &item->body, count * item->count, reps);
        } else if (item->type == LOOPS_LIST) {
            if (item->count) add_op_features(model, features, item->list[0][0].kind, 0, count * item->count, reps);
        } else {
            uint64_t hash = size->text ? hash_text(0, size->text) : size->table ? (uint64_t)size->table[0] : 0;
            add_op_features(model, features, item->kind, hash, count, reps);
        }
    }
}

// Parts of different ranks with equal features count once, as the number of parts depends on the number of processes.
static void add_part_features(const struct model *model, struct phase_features *features,
                              const struct model_part *parts, size_t count) {
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        struct phase_features one = {0};
        uint64_t reps[CLASS_COUNT] = {0};
        add_item_features(model, &one, &parts[i].items, 1, reps);
        uint64_t hash = hash_add(hash_add(one.loops, one.sizes), one.calls);
        if (hash == last) continue;
        last = hash;
        for (unsigned class = 0; class < CLASS_COUNT; class ++) features->reps = hash_add(features->reps, reps[class]);
        features->classes |= one.classes;
        features->sizes += one.sizes;
        features->calls |= one.calls;
        features->loops = hash_add(features->loops, one.loops);
    }
}

// --- parts and phases

static int keep_files(struct fingerprinting *d, struct part_fingerprint *to) {
    to->files = d->files;
    to->file = arena_copy(&d->fingerprint->arena, d->file, d->files * sizeof *d->file);
    return to->file || !d->files ? 0 : -ENOMEM;
}

static uint64_t count_ops(const struct model_part *part) {
    uint64_t ops = 0;
    for (size_t i = 0; i < part->items.count; i++) {
        if (__builtin_add_overflow(ops, part->items.item[i].ops, &ops)) return UINT64_MAX;
    }
    return __builtin_mul_overflow(ops, part->ranks, &ops) ? UINT64_MAX : ops;
}

static int fingerprint_part(struct fingerprinting *d, uint32_t family, const struct model_part *part, bool is_other) {
    struct part_fingerprint *to = &d->part[d->parts++];
    uint32_t np = d->model->program[d->model->family[family].program].np, count = d->model->family[family].count;
    *to = (struct part_fingerprint){.part = part, .is_other = is_other};
    d->part_number = (uint32_t)d->parts;
    d->files = 0;
    to->fixed = hash_add(hash_ranks(part, np), hash_items(d, to, &part->items));
    to->fixed = hash_add(to->fixed, (uint64_t)part->thread << 1 | is_other);
    uint64_t ops = count_ops(part);
    for (size_t i = 0; i < part->phs; i++) {
        RETURN_IF(part->ph[i] < 1 || part->ph[i] > count, ERR_FORMAT);
        struct phase_fingerprint *phase = &d->fingerprint->phase[d->phase_at[d->first_phase[family] + part->ph[i] - 1]];
        uint64_t hash = hash_add(phase->structure, to->fixed);
        if (to->uses_ph) hash = hash_add(hash, part->ph[i]);
        phase->structure = hash_add(hash, hash_tables(d, &part->items, i * part->ranks, part->ranks));
        phase->part[phase->parts++] = to;
        uint64_t *sum = is_other ? &phase->others : &phase->ops;
        if (__builtin_add_overflow(*sum, ops, sum)) *sum = UINT64_MAX;
    }
    return keep_files(d, to);
}

static void count_parts(struct fingerprinting *d, uint32_t family, const struct model_part *part, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < part[i].phs; k++) {
            if (part[i].ph[k] < 1 || part[i].ph[k] > d->model->family[family].count) continue;
            d->fingerprint->phase[d->phase_at[d->first_phase[family] + part[i].ph[k] - 1]].parts++;
        }
    }
}

static int fingerprint_family(struct fingerprinting *d, uint32_t id) {
    const struct model_family *family = &d->model->family[id];
    struct phase_features features = {0};
    add_part_features(d->model, &features, family->part, family->parts);
    if (!family->parts) add_part_features(d->model, &features, family->other, family->others);
    count_parts(d, id, family->part, family->parts);
    count_parts(d, id, family->other, family->others);
    for (uint32_t i = 0; i < family->count; i++) {
        struct phase_fingerprint *phase = &d->fingerprint->phase[d->phase_at[d->first_phase[id] + i]];
        phase->features = features;
        FORWARD(arena_array(&d->fingerprint->arena, phase->part, phase->parts));
        phase->parts = 0;
    }
    for (size_t i = 0; i < family->parts; i++) FORWARD(fingerprint_part(d, id, &family->part[i], false));
    for (size_t i = 0; i < family->others; i++) FORWARD(fingerprint_part(d, id, &family->other[i], true));
    return 0;
}

// Finds the phases of each family. A family has each ph from 1 on once.
static int place_phases(struct fingerprinting *d) {
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

static int fingerprint_all(struct fingerprinting *d) {
    const struct model *model = d->model;
    FORWARD(place_phases(d));
    for (size_t i = 0; i < model->types.count; i++)
        d->fingerprint->types =
            hash_add(d->fingerprint->types, d->fingerprint->type[i] = hash_type(&model->types.type[i]));
    for (size_t i = 0; i < model->kinds; i++)
        d->fingerprint->kind[i] = fingerprint_kind(d->fingerprint, &model->kind[i]);
    for (uint32_t i = 0; i < model->families; i++) FORWARD(fingerprint_family(d, i));
    for (size_t i = 0; i < model->programs; i++) {
        const struct model_program *program = &model->program[i];
        uint64_t hash = hash_add(program->np, program->is_mpi);
        for (size_t k = program->first; k < program->end; k++)
            hash = hash_add(hash, d->fingerprint->phase[k].structure);
        d->fingerprint->program[i] = hash;
    }
    for (size_t i = 0; i < model->phases && !d->fingerprint->has_times; i++)
        d->fingerprint->has_times = model->phase[i].duration_ns > 0 || model->phase[i].other_ns > 0;
    return 0;
}

static int prepare(struct fingerprinting *d) {
    const struct model *model = d->model;
    struct fingerprint *fingerprint = d->fingerprint;
    struct arena *arena = &fingerprint->arena;
    size_t parts = 0;
    for (size_t i = 0; i < model->families; i++) parts += model->family[i].parts + model->family[i].others;
    FORWARD(arena_array(arena, fingerprint->type, model->types.count));
    FORWARD(arena_array(arena, fingerprint->kind, model->kinds));
    FORWARD(arena_array(arena, fingerprint->phase, model->phases));
    FORWARD(arena_array(arena, fingerprint->program, model->programs));
    FORWARD(arena_array(arena, d->part, parts));
    FORWARD(arena_array(arena, d->first_phase, model->families));
    FORWARD(arena_array(arena, d->phase_at, model->phases));
    FORWARD(arena_array(arena, d->seen_by, model->files));
    FORWARD(arena_array(arena, d->local, model->files));
    return arena_array(arena, d->file, model->files);
}

int fingerprint_make(struct fingerprint *fingerprint, const struct model *model) {
    struct fingerprinting d = {.fingerprint = fingerprint, .model = model};
    *fingerprint = (struct fingerprint){.model = model};
    int code = prepare(&d);
    if (!code) code = fingerprint_all(&d);
    if (code) fingerprint_free(fingerprint);
    return code;
}

void fingerprint_free(struct fingerprint *fingerprint) {
    arena_free(&fingerprint->arena);
    *fingerprint = (struct fingerprint){0};
}

unsigned fingerprint_likeness(const struct phase_fingerprint *a, const struct phase_fingerprint *b) {
    if (a->structure == b->structure) return LIKE_EQUAL;
    if (a->features.classes != b->features.classes) return 0;
    return 2 + 4u * (a->features.sizes == b->features.sizes) + 4u * (a->features.reps == b->features.reps) +
           4u * (a->features.loops == b->features.loops) + 2u * (a->features.calls == b->features.calls);
}
