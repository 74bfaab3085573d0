#include "summary/file_rows.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"

static const enum counter counter_of[FILE_COLUMNS] = {
    [COLUMN_OPENS] = COUNTER_OPENS,
    [COLUMN_READS] = COUNTER_READS,
    [COLUMN_WRITES] = COUNTER_WRITES,
    [COLUMN_BYTES_READ] = COUNTER_BYTES_READ,
    [COLUMN_BYTES_WRITTEN] = COUNTER_BYTES_WRITTEN,
    [COLUMN_READ_TIME] = COUNTER_READ_TIME,
    [COLUMN_WRITE_TIME] = COUNTER_WRITE_TIME,
    [COLUMN_META_TIME] = COUNTER_META_TIME,
};

// --- names

void file_rows_pattern(char *name) {
    char *to = name;
    for (const char *from = name; *from; from++) {
        bool is_digit = isdigit((unsigned char)*from);
        if (is_digit && to > name && to[-1] == '*') continue;
        *to++ = is_digit ? '*' : *from;
    }
    *to = 0;
}

static void make_directory(char *name) {
    char *slash = strrchr(name, '/');
    if (slash) slash[slash == name] = 0;
}

// Of an object, "FILE:OBJECT".
static int whole_name(struct file_rows *rows, const struct log_file *file, const char **name) {
    *name = file ? file->name : NULL;
    if (!file || !file->object) return 0;
    size_t room = strlen(file->name) + strlen(file->object) + 2;
    char *text = arena_alloc(&rows->texts, room);
    RETURN_IF(!text, -ENOMEM);
    snprintf(text, room, "%s:%s", file->name, file->object);
    *name = text;
    return 0;
}

static int group_name(struct file_rows *rows, const char *name, enum file_grouping grouping, const char **group) {
    *group = name;
    if (!name || grouping == GROUP_NONE) return 0;
    char *text = arena_text(&rows->texts, name);
    RETURN_IF(!text, -ENOMEM);
    (grouping == GROUP_PATTERN ? file_rows_pattern : make_directory)(text);
    *group = text;
    return 0;
}

// --- rows

struct making {
    struct file_rows *rows;
    struct log *log;
    bool per_rank;
    enum file_grouping grouping;
    uint16_t *counted; // by file: bit n, it was counted in layer n
};
_Static_assert(LAYER_COUNT <= 16, "a layer has a bit");

static bool is_first(const struct making *making, const struct log_stats_record *record) {
    if (!record->file) return true;
    uint16_t *counted = &making->counted[log_file_index(making->log, record->file)], layer = 1u << record->layer;
    bool is_first = !(*counted & layer);
    *counted |= layer;
    return is_first;
}

static int describe(const struct making *making, const struct log_stats_record *record, const char **who) {
    char text[96] = "";
    size_t used = 0;
    if (!record->has_rank && log_world_count(making->log)) used = (size_t)snprintf(text, sizeof text, "  (no rank)");
    if (record->has_rank && !record->is_reduced)
        used = (size_t)snprintf(text, sizeof text, "  (rank %" PRId64 ")", record->rank);
    if (making->per_rank && record->process)
        snprintf(text + used, sizeof text - used, "  (pid %" PRIu32 ")", record->process->pid);
    *who = text[0] ? arena_text(&making->rows->texts, text) : "";
    return *who ? 0 : -ENOMEM;
}

static int add_record(const struct log_stats_record *record, void *context) {
    const struct making *making = context;
    struct file_row row = {.layer = record->layer, .files = is_first(making, record), .who = ""};
    const char *name;
    FORWARD(whole_name(making->rows, record->file, &name));
    FORWARD(group_name(making->rows, name, making->grouping, &row.name));
    if (making->grouping == GROUP_NONE) {
        FORWARD(describe(making, record, &row.who));
        row.has_rank = record->has_rank;
        row.rank = record->rank;
        row.process = record->process;
    }
    for (unsigned i = 0; i < FILE_COLUMNS; i++) row.value[i] = record->counters.value[counter_of[i]];
    return array_push(making->rows->row, making->rows->count, row);
}

static void add_values(struct file_row *to, const struct file_row *more) {
    to->files += more->files;
    for (unsigned i = 0; i < FILE_COLUMNS; i++) to->value[i] += more->value[i];
}

static int compare_names(const struct file_row *a, const struct file_row *b) {
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    if (!a->name || !b->name) return (a->name != NULL) - (b->name != NULL);
    return strcmp(a->name, b->name);
}

static int by_name(const void *a, const void *b, void *context) {
    (void)context;
    return compare_names(a, b);
}

static void join_groups(struct file_rows *rows) {
    size_t kept = 0;
    if (rows->count) qsort_r(rows->row, rows->count, sizeof *rows->row, by_name, NULL);
    for (size_t i = 0; i < rows->count; i++) {
        if (kept && compare_names(&rows->row[kept - 1], &rows->row[i]) == 0)
            add_values(&rows->row[kept - 1], &rows->row[i]);
        else
            rows->row[kept++] = rows->row[i];
    }
    rows->count = kept;
}

int file_rows_make(struct file_rows *rows, struct log *log, bool per_rank, enum file_grouping grouping) {
    SCOPED_FREE uint16_t *counted = calloc(log_file_count(log) + 1, sizeof *counted);
    struct making making = {rows, log, per_rank, grouping, counted};
    *rows = (struct file_rows){0};
    RETURN_IF(!counted, -ENOMEM);
    int code = log_reduce(log, NULL, per_rank, add_record, &making);
    if (code < 0)
        file_rows_free(rows);
    else if (grouping != GROUP_NONE)
        join_groups(rows);
    return code;
}

void file_rows_free(struct file_rows *rows) {
    free(rows->row);
    arena_free(&rows->texts);
    *rows = (struct file_rows){0};
}

// --- order and totals

// Which columns a key adds up; "name" none.
static const struct sort_key {
    const char *name;
    unsigned columns; // bit n: enum file_column n
} keys[] = {
    {"name", 0},
    {"opens", 1u << COLUMN_OPENS},
    {"reads", 1u << COLUMN_READS},
    {"writes", 1u << COLUMN_WRITES},
    {"read", 1u << COLUMN_BYTES_READ},
    {"written", 1u << COLUMN_BYTES_WRITTEN},
    {"bytes", 1u << COLUMN_BYTES_READ | 1u << COLUMN_BYTES_WRITTEN},
    {"time", 1u << COLUMN_READ_TIME | 1u << COLUMN_WRITE_TIME | 1u << COLUMN_META_TIME},
};

static const struct sort_key *find_key(const char *name) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!strcmp(keys[i].name, name)) return &keys[i];
    }
    return NULL;
}

static uint64_t key_of(const struct file_row *row, const struct sort_key *key) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < FILE_COLUMNS; i++) sum += key->columns >> i & 1 ? row->value[i] : 0;
    return sum;
}

static int by_key(const void *a, const void *b, void *context) {
    const struct file_row *left = a, *right = b;
    uint64_t one = key_of(left, context), other = key_of(right, context);
    if (left->layer == right->layer && one != other) return one > other ? -1 : 1;
    int order = compare_names(left, right);
    return order ? order : strcmp(left->who, right->who);
}

int file_rows_sort(struct file_rows *rows, const char *key) {
    const struct sort_key *found = find_key(key);
    RETURN_IF(!found, ERR_NOTHING);
    if (rows->count) qsort_r(rows->row, rows->count, sizeof *rows->row, by_key, (void *)found);
    return 0;
}

size_t file_rows_layer_end(const struct file_rows *rows, size_t first) {
    size_t end = first;
    while (end < rows->count && rows->row[end].layer == rows->row[first].layer) end++;
    return end;
}

struct file_row file_rows_total(const struct file_rows *rows, size_t first, size_t end) {
    struct file_row total = {.layer = first < end ? rows->row[first].layer : 0, .who = ""};
    for (size_t i = first; i < end; i++) add_values(&total, &rows->row[i]);
    return total;
}
