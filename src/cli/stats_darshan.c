// `ioseer stats --darshan`: the columns of darshan-parser.
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "cli/stats.h"
#include "darshan/text.h"
#include "fmt/record_id.h"
#include "log/describe.h"
#include "log/import.h"
#include "log/stats.h"

struct printer {
    struct log *log;
    struct output *output;
    const char *module; // of the last record: each has a heading
};

static void print_heading(struct printer *printer, const char *module) {
    if (printer->module == module) return;
    fprintf(printer->output->out,
            "\n# %s module data\n#<module>\t<rank>\t<record id>\t<counter>\t<value>\t<file name>\t<mount pt>\t"
            "<fs type>\n",
            module);
    printer->module = module;
}

// --- what ioseer recorded

static const char *const darshan_modules[LAYER_COUNT] = {[LAYER_POSIX] = "POSIX",
                                                         [LAYER_STDIO] = "STDIO",
                                                         [LAYER_MPIIO] = "MPI-IO",
                                                         [LAYER_HDF5] = "H5F",
                                                         [LAYER_PNETCDF] = "PNETCDF_FILE"};
static const char *const darshan_object_modules[LAYER_COUNT] = {[LAYER_HDF5] = "H5D", [LAYER_PNETCDF] = "PNETCDF_VAR"};

static void print_time(FILE *out, const char *name, int64_t epoch_s) {
    time_t seconds = (time_t)epoch_s;
    struct tm local;
    char text[64] = "";
    if (localtime_r(&seconds, &local)) strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &local);
    fprintf(out, "# %s: %lld\n# %s_asci: %s\n", name, (long long)seconds, name, text);
}

// Without MPI all processes count as one rank.
static uint64_t rank_count(const struct log *log) {
    const struct log_world *world = log_largest_world(log);
    return world ? world->size : 1;
}

// Prints each mount point once. Few jobs use more than this many, and the table is for information only.
static void print_used_mounts(const struct log *log, FILE *out) {
    enum { MOST = 64 };
    const char *named[MOST];
    size_t count = 0;
    fprintf(out, "\n# mounted file systems (mount point and fs type)\n");
    for (size_t i = 0; i < log_file_count(log) && count < MOST; i++) {
        const struct log_file *file = log_file_at(log, i);
        bool known = !file->mount;
        for (size_t j = 0; !known && j < count; j++) known = !strcmp(named[j], file->mount);
        if (known) continue;
        named[count++] = file->mount;
        fprintf(out, "# mount entry:\t");
        human_print_name(out, file->mount);
        fputc('\t', out);
        human_print_name(out, describe_file_system(file));
        fputc('\n', out);
    }
}

static void print_job(const struct log *log, FILE *out) {
    const struct log_job *job = log_job(log);
    uint64_t end_ns = job->start_ns + (uint64_t)log_run_ns(log);
    fprintf(out, "# ioseer version: %s\n# exe:", IOSEER_VERSION);
    for (size_t i = 0; i < job->command.count; i++) {
        fputc(' ', out);
        human_print_name(out, job->command.word[i]);
    }
    fprintf(out, "\n# uid: %" PRIu64 "\n# jobid: ", job->uid);
    human_print_name(out, job->id ? job->id : "0");
    fputc('\n', out);
    print_time(out, "start_time", (int64_t)(job->start_ns / 1000000000));
    print_time(out, "end_time", (int64_t)(end_ns / 1000000000));
    fprintf(out, "# nprocs: %" PRIu64 "\n# run time: %.4f\n", rank_count(log), (double)(end_ns - job->start_ns) / 1e9);
    print_used_mounts(log, out);
}

static void print_begin(const struct log_stats_record *record, const char *module, const char *counter, FILE *out) {
    fprintf(out, "%s\t%" PRId64 "\t%" PRIu64 "\t%s\t", module, record->has_rank ? record->rank : 0,
            record->file->record_id, counter);
}

static void print_end(const struct log_file *file, FILE *out) {
    fputc('\t', out);
    human_print_name(out, file->name);
    if (file->object) fputc(':', out);
    if (file->object) human_print_name(out, file->object);
    fputc('\t', out);
    human_print_name(out, file->mount ? file->mount : "UNKNOWN");
    fputc('\t', out);
    human_print_name(out, describe_file_system(file));
    fputc('\n', out);
}

// The file that an object is in.
static void print_owner(const struct log_stats_record *record, const char *module, FILE *out) {
    char counter[32];
    snprintf(counter, sizeof counter, "%s_FILE_REC_ID", module);
    print_begin(record, module, counter, out);
    fprintf(out, "%" PRIu64, record_id(record->file->name, strlen(record->file->name), NULL, 0));
    print_end(record->file, out);
}

static int print_record(const struct log_stats_record *record, void *context) {
    struct printer *printer = context;
    FILE *out = printer->output->out;
    bool is_object = record->file && record->file->object;
    const char *module = (is_object ? darshan_object_modules : darshan_modules)[record->layer];
    struct counters_value values[COUNTERS_MAX_VALUES];
    if (!module || !record->file) return 0;
    // Rank 0 stands for a job without MPI. With MPI it would look like the real rank 0.
    if (!record->has_rank && log_world_count(printer->log)) return 0;
    print_heading(printer, module);
    const struct counters_module list = log_stats_module(printer->log, record);
    size_t count = counters_list(&record->counters, &list, values);
    for (size_t i = 0; i < count; i++) {
        print_begin(record, module, values[i].name, out);
        if (values[i].is_real) {
            fprintf(out, "%f", values[i].real);
        } else if (values[i].is_id) {
            fprintf(out, "%" PRIu64, (uint64_t)values[i].integer);
        } else {
            fprintf(out, "%" PRId64, values[i].integer);
        }
        print_end(record->file, out);
    }
    if (is_object) print_owner(record, module, out);
    return output_failed(printer->output) ? ERR_LIMIT : 0;
}

// --- what Darshan recorded

static void print_metadata(FILE *out, const char *line) {
    while (*line) {
        size_t len = strcspn(line, "\n"), key = strcspn(line, "=");
        if (len && key < len) {
            fprintf(out, "# metadata: %.*s = ", (int)key, line);
            fprintf(out, "%.*s\n", (int)(len - key - 1), line + key + 1);
        }
        line += len + (line[len] == '\n');
    }
}

static void print_import_job(const struct log_import *import, int64_t run_ns, FILE *out) {
    static const char *const codecs[DARSHAN_CODECS] = {"ZLIB", "BZIP2", "NONE"};
    const struct darshan_job *job = &import->job;
    fprintf(out, "# darshan log version: %s\n# compression method: %s\n# exe: ", import->version,
            import->codec < DARSHAN_CODECS ? codecs[import->codec] : "UNKNOWN");
    human_print_name(out, job->command);
    fprintf(out, "\n# uid: %" PRId64 "\n# jobid: %" PRId64 "\n", job->user, job->id);
    print_time(out, "start_time", job->start_s);
    print_time(out, "end_time", job->end_s);
    fprintf(out, "# nprocs: %" PRId64 "\n# run time: %.4f\n", job->processes, (double)run_ns / 1e9);
    print_metadata(out, job->metadata);
}

static void print_regions(const struct log_import *import, FILE *out) {
    fprintf(out, "\n# log file regions\n# job data: %" PRIu64 " bytes (compressed)\n", import->job_bytes);
    fprintf(out, "# record table: %" PRIu64 " bytes (compressed)\n", import->names_bytes);
    for (size_t i = 0; i < import->module_count; i++) {
        const struct darshan_part *part = &import->modules[i];
        fprintf(out, "# %s module: %" PRIu64 " bytes (compressed), ver=%" PRIu64 "\n",
                darshan_module_name((unsigned)part->module).text, part->bytes, part->version);
        if (part->is_partial) fprintf(out, "#   incomplete: some rank had no room for more records\n");
        if (part->state == DARSHAN_UNKNOWN) fprintf(out, "#   skipped: ioseer does not know its records\n");
        if (part->state == DARSHAN_DAMAGED) fprintf(out, "#   damaged: records are missing\n");
    }
}

static void print_mounts(const struct log_import *import, FILE *out) {
    fprintf(out, "\n# mounted file systems (mount point and fs type)\n");
    for (size_t i = 0; i < import->job.mount_count; i++) {
        fprintf(out, "# mount entry:\t");
        human_print_name(out, import->job.mounts[i].point);
        fputc('\t', out);
        human_print_name(out, import->job.mounts[i].type);
        fputc('\n', out);
    }
}

// Where the columns of a record come from.
struct imported_line {
    FILE *out;
    const char *module;
    const struct darshan_record *record;
    const char *name, *object; // of an object: of its file, and the path in it
    const char *mount, *type;
};

static void print_imported_value(const char *counter, const char *value, void *context) {
    const struct imported_line *line = context;
    FILE *out = line->out;
    fprintf(out, "%s\t%" PRId64 "\t%" PRIu64 "\t%s\t", line->module, line->record->rank, line->record->id, counter);
    human_print_name(out, value);
    fputc('\t', out);
    human_print_name(out, line->name);
    if (line->object) fputc(':', out);
    if (line->object) human_print_name(out, line->object);
    fputc('\t', out);
    human_print_name(out, line->mount);
    fputc('\t', out);
    human_print_name(out, line->type);
    fputc('\n', out);
}

static void print_imported(struct printer *printer, const struct log_imported *imported) {
    const struct log_import *import = log_import(printer->log);
    const struct darshan_record *record = &imported->record;
    const char *name = imported->file && !imported->is_nameless ? imported->file->name : imported->name;
    const struct darshan_mount *mount = darshan_mount_of(&import->job, name);
    struct darshan_place_text place = darshan_place_text(record);
    const struct imported_line line = {
        .out = printer->output->out,
        .module = darshan_module(record->module)->name,
        .record = record,
        .name = place.name[0] ? place.name
                : name        ? name
                              : darshan_no_name(record->module),
        .object = imported->file ? imported->file->object : NULL,
        .mount = place.mount[0] ? place.mount
                 : mount        ? mount->point
                                : "UNKNOWN",
        .type = place.mount[0] ? "N/A"
                : mount        ? mount->type
                               : "UNKNOWN",
    };
    print_heading(printer, line.module);
    darshan_print_record(record, import->is_swapped, print_imported_value, (void *)&line);
}

static int print_all_imported(struct printer *printer) {
    const struct log_import *import = log_import(printer->log);
    FILE *out = printer->output->out;
    struct log_imported imported = {0};
    int code = 0;
    print_import_job(import, log_run_ns(printer->log), out);
    print_regions(import, out);
    print_mounts(import, out);
    for (size_t i = 0; i < log_imported_count(printer->log) && code != -ENOMEM; i++) {
        code = log_imported_at(printer->log, i, &imported);
        if (code == 0) print_imported(printer, &imported);
        if (output_failed(printer->output)) break;
    }
    log_imported_free(&imported);
    return code == -ENOMEM ? code : output_failed(printer->output) ? ERR_LIMIT : 0;
}

int stats_print_darshan(struct log *log, bool per_rank, struct output *output) {
    struct printer printer = {.log = log, .output = output};
    if (log_import(log)) return print_all_imported(&printer);
    print_job(log, output->out);
    return log_reduce(log, NULL, per_rank, print_record, &printer);
}
