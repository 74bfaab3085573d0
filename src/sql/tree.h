// Events with their places in the tree of calls (summary/stack.h), for tables that need them: read in the order of
// their starts, with memory for the calls in progress only.
#pragma once

#include "log/iter.h"
#include "sql/table.h"
#include "summary/stack.h"

struct tree_scan {
    struct sql *sql;
    struct log_iter *iter; // NULL: nothing is read
    struct summary_stack stack;
    const struct log_event *event, *end; // the current one, and the end of its batch
    unsigned batches;
};

// Conditions on rank and pid leave out processes. Those in `also` are for tables of events, where others than the
// events that are asked for do not matter: 'l' layer, which can leave out calls below the system call, and '<' start.
int tree_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info, const char *also);
int tree_begin(struct tree_scan *scan, struct sql_bound *bound, const char *plan, sqlite3_value **argv);
int tree_next(struct tree_scan *scan); // 1: the next event is there and in the tree; 0: there is none
void tree_end(struct tree_scan *scan);
void tree_free(struct sql_bound *bound);
