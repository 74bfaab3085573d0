// A question in IOPro's language (query/query.h) as a statement of SQL.
#pragma once

#include "cli/argument.h"
#include "query/query.h"

// The words of the question, joined by blanks. Prints what is wrong with it, with a mark under the wrong word.
enum status query_ask(struct query_statement *statement, const struct log *log, int count, char **words);
