// Answers of a catalogue as tables and CSV. For JSON there is catalogue/answer.h.
#pragma once

#include "catalogue/ask.h"
#include "cli/output.h"
#include "cli/query_print.h"

struct jobs_printer {
    enum query_format format;
    struct output *output;
    struct catalogue *catalogue;
    struct problem *problem;
    bool has_findings; // each row is a job, and its findings are told
    size_t rows;
    struct query_printer csv;
    struct table table;
    struct table_column head[32];
};

// One list: jobs_print_begin, jobs_print_row for each row, jobs_print_end.
int jobs_print_begin(struct jobs_printer *printer, const struct answer_column *column);
int jobs_print_row(void *printer, const struct answer_column *column, const struct store_value *value, size_t count);
int jobs_print_end(struct jobs_printer *printer, int code);

// Everything that --statistics tells, as tables.
int jobs_print_statistics(struct jobs_printer *printer, const struct ask *ask);
