#include "catalogue/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/glob.h"
#include "base/scoped.h"
#include "catalogue/ask_statement.h"
#include "catalogue/names.h"
#include "catalogue/schema.h"
#include "catalogue/sets.h"

const char *const ask_by_names[ASK_BYS] = {"user", "program", "month", "day", "fs", "file", "finding", "layer", "size"};
const char *const ask_sort_names[ASK_SORTS] = {
    [SORT_START] = "start",     [SORT_TIME] = "time",   [SORT_BYTES] = "bytes",       [SORT_IO] = "io",
    [SORT_SHARE] = "share",     [SORT_FILES] = "files", [SORT_FINDINGS] = "findings", [SORT_USER] = "user",
    [SORT_PROGRAM] = "program", [SORT_JOBS] = "jobs",   [SORT_NAME] = "name"};

static size_t find_word(const char *const *words, size_t count, const char *word) {
    size_t i = 0;
    while (word && i < count && strcmp(words[i], word) != 0) i++;
    return word ? i : count;
}

enum ask_by ask_by_of(const char *name) { return (enum ask_by)find_word(ask_by_names, ASK_BYS, name); }
enum ask_sort ask_sort_of(const char *name) { return (enum ask_sort)find_word(ask_sort_names, ASK_SORTS, name); }

// --- names

struct finding_names {
    struct ask_names *names;
    const char *pattern, *only; // only: no name but this one; NULL: any
};

// A file system is also found by its mount point alone: "/scratch" is "/scratch (lustre)".
static bool is_meant(const char *pattern, const char *name) {
    const char *type = strstr(name, " (");
    size_t len = type ? (size_t)(type - name) : 0;
    if (glob_match(pattern, name) || !strcmp(pattern, name)) return true;
    return len && strlen(pattern) == len && !strncmp(pattern, name, len);
}

static int note_name(void *context, const struct store_value *value, size_t count) {
    const struct finding_names *finding = context;
    struct ask_names *names = finding->names;
    struct ask_name name = {store_integer(&value[0]), strdup(store_text(&value[1]))};
    (void)count;
    RETURN_IF(!name.name, -ENOMEM);
    name_get(name.name);
    bool is_hidden = finding->only && strcmp(finding->only, name.name) != 0;
    if (!is_hidden && is_meant(finding->pattern, name.name)) return array_push(names->name, names->count, name);
    names->is_all = false;
    free(name.name);
    return 0;
}

static int compare_names(const void *a, const void *b) {
    const struct ask_name *left = a, *right = b;
    return strcmp(left->name, right->name);
}

static int find_names(struct catalogue *catalogue, const char *table, const char *column,
                      const struct finding_names *wanted, struct problem *problem) {
    SCOPED_FREE char *text = NULL;
    struct finding_names finding = *wanted;
    struct ask_names *names = wanted->names;
    *names = (struct ask_names){.is_asked = true, .is_all = true};
    if (asprintf(&text, "SELECT n.id, n.name FROM (SELECT DISTINCT %s AS id FROM %s) d JOIN names n ON n.id = d.id",
                 column, table) < 0)
        return -ENOMEM;
    FORWARD(store_ask(catalogue->store, &store_statement(text, NULL, 0), note_name, &finding, problem));
    if (names->count) qsort(names->name, names->count, sizeof *names->name, compare_names);
    return 0;
}

int ask_names_find(struct catalogue *catalogue, const char *table, const char *column, const char *pattern,
                   struct ask_names *names, struct problem *problem) {
    return find_names(catalogue, table, column, &(struct finding_names){names, pattern, NULL}, problem);
}

void ask_names_free(struct ask_names *names) {
    for (size_t i = 0; i < names->count; i++) free(names->name[i].name);
    free(names->name);
    *names = (struct ask_names){0};
}

static int find_sets(struct catalogue *catalogue, struct ask_found *found, struct problem *problem) {
    SCOPED(sets_free) struct sets sets = {0};
    FORWARD(sets_load(&sets, catalogue->store, problem));
    for (size_t i = 0; i < sets.count; i++) {
        size_t k = 0;
        while (k < found->system.count && !sets_has(&sets.row[i], found->system.name[k].id)) k++;
        if (k < found->system.count) FORWARD(array_push(found->sets.id, found->sets.count, sets.row[i].id));
    }
    return 0;
}

static int note_sums(void *context, const struct store_value *value, size_t count) {
    double *sum = context;
    for (size_t i = 0; i < 2 && i < count; i++) sum[i] = store_real(&value[i]);
    return 0;
}

// Most users always work on the same file systems: then a filter by these changes nothing.
static int find_other_systems(struct catalogue *catalogue, struct ask_found *found, struct problem *problem) {
    struct ask_statement statement;
    double jobs[2] = {0, 0};
    FORWARD(ask_begin(&statement, problem));
    fputs("SELECT COALESCE(SUM(CASE WHEN 1 = 1", statement.out);
    ask_put_sets(&statement, found);
    fprintf(statement.out,
            " THEN jobs ELSE 0 END), 0), COALESCE(SUM(jobs), 0) FROM cell_sums WHERE finding_id = %" PRId64,
            CELL_ALL_JOBS);
    ask_put_names(&statement, "user_id", &found->user);
    ask_put_names(&statement, "program_id", &found->program);
    if (fclose(statement.out)) return -ENOMEM;
    int code = store_ask(catalogue->store, &store_statement(statement.text, NULL, 0), note_sums, jobs, problem);
    free(statement.text);
    found->has_other_systems = jobs[1] - jobs[0] > 0.5;
    return code;
}

int ask_find(struct catalogue *catalogue, const struct ask_filter *filter, struct ask_found *found,
             struct problem *problem) {
    const struct {
        const char *pattern, *only, *table, *column;
        struct ask_names *names;
    } rows[] = {{filter->user ? filter->user : filter->owner, filter->owner, "sums", "user_id", &found->user},
                {filter->program, NULL, "sums", "program_id", &found->program},
                {filter->system, NULL, "system_sums", "name_id", &found->system},
                {filter->finding, NULL, "finding_sums", "name_id", &found->finding}};
    *found = (struct ask_found){0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct finding_names wanted = {rows[i].names, rows[i].pattern, rows[i].only};
        if (rows[i].pattern) FORWARD(find_names(catalogue, rows[i].table, rows[i].column, &wanted, problem));
    }
    if (!filter->system) return 0;
    FORWARD(find_sets(catalogue, found, problem));
    return find_other_systems(catalogue, found, problem);
}

void ask_found_free(struct ask_found *found) {
    ask_names_free(&found->user);
    ask_names_free(&found->program);
    ask_names_free(&found->system);
    ask_names_free(&found->finding);
    free(found->sets.id);
}

// --- statements

int ask_begin(struct ask_statement *statement, struct problem *problem) {
    *statement = (struct ask_statement){.problem = problem};
    statement->out = open_memstream(&statement->text, &statement->len);
    return statement->out ? 0 : -ENOMEM;
}

void ask_put_names(struct ask_statement *statement, const char *column, const struct ask_names *names) {
    if (!names->is_asked) return;
    fprintf(statement->out, " AND %s IN (-1", column);
    for (size_t i = 0; i < names->count; i++) fprintf(statement->out, ", %" PRId64, names->name[i].id);
    fputc(')', statement->out);
}

void ask_put_sets(struct ask_statement *statement, const struct ask_found *found) {
    fputs(" AND set_id IN (-1", statement->out);
    for (size_t i = 0; i < found->sets.count; i++) fprintf(statement->out, ", %" PRId64, found->sets.id[i]);
    fputc(')', statement->out);
}

void ask_put_limit(struct ask_statement *statement, uint64_t top) {
    if (top) fprintf(statement->out, " LIMIT %" PRIu64, top);
}

void ask_put_columns(struct ask_statement *statement, const struct answer_column *column) {
    for (size_t i = 0; column[i].key; i++) fprintf(statement->out, "%s%s", i ? ", " : "", column[i].sql);
}

struct answering {
    const struct answer_column *column;
    answer_row *row;
    void *context;
};

// Texts get their bytes back.
static int give_row(void *context, const struct store_value *value, size_t count) {
    const struct answering *answering = context;
    SCOPED_FREE struct store_value *own = malloc((count + 1) * sizeof *own);
    SCOPED(bytes_free) struct bytes text = {0};
    size_t room = 1;
    RETURN_IF(!own, -ENOMEM);
    for (size_t i = 0; i < count; i++) room += strlen(store_text(&value[i])) + 1;
    RETURN_IF(!bytes_reserve(&text, room), -ENOMEM); // so that it does not move
    for (size_t i = 0; i < count; i++) {
        own[i] = value[i];
        if (value[i].kind != STORE_TEXT) continue;
        char *at = (char *)text.data + text.len;
        FORWARD(bytes_append(&text, value[i].text, strlen(value[i].text) + 1));
        name_get(at);
        own[i].text = at;
    }
    return answering->row(answering->context, answering->column, own, count);
}

int ask_run(struct ask_statement *statement, struct catalogue *catalogue, const struct answer_column *column,
            answer_row *row, void *context) {
    struct answering answering = {column, row, context};
    int code = fclose(statement->out) ? -ENOMEM : 0;
    if (code == 0)
        code = store_ask(catalogue->store, &store_statement(statement->text, statement->value, statement->values),
                         give_row, &answering, statement->problem);
    free(statement->text);
    return code;
}

// --- months

static int64_t month_after(int64_t month, int steps) {
    int64_t months = month / 100 * 12 + month % 100 - 1 + steps;
    return months / 12 * 100 + months % 12 + 1;
}

static int64_t month_of(int64_t ns) {
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm utc = {0};
    gmtime_r(&seconds, &utc);
    return (utc.tm_year + 1900) * INT64_C(100) + utc.tm_mon + 1;
}

static int64_t start_of(int64_t month) {
    struct tm utc = {.tm_year = (int)(month / 100) - 1900, .tm_mon = (int)(month % 100) - 1, .tm_mday = 1};
    return (int64_t)timegm(&utc) * 1000000000;
}

// `begin_ns`: start of the first period, `end_ns`: of the one behind the last.
static struct ask_periods split(const struct ask_filter *filter, int64_t first, int64_t last, int64_t begin_ns,
                                int64_t end_ns) {
    struct ask_periods periods = {.first = first, .last = last};
    if (filter->has_since && filter->has_until && first > last) {
        periods.part[periods.parts++] = (struct ask_range){filter->since_ns, filter->until_ns};
        return periods;
    }
    if (filter->has_since && begin_ns > filter->since_ns)
        periods.part[periods.parts++] = (struct ask_range){filter->since_ns, begin_ns};
    if (filter->has_until && end_ns < filter->until_ns)
        periods.part[periods.parts++] = (struct ask_range){end_ns, filter->until_ns};
    return periods;
}

struct ask_periods ask_months(const struct ask_filter *filter) {
    int64_t first = 0, last = 999912;
    if (filter->has_since) {
        int64_t month = month_of(filter->since_ns);
        first = start_of(month) == filter->since_ns ? month : month_after(month, 1);
    }
    if (filter->has_until) last = month_after(month_of(filter->until_ns), -1);
    return split(filter, first, last, start_of(first), start_of(month_after(last, 1)));
}

struct ask_periods ask_days(const struct ask_filter *filter) {
    const int64_t day_ns = strtoll(JOBS_DAY_NS, NULL, 10);
    int64_t first = filter->has_since ? (filter->since_ns + day_ns - 1) / day_ns : 0;
    int64_t last = (filter->has_until ? filter->until_ns : INT64_MAX) / day_ns - 1;
    return split(filter, first, last, first * day_ns, (last + 1) * day_ns);
}
