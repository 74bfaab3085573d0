// Statements of SQL that pages send to one log. One statement runs at a time. A newer one of the same page ends the one
// before: its reader no longer waits for it. A statement of another page waits for its turn. A statement also ends when
// its client has gone, when its time is over, and when its result is large enough.
#pragma once

#include "summary/summary.h"

struct view_answer {
    char *text; // from malloc
    size_t len;
};

struct view_asker {
    uint64_t page; // a number that the page has chosen
    int socket;    // of its connection
};

struct view_statements;

// Makes the answer {error, at}; at < 0: the place is not known. Returns the code.
int view_failure(struct view_answer *answer, int code, const char *why, int at);

// The source must stay open. Nothing frees it: it lives until the process ends. 0 or -errno.
int view_statements_new(struct view_statements **statements, const struct summary_source *source);
// The answer is {columns, rows, cut, seconds} or, with a negative code, {error, at}. The codes: ERR_USAGE for a wrong
// statement, ERR_LIMIT for one that needs too much, -EINTR if it was ended, -EBUSY if its turn did not come.
int view_statements_run(struct view_statements *statements, const char *statement, const struct view_asker *asker,
                        struct view_answer *answer);
