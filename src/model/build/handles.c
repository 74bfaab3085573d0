// Files that one thread opens and others use. Their first use waits for the open, and a close for their last use,
// whatever the times say: else a replay might have no file for them, or take it from under them. A log has no word of
// which descriptor a thread uses; one that opened the file itself is taken to use, and to close, its own.
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/grow.h"
#include "base/lookup.h"
#include "model/build/waits.h"

// An open or a close.
struct turn {
    int64_t start_ns;
    uint32_t thread;
    size_t at;
};

// Of one thread, by file.
struct uses {
    struct lookup last; // its last operation on it
    struct lookup own;  // how often it opened it, less how often it closed it
};

struct handles {
    struct waiting *w;
    struct turn *turn;
    size_t turns, turns_room;
    struct lookup opened; // by file: the turn that opened it last
    struct uses *of;
    int64_t *waited; // for each pair of threads: how many operations of the second the first has waited for
};

static const struct moment *moment_of(const struct handles *h, uint32_t thread, size_t at)
{
    return &h->w->of[thread].moment[at];
}

static const struct op_kind *kind_of(const struct handles *h, const struct moment *moment)
{
    return &h->w->b->lanes.kind[moment->op->kind];
}

static uint64_t file_of(const struct handles *h, const struct moment *moment)
{
    return lookup_pair(kind_of(h, moment)->set, (uint32_t)moment->op->at[AT_MEMBER]);
}

static uint32_t own_of(const struct handles *h, uint32_t thread, uint64_t file)
{
    uint32_t count = lookup_find(&h->of[thread].own, file);
    return count == LOOKUP_NONE ? 0 : count;
}

// --- which opens and closes there are

static int compare_turns(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    if (left->thread != right->thread) return left->thread < right->thread ? -1 : 1;
    return left->at < right->at ? -1 : left->at > right->at;
}

static int list_turns(struct handles *h)
{
    for (uint32_t thread = 0; thread < h->w->threads; thread++) {
        for (size_t at = 0; at < h->w->of[thread].count; at++) {
            const struct moment *moment = moment_of(h, thread, at);
            const struct op_kind *kind = kind_of(h, moment);
            if (kind->class != CLASS_OPEN && kind->class != CLASS_CLOSE) continue;
            if (kind->set == OP_NO_SET || kind->error) continue;
            FORWARD(grow(&h->turn, &h->turns_room, h->turns, sizeof *h->turn));
            h->turn[h->turns++] = (struct turn){moment->start_ns, thread, at};
        }
    }
    RETURN_IF(h->turns >= LOOKUP_NONE, ERR_LIMIT);
    if (h->turns) qsort(h->turn, h->turns, sizeof *h->turn, compare_turns);
    return 0;
}

// --- waits

// The edge, unless the thread has waited for that much before.
static int add_wait(struct handles *h, uint32_t thread, size_t at, uint32_t behind, size_t last)
{
    int64_t *waited = &h->waited[thread * h->w->threads + behind];
    if ((int64_t)last < *waited) return 0;
    *waited = (int64_t)last + 1;
    return waiting_add(h->w, &(struct edge){thread, behind, (int64_t)at + 1, *waited, 0, false});
}

// The pause before an operation with these edges. It is counted from the last that was waited for where the thread may
// have waited for that, and may have been shorter than the time since: communication is not in it.
static void set_pause(struct handles *h, size_t first_edge, const struct moment *moment, size_t at)
{
    struct waiting *w = h->w;
    int64_t own_ns = at ? moment[-1].end_ns : w->first_ns, last_ns = INT64_MIN;
    for (size_t i = first_edge; i < w->edges; i++) {
        int64_t end_ns = moment_of(h, w->edge[i].behind, (size_t)w->edge[i].done - 1)->end_ns;
        if (end_ns > last_ns) last_ns = end_ns;
    }
    bool is_pause = last_ns > own_ns && !moment->barrier;
    int64_t pause_ns = moment->time->think_ns;
    if (is_pause && moment->start_ns - last_ns < pause_ns) pause_ns = moment->start_ns - last_ns;
    for (size_t i = first_edge; i < w->edges; i++) {
        w->edge[i].after_ns = pause_ns;
        w->edge[i].is_pause = is_pause;
    }
}

// A use of what another thread opened.
static int add_use(struct handles *h, uint32_t thread, size_t at, uint64_t file)
{
    uint32_t turn = own_of(h, thread, file) ? LOOKUP_NONE : lookup_find(&h->opened, file);
    if (turn == LOOKUP_NONE || h->turn[turn].thread == thread) return 0;
    const struct moment *moment = moment_of(h, thread, at);
    size_t first_edge = h->w->edges;
    if (moment_of(h, h->turn[turn].thread, h->turn[turn].at)->end_ns > moment->start_ns) return 0;
    FORWARD(add_wait(h, thread, at, h->turn[turn].thread, h->turn[turn].at));
    if (h->w->edges > first_edge) set_pause(h, first_edge, moment, at);
    return 0;
}

static int add_close(struct handles *h, const struct turn *close, uint64_t file)
{
    size_t first_edge = h->w->edges;
    bool has_own = own_of(h, close->thread, file);
    for (uint32_t i = 0; i < h->w->threads; i++) {
        uint32_t last = i == close->thread ? LOOKUP_NONE : lookup_find(&h->of[i].last, file);
        if (last == LOOKUP_NONE || (has_own && own_of(h, i, file))) continue;
        FORWARD(add_wait(h, close->thread, close->at, i, last));
    }
    if (h->w->edges > first_edge) set_pause(h, first_edge, moment_of(h, close->thread, close->at), close->at);
    return 0;
}

// --- all of it, as time goes by

static int note_end(struct handles *h, uint32_t thread, size_t at)
{
    const struct moment *moment = moment_of(h, thread, at);
    const struct op_kind *kind = kind_of(h, moment);
    struct uses *uses = &h->of[thread];
    if (kind->set == OP_NO_SET || kind->error || at >= LOOKUP_NONE) return 0;
    uint64_t file = file_of(h, moment);
    uint32_t own = own_of(h, thread, file);
    if (kind->class == CLASS_OPEN) return lookup_set(&uses->own, file, own + 1);
    if (kind->class == CLASS_CLOSE) return own ? lookup_set(&uses->own, file, own - 1) : 0;
    FORWARD(add_use(h, thread, at, file));
    return moment->is_async ? 0 : lookup_set(&uses->last, file, (uint32_t)at);
}

static int go_on_until(struct handles *h, int64_t until_ns)
{
    for (uint32_t i = 0; i < h->w->threads; i++) {
        struct access_order_of *course = &h->w->of[i];
        for (; course->next < course->count && course->moment[course->next].end_ns <= until_ns; course->next++) {
            FORWARD(note_end(h, i, course->next));
        }
    }
    return 0;
}

static int find_all(struct handles *h)
{
    for (uint32_t i = 0; i < h->w->threads; i++) h->w->of[i].next = 0;
    for (size_t i = 0; i < h->turns; i++) {
        const struct turn *turn = &h->turn[i];
        const struct moment *moment = moment_of(h, turn->thread, turn->at);
        uint64_t file = file_of(h, moment);
        FORWARD(go_on_until(h, turn->start_ns));
        if (kind_of(h, moment)->class == CLASS_OPEN) {
            FORWARD(lookup_set(&h->opened, file, (uint32_t)i));
        } else {
            FORWARD(add_close(h, turn, file));
        }
    }
    return go_on_until(h, INT64_MAX);
}

int waiting_find_handles(struct waiting *w)
{
    struct handles h = {.w = w,
                        .of = calloc(w->threads, sizeof *h.of),
                        .waited = calloc((size_t)w->threads * w->threads, sizeof *h.waited)};
    size_t before = w->edges;
    int code = h.of && h.waited ? list_turns(&h) : -ENOMEM;
    if (!code) code = find_all(&h);
    for (uint32_t i = 0; i < w->threads && h.of; i++) {
        lookup_free(&h.of[i].last);
        lookup_free(&h.of[i].own);
    }
    lookup_free(&h.opened);
    free(h.of);
    free(h.waited);
    free(h.turn);
    if (code != ERR_LIMIT) return code;
    w->edges = before; // too many to tell; other waits stay
    return 0;
}
