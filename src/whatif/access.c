#include "whatif/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"
#include "base/scoped.h"

// A file as a rank has it open.
struct opened {
    struct datatype_tiling view;
    const struct model_hints *hints;
};

struct walking {
    const struct model *model;
    bool *bypasses; // by set of files: the page cache
    struct accesses *families;
    size_t most; // of one rank in one phase
    uint32_t rank;
    struct lookup opened_at; // set and member, and handle -> place in opened[]
    struct opened *opened;
    size_t opens;
    struct lookup numbers; // set and direction, member -> transfers so far in this phase
    uint32_t phase;        // in which they were counted
    size_t kept;           // of this rank in this phase
};

// --- files and views

static struct opened *opened_of(struct walking *w, const struct model_step *step) {
    uint64_t key =
        lookup_pair(step->kind->set * OP_MOST_HANDLES + step->kind->handle, (uint32_t)step->op->at[AT_MEMBER]);
    uint32_t place = lookup_find(&w->opened_at, key);
    if (place != LOOKUP_NONE) return &w->opened[place];
    if (array_push(w->opened, w->opens, (struct opened){0})) return NULL;
    if (lookup_set(&w->opened_at, key, (uint32_t)(w->opens - 1)) < 0) return NULL;
    return &w->opened[w->opens - 1];
}

static const struct model_hints *hints_of(const struct walking *w, const struct op_kind *kind) {
    return kind->hints && kind->hints <= w->model->hints_count ? &w->model->hints[kind->hints - 1] : NULL;
}

static void set_view(const struct walking *w, const struct model_step *step, struct opened *opened) {
    int64_t place = step->op->at[AT_SECOND];
    const struct types *types = &w->model->types;
    if (place < 0 || (uint64_t)place >= types->count) return;
    const struct model_type *type = &types->type[place];
    opened->view = (struct datatype_tiling){&type->flat, type->bytes, type->extent, step->op->at[AT_OFFSET]};
}

static int follow_file(struct walking *w, const struct model_step *step) {
    const struct op_kind *kind = step->kind;
    if (kind->set == OP_NO_SET || kind->layer != LAYER_MPIIO) return 0;
    if (kind->class != CLASS_OPEN && !kind->etype_bytes) return 0;
    struct opened *opened = opened_of(w, step);
    RETURN_IF(!opened, -ENOMEM);
    if (kind->class == CLASS_OPEN) *opened = (struct opened){.hints = hints_of(w, kind)};
    if (kind->etype_bytes) set_view(w, step, opened);
    if (!opened->hints) opened->hints = hints_of(w, kind);
    return 0;
}

// --- transfers

// A few long pauses, while the machine did something else, must not become many.
static double think_of(const struct model_pause *pause) {
    return pause && pause->count ? (double)pause->quantile_ns[2] / 1e9 : 0;
}

static int next_number(struct walking *w, const struct model_step *step, uint32_t *number) {
    bool write = step->kind->class == CLASS_WRITE;
    uint64_t key = lookup_pair(step->kind->set * 2 + write, (uint32_t)step->op->at[AT_MEMBER]);
    uint32_t before = lookup_find(&w->numbers, key);
    *number = before == LOOKUP_NONE ? 0 : before;
    return lookup_set(&w->numbers, key, *number + 1);
}

// As the replay makes files that were there before.
static enum access_cache cache_of(const struct walking *w, const struct op_kind *kind) {
    const struct model_file *file = &w->model->file[kind->set];
    if (w->bypasses[kind->set]) return ACCESS_BYPASSES;
    if (kind->class == CLASS_WRITE || !file->read_before) return ACCESS_NEW;
    return file->read_cached * 2 < file->read_before ? ACCESS_OLD : ACCESS_OLD_CACHED;
}

static int keep(struct walking *w, const struct model_step *step, struct accesses *to) {
    const struct op_kind *kind = step->kind;
    const struct opened *opened = opened_of(w, step);
    int64_t moved = step->op->at[AT_SIZE] - step->op->at[AT_SHORT];
    RETURN_IF(!opened, -ENOMEM);
    bool in_view = kind->has_view && opened->view.type;
    struct access access = {
        .rank = w->rank,
        .set = kind->set,
        .member = (uint32_t)step->op->at[AT_MEMBER],
        .write = kind->class == CLASS_WRITE,
        .mpiio = kind->layer == LAYER_MPIIO,
        .collective = kind->collective,
        .nonblocking = kind->nonblocking,
        .cache = cache_of(w, kind),
        .position = (uint64_t)step->op->at[in_view ? AT_SECOND : AT_OFFSET],
        .bytes = moved > 0 ? (uint64_t)moved : 0,
        .think = think_of(step->think),
        .hints = opened->hints,
    };
    if (in_view) access.view = opened->view;
    FORWARD(next_number(w, step, &access.number));
    to->bytes += access.bytes;
    return array_push(to->item, to->count, access);
}

static int see(const struct model_step *step, void *context) {
    struct walking *w = context;
    const struct model_phase *phase = &w->model->phase[step->phase];
    if (w->phase != step->phase) {
        lookup_clear(&w->numbers);
        w->phase = step->phase;
        w->kept = 0;
    }
    if (step->is_other || !op_kind_moves(step->kind) || step->kind->set == OP_NO_SET) return follow_file(w, step);
    if (phase->ph != 1 || step->kind->error || w->kept++ >= w->most) return 0;
    return keep(w, step, &w->families[phase->family]);
}

// --- walks

static bool has_views(const struct model *model) {
    for (size_t i = 0; i < model->kinds; i++) {
        if (model->kind[i].has_view) return true;
    }
    return false;
}

// Views are set once and hold for later phases: then all phases are walked.
static int walk_rank(struct walking *w, uint32_t program, uint32_t thread) {
    const struct model_program *p = &w->model->program[program];
    if (has_views(w->model)) return model_expand(w->model, program, w->rank, thread, see, w);
    for (size_t i = p->first; i < p->end; i++) {
        if (w->model->phase[i].ph == 1 || i == p->first)
            FORWARD(model_expand_phase(w->model, (uint32_t)i, w->rank, thread, see, w));
    }
    return 0;
}

static int walk(struct walking *w, uint32_t program, size_t most) {
    uint32_t threads = model_threads(w->model, program), np = w->model->program[program].np;
    size_t families = 0;
    for (size_t i = 0; i < w->model->families; i++) families += w->model->family[i].program == program;
    w->most = most / (families ? families : 1) / np;
    if (w->most < ACCESSES_LEAST_OF_RANK) w->most = ACCESSES_LEAST_OF_RANK;
    for (w->rank = 0; w->rank < np; w->rank++) {
        lookup_clear(&w->opened_at);
        w->opens = 0;
        free(w->opened);
        w->opened = NULL;
        w->phase = UINT32_MAX;
        for (uint32_t thread = 0; thread < threads; thread++) FORWARD(walk_rank(w, program, thread));
    }
    return 0;
}

static void find_bypassed(struct walking *w) {
    for (size_t i = 0; i < w->model->kinds; i++) {
        const struct op_kind *kind = &w->model->kind[i];
        bool is_posix = kind->class == CLASS_OPEN && kind->layer == LAYER_POSIX && kind->set != OP_NO_SET;
        if (is_posix && kind->flags & (O_DIRECT | O_SYNC | O_DSYNC)) w->bypasses[kind->set] = true;
    }
}

int accesses_of_program(const struct model *model, uint32_t program, size_t most, struct accesses **families) {
    struct walking w = {.model = model,
                        .bypasses = calloc(model->files + 1, sizeof *w.bypasses),
                        .families = calloc(model->families + 1, sizeof *w.families)};
    int code = w.families && w.bypasses ? 0 : -ENOMEM;
    *families = w.families;
    if (!code) find_bypassed(&w);
    if (!code) code = walk(&w, program, most);
    for (size_t i = 0; i < model->families && w.families; i++) {
        double weight = (double)model->family[i].weight, seen = (double)w.families[i].bytes;
        w.families[i].share = weight > seen && seen > 0 ? seen / weight : 1;
    }
    lookup_free(&w.opened_at);
    lookup_free(&w.numbers);
    free(w.opened);
    free(w.bypasses);
    return code;
}

void accesses_free(struct accesses *families, size_t count) {
    for (size_t i = 0; families && i < count; i++) free(families[i].item);
    free(families);
}

// --- to the file

int access_pieces(const struct access *access, access_piece *piece, void *context) {
    struct datatype_map map;
    struct datatype_piece next;
    int more;
    if (!access->view.type) return access->bytes ? piece((int64_t)access->position, access->bytes, context) : 0;
    FORWARD(datatype_map_start(&map, &access->view, access->position, access->bytes));
    while ((more = datatype_map_next(&map, &next)) > 0) {
        int stop = piece(next.offset, next.bytes, context);
        if (stop) return stop;
    }
    return more;
}

static int count_two(int64_t offset, uint64_t bytes, void *context) {
    (void)offset, (void)bytes;
    return ++*(int *)context >= 2 ? 1 : 0;
}

bool access_is_contiguous(const struct access *access) {
    int pieces = 0;
    return !access->view.type || (access_pieces(access, count_two, &pieces) >= 0 && pieces < 2);
}

static const char *find_hint(const struct model_hint *hint, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(hint[i].name, name)) return hint[i].value;
    }
    return NULL;
}

const char *access_hint(const struct access *access, const char *name) {
    const struct model_hints *hints = access->hints;
    if (!hints) return NULL;
    const char *found = find_hint(hints->in_force, hints->in_force_count, name);
    return found ? found : find_hint(hints->asked, hints->asked_count, name);
}

uint64_t access_hint_number(const struct access *access, const char *name, uint64_t otherwise) {
    const char *text = access_hint(access, name);
    char *end;
    if (!text) return otherwise;
    uint64_t number = strtoull(text, &end, 10);
    return end > text && number ? number : otherwise;
}

// --- variants

static bool follows(const struct access *before, const struct access *next) {
    return before->rank == next->rank && before->set == next->set && before->member == next->member &&
           before->write == next->write && before->position + before->bytes == next->position &&
           before->view.type == next->view.type && before->view.displacement == next->view.displacement;
}

// Adds a run of bytes that follow each other, in transfers of at most `size`.
static int divide(struct accesses *to, const struct access *run, uint64_t size, struct lookup *numbers) {
    struct access part = *run;
    for (uint64_t done = 0; done < run->bytes; done += part.bytes) {
        uint64_t key = lookup_pair(run->set * 2 + run->write, run->member ^ run->rank << 20);
        uint32_t before = lookup_find(numbers, key);
        part.position = run->position + done;
        part.bytes = run->bytes - done < size ? run->bytes - done : size;
        part.number = before == LOOKUP_NONE ? 0 : before;
        FORWARD(lookup_set(numbers, key, part.number + 1));
        FORWARD(array_push(to->item, to->count, part));
        part.think = 0;
    }
    return 0;
}

// The size that requests get; 0: as they are.
static uint64_t size_of(const struct variant *variant, const struct access *access) {
    if (variant->request) return variant->request;
    double size = variant->request_factor * (double)access->bytes;
    return variant->request_factor > 0 && size >= 1 ? (uint64_t)size : 0;
}

static int change_sizes(const struct accesses *from, const struct variant *variant, struct accesses *to) {
    SCOPED(lookup_free) struct lookup numbers = {0};
    for (size_t i = 0; i < from->count;) {
        struct access run = from->item[i];
        uint64_t size = size_of(variant, &run);
        for (i++; i < from->count && follows(&run, &from->item[i]); i++) {
            run.bytes += from->item[i].bytes;
            run.think += from->item[i].think;
        }
        FORWARD(divide(to, &run, size ? size : run.bytes, &numbers));
    }
    return 0;
}

// The same bytes at the same places, in a file of each rank for each that they share.
static int own_files(struct accesses *to) {
    uint32_t ranks = 0;
    for (size_t i = 0; i < to->count; i++) ranks = to->item[i].rank >= ranks ? to->item[i].rank + 1 : ranks;
    for (size_t i = 0; i < to->count; i++) to->item[i].member = to->item[i].member * ranks + to->item[i].rank;
    return 0;
}

int accesses_vary(const struct accesses *from, const struct variant *variant, struct accesses *to) {
    *to = (struct accesses){.bytes = from->bytes, .share = from->share};
    if (variant->request || variant->request_factor > 0) {
        FORWARD(change_sizes(from, variant, to));
    } else {
        for (size_t i = 0; i < from->count; i++) FORWARD(array_push(to->item, to->count, from->item[i]));
    }
    for (size_t i = 0; i < to->count; i++) {
        if (variant->interface == VARIANT_POSIX) to->item[i].mpiio = to->item[i].collective = false;
        if (variant->interface == VARIANT_INDEPENDENT) to->item[i].collective = false;
        if (variant->interface == VARIANT_COLLECTIVE) to->item[i].collective = to->item[i].mpiio;
        if (variant->nonblocking) to->item[i].nonblocking = true;
    }
    return variant->own_files ? own_files(to) : 0;
}
