// The connection: what a statement may do, how long, and how its result is handed over.
#include "sql/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "sql/table.h"

struct sql {
    sqlite3 *db;
    struct summary_source source;
    struct sql_bound *bound; // one per table
    struct arena arena;
    struct summary summary;
    bool has_summary;
    struct model model;
    bool has_model;
    double limit_seconds;      // 0: none
    int64_t begun_ns;          // the statement under way
    int64_t checked_ns;        // when it was last asked whether the statement should end
    volatile bool interrupted; // set from anywhere
    bool is_late;              // it took too long
    bool (*is_unwanted)(void *context);
    void *context;
    int error_place; // -1: none
};

enum {
    STEPS_BETWEEN_CHECKS = 100, // of SQLite's machine; a step that makes a large value takes milliseconds
    CHECK_NS = 1000000,
    MOST_MEMORY_BYTES = 200 << 20,
    CACHE_KIB = 16 << 10, // of a sort or of a table that a statement keeps; what is larger goes to a temporary file
};

// --- what tables share

struct log *sql_log(const struct sql *sql) {
    return sql->source.log;
}
struct arena *sql_arena(struct sql *sql) {
    return &sql->arena;
}
const struct summary_source *sql_source(const struct sql *sql) { return &sql->source; }

bool sql_is_stopped(struct sql *sql) {
    if (!sql->interrupted && sql->is_unwanted) sql->interrupted = sql->is_unwanted(sql->context);
    if (sql->interrupted || sql->is_late) return true;
    double seconds = (double)(clock_now_ns() - sql->begun_ns) / 1e9;
    sql->is_late = sql->limit_seconds > 0 && seconds > sql->limit_seconds;
    return sql->is_late;
}

// A consumer that only ends a visit when the statement should end.
static int begin_watch(void *sql, const struct log_process *process, void **state) {
    (void)process;
    *state = sql;
    return 0;
}

static int watch(void *sql, const struct log_event *event, size_t count) {
    (void)event, (void)count;
    return sql_is_stopped(sql) ? -EINTR : 0;
}

static int visit(struct sql *sql, struct log_consumer *consumer, size_t count) {
    consumer[count] = (struct log_consumer){.context = sql, .begin = begin_watch, .events = watch};
    return log_visit(&(struct log_visit){.log = sql->source.log, .consumer = consumer, .consumers = count + 1});
}

static int make_summary(struct sql *sql) {
    struct log_consumer consumer[SUMMARY_CONSUMERS + 1];
    FORWARD(summary_begin(&sql->summary, &sql->source, NULL, NULL, consumer));
    FORWARD(visit(sql, consumer, SUMMARY_CONSUMERS));
    return summary_finish(&sql->summary);
}

int sql_summary(struct sql *sql, const struct summary **summary) {
    if (!sql->has_summary) {
        int code = make_summary(sql);
        if (code < 0) summary_free(&sql->summary);
        FORWARD(code);
        sql->has_summary = true;
    }
    *summary = &sql->summary;
    return 0;
}

int sql_model(struct sql *sql, const struct model **model) {
    struct log_consumer consumer[2];
    struct building *building;
    *model = &sql->model;
    if (sql->has_model) return 0;
    int code = model_build_begin(&building, sql->source.log, &(struct model_options){0}, consumer);
    if (code == 0) code = visit(sql, consumer, 1);
    if (code == 0) code = model_build_finish(building, &sql->model);
    model_build_free(building);
    sql->has_model = code == 0;
    return code;
}

// To ask may take a system call: not after every few steps.
static int check_progress(void *context) {
    struct sql *sql = context;
    int64_t now_ns = (int64_t)clock_ns(CLOCK_MONOTONIC_COARSE);
    if (now_ns - sql->checked_ns < CHECK_NS) return sql->interrupted;
    sql->checked_ns = now_ns;
    return sql_is_stopped(sql);
}

int sql_error(sqlite3_vtab *vtab, int code) {
    if (code >= 0) return SQLITE_OK;
    if (code == -ENOMEM) return SQLITE_NOMEM;
    if (code == -EINTR) return SQLITE_INTERRUPT;
    sqlite3_free(vtab->zErrMsg);
    vtab->zErrMsg = sqlite3_mprintf("%s", err_text(code));
    return SQLITE_ERROR;
}

void sql_result(sqlite3_context *context, const struct sql_value *value) {
    switch (value->kind) {
    case SQL_IS_INTEGER: sqlite3_result_int64(context, value->integer); break;
    case SQL_IS_REAL: sqlite3_result_double(context, value->real); break;
    case SQL_IS_TEXT: sqlite3_result_text(context, value->text, -1, SQLITE_STATIC); break; // lives as long as the log
    default: sqlite3_result_null(context); break;
    }
}

// --- declarations

int sql_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **out, char **error) {
    struct sql_bound *bound = context;
    sqlite3_str *text = sqlite3_str_new(db);
    (void)argc, (void)argv, (void)error;
    sqlite3_str_appendf(text, "CREATE TABLE \"%w\"(", bound->table->about.name);
    for (const struct sql_column *column = bound->table->about.column; column->name; column++)
        sqlite3_str_appendf(text, "%s\"%w\" %s", column == bound->table->about.column ? "" : ", ", column->name,
                            sql_type_name(column->type));
    sqlite3_str_appendf(text, ")");
    char *declaration = sqlite3_str_finish(text);
    struct sql_vtab *vtab = sqlite3_malloc(sizeof *vtab);
    int code = declaration && vtab ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
    if (code == SQLITE_OK) code = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS); // it cannot change anything
    sqlite3_free(declaration);
    if (code != SQLITE_OK) {
        sqlite3_free(vtab);
        return code;
    }
    *vtab = (struct sql_vtab){.bound = bound};
    *out = &vtab->base;
    return SQLITE_OK;
}

int sql_disconnect(sqlite3_vtab *vtab) {
    sqlite3_free(vtab);
    return SQLITE_OK;
}

// --- what a statement may do

// Tables of SQLite itself. All others are the log's, or the statement's own: there are no other modules.
static bool is_private(const char *name) {
    return !sqlite3_strlike("sqlite\\_%", name, '\\') || !sqlite3_strlike("pragma\\_%", name, '\\');
}

// Others only compute. The second one shows addresses of this process.
static bool is_function(const char *name) {
    return sqlite3_stricmp(name, "load_extension") && sqlite3_stricmp(name, "fts3_tokenizer");
}

// Everything that is not named here is refused, also what later versions of SQLite may bring.
static int authorize(void *context, int action, const char *first, const char *second, const char *database,
                     const char *cause) {
    (void)context, (void)database, (void)cause;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_READ: return first && !is_private(first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION: return second && is_function(second) ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

static void set_limits(sqlite3 *db) {
    static const struct {
        int limit, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, 16 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},  {SQLITE_LIMIT_COLUMN, 500},
        {SQLITE_LIMIT_EXPR_DEPTH, 200},  {SQLITE_LIMIT_COMPOUND_SELECT, 100}, {SQLITE_LIMIT_VDBE_OP, 1 << 20},
        {SQLITE_LIMIT_FUNCTION_ARG, 50}, {SQLITE_LIMIT_ATTACHED, 0},          {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 4096},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 0}, {SQLITE_LIMIT_WORKER_THREADS, 1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) sqlite3_limit(db, limits[i].limit, limits[i].value);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL); // "x" is a column, never a text
}

// Uses a table, so that it is declared now: later the authorizer would refuse its declaration like any other.
static int declare(sqlite3 *db, const char *name) {
    char *use = sqlite3_mprintf("SELECT 1 FROM \"%w\"", name);
    sqlite3_stmt *prepared = NULL;
    int code = use ? sqlite3_prepare_v2(db, use, -1, &prepared, NULL) : SQLITE_NOMEM;
    sqlite3_finalize(prepared);
    sqlite3_free(use);
    return code == SQLITE_OK ? 0 : -ENOMEM;
}

static int add_tables(struct sql *sql) {
    const char *kept[] = {"json_each", "json_tree", NULL};
    size_t count = 0;
    RETURN_IF(sqlite3_drop_modules(sql->db, kept), -ENOMEM);
    for (size_t i = 0; kept[i]; i++) FORWARD(declare(sql->db, kept[i]));
    while (sql_tables[count]) count++;
    sql->bound = calloc(count + 1, sizeof *sql->bound);
    RETURN_IF(!sql->bound, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        const struct sql_table *table = sql_tables[i];
        const sqlite3_module *module = table->module ? table->module : &sql_memory_module;
        sql->bound[i] = (struct sql_bound){.sql = sql, .table = table};
        RETURN_IF(sqlite3_create_module(sql->db, table->about.name, module, &sql->bound[i]), -ENOMEM);
        FORWARD(declare(sql->db, table->about.name));
    }
    return 0;
}

// --- opening

bool sql_is_built(void) { return true; }

static int open_sql(struct sql *sql) {
    char *cache = sqlite3_mprintf("PRAGMA cache_size = -%d; PRAGMA temp.cache_size = -%d", CACHE_KIB, CACHE_KIB);
    int code =
        sqlite3_open_v2(":memory:", &sql->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) code = cache ? sqlite3_exec(sql->db, cache, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(cache);
    RETURN_IF(code != SQLITE_OK, -ENOMEM); // there is no other reason
    sqlite3_hard_heap_limit64(MOST_MEMORY_BYTES);
    set_limits(sql->db);
    FORWARD(add_tables(sql));
    sqlite3_set_authorizer(sql->db, authorize, sql);
    sqlite3_progress_handler(sql->db, STEPS_BETWEEN_CHECKS, check_progress, sql);
    return 0;
}

int sql_open(struct sql **out, const struct summary_source *source, struct problem *problem) {
    struct sql *sql = calloc(1, sizeof *sql);
    *out = NULL;
    if (!sql) return problem_code(problem, -ENOMEM, "SQLite");
    sql->source = *source;
    int code = open_sql(sql);
    if (code < 0) {
        sql_close(sql);
        return problem_code(problem, code, "SQLite");
    }
    *out = sql;
    return 0;
}

static void free_bound(struct sql_bound *bound) {
    size_t count = 0;
    while (bound->table->about.column[count].name) count++;
    for (size_t i = 0; bound->order && i < count; i++) free(bound->order[i]);
    free(bound->order);
    if (bound->table->free) bound->table->free(bound);
}

void sql_close(struct sql *sql) {
    if (!sql) return;
    sqlite3_close(sql->db);
    for (size_t i = 0; sql->bound && sql_tables[i]; i++) {
        if (sql->bound[i].table) free_bound(&sql->bound[i]);
    }
    free(sql->bound);
    if (sql->has_summary) summary_free(&sql->summary);
    if (sql->has_model) model_free(&sql->model);
    arena_free(&sql->arena);
    free(sql);
}

void sql_limit_seconds(struct sql *sql, double seconds) { sql->limit_seconds = seconds; }

void sql_limit_values(struct sql *sql, int bytes) { sqlite3_limit(sql->db, SQLITE_LIMIT_LENGTH, bytes); }

void sql_stop_if(struct sql *sql, bool (*is_unwanted)(void *context), void *context) {
    sql->is_unwanted = is_unwanted;
    sql->context = context;
}

void sql_interrupt(struct sql *sql) { sql->interrupted = true; }

// --- statements

bool sql_is_complete(const char *text) { return sqlite3_complete(text); }

// A semicolon ends a statement unless it is in a text, a name or a comment: sqlite3_complete knows.
size_t sql_first_statement(const char *text) {
    size_t len = strlen(text);
    for (const char *end = text; (end = strchr(end, ';')); end++) {
        size_t part = (size_t)(end - text) + 1;
        char *first = strndup(text, part);
        bool is_whole = first && sqlite3_complete(first);
        free(first);
        if (is_whole) return part;
    }
    return len;
}

// The text of the statement from the place of the error on, cut at the end of the line.
static int set_error(struct sql *sql, const char *statement, int code, struct problem *problem) {
    int offset = sqlite3_error_offset(sql->db);
    const char *why = sqlite3_errmsg(sql->db);
    if (sql->is_late)
        return problem_set(problem, ERR_LIMIT, "statement", "it took longer than %g s", sql->limit_seconds);
    if (sql->interrupted || code == SQLITE_INTERRUPT) return problem_set(problem, -EINTR, "statement", "interrupted");
    if (code == SQLITE_NOMEM)
        return problem_set(problem, ERR_LIMIT, "statement", "it needs more memory than %d MiB",
                           MOST_MEMORY_BYTES >> 20);
    if (code == SQLITE_TOOBIG) return problem_set(problem, ERR_LIMIT, "statement", "%s", why);
    if (code == SQLITE_AUTH)
        return problem_set(problem, ERR_USAGE, "statement",
                           "only SELECT from the tables of the log is allowed (%s); --tables lists them", why);
    if (offset < 0) return problem_set(problem, ERR_USAGE, "statement", "%s", why);
    sql->error_place = offset;
    int len = (int)strcspn(statement + offset, "\n");
    return problem_set(problem, ERR_USAGE, "statement", "%s, at \"%.*s%s\" (character %d)", why, len < 40 ? len : 40,
                       statement + offset, len < 40 ? "" : "...", offset + 1);
}

// Control characters would reach the terminal.
static void make_plain(struct problem *problem) {
    for (char *at = problem->why; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 127) *at = ' ';
    }
}

static struct sql_value value_of(sqlite3_stmt *prepared, int column) {
    switch (sqlite3_column_type(prepared, column)) {
    case SQLITE_INTEGER: return sql_integer(sqlite3_column_int64(prepared, column));
    case SQLITE_FLOAT: return sql_real(sqlite3_column_double(prepared, column));
    case SQLITE_NULL: return SQL_NULL_VALUE;
    default: break;
    }
    bool is_text = sqlite3_column_type(prepared, column) == SQLITE_TEXT;
    const void *data =
        is_text ? (const void *)sqlite3_column_text(prepared, column) : sqlite3_column_blob(prepared, column);
    return (struct sql_value){.kind = is_text ? SQL_IS_TEXT : SQL_IS_BLOB,
                              .text = data ? data : "",
                              .len = (size_t)sqlite3_column_bytes(prepared, column)};
}

// Returns 0, or a negative code of the sink with *code SQLITE_OK.
static int hand_over(sqlite3_stmt *prepared, const struct sql_sink *sink, int *code) {
    size_t count = (size_t)sqlite3_column_count(prepared);
    const char **name = calloc(count + 1, sizeof *name);
    struct sql_value *value = calloc(count + 1, sizeof *value);
    int sent = name && value ? 0 : -ENOMEM;
    *code = sent ? SQLITE_OK : sqlite3_step(prepared);
    for (size_t i = 0; !sent && i < count; i++) name[i] = sqlite3_column_name(prepared, (int)i);
    if (!sent && (*code == SQLITE_ROW || *code == SQLITE_DONE)) sent = sink->columns(sink->context, name, count);
    for (; !sent && *code == SQLITE_ROW; *code = sent < 0 ? SQLITE_OK : sqlite3_step(prepared)) {
        for (size_t i = 0; i < count; i++) value[i] = value_of(prepared, (int)i);
        sent = sink->row(sink->context, value, count);
    }
    free(name);
    free(value);
    return sent < 0 ? sent : 0;
}

static int run(struct sql *sql, const char *statement, const struct sql_sink *sink, struct problem *problem) {
    sqlite3_stmt *prepared = NULL, *second = NULL;
    const char *rest = statement;
    int code = sqlite3_prepare_v2(sql->db, statement, -1, &prepared, &rest);
    if (code != SQLITE_OK) return set_error(sql, statement, code, problem);
    if (!prepared) return problem_set(problem, ERR_USAGE, "statement", "it is empty");
    int sent = 0;
    code = sqlite3_prepare_v2(sql->db, rest, -1, &second, NULL);
    if (code != SQLITE_OK || second)
        sent = problem_set(problem, ERR_USAGE, "statement", "it is more than one: only one is allowed");
    else if (!sqlite3_column_count(prepared) || !sqlite3_stmt_readonly(prepared))
        sent = problem_set(problem, ERR_USAGE, "statement", "only SELECT is allowed");
    else
        sent = hand_over(prepared, sink, &code);
    sqlite3_finalize(second);
    if (sent == 0 && code != SQLITE_DONE) sent = set_error(sql, statement, code, problem);
    sqlite3_finalize(prepared);
    return sent;
}

int sql_run(struct sql *sql, const char *statement, const struct sql_sink *sink, struct problem *problem) {
    sql->interrupted = sql->is_late = false;
    sql->error_place = -1;
    sql->begun_ns = clock_now_ns();
    int code = run(sql, statement, sink, problem);
    make_plain(problem);
    return code;
}

int sql_error_place(const struct sql *sql) { return sql->error_place; }
