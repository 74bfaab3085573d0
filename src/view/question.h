// The questions of IOPro (query/query.h), as statements of SQL for the page to run.
#pragma once

#include "view/statements.h"

// The answer is {sql, chart, stacked, unit, note} or, with ERR_USAGE, {error, at}.
int view_question(const struct log *log, const char *text, struct view_answer *answer);
