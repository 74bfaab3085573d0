#include "whatif/sieving.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"
#include "base/scoped.h"

// A rank on its way through its windows.
struct writer {
    size_t next, end;
    enum { WAITS, READS, WRITES } state; // while it has no lock, and when it has
    double since;                        // it waits for its lock
    double until;                        // it reads or writes
};

struct turns {
    const struct sieving *sieving;
    struct writer *writer;
    size_t writers;
    size_t *active; // places of those that have a lock
    size_t actives;
    struct lookup files; // -> place in end[]
    int64_t *end;        // of each file
    size_t ends;
    double now, busy;
    double free[2]; // when what reads, and what writes, is done with all requests so far
    struct sieved_writes *result;
};

static int find_writers(struct turns *t) {
    const struct sieving *s = t->sieving;
    for (size_t i = 0, end; i < s->count; i = end) {
        for (end = i; end < s->count && s->window[end].rank == s->window[i].rank; end++) continue;
        FORWARD(array_push(t->writer, t->writers, (struct writer){.next = i, .end = end}));
    }
    return 0;
}

static bool overlap(const struct window *a, const struct window *b) {
    return a->file == b->file && a->offset < b->offset + (int64_t)b->bytes && b->offset < a->offset + (int64_t)a->bytes;
}

static bool is_free(const struct turns *t, const struct window *window) {
    for (size_t i = 0; i < t->actives; i++) {
        if (overlap(&t->sieving->window[t->writer[t->active[i]].next], window)) return false;
    }
    return true;
}

// The writer that waits longest and can go on.
static struct writer *next_writer(const struct turns *t) {
    struct writer *best = NULL;
    for (size_t i = 0; i < t->writers; i++) {
        struct writer *writer = &t->writer[i];
        if (writer->state != WAITS || writer->next == writer->end || (best && best->since <= writer->since)) continue;
        if (is_free(t, &t->sieving->window[writer->next])) best = writer;
    }
    return best;
}

static int64_t *end_of_file(struct turns *t, uint64_t file) {
    uint32_t place = lookup_find(&t->files, file);
    if (place != LOOKUP_NONE) return &t->end[place];
    if (array_push(t->end, t->ends, 0) || lookup_set(&t->files, file, (uint32_t)(t->ends - 1)) < 0) return NULL;
    return &t->end[t->ends - 1];
}

// Reading and writing have a bandwidth each, which ranks share in the order of their requests.
static void move(struct turns *t, struct writer *writer, bool write, double bytes) {
    double *free_at = &t->free[write];
    writer->state = write ? WRITES : READS;
    writer->until = bytes > 0 ? fmax(t->now, *free_at) + bytes : t->now;
    if (bytes > 0) *free_at = writer->until;
    t->busy += bytes;
}

static int begin(struct turns *t, struct writer *writer) {
    const struct window *window = &t->sieving->window[writer->next];
    int64_t *end = end_of_file(t, window->file), last = window->offset + (int64_t)window->bytes;
    RETURN_IF(!end, -ENOMEM);
    double read = fmax(0, (double)((*end < last ? *end : last) - window->offset));
    if (last > *end) *end = last;
    t->result->read += read;
    move(t, writer, false, read);
    return array_push(t->active, t->actives, (size_t)(writer - t->writer));
}

// `place` is that of the writer in active[].
static int end_window(struct turns *t, size_t place) {
    struct writer *writer = &t->writer[t->active[place]];
    t->active[place] = t->active[--t->actives];
    writer->state = WAITS;
    writer->since = t->now;
    writer->next++;
    // It asks for its next lock before those that wait for this one are awake.
    bool goes_on = writer->next < writer->end && is_free(t, &t->sieving->window[writer->next]);
    return goes_on ? begin(t, writer) : 0;
}

// Goes on to when somebody is done. Returns 1, 0 if nobody is at work, or a negative code.
static int end_one(struct turns *t) {
    struct writer *first = NULL;
    size_t place = 0;
    for (size_t i = 0; i < t->actives; i++) {
        struct writer *writer = &t->writer[t->active[i]];
        if (first && (writer->until > first->until || (writer->until == first->until && writer > first))) continue;
        first = writer;
        place = i;
    }
    if (!first) return 0;
    t->now = first->until;
    if (first->state == READS) {
        double bytes = (double)t->sieving->window[first->next].bytes;
        t->result->written += bytes;
        move(t, first, true, bytes);
        return 1;
    }
    FORWARD(end_window(t, place));
    return 1;
}

static int take_turns(struct turns *t) {
    int more = 1;
    FORWARD(find_writers(t));
    while (more > 0) {
        for (struct writer *writer; (writer = next_writer(t));) FORWARD(begin(t, writer));
        more = end_one(t);
    }
    RETURN_IF(more < 0, more);
    t->result->at_once = t->now > 0 ? t->busy / t->now : 1;
    return 0;
}

int sieving_take_turns(const struct sieving *sieving, struct sieved_writes *result) {
    struct turns t = {.sieving = sieving, .result = result};
    *result = (struct sieved_writes){.at_once = 1};
    int code = take_turns(&t);
    lookup_free(&t.files);
    free(t.writer);
    free(t.active);
    free(t.end);
    return code;
}
