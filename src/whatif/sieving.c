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
    bool is_active;
    double since; // it waits for its lock
    double until; // it has its window, if it is active
};

struct turns {
    const struct sieving *sieving;
    struct writer *writer;
    size_t writers;
    size_t *active; // places of those that have their window
    size_t actives;
    struct lookup files; // -> place in end[]
    int64_t *end;        // of each file
    size_t ends;
    double now, busy;
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
        if (writer->is_active || writer->next == writer->end || (best && best->since <= writer->since)) continue;
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

static int begin(struct turns *t, struct writer *writer) {
    const struct window *window = &t->sieving->window[writer->next];
    int64_t *end = end_of_file(t, window->file), last = window->offset + (int64_t)window->bytes;
    RETURN_IF(!end, -ENOMEM);
    double read = fmax(0, (double)((*end < last ? *end : last) - window->offset)), cost = read + (double)window->bytes;
    if (last > *end) *end = last;
    t->result->read += read;
    t->result->written += (double)window->bytes;
    t->busy += cost;
    writer->is_active = true;
    writer->until = t->now + cost;
    return array_push(t->active, t->actives, (size_t)(writer - t->writer));
}

// Goes on to when the next window is done. False: there is none.
static bool end_one(struct turns *t) {
    struct writer *first = NULL;
    size_t place = 0;
    for (size_t i = 0; i < t->actives; i++) {
        struct writer *writer = &t->writer[t->active[i]];
        if (first && (writer->until > first->until || (writer->until == first->until && writer > first))) continue;
        first = writer;
        place = i;
    }
    if (!first) return false;
    t->active[place] = t->active[--t->actives];
    t->now = first->since = first->until;
    first->is_active = false;
    first->next++;
    return true;
}

static int take_turns(struct turns *t) {
    FORWARD(find_writers(t));
    do {
        for (struct writer *writer; (writer = next_writer(t));) FORWARD(begin(t, writer));
    } while (end_one(t));
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
