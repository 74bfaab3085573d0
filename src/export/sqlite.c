// All tables of a log as a SQLite file: data for programs that know SQLite and not ioseer. The table `columns` says
// what each column means, and in which unit.
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/utf8.h"
#include "export/export.h"

struct writer {
    sqlite3 *db;
    sqlite3_stmt *insert;
    const char *table;
    struct bytes *text; // by column: escaped copies of the row's texts
    const struct export_watch *watch;
    struct problem *problem;
    int stopped; // what the watch returned
};

enum { MOST_COLUMNS = 64, CACHE_KIB = 16 << 10 };

// --- errors

static int code_of(int result) {
    switch (result) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return 0;
    case SQLITE_FULL: return -ENOSPC;
    case SQLITE_NOMEM: return -ENOMEM;
    case SQLITE_CANTOPEN: return -ENOENT;
    default: return -EIO;
    }
}

static int check(const struct writer *writer, int result) {
    int code = code_of(result), system = -sqlite3_system_errno(writer->db);
    if (writer->stopped) return writer->stopped;
    return (code == -EIO || code == -ENOENT) && system ? system : code;
}

static int execute(const struct writer *writer, char *statement) {
    int result = statement ? sqlite3_exec(writer->db, statement, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(statement);
    return check(writer, result);
}

// --- rows

// Texts in a database are UTF-8: readers refuse others.
static int bind_text(struct writer *writer, int place, const char *text, size_t len) {
    if (utf8_plain(text, len) < len) {
        struct bytes *copy = &writer->text[place - 1];
        copy->len = 0;
        if (utf8_append(copy, text, len) < 0) return SQLITE_NOMEM;
        text = (const char *)copy->data;
        len = copy->len;
    }
    return sqlite3_bind_text(writer->insert, place, text, (int)len, SQLITE_STATIC);
}

static int bind(struct writer *writer, int place, const struct sql_value *value) {
    switch (value->kind) {
    case SQL_IS_INTEGER: return sqlite3_bind_int64(writer->insert, place, value->integer);
    case SQL_IS_REAL: return sqlite3_bind_double(writer->insert, place, value->real);
    case SQL_IS_TEXT: return bind_text(writer, place, value->text, value->len);
    case SQL_IS_BLOB: return sqlite3_bind_blob(writer->insert, place, value->text, (int)value->len, SQLITE_STATIC);
    default: return sqlite3_bind_null(writer->insert, place);
    }
}

static int add_row(void *context, const struct sql_value *value, size_t count) {
    struct writer *writer = context;
    for (size_t i = 0; i < count; i++) FORWARD(check(writer, bind(writer, (int)i + 1, &value[i])));
    int result = sqlite3_step(writer->insert);
    sqlite3_reset(writer->insert);
    return check(writer, result);
}

static int begin_rows(void *context, const char *const *name, size_t count) {
    struct writer *writer = context;
    (void)name;
    RETURN_IF(count > MOST_COLUMNS, ERR_LIMIT);
    sqlite3_str *text = sqlite3_str_new(writer->db);
    sqlite3_str_appendf(text, "INSERT INTO \"%w\" VALUES (?", writer->table);
    for (size_t i = 1; i < count; i++) sqlite3_str_appendall(text, ", ?");
    sqlite3_str_appendall(text, ")");
    char *statement = sqlite3_str_finish(text);
    int result = statement ? sqlite3_prepare_v2(writer->db, statement, -1, &writer->insert, NULL) : SQLITE_NOMEM;
    sqlite3_free(statement);
    return check(writer, result);
}

// --- tables

static int declare(struct writer *writer, const struct sql_description *about) {
    sqlite3_str *text = sqlite3_str_new(writer->db);
    sqlite3_str_appendf(text, "CREATE TABLE \"%w\"", about->name);
    for (const struct sql_column *column = about->column; column->name; column++)
        sqlite3_str_appendf(text, "%s\"%w\" %s", column == about->column ? "(" : ", ", column->name,
                            sql_type_name(column->type));
    sqlite3_str_appendall(text, ")");
    FORWARD(execute(writer, sqlite3_str_finish(text)));
    for (const struct sql_column *column = about->column; column->name; column++)
        FORWARD(execute(writer, sqlite3_mprintf("INSERT INTO columns VALUES (%Q, %Q, %Q, %Q)", about->name,
                                                column->name, sql_type_name(column->type), column->meaning)));
    return 0;
}

static int copy_table(struct writer *writer, struct sql *sql, const struct sql_description *about) {
    struct sql_sink sink = {writer, begin_rows, add_row};
    writer->table = about->name;
    FORWARD(declare(writer, about));
    int code = export_table(sql, about->name, &sink, writer->watch, writer->problem);
    sqlite3_finalize(writer->insert);
    writer->insert = NULL;
    return code;
}

static int make_indices(struct writer *writer, const struct sql_description *about) {
    static const char *const indexed[] = {"id", "parent", "rank", "start"};
    for (const struct sql_column *column = about->column; column->name; column++) {
        for (size_t i = 0; i < sizeof indexed / sizeof indexed[0]; i++) {
            if (strcmp(column->name, indexed[i])) continue;
            FORWARD(execute(writer, sqlite3_mprintf("CREATE INDEX \"%w_%w\" ON \"%w\"(\"%w\")", about->name,
                                                    column->name, about->name, column->name)));
        }
    }
    return 0;
}

static int check_watch(void *context) {
    struct writer *writer = context;
    writer->stopped = writer->watch->progress(writer->watch->context, 0);
    return writer->stopped < 0;
}

// The file is new and is removed if anything fails: it needs no journal.
static int write_tables(struct writer *writer, struct sql *sql) {
    FORWARD(execute(writer, sqlite3_mprintf("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                                            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -%d; BEGIN;"
                                            "CREATE TABLE columns(\"table\" TEXT, name TEXT, type TEXT, meaning TEXT)",
                                            CACHE_KIB)));
    for (size_t i = 0; sql_description(i); i++) FORWARD(copy_table(writer, sql, sql_description(i)));
    for (size_t i = 0; sql_description(i); i++) FORWARD(make_indices(writer, sql_description(i)));
    return execute(writer, sqlite3_mprintf("COMMIT"));
}

int export_sqlite(struct sql *sql, const char *path, const struct export_watch *watch, struct problem *problem) {
    enum { STEPS_BETWEEN_CHECKS = 100000 };
    struct bytes text[MOST_COLUMNS] = {0};
    struct writer writer = {.text = text, .watch = watch, .problem = problem};
    int code = check(&writer, sqlite3_open_v2(path, &writer.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
    sqlite3_progress_handler(writer.db, STEPS_BETWEEN_CHECKS, check_watch, &writer);
    if (code == 0) code = write_tables(&writer, sql);
    int closed = check(&writer, sqlite3_close(writer.db));
    for (size_t i = 0; i < MOST_COLUMNS; i++) bytes_free(&text[i]);
    return code < 0 ? code : closed;
}
