#include "cli/report_site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "catalogue/answer.h"
#include "cli/output.h"
#include "cli/whose_jobs.h"
#include "report/page.h"

enum { MONTHS_BEFORE = 11, TOP = 15, TOP_JOBS = 50 };

struct month {
    const char *name;                  // 2026-11
    int64_t begin_ns, end_ns, year_ns; // of the month, in UTC, and of the year that ends with it
};

struct writing {
    struct catalogue catalogue;
    struct month month;
    struct site_viewer viewer;
    struct problem problem;
};

static int64_t start_of(int year, int month) {
    struct tm utc = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = 1};
    return (int64_t)timegm(&utc) * 1000000000;
}

static bool parse_month(const char *text, struct month *month) {
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m", &utc);
    int year = utc.tm_year + 1900, number = utc.tm_mon + 1;
    if (strlen(text) != strlen("2026-11") || !end || *end || year < 1970 || year > 2200) return false;
    *month = (struct month){text, start_of(year, number), start_of(year, number + 1),
                            start_of(year, number - MONTHS_BEFORE)};
    return true;
}

// --- the document (doc/page.md)

static int put_groups(struct writing *writing, const char *key, enum ask_by by, int64_t since_ns, uint64_t top,
                      struct json_out *json) {
    const struct ask ask = {.filter = {.has_since = true,
                                       .since_ns = since_ns,
                                       .has_until = true,
                                       .until_ns = writing->month.end_ns,
                                       .owner = whose_owner(&writing->viewer)},
                            .sort = SORT_DEFAULT,
                            .top = top};
    key_object(json, key);
    FORWARD(answer_groups_json(&writing->catalogue, &ask, by, json, &writing->problem));
    json_close(json);
    return 0;
}

static int put_jobs(struct writing *writing, const char *key, enum ask_sort sort, const struct ask *all,
                    struct json_out *json) {
    const struct ask ask = {.filter = all->filter, .sort = sort, .top = TOP_JOBS};
    key_object(json, key);
    FORWARD(answer_jobs_json(&writing->catalogue, &ask, json, &writing->problem));
    json_close(json);
    return 0;
}

static int put_answers(struct writing *writing, struct json_out *json) {
    const struct month *month = &writing->month;
    const struct ask ask = {.filter = {.has_since = true,
                                       .since_ns = month->begin_ns,
                                       .has_until = true,
                                       .until_ns = month->end_ns,
                                       .owner = whose_owner(&writing->viewer)},
                            .sort = SORT_DEFAULT};
    key_object(json, "overview");
    FORWARD(answer_statistics_json(&writing->catalogue, &ask, json, &writing->problem));
    json_close(json);
    FORWARD(put_groups(writing, "days", BY_DAY, month->begin_ns, 0, json));
    FORWARD(put_groups(writing, "months", BY_MONTH, month->year_ns, 0, json));
    FORWARD(put_groups(writing, "users", BY_USER, month->begin_ns, TOP, json));
    FORWARD(put_groups(writing, "programs", BY_PROGRAM, month->begin_ns, TOP, json));
    key_object(json, "slower");
    FORWARD(answer_slower_json(&writing->catalogue, &ask, json, &writing->problem));
    json_close(json);
    return put_jobs(writing, "jobs", SORT_FINDINGS, &ask, json);
}

static int write_document(void *context, struct json_out *json) {
    struct writing *writing = context;
    const struct month *month = &writing->month;
    json_object(json);
    key_number(json, "version", 1);
    key_object(json, "site");
    json_members(json, m_text("place", writing->catalogue.store->name), m_text("owner", whose_owner(&writing->viewer)),
                 m_text("month", month->name), m_seconds("since", month->begin_ns), m_seconds("until", month->end_ns));
    json_close(json);
    int code = put_answers(writing, json);
    json_close(json);
    return code < 0 ? code : json->error;
}

static enum status write_report(struct writing *writing, bool is_html, const char *path) {
    struct output output;
    enum status status = output_open(&output, "report", path);
    if (status != STATUS_OK) return status;
    char *text = NULL;
    size_t len;
    int code = json_out_memory(&text, &len, write_document, writing);
    if (code == 0 && is_html) code = page_fill_template(text, "null", output.out);
    if (code == 0 && !is_html) fprintf(output.out, "%s\n", text);
    free(text);
    if (code == 0 || output_failed(&output)) return output_close(&output, false);
    output_close(&output, true);
    return cli_problem("report", "the catalogue", &writing->problem, code);
}

// All that is written is of one moment.
enum status report_site(const char *db, const char *month, bool is_html, const char *output) {
    struct writing writing = {.problem = {{0}}};
    struct problem *problem = &writing.problem;
    if (!parse_month(month, &writing.month)) return cli_usage("report", month, "is not a month, such as 2026-11");
    int code = catalogue_open(&writing.catalogue, db, STORE_READS, problem);
    if (code < 0) return cli_problem("report", db ? db : "the catalogue", problem, code);
    struct store *store = writing.catalogue.store;
    code = whose_jobs(&writing.catalogue, &writing.viewer, problem);
    if (code == 0) code = store->operations->begin(store, STORE_READS, problem);
    enum status status =
        code < 0 ? cli_problem("report", store->name, problem, code) : write_report(&writing, is_html, output);
    store->operations->roll_back(store);
    catalogue_close(&writing.catalogue);
    return status;
}
