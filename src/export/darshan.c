// A log in the format of Darshan 3.5: the counters that `stats --darshan` prints, and what darshan_trace.c makes of the
// events. Of what Darshan knows and ioseer does not, the log has Darshan's "not known".
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "darshan/format.h"
#include "export/darshan_parts.h"
#include "fmt/record_id.h"
#include "log/describe.h"
#include "log/stats.h"

// Which rank used a file on Lustre; -1: more than one.
struct lustre_file {
    const struct log_file *file;
    int64_t rank;
};

struct records {
    const struct darshan_export *export;
    struct lustre_file *striped;
    size_t striped_count;
    struct lookup by_file;
};

struct base { // every record begins with it
    uint64_t id;
    int64_t rank;
};

// --- counters

// LAYER_NONE and layers that Darshan does not know have no module: DARSHAN_NULL.
static unsigned module_of(unsigned layer, bool is_object) {
    for (unsigned i = 0; i < DARSHAN_MODULES; i++) {
        const struct darshan_module *module = darshan_module(i);
        bool has_counters = module->shape == DARSHAN_COUNTERS || module->shape == DARSHAN_OF_FILE;
        if (has_counters && module->layer == layer && module->is_object == is_object) return i;
    }
    return DARSHAN_NULL;
}

static int write_name(const struct darshan_export *export, const struct log_file *file) {
    return darshan_write_name(export->writer, file->record_id, file->name, file->object);
}

// The file that an object is in.
static int write_owner(const struct darshan_export *export, unsigned module, const struct log_file *object) {
    uint64_t id = record_id(object->name, strlen(object->name), NULL, 0);
    FORWARD(darshan_write_name(export->writer, id, object->name, NULL));
    return darshan_write_bytes(export->writer, module, &id, sizeof id);
}

static int write_counters(const struct darshan_export *export, unsigned module, const struct log_stats_record *record) {
    const struct counters_module list = log_stats_module(export->log, record);
    struct counters_value values[COUNTERS_MAX_VALUES];
    size_t count = counters_list(&record->counters, &list, values);
    RETURN_IF(count != darshan_module(module)->numbers + darshan_module(module)->reals, ERR_FORMAT);
    for (size_t i = 0; i < count; i++) {
        const void *value = values[i].is_real ? (const void *)&values[i].real : (const void *)&values[i].integer;
        FORWARD(darshan_write_bytes(export->writer, module, value, sizeof(int64_t)));
    }
    return 0;
}

static int note_stripes(struct records *records, const struct log_file *file, int64_t rank) {
    uint32_t at;
    if (file->object || !file->stripe_count) return 0;
    FORWARD(lookup_intern(&records->by_file, file->index, at, records->striped, records->striped_count,
                          (struct lustre_file){file, rank}));
    if (records->striped[at].rank != rank) records->striped[at].rank = -1;
    return 0;
}

static int add_record(const struct log_stats_record *record, void *context) {
    struct records *records = context;
    const struct darshan_export *export = records->export;
    const struct log_file *file = record->file;
    unsigned module = file ? module_of(record->layer, file->object) : DARSHAN_NULL;
    FORWARD(export->watch->progress(export->watch->context, 0));
    // As in `stats --darshan`: rank 0 stands for a job without MPI; with MPI it would look like the real rank 0.
    if (module == DARSHAN_NULL || (!record->has_rank && log_world_count(export->log))) return 0;
    const struct base base = {file->record_id, record->has_rank ? record->rank : 0};
    FORWARD(write_name(export, file));
    FORWARD(darshan_write_bytes(export->writer, module, &base, sizeof base));
    if (darshan_module(module)->shape == DARSHAN_OF_FILE) FORWARD(write_owner(export, module, file));
    FORWARD(write_counters(export, module, record));
    return note_stripes(records, file, base.rank);
}

// --- Lustre

// The log has the numbers of patterns that Lustre stores; Darshan has those of its library.
static int64_t library_pattern(uint64_t stored) {
    enum { STORED_MDT = 0x100, STORED_OVERSTRIPED = 0x200 };
    enum { LIBRARY_STRIPED = 0, LIBRARY_MDT = 2, LIBRARY_OVERSTRIPED = 4 };
    return stored & STORED_MDT ? LIBRARY_MDT : stored & STORED_OVERSTRIPED ? LIBRARY_OVERSTRIPED : LIBRARY_STRIPED;
}

// A count that Lustre cannot have is not known.
static uint64_t servers_of(const struct stripe *stripe) {
    enum { MOST_SERVERS = 2000 };
    return stripe->count <= MOST_SERVERS ? stripe->count : 0;
}

static int write_part(const struct darshan_export *export, const struct stripe *stripe) {
    int64_t number[DARSHAN_LAYOUT_NUMBERS] = {[DARSHAN_STRIPE_SIZE] = (int64_t)stripe->size,
                                              [DARSHAN_STRIPE_COUNT] = (int64_t)servers_of(stripe),
                                              [DARSHAN_STRIPE_PATTERN] = library_pattern(stripe->pattern),
                                              [DARSHAN_EXTENT_START] = (int64_t)stripe->start,
                                              [DARSHAN_EXTENT_END] = stripe->end ? (int64_t)stripe->end : -1};
    char pool[DARSHAN_LAYOUT_POOL_BYTES] = "";
    memcpy(pool, stripe->pool, strnlen(stripe->pool, sizeof pool - 1));
    FORWARD(darshan_write_bytes(export->writer, DARSHAN_LUSTRE, number, sizeof number));
    return darshan_write_bytes(export->writer, DARSHAN_LUSTRE, pool, sizeof pool);
}

// Of the servers of a part only the first one is known.
static int write_servers(const struct darshan_export *export, const struct stripe *stripe) {
    for (uint64_t i = 0; i < servers_of(stripe); i++) {
        int64_t server = i == 0 && stripe->first ? (int64_t)(stripe->first - 1) : -1;
        FORWARD(darshan_write_bytes(export->writer, DARSHAN_LUSTRE, &server, sizeof server));
    }
    return 0;
}

static int write_layout(const struct darshan_export *export, const struct lustre_file *striped) {
    const struct log_file *file = striped->file;
    const struct base base = {file->record_id, striped->rank};
    int64_t counts[] = {(int64_t)file->stripe_count, 0}; // parts, servers
    for (size_t i = 0; i < file->stripe_count; i++) counts[1] += (int64_t)servers_of(&file->stripes[i]);
    FORWARD(darshan_write_bytes(export->writer, DARSHAN_LUSTRE, &base, sizeof base));
    FORWARD(darshan_write_bytes(export->writer, DARSHAN_LUSTRE, counts, sizeof counts));
    for (size_t i = 0; i < file->stripe_count; i++) FORWARD(write_part(export, &file->stripes[i]));
    for (size_t i = 0; i < file->stripe_count; i++) FORWARD(write_servers(export, &file->stripes[i]));
    return 0;
}

static int write_imported(struct darshan_export *export) {
    export->imported = calloc(log_file_count(export->log) + 1, sizeof *export->imported);
    RETURN_IF(!export->imported, -ENOMEM);
    return export_darshan_imported(export);
}

static int write_records(const struct darshan_export *export) {
    struct records records = {.export = export};
    int code = log_reduce(export->log, NULL, false, add_record, &records);
    for (size_t i = 0; i < records.striped_count && code == 0; i++) code = write_layout(export, &records.striped[i]);
    lookup_free(&records.by_file);
    free(records.striped);
    return code;
}

// --- the job

struct about {
    struct bytes command, metadata;
    struct darshan_mount *mount;
    size_t mounts;
    struct lookup by_mount;
};

static void free_about(struct about *about) {
    bytes_free(&about->command);
    bytes_free(&about->metadata);
    free(about->mount);
    lookup_free(&about->by_mount);
}

static int add_mount(struct about *about, const char *point, const char *type) {
    uint32_t at;
    if (!point) return 0;
    return lookup_intern(&about->by_mount, hash_text(0, point), at, about->mount, about->mounts,
                         (struct darshan_mount){point, type});
}

static int find_mounts(struct about *about, const struct log *log) {
    for (size_t i = 0; i < log_file_count(log); i++) {
        const struct log_file *file = log_file_at(log, i);
        FORWARD(add_mount(about, file->mount, describe_file_system(file)));
    }
    return 0;
}

static int describe_command(struct bytes *text, const struct log_job *job) {
    for (size_t i = 0; i < job->command.count; i++) {
        if (i) FORWARD(bytes_append(text, " ", 1));
        FORWARD(bytes_append(text, job->command.word[i], strlen(job->command.word[i])));
    }
    return bytes_append(text, "", 1);
}

// The number in the batch system's id, if it begins with one; `metadata` has an id that is more than a number.
static int64_t job_number(const char *id, bool *is_whole) {
    char *end;
    errno = 0;
    long long number = strtoll(id, &end, 10);
    *is_whole = !*end && !errno;
    return errno ? 0 : number;
}

static int describe_metadata(struct bytes *text, const char *id) {
    static const char about[] = "lib_ver=3.5.0\nexported_by=ioseer " IOSEER_VERSION "\n", key[] = "job=";
    FORWARD(bytes_append(text, about, strlen(about)));
    if (id && strlen(id) + text->len + sizeof key < DARSHAN_METADATA_BYTES && !strchr(id, '\n')) {
        FORWARD(bytes_append(text, key, strlen(key)));
        FORWARD(bytes_append(text, id, strlen(id)));
        FORWARD(bytes_append(text, "\n", 1));
    }
    return bytes_append(text, "", 1);
}

// Logs before 3.41 have whole seconds, and a job counts as running until the end of its last one.
static struct darshan_job import_job(const struct log_import *import) {
    struct darshan_job job = import->job;
    if (strcmp(import->version, DARSHAN_NEWEST) < 0 && job.end_s) job.end_ns = 999999999;
    return job;
}

static int describe_job(struct about *about, const struct log *log, struct darshan_job *job) {
    enum { NS_PER_S = 1000000000 };
    if (log_import(log)) {
        *job = import_job(log_import(log));
        return 0;
    }
    const struct log_job *from = log_job(log);
    const struct log_world *world = log_largest_world(log);
    uint64_t end_ns = from->start_ns + (uint64_t)log_run_ns(log);
    bool is_number = true;
    *job = (struct darshan_job){.user = (int64_t)from->uid,
                                .start_s = (int64_t)(from->start_ns / NS_PER_S),
                                .start_ns = (int64_t)(from->start_ns % NS_PER_S),
                                .end_s = (int64_t)(end_ns / NS_PER_S),
                                .end_ns = (int64_t)(end_ns % NS_PER_S),
                                .processes = world ? (int64_t)world->size : 1,
                                .id = from->id ? job_number(from->id, &is_number) : 0};
    FORWARD(describe_command(&about->command, from));
    FORWARD(describe_metadata(&about->metadata, is_number ? NULL : from->id));
    FORWARD(find_mounts(about, log));
    job->command = (const char *)about->command.data;
    job->metadata = (const char *)about->metadata.data;
    job->mounts = about->mount;
    job->mount_count = about->mounts;
    return 0;
}

// --- the export

static int write_log(struct darshan_export *export) {
    struct about about = {.mounts = 0};
    struct darshan_job job;
    FORWARD(log_import(export->log) ? write_imported(export) : write_records(export));
    FORWARD(export_darshan_trace(export));
    int code = describe_job(&about, export->log, &job);
    if (code == 0) code = darshan_write_end(export->writer, &job, export_darshan_partial(export->log), export->path);
    free_about(&about);
    return code;
}

int export_darshan(struct log *log, const char *path, const struct export_watch *watch) {
    struct darshan_export export = {.log = log, .watch = watch, .path = path};
    FORWARD(darshan_write_begin(&export.writer, path));
    int code = write_log(&export);
    darshan_write_free(export.writer);
    free(export.imported);
    return code;
}
