#include "model/compare/similarity.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/phase_list.h"

enum { LOOKAHEAD = 64 }; // operations to search for the place where both agree again

// An operation in a form in which both sides can be compared.
struct entry {
    const char *call;
    uint32_t set, member;
    int64_t offset, view, size, moved;
    uint64_t together; // of an open with MPI: a hash of the ranks that open; 0: not known
    int64_t pause_ns;  // before it: the mean of such
    bool failed;
    bool closes;
};

struct entries {
    const struct model *model;
    similarity_file *file; // NULL: the sets are A's own
    void *context;
    const char *phases; // that count; NULL: all
    bool scaled;
    const uint64_t *together; // [communicator * np + rank], as in model_hash_members
    uint32_t rank, np;
    int64_t pause_ns; // before synchronisations since the last entry
    struct entry *entry;
    size_t count;
};

// Returns the call that a replay uses for this one: one interface for all asynchronous transfers, calls that name a
// stream for standard input and output, open for temporary files. The comparison treats both calls as the same.
static const char *replayed_call(const struct op_kind *kind) {
    return kind->call_id ? call_names[call_table[kind->call_id].replayed_as] : kind->call;
}

static int add_entry(const struct model_step *step, void *context) {
    struct entries *entries = context;
    const struct op_kind *kind = step->kind;
    if (step->think && step->think->count) entries->pause_ns += step->think->total_ns / (int64_t)step->think->count;
    if (kind->sync) return 0;
    struct entry entry = {.call = replayed_call(kind),
                          .set = kind->set,
                          .member = (uint32_t)step->op->at[AT_MEMBER],
                          .offset = step->op->at[AT_OFFSET],
                          .size = step->op->at[AT_SIZE],
                          .view = kind->has_view ? step->op->at[AT_SECOND] : 0,
                          .failed = kind->error != 0,
                          .closes = kind->class == CLASS_CLOSE};
    if (kind->communicator)
        entry.together = entries->together[(size_t)(kind->communicator - 1) * entries->np + entries->rank];
    if (entries->scaled && (kind->has_view || kind->etype_bytes)) entry.offset = 0;
    entry.moved = entry.size - step->op->at[AT_SHORT];
    entry.pause_ns = entries->pause_ns;
    entries->pause_ns = 0;
    if (entries->file && kind->set != OP_NO_SET) {
        char name[PATH_MAX];
        int length = file_set_member_name(entries->model->file[kind->set].set, (size_t)step->op->at[AT_MEMBER], name,
                                          sizeof name);
        if (length < 0 || !entries->file(name, &entry.set, &entry.member, entries->context)) return 0;
    }
    return array_push(entries->entry, entries->count, entry);
}

static bool same(const struct entry *a, const struct entry *b) {
    if (a->together && b->together && a->together != b->together) return false;
    return !strcmp(a->call, b->call) && a->set == b->set && a->member == b->member && a->offset == b->offset &&
           a->view == b->view && a->size == b->size && a->moved == b->moved && a->failed == b->failed;
}

static bool same_pause(int64_t a_ns, int64_t b_ns) {
    int64_t share_ns = (int64_t)((double)a_ns * SIMILARITY_PAUSE_SHARE), difference_ns = llabs(a_ns - b_ns);
    return difference_ns <= SIMILARITY_PAUSE_NS || difference_ns <= share_ns;
}

// "pread of 10 bytes at 0 of /data/input"
static void describe_entry(FILE *out, const struct model *model, const struct entry *entry) {
    char name[PATH_MAX] = "";
    fprintf(out, "%s of %lld bytes at %lld", entry->call, (long long)entry->size, (long long)entry->offset);
    if (entry->set < model->files) {
        file_set_member_name(model->file[entry->set].set, entry->member, name, sizeof name);
        fprintf(out, " of %s", name);
    }
    if (entry->failed)
        fputs(", which failed", out);
    else if (entry->moved != entry->size)
        fprintf(out, ", %lld of them moved", (long long)entry->moved);
}

static void describe(char text[SIMILARITY_TEXT], const struct model *model, uint32_t rank, const struct entry *a,
                     const struct entry *b) {
    if (*text) return;
    FILE *out = fmemopen(text, SIMILARITY_TEXT - 1, "w"); // the last byte stays zero
    if (!out) return;
    fprintf(out, "rank %u: ", rank);
    if (a)
        describe_entry(out, model, a);
    else
        fputs("nothing", out);
    fputs(b ? "; replayed: " : "; not replayed", out);
    if (b) describe_entry(out, model, b);
    fclose(out);
}

// Moves to the nearest place at which both agree again.
static void resume(const struct entries *a, const struct entries *b, size_t *i, size_t *j) {
    for (size_t distance = 1; distance <= LOOKAHEAD; distance++) {
        for (size_t ahead = 0; ahead <= distance; ahead++) {
            size_t x = *i + ahead, y = *j + distance - ahead;
            if (x < a->count && y < b->count && same(&a->entry[x], &b->entry[y])) {
                *i = x;
                *j = y;
                return;
            }
        }
    }
    if (*i < a->count) ++*i;
    if (*j < b->count) ++*j;
}

// The runner closes what is still open at its end, for example because the phase that closes it was left out.
static void forget_closing(const struct entries *a, struct entries *b) {
    while (b->count > a->count && b->entry[b->count - 1].closes) {
        if (a->count && same(&a->entry[a->count - 1], &b->entry[b->count - 1])) return;
        b->count--;
    }
}

static void compare(const struct entries *a, struct entries *b, uint32_t rank, struct similarity *out) {
    forget_closing(a, b);
    uint64_t alike = 0;
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        if (i < a->count && j < b->count && same(&a->entry[i], &b->entry[j])) {
            out->paused += same_pause(a->entry[i].pause_ns, b->entry[j].pause_ns);
            alike++, i++, j++;
            continue;
        }
        describe(out->first, a->model, rank, i < a->count ? &a->entry[i] : NULL, j < b->count ? &b->entry[j] : NULL);
        resume(a, b, &i, &j);
    }
    out->alike += alike;
    out->ops += a->count > b->count ? a->count : b->count;
    out->missing += a->count - alike;
    out->extra += b->count - alike;
}

// Expands each thread of one process, on one side.
static int expand_threads(struct entries *of_thread, uint32_t threads, uint32_t program, uint32_t rank) {
    for (uint32_t t = 0; t < threads; t++) {
        struct entries *entries = &of_thread[t];
        const struct model *model = entries->model;
        entries->count = 0;
        entries->pause_ns = 0;
        entries->rank = rank;
        for (size_t i = model->program[program].first; i < model->program[program].end; i++) {
            if (!phase_list_has(entries->phases, i + 1)) continue;
            FORWARD(model_expand_phase(model, (uint32_t)i, rank, t, add_entry, entries));
        }
    }
    return 0;
}

static bool begin_alike(const struct entries *a, const struct entries *b) {
    if (!a->count || !b->count) return a->count == b->count;
    return same(a->entry, b->entry);
}

// Returns the first thread that is not taken; with `alike`, the first that begins like the thread of A. UINT32_MAX:
// none.
static uint32_t partner_of(const struct entries *a, const struct entries *b, uint32_t threads, const bool *taken,
                           bool alike) {
    for (uint32_t t = 0; t < threads; t++) {
        if (!taken[t] && (!alike || begin_alike(a, &b[t]))) return t;
    }
    return UINT32_MAX;
}

// Threads have no names. Each thread of A is compared with the one of B that begins in the same way; threads without
// such a partner are compared with those that are left.
static int compare_process(struct entries *a, struct entries *b, uint32_t threads, uint32_t rank,
                           struct similarity *out) {
    SCOPED_FREE bool *taken = calloc(2 * (size_t)threads + 1, sizeof *taken);
    RETURN_IF(!taken, -ENOMEM);
    bool *done = taken + threads;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t t = 0; t < threads; t++) {
            uint32_t with = done[t] ? UINT32_MAX : partner_of(&a[t], b, threads, taken, pass == 0);
            if (with == UINT32_MAX) continue;
            taken[with] = done[t] = true;
            compare(&a[t], &b[with], rank, out);
        }
    }
    return 0;
}

static int hash_communicators(const struct model *model, uint32_t program, struct arena *arena, uint64_t **hash) {
    uint32_t np = model->program[program].np;
    FORWARD(arena_array(arena, *hash, np * model->communicators));
    for (uint32_t i = 0; i < model->communicators; i++) {
        if (model->communicator[i].program != program) continue;
        FORWARD(model_hash_members(model, i, *hash + (size_t)i * np));
    }
    return 0;
}

int similarity_compare(const struct similarity_input *input, struct similarity *out) {
    const struct model *a = input->a, *b = input->b;
    uint32_t threads = model_threads(a, input->a_program), threads_b = model_threads(b, input->b_program);
    if (threads_b > threads) threads = threads_b;
    struct entries *of_a = calloc(threads + 1, sizeof *of_a), *of_b = calloc(threads + 1, sizeof *of_b);
    int code = of_a && of_b ? 0 : -ENOMEM;
    struct arena arena = {0};
    uint64_t *in_a = NULL, *in_b = NULL;
    if (!code) code = hash_communicators(a, input->a_program, &arena, &in_a);
    if (!code) code = hash_communicators(b, input->b_program, &arena, &in_b);
    *out = (struct similarity){0};
    for (uint32_t t = 0; t < threads && !code; t++) {
        of_a[t] = (struct entries){.model = a, .phases = input->phases, .scaled = input->scaled, .together = in_a};
        of_b[t] = (struct entries){
            .model = b, .scaled = input->scaled, .file = input->file, .context = input->context, .together = in_b};
        of_a[t].np = a->program[input->a_program].np;
        of_b[t].np = b->program[input->b_program].np;
    }
    for (uint32_t rank = 0; rank < a->program[input->a_program].np && !code; rank++) {
        code = expand_threads(of_a, threads, input->a_program, rank);
        if (!code) code = expand_threads(of_b, threads, input->b_program, rank);
        if (!code) code = compare_process(of_a, of_b, threads, rank, out);
    }
    for (uint32_t t = 0; t < threads; t++) {
        if (of_a) free(of_a[t].entry);
        if (of_b) free(of_b[t].entry);
    }
    free(of_a);
    free(of_b);
    arena_free(&arena);
    return code;
}
