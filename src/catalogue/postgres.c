// A catalogue in a PostgreSQL server. Statements without rows are sent without waiting for the one before (libpq's
// pipeline): otherwise a job would cost as many round trips as it has rows.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"
#include "catalogue/store.h"
#include "late/libpq.h"

enum {
    MOST_VALUES = 96,
    MOST_PENDING = 256, // so few that neither side waits for the other with full buffers
    // Types of columns, as in the server's catalogue pg_type.
    TYPE_INT8 = 20,
    TYPE_INT2 = 21,
    TYPE_INT4 = 23,
    TYPE_FLOAT4 = 700,
    TYPE_FLOAT8 = 701,
    TYPE_NUMERIC = 1700,
};

static const struct libpq *pq; // set when the first store is opened

struct postgres {
    struct store store;
    PGconn *connection;
    struct lookup prepared; // hash of the text
    unsigned pending;       // statements sent whose results were not read
    char *name;
};

static int fail(const struct postgres *own, struct problem *problem, const char *why) {
    char line[512];
    snprintf(line, sizeof line, "%s", why && *why ? why : pq->PQerrorMessage(own->connection));
    line[strcspn(line, "\n")] = 0;
    return problem_set(problem, -EIO, own->name, "%s", *line ? line : "the server does not answer");
}

// --- results

static int check(const struct postgres *own, const PGresult *result, struct problem *problem) {
    switch (pq->PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_PIPELINE_SYNC: return 0;
    case PGRES_PIPELINE_ABORTED: return -EIO; // after the failure that is told
    default: return fail(own, problem, pq->PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
    }
}

// Reads all results up to the last synchronisation, so that the connection can be used again also after a failure. The
// last one with rows goes to `rows`.
static int drain(struct postgres *own, PGresult **rows, struct problem *problem) {
    int code = pq->PQpipelineSync(own->connection) ? 0 : fail(own, problem, NULL);
    own->pending = 0;
    for (bool more = code == 0; more;) {
        PGresult *result = pq->PQgetResult(own->connection);
        if (!result && pq->PQstatus(own->connection) != CONNECTION_OK)
            return code < 0 ? code : fail(own, problem, NULL);
        if (!result) continue; // between the results of two statements
        more = pq->PQresultStatus(result) != PGRES_PIPELINE_SYNC;
        int checked = check(own, result, problem);
        if (code == 0) code = checked;
        if (rows && pq->PQresultStatus(result) == PGRES_TUPLES_OK) {
            pq->PQclear(*rows);
            *rows = result;
        } else {
            pq->PQclear(result);
        }
    }
    return code;
}

static struct store_value value_of(const PGresult *result, int row, int column) {
    if (pq->PQgetisnull(result, row, column)) return (struct store_value){0};
    const char *text = pq->PQgetvalue(result, row, column);
    switch (pq->PQftype(result, column)) {
    case TYPE_INT8:
    case TYPE_INT2:
    case TYPE_INT4: return store_of_integer(strtoll(text, NULL, 10));
    case TYPE_FLOAT4:
    case TYPE_FLOAT8:
    case TYPE_NUMERIC: return (struct store_value){.kind = STORE_REAL, .real = strtod(text, NULL)};
    default: return store_of_text(text);
    }
}

static int read_rows(const PGresult *result, store_row *row, void *context) {
    struct store_value value[MOST_VALUES];
    int count = pq->PQnfields(result);
    RETURN_IF(count > MOST_VALUES, ERR_LIMIT);
    for (int i = 0; i < pq->PQntuples(result); i++) {
        for (int k = 0; k < count; k++) value[k] = value_of(result, i, k);
        FORWARD(row(context, value, (size_t)count));
    }
    return 0;
}

// --- statements

static int send_prepare(struct postgres *own, const char *text, const char *name, uint64_t hash,
                        struct problem *problem) {
    if (lookup_find(&own->prepared, hash) != LOOKUP_NONE) return 0;
    if (!pq->PQsendPrepare(own->connection, name, text, 0, NULL)) return fail(own, problem, NULL);
    own->pending++;
    return lookup_set(&own->prepared, hash, 0);
}

static int send(struct postgres *own, const struct store_statement *asked, struct problem *problem) {
    char name[32], number[MOST_VALUES][32];
    const char *parameter[MOST_VALUES];
    const struct store_value *value = asked->value;
    size_t count = asked->count;
    uint64_t hash = hash_text(0, asked->text);
    RETURN_IF(count > MOST_VALUES, ERR_LIMIT);
    snprintf(name, sizeof name, "s%016" PRIx64, hash);
    FORWARD(send_prepare(own, asked->text, name, hash, problem));
    for (size_t i = 0; i < count; i++) {
        parameter[i] = value[i].kind == STORE_NULL ? NULL : value[i].kind == STORE_TEXT ? value[i].text : number[i];
        if (value[i].kind == STORE_INTEGER) snprintf(number[i], sizeof number[i], "%" PRId64, value[i].integer);
        if (value[i].kind == STORE_REAL) snprintf(number[i], sizeof number[i], "%.17g", value[i].real);
    }
    own->pending++;
    return pq->PQsendQueryPrepared(own->connection, name, (int)count, parameter, NULL, NULL, 0)
               ? 0
               : fail(own, problem, NULL);
}

// What was prepared in a pipeline that failed may not be there.
static int forget_if(struct postgres *own, int code) {
    if (code < 0) lookup_clear(&own->prepared);
    return code;
}

static int run(struct store *store, const struct store_statement *asked, store_row *row, void *context,
               struct problem *problem) {
    struct postgres *own = (struct postgres *)store;
    FORWARD(send(own, asked, problem));
    if (!row && own->pending < MOST_PENDING) return 0;
    PGresult *rows = NULL;
    int code = forget_if(own, drain(own, row ? &rows : NULL, problem));
    if (code == 0 && rows) code = read_rows(rows, row, context);
    pq->PQclear(rows);
    return code;
}

static int now(struct postgres *own, const char *text, struct problem *problem) {
    FORWARD(send(own, &store_statement(text, NULL, 0), problem));
    return forget_if(own, drain(own, NULL, problem));
}

// --- transactions

// A lock of the catalogue's own: tables cannot be locked before they are there.
#define WRITERS "SELECT pg_advisory_xact_lock(7310470112233)"

static int begin(struct store *store, enum store_access access, struct problem *problem) {
    struct postgres *own = (struct postgres *)store;
    if (access == STORE_READS) return now(own, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", problem);
    FORWARD(now(own, "BEGIN", problem));
    return now(own, WRITERS, problem);
}

static int commit(struct store *store, struct problem *problem) {
    struct postgres *own = (struct postgres *)store;
    FORWARD(forget_if(own, drain(own, NULL, problem)));
    return now(own, "COMMIT", problem);
}

static void roll_back(struct store *store) {
    struct postgres *own = (struct postgres *)store;
    struct problem ignored = {0};
    if (own->pending) forget_if(own, drain(own, NULL, &ignored));
    if (pq->PQtransactionStatus(own->connection) != PQTRANS_IDLE) now(own, "ROLLBACK", &ignored);
}

static int note_row(void *context, const struct store_value *value, size_t count) {
    *(bool *)context = count && value[0].kind == STORE_TEXT;
    return 0;
}

static bool has_table(struct store *store, const char *table) {
    struct problem ignored = {0};
    const struct store_value name = store_of_text(table);
    bool found = false;
    store_ask(store, &store_statement("SELECT CAST(to_regclass($1) AS TEXT)", &name, 1), note_row, &found, &ignored);
    return found;
}

static int note_any(void *context, const struct store_value *value, size_t count) {
    (void)value;
    *(bool *)context = count > 0;
    return 0;
}

static bool is_own(struct store *store) {
    struct problem ignored = {0};
    bool found = false;
    store_ask(
        store,
        &store_statement("SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass('jobs') AND relowner = (SELECT "
                         "oid FROM pg_catalog.pg_roles WHERE rolname = current_user)",
                         NULL, 0),
        note_any, &found, &ignored);
    return found;
}

static void close_store(struct store *store) {
    struct postgres *own = (struct postgres *)store;
    if (own->connection) pq->PQfinish(own->connection);
    lookup_free(&own->prepared);
    free(own->name);
    free(own);
}

static const struct store_operations operations = {
    .clustered = "",
    .run = run,
    .begin = begin,
    .commit = commit,
    .roll_back = roll_back,
    .has_table = has_table,
    .is_own = is_own,
    .close = close_store,
};

// --- opening

// An address may have a password, which must not be printed.
static char *plain_name(const char *address) {
    const char *user = strstr(address, "://"), *at = user ? strrchr(user, '@') : NULL;
    char *name = NULL;
    if (!at) return strdup(address);
    return asprintf(&name, "postgresql://%s", at + 1) < 0 ? NULL : name;
}

static void ignore_notice(void *context, const PGresult *result) { (void)context, (void)result; }

static int connect_to(struct postgres *own, const char *address, struct problem *problem) {
    const char *const key[] = {"dbname", "fallback_application_name", "client_encoding", NULL};
    const char *const value[] = {address, "ioseer", "UTF8", NULL};
    own->connection = pq->PQconnectdbParams(key, value, 1);
    if (pq->PQstatus(own->connection) != CONNECTION_OK) return fail(own, problem, NULL);
    pq->PQsetNoticeReceiver(own->connection, ignore_notice, NULL);
    if (!pq->PQenterPipelineMode(own->connection)) return fail(own, problem, NULL);
    // Compiling such statements would take longer than running them.
    FORWARD(now(own, "SET jit = off", problem));
    // The rows of jobs that ran at about the same time lie together: finding them by an index is cheaper than the
    // server assumes, and much cheaper than reading the rows of all jobs.
    return now(own, "SET random_page_cost = 1.1", problem);
}

int store_open_postgres(struct store **store, const char *address, enum store_access access, struct problem *problem) {
    struct postgres *own = calloc(1, sizeof *own);
    (void)access;
    RETURN_IF(!own, -ENOMEM);
    if (!pq) pq = late_load("libpq");
    own->name = plain_name(address);
    own->store = (struct store){&operations, own->name};
    int code = !own->name ? -ENOMEM
               : pq       ? connect_to(own, address, problem)
                          : problem_set(problem, ERR_NOTHING, "PostgreSQL", "ioseer-libpq.so or libpq is missing");
    if (code < 0)
        close_store(&own->store);
    else
        *store = &own->store;
    return code;
}
