#include "view/site.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "catalogue/answer.h"
#include "report/page.h"

enum { MOST_ROWS = 1000, MOST_OPEN = 200 };

struct view_site {
    const char *place; // as it was given
    char *name;        // as it is shown: without a password
    const char *owner;
    pthread_mutex_t opening;
    struct opened {
        char *path;
        int number; // of the log
    } * opened;
    size_t count;
};

int view_site_new(struct view_site **out, const char *place, const char *owner, struct problem *problem) {
    struct catalogue catalogue;
    FORWARD(catalogue_open(&catalogue, place, STORE_READS, problem));
    struct view_site *site = calloc(1, sizeof *site);
    char *name = strdup(catalogue.store->name);
    catalogue_close(&catalogue);
    if (!site || !name) {
        free(site);
        free(name);
        return problem_code(problem, -ENOMEM, "the catalogue");
    }
    *site = (struct view_site){.place = place, .name = name, .owner = owner};
    pthread_mutex_init(&site->opening, NULL);
    *out = site;
    return 0;
}

void view_site_json(const struct view_site *site, struct json_out *json) {
    json_object_of(json, m_text("place", site->name), m_text("owner", site->owner));
}

// --- questions

struct asking {
    struct view_site *site;
    const char *question;
    struct ask ask;
    enum ask_by by;
    struct catalogue catalogue;
    struct problem problem;
};

static int ask_json(void *context, struct json_out *json) {
    struct asking *asking = context;
    const char *question = asking->question;
    struct catalogue *catalogue = &asking->catalogue;
    int code = ERR_NOTHING;
    json_object(json);
    if (!strcmp(question, "jobs")) code = answer_jobs_json(catalogue, &asking->ask, json, &asking->problem);
    if (!strcmp(question, "slower")) code = answer_slower_json(catalogue, &asking->ask, json, &asking->problem);
    if (!strcmp(question, "statistics")) code = answer_statistics_json(catalogue, &asking->ask, json, &asking->problem);
    if (!strcmp(question, "groups") && asking->by < ASK_BYS)
        code = answer_groups_json(catalogue, &asking->ask, asking->by, json, &asking->problem);
    json_close(json);
    return code;
}

// Each request has a connection of its own, so that slow questions do not keep others waiting, and all that it is told
// is of one moment.
static int ask_catalogue(struct asking *asking, json_write *write, struct view_answer *answer) {
    int code = catalogue_open(&asking->catalogue, asking->site->place, STORE_READS, &asking->problem);
    RETURN_IF(code < 0, code);
    struct store *store = asking->catalogue.store;
    code = store->operations->begin(store, STORE_READS, &asking->problem);
    if (code == 0) code = json_out_memory(&answer->text, &answer->len, write, asking);
    store->operations->roll_back(store);
    catalogue_close(&asking->catalogue);
    return code;
}

static int fail(struct view_answer *answer, int code, const struct problem *problem) {
    return view_failure(answer, code, *problem->why ? problem->why : err_text(code), -1);
}

// A number that is not given stays what it is.
static int take_number(const char *text, double least, double most, double *number) {
    char *end;
    if (!text) return 0;
    *number = strtod(text, &end);
    return end != text && !*end && *number >= least && *number <= most ? 0 : ERR_USAGE;
}

static int take_moment(const char *text, bool *is_given, int64_t *ns) {
    double seconds = 0;
    FORWARD(take_number(text, 0, 9e9, &seconds));
    *is_given = text != NULL;
    *ns = (int64_t)llround(seconds * 1e3) * 1000000; // a double is not exact to the nanosecond
    return 0;
}

static int take_arguments(struct asking *asking, view_argument *argument, void *context) {
    struct ask_filter *filter = &asking->ask.filter;
    const double most_id = 0x7fffffff;
    double top = MOST_ROWS, after = 0, job = 0;
    const char *by = argument(context, "by"), *sort = argument(context, "sort");
    *filter = (struct ask_filter){.user = argument(context, "user"),
                                  .program = argument(context, "program"),
                                  .system = argument(context, "fs"),
                                  .finding = argument(context, "finding"),
                                  .owner = asking->site->owner};
    FORWARD(take_moment(argument(context, "since"), &filter->has_since, &filter->since_ns));
    FORWARD(take_moment(argument(context, "until"), &filter->has_until, &filter->until_ns));
    FORWARD(take_number(argument(context, "top"), 1, MOST_ROWS, &top));
    FORWARD(take_number(argument(context, "after"), 1, most_id, &after));
    FORWARD(take_number(argument(context, "id"), 1, most_id, &job));
    asking->by = ask_by_of(by);
    asking->ask.sort = ask_sort_of(sort);
    RETURN_IF((by && asking->by == ASK_BYS) || (sort && asking->ask.sort == SORT_DEFAULT), ERR_USAGE);
    asking->ask.top = (uint64_t)top;
    asking->ask.after = (int64_t)after;
    filter->job = (int64_t)job;
    return 0;
}

int view_site_ask(struct view_site *site, const char *question, view_argument *argument, void *context,
                  struct view_answer *answer) {
    struct asking asking = {.site = site, .question = question};
    FORWARD(take_arguments(&asking, argument, context));
    int code = ask_catalogue(&asking, ask_json, answer);
    return code < 0 && *asking.problem.why ? fail(answer, code, &asking.problem) : code;
}

// --- logs

struct finding_log {
    struct asking asking;
    char *path;
};

static int keep_path(void *context, const struct answer_column *column, const struct store_value *value, size_t count) {
    struct finding_log *finding = context;
    for (size_t i = 0; i < count && !finding->path; i++) {
        if (strcmp(column[i].key, "log") == 0) finding->path = strdup(store_text(&value[i]));
    }
    return finding->path ? 0 : -ENOMEM;
}

static int find_log(void *context, struct json_out *json) {
    struct finding_log *finding = context;
    (void)json;
    return ask_jobs(&finding->asking.catalogue, &finding->asking.ask, keep_path, finding, &finding->asking.problem);
}

// Takes the path.
static int open_log(struct view_site *site, struct view_logs *logs, char *path, struct problem *problem) {
    for (size_t i = 0; i < site->count; i++) {
        if (strcmp(site->opened[i].path, path) != 0) continue;
        free(path);
        return site->opened[i].number;
    }
    int number = site->count < MOST_OPEN
                     ? view_logs_add(logs, path, problem)
                     : problem_set(problem, ERR_LIMIT, path, "%zu logs are open already: start `ioseer view` again",
                                   site->count);
    const struct opened opened = {path, number};
    int code = number < 0 ? number : array_push(site->opened, site->count, opened);
    if (code < 0) free(path);
    return code < 0 ? code : number;
}

struct opening {
    int number;
    const char *path;
};

static int write_opened(void *context, struct json_out *json) {
    const struct opening *opening = context;
    json_object_of(json, m_number("log", (uint64_t)opening->number), m_text("name", page_base_name(opening->path)));
    return 0;
}

int view_site_open(struct view_site *site, struct view_logs *logs, int64_t job, struct view_answer *answer) {
    struct finding_log finding = {.asking = {.site = site, .ask = {.filter = {.owner = site->owner, .job = job}}}};
    struct view_answer nothing = {0};
    int code = ask_catalogue(&finding.asking, find_log, &nothing);
    free(nothing.text);
    struct problem *problem = &finding.asking.problem;
    if (code == 0 && !finding.path) code = problem_set(problem, ERR_NOTHING, "", "the catalogue has no such job");
    if (code < 0) {
        free(finding.path);
        return fail(answer, code, problem);
    }
    pthread_mutex_lock(&site->opening);
    char *name = strdup(page_base_name(finding.path));
    int number = name ? open_log(site, logs, finding.path, problem) : -ENOMEM;
    pthread_mutex_unlock(&site->opening);
    code = number < 0 ? fail(answer, number, problem)
                      : json_out_memory(&answer->text, &answer->len, write_opened, &(struct opening){number, name});
    free(name);
    return code;
}
