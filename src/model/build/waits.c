// Which operations of a thread wait for operations of others. Nothing in a log says so; but where a thread pauses, and
// goes on at once when another has done something, time after time, it was waiting for that.
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/grow.h"
#include "model/build/waits.h"

enum {
    LEAST_NS = 200000,  // shorter pauses are no waits
    LATEST_NS = 500000, // from the end that a thread waits for until it goes on, at most
    MOST_ANSWERS = 64,  // operations that a thread does while another waits for them
    MOST_THREADS = 256, // of a process: each pause of one is held against all others
    MOST_EDGES = 1 << 20
};

#define RARE 0.1  // by accident at most so many pauses may look like a wait
#define SURE 0.05 // that all of a thread's are accidents is less likely

// --- the threads of a process

static void add_moment(struct access_order_of *course, const struct op *op, struct op_time *time,
                       struct op_time *barrier, bool is_async)
{
    course->moment[course->count++] = (struct moment){.start_ns = time->start_ns,
                                                      .end_ns = time->start_ns + time->duration_ns,
                                                      .time = time,
                                                      .barrier = barrier,
                                                      .op = op,
                                                      .is_async = is_async};
}

static int list_moments(const struct lanes *lanes, struct lane *lane, struct access_order_of *course)
{
    size_t other = 0;
    struct op_time *barrier = NULL;
    course->moment = malloc((lane->transfers + lane->others + 1) * sizeof *course->moment);
    RETURN_IF(!course->moment, -ENOMEM);
    for (size_t i = 0; i <= lane->transfers; i++) {
        for (; other < lane->others && lane->other[other].at[AT_POSITION] <= (int64_t)i; other++) {
            struct op_time *time = &lane->other_time[other];
            bool is_barrier = lanes->kind[lane->other[other].kind].class == CLASS_NONE;
            if (!is_barrier) add_moment(course, &lane->other[other], time, barrier, false);
            barrier = is_barrier ? time : NULL;
        }
        if (i == lane->transfers) break;
        add_moment(course, &lane->transfer[i], &lane->time[i], barrier,
                   lanes->kind[lane->transfer[i].kind].nonblocking);
        barrier = NULL;
    }
    return 0;
}

static int64_t first_start(const struct waiting *w)
{
    int64_t first_ns = INT64_MAX;
    for (uint32_t i = 0; i < w->threads; i++) {
        if (w->of[i].count && w->of[i].moment[0].start_ns < first_ns) first_ns = w->of[i].moment[0].start_ns;
    }
    return first_ns;
}

// --- one pause

struct pause {
    int64_t from_ns, until_ns;
    int64_t last_end_ns; // of another's operation in it
    double ends;         // each of which could have been the last one by accident
};

// What another thread ended in the pause.
static void follow(struct access_order_of *other, const struct pause *pause)
{
    other->ended = 0;
    other->longest_ns = 0;
    for (; other->next < other->count && other->moment[other->next].end_ns <= pause->until_ns; other->next++) {
        const struct moment *moment = &other->moment[other->next];
        if (moment->end_ns <= pause->from_ns) continue;
        int64_t between_ns = other->ended ? moment->start_ns - moment[-1].end_ns : 0;
        if (between_ns > other->longest_ns) other->longest_ns = between_ns;
        other->ended++;
    }
}

// The one that it ended last, and the pause that it makes then.
static const struct moment *last_of(const struct access_order_of *other)
{
    return &other->moment[other->next - 1];
}

static int64_t rest_of(const struct access_order_of *other)
{
    return other->next < other->count ? other->moment[other->next].start_ns - last_of(other)->end_ns : INT64_MAX;
}

// Whether it had ended something and did nothing any more when the last end was there.
static bool is_idle(const struct access_order_of *other, const struct pause *pause)
{
    if (!other->ended || last_of(other)->is_async) return false;
    return other->next == other->count || other->moment[other->next].start_ns >= pause->last_end_ns;
}

static void look_at_pause(struct waiting *w, uint32_t thread, struct pause *pause)
{
    pause->last_end_ns = INT64_MIN;
    for (uint32_t i = 0; i < w->threads; i++) {
        if (i == thread) continue;
        follow(&w->of[i], pause);
        if (w->of[i].ended && last_of(&w->of[i])->end_ns > pause->last_end_ns) {
            pause->last_end_ns = last_of(&w->of[i])->end_ns;
        }
    }
    for (uint32_t i = 0; i < w->threads; i++) {
        const struct access_order_of *other = &w->of[i];
        if (i == thread || !other->ended) continue;
        // Where one goes on as before, any of its ends could have been the last; where it rests longer, only that one.
        bool stops = is_idle(other, pause) && rest_of(other) / 2 >= other->longest_ns;
        pause->ends += stops ? 1 : (double)other->ended;
    }
}

// How likely it is that some end lies in the last part of a pause by accident.
static double chance(const struct pause *pause, int64_t part_ns)
{
    return pause->ends * (double)part_ns / (double)(pause->until_ns - pause->from_ns);
}

int waiting_add(struct waiting *w, const struct edge *edge)
{
    RETURN_IF(w->edges >= MOST_EDGES, ERR_LIMIT);
    FORWARD(grow(&w->edge, &w->edges_room, w->edges, sizeof *w->edge));
    w->edge[w->edges++] = *edge;
    return 0;
}

// How many operations a thread has done when another goes on, where it rests then; `at` if it has done no more, or so
// many that the other hardly waited for them.
static size_t done_until(const struct access_order_of *course, size_t at, int64_t start_ns)
{
    size_t done = at;
    int64_t longest_ns = 0;
    while (done < course->count && course->moment[done].end_ns <= start_ns) {
        int64_t between_ns = done > at ? course->moment[done].start_ns - course->moment[done - 1].end_ns : 0;
        if (between_ns > longest_ns) longest_ns = between_ns;
        if (++done - at > MOST_ANSWERS) return at;
    }
    if (done == at || done == course->count) return done;
    int64_t rest_ns = course->moment[done].start_ns - course->moment[done - 1].end_ns;
    return course->moment[done].start_ns >= start_ns && rest_ns / 2 >= longest_ns ? done : at;
}

// One that goes on together with the thread, or when that has done what it waited to do, waits for it in turn: with
// other storage it may be the first, or its pause longer.
static int add_answer(struct waiting *w, uint32_t thread, size_t at, uint32_t i, const struct pause *pause)
{
    const struct access_order_of *course = &w->of[thread], *other = &w->of[i];
    if (other->next == other->count) return 0;
    int64_t start_ns = other->moment[other->next].start_ns, since_ns = pause->last_end_ns;
    size_t done = done_until(course, at, start_ns);
    if (done > at) since_ns = course->moment[done - 1].end_ns;
    if (!done || course->moment[done - 1].is_async || start_ns - since_ns > LATEST_NS) return 0;
    return waiting_add(w,
                       &(struct edge){i, thread, (int64_t)other->next + 1, (int64_t)done, start_ns - since_ns, true});
}

// The thread waits for all that are idle then.
static int add_wait(struct waiting *w, uint32_t thread, size_t at, const struct pause *pause)
{
    for (uint32_t i = 0; i < w->threads; i++) {
        const struct access_order_of *other = &w->of[i];
        if (i == thread || !is_idle(other, pause)) continue;
        FORWARD(waiting_add(w, &(struct edge){thread, i, (int64_t)at + 1, (int64_t)other->next,
                                              pause->until_ns - pause->last_end_ns, true}));
        FORWARD(add_answer(w, thread, at, i, pause));
    }
    return 0;
}

// --- all pauses of a thread

// How likely it is that there are so many accidents or more where so many are to be expected.
static double chance_of_all(size_t waits, double expected)
{
    double term = exp(-expected), below = 0;
    for (size_t i = 0; i < waits && below < 1; i++) {
        below += term;
        term *= expected / (double)(i + 1);
    }
    return 1 - below;
}

static int find_waits(struct waiting *w, uint32_t thread)
{
    const struct access_order_of *course = &w->of[thread];
    size_t before = w->edges, waits = 0;
    double accidents = 0;
    for (uint32_t i = 0; i < w->threads; i++) w->of[i].next = 0;
    for (size_t at = 0; at < course->count; at++) {
        struct pause pause = {at ? course->moment[at - 1].end_ns : w->first_ns, course->moment[at].start_ns, 0, 0};
        if (pause.until_ns - pause.from_ns < LEAST_NS) continue;
        look_at_pause(w, thread, &pause);
        if (pause.ends == 0) continue;
        int64_t since_ns = pause.until_ns - pause.last_end_ns;
        accidents += fmin(RARE, chance(&pause, LATEST_NS));
        if (since_ns > LATEST_NS || chance(&pause, since_ns) > RARE) continue;
        waits++;
        FORWARD(add_wait(w, thread, at, &pause));
    }
    if (chance_of_all(waits, accidents) > SURE) w->edges = before;
    return 0;
}

// --- edges to rows

static int compare_edges(const void *a, const void *b)
{
    const struct edge *left = a, *right = b;
    if (left->thread != right->thread) return left->thread < right->thread ? -1 : 1;
    if (left->behind != right->behind) return left->behind < right->behind ? -1 : 1;
    if (left->op != right->op) return left->op < right->op ? -1 : 1;
    return left->done < right->done ? -1 : left->done > right->done;
}

static int add_row(struct waiting *w, const struct edge *edge, size_t count)
{
    struct model *model = w->b->model;
    FORWARD(grow(&model->wait, &w->b->waits_room, model->waits, sizeof *model->wait));
    struct model_wait *row = &model->wait[model->waits];
    *row = (struct model_wait){.program = w->lane->program,
                               .rank = w->lane->rank,
                               .thread = edge->thread,
                               .behind = edge->behind,
                               .op = arena_alloc(&model->arena, count * sizeof *row->op),
                               .done = arena_alloc(&model->arena, count * sizeof *row->done),
                               .after_ns = arena_alloc(&model->arena, count * sizeof *row->after_ns)};
    RETURN_IF(!row->op || !row->done || !row->after_ns, -ENOMEM);
    for (; row->count < count; row->count++) {
        row->op[row->count] = edge[row->count].op;
        row->done[row->count] = edge[row->count].done;
        row->after_ns[row->count] = edge[row->count].after_ns;
    }
    model->waits++;
    return 0;
}

static bool is_one_row(const struct edge *a, const struct edge *b)
{
    return a->thread == b->thread && a->behind == b->behind;
}

// Keeps of sorted edges those that say more than the ones before: of two for one operation the later, and none for what
// an earlier operation has waited for.
static void drop_implied(struct waiting *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->edges; i++) {
        struct edge edge = w->edge[i];
        struct edge *last = kept && is_one_row(&w->edge[kept - 1], &edge) ? &w->edge[kept - 1] : NULL;
        if (last && last->op == edge.op) {
            if (last->after_ns < edge.after_ns) edge.after_ns = last->after_ns;
            edge.is_pause = edge.is_pause || last->is_pause;
            *last = edge;
        } else if (!last || edge.done > last->done) {
            w->edge[kept++] = edge;
        }
    }
    w->edges = kept;
}

// The pause before an operation that waits is none of its own.
static void mark(struct waiting *w)
{
    for (size_t i = 0; i < w->edges; i++) {
        const struct moment *moment = &w->of[w->edge[i].thread].moment[w->edge[i].op - 1];
        if (!w->edge[i].is_pause) continue;
        moment->time->waits = true;
        if (moment->barrier) moment->barrier->waits = true;
    }
}

static int add_rows(struct waiting *w)
{
    if (w->edges) qsort(w->edge, w->edges, sizeof *w->edge, compare_edges);
    drop_implied(w);
    for (size_t first = 0, end; first < w->edges; first = end) {
        const struct edge *edge = &w->edge[first];
        for (end = first; end < w->edges && is_one_row(edge, &w->edge[end]); end++) continue;
        FORWARD(add_row(w, edge, end - first));
    }
    mark(w);
    return 0;
}

// --- all processes

static int build_process(struct building *b, struct lane *lane, uint32_t threads)
{
    struct waiting w = {.b = b, .lane = lane, .threads = threads, .of = calloc(threads, sizeof *w.of)};
    int code = w.of ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < threads && !code; i++) code = list_moments(&b->lanes, &lane[i], &w.of[i]);
    if (!code) w.first_ns = first_start(&w);
    for (uint32_t i = 0; i < threads && !code; i++) code = find_waits(&w, i);
    if (!code) code = waiting_find_handles(&w);
    if (!code) code = add_rows(&w);
    for (uint32_t i = 0; i < threads && w.of; i++) free(w.of[i].moment);
    free(w.of);
    free(w.edge);
    return code == ERR_LIMIT ? 0 : code; // too many to tell: pauses stay what they were
}

int build_waits(struct building *b)
{
    struct lanes *lanes = &b->lanes;
    for (size_t first = 0, end; first < lanes->count; first = end) {
        for (end = first + 1; end < lanes->count && lanes->lane[end].thread; end++) continue;
        size_t threads = end - first;
        if (threads > 1 && threads <= MOST_THREADS) {
            FORWARD(build_process(b, &lanes->lane[first], (uint32_t)threads));
        }
    }
    return 0;
}
