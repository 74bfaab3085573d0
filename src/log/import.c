#include "log/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/glob.h"
#include "base/varint.h"
#include "log/private.h"

const struct log_import *log_import(const struct log *log) { return log->is_import ? &log->import : NULL; }

// --- what it was made from

static int parse_mounts(struct log *log, struct fields_in body, struct darshan_job *job) {
    struct darshan_mount *mounts;
    struct field field;
    FORWARD(arena_array(&log->arena, mounts, log_count_fields(body, IMPORT_MOUNT)));
    job->mounts = mounts;
    while (fields_next(&body, &field) > 0) {
        const char *point;
        if (field.key != IMPORT_MOUNT || !field.is_bytes) continue;
        FORWARD(log_parse_text(log, &field, &point));
        // Path, a zero byte, type. The copy has one more zero byte at its end.
        size_t len = strlen(point);
        mounts[job->mount_count++] = (struct darshan_mount){point, len < field.len ? point + len + 1 : ""};
    }
    return 0;
}

static int parse_modules(struct log *log, struct fields_in body, struct log_import *import) {
    struct darshan_part *modules;
    struct field field;
    FORWARD(arena_array(&log->arena, modules, log_count_fields(body, IMPORT_MODULE)));
    import->modules = modules;
    while (fields_next(&body, &field) > 0) {
        if (field.key != IMPORT_MODULE || !field.is_bytes) continue;
        FORWARD(darshan_get_part(&modules[import->module_count], field.data, field.len));
        import->module_count++;
    }
    return 0;
}

int log_parse_import(struct log *log, struct fields_in body) {
    struct field f[IMPORT_MODULE + 1];
    FORWARD(fields_by_key(body, f, IMPORT_MODULE + 1));
    struct log_import import = {
        .program = "",
        .version = "",
        .codec = (unsigned)f[IMPORT_CODEC].number,
        .is_swapped = f[IMPORT_SWAPPED].number,
        .job = {.user = varint_unfold(f[IMPORT_USER].number),
                .start_s = varint_unfold(f[IMPORT_START_S].number),
                .start_ns = varint_unfold(f[IMPORT_START_NS].number),
                .end_s = varint_unfold(f[IMPORT_END_S].number),
                .end_ns = varint_unfold(f[IMPORT_END_NS].number),
                .processes = varint_unfold(f[IMPORT_PROCESSES].number),
                .id = varint_unfold(f[IMPORT_JOB].number),
                .metadata = "",
                .command = ""},
        .job_bytes = f[IMPORT_JOB_BYTES].number,
        .names_bytes = f[IMPORT_NAMES_BYTES].number,
    };
    FORWARD(log_parse_text(log, &f[IMPORT_PROGRAM], &import.program));
    FORWARD(log_parse_text(log, &f[IMPORT_VERSION], &import.version));
    FORWARD(log_parse_text(log, &f[IMPORT_METADATA], &import.job.metadata));
    FORWARD(log_parse_text(log, &f[IMPORT_COMMAND], &import.job.command));
    FORWARD(parse_mounts(log, body, &import.job));
    FORWARD(parse_modules(log, body, &import));
    log->import = import;
    log->is_import = true;
    return 0;
}

// --- its records

int log_parse_imported(struct log *log, struct fields_in body) {
    struct field f[IMPORTED_FILE + 1];
    FORWARD(fields_by_key(body, f, IMPORTED_FILE + 1));
    struct imported_row row = {
        .module = (unsigned)f[IMPORTED_MODULE].number,
        .number = (uint32_t)log->imported.count,
        .file = (uint32_t)f[IMPORTED_FILE].number,
        .rank = varint_unfold(f[IMPORTED_RANK].number),
        .len = (size_t)(body.end - body.at),
    };
    row.body = arena_copy(&log->arena, body.at, row.len);
    RETURN_IF(!row.body, -ENOMEM);
    return log_put_row(&log->imported, NULL, 0, &row, sizeof row);
}

static int compare_modules(const void *a, const void *b) {
    const struct imported_row *left = a, *right = b;
    if (left->module != right->module) return left->module < right->module ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

void log_sort_imported(struct log *log) {
    if (log->imported.count > 1)
        qsort(log->imported.item, log->imported.count, sizeof(struct imported_row), compare_modules);
}

size_t log_imported_count(const struct log *log) { return log->imported.count; }

static int read_row(struct log *log, const struct imported_row *row, struct log_imported *imported) {
    struct darshan_stored stored;
    const struct fields_in body = {.at = row->body, .end = row->body + row->len};
    FORWARD(darshan_get_stored(body, &imported->record, &stored, &imported->words));
    imported->file = stored.file ? log_file_find(log, stored.file) : NULL;
    imported->is_nameless = stored.is_nameless;
    free(imported->name);
    imported->name = NULL;
    if (stored.name) {
        imported->name = strndup(stored.name, stored.name_len);
        RETURN_IF(!imported->name, -ENOMEM);
    }
    return 0;
}

int log_imported_at(struct log *log, size_t i, struct log_imported *imported) {
    return read_row(log, (struct imported_row *)log->imported.item + i, imported);
}

void log_imported_free(struct log_imported *imported) {
    free(imported->name);
    bytes_free(&imported->words);
    *imported = (struct log_imported){0};
}

// --- as counters

// The process of a rank has the rank + 1 as its number.
static const struct log_process *process_of_rank(const struct log *log, int64_t rank) {
    const struct log_process *process =
        rank >= 0 && rank < UINT32_MAX ? log_process_find(log, (uint32_t)(rank + 1)) : NULL;
    return process && process->has_rank && process->rank == rank ? process : NULL;
}

static bool wants(const struct log_filter *filter, const struct log_stats_record *record) {
    if (!filter) return true;
    if (filter->classes || filter->has_from || filter->has_to || filter->has_pid || filter->has_tid) return false;
    if (filter->process && filter->process != record->process) return false;
    if (filter->has_rank && filter->rank != record->rank) return false;
    if (filter->layers && !(filter->layers >> record->layer & 1)) return false;
    return !filter->file_glob || glob_match(filter->file_glob, record->file->name);
}

static int hand_on(struct log *log, const struct log_imported *imported, const struct log_filter *filter,
                   log_stats_callback *callback, void *context) {
    const struct darshan_module *module = darshan_module(imported->record.module);
    uint64_t ranks = log->import.job.processes > 0 ? (uint64_t)log->import.job.processes : 1;
    struct log_stats_record record = {
        .process = process_of_rank(log, imported->record.rank),
        .has_rank = true,
        .rank = imported->record.rank,
        .world = log_world_count(log) ? 0 : LOG_NO_WORLD, // there is one at most
        .layer = module->layer,
        .file = imported->file,
        .is_reduced = imported->record.rank < 0,
        .is_added_up = true,
        .imported = &imported->record,
    };
    const struct counters_module list = log_stats_module(log, &record);
    if (!record.file || !wants(filter, &record)) return 0;
    counters_from_list(&record.counters, &record.ranks, &list);
    record.ranks.count = record.is_reduced ? ranks : 1;
    if (!record.is_reduced) record.ranks = counters_ranks_of(record.rank, &record.counters);
    return callback(&record, context);
}

static int compare_files(const void *a, const void *b, void *context) {
    const struct log *log = context;
    const struct imported_row *rows = log->imported.item;
    const struct imported_row *left = &rows[*(const uint32_t *)a], *right = &rows[*(const uint32_t *)b];
    unsigned left_layer = darshan_module(left->module)->layer, right_layer = darshan_module(right->module)->layer;
    if (left_layer != right_layer) return left_layer < right_layer ? -1 : 1;
    if (left->file != right->file) return left->file < right->file ? -1 : 1;
    if (left->rank != right->rank) return left->rank < right->rank ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

int log_imported_stats(struct log *log, const struct log_filter *filter, bool by_file, log_stats_callback *callback,
                       void *context) {
    const struct imported_row *rows = log->imported.item;
    size_t count = log->imported.count;
    struct log_imported imported = {0};
    uint32_t *order = malloc((count + 1) * sizeof *order);
    int code = order ? 0 : -ENOMEM;
    RETURN_IF(code, code);
    for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    if (by_file) qsort_r(order, count, sizeof *order, compare_files, log);
    for (size_t i = 0; i < count && code == 0; i++) {
        const struct imported_row *row = &rows[order[i]];
        if (!row->file || darshan_module(row->module)->layer == LAYER_NONE) continue;
        code = read_row(log, row, &imported);
        if (code == ERR_FORMAT) {
            log->health.records_damaged++;
            code = 0;
        } else if (code == 0) {
            code = hand_on(log, &imported, filter, callback, context);
        }
    }
    log_imported_free(&imported);
    free(order);
    return code;
}
