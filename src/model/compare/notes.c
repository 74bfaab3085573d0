// Describes the differences between two phases in words.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/compare/phase_pair.h"

enum {
    NOTES_MOST = 32, // of one pair
    ROWS_MOST = 64,  // of a phase that are compared one by one
    TEXT_BYTES = 64,
    OPS_MOST = 64 << 20, // of a phase that are looked at one by one
};

int diff_noting_begin(struct diff_noting *noting, struct diff *diff) {
    *noting = (struct diff_noting){.diff = diff};
    FORWARD(arena_array(&diff->arena, noting->a, diff->a->families));
    return arena_array(&diff->arena, noting->b, diff->b->families);
}

void diff_noting_end(struct diff_noting *noting) {
    for (size_t i = 0; noting->a && i < noting->diff->a->families; i++) free(noting->a[i].row);
    for (size_t i = 0; noting->b && i < noting->diff->b->families; i++) free(noting->b[i].row);
    free(noting->note);
}

// --- adding

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static bool same_note(const struct diff_note *x, const struct diff_note *y) {
    return !strcmp(x->what, y->what) && same_text(x->op, y->op) && x->unit == y->unit && x->a == y->a && x->b == y->b &&
           same_text(x->a_text, y->a_text) && same_text(x->b_text, y->b_text);
}

void diff_note_add(struct diff_noting *noting, struct diff_note note) {
    if (noting->error || noting->notes > NOTES_MOST) return;
    if (noting->notes == NOTES_MOST) note = (struct diff_note){.what = "more"};
    for (size_t i = 0; i < noting->notes; i++) {
        if (same_note(&noting->note[i], &note)) return;
    }
    noting->error = array_room(noting->note, noting->notes);
    if (!noting->error) noting->note[noting->notes++] = note;
}

void diff_note_count(struct diff_noting *noting, const char *what, const char *op, uint64_t a, uint64_t b) {
    if (a == b) return;
    diff_note_add(noting, (struct diff_note){what, op, DIFF_COUNT, (int64_t)a, (int64_t)b, NULL, NULL});
}

void diff_note_text(struct diff_noting *noting, const char *what, const char *op, const char *a, const char *b) {
    if (same_text(a, b)) return;
    struct arena *arena = &noting->diff->arena;
    struct diff_note note = {what, op, DIFF_TEXT, 0, 0, NULL, NULL};
    if (a) note.a_text = arena_text(arena, a);
    if (b) note.b_text = arena_text(arena, b);
    if ((a && !note.a_text) || (b && !note.b_text)) noting->error = -ENOMEM;
    diff_note_add(noting, note);
}

bool diff_notes_same(const struct diff_row *x, const struct diff_row *y) {
    bool same = x->notes == y->notes;
    for (size_t i = 0; same && i < x->notes; i++) same = same_note(&x->note[i], &y->note[i]);
    return same;
}

int diff_note_keep(struct diff_noting *noting, struct diff_row *row) {
    FORWARD(noting->error);
    row->notes = noting->notes;
    row->note = arena_copy(&noting->diff->arena, noting->note, noting->notes * sizeof *noting->note);
    RETURN_IF(noting->notes && !row->note, -ENOMEM);
    noting->notes = 0;
    return 0;
}

// --- one family

static const char *rank_text(struct arena *arena, const bool *has, uint32_t np) {
    char text[TEXT_BYTES];
    size_t len = 0;
    for (uint32_t i = 0, end; i < np && len < sizeof text - 24; i = end) {
        for (end = i; end < np && has[end] == has[i];) end++;
        if (!has[i]) continue;
        len += (size_t)snprintf(text + len, sizeof text - len, len ? ",%" PRIu32 : "%" PRIu32, i);
        if (end - i > 1) len += (size_t)snprintf(text + len, sizeof text - len, "-%" PRIu32, end - 1);
    }
    text[len] = 0;
    return arena_text(arena, text);
}

static int view_ranks(struct arena *arena, const struct model *model, const struct model_family *family,
                      struct family_view *view) {
    uint32_t np = model->program[family->program].np;
    const struct model_part *part = family->parts ? family->part : family->other;
    size_t parts = family->parts ? family->parts : family->others;
    SCOPED_FREE bool *has = calloc(np + 1u, sizeof *has);
    RETURN_IF(!has, -ENOMEM);
    for (size_t i = 0; i < parts; i++) {
        for (size_t r = 0; r < part[i].ranks; r++) {
            if (part[i].rank[r] < np) has[part[i].rank[r]] = true;
        }
    }
    for (uint32_t i = 0; i < np; i++) view->ranks += has[i];
    view->rank_text = rank_text(arena, has, np);
    return view->rank_text ? 0 : -ENOMEM;
}

static const struct family_view *view_family(struct diff_noting *noting, const struct fingerprint *fingerprint,
                                             struct family_view *views, uint32_t phase) {
    const struct model *model = fingerprint->model;
    const struct model_family *family = &model->family[model->phase[phase].family];
    struct family_view *view = &views[model->phase[phase].family];
    if (view->ready || noting->error) return view;
    view->ready = true;
    view->has_rows = fingerprint->phase[phase].ops <= OPS_MOST;
    if (view->has_rows) noting->error = model_summarise_ops(model, family, &view->row, &view->rows);
    if (view->has_rows && !noting->error) noting->error = model_count_files(model, family, &view->use);
    if (!noting->error) noting->error = view_ranks(&noting->diff->arena, model, family, view);
    return view;
}

// --- the rows of transfers

static const char *yes_or_no(bool yes) { return yes ? "yes" : "no"; }

static const char *value_text(const struct op_summary *row, unsigned coordinate, bool has) {
    if (!has) return NULL;
    if (row->item->type == LOOPS_LIST) return row->mode;
    return row->item->at[coordinate].text ? row->item->at[coordinate].text : "table";
}

static void note_sizes(struct diff_noting *noting, const char *op, const struct op_summary *x,
                       const struct op_summary *y) {
    char a[TEXT_BYTES] = "varies", b[TEXT_BYTES] = "varies";
    if (x->has_size && y->has_size) {
        struct diff_note note = {"request", op, DIFF_BYTES, (int64_t)x->size, (int64_t)y->size, NULL, NULL};
        if (x->size != y->size) diff_note_add(noting, note);
        return;
    }
    if (x->has_size) snprintf(a, sizeof a, "%" PRIu64, x->size);
    if (y->has_size) snprintf(b, sizeof b, "%" PRIu64, y->size);
    diff_note_text(noting, "request", op, a, b);
}

// If each request follows the previous one, the displacement is the size of the request and says nothing new.
static void note_displacement(struct diff_noting *noting, const char *op, const struct op_summary *x,
                              const struct op_summary *y) {
    if (!x->has_disp || !y->has_disp || x->disp == y->disp) return;
    if (x->disp == (int64_t)x->size && y->disp == (int64_t)y->size) return;
    diff_note_add(noting, (struct diff_note){"displacement", op, DIFF_BYTES, x->disp, y->disp, NULL, NULL});
}

static void note_rows(struct diff_noting *noting, const struct op_summary *x, const struct op_summary *y) {
    const char *op = x->name;
    diff_note_text(noting, "call", op, x->kind->call, y->kind->call);
    diff_note_text(noting, "collective", op, yes_or_no(x->kind->collective), yes_or_no(y->kind->collective));
    diff_note_text(noting, "blocking", op, yes_or_no(!x->kind->nonblocking), yes_or_no(!y->kind->nonblocking));
    diff_note_count(noting, "rep", op, x->rep, y->rep);
    note_sizes(noting, op, x, y);
    note_displacement(noting, op, x, y);
    diff_note_text(noting, "mode", op, x->mode, y->mode);
    diff_note_text(noting, "offset", op, value_text(x, AT_OFFSET, x->kind->has_offset),
                   value_text(y, AT_OFFSET, y->kind->has_offset));
    diff_note_text(noting, "view", op, value_text(x, AT_SECOND, x->kind->has_view),
                   value_text(y, AT_SECOND, y->kind->has_view));
}

static unsigned row_likeness(const struct op_summary *x, const struct op_summary *y) {
    if (strcmp(x->name, y->name)) return 0;
    bool same_sizes = x->has_size == y->has_size && (!x->has_size || x->size == y->size);
    return 1 + 8u * same_sizes + 4u * !strcmp(x->kind->call, y->kind->call) + 2u * (x->rep == y->rep);
}

static void note_alone(struct diff_noting *noting, const struct op_summary *row, bool in_a) {
    char text[TEXT_BYTES];
    if (row->has_size)
        snprintf(text, sizeof text, "%" PRIu64 " x %" PRIu64 " bytes", row->rep, row->size);
    else
        snprintf(text, sizeof text, row->moves ? "%" PRIu64 " x varying sizes" : "%" PRIu64, row->rep);
    diff_note_text(noting, "operation", row->name, in_a ? text : NULL, in_a ? NULL : text);
}

static void note_all_rows(struct diff_noting *noting, const struct family_view *a, const struct family_view *b) {
    bool used[ROWS_MOST] = {false};
    if (a->rows > ROWS_MOST || b->rows > ROWS_MOST) return;
    for (size_t i = 0; i < a->rows; i++) {
        size_t best = ROWS_MOST;
        unsigned most = 0;
        for (size_t k = 0; k < b->rows; k++) {
            unsigned like = used[k] ? 0 : row_likeness(&a->row[i], &b->row[k]);
            if (like <= most) continue;
            most = like;
            best = k;
        }
        if (best == ROWS_MOST) {
            note_alone(noting, &a->row[i], true);
            continue;
        }
        used[best] = true;
        note_rows(noting, &a->row[i], &b->row[best]);
    }
    for (size_t k = 0; k < b->rows; k++) {
        if (!used[k]) note_alone(noting, &b->row[k], false);
    }
}

// --- the rest

static void note_others(struct diff_noting *noting, uint32_t a, uint32_t b, uint32_t a_np, uint32_t b_np) {
    const struct model *in_a = noting->diff->a, *in_b = noting->diff->b;
    const struct model_phase *x = &in_a->phase[a], *y = &in_b->phase[b];
    uint64_t x_count[CLASS_COUNT] = {0}, y_count[CLASS_COUNT] = {0};
    bool too_many = noting->diff->in_a.phase[a].others > OPS_MOST || noting->diff->in_b.phase[b].others > OPS_MOST;
    if (noting->error || too_many) return;
    noting->error = model_count_others(in_a, &in_a->family[x->family], x->ph, x_count);
    if (!noting->error) noting->error = model_count_others(in_b, &in_b->family[y->family], y->ph, y_count);
    for (unsigned class = 0; class < CLASS_COUNT; class ++) {
        if (diff_in_proportion(x_count[class], a_np, y_count[class], b_np)) continue;
        diff_note_count(noting, "count", class ? call_class_name(class) : "barrier", x_count[class], y_count[class]);
    }
}

// Adds the aspects that rows and counts do not show.
static void note_aspects(struct diff_noting *noting, unsigned aspects, const char *op, unsigned shown) {
    static const struct {
        unsigned aspect;
        const char *what;
    } names[] = {
        {ASPECT_THREAD, "thread"},     {ASPECT_LOOPS, "loops"},   {ASPECT_STEPS, "steps"}, {ASPECT_CALL, "call"},
        {ASPECT_FLAGS, "flags"},       {ASPECT_ERROR, "errors"},  {ASPECT_VIEW, "view"},   {ASPECT_OFFSET, "offset"},
        {ASPECT_SIZE, "request"},      {ASPECT_SHORT, "short"},   {ASPECT_MEMBER, "file"}, {ASPECT_RANKS, "ranks"},
        {ASPECT_POSITION, "position"}, {ASPECT_MEMORY, "memory"}, {ASPECT_HINTS, "hints"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (aspects & ~shown & names[i].aspect)
            diff_note_add(noting, (struct diff_note){.what = names[i].what, .op = op});
    }
}

// Returns the aspects that the notes from `first` on show already.
static unsigned shown_since(const struct diff_noting *noting, size_t first) {
    static const struct {
        const char *what;
        unsigned aspects;
    } shows[] = {
        {"call", ASPECT_CALL | ASPECT_FLAGS | ASPECT_VIEW},
        {"rep", ASPECT_LOOPS | ASPECT_POSITION},
        {"operation", ASPECT_LOOPS | ASPECT_STEPS | ASPECT_POSITION},
        {"count", ASPECT_LOOPS | ASPECT_POSITION | ASPECT_CALL},
        {"request", ASPECT_SIZE | ASPECT_STEPS},
        {"displacement", ASPECT_STEPS},
        {"mode", ASPECT_STEPS | ASPECT_LOOPS | ASPECT_OFFSET},
        {"offset", ASPECT_OFFSET | ASPECT_VIEW},
        {"view", ASPECT_VIEW},
        {"files", ASPECT_MEMBER},
        {"ranks", ASPECT_RANKS},
    };
    unsigned shown = 0;
    for (size_t i = first; i < noting->notes; i++) {
        for (size_t k = 0; k < sizeof shows / sizeof *shows; k++) {
            if (!strcmp(noting->note[i].what, shows[k].what)) shown |= shows[k].aspects;
        }
    }
    return shown;
}

void diff_note_pair(struct diff_noting *noting, uint32_t a, uint32_t b, const struct diff_aspects *aspects) {
    const struct family_view *x = view_family(noting, &noting->diff->in_a, noting->a, a),
                             *y = view_family(noting, &noting->diff->in_b, noting->b, b);
    uint32_t a_np = diff_np(noting->diff->a, a), b_np = diff_np(noting->diff->b, b);
    if (noting->error) return;
    size_t first = noting->notes;
    if (x->ranks != a_np || y->ranks != b_np) diff_note_text(noting, "ranks", NULL, x->rank_text, y->rank_text);
    bool has_rows = x->has_rows && y->has_rows;
    if (has_rows && !diff_in_proportion(x->use.files, a_np, y->use.files, b_np))
        diff_note_count(noting, "files", NULL, x->use.files, y->use.files);
    if (aspects->transfers && has_rows) note_all_rows(noting, x, y);
    note_aspects(noting, aspects->transfers, NULL, shown_since(noting, first));
    if (aspects->others) note_others(noting, a, b, a_np, b_np);
    unsigned shown = shown_since(noting, first);
    if (shown & (ASPECT_SIZE | ASPECT_OFFSET)) shown |= ASPECT_OFFSET | ASPECT_STEPS; // seeks follow from the transfers
    note_aspects(noting, aspects->others, "other", shown);
}
