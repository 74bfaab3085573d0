#include "view/logs.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "pack/pack.h"
#include "report/page.h"
#include "view/question.h"

// A log that takes longer to read is first shown as its index knows it: a picture should be there within half a second.
enum {
    READER_NICE = 10,
    SECOND_NS = 1000000000,
    PATIENCE_NS = SECOND_NS / 4,
    ZOOM_SPANS = 20000,
    ZOOM_NAME_BYTES = 200 << 10,
    TREE_CALLS = 2000
};

// Opened three times: a struct log serves one thread at a time.
struct view_log {
    struct summary_source requests;       // answers requests while and after the log is read
    struct summary_source reader;         // for the reading thread, which closes it
    struct summary_source for_statements; // answers statements of SQL, which may take long
    pthread_mutex_t requesting;           // held while `requests` is in use
    struct view_statements *statements;
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
    const struct finding_profiles *profiles;
    struct view_log **log; // logs may be added, but none goes
    size_t count;
};

static struct view_log *find(struct view_logs *logs, size_t number) {
    pthread_mutex_lock(&logs->lock);
    struct view_log *log = number < logs->count ? logs->log[number] : NULL;
    pthread_mutex_unlock(&logs->lock);
    return log;
}

void view_logs_names(struct view_logs *logs, struct json_out *json) {
    key_array(json, "logs");
    pthread_mutex_lock(&logs->lock);
    for (size_t i = 0; i < logs->count; i++) json_text(json, page_base_name(logs->log[i]->requests.path));
    pthread_mutex_unlock(&logs->lock);
    json_close(json);
}

// --- the reading thread

static int read_log(const struct view_logs *logs, struct view_log *log, struct page *page, struct view_answer *answer) {
    FORWARD(page_gather(page, &log->reader, logs->profiles));
    FORWARD(page_add_own_prediction(page));
    return page_json_memory(page, &answer->text, &answer->len);
}

static struct view_log *wait_for_log(struct view_logs *logs, size_t number) {
    pthread_mutex_lock(&logs->lock);
    while (number >= logs->count) pthread_cond_wait(&logs->changed, &logs->lock);
    struct view_log *log = logs->log[number];
    pthread_mutex_unlock(&logs->lock);
    return log;
}

// Requests come first: this thread, and those that it starts, only get what they leave of the processors.
static void step_back(void) { setpriority(PRIO_PROCESS, 0, READER_NICE); }

static void *read_all(void *context) {
    struct view_logs *logs = context;
    step_back();
    for (size_t i = 0;; i++) {
        struct view_log *log = wait_for_log(logs, i);
        struct view_answer answer = {0};
        struct page *page = calloc(1, sizeof *page);
        pthread_mutex_lock(&logs->lock);
        log->page = page;
        pthread_mutex_unlock(&logs->lock);
        int code = page ? read_log(logs, log, page, &answer) : -ENOMEM;
        pthread_mutex_lock(&logs->lock);
        log->page = NULL;
        log->data = answer;
        log->code = code;
        log->done = true;
        pthread_cond_broadcast(&logs->changed);
        pthread_mutex_unlock(&logs->lock);
        if (page) page_free(page);
        free(page);
        log_close(log->reader.log);
    }
    return NULL;
}

int view_logs_start(struct view_logs **out, const struct finding_profiles *profiles) {
    struct view_logs *logs = calloc(1, sizeof *logs);
    RETURN_IF(!logs, -ENOMEM);
    logs->profiles = profiles;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&logs->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&logs->lock, NULL);
    *out = logs;
    return -pthread_create(&logs->reader, NULL, read_all, logs);
}

// --- adding logs

static int open_source(struct summary_source *source, const char *path, struct problem *problem) {
    source->path = path;
    return pack_open_log(&source->log, path, &source->from_spills, problem);
}

static int open_log(struct view_log *log, const char *path, struct problem *problem) {
    FORWARD(open_source(&log->requests, path, problem));
    FORWARD(open_source(&log->reader, path, problem));
    FORWARD(open_source(&log->for_statements, path, problem));
    pthread_mutex_init(&log->requesting, NULL);
    return view_statements_new(&log->statements, &log->for_statements);
}

int view_logs_add(struct view_logs *logs, const char *path, struct problem *problem) {
    struct view_log *log = calloc(1, sizeof *log);
    char *name = strdup(path);
    int code = log && name ? open_log(log, name, problem) : problem_code(problem, -ENOMEM, path);
    if (code == 0) {
        pthread_mutex_lock(&logs->lock);
        code = array_push(logs->log, logs->count, log);
        if (code == 0) code = (int)logs->count - 1;
        pthread_cond_broadcast(&logs->changed);
        pthread_mutex_unlock(&logs->lock);
    }
    if (code >= 0) return code;
    const struct summary_source *const sources[] = {&log->requests, &log->reader, &log->for_statements};
    for (size_t i = 0; log && i < sizeof sources / sizeof *sources; i++) {
        if (sources[i]->log) log_close(sources[i]->log);
    }
    free(log);
    free(name);
    return code;
}

// --- the document

// Waits a little for the log to be read. Returns whether it is.
static bool wait_for(struct view_logs *logs, struct view_log *log) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PATIENCE_NS;
    if (until.tv_nsec >= SECOND_NS) until.tv_nsec -= SECOND_NS, until.tv_sec++;
    while (!log->done && pthread_cond_timedwait(&logs->changed, &logs->lock, &until) == 0)
        ;
    return log->done;
}

static double fraction_read(const struct view_log *log) {
    uint64_t all = log_events(log->requests.log);
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
    int code = page_gather_index(&page, &log->requests, done);
    if (!code) code = page_json_memory(&page, &answer->text, &answer->len);
    page_free(&page);
    pthread_mutex_unlock(&log->requesting);
    return code;
}

int view_logs_data(struct view_logs *logs, size_t number, struct view_answer *answer) {
    struct view_log *log = find(logs, number);
    RETURN_IF(!log, ERR_NOTHING);
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
    struct view_log *log = find(logs, number);
    RETURN_IF(!log, ERR_NOTHING);
    struct window window = {log->requests.log, {.columns = width}};
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
    struct view_log *log = find(logs, number);
    RETURN_IF(!log, ERR_NOTHING);
    struct tree tree = {.log = log->requests.log, .id = id};
    RETURN_IF(!to_ns(at, &tree.at_ns), ERR_USAGE);
    tree.at_ns -= BEFORE_NS;
    pthread_mutex_lock(&log->requesting);
    int code = json_out_memory(&answer->text, &answer->len, write_tree, &tree);
    pthread_mutex_unlock(&log->requesting);
    return code;
}

int view_logs_query(struct view_logs *logs, size_t number, const char *text, struct view_answer *answer) {
    struct view_log *log = find(logs, number);
    RETURN_IF(!log, ERR_NOTHING);
    pthread_mutex_lock(&log->requesting);
    int code = view_question(log->requests.log, text, answer);
    pthread_mutex_unlock(&log->requesting);
    return code;
}

int view_logs_sql(struct view_logs *logs, size_t number, const char *statement, const struct view_asker *asker,
                  struct view_answer *answer) {
    struct view_log *log = find(logs, number);
    RETURN_IF(!log, ERR_NOTHING);
    return view_statements_run(log->statements, statement, asker, answer);
}
