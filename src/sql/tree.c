#include "sql/tree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES_BEFORE_THREAD = 16 }; // small scans are over before a thread has started

static const struct rule {
    const char *column;
    unsigned char op;
    char letter;
    double part; // of the rows, roughly
} rules[] = {
    {"rank", SQLITE_INDEX_CONSTRAINT_EQ, 'r', 0.05}, {"pid", SQLITE_INDEX_CONSTRAINT_EQ, 'p', 0.05},
    {"layer", SQLITE_INDEX_CONSTRAINT_EQ, 'l', 0.5}, {"start", SQLITE_INDEX_CONSTRAINT_LT, '<', 0.5},
    {"start", SQLITE_INDEX_CONSTRAINT_LE, '<', 0.5},
};

static const struct rule *rule_of(const struct sql_column *columns, sqlite3_index_info *info, int i) {
    const struct sqlite3_index_constraint *given = &info->aConstraint[i];
    if (!given->usable || given->iColumn < 0) return NULL;
    const struct sql_column *column = &columns[given->iColumn];
    if (column->type == SQL_TEXT && sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY")) return NULL;
    for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++) {
        if (rules[k].op == given->op && !strcmp(rules[k].column, column->name)) return &rules[k];
    }
    return NULL;
}

int tree_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info, const char *also) {
    const struct sql_bound *bound = ((struct sql_vtab *)vtab)->bound;
    const struct log *log = sql_log(bound->sql);
    double rows = (double)(log_events(log) + log_events_below(log)) + 1, cost = rows;
    sqlite3_str *plan = sqlite3_str_new(NULL);
    int arguments = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct rule *rule = rule_of(bound->table->about.column, info, i);
        if (!rule || !(strchr("rp", rule->letter) || strchr(also, rule->letter))) continue;
        info->aConstraintUsage[i].argvIndex = ++arguments;
        sqlite3_str_appendchar(plan, 1, rule->letter);
        rows *= rule->part;
        cost *= rule->part;
    }
    info->idxStr = sqlite3_str_finish(plan);
    if (!info->idxStr && arguments) return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)rows + 1;
    info->estimatedCost = cost * 1000 + 100000; // the tree is made anew for each scan
    return SQLITE_OK;
}

// SQLite checks every condition again, so one that is not understood is left to it.
static void add_condition(struct log_filter *filter, char letter, sqlite3_value *value) {
    int type = sqlite3_value_type(value);
    int64_t number = sqlite3_value_int64(value);
    switch (letter) {
    case 'r':
        if (type != SQLITE_INTEGER || filter->has_rank) break;
        filter->has_rank = true;
        filter->rank = number;
        break;
    case 'p':
        if (type != SQLITE_INTEGER || number < 0 || number > UINT32_MAX || filter->has_pid) break;
        filter->has_pid = true;
        filter->pid = (uint32_t)number;
        break;
    case 'l': {
        int layer = type == SQLITE_TEXT ? call_layer_find((const char *)sqlite3_value_text(value)) : LAYER_CLIENT;
        if (layer < 0 || !call_layer_is_below((unsigned)layer)) filter->below = false;
        break;
    }
    default:
        if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || filter->has_to) break;
        filter->has_to = true; // in whole nanoseconds, and one more: doubles are not exact
        filter->to_ns = (int64_t)ceil(fmin(fmax(sqlite3_value_double(value), -1) * 1e9, 9e18)) + 1;
        break;
    }
}

static int find_mpiio(struct sql_bound *bound, struct log *log) {
    bool *has_mpiio;
    int code = stack_find_mpiio(log, &has_mpiio);
    if (code < 0)
        free(has_mpiio);
    else
        bound->data = has_mpiio;
    return code;
}

int tree_begin(struct tree_scan *scan, struct sql_bound *bound, const char *plan, sqlite3_value **argv) {
    struct log *log = sql_log(bound->sql);
    struct log_filter filter = {.below = true};
    *scan = (struct tree_scan){.sql = bound->sql};
    for (size_t i = 0; plan && plan[i]; i++) {
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL) return 0; // nothing is equal to NULL, or less
        add_condition(&filter, plan[i], argv[i]);
    }
    if (!bound->data) FORWARD(find_mpiio(bound, log));
    FORWARD(stack_begin_numbered(&scan->stack, log, bound->data));
    return log_iter_open(&scan->iter, log, &filter);
}

int tree_next(struct tree_scan *scan) {
    if (scan->event) scan->event++;
    if (scan->event == scan->end) {
        if (!scan->iter) return 0;
        if (sql_is_stopped(scan->sql)) return -EINTR;
        if (++scan->batches == BATCHES_BEFORE_THREAD) log_iter_read_ahead(scan->iter);
        int count = log_iter_next_batch(scan->iter, &scan->event);
        scan->end = scan->event + (count > 0 ? count : 0);
        if (count <= 0) scan->event = scan->end = NULL;
        if (count <= 0) return count;
    }
    FORWARD(stack_add(&scan->stack, scan->event));
    return 1;
}

void tree_end(struct tree_scan *scan) {
    log_iter_close(scan->iter);
    stack_free(&scan->stack);
    *scan = (struct tree_scan){0};
}

void tree_free(struct sql_bound *bound) { free(bound->data); }
