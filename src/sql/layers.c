// The table of layers: what each top call has at each layer, by the rules of summary/stack.h. A top call is a row, or
// several, when it has ended.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sql/tree.h"

enum layers_column {
    LAYERS_RANK,
    LAYERS_PID,
    LAYERS_CALL,
    LAYERS_TOP,
    LAYERS_OP,
    LAYERS_START,
    LAYERS_LAYER,
    LAYERS_LEVEL,
    LAYERS_CALLS,
    LAYERS_BYTES_READ,
    LAYERS_BYTES_WRITTEN,
    LAYERS_INCLUSIVE,
    LAYERS_EXCLUSIVE,
};

static const struct sql_column columns[] = {
    [LAYERS_RANK] = {"rank", SQL_INTEGER, "in MPI_COMM_WORLD; NULL without MPI"},
    [LAYERS_PID] = {"pid", SQL_INTEGER, "process"},
    [LAYERS_CALL] = {"call", SQL_INTEGER, "number of the top call in its process, from 0; NULL beside MPI-IO"},
    [LAYERS_TOP] = {"top", SQL_INTEGER, "id of the top call: of MPI-IO, or else the outermost; NULL: not known"},
    [LAYERS_OP] = {"op", SQL_TEXT, "name of the top call"},
    [LAYERS_START] = {"start", SQL_REAL, "of the top call, seconds since the job's start"},
    [LAYERS_LAYER] = {"layer", SQL_TEXT, "netcdf, pnetcdf, hdf5, mpiio, stdio, posix, client, net, server or disk"},
    [LAYERS_LEVEL] = {"level", SQL_INTEGER, "of the layer, from 0 downwards"},
    [LAYERS_CALLS] = {"calls", SQL_INTEGER, "of the layer, without those inside another one of the same layer"},
    [LAYERS_BYTES_READ] = {"bytes_read", SQL_INTEGER, "bytes"},
    [LAYERS_BYTES_WRITTEN] = {"bytes_written", SQL_INTEGER, "bytes"},
    [LAYERS_INCLUSIVE] = {"inclusive", SQL_REAL, "seconds in the layer and below it"},
    [LAYERS_EXCLUSIVE] = {"exclusive", SQL_REAL, "seconds in the layer, not below it; negative if calls overlap"},
    {0},
};

struct layers_row {
    struct stack_top top; // its `layer` is not used
    unsigned layer, level;
    struct stack_share share;
};

struct layers_cursor {
    sqlite3_vtab_cursor base; // must be first
    struct tree_scan scan;
    struct layers_row *row; // of top calls that have ended
    size_t rows, at;
    int64_t row_id;
    bool is_over;
    int error;
};

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) { return tree_best_index(vtab, info, ""); }

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    struct layers_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    (void)vtab;
    if (!cursor) return SQLITE_NOMEM;
    *cursor = (struct layers_cursor){0};
    *out = &cursor->base;
    return SQLITE_OK;
}

static void end_scan(struct layers_cursor *cursor) {
    tree_end(&cursor->scan);
    free(cursor->row);
    *cursor = (struct layers_cursor){.base = cursor->base};
}

static int close_cursor(sqlite3_vtab_cursor *base) {
    end_scan((struct layers_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static void add_top(void *context, const struct stack_top *top) {
    struct layers_cursor *cursor = context;
    unsigned layer = LAYER_NONE;
    for (unsigned level = 0; (layer = stack_layer_below(layer)); level++) {
        if (!top->layer[layer].calls) continue;
        const struct layers_row row = {*top, layer, level, top->layer[layer]};
        int code = cursor->error ? 0 : array_push(cursor->row, cursor->rows, row);
        if (code < 0) cursor->error = code;
    }
}

static int next_row(struct layers_cursor *cursor) {
    cursor->row_id++;
    if (++cursor->at < cursor->rows) return 0;
    cursor->at = cursor->rows = 0;
    while (!cursor->rows && !cursor->is_over) {
        int code = tree_next(&cursor->scan);
        FORWARD(code);
        cursor->is_over = code == 0;
        if (cursor->is_over && cursor->scan.iter) FORWARD(stack_finish(&cursor->scan.stack));
        FORWARD(cursor->error);
    }
    return 0;
}

static int next(sqlite3_vtab_cursor *base) { return sql_error(base->pVtab, next_row((struct layers_cursor *)base)); }

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc, sqlite3_value **argv) {
    struct layers_cursor *cursor = (struct layers_cursor *)base;
    (void)number, (void)argc;
    end_scan(cursor);
    int code = tree_begin(&cursor->scan, ((struct sql_vtab *)base->pVtab)->bound, plan, argv);
    cursor->scan.stack.end_top = add_top;
    cursor->scan.stack.context = cursor;
    return code < 0 ? sql_error(base->pVtab, code) : next(base);
}

static int is_at_end(sqlite3_vtab_cursor *base) {
    const struct layers_cursor *cursor = (struct layers_cursor *)base;
    return cursor->at >= cursor->rows;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id) {
    *id = ((struct layers_cursor *)base)->row_id;
    return SQLITE_OK;
}

static struct sql_value value_of(const struct layers_row *row, enum layers_column column) {
    const struct stack_top *top = &row->top;
    const struct stack_share *share = &row->share;
    switch (column) {
    case LAYERS_RANK: return sql_if(top->process->has_rank, sql_integer(top->process->rank));
    case LAYERS_PID: return sql_if(top->process->pid, sql_integer(top->process->pid));
    case LAYERS_CALL: return sql_if(top->of.number >= 0, sql_integer(top->of.number));
    case LAYERS_TOP: return sql_if(top->of.is_caused, sql_number(top->of.top));
    case LAYERS_OP: return sql_text(top->call->name);
    case LAYERS_START: return sql_seconds(top->start_ns);
    case LAYERS_LAYER: return sql_text(call_layer_name(row->layer));
    case LAYERS_LEVEL: return sql_integer(row->level);
    case LAYERS_CALLS: return sql_number(share->calls);
    case LAYERS_BYTES_READ: return sql_number(share->bytes[DIRECTION_READ]);
    case LAYERS_BYTES_WRITTEN: return sql_number(share->bytes[DIRECTION_WRITE]);
    case LAYERS_INCLUSIVE: return sql_seconds(share->time.inclusive_ns);
    case LAYERS_EXCLUSIVE: return sql_seconds(share->time.exclusive_ns);
    }
    return SQL_NULL_VALUE;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
    const struct layers_cursor *cursor = (struct layers_cursor *)base;
    const struct sql_value value = value_of(&cursor->row[cursor->at], (enum layers_column)number);
    sql_result(context, &value);
    return SQLITE_OK;
}

static const sqlite3_module module = {
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

const struct sql_table sql_table_layers = {
    .about = {"layers", "each top call and layer that it has: calls, bytes and latency", columns},
    .free = tree_free,
    .module = &module,
};
