#include "pack/log_queue.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

enum { PLACES = 4 };

struct log_queue {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        struct log_block block;
        struct bytes raw;
        struct log_summary summary;
    } place[PLACES];
    unsigned first;
    unsigned count; // with the one that is being stored
    bool over;
    int error; // the first one
    log_queue_store *store;
    void *context;
};

static void *store_until_over(void *data) {
    struct log_queue *q = data;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->count && !q->over) pthread_cond_wait(&q->changed, &q->lock);
        if (!q->count) break;
        unsigned at = q->first;
        int code = q->error;
        pthread_mutex_unlock(&q->lock);
        if (!code) code = q->store(q->context, &q->place[at].block, &q->place[at].raw, &q->place[at].summary);
        pthread_mutex_lock(&q->lock);
        q->error = code;
        q->first = (q->first + 1) % PLACES;
        q->count--;
        pthread_cond_broadcast(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

// Signals are for the thread that asked for them.
static int start_thread(struct log_queue *q) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&q->thread, NULL, store_until_over, q);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static bool has_two_processors(void) {
    const char *threads = getenv("IOSEER_THREADS");
    return (threads ? strtol(threads, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN)) > 1;
}

struct log_queue *log_queue_start(log_queue_store *store, void *context) {
    struct log_queue *q = has_two_processors() ? calloc(1, sizeof *q) : NULL;
    if (!q) return NULL;
    q->store = store;
    q->context = context;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
    if (!start_thread(q)) return q;
    free(q);
    return NULL;
}

int log_queue_add(struct log_queue *q, const struct log_block *block, const uint8_t *raw, size_t len,
                  const struct log_summary *summary) {
    pthread_mutex_lock(&q->lock);
    while (q->count == PLACES) pthread_cond_wait(&q->changed, &q->lock);
    unsigned at = (q->first + q->count) % PLACES;
    int code = q->error;
    pthread_mutex_unlock(&q->lock);
    FORWARD(code);
    // The thread does not look at free places.
    q->place[at].raw.len = 0;
    FORWARD(bytes_append(&q->place[at].raw, raw, len));
    q->place[at].block = *block;
    q->place[at].summary = *summary;
    pthread_mutex_lock(&q->lock);
    q->count++;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return 0;
}

int log_queue_wait(struct log_queue *q) {
    pthread_mutex_lock(&q->lock);
    while (q->count) pthread_cond_wait(&q->changed, &q->lock);
    int code = q->error;
    pthread_mutex_unlock(&q->lock);
    return code;
}

void log_queue_stop(struct log_queue *q) {
    if (!q) return;
    pthread_mutex_lock(&q->lock);
    q->over = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->changed);
    for (unsigned i = 0; i < PLACES; i++) bytes_free(&q->place[i].raw);
    free(q);
}
