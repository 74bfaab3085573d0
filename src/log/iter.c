#include "log/iter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/err.h"
#include "log/source.h"

// A few large batches for a thread that reads ahead: each costs a wake-up, and all should stay in the cache.
enum { ITER_EVENTS = 64, AHEAD_EVENTS = 1024, AHEAD_BATCHES = 4 };

// With the thread, `source` and the batches from `taken` + 1 on are its own, those before are the reader's.
struct log_ahead {
    pthread_t thread;
    pthread_mutex_t lock; // protects the members below
    pthread_cond_t changed;
    struct log_batch batch[AHEAD_BATCHES];
    uint64_t filled; // number of batches filled so far
    uint64_t taken;  // number of batches that the reader is done with
    int last;        // what filling returned, if not 1
    bool is_over;    // the reader closes
};

struct log_iter {
    struct log_matcher matcher;
    struct log_source source;
    struct log_batch own;
    const struct log_batch *batch; // the current one
    size_t at;                     // index of the next event in it
    struct log_ahead *ahead;       // or NULL
};

static int open_iter(struct log_iter *iter, struct log *log, const struct log_filter *filter) {
    const struct log_place *const *places;
    FORWARD(log_matcher_init(&iter->matcher, log, filter));
    FORWARD(log_batch_init(&iter->own, ITER_EVENTS));
    iter->batch = &iter->own;
    size_t count = log_event_places(log, iter->matcher.filter.process, &places);
    return log_source_open(&iter->source, log, &iter->matcher, places, count, (struct log_source_options){0});
}

int log_iter_open(struct log_iter **out, struct log *log, const struct log_filter *filter) {
    struct log_iter *iter = calloc(1, sizeof *iter);
    *out = NULL;
    RETURN_IF(!iter, -ENOMEM);
    int code = open_iter(iter, log, filter);
    if (code < 0) {
        log_iter_close(iter);
        return code;
    }
    *out = iter;
    return 0;
}

// --- reading ahead

static void *fill_ahead(void *context) {
    struct log_iter *iter = context;
    struct log_ahead *ahead = iter->ahead;
    int more = 1;
    pthread_mutex_lock(&ahead->lock);
    while (more > 0) {
        while (!ahead->is_over && ahead->filled - ahead->taken == AHEAD_BATCHES)
            pthread_cond_wait(&ahead->changed, &ahead->lock);
        if (ahead->is_over) break;
        struct log_batch *batch = &ahead->batch[ahead->filled % AHEAD_BATCHES];
        pthread_mutex_unlock(&ahead->lock);
        more = log_source_fill(&iter->source, batch);
        pthread_mutex_lock(&ahead->lock);
        ahead->last = more;
        ahead->filled += more > 0;
        pthread_cond_signal(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

static void free_ahead(struct log_ahead *ahead) {
    for (size_t i = 0; i < AHEAD_BATCHES; i++) log_batch_free(&ahead->batch[i]);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

void log_iter_read_ahead(struct log_iter *iter) {
    if (iter->ahead) return;
    struct log_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead) return;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    ahead->last = 1;
    int code = 0;
    for (size_t i = 0; i < AHEAD_BATCHES && code == 0; i++) code = log_batch_init(&ahead->batch[i], AHEAD_EVENTS);
    iter->ahead = ahead;
    if (code == 0) code = pthread_create(&ahead->thread, NULL, fill_ahead, iter);
    if (code == 0) return;
    iter->ahead = NULL;
    free_ahead(ahead);
}

// The reader has finished with the batch before.
static int take_ahead(struct log_iter *iter) {
    struct log_ahead *ahead = iter->ahead;
    pthread_mutex_lock(&ahead->lock);
    if (iter->batch != &iter->own) {
        ahead->taken++;
        pthread_cond_signal(&ahead->changed);
    }
    while (ahead->filled == ahead->taken && ahead->last > 0) pthread_cond_wait(&ahead->changed, &ahead->lock);
    int more = ahead->filled > ahead->taken ? 1 : ahead->last;
    iter->batch = more > 0 ? &ahead->batch[ahead->taken % AHEAD_BATCHES] : &iter->own;
    if (more <= 0) iter->own.count = 0;
    pthread_mutex_unlock(&ahead->lock);
    return more;
}

static void end_ahead(struct log_ahead *ahead) {
    if (!ahead) return;
    pthread_mutex_lock(&ahead->lock);
    ahead->is_over = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    free_ahead(ahead);
}

// --- events

static int next_batch(struct log_iter *iter) {
    if (iter->at < iter->batch->count) return 1;
    iter->at = 0;
    return iter->ahead ? take_ahead(iter) : log_source_fill(&iter->source, &iter->own);
}

int log_iter_next(struct log_iter *iter, const struct log_event **event) {
    int more = next_batch(iter);
    if (more > 0) *event = &iter->batch->event[iter->at++];
    return more;
}

int log_iter_next_batch(struct log_iter *iter, const struct log_event **events) {
    int more = next_batch(iter);
    if (more <= 0) return more;
    size_t count = iter->batch->count - iter->at;
    *events = &iter->batch->event[iter->at];
    iter->at = iter->batch->count;
    return (int)count;
}

void log_iter_close(struct log_iter *iter) {
    if (!iter) return;
    end_ahead(iter->ahead);
    log_source_close(&iter->source);
    log_batch_free(&iter->own);
    log_matcher_free(&iter->matcher);
    free(iter);
}
