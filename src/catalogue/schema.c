#include "catalogue/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scoped.h"
#include "catalogue/job.h"
#include "catalogue/sets.h"
#include "catalogue/write.h"

#define COUNT_IF(condition) "CASE WHEN " condition " THEN 1 ELSE 0 END"
#define SHARE_IN(from, below) COUNT_IF("io_share >= " #from " AND io_share < " #below)

const struct schema_measure schema_measures[] = {
    {"jobs", "1"},
    {"run_ns", "run_ns"},
    {"core_ns", "CAST(run_ns AS DOUBLE PRECISION) * nprocs"},
    {"io_ns", "CASE WHEN share_known = 1 THEN io_ns ELSE 0 END"},
    {"known_run_ns", "CASE WHEN share_known = 1 THEN run_ns ELSE 0 END"},
    {"bytes_read", "bytes_read"},
    {"bytes_written", "bytes_written"},
    {"files", "files"},
    {"files_one", "files_one"},
    {"files_shared", "files_shared"},
    {"calls", "calls"},
    {"findings", "findings"},
    {"stake_ns", "CASE WHEN stake_ns > 0 THEN stake_ns ELSE 0 END"},
    {"mpi", "is_mpi"},
    {"collective", "is_collective"},
    {"collective_bytes", "is_collective * bytes"},
    {"mostly_read", COUNT_IF("bytes_read > bytes_written")},
    {"mostly_written", COUNT_IF("bytes_written > bytes_read")},
    {"file_per_process", COUNT_IF("nprocs > 1 AND files_one >= nprocs")},
    {"shared_file", COUNT_IF("nprocs > 1 AND files_shared > 0")},
    {"share_0", SHARE_IN(0, 0.01)},
    {"share_1", SHARE_IN(0.01, 0.05)},
    {"share_5", SHARE_IN(0.05, 0.1)},
    {"share_10", SHARE_IN(0.1, 0.25)},
    {"share_25", SHARE_IN(0.25, 0.5)},
    {"share_50", SHARE_IN(0.5, 2)},
    {NULL, NULL},
};

// --- version 1

#define RUN(...) FORWARD(run_format(store, problem, __VA_ARGS__))

__attribute__((format(printf, 3, 4))) static int run_format(struct store *store, struct problem *problem,
                                                            const char *format, ...) {
    SCOPED_FREE char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    RETURN_IF(len < 0, -ENOMEM);
    return store_run(store, text, NULL, 0, problem);
}

static int make_logs(struct store *store, struct problem *problem) {
    RUN("CREATE TABLE names (id INTEGER PRIMARY KEY, hash BIGINT NOT NULL, name TEXT NOT NULL)");
    RUN("CREATE INDEX names_hash ON names (hash)");
    RUN("CREATE TABLE folders (id INTEGER PRIMARY KEY, hash BIGINT NOT NULL, name TEXT NOT NULL)");
    RUN("CREATE INDEX folders_hash ON folders (hash)");
    RUN("CREATE TABLE logs (id INTEGER PRIMARY KEY, folder_id INTEGER NOT NULL, name TEXT NOT NULL, size BIGINT NOT "
        "NULL, mtime_ns BIGINT NOT NULL, inode BIGINT NOT NULL, reason TEXT, host TEXT, batch TEXT, command TEXT)");
    RUN("CREATE UNIQUE INDEX logs_name ON logs (folder_id, name)");
    return 0;
}

static int make_jobs(struct store *store, struct problem *problem) {
    static const char *const indexed[] = {"start_ns",
                                          "user_id, start_ns",
                                          "program_id, user_id, nprocs, start_ns",
                                          "run_ns",
                                          "bytes",
                                          "io_ns",
                                          "io_share",
                                          "files",
                                          "stake_ns"};
    char text[4096] = "CREATE TABLE jobs (id INTEGER PRIMARY KEY";
    static const char *const column[] = {
#define NUMBER(NAME, name, type, meaning) #name " " #type " NOT NULL",
#include "catalogue/job.def"
#undef NUMBER
    };
    for (size_t i = 0, len = strlen(text); i < JOBS_NUMBERS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, ", %s", column[i]);
    RUN("%s, io_share DOUBLE PRECISION NOT NULL)", text);
    for (size_t i = 0; i < sizeof indexed / sizeof *indexed; i++)
        RUN("CREATE INDEX jobs_%zu ON jobs (%s)", i + 1, indexed[i]);
    return 0;
}

// Tables of parts, and of sums by month, user and program.
static int make_parts(struct store *store, struct problem *problem) {
    const char *clustered = store->operations->clustered;
    for (size_t kind = 0; kind < PART_KINDS; kind++) {
        const struct part_table *table = &part_tables[kind];
        char rows[512] = "", sums[512] = "";
        for (size_t i = 0, row_len = 0, sum_len = 0; table->column[i]; i++) {
            row_len +=
                (size_t)snprintf(rows + row_len, sizeof rows - row_len, "%s BIGINT NOT NULL, ", table->column[i]);
            if (i < table->summed)
                sum_len += (size_t)snprintf(sums + sum_len, sizeof sums - sum_len, "%s DOUBLE PRECISION NOT NULL, ",
                                            table->column[i]);
        }
        RUN("CREATE TABLE %s (job_id INTEGER NOT NULL, name_id INTEGER NOT NULL, %sPRIMARY KEY (job_id, name_id))%s",
            table->rows, rows, clustered);
        RUN("CREATE TABLE %s (month INTEGER NOT NULL, user_id INTEGER NOT NULL, program_id INTEGER NOT NULL, name_id "
            "INTEGER NOT NULL, jobs DOUBLE PRECISION NOT NULL, %sPRIMARY KEY (month, user_id, program_id, name_id))%s",
            table->sums, sums, clustered);
    }
    RUN("CREATE INDEX job_systems_name ON job_systems (name_id, job_id)");
    RUN("CREATE INDEX job_findings_name ON job_findings (name_id, stake_ns)");
    return 0;
}

static int make_sums(struct store *store, struct problem *problem) {
    char text[4096] = "";
    for (size_t i = 0, len = 0; schema_measures[i].name; i++)
        len +=
            (size_t)snprintf(text + len, sizeof text - len, "%s DOUBLE PRECISION NOT NULL, ", schema_measures[i].name);
    RUN("CREATE TABLE sums (month INTEGER NOT NULL, user_id INTEGER NOT NULL, program_id INTEGER NOT NULL, %sPRIMARY "
        "KEY (month, user_id, program_id))%s",
        text, store->operations->clustered);
    RUN("CREATE TABLE slower (user_id INTEGER NOT NULL, program_id INTEGER NOT NULL, nprocs INTEGER NOT NULL, measure "
        "INTEGER NOT NULL, since_ns BIGINT NOT NULL, recent INTEGER NOT NULL, earlier INTEGER NOT NULL, before_ns "
        "BIGINT "
        "NOT NULL, after_ns BIGINT NOT NULL, factor DOUBLE PRECISION NOT NULL, chance DOUBLE PRECISION NOT NULL, "
        "job_id "
        "INTEGER NOT NULL, PRIMARY KEY (user_id, program_id, nprocs, measure))%s",
        store->operations->clustered);
    return 0;
}

static int make_first(struct store *store, struct problem *problem) {
    FORWARD(make_logs(store, problem));
    FORWARD(make_jobs(store, problem));
    FORWARD(make_parts(store, problem));
    return make_sums(store, problem);
}

// --- version 2: sums by set of file systems, finding and day

static int note_number(void *context, const struct store_value *value, size_t count) {
    if (count) *(int64_t *)context = store_integer(&value[0]);
    return 0;
}

static int make_cell_tables(struct store *store, struct problem *problem) {
    const char *clustered = store->operations->clustered;
    char measures[4096] = "";
    for (size_t i = 0, len = 0; schema_measures[i].name; i++)
        len += (size_t)snprintf(measures + len, sizeof measures - len, "%s DOUBLE PRECISION NOT NULL, ",
                                schema_measures[i].name);
    RUN("CREATE TABLE system_sets (id INTEGER PRIMARY KEY, members TEXT NOT NULL)");
    RUN("CREATE TABLE job_sets (job_id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL)");
    RUN("CREATE TABLE cell_sums (finding_id INTEGER NOT NULL, set_id INTEGER NOT NULL, month INTEGER NOT NULL, user_id "
        "INTEGER NOT NULL, program_id INTEGER NOT NULL, %sPRIMARY KEY (finding_id, set_id, month, user_id, "
        "program_id))%s",
        measures, clustered);
    RUN("CREATE TABLE day_sums (finding_id INTEGER NOT NULL, set_id INTEGER NOT NULL, day INTEGER NOT NULL, %sPRIMARY "
        "KEY "
        "(finding_id, set_id, day))%s",
        measures, clustered);
    for (size_t kind = 0; kind < PART_KINDS; kind++) {
        const struct part_table *table = &part_tables[kind];
        char sums[512] = "";
        for (size_t i = 0, len = 0; i < table->summed; i++)
            len += (size_t)snprintf(sums + len, sizeof sums - len, "%s DOUBLE PRECISION NOT NULL, ", table->column[i]);
        RUN("CREATE TABLE cell_%s (finding_id INTEGER NOT NULL, set_id INTEGER NOT NULL, month INTEGER NOT NULL, "
            "name_id "
            "INTEGER NOT NULL, jobs DOUBLE PRECISION NOT NULL, %sPRIMARY KEY (finding_id, set_id, month, name_id))%s",
            table->sums, sums, clustered);
    }
    return 0;
}

static int run_text(struct store *store, char *text, const struct store_value range[2], struct problem *problem) {
    int code = text ? store_run(store, text, range, 2, problem) : -ENOMEM;
    free(text);
    return code;
}

// In steps, so that memory does not grow with the number of jobs.
int schema_fill_cells(struct store *store, struct problem *problem) {
    enum { STEP = 10000 };
    int64_t last = 0;
    FORWARD(store_ask(store, &store_statement("SELECT COALESCE(MAX(id), 0) FROM jobs", NULL, 0), note_number, &last,
                      problem));
    FORWARD(sets_of_all_jobs(store, last, problem));
    for (int64_t at = 0; at <= last; at += STEP) {
        const struct store_value range[] = {store_of_integer(at), store_of_integer(at + STEP)};
        for (int kind = -1; kind < PART_KINDS; kind++)
            FORWARD(run_text(store, sums_cell_statement(kind, 0), range, problem));
        FORWARD(run_text(store, sums_day_statement(0), range, problem));
    }
    return 0;
}

static int make_cells(struct store *store, struct problem *problem) {
    FORWARD(make_cell_tables(store, problem));
    return schema_fill_cells(store, problem);
}

// Version n is what the first n steps make. Steps are never changed, only added.
static schema_step *const steps[] = {make_first, make_cells};

// --- the version

static int read_version(struct store *store, int64_t *version, struct problem *problem) {
    *version = 0;
    if (!store->operations->has_table(store, "catalogue")) return 0;
    return store_ask(store, &store_statement("SELECT version FROM catalogue", NULL, 0), note_number, version, problem);
}

static int check(const struct store *store, enum store_access access, int64_t version, int64_t steps_known,
                 struct problem *problem) {
    if (version > steps_known)
        return problem_set(problem, ERR_VERSION, store->name,
                           "a newer ioseer made this catalogue (version %" PRId64
                           "); this one is too old for it, it knows "
                           "version %" PRId64,
                           version, steps_known);
    if (access == STORE_READS && version == 0)
        return problem_set(problem, ERR_NOTHING, store->name, "there is no catalogue: `ioseer index DIR` makes one");
    if (access == STORE_READS && version < steps_known)
        return problem_set(problem, ERR_VERSION, store->name,
                           "an older ioseer made this catalogue: run `ioseer index` once, which brings it up to date");
    return 0;
}

// Another process may have made the tables between the look and the lock.
static int upgrade(struct store *store, schema_step *const *step, int64_t count, struct problem *problem) {
    int64_t version;
    FORWARD(store->operations->begin(store, STORE_WRITES, problem));
    FORWARD(read_version(store, &version, problem));
    FORWARD(check(store, STORE_WRITES, version, count, problem));
    if (version == 0) RUN("CREATE TABLE catalogue (version INTEGER NOT NULL, next_log INTEGER NOT NULL)");
    if (version == 0) RUN("INSERT INTO catalogue VALUES (0, 1)");
    for (int64_t i = version; i < count; i++) FORWARD(step[i](store, problem));
    RUN("UPDATE catalogue SET version = %" PRId64, count);
    return store->operations->commit(store, problem);
}

int schema_open_steps(struct store *store, enum store_access access, schema_step *const *step, int64_t count,
                      struct problem *problem) {
    int64_t version;
    FORWARD(read_version(store, &version, problem));
    FORWARD(check(store, access, version, count, problem));
    if (version == count) return 0;
    int code = upgrade(store, step, count, problem);
    if (code < 0) store->operations->roll_back(store);
    return code;
}

int schema_open(struct store *store, enum store_access access, struct problem *problem) {
    return schema_open_steps(store, access, steps, sizeof steps / sizeof *steps, problem);
}
