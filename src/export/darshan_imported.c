// The records of a log that was imported from Darshan, with all their numbers, as the newest version has them.
#include "base/err.h"
#include "export/darshan_parts.h"

static int write_words(const struct darshan_export *export, unsigned module, const void *words, size_t count) {
    return darshan_write_bytes(export->writer, module, words, count * sizeof(int64_t));
}

static int write_names(const struct darshan_export *export, const struct log_imported *imported) {
    const struct darshan_record *record = &imported->record;
    const struct log_file *file = imported->is_nameless ? NULL : imported->file;
    if (file && record->file) FORWARD(darshan_write_name(export->writer, record->file, file->name, NULL));
    if (file) return darshan_write_name(export->writer, record->id, file->name, file->object);
    return imported->name ? darshan_write_name(export->writer, record->id, imported->name, NULL) : 0;
}

static int write_numbers(const struct darshan_export *export, const struct darshan_record *record) {
    const struct darshan_module *module = darshan_module(record->module);
    FORWARD(write_words(export, record->module, record->number, module->numbers));
    return write_words(export, record->module, record->real, module->reals);
}

static int write_bins(const struct darshan_export *export, const struct darshan_record *record) {
    const int64_t rest[] = {(int64_t)(record->more_count / 2), 0, 0}; // number of bins, two words without meaning
    FORWARD(write_words(export, record->module, record->real, 1));
    return write_words(export, record->module, rest, sizeof rest / sizeof rest[0]);
}

static int write_record(const struct darshan_export *export, const struct log_imported *imported) {
    const struct darshan_record *record = &imported->record;
    const struct darshan_module *module = darshan_module(record->module);
    const int64_t base[] = {(int64_t)record->id, record->rank};
    FORWARD(write_names(export, imported));
    FORWARD(write_words(export, record->module, base, sizeof base / sizeof base[0]));
    if (module->shape == DARSHAN_OF_FILE) FORWARD(write_words(export, record->module, &record->file, 1));
    FORWARD(module->shape == DARSHAN_BINS ? write_bins(export, record) : write_numbers(export, record));
    return write_words(export, record->module, record->more, record->more_count);
}

int export_darshan_imported(const struct darshan_export *export) {
    struct log_imported imported = {0};
    int code = 0;
    for (size_t i = 0; i < log_imported_count(export->log) && code == 0; i++) {
        code = log_imported_at(export->log, i, &imported);
        if (code == 0) code = write_record(export, &imported);
        if (code == 0 && imported.file) export->imported[imported.file->index] = imported.record.id;
        if (code == ERR_FORMAT) code = 0; // a damaged record is left out
        if (code == 0) code = export->watch->progress(export->watch->context, 0);
    }
    log_imported_free(&imported);
    return code;
}
