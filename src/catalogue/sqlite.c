// A catalogue in one file. A journal beside it (not a write-ahead log, which needs shared memory and so fails on
// network file systems) keeps it whole if a writer is killed.
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/lookup.h"
#include "catalogue/store.h"

enum { PATIENCE_MS = 120000, MOST_VALUES = 96 };

struct prepared {
    sqlite3_stmt *statement;
    bool is_running; // a row callback is under way
};

struct sqlite {
    struct store store;
    sqlite3 *db;
    struct lookup place; // hash of the text -> index in `prepared`
    struct prepared *prepared;
    size_t count;
    char *name;
};

static int fail(const struct sqlite *own, int result, struct problem *problem) {
    switch (result & 0xff) {
    case SQLITE_NOMEM: return problem_code(problem, -ENOMEM, own->name);
    case SQLITE_FULL: return problem_code(problem, -ENOSPC, own->name);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return problem_set(problem, -EBUSY, own->name, "another process has been using it for too long");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return problem_set(problem, ERR_FORMAT, own->name, "not a catalogue: %s", sqlite3_errmsg(own->db));
    case SQLITE_READONLY: return problem_set(problem, -EACCES, own->name, "it cannot be written");
    default: return problem_set(problem, -EIO, own->name, "%s", sqlite3_errmsg(own->db));
    }
}

static int prepare(struct sqlite *own, const char *text, struct prepared **prepared, struct problem *problem) {
    uint32_t place;
    struct prepared none = {0};
    FORWARD(lookup_intern(&own->place, hash_text(0, text), place, own->prepared, own->count, none));
    *prepared = &own->prepared[place];
    if ((*prepared)->statement) return 0;
    int result = sqlite3_prepare_v3(own->db, text, -1, SQLITE_PREPARE_PERSISTENT, &(*prepared)->statement, NULL);
    return result == SQLITE_OK ? 0 : fail(own, result, problem);
}

static int bind(sqlite3_stmt *statement, const struct store_value *value, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int place = (int)i + 1, result = SQLITE_OK;
        switch (value[i].kind) {
        case STORE_INTEGER: result = sqlite3_bind_int64(statement, place, value[i].integer); break;
        case STORE_REAL: result = sqlite3_bind_double(statement, place, value[i].real); break;
        case STORE_TEXT: result = sqlite3_bind_text(statement, place, value[i].text, -1, SQLITE_STATIC); break;
        case STORE_NULL: result = sqlite3_bind_null(statement, place); break;
        }
        RETURN_IF(result != SQLITE_OK, result);
    }
    return SQLITE_OK;
}

static struct store_value column(sqlite3_stmt *statement, int i) {
    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER: return store_of_integer(sqlite3_column_int64(statement, i));
    case SQLITE_FLOAT: return (struct store_value){.kind = STORE_REAL, .real = sqlite3_column_double(statement, i)};
    case SQLITE_TEXT: return store_of_text((const char *)sqlite3_column_text(statement, i));
    default: return (struct store_value){0};
    }
}

static int read_rows(const struct sqlite *own, sqlite3_stmt *statement, store_row *row, void *context,
                     struct problem *problem) {
    struct store_value value[MOST_VALUES];
    int result, count = sqlite3_column_count(statement);
    RETURN_IF(count > MOST_VALUES, ERR_LIMIT);
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; row && i < count; i++) value[i] = column(statement, i);
        if (row) FORWARD(row(context, value, (size_t)count));
    }
    return result == SQLITE_DONE ? 0 : fail(own, result, problem);
}

// A statement whose rows are being read cannot be run again meanwhile.
static int run(struct store *store, const struct store_statement *asked, store_row *row, void *context,
               struct problem *problem) {
    struct sqlite *own = (struct sqlite *)store;
    struct prepared *prepared;
    FORWARD(prepare(own, asked->text, &prepared, problem));
    size_t place = (size_t)(prepared - own->prepared);
    sqlite3_stmt *statement = prepared->statement;
    RETURN_IF(prepared->is_running, problem_set(problem, -EBUSY, own->name, "a statement is in use"));
    int result = bind(statement, asked->value, asked->count);
    prepared->is_running = true;
    int code = result == SQLITE_OK ? read_rows(own, statement, row, context, problem) : fail(own, result, problem);
    own->prepared[place].is_running = false;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return code;
}

static int begin(struct store *store, enum store_access access, struct problem *problem) {
    return store_run(store, access == STORE_WRITES ? "BEGIN IMMEDIATE" : "BEGIN", NULL, 0, problem);
}

static int commit(struct store *store, struct problem *problem) { return store_run(store, "COMMIT", NULL, 0, problem); }

static void roll_back(struct store *store) {
    struct sqlite *own = (struct sqlite *)store;
    if (!sqlite3_get_autocommit(own->db)) sqlite3_exec(own->db, "ROLLBACK", NULL, NULL, NULL);
}

static int note_row(void *context, const struct store_value *value, size_t count) {
    (void)value;
    *(bool *)context = count > 0;
    return 0;
}

static bool has_table(struct store *store, const char *table) {
    const struct store_value name = store_of_text(table);
    struct problem ignored = {0};
    bool found = false;
    store_ask(store, &store_statement("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1", &name, 1),
              note_row, &found, &ignored);
    return found;
}

static bool is_own(struct store *store) {
    struct stat status;
    return stat(store->name, &status) == 0 && status.st_uid == geteuid();
}

static void close_store(struct store *store) {
    struct sqlite *own = (struct sqlite *)store;
    for (size_t i = 0; i < own->count; i++) sqlite3_finalize(own->prepared[i].statement);
    sqlite3_close(own->db);
    free(own->prepared);
    lookup_free(&own->place);
    free(own->name);
    free(own);
}

static const struct store_operations operations = {
    .clustered = " WITHOUT ROWID",
    .run = run,
    .begin = begin,
    .commit = commit,
    .roll_back = roll_back,
    .has_table = has_table,
    .is_own = is_own,
    .close = close_store,
};

// Only the user can read a new file: it names files and programs.
static int make_file(const char *path, struct problem *problem) {
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return problem_code(problem, -errno, path);
    close(fd);
    return 0;
}

static int open_file(struct sqlite *own, bool writes, struct problem *problem) {
    struct stat status;
    int flags = writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    if (writes) FORWARD(make_file(own->name, problem));
    if (stat(own->name, &status) && errno == ENOENT)
        return problem_set(problem, ERR_NOTHING, own->name, "there is no catalogue: `ioseer index DIR` makes one");
    // A writer that was killed leaves a journal, which whoever reads next must be able to apply.
    if (!writes && access(own->name, W_OK) == 0) flags = SQLITE_OPEN_READWRITE;
    int result = sqlite3_open_v2(own->name, &own->db, flags, NULL);
    if (result != SQLITE_OK) return fail(own, result, problem);
    sqlite3_busy_timeout(own->db, PATIENCE_MS);
    result = sqlite3_exec(own->db, "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
    return result == SQLITE_OK ? 0 : fail(own, result, problem);
}

int store_open_sqlite(struct store **store, const char *path, enum store_access access, struct problem *problem) {
    struct sqlite *own = calloc(1, sizeof *own);
    RETURN_IF(!own, -ENOMEM);
    own->name = strdup(path);
    own->store = (struct store){&operations, own->name};
    int code = own->name ? open_file(own, access == STORE_WRITES, problem) : -ENOMEM;
    if (code < 0)
        close_store(&own->store);
    else
        *store = &own->store;
    return code;
}
