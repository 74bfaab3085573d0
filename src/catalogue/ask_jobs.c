// Lists: jobs, their findings, and programs that got slower.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "catalogue/ask_statement.h"

static const struct answer_column jobs_columns[] = {
    {"id", "ID", ANSWER_COUNT, "j.id"},
    {"start", "START", ANSWER_START, "j.start_ns"},
    {"user", "USER", ANSWER_TEXT, "u.name"},
    {"program", "PROGRAM", ANSWER_TEXT, "p.name"},
    {"nprocs", "NP", ANSWER_COUNT, "j.nprocs"},
    {"run_time", "RUN", ANSWER_NS, "j.run_ns"},
    {"io_seconds", "I/O", ANSWER_NS, "j.io_ns"},
    {"io_share", "SHARE", ANSWER_SHARE, "j.io_share"},
    {"io_seconds_max", NULL, ANSWER_NS, "j.busiest_ns"},
    {"bytes_read", "READ", ANSWER_BYTES, "j.bytes_read"},
    {"bytes_written", "WRITTEN", ANSWER_BYTES, "j.bytes_written"},
    {"files", "FILES", ANSWER_COUNT, "j.files"},
    {"calls", NULL, ANSWER_COUNT, "j.calls"},
    {"stake_seconds", "AT STAKE", ANSWER_NS, "j.stake_ns"},
    {"mpi", NULL, ANSWER_FLAG, "j.is_mpi"},
    {"collective", NULL, ANSWER_FLAG, "j.is_collective"},
    {"layers", NULL, ANSWER_LAYERS, "j.layers"},
    {"lost_events", NULL, ANSWER_COUNT, "j.lost_events"},
    {"damaged", NULL, ANSWER_FLAG, "j.is_damaged"},
    {"host", NULL, ANSWER_TEXT, "l.host"},
    {"job", NULL, ANSWER_TEXT, "l.batch"},
    {"command", NULL, ANSWER_TEXT, "l.command"},
    {"log", "LOG", ANSWER_TEXT, "CASE WHEN f.name = '/' THEN '' ELSE f.name END || '/' || l.name"},
    {0},
};
const struct answer_column *ask_jobs_columns(void) { return jobs_columns; }

// The columns of `jobs` that lists are sorted by, the largest first. Each has an index.
static const char *const keys[ASK_SORTS] = {
    [SORT_START] = "start_ns", [SORT_TIME] = "run_ns", [SORT_BYTES] = "bytes",       [SORT_IO] = "io_ns",
    [SORT_SHARE] = "io_share", [SORT_FILES] = "files", [SORT_FINDINGS] = "stake_ns",
};

// --- how many jobs a filter passes

static int note_count(void *context, const struct store_value *value, size_t count) {
    double *number = context;
    for (size_t i = 0; i < 2 && i < count; i++) number[i] = store_real(&value[i]);
    return 0;
}

// About, by what the jobs are added up to.
static int count_jobs(struct catalogue *catalogue, const struct ask_filter *filter, const struct ask_found *found,
                      double count[2], struct problem *problem) {
    const struct ask_periods months = ask_months(filter);
    const struct ask_names *part = found->system.is_asked ? &found->system : &found->finding;
    const char *table = found->system.is_asked ? "system_sums" : found->finding.is_asked ? "finding_sums" : "sums";
    struct ask_statement statement;
    FORWARD(ask_begin(&statement, problem));
    fprintf(statement.out, "SELECT COALESCE(SUM(CASE WHEN month >= %" PRId64 " AND month <= %" PRId64,
            months.first - (months.parts > 0), months.last + (months.parts > 0));
    ask_put_names(&statement, "user_id", &found->user);
    ask_put_names(&statement, "program_id", &found->program);
    if (part->is_asked) ask_put_names(&statement, "name_id", part);
    fprintf(statement.out, " THEN jobs ELSE 0 END), 0), (SELECT COALESCE(SUM(jobs), 0) FROM sums) FROM %s", table);
    if (fclose(statement.out)) return -ENOMEM;
    int code = store_ask(catalogue->store, &store_statement(statement.text, NULL, 0), note_count, count, problem);
    free(statement.text);
    return code;
}

// --- the list

struct listing {
    struct catalogue *catalogue;
    const struct ask *ask;
    const struct ask_found *found;
    bool is_broad; // the filter passes so many jobs that it is quicker to go along the order than to collect them
    answer_row *row;
    void *context;
    uint64_t rows;
    struct problem *problem;
    struct store_value after[2]; // what the last row before these has: the key of the order, and the number
};

static int pass_row(void *context, const struct answer_column *column, const struct store_value *value, size_t count) {
    struct listing *listing = context;
    listing->rows++;
    return listing->row(listing->context, column, value, count);
}

// A plus in front of a column keeps both databases from finding rows by it.
static void put_filter(const struct listing *listing, struct ask_statement *statement) {
    const struct ask_filter *filter = &listing->ask->filter;
    const char *start = listing->is_broad && listing->ask->sort != SORT_START ? "+j.start_ns" : "j.start_ns";
    ask_put_names(statement, listing->is_broad ? "+j.user_id" : "j.user_id", &listing->found->user);
    ask_put_names(statement, listing->is_broad ? "+j.program_id" : "j.program_id", &listing->found->program);
    if (filter->has_since) fprintf(statement->out, " AND %s >= %" PRId64, start, filter->since_ns);
    if (filter->has_until) fprintf(statement->out, " AND %s < %" PRId64, start, filter->until_ns);
    if (filter->job) fprintf(statement->out, " AND j.id = %" PRId64, filter->job);
    const struct {
        const char *table;
        const struct ask_names *names;
    } parts[] = {{"job_systems", &listing->found->system}, {"job_findings", &listing->found->finding}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].names->is_asked) continue;
        fprintf(statement->out,
                listing->is_broad ? " AND EXISTS (SELECT 1 FROM %s q WHERE q.job_id = j.id"
                                  : " AND j.id IN (SELECT q.job_id FROM %s q WHERE 1 = 1",
                parts[i].table);
        ask_put_names(statement, "q.name_id", parts[i].names);
        fputc(')', statement->out);
    }
}

// --- pages: a list goes on after a job, whose key is looked up; an index leads there at once

static int note_key(void *context, const struct store_value *value, size_t count) {
    struct store_value *key = context;
    if (count) *key = value[0]; // a number: nothing else is pointed to
    return 0;
}

static int find_after(struct listing *listing, const char *key) {
    struct store_value *after = listing->after;
    char text[64];
    if (!listing->ask->after) return 0;
    after[0] = (struct store_value){.kind = STORE_NULL};
    after[1] = store_of_integer(listing->ask->after);
    snprintf(text, sizeof text, "SELECT %s FROM jobs WHERE id = $1", key);
    FORWARD(
        store_ask(listing->catalogue->store, &store_statement(text, &after[1], 1), note_key, after, listing->problem));
    if (after[0].kind != STORE_NULL) return 0;
    return problem_set(listing->problem, ERR_NOTHING, "--after", "there is no job %" PRId64 " (any more)",
                       listing->ask->after);
}

static void put_after(const struct listing *listing, struct ask_statement *statement, const char *key, bool is_sorted) {
    if (!listing->ask->after) return;
    fprintf(statement->out, " AND (%sj.%s, j.id) < ($1, $2)", is_sorted ? "+" : "", key);
    for (size_t i = 0; i < 2; i++) statement->value[statement->values++] = listing->after[i];
}

// First the numbers of the jobs, then the rest of what is told about them. `only`: of one user or program.
static int list(struct listing *listing, const char *key, const char *only_column, int64_t only) {
    struct ask_statement statement;
    uint64_t top = listing->ask->top, left = top > listing->rows ? top - listing->rows : 0;
    if (top && !left) return 0;
    FORWARD(ask_begin(&statement, listing->problem));
    fputs("SELECT ", statement.out);
    ask_put_columns(&statement, jobs_columns);
    fputs(" FROM (SELECT j.id FROM jobs j WHERE 1 = 1", statement.out);
    put_filter(listing, &statement);
    if (only_column) fprintf(statement.out, " AND j.%s = %" PRId64, only_column, only);
    // If the filter passes few jobs, they are sorted: along the order, there could be a long way to the first of them.
    bool is_sorted = !listing->is_broad && !only_column;
    put_after(listing, &statement, key, is_sorted);
    fprintf(statement.out, " ORDER BY %sj.%s DESC, j.id DESC", is_sorted ? "+" : "", key);
    ask_put_limit(&statement, left);
    fprintf(statement.out,
            ") k JOIN jobs j ON j.id = k.id JOIN logs l ON l.id = j.id JOIN folders f ON f.id = l.folder_id JOIN names "
            "u ON "
            "u.id = j.user_id JOIN names p ON p.id = j.program_id ORDER BY j.%s DESC, j.id DESC",
            key);
    return ask_run(&statement, listing->catalogue, jobs_columns, pass_row, listing);
}

// By name: the jobs of one after the other.
static int list_by_name(struct listing *listing, const char *column, const struct ask_names *asked) {
    struct ask_names names = {0};
    int code = ask_names_find(listing->catalogue, "sums", column, "*", &names, listing->problem);
    for (size_t i = 0; i < names.count && code == 0; i++) {
        bool is_asked = !asked->is_asked;
        for (size_t k = 0; k < asked->count && !is_asked; k++) is_asked = asked->name[k].id == names.name[i].id;
        if (is_asked) code = list(listing, "start_ns", column, names.name[i].id);
    }
    ask_names_free(&names);
    return code;
}

int ask_check_jobs(const struct ask *ask, struct problem *problem) {
    bool is_named = ask->sort == SORT_USER || ask->sort == SORT_PROGRAM || ask->sort == SORT_DEFAULT;
    if (is_named || keys[ask->sort]) return 0;
    return problem_set(problem, ERR_USAGE, ask_sort_names[ask->sort], "jobs are not sorted by this: it is for --by");
}

static int list_jobs(struct listing *listing) {
    enum { BROAD = 5 }; // one job of so many
    enum ask_sort sort = listing->ask->sort == SORT_DEFAULT ? SORT_START : listing->ask->sort;
    double count[2] = {0, 0};
    if (listing->ask->after && (sort == SORT_USER || sort == SORT_PROGRAM))
        return problem_set(listing->problem, ERR_USAGE, "--after", "cannot be combined with an order by name");
    if (sort == SORT_USER) return list_by_name(listing, "user_id", &listing->found->user);
    if (sort == SORT_PROGRAM) return list_by_name(listing, "program_id", &listing->found->program);
    FORWARD(ask_check_jobs(listing->ask, listing->problem));
    FORWARD(find_after(listing, keys[sort]));
    FORWARD(count_jobs(listing->catalogue, &listing->ask->filter, listing->found, count, listing->problem));
    listing->is_broad = count[0] * BROAD > count[1];
    return list(listing, keys[sort], NULL, 0);
}

int ask_jobs(struct catalogue *catalogue, const struct ask *ask, answer_row *row, void *context,
             struct problem *problem) {
    struct ask_found found;
    struct listing listing = {catalogue, ask, &found, false, row, context, 0, problem, {{0}}};
    int code = ask_find(catalogue, &ask->filter, &found, problem);
    if (code == 0) code = list_jobs(&listing);
    ask_found_free(&found);
    return code;
}

// --- findings of a job

int ask_findings(struct catalogue *catalogue, int64_t job, answer_row *row, void *context, struct problem *problem) {
    static const struct answer_column columns[] = {
        {"id", NULL, ANSWER_TEXT, "n.name"},
        {"seconds", NULL, ANSWER_NS, "q.stake_ns"},
        {"share", NULL, ANSWER_SHARE,
         "CAST(q.stake_ns AS DOUBLE PRECISION) / CASE WHEN j.run_ns > 0 THEN j.run_ns ELSE 1 END"},
        {"severity", NULL, ANSWER_SEVERITY, "q.severity"},
        {0},
    };
    struct ask_statement statement;
    FORWARD(ask_begin(&statement, problem));
    fputs("SELECT ", statement.out);
    ask_put_columns(&statement, columns);
    fputs(" FROM job_findings q JOIN names n ON n.id = q.name_id JOIN jobs j ON j.id = q.job_id WHERE q.job_id = $1 "
          "ORDER "
          "BY q.severity DESC, q.stake_ns DESC, n.name",
          statement.out);
    statement.value[statement.values++] = store_of_integer(job);
    return ask_run(&statement, catalogue, columns, row, context);
}

// --- programs that got slower

static const struct answer_column slower_columns[] = {
    {"program", "PROGRAM", ANSWER_TEXT, "p.name"},
    {"user", "USER", ANSWER_TEXT, "u.name"},
    {"nprocs", "NP", ANSWER_COUNT, "s.nprocs"},
    {"measure", "WHAT", ANSWER_MEASURE, "s.measure"},
    {"before", "BEFORE", ANSWER_NS, "s.before_ns"},
    {"after", "NOW", ANSWER_NS, "s.after_ns"},
    {"factor", "FACTOR", ANSWER_FACTOR, "s.factor"},
    {"since", "SINCE", ANSWER_START, "s.since_ns"},
    {"recent", "RUNS", ANSWER_COUNT, "s.recent"},
    {"earlier", "EARLIER", ANSWER_COUNT, "s.earlier"},
    {"chance", "CHANCE", ANSWER_CHANCE, "s.chance"},
    {"id", "LAST JOB", ANSWER_COUNT, "s.job_id"},
    {"log", NULL, ANSWER_TEXT, "CASE WHEN f.name = '/' THEN '' ELSE f.name END || '/' || l.name"},
    {0},
};
const struct answer_column *ask_slower_columns(void) { return slower_columns; }

int ask_slower(struct catalogue *catalogue, const struct ask *ask, answer_row *row, void *context,
               struct problem *problem) {
    struct ask_statement statement;
    struct ask_found found;
    int code = ask_find(catalogue, &ask->filter, &found, problem);
    if (code == 0) code = ask_begin(&statement, problem);
    if (code == 0) {
        fputs("SELECT ", statement.out);
        ask_put_columns(&statement, slower_columns);
        fputs(
            " FROM slower s JOIN names u ON u.id = s.user_id JOIN names p ON p.id = s.program_id JOIN logs l ON l.id = "
            "s.job_id JOIN folders f ON f.id = l.folder_id WHERE 1 = 1",
            statement.out);
        ask_put_names(&statement, "s.user_id", &found.user);
        ask_put_names(&statement, "s.program_id", &found.program);
        if (ask->filter.has_since) fprintf(statement.out, " AND s.since_ns >= %" PRId64, ask->filter.since_ns);
        if (ask->filter.has_until) fprintf(statement.out, " AND s.since_ns < %" PRId64, ask->filter.until_ns);
        fputs(" ORDER BY (s.after_ns - s.before_ns) * s.recent DESC, s.job_id", statement.out);
        ask_put_limit(&statement, ask->top);
        code = ask_run(&statement, catalogue, slower_columns, row, context);
    }
    ask_found_free(&found);
    return code;
}
