// Tables whose rows are in memory. Conditions of the form "column = value" use an order of the rows by that column, so
// that a join with another table looks up rows instead of reading all of them each time.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sql/table.h"

struct memory_cursor {
    sqlite3_vtab_cursor base; // must be first
    struct sql_bound *bound;
    const uint32_t *order; // or NULL: the rows as they are
    size_t at, end;
};

static struct sql_bound *bound_of(sqlite3_vtab *vtab) { return ((struct sql_vtab *)vtab)->bound; }

// --- plans: idxNum is the column of the condition + 1, or 0; idxStr has the columns that are used

enum { COST_OF_ROW = 10 };

static bool is_key(const struct sql_table *table, sqlite3_index_info *info, int i) {
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    return constraint->usable && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ && constraint->iColumn >= 0 &&
           (table->about.column[constraint->iColumn].type != SQL_TEXT ||
            !sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY"));
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const struct sql_table *table = bound_of(vtab)->table;
    size_t rows = bound_of(vtab)->has ? bound_of(vtab)->count : 1000;
    info->estimatedCost = (double)(rows + 1) * COST_OF_ROW;
    info->estimatedRows = (sqlite3_int64)rows + 1;
    for (int i = 0; i < info->nConstraint && !info->idxNum; i++) {
        if (!is_key(table, info, i)) continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxNum = info->aConstraint[i].iColumn + 1;
        info->estimatedCost = COST_OF_ROW * 2;
        info->estimatedRows = 2;
    }
    info->idxStr = sqlite3_mprintf("%llu", (unsigned long long)info->colUsed);
    info->needToFreeIdxStr = 1;
    return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

// --- orders

static int compare_values(const struct sql_value *a, const struct sql_value *b) {
    double left = a->kind == SQL_IS_INTEGER ? (double)a->integer : a->real;
    double right = b->kind == SQL_IS_INTEGER ? (double)b->integer : b->real;
    if (a->kind == SQL_IS_NULL || b->kind == SQL_IS_NULL) return (b->kind == SQL_IS_NULL) - (a->kind == SQL_IS_NULL);
    if (a->kind == SQL_IS_TEXT || b->kind == SQL_IS_TEXT) {
        if (a->kind != b->kind) return a->kind == SQL_IS_TEXT ? 1 : -1;
        return strcmp(a->text, b->text);
    }
    return left < right ? -1 : left > right; // integers that differ may be equal as doubles: SQLite compares again
}

struct order_context {
    const struct sql_bound *bound;
    unsigned column;
};

static int compare_rows(const void *a, const void *b, void *context) {
    const struct order_context *order = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    struct sql_value values[2];
    order->bound->table->value(order->bound, left, order->column, &values[0]);
    order->bound->table->value(order->bound, right, order->column, &values[1]);
    int difference = compare_values(&values[0], &values[1]);
    return difference ? difference : left < right ? -1 : 1;
}

static int make_order(struct sql_bound *bound, unsigned column) {
    struct order_context context = {bound, column};
    if (bound->order[column]) return 0;
    uint32_t *order = malloc((bound->count + 1) * sizeof *order);
    RETURN_IF(!order, -ENOMEM);
    for (size_t i = 0; i < bound->count; i++) order[i] = (uint32_t)i;
    qsort_r(order, bound->count, sizeof *order, compare_rows, &context);
    bound->order[column] = order;
    return 0;
}

// The first place in the order whose row is not before the value, or with `after` not before or equal.
static size_t find_place(const struct sql_bound *bound, unsigned column, const struct sql_value *value, bool after) {
    size_t low = 0, high = bound->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct sql_value found;
        bound->table->value(bound, bound->order[column][middle], column, &found);
        int difference = compare_values(&found, value);
        if (difference < 0 || (after && difference == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Returns false if SQLite would convert the value before it compares.
static bool key_of(enum sql_type type, sqlite3_value *given, struct sql_value *key) {
    int kind = sqlite3_value_type(given);
    if (type == SQL_TEXT && kind == SQLITE_TEXT) {
        *key = sql_text((const char *)sqlite3_value_text(given));
        return key->text;
    }
    *key = sql_real(sqlite3_value_double(given));
    return type != SQL_TEXT && (kind == SQLITE_INTEGER || kind == SQLITE_FLOAT);
}

// --- cursors

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    struct memory_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    if (!cursor) return SQLITE_NOMEM;
    *cursor = (struct memory_cursor){.bound = bound_of(vtab)};
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
    sqlite3_free(base);
    return SQLITE_OK;
}

static int gather(struct sql_bound *bound, uint64_t columns) {
    size_t count = 0;
    while (bound->table->about.column[count].name) count++;
    if (!bound->order) bound->order = calloc(count + 1, sizeof *bound->order);
    RETURN_IF(!bound->order, -ENOMEM);
    if (bound->has && !(columns & ~bound->has)) return 0;
    columns |= bound->has | UINT64_C(1) << 63; // never empty
    FORWARD(bound->table->gather(bound, columns));
    bound->has = columns;
    return 0;
}

static int filter(sqlite3_vtab_cursor *base, int key_column, const char *plan, int argc, sqlite3_value **argv) {
    struct memory_cursor *cursor = (struct memory_cursor *)base;
    struct sql_bound *bound = cursor->bound;
    struct sql_value key;
    int code = gather(bound, strtoull(plan, NULL, 10));
    cursor->order = NULL;
    cursor->at = 0;
    cursor->end = bound->count;
    if (code == 0 && argc && key_of(bound->table->about.column[key_column - 1].type, argv[0], &key)) {
        unsigned column = (unsigned)key_column - 1;
        code = make_order(bound, column);
        cursor->order = bound->order[column];
        if (code == 0) cursor->at = find_place(bound, column, &key, false);
        if (code == 0) cursor->end = find_place(bound, column, &key, true);
    }
    return sql_error(base->pVtab, code);
}

static int next(sqlite3_vtab_cursor *base) {
    ((struct memory_cursor *)base)->at++;
    return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *base) {
    const struct memory_cursor *cursor = (struct memory_cursor *)base;
    return cursor->at >= cursor->end;
}

static size_t row_of(const struct memory_cursor *cursor) {
    return cursor->order ? cursor->order[cursor->at] : cursor->at;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
    const struct memory_cursor *cursor = (struct memory_cursor *)base;
    struct sql_value value;
    cursor->bound->table->value(cursor->bound, row_of(cursor), (unsigned)number, &value);
    sql_result(context, &value);
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id) {
    *id = (sqlite3_int64)row_of((struct memory_cursor *)base);
    return SQLITE_OK;
}

const sqlite3_module sql_memory_module = {
    .xConnect = sql_connect,
    .xBestIndex = best_index,
    .xDisconnect = sql_disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = column,
    .xRowid = row_id,
};
