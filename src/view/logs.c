#include "view/logs.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "report/page.h"

enum { PATIENCE_SECONDS = 1, ZOOM_SPANS = 20000, ZOOM_NAME_BYTES = 200 << 10, TREE_CALLS = 2000 };

struct view_log {
    struct view_source source;
    pthread_mutex_t requesting; // held while source.requests is in use
    // Under the lock of struct view_logs:
    struct page *page; // while it is read
    bool done;
    int code; // the result of reading it
    struct view_answer data;
};

struct view_logs {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t reader;
    size_t count;
    struct view_log log[];
};

static int write_names(void *context, struct json_out *json) {
    const struct view_logs *logs = context;
    json_object(json);
    key_array(json, "logs");
    for (size_t i = 0; i < logs->count; i++) json_text(json, page_base_name(logs->log[i].source.requests.path));
    json_close(json);
    json_close(json);
    return 0;
}

int view_logs_names(const struct view_logs *logs, struct view_answer *answer) {
    return json_out_memory(&answer->text, &answer->len, write_names, (void *)logs);
}

// --- the reading thread

static int read_log(struct view_log *log, struct page *page, struct view_answer *answer) {
    FORWARD(page_gather(page, &log->source.reader));
    FORWARD(page_add_own_prediction(page));
    return page_json_memory(page, &answer->text, &answer->len);
}

static void *read_all(void *context) {
    struct view_logs *logs = context;
    for (size_t i = 0; i < logs->count; i++) {
        struct view_log *log = &logs->log[i];
        struct view_answer answer = {0};
        struct page *page = calloc(1, sizeof *page);
        pthread_mutex_lock(&logs->lock);
        log->page = page;
        pthread_mutex_unlock(&logs->lock);
        int code = page ? read_log(log, page, &answer) : -ENOMEM;
        pthread_mutex_lock(&logs->lock);
        log->page = NULL;
        log->data = answer;
        log->code = code;
        log->done = true;
        pthread_cond_broadcast(&logs->changed);
        pthread_mutex_unlock(&logs->lock);
        if (page) page_free(page);
        free(page);
        log_close(log->source.reader.log);
    }
    return NULL;
}

int view_logs_start(struct view_logs **out, const struct view_source *sources, size_t count) {
    struct view_logs *logs = calloc(1, sizeof *logs + count * sizeof logs->log[0]);
    RETURN_IF(!logs, -ENOMEM);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&logs->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&logs->lock, NULL);
    for (; logs->count < count; logs->count++) {
        struct view_log *log = &logs->log[logs->count];
        log->source = sources[logs->count];
        pthread_mutex_init(&log->requesting, NULL);
    }
    *out = logs;
    return -pthread_create(&logs->reader, NULL, read_all, logs);
}

// --- the document

// Waits a little for the log to be read. Returns whether it is.
static bool wait_for(struct view_logs *logs, struct view_log *log) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_SECONDS;
    while (!log->done && pthread_cond_timedwait(&logs->changed, &logs->lock, &until) == 0)
        ;
    return log->done;
}

static double fraction_read(const struct view_log *log) {
    uint64_t all = log_events(log->source.requests.log);
    uint64_t seen = log->page ? __atomic_load_n(&log->page->collect.seen, __ATOMIC_RELAXED) : 0;
    // Counters and findings follow the events.
    return all ? 0.7 * (double)seen / (double)all : 0;
}

static int copy_data(const struct view_log *log, struct view_answer *answer) {
    if (log->code < 0) return log->code;
    answer->text = malloc(log->data.len + 1);
    RETURN_IF(!answer->text, -ENOMEM);
    memcpy(answer->text, log->data.text, log->data.len + 1);
    answer->len = log->data.len;
    return 0;
}

static int pending_data(struct view_log *log, double done, struct view_answer *answer) {
    struct page page;
    pthread_mutex_lock(&log->requesting);
    int code = page_gather_index(&page, &log->source.requests, done);
    if (!code) code = page_json_memory(&page, &answer->text, &answer->len);
    page_free(&page);
    pthread_mutex_unlock(&log->requesting);
    return code;
}

int view_logs_data(struct view_logs *logs, size_t number, struct view_answer *answer) {
    RETURN_IF(number >= logs->count, ERR_NOTHING);
    struct view_log *log = &logs->log[number];
    pthread_mutex_lock(&logs->lock);
    bool done = wait_for(logs, log);
    double fraction = fraction_read(log);
    int code = done ? copy_data(log, answer) : 0;
    pthread_mutex_unlock(&logs->lock);
    return done ? code : pending_data(log, fraction, answer);
}

// --- parts of a log

struct window {
    struct log *log;
    struct timeline_window window;
};

static int write_window(void *context, struct json_out *json) {
    const struct window *window = context;
    struct timeline timeline;
    int code = timeline_init(&timeline, window->log, &window->window);
    if (!code) code = timeline_read(&timeline, window->log);
    if (!code) code = timeline_json(&timeline, json, ZOOM_SPANS, ZOOM_NAME_BYTES);
    timeline_free(&timeline);
    return code;
}

static bool to_ns(double seconds, int64_t *ns) {
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e9) return false;
    *ns = (int64_t)(seconds * 1e9);
    return true;
}

int view_logs_timeline(struct view_logs *logs, size_t number, double from, double to, uint64_t width,
                       struct view_answer *answer) {
    enum { NARROWEST = 50, WIDEST = 4000 };
    RETURN_IF(number >= logs->count, ERR_NOTHING);
    struct view_log *log = &logs->log[number];
    struct window window = {log->source.requests.log, {.columns = width}};
    RETURN_IF(!to_ns(from, &window.window.from_ns) || !to_ns(to, &window.window.to_ns), ERR_USAGE);
    RETURN_IF(window.window.to_ns <= window.window.from_ns || width < NARROWEST || width > WIDEST, ERR_USAGE);
    pthread_mutex_lock(&log->requesting);
    int code = json_out_memory(&answer->text, &answer->len, write_window, &window);
    pthread_mutex_unlock(&log->requesting);
    return code;
}

struct tree {
    struct log *log;
    uint64_t id;
    int64_t at_ns;
};

static int write_tree(void *context, struct json_out *json) {
    const struct tree *tree = context;
    return layers_tree_json(tree->log, tree->id, tree->at_ns, TREE_CALLS, json);
}

int view_logs_call(struct view_logs *logs, size_t number, uint64_t id, double at, struct view_answer *answer) {
    // A double is not exact to the nanosecond in a long run.
    enum { BEFORE_NS = 1000 };
    RETURN_IF(number >= logs->count, ERR_NOTHING);
    struct view_log *log = &logs->log[number];
    struct tree tree = {.log = log->source.requests.log, .id = id};
    RETURN_IF(!to_ns(at, &tree.at_ns), ERR_USAGE);
    tree.at_ns -= BEFORE_NS;
    pthread_mutex_lock(&log->requesting);
    int code = json_out_memory(&answer->text, &answer->len, write_tree, &tree);
    pthread_mutex_unlock(&log->requesting);
    return code;
}
