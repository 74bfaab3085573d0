// The table of events, read from the log as the statement asks for them, in the order of their starts. Conditions
// become a log_filter, which leaves out whole blocks by the log's index; SQLite checks each row again, so a filter may
// pass too much, but never too little.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "log/describe.h"
#include "log/iter.h"
#include "sql/table.h"

enum event_column {
    EVENT_ROW_ID,
    EVENT_ROW_PARENT,
    EVENT_ROW_RANK,
    EVENT_ROW_PID,
    EVENT_ROW_TID,
    EVENT_ROW_HOST,
    EVENT_ROW_LAYER,
    EVENT_ROW_OP,
    EVENT_ROW_CLASS,
    EVENT_ROW_FILE,
    EVENT_ROW_OFFSET,
    EVENT_ROW_SIZE,
    EVENT_ROW_RESULT,
    EVENT_ROW_ERRNO,
    EVENT_ROW_ERROR,
    EVENT_ROW_TICK,
    EVENT_ROW_START,
    EVENT_ROW_DURATION,
    EVENT_ROW_CALL_TIME,
    EVENT_ROW_COLLECTIVE,
    EVENT_ROW_LINE,
    EVENT_ROW_OBJECT,
    EVENT_ROW_VIA,
    EVENT_ROW_SERVER,
    EVENT_ROW_HANDLE,
    EVENT_ROW_FILE2,
    EVENT_ROW_FLAGS,
    EVENT_ROW_MODE,
    EVENT_ROW_FD,
    EVENT_ROW_VIEW_OFFSET,
};

static const struct sql_column columns[] = {
    [EVENT_ROW_ID] = {"id", SQL_INTEGER, "unique in the log"},
    [EVENT_ROW_PARENT] = {"parent", SQL_INTEGER, "id of the call that made this call; NULL: the program did"},
    [EVENT_ROW_RANK] = {"rank", SQL_INTEGER, "in MPI_COMM_WORLD; NULL without MPI"},
    [EVENT_ROW_PID] = {"pid", SQL_INTEGER, "process"},
    [EVENT_ROW_TID] = {"tid", SQL_INTEGER, "thread"},
    [EVENT_ROW_HOST] = {"host", SQL_TEXT, "where the process ran"},
    [EVENT_ROW_LAYER] = {"layer", SQL_TEXT, "posix, stdio, mpiio, hdf5, pnetcdf, netcdf, client, net, server or disk"},
    [EVENT_ROW_OP] = {"op", SQL_TEXT, "name of the call: pwrite, MPI_File_write_all ..."},
    [EVENT_ROW_CLASS] = {"class", SQL_TEXT, "read, write, open, close, sync, seek or meta"},
    [EVENT_ROW_FILE] = {"file", SQL_TEXT, "name of the file, absolute"},
    [EVENT_ROW_OFFSET] = {"offset", SQL_INTEGER, "bytes, of the first byte in the file"},
    [EVENT_ROW_SIZE] = {"size", SQL_INTEGER, "bytes asked for"},
    [EVENT_ROW_RESULT] = {"result", SQL_INTEGER, "bytes moved, or what the call returned"},
    [EVENT_ROW_ERRNO] = {"errno", SQL_INTEGER, "0, or the error"},
    [EVENT_ROW_ERROR] = {"error", SQL_TEXT, "its name: ENOENT, MPI_ERR_NO_SUCH_FILE ..."},
    [EVENT_ROW_TICK] = {"tick", SQL_INTEGER,
                        "MPI calls that the process had begun; NULL below the system call and in imported logs"},
    [EVENT_ROW_START] = {"start", SQL_REAL, "seconds since the job's start"},
    [EVENT_ROW_DURATION] = {"duration", SQL_REAL, "seconds; of an asynchronous call until it was seen to be complete"},
    [EVENT_ROW_CALL_TIME] = {"call_time", SQL_REAL, "seconds inside the call; NULL unless it is asynchronous"},
    [EVENT_ROW_COLLECTIVE] = {"collective", SQL_INTEGER, "1 if all processes make the call together, else 0"},
    [EVENT_ROW_LINE] = {"line", SQL_TEXT, "source line of the caller (record --callsites)"},
    [EVENT_ROW_OBJECT] = {"object", SQL_TEXT, "dataset, variable ... in the file"},
    [EVENT_ROW_VIA] = {"via", SQL_TEXT, "how the call was seen: preload, ptrace, link, import, probe"},
    [EVENT_ROW_SERVER] = {"server", SQL_INTEGER, "number of the stack's server, of calls to it and in it"},
    [EVENT_ROW_HANDLE] = {"handle", SQL_INTEGER, "which open of the process the call used"},
    [EVENT_ROW_FILE2] = {"file2", SQL_TEXT, "target of a rename or link"},
    [EVENT_ROW_FLAGS] = {"flags", SQL_INTEGER, "of an open, as the call got them"},
    [EVENT_ROW_MODE] = {"mode", SQL_INTEGER, "of an open that creates"},
    [EVENT_ROW_FD] = {"fd", SQL_INTEGER, "descriptor that an open returned"},
    [EVENT_ROW_VIEW_OFFSET] = {"view_offset", SQL_INTEGER, "bytes, in the view of MPI-IO"},
    {0},
};

// --- conditions

// Small scans are over before a thread has started.
enum { BATCHES_BEFORE_THREAD = 16 };

// The conditions that the filter takes: idxStr has a letter for each, in the order of the arguments.
enum condition {
    IS_ID = 'i',
    IS_RANK = 'r',
    IS_PID = 'p',
    IS_TID = 't',
    IS_LAYER = 'l', // or one of a list
    IS_CLASS = 'c', // the same
    IS_OP = 'o',
    IS_FILE = 'f',
    IS_FILE_LIKE = 'k',
    IS_FILE_GLOB = 'g',
    IS_SERVER = 's',
    IS_FROM = '>',
    IS_TO = '<',
    IS_AT = '=',
};

// By how much it makes the answer smaller, roughly. Only the order of plans depends on it.
static const struct rule {
    enum event_column column;
    unsigned char op;
    enum condition condition;
    double part;
} rules[] = {
    {EVENT_ROW_ID, SQLITE_INDEX_CONSTRAINT_EQ, IS_ID, 0.001},
    {EVENT_ROW_RANK, SQLITE_INDEX_CONSTRAINT_EQ, IS_RANK, 0.05},
    {EVENT_ROW_PID, SQLITE_INDEX_CONSTRAINT_EQ, IS_PID, 0.05},
    {EVENT_ROW_TID, SQLITE_INDEX_CONSTRAINT_EQ, IS_TID, 0.3},
    {EVENT_ROW_LAYER, SQLITE_INDEX_CONSTRAINT_EQ, IS_LAYER, 0.5},
    {EVENT_ROW_OP, SQLITE_INDEX_CONSTRAINT_EQ, IS_OP, 0.3},
    {EVENT_ROW_CLASS, SQLITE_INDEX_CONSTRAINT_EQ, IS_CLASS, 0.4},
    {EVENT_ROW_FILE, SQLITE_INDEX_CONSTRAINT_EQ, IS_FILE, 0.3},
    {EVENT_ROW_FILE, SQLITE_INDEX_CONSTRAINT_LIKE, IS_FILE_LIKE, 0.5},
    {EVENT_ROW_FILE, SQLITE_INDEX_CONSTRAINT_GLOB, IS_FILE_GLOB, 0.5},
    {EVENT_ROW_SERVER, SQLITE_INDEX_CONSTRAINT_EQ, IS_SERVER, 0.1},
    {EVENT_ROW_START, SQLITE_INDEX_CONSTRAINT_GT, IS_FROM, 0.3},
    {EVENT_ROW_START, SQLITE_INDEX_CONSTRAINT_GE, IS_FROM, 0.3},
    {EVENT_ROW_START, SQLITE_INDEX_CONSTRAINT_LT, IS_TO, 0.3},
    {EVENT_ROW_START, SQLITE_INDEX_CONSTRAINT_LE, IS_TO, 0.3},
    {EVENT_ROW_START, SQLITE_INDEX_CONSTRAINT_EQ, IS_AT, 0.001},
};

// Of `column IN (list)`: SQLite scans once for each value of the list. That is good if each scan reads other blocks;
// otherwise the list has to be taken as a whole, or not at all.
static bool takes_list(sqlite3_index_info *info, int i, enum condition condition) {
    bool is_whole = condition == IS_LAYER || condition == IS_CLASS;
    bool is_apart = condition == IS_RANK || condition == IS_PID || condition == IS_ID || condition == IS_AT;
    return !sqlite3_vtab_in(info, i, is_whole ? 1 : -1) || is_whole || is_apart;
}

static const struct rule *rule_of(sqlite3_index_info *info, int i) {
    const struct sqlite3_index_constraint *given = &info->aConstraint[i];
    if (!given->usable || given->iColumn < 0) return NULL;
    if (columns[given->iColumn].type == SQL_TEXT && sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY"))
        return NULL;
    for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++) {
        if ((int)rules[k].column == given->iColumn && rules[k].op == given->op) return &rules[k];
    }
    return NULL;
}

// The orders that a scan can have: idxNum. To read a log once for each class costs less than to sort all of its events.
enum scan_order { BY_START, BY_RANK, BY_PID, BY_CLASS, BY_LAYER };

static enum scan_order order_of(int column) {
    switch (column) {
    case EVENT_ROW_RANK: return BY_RANK;
    case EVENT_ROW_PID: return BY_PID;
    case EVENT_ROW_CLASS: return BY_CLASS;
    case EVENT_ROW_LAYER: return BY_LAYER;
    default: return BY_START;
    }
}

// Each process, class or layer is a scan of its own, and each would compare all names of files again.
static bool has_order(const sqlite3_index_info *info, const char *plan, enum scan_order *order) {
    if (info->nOrderBy != 1 || info->aOrderBy[0].desc) return false;
    int column = info->aOrderBy[0].iColumn;
    bool compares_names = plan && strpbrk(plan, (const char[]){IS_FILE, IS_FILE_LIKE, IS_FILE_GLOB, 0});
    *order = order_of(column);
    return column == EVENT_ROW_START || (*order && !compares_names);
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const struct sql_bound *bound = ((struct sql_vtab *)vtab)->bound;
    const struct log *log = sql_log(bound->sql);
    double rows = (double)(log_events(log) + log_events_below(log)) + 1;
    sqlite3_str *plan = sqlite3_str_new(NULL);
    int arguments = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct rule *rule = rule_of(info, i);
        if (!rule || !takes_list(info, i, rule->condition)) continue;
        info->aConstraintUsage[i].argvIndex = ++arguments;
        sqlite3_str_appendchar(plan, 1, (char)rule->condition);
        rows *= rule->part;
    }
    info->idxStr = sqlite3_str_finish(plan);
    if (!info->idxStr && arguments) return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)rows + 1;
    info->estimatedCost = rows * 100 + 10000; // a scan costs something even if it finds nothing
    enum scan_order order = BY_START;
    info->orderByConsumed = has_order(info, info->idxStr, &order);
    info->idxNum = info->orderByConsumed ? (int)order : BY_START;
    return SQLITE_OK;
}

static void pass_nothing(struct log_filter *filter) {
    filter->has_to = true;
    filter->to_ns = -1;
}

// What file names are compared with.
struct name_condition {
    enum condition kind;
    char *text;
};

static bool name_passes(const void *context, const char *name) {
    const struct name_condition *condition = context;
    switch (condition->kind) {
    case IS_FILE_LIKE: return !sqlite3_strlike(condition->text, name, 0);
    case IS_FILE_GLOB: return !sqlite3_strglob(condition->text, name);
    default: return !strcmp(condition->text, name);
    }
}

// In whole nanoseconds, one more than needed on each side: doubles are not exact.
static void add_time(struct log_filter *filter, enum condition condition, double seconds) {
    double ns = fmin(fmax(seconds, -1) * 1e9, 9e18);
    if (condition != IS_TO) {
        int64_t from_ns = (int64_t)floor(ns) - 1;
        if (!filter->has_from || from_ns > filter->from_ns) filter->from_ns = from_ns;
        filter->has_from = true;
    }
    if (condition != IS_FROM) {
        int64_t to_ns = (int64_t)ceil(ns) + 1;
        if (!filter->has_to || to_ns < filter->to_ns) filter->to_ns = to_ns;
        filter->has_to = true;
    }
}

// The layers or classes that a value names: one, or a list.
static unsigned bits_of(sqlite3_value *value, int (*find)(const char *name)) {
    unsigned bits = 0;
    sqlite3_value *item;
    int code = sqlite3_vtab_in_first(value, &item);
    if (code == SQLITE_ERROR || code == SQLITE_MISUSE) { // no list
        code = SQLITE_OK;
        item = value;
    }
    for (; code == SQLITE_OK; code = item == value ? SQLITE_DONE : sqlite3_vtab_in_next(value, &item)) {
        const char *name = (const char *)sqlite3_value_text(item);
        int number = name ? find(name) : -1;
        if (number >= 0) bits |= 1u << number;
    }
    return bits;
}

static void add_bits(struct log_filter *filter, unsigned *chosen, unsigned bits) {
    *chosen = *chosen ? *chosen & bits : bits;
    if (!*chosen) pass_nothing(filter);
}

static bool is_number(sqlite3_value *value, int64_t most, int64_t *number) {
    *number = sqlite3_value_int64(value);
    return sqlite3_value_type(value) == SQLITE_INTEGER && *number >= 0 && *number <= most;
}

struct scan {
    struct log_filter filter;
    char *op; // of the filter
    struct name_condition name;
    bool has_id;
    uint64_t id;
};

// A name of a call that is a pattern would match other calls, or not even itself.
static int add_text(struct scan *scan, enum condition condition, const char *text) {
    if (!text) return -ENOMEM;
    if (condition == IS_OP) {
        if (scan->op || strpbrk(text, "*?[\\")) return 0;
        scan->filter.op_glob = scan->op = strdup(text);
        return scan->op ? 0 : -ENOMEM;
    }
    if (scan->name.text) return 0;
    scan->name = (struct name_condition){condition, strdup(text)};
    scan->filter.file_passes = name_passes;
    scan->filter.file_context = &scan->name;
    return scan->name.text ? 0 : -ENOMEM;
}

// Adds one condition. A second one of the same kind, or a value of a strange type, is left to SQLite.
static int add_condition(struct scan *scan, enum condition condition, sqlite3_value *value) {
    struct log_filter *filter = &scan->filter;
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    int64_t number;
    switch (condition) {
    case IS_ID:
        scan->has_id = is_number(value, INT64_MAX, &number);
        scan->id = (uint64_t)number;
        return 0;
    case IS_RANK:
        if (!filter->has_rank) filter->has_rank = is_number(value, INT64_MAX, &filter->rank);
        return 0;
    case IS_PID:
        if (!filter->has_pid) filter->has_pid = is_number(value, UINT32_MAX, &number), filter->pid = (uint32_t)number;
        return 0;
    case IS_TID:
        if (!filter->has_tid) filter->has_tid = is_number(value, UINT32_MAX, &number), filter->tid = (uint32_t)number;
        return 0;
    case IS_SERVER:
        if (filter->has_server || !is_number(value, LOG_NO_SERVER - 1, &number)) return 0;
        filter->has_server = true;
        filter->server = (uint32_t)number;
        return 0;
    case IS_LAYER: return add_bits(filter, &filter->layers, bits_of(value, call_layer_find)), 0;
    case IS_CLASS: return add_bits(filter, &filter->classes, bits_of(value, call_class_find)), 0;
    case IS_FROM:
    case IS_TO:
    case IS_AT:
        if (!is_text) add_time(filter, condition, sqlite3_value_double(value));
        return 0;
    case IS_OP:
    case IS_FILE:
    case IS_FILE_LIKE:
    case IS_FILE_GLOB: return is_text ? add_text(scan, condition, (const char *)sqlite3_value_text(value)) : 0;
    }
    return 0;
}

// --- cursors

struct events_cursor {
    sqlite3_vtab_cursor base; // must be first
    struct sql *sql;
    struct log_iter *iter;
    const struct log_event *event, *end; // the current one, and the end of its batch; equal: no more
    unsigned batches;
    struct scan scan;
    enum scan_order order;
    size_t parts, part_at;              // that are scanned one after the other, and the next one; BY_START: one
    const struct log_process **process; // BY_RANK, BY_PID: the parts
    unsigned char named[LAYER_COUNT];   // BY_CLASS, BY_LAYER: the same
};
_Static_assert((int)CLASS_COUNT <= (int)LAYER_COUNT, "classes fit");

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    struct events_cursor *cursor = sqlite3_malloc(sizeof *cursor);
    if (!cursor) return SQLITE_NOMEM;
    *cursor = (struct events_cursor){.sql = ((struct sql_vtab *)vtab)->bound->sql, .scan.filter.below = true};
    *out = &cursor->base;
    return SQLITE_OK;
}

static void end_scan(struct events_cursor *cursor) {
    log_iter_close(cursor->iter);
    free(cursor->process);
    cursor->process = NULL;
    cursor->parts = cursor->part_at = 0;
    free(cursor->scan.op);
    free(cursor->scan.name.text);
    cursor->scan = (struct scan){.filter.below = true};
    cursor->iter = NULL;
    cursor->event = cursor->end = NULL;
    cursor->batches = 0;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
    end_scan((struct events_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

static int by_rank(const void *a, const void *b) {
    const struct log_process *left = *(const struct log_process *const *)a,
                             *right = *(const struct log_process *const *)b;
    if (left->has_rank != right->has_rank) return left->has_rank ? 1 : -1; // NULL comes first
    if (left->has_rank && left->rank != right->rank) return left->rank < right->rank ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

static int by_pid(const void *a, const void *b) {
    const struct log_process *left = *(const struct log_process *const *)a,
                             *right = *(const struct log_process *const *)b;
    if (left->pid != right->pid) return left->pid < right->pid ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

static int order_processes(struct events_cursor *cursor) {
    const struct log *log = sql_log(cursor->sql);
    cursor->parts = log_process_count(log);
    cursor->process = malloc((cursor->parts + 1) * sizeof(void *));
    RETURN_IF(!cursor->process, -ENOMEM);
    for (size_t i = 0; i < cursor->parts; i++) cursor->process[i] = log_process_at(log, i);
    qsort(cursor->process, cursor->parts, sizeof(void *), cursor->order == BY_RANK ? by_rank : by_pid);
    return 0;
}

// NULL comes first.
static int compare_names(const char *left, const char *right) { return strcmp(left ? left : "", right ? right : ""); }

static int by_class(const void *a, const void *b) {
    return compare_names(call_class_name(*(const unsigned char *)a), call_class_name(*(const unsigned char *)b));
}

static int by_layer(const void *a, const void *b) {
    return compare_names(call_layer_name(*(const unsigned char *)a), call_layer_name(*(const unsigned char *)b));
}

// Those that the log has calls of: a scan that finds nothing still takes its time.
static void order_names(struct events_cursor *cursor) {
    const struct log *log = sql_log(cursor->sql);
    bool is_class = cursor->order == BY_CLASS;
    unsigned chosen = is_class ? cursor->scan.filter.classes : cursor->scan.filter.layers, used = 0;
    for (uint32_t id = 0; id < log_call_ids(log); id++) {
        const struct log_call *call = log_call_find(log, id);
        if (call) used |= 1u << (is_class ? call->class : call->layer);
    }
    cursor->parts = 0;
    for (unsigned char i = 0; i < LAYER_COUNT; i++) {
        if ((chosen ? chosen & used : used) >> i & 1) cursor->named[cursor->parts++] = i;
    }
    qsort(cursor->named, cursor->parts, sizeof *cursor->named, is_class ? by_class : by_layer);
}

static int order_parts(struct events_cursor *cursor) {
    if (cursor->order == BY_RANK || cursor->order == BY_PID) return order_processes(cursor);
    cursor->parts = 1;
    if (cursor->order) order_names(cursor);
    return 0;
}

// Opens the scan of the next part. Returns 0 if there is none.
static int next_iter(struct events_cursor *cursor) {
    log_iter_close(cursor->iter);
    cursor->iter = NULL;
    cursor->batches = 0;
    if (cursor->part_at == cursor->parts) return 0;
    size_t part = cursor->part_at++;
    struct log_filter *filter = &cursor->scan.filter;
    if (cursor->process) filter->process = cursor->process[part];
    bool is_one = cursor->parts == 1; // the filter is as it should be, and reading without one is faster
    if (cursor->order == BY_CLASS && !is_one) filter->classes = 1u << cursor->named[part];
    if (cursor->order == BY_LAYER && !is_one) filter->layers = 1u << cursor->named[part];
    FORWARD(log_iter_open(&cursor->iter, sql_log(cursor->sql), filter));
    return 1;
}

static int next_batch(struct events_cursor *cursor) {
    int count = 0;
    do {
        if (sql_is_stopped(cursor->sql)) return -EINTR;
        if (++cursor->batches == BATCHES_BEFORE_THREAD) log_iter_read_ahead(cursor->iter);
        count = log_iter_next_batch(cursor->iter, &cursor->event);
    } while (count == 0 && (count = next_iter(cursor)) > 0);
    if (count <= 0) cursor->event = NULL;
    cursor->end = cursor->event ? cursor->event + count : NULL;
    return count;
}

// The one event with the id becomes the last of the scan.
static int find_id(struct events_cursor *cursor) {
    int count;
    while ((count = next_batch(cursor)) > 0) {
        while (cursor->event < cursor->end && cursor->event->id != cursor->scan.id) cursor->event++;
        if (cursor->event == cursor->end) continue;
        cursor->end = cursor->event + 1;
        return 1;
    }
    return count;
}

static int begin_scan(struct events_cursor *cursor, enum scan_order order, const char *plan, sqlite3_value **argv) {
    struct log *log = sql_log(cursor->sql);
    struct scan *scan = &cursor->scan;
    for (size_t i = 0; plan && plan[i]; i++) {
        bool is_null = sqlite3_value_type(argv[i]) == SQLITE_NULL && plan[i] != IS_LAYER && plan[i] != IS_CLASS;
        if (is_null) return 0; // nothing is equal to NULL, or less; a list looks like NULL
        FORWARD(add_condition(scan, (enum condition)plan[i], argv[i]));
    }
    if (scan->has_id) scan->filter.process = log_event_process(log, scan->id);
    if (scan->has_id && !scan->filter.process) return 0;
    cursor->order = scan->has_id ? BY_START : order;
    FORWARD(order_parts(cursor));
    int more = next_iter(cursor);
    if (more <= 0) return more;
    return scan->has_id ? find_id(cursor) : next_batch(cursor);
}

static int filter_events(sqlite3_vtab_cursor *base, int order, const char *plan, int argc, sqlite3_value **argv) {
    struct events_cursor *cursor = (struct events_cursor *)base;
    (void)argc;
    end_scan(cursor);
    return sql_error(base->pVtab, begin_scan(cursor, (enum scan_order)order, plan, argv));
}

static int next(sqlite3_vtab_cursor *base) {
    struct events_cursor *cursor = (struct events_cursor *)base;
    if (++cursor->event < cursor->end || cursor->scan.has_id) return SQLITE_OK;
    return sql_error(base->pVtab, next_batch(cursor));
}

static int is_at_end(sqlite3_vtab_cursor *base) {
    const struct events_cursor *cursor = (struct events_cursor *)base;
    return cursor->event == cursor->end;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id) {
    *id = (sqlite3_int64)((struct events_cursor *)base)->event->id;
    return SQLITE_OK;
}

// --- cells

static struct sql_value attribute(const struct log_event *event, enum event_attribute id) {
    if (!(event->raw.attribute_mask & 1u << id)) return SQL_NULL_VALUE;
    return sql_number(event->raw.attribute[id]);
}

// Of columns that few statements use.
static struct sql_value rare_value(const struct log_event *event, enum event_column column) {
    switch (column) {
    case EVENT_ROW_ERROR: return sql_text(event->raw.error ? describe_error(event) : NULL);
    case EVENT_ROW_CALL_TIME: return sql_if(event->call->traits & CALL_ASYNC, sql_seconds(log_event_call_ns(event)));
    case EVENT_ROW_COLLECTIVE:
        return sql_if(log_event_knows_collective(event), sql_integer(log_event_is_collective(event)));
    case EVENT_ROW_LINE: return sql_text(event->line);
    case EVENT_ROW_OBJECT: return sql_text(event->file ? event->file->object : NULL);
    case EVENT_ROW_VIA: return sql_text(describe_event_via(event));
    case EVENT_ROW_SERVER: return attribute(event, ATTRIBUTE_SERVER);
    case EVENT_ROW_HANDLE: return sql_if(event->raw.handle, sql_number(event->raw.handle));
    case EVENT_ROW_FILE2: return sql_text(event->file2 ? event->file2->name : NULL);
    case EVENT_ROW_FLAGS: return attribute(event, ATTRIBUTE_FLAGS);
    case EVENT_ROW_MODE: return attribute(event, ATTRIBUTE_MODE);
    case EVENT_ROW_FD: return attribute(event, ATTRIBUTE_FD);
    case EVENT_ROW_VIEW_OFFSET: return attribute(event, ATTRIBUTE_VIEW_OFFSET);
    default: return SQL_NULL_VALUE;
    }
}

static struct sql_value value_of(const struct log_event *event, enum event_column column) {
    const struct log_event_raw *raw = &event->raw;
    const struct log_process *process = event->process;
    switch (column) {
    case EVENT_ROW_ID: return sql_number(event->id);
    case EVENT_ROW_PARENT: return sql_if(event->has_parent, sql_number(event->parent));
    case EVENT_ROW_RANK: return sql_if(process->has_rank, sql_integer(process->rank));
    case EVENT_ROW_PID: return sql_if(process->pid, sql_integer(process->pid));
    case EVENT_ROW_TID: return sql_if(raw->tid, sql_integer(raw->tid));
    case EVENT_ROW_HOST: return sql_text(process->host);
    case EVENT_ROW_LAYER: return sql_text(call_layer_name(event->call->layer));
    case EVENT_ROW_OP: return sql_text(event->call->name);
    case EVENT_ROW_CLASS: return sql_text(call_class_name(event->call->class));
    case EVENT_ROW_FILE: return sql_text(event->file ? event->file->name : NULL);
    case EVENT_ROW_OFFSET: return sql_if(raw->has_offset, sql_number(raw->offset));
    case EVENT_ROW_SIZE: return sql_if(event->call->traits & CALL_HAS_SIZE, sql_number(raw->size));
    case EVENT_ROW_RESULT: return sql_if(raw->has_result, sql_integer(raw->result));
    case EVENT_ROW_ERRNO: return sql_integer(raw->error ? log_event_errno(event) : 0);
    case EVENT_ROW_TICK: return sql_if(log_event_has_tick(event), sql_number(raw->tick));
    case EVENT_ROW_START: return sql_seconds(event->start_ns);
    case EVENT_ROW_DURATION: return sql_seconds(event->duration_ns);
    default: return rare_value(event, column);
    }
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
    const struct sql_value value = value_of(((struct events_cursor *)base)->event, (enum event_column)number);
    sql_result(context, &value);
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = sql_connect,
    .xBestIndex = best_index,
    .xDisconnect = sql_disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter_events,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = column,
    .xRowid = row_id,
};

const struct sql_table sql_table_events = {
    .about = {"events", "each recorded call, in the order of their starts", columns},
    .module = &module,
};
