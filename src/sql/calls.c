// The table of calls: each event with its place in the tree of calls.
#include "sql/tree.h"

enum calls_column {
    CALLS_ID,
    CALLS_PARENT,
    CALLS_TOP,
    CALLS_RANK,
    CALLS_PID,
    CALLS_CALL,
    CALLS_PART,
    CALLS_DEPTH,
    CALLS_LAYER,
    CALLS_OP,
    CALLS_CLASS,
    CALLS_FILE,
    CALLS_SERVER,
    CALLS_START,
    CALLS_DURATION,
    CALLS_BYTES,
};

static const struct sql_column columns[] = {
    [CALLS_ID] = {"id", SQL_INTEGER, "of the event"},
    [CALLS_PARENT] = {"parent", SQL_INTEGER, "id of the call that made this call; NULL: the program did"},
    [CALLS_TOP] = {"top", SQL_INTEGER, "id of the call of MPI-IO around it, or else of the outermost call"},
    [CALLS_RANK] = {"rank", SQL_INTEGER, "in MPI_COMM_WORLD; NULL without MPI"},
    [CALLS_PID] = {"pid", SQL_INTEGER, "process"},
    [CALLS_CALL] = {"call", SQL_INTEGER, "number of the top call in its process, from 0; NULL beside MPI-IO"},
    [CALLS_PART] = {"part", SQL_INTEGER, "number of the file system's call in the top call, from 0; NULL above"},
    [CALLS_DEPTH] = {"depth", SQL_INTEGER, "calls around it"},
    [CALLS_LAYER] = {"layer", SQL_TEXT, "posix, stdio, mpiio, hdf5, pnetcdf, netcdf, client, net, server or disk"},
    [CALLS_OP] = {"op", SQL_TEXT, "name of the call"},
    [CALLS_CLASS] = {"class", SQL_TEXT, "read, write, open, close, sync, seek or meta"},
    [CALLS_FILE] = {"file", SQL_TEXT, "name of the file, absolute"},
    [CALLS_SERVER] = {"server", SQL_INTEGER, "number of the stack's server, of calls to it and in it"},
    [CALLS_START] = {"start", SQL_REAL, "seconds since the job's start"},
    [CALLS_DURATION] = {"duration", SQL_REAL, "seconds"},
    [CALLS_BYTES] = {"bytes", SQL_INTEGER, "moved; 0 of calls that move none"},
    {0},
};

struct calls_cursor {
    sqlite3_vtab_cursor base; // must be first
    struct tree_scan scan;
    bool has_row;
};

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    info->orderByConsumed = info->nOrderBy == 1 && info->aOrderBy[0].iColumn == CALLS_START && !info->aOrderBy[0].desc;
    return tree_best_index(vtab, info, "l<");
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    struct calls_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    (void)vtab;
    if (!cursor) return SQLITE_NOMEM;
    *cursor = (struct calls_cursor){0};
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
    tree_end(&((struct calls_cursor *)base)->scan);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base) {
    struct calls_cursor *cursor = (struct calls_cursor *)base;
    int code = tree_next(&cursor->scan);
    cursor->has_row = code > 0;
    return sql_error(base->pVtab, code);
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int argc, sqlite3_value **argv) {
    struct calls_cursor *cursor = (struct calls_cursor *)base;
    (void)number, (void)argc;
    tree_end(&cursor->scan);
    int code = tree_begin(&cursor->scan, ((struct sql_vtab *)base->pVtab)->bound, plan, argv);
    return code < 0 ? sql_error(base->pVtab, code) : next(base);
}

static int is_at_end(sqlite3_vtab_cursor *base) { return !((struct calls_cursor *)base)->has_row; }

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id) {
    *id = (sqlite3_int64)((struct calls_cursor *)base)->scan.event->id;
    return SQLITE_OK;
}

static struct sql_value server_of(const struct log_event *event) {
    uint32_t server = log_event_server(event);
    return sql_if(server != LOG_NO_SERVER, sql_integer(server));
}

static struct sql_value value_of(const struct log_event *event, const struct stack_place *place,
                                 enum calls_column column) {
    switch (column) {
    case CALLS_ID: return sql_number(event->id);
    case CALLS_PARENT: return sql_if(event->has_parent, sql_number(event->parent));
    case CALLS_TOP: return sql_if(place->is_caused, sql_number(place->top));
    case CALLS_RANK: return sql_if(event->process->has_rank, sql_integer(event->process->rank));
    case CALLS_PID: return sql_if(event->process->pid, sql_integer(event->process->pid));
    case CALLS_CALL: return sql_if(place->number >= 0, sql_integer(place->number));
    case CALLS_PART: return sql_if(place->part >= 0, sql_integer(place->part));
    case CALLS_DEPTH: return sql_integer(place->depth);
    case CALLS_LAYER: return sql_text(call_layer_name(event->call->layer));
    case CALLS_OP: return sql_text(event->call->name);
    case CALLS_CLASS: return sql_text(call_class_name(event->call->class));
    case CALLS_FILE: return sql_text(event->file ? event->file->name : NULL);
    case CALLS_SERVER: return server_of(event);
    case CALLS_START: return sql_seconds(event->start_ns);
    case CALLS_DURATION: return sql_seconds(event->duration_ns);
    case CALLS_BYTES: return sql_number(stack_bytes(event));
    }
    return SQL_NULL_VALUE;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
    const struct tree_scan *scan = &((struct calls_cursor *)base)->scan;
    const struct sql_value value = value_of(scan->event, &scan->stack.place, (enum calls_column)number);
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

const struct sql_table sql_table_calls = {
    .about = {"calls", "each recorded call with its place in the tree of calls", columns},
    .free = tree_free,
    .module = &module,
};
