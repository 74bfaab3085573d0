// Tables for people: rows are filled cell by cell, and the printed columns are as wide as their cells need.
//
//     static const struct table_column columns[] = {{"FILE SYSTEM", TABLE_TEXT}, {"SIZE", TABLE_UNIT}, {0}};
//     struct table table = table_begin(out, columns);
//     table_text(&table, "ext4"), table_bytes(&table, 4096), table_row(&table);
//     code = table_end(&table);
//
// Control characters in cells are printed as escapes. The table keeps the first error, and table_end returns it.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/human.h"

enum table_kind {
    TABLE_TEXT,   // left-aligned; in the last column of a table that is too wide for the terminal, in several lines
    TABLE_NUMBER, // right-aligned
    TABLE_UNIT,   // a number, a space and a unit: numbers end, and units begin, in the same place
    TABLE_NAME,   // left-aligned; a terminal that is too narrow gets long names without their middle
};

struct table_column {
    const char *header; // NULL ends the list
    enum table_kind kind;
};

struct table {
    FILE *out;
    const struct table_column *column;
    size_t columns;
    unsigned indent;
    unsigned terminal_width; // 0 if `out` is not a terminal: nothing is cut
    const unsigned *width;   // per column, if rows are printed at once; NULL: computed from the cells
    size_t rows_at_once;     // table_flush after so many; 0: never
    bool has_header;         // the header is printed already, or not wanted
    int error;               // 0 or -errno
    struct bytes text;       // of all cells, each ends with a 0
    size_t *cell;            // where each begins in `text`; rows x columns
    size_t cells;
    unsigned *least; // widths of the rows that table_flush printed; NULL: none
};

struct table table_begin(FILE *out, const struct table_column *columns);
// For tables that do not fit in memory: prints each row when it ends. A cell wider than `width` shifts the rest of its
// row. A terminal gets many rows at once.
struct table table_begin_stream(FILE *out, const struct table_column *columns, const unsigned *width);

// Each of these fills the next cell of the row.
void table_text(struct table *t, const char *text); // NULL is "-"
void table_printf(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_number(struct table *t, uint64_t value);
void table_number_if(struct table *t, bool known, uint64_t value); // "-" if it is unknown
void table_count(struct table *t, uint64_t count);                 // "12,345"
void table_bytes(struct table *t, uint64_t bytes);                 // "1.5 MiB"
void table_bandwidth(struct table *t, double bytes_per_second);    // "1.5 MiB/s"
void table_duration(struct table *t, int64_t ns);                  // "1.234 s"
void table_seconds(struct table *t, int64_t ns);                   // "0.123456789"
void table_percent(struct table *t, double fraction);              // "99.7 %"

// Adds to the cell that was filled last.
void table_append(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Ends the row; cells that were not filled are empty.
void table_row(struct table *t);

// Prints the rows so far, so that a table of any length needs little memory. Columns do not become narrower later.
void table_flush(struct table *t);

// Prints what is left and frees. A table without rows prints its header. Returns 0 or the first error.
int table_end(struct table *t);
