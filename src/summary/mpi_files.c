#include "summary/mpi_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"
#include "base/json_keys.h"
#include "base/mix.h"
#include "log/describe.h"
#include "summary/mpi_text.h"

enum { SHORT_LIST = 3, LONG_LIST = 100 };

// --- gathering

static uint64_t hash_of(const struct info_mpi_row *row)
{
    uint64_t hash = mix((uint64_t)row->kind + 1, (uint64_t)(uintptr_t)row->file);
    hash = mix(mix(hash, row->number), row->comm_size);
    return mix(mix(hash, (uint64_t)(uintptr_t)row->first), (uint64_t)(uintptr_t)row->second);
}

static bool are_alike(const struct info_mpi_row *one, const struct info_mpi_row *other)
{
    return one->file == other->file && one->kind == other->kind && one->number == other->number &&
           one->comm_size == other->comm_size && one->first == other->first && one->second == other->second;
}

static int add(struct info_mpi *mpi, struct info_mpi_row row)
{
    uint64_t key = hash_of(&row);
    uint32_t at;
    for (; (at = lookup_find(&mpi->by_hash, key)) != LOOKUP_NONE; key++) {
        if (!are_alike(&mpi->row[at], &row)) continue;
        mpi->row[at].count++;
        return 0;
    }
    RETURN_IF(mpi->count >= LOOKUP_NONE, ERR_LIMIT);
    FORWARD(grow(&mpi->row, &mpi->capacity, mpi->count, sizeof *mpi->row));
    row.count = 1;
    row.order = mpi->count;
    mpi->row[mpi->count] = row;
    return lookup_set(&mpi->by_hash, key, (uint32_t)mpi->count++);
}

static bool has_attribute(const struct log_event *event, enum event_attribute attribute)
{
    return event->raw.attribute_mask & 1u << attribute;
}

int info_mpi_take(struct info_mpi *mpi, const struct log_event *event)
{
    const struct stream_event *raw = &event->raw;
    if (event->call->layer != LAYER_MPIIO || !raw->attribute_mask || !event->file || raw->error) return 0;
    if (event->call->class == CLASS_OPEN && has_attribute(event, ATTRIBUTE_FLAGS)) {
        uint64_t comm_size = has_attribute(event, ATTRIBUTE_COMM_SIZE) ? raw->attribute[ATTRIBUTE_COMM_SIZE] : 0;
        FORWARD(add(mpi, (struct info_mpi_row){.file = event->file,
                                               .kind = INFO_ACCESS,
                                               .number = raw->attribute[ATTRIBUTE_FLAGS],
                                               .comm_size = comm_size}));
    }
    if (event->hints) {
        FORWARD(add(mpi, (struct info_mpi_row){.file = event->file,
                                               .kind = INFO_HINTS,
                                               .number = has_attribute(event, ATTRIBUTE_HINTS),
                                               .first = event->hints}));
    }
    if (event->etype || event->filetype) {
        FORWARD(add(mpi, (struct info_mpi_row){.file = event->file,
                                               .kind = INFO_VIEW,
                                               .number = raw->offset,
                                               .first = event->etype,
                                               .second = event->filetype}));
    }
    return 0;
}

// Files lie in one table: their addresses are their order.
static int compare_rows(const void *a, const void *b)
{
    const struct info_mpi_row *left = a, *right = b;
    if (left->file != right->file) return left->file < right->file ? -1 : 1;
    if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
    return left->order < right->order ? -1 : 1;
}

void info_mpi_sort(struct info_mpi *mpi)
{
    if (mpi->count > 1) qsort(mpi->row, mpi->count, sizeof *mpi->row, compare_rows);
}

void info_mpi_free(struct info_mpi *mpi)
{
    free(mpi->row);
    lookup_free(&mpi->by_hash);
}

// --- printing

// The rows of a file and kind.
struct rows {
    const struct info_mpi_row *row;
    size_t count;
};

static bool comes_before(const struct info_mpi_row *row, const struct log_file *file, enum info_mpi_kind kind)
{
    return row->file != file ? row->file < file : row->kind < kind;
}

static struct rows rows_of(const struct info_mpi *mpi, const struct log_file *file, enum info_mpi_kind kind)
{
    size_t from = 0, to = mpi->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (comes_before(&mpi->row[middle], file, kind)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    struct rows rows = {.row = mpi->count ? mpi->row + from : NULL};
    while (from + rows.count < mpi->count && rows.row[rows.count].file == file && rows.row[rows.count].kind == kind) {
        rows.count++;
    }
    return rows;
}

bool info_mpi_has(const struct info_mpi *mpi, const struct log_file *file)
{
    return rows_of(mpi, file, INFO_ACCESS).count > 0;
}

static void json_row(struct json_out *json, struct log *log, const struct info_mpi_row *row)
{
    json_object(json);
    switch (row->kind) {
    case INFO_ACCESS:
        key_text(json, "amode", mpi_text_amode(row->number).text);
        key_number(json, "comm_size", row->comm_size);
        break;
    case INFO_HINTS:
        json_key(json, "hints");
        mpi_json_hints(json, row->first, row->number);
        break;
    case INFO_VIEW:
        json_key(json, "view");
        mpi_json_view(json, log, row->number, row->first, row->second);
        break;
    }
    key_number(json, "count", row->count);
    json_close(json);
}

void info_mpi_json(const struct info_mpi *mpi, struct json_out *json, struct log *log, const struct log_file *file)
{
    static const char *const keys[] = {[INFO_ACCESS] = "access", [INFO_HINTS] = "hints", [INFO_VIEW] = "views"};
    if (!info_mpi_has(mpi, file)) {
        json_null(json);
        return;
    }
    json_object(json);
    for (enum info_mpi_kind kind = INFO_ACCESS; kind <= INFO_VIEW; kind++) {
        struct rows rows = rows_of(mpi, file, kind);
        json_key(json, keys[kind]);
        json_array(json);
        for (size_t i = 0; i < rows.count && i < LONG_LIST; i++) json_row(json, log, &rows.row[i]);
        json_close(json);
    }
    key_number(json, "view_count", rows_of(mpi, file, INFO_VIEW).count);
    json_close(json);
}

static void text_hint_list(FILE *out, const char *title, const struct log_hint_list *list)
{
    enum { WIDTH = 100 };
    size_t column = WIDTH;
    for (size_t i = 0; i < list->count; i++) {
        const struct log_hint *hint = &list->hint[i];
        size_t len = strlen(hint->name) + strlen(hint->value) + sizeof "=, ";
        bool is_new_line = column + len > WIDTH;
        if (is_new_line) fprintf(out, "%s    %-9s", i ? ",\n" : "", i ? "" : title);
        if (!is_new_line) fputs(", ", out);
        human_print_name(out, hint->name);
        fputc('=', out);
        human_print_name(out, hint->value);
        column = is_new_line ? len : column + len;
    }
    if (list->count) fputc('\n', out);
}

static void text_hints(FILE *out, const struct log_hints *hints, const struct log_hints **shown)
{
    if (hints == *shown) {
        fputs("    hints    as above\n", out);
    } else {
        text_hint_list(out, "asked", &hints->asked);
        text_hint_list(out, "in force", &hints->in_force);
        *shown = hints;
    }
}

static void text_row(FILE *out, struct log *log, const struct info_mpi_row *row, const struct log_hints **shown)
{
    switch (row->kind) {
    case INFO_ACCESS:
        fprintf(out, "    opened   %s by %s%s, %s\n", mpi_text_amode(row->number).text,
                human_count(row->comm_size, "process").text, row->comm_size > 1 ? " together" : "",
                human_count(row->count, "call").text);
        break;
    case INFO_HINTS: text_hints(out, row->first, shown); break;
    case INFO_VIEW:
        fprintf(out, "    view     from %" PRIu64 " of ", row->number);
        human_print_name(out, mpi_text_datatype(log, row->first).text);
        fputs(": ", out);
        human_print_name(out, mpi_text_datatype(log, row->second).text);
        fprintf(out, ", %s\n", human_count(row->count, "call").text);
        break;
    }
}

void info_mpi_text(const struct info_mpi *mpi, struct log *log, const struct log_file *file, bool all, FILE *out,
                   const struct log_hints **shown)
{
    static const char *const nouns[] = {[INFO_ACCESS] = "way", [INFO_HINTS] = "set", [INFO_VIEW] = "view"};
    fputs("  ", out);
    human_print_name(out, file->name);
    fputc('\n', out);
    for (enum info_mpi_kind kind = INFO_ACCESS; kind <= INFO_VIEW; kind++) {
        struct rows rows = rows_of(mpi, file, kind);
        size_t some = all || rows.count < SHORT_LIST ? rows.count : SHORT_LIST;
        for (size_t i = 0; i < some; i++) text_row(out, log, &rows.row[i], shown);
        if (some < rows.count) fprintf(out, "    ... and %s more\n", human_count(rows.count - some, nouns[kind]).text);
    }
}
