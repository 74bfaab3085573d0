#include "report/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/human.h"
#include "base/json_in.h"

// A model needs a few hundred bytes per call of the program. How many of a log's events these are shows only when they
// are read: of a log with several times as many events, none are kept.
enum {
    MOST_MODEL_CALLS = 2000000,
    MOST_MODEL_EVENTS = 8000000,
    MOST_PREDICTION_BYTES = 150 << 10,
    COLLECT_CONSUMERS = 5,
};

// --- events and counters

// A transfer lasts from its start to its end, even if it is asynchronous.
static void add_busy(struct collect *collect, const struct log_event *event) {
    struct summary_busy *busy = &collect->transfers;
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (event->process->is_launcher) return;
    summary_job_add(collect->summary, event);
    if (!event->moves || end_ns <= busy->until_ns) return;
    busy->ns += end_ns - (event->start_ns < busy->until_ns ? busy->until_ns : event->start_ns);
    busy->until_ns = end_ns;
}

// For consumers that need the events of all processes in order.
static int add_events(void *context, const struct log_event *const *events, size_t count) {
    struct collect *collect = context;
    for (size_t i = 0; i < count; i++) {
        const struct log_event *event = events[i];
        add_busy(collect, event);
        FORWARD(space_add(&collect->space, event));
        FORWARD(facts_add(collect->facts, event));
        FORWARD(timeline_add(&collect->timeline, event));
    }
    __atomic_fetch_add(&collect->seen, count, __ATOMIC_RELAXED);
    return 0;
}

static int collect_begin(struct collect *collect, struct log *log, struct summary *summary,
                         struct log_consumer *consumer) {
    const struct timeline_window window = timeline_whole(log);
    *collect = (struct collect){.log = log, .summary = summary};
    FORWARD(timeline_init(&collect->timeline, log, &window));
    FORWARD(timeline_add_heat(&collect->timeline, log));
    FORWARD(layers_init(&collect->layers, log));
    FORWARD(space_init(&collect->space, log));
    FORWARD(files_init(&collect->files, log));
    collect->facts = malloc(sizeof *collect->facts);
    RETURN_IF(!collect->facts, -ENOMEM);
    FORWARD(facts_init(collect->facts, log));
    consumer[0] = layers_consumer(&collect->layers);
    consumer[1] = facts_consumer(collect->facts);
    consumer[2] = (struct log_consumer){.context = collect, .ordered = add_events};
    consumer[3] = file_times_consumer(&collect->files.times);
    consumer[4] = (struct log_consumer){0};
    if (log_events(log) > MOST_MODEL_EVENTS) return 0;
    return model_build_begin(&collect->building, log, &(struct model_options){.most_calls = MOST_MODEL_CALLS},
                             &consumer[4]);
}

static int collect_finish(struct collect *collect) {
    FORWARD(facts_finish(collect->facts));
    return files_finish(&collect->files);
}

static void collect_free(struct collect *collect) {
    timeline_free(&collect->timeline);
    layers_free(&collect->layers);
    space_free(&collect->space);
    files_free(&collect->files);
    if (collect->facts) facts_free(collect->facts);
    free(collect->facts);
    model_build_free(collect->building);
}

// --- the page

static int make_model(struct page *page) {
    struct collect *collect = &page->collect;
    int code = collect->building ? model_build_finish(collect->building, &page->model) : ERR_LIMIT;
    model_build_free(collect->building);
    collect->building = NULL;
    page->has_model = code == 0;
    if (code != ERR_LIMIT) return code;
    return text_list_add(&page->cut,
                         "phases: the log has %s, too many to look for phases here; `ioseer phases` finds them",
                         human_count(log_events(collect->log), "event").text);
}

int page_gather(struct page *page, const struct summary_source *source, const struct finding_profiles *profiles) {
    *page = (struct page){.source = *source};
    struct log_consumer consumer[COLLECT_CONSUMERS + SUMMARY_CONSUMERS];
    FORWARD(collect_begin(&page->collect, source->log, &page->summary, consumer));
    FORWARD(
        summary_begin(&page->summary, source, files_add_record, &page->collect.files, consumer + COLLECT_CONSUMERS));
    FORWARD(log_visit(&(struct log_visit){
        .log = source->log, .consumer = consumer, .consumers = COLLECT_CONSUMERS + SUMMARY_CONSUMERS}));
    FORWARD(summary_finish(&page->summary)); // gives the files their counters
    FORWARD(collect_finish(&page->collect));
    FORWARD(make_model(page));
    page->collect.facts->collectives = &page->summary.collectives.in;
    page->collect.facts->tree = &page->summary.tree;
    page->collect.facts->stack = &page->summary.stack;
    FORWARD(findings_make(&page->findings, page->collect.facts, page->has_model ? &page->model : NULL, profiles,
                          source->path));
    return page_add_sentences(page);
}

int page_gather_index(struct page *page, const struct summary_source *source, double done) {
    const struct timeline_window window = timeline_whole(source->log);
    *page = (struct page){.source = *source, .is_pending = true, .done = done};
    FORWARD(timeline_init(&page->collect.timeline, source->log, &window));
    FORWARD(timeline_from_index(&page->collect.timeline, source->log));
    FORWARD(summary_gather_index(&page->summary, source));
    return text_list_add(&page->sentences, "The log is being read: %s of its %s so far.", human_percent(done).text,
                         human_count(log_events(source->log), "event").text);
}

void page_free(struct page *page) {
    summary_free(&page->summary);
    collect_free(&page->collect);
    findings_free(&page->findings);
    if (page->has_model) model_free(&page->model);
    text_list_free(&page->predictions);
    text_list_free(&page->sentences);
    text_list_free(&page->not_captured);
    text_list_free(&page->cut);
}

const char *page_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// --- predictions

static int read_file(const char *path, struct bytes *bytes) {
    char part[4096];
    FILE *file = fopen(path, "re");
    RETURN_IF(!file, -errno);
    int code = 0;
    for (size_t got; !code && (got = fread(part, 1, sizeof part, file)) > 0;) {
        code = bytes->len + got > MOST_PREDICTION_BYTES ? ERR_LIMIT : bytes_append(bytes, part, got);
    }
    if (!code && ferror(file)) code = -EIO;
    fclose(file);
    return code;
}

// A '<' in JSON is always inside a string. As an escape it cannot end the script element that holds the document.
static int keep_document(struct page *page, const struct bytes *bytes) {
    struct bytes text = {0};
    int code = 0;
    for (size_t i = 0; i < bytes->len && !code; i++) {
        bool is_less = bytes->data[i] == '<';
        code = bytes_append(&text, is_less ? "\\u003c" : (const char *)&bytes->data[i], is_less ? 6 : 1);
    }
    if (!code) code = bytes_append(&text, "", 1);
    if (!code) return text_list_take(&page->predictions, (char *)text.data);
    bytes_free(&text);
    return code;
}

int page_add_prediction(struct page *page, const char *path) {
    struct bytes bytes = {0};
    struct json_in in;
    struct json_in_error error;
    int code = read_file(path, &bytes);
    if (!code) code = json_in_parse(&in, (const char *)bytes.data, bytes.len, &error);
    if (!code) {
        if (json_in_type(in.root) != JSON_OBJECT) code = ERR_FORMAT;
        json_in_free(&in);
    }
    if (!code) code = keep_document(page, &bytes);
    bytes_free(&bytes);
    return code;
}

int page_add_own_prediction(struct page *page) {
    char *path;
    struct stat st;
    if (asprintf(&path, "%s.predict.json", page->source.path) < 0) return -ENOMEM;
    int code = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? page_add_prediction(page, path) : 0;
    if (code < 0 && code != -ENOMEM)
        code = text_list_add(&page->cut, "predictions: the file beside the log cannot be read: %s", err_text(code));
    free(path);
    return code;
}
