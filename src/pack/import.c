// Makes a log of a Darshan log: its records with all their numbers, files, ranks, and a trace if it has one.
#include "pack/import.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "fmt/records.h"
#include "fmt/stripe.h"
#include "pack/import_private.h"

enum { SMALL_ROOM = 256, NAME_ROOM = 32 };

bool import_is_foreign(const char *path) { return darshan_is_log(path); }

// --- ranks

int import_note_rank(struct import *import, int64_t rank, const char *host) {
    uint32_t process = import_process(rank);
    if (!process) return 0;
    uint32_t at = lookup_find(&import->rank_by_number, process);
    if (at == LOOKUP_NONE) {
        at = (uint32_t)import->ranks;
        FORWARD(lookup_set(&import->rank_by_number, process, at));
        FORWARD(array_push(import->rank, import->ranks, (struct import_rank){.rank = rank}));
    }
    if (host && *host) snprintf(import->rank[at].host, sizeof import->rank[at].host, "%s", host);
    return 0;
}

// --- files

// Lustre's own numbers of what Darshan has as the patterns of its library.
static uint64_t pattern_of(int64_t pattern) {
    switch (pattern) {
    case 0: return 0x001; // striped
    case 2: return 0x100; // on the metadata server
    case 4: return 0x201; // striped, servers more than once
    case 8: return 0x400; // not Lustre's
    default: return 0;
    }
}

static uint64_t not_negative(int64_t value) { return value > 0 ? (uint64_t)value : 0; }

// Of Lustre; a record may say that it has fewer than none.
static size_t parts_of(const struct darshan_record *layout) {
    return layout && layout->number[0] > 0 ? (size_t)layout->number[0] : 0;
}

static void put_stripes(struct fields_out *out, const struct darshan_record *layout) {
    size_t parts = parts_of(layout);
    const int64_t *part = parts ? layout->more : NULL, *server = parts ? part + parts * DARSHAN_PART_WORDS : NULL;
    for (size_t i = 0; i < parts; i++, part += DARSHAN_PART_WORDS) {
        uint8_t data[STRIPE_MAX_BYTES];
        struct stripe stripe = {.start = not_negative(part[DARSHAN_EXTENT_START]),
                                .end = not_negative(part[DARSHAN_EXTENT_END]),
                                .count = not_negative(part[DARSHAN_STRIPE_COUNT]),
                                .size = not_negative(part[DARSHAN_STRIPE_SIZE]),
                                .pattern = pattern_of(part[DARSHAN_STRIPE_PATTERN])};
        if (stripe.count) stripe.first = not_negative(server[0]) + 1;
        server += stripe.count;
        memcpy(stripe.pool, part + DARSHAN_LAYOUT_NUMBERS, STRIPE_POOL_ROOM - 1);
        fields_bytes(out, FILE_STRIPE, data, (size_t)(stripe_put(data, &stripe) - data));
    }
}

// The name of an object is that of its file, a colon and its path in the file. Where the file is not known, the path
// begins at the first colon before a slash, or at the last one.
static size_t file_part(const struct import *import, const char *name, const struct darshan_record *object) {
    const char *file = object->file ? darshan_name(import->from, object->file) : NULL;
    size_t len = file ? strlen(file) : 0;
    if (len && !strncmp(name, file, len) && name[len] == ':') return len;
    const char *colon = strstr(name, ":/");
    if (!colon) colon = strrchr(name, ':');
    return colon ? (size_t)(colon - name) : strlen(name);
}

static void put_name(struct import *import, struct fields_out *out, uint64_t id, const struct darshan_record *object) {
    char made_up[NAME_ROOM];
    const char *name = darshan_name(import->from, id);
    if (!name) {
        snprintf(made_up, sizeof made_up, "(record %llu)", (unsigned long long)id);
        name = made_up;
    }
    size_t len = object ? file_part(import, name, object) : strlen(name);
    fields_bytes(out, FILE_NAME, name, len);
    if (object) fields_string(out, FILE_OBJECT, name[len] ? name + len + 1 : "");
    const struct darshan_mount *mount = darshan_mount_of(&import->from->job, name);
    if (!mount) return;
    fields_string(out, FILE_MOUNT, mount->point);
    fields_string(out, FILE_FS_NAME, mount->type);
}

int import_add_file(struct import *import, uint64_t id, const struct darshan_record *object,
                    const struct darshan_record *layout, uint32_t *number) {
    *number = lookup_find(&import->file_by_id, id);
    if (*number != LOOKUP_NONE) return 0;
    *number = ++import->files;
    FORWARD(lookup_set(&import->file_by_id, id, *number));
    const char *name = darshan_name(import->from, id);
    size_t room = 3 * SMALL_ROOM + DARSHAN_JOB_BYTES + (name ? strlen(name) : NAME_ROOM);
    room += parts_of(layout) * (STRIPE_MAX_BYTES + VARINT_MAX_BYTES);
    struct fields_out *out = log_writer_begin(&import->writer, RECORD_FILE, room);
    fields_number(out, FILE_ID, *number);
    put_name(import, out, id, object);
    put_stripes(out, layout);
    log_writer_end(&import->writer);
    return 0;
}

// --- records

// Counters and heat maps have moments; which ones, their names say.
static void note_moments(struct import *import, const struct darshan_record *record) {
    const struct darshan_module *module = darshan_module(record->module);
    for (unsigned i = 0; i < module->reals; i++) {
        const char *name = module->names[module->numbers + i];
        if (strstr(name, "_END_TIMESTAMP") && record->real[i] > import->latest_s) import->latest_s = record->real[i];
    }
}

static int put_record(struct import *import, const struct darshan_record *record) {
    const struct darshan_module *module = darshan_module(record->module);
    struct darshan_stored stored = {.name = darshan_name(import->from, record->id)};
    bool is_layout = module->shape == DARSHAN_LAYOUT;
    if (module->layer || is_layout) {
        FORWARD(import_add_file(import, record->id, module->is_object ? record : NULL, is_layout ? record : NULL,
                                &stored.file));
        stored.is_nameless = !stored.name;
        stored.name = NULL;
    }
    if (stored.name) stored.name_len = strlen(stored.name);
    FORWARD(import_note_rank(import, record->rank, NULL));
    note_moments(import, record);
    struct fields_out *out = log_writer_begin(&import->writer, RECORD_IMPORTED, darshan_stored_room(record, &stored));
    darshan_put_stored(out, record, &stored);
    log_writer_end(&import->writer);
    import->result.records++;
    return import->writer.error;
}

static int put_records(struct import *import, struct darshan_records *records, uint64_t *count) {
    struct darshan_record record;
    int more;
    while ((more = darshan_next_record(records, &record)) > 0) {
        FORWARD(put_record(import, &record));
        ++*count;
    }
    return more;
}

// What is missing because bytes are damaged.
static void put_loss(struct import *import, const char *of) {
    char text[64];
    struct fields_out *out = log_writer_begin(&import->writer, RECORD_LOSS, SMALL_ROOM);
    snprintf(text, sizeof text, "%s of the Darshan log: damaged, not complete", of);
    fields_number(out, LOSS_REASON, LOSS_DAMAGED);
    fields_string(out, LOSS_TEXT, text);
    log_writer_end(&import->writer);
}

static bool is_damage(int code) { return code == ERR_FORMAT || code == ERR_TRUNCATED || code == ERR_LIMIT; }

static int import_module(struct import *import, unsigned id) {
    struct darshan_part *part = &import->part[id];
    struct darshan_records records;
    *part = (struct darshan_part){.module = id,
                                  .version = import->from->module_version[id],
                                  .bytes = import->from->place[id].len,
                                  .is_partial = import->from->partial >> id & 1};
    if (!part->bytes) return 0;
    int code = darshan_records_open(&records, import->from, id);
    if (code == ERR_VERSION) {
        size_t len = strlen(import->result.skipped);
        part->state = DARSHAN_UNKNOWN;
        snprintf(import->result.skipped + len, sizeof import->result.skipped - len, "%s%s", len ? ", " : "",
                 darshan_module_name(id).text);
        return 0;
    }
    FORWARD(code);
    bool is_trace = darshan_module(id)->shape == DARSHAN_SEGMENTS;
    code = (is_trace ? import_traces : put_records)(import, &records, &part->records);
    part->left_out = records.spoilt;
    darshan_records_close(&records);
    if (import->writer.error) return import->writer.error;
    if (is_damage(code)) {
        part->state = DARSHAN_DAMAGED;
        put_loss(import, darshan_module(id)->name);
        code = 0;
    }
    return code;
}

// Lustre comes first: it knows how files lie on servers, which their records say. The trace of POSIX comes last,
// because calls of MPI-IO contain what it has.
static int import_modules(struct import *import) {
    FORWARD(import_module(import, DARSHAN_LUSTRE));
    for (unsigned id = 0; id < DARSHAN_SLOTS; id++) {
        if (id != DARSHAN_LUSTRE && id != DARSHAN_DXT_POSIX) FORWARD(import_module(import, id));
    }
    return import_module(import, DARSHAN_DXT_POSIX);
}

// --- job and processes

static int64_t nanoseconds(double seconds) {
    if (!(seconds > 0)) return 0;
    return seconds < 1e9 ? llround(seconds * 1e9) : INT64_C(1000000000000000000);
}

static uint64_t epoch_ns(int64_t seconds, int64_t ns) {
    if (seconds <= 0 || seconds >= INT64_MAX / 1000000000) return 0;
    return (uint64_t)seconds * 1000000000 + (ns > 0 && ns < 1000000000 ? (uint64_t)ns : 0);
}

// Until its end, or if it did not end in order, until the last moment that a record has.
static int64_t run_ns(const struct import *import) {
    int64_t run = nanoseconds(darshan_run_seconds(&import->from->job, import->from->is_old));
    return import->from->job.end_s ? run : nanoseconds(import->latest_s);
}

// The words of the command as they stand between spaces: Darshan does not say where one ends.
static void put_words(struct fields_out *out, unsigned key, const char *command) {
    while (*command) {
        size_t len = strcspn(command, " ");
        if (len) fields_bytes(out, key, command, len);
        command += len + (command[len] == ' ');
    }
}

static void put_job(struct import *import) {
    const struct darshan_job *job = &import->from->job;
    char id[24];
    uint64_t start_ns = epoch_ns(job->start_s, job->start_ns);
    size_t room = SMALL_ROOM + 4 * strlen(job->command);
    struct fields_out *out = log_writer_begin(&import->writer, RECORD_JOB, room);
    put_words(out, JOB_COMMAND, job->command);
    fields_number(out, JOB_START_NS, start_ns);
    fields_number(out, JOB_END_NS, start_ns + (uint64_t)run_ns(import));
    fields_string(out, JOB_VERSION, IOSEER_VERSION);
    fields_number(out, JOB_UID, (uint64_t)job->user);
    snprintf(id, sizeof id, "%lld", (long long)job->id);
    if (job->id) fields_string(out, JOB_ID, id);
    fields_number(out, JOB_NPROCS, not_negative(job->processes));
    if (job->end_s) fields_number(out, JOB_COMPLETE, 1);
    log_writer_end(&import->writer);
}

static void put_process(struct import *import, const struct import_rank *rank) {
    const struct darshan_job *job = &import->from->job;
    size_t room = 2 * SMALL_ROOM + 4 * strlen(job->command);
    struct fields_out *out = log_writer_begin(&import->writer, RECORD_PROCESS, room);
    uint32_t process = import_process(rank->rank);
    fields_number(out, PROCESS_ID, process);
    if (rank->host[0]) fields_string(out, PROCESS_HOST, rank->host);
    put_words(out, PROCESS_ARG, job->command);
    fields_number(out, PROCESS_START_NS, 0);
    if (job->end_s) fields_number(out, PROCESS_END_NS, (uint64_t)run_ns(import));
    fields_number(out, PROCESS_RANK, process);
    fields_number(out, PROCESS_UID, (uint64_t)job->user);
    fields_number(out, PROCESS_MPI_SIZE, not_negative(job->processes));
    fields_number(out, PROCESS_CLOCK_SPAN_UNITS, 1);
    fields_number(out, PROCESS_CLOCK_SPAN_NS, 1);
    fields_number(out, PROCESS_VIA, VIA_IMPORT);
    fields_number(out, PROCESS_COUNTS_ALL, 1);
    log_writer_end(&import->writer);
}

// --- what it was made from

static void put_mount(struct fields_out *out, const struct darshan_mount *mount) {
    size_t point = strlen(mount->point) + 1, type = strlen(mount->type);
    uint8_t *at = fields_open_bytes(out, IMPORT_MOUNT, point + type);
    if (!at) return;
    memcpy(at, mount->point, point);
    memcpy(at + point, mount->type, type);
}

static void put_import(struct import *import) {
    const struct darshan_log *from = import->from;
    const struct darshan_job *job = &from->job;
    size_t room = SMALL_ROOM + strlen(job->metadata) + strlen(job->command) + DARSHAN_SLOTS * (DARSHAN_PART_ROOM + 4);
    for (size_t i = 0; i < job->mount_count; i++)
        room += strlen(job->mounts[i].point) + strlen(job->mounts[i].type) + 8;
    struct fields_out *out = log_writer_begin(&import->writer, RECORD_IMPORT, room);
    fields_string(out, IMPORT_PROGRAM, "Darshan");
    fields_string(out, IMPORT_VERSION, from->version);
    fields_number(out, IMPORT_CODEC, from->codec);
    if (from->is_swapped) fields_number(out, IMPORT_SWAPPED, 1);
    fields_signed(out, IMPORT_USER, job->user);
    fields_signed(out, IMPORT_START_S, job->start_s);
    fields_signed(out, IMPORT_START_NS, job->start_ns);
    fields_signed(out, IMPORT_END_S, job->end_s);
    fields_signed(out, IMPORT_END_NS, job->end_ns);
    fields_signed(out, IMPORT_PROCESSES, job->processes);
    fields_signed(out, IMPORT_JOB, job->id);
    fields_string(out, IMPORT_METADATA, job->metadata);
    fields_string(out, IMPORT_COMMAND, job->command);
    for (size_t i = 0; i < job->mount_count; i++) put_mount(out, &job->mounts[i]);
    fields_number(out, IMPORT_JOB_BYTES, from->job_place.len);
    fields_number(out, IMPORT_NAMES_BYTES, from->names_place.len);
    for (unsigned id = 0; id < DARSHAN_SLOTS; id++) {
        const struct darshan_part *part = &import->part[id];
        if (part->bytes || part->is_partial) darshan_put_part(out, IMPORT_MODULE, part);
    }
    log_writer_end(&import->writer);
}

static int write_log(struct import *import) {
    // Rank 0 exists whatever it did; of other ranks without records of their own only the number is known.
    FORWARD(import_note_rank(import, 0, NULL));
    FORWARD(import_modules(import));
    if (import->from->names_damage < 0) put_loss(import, "names");
    put_job(import);
    put_import(import);
    for (size_t i = 0; i < import->ranks; i++) put_process(import, &import->rank[i]);
    return log_writer_flush(&import->writer);
}

static struct log_header new_header(void) {
    struct log_header header = {.version = LOG_VERSION,
                                .min_reader = LOG_MIN_READER,
                                .features = FEATURE_SHORT | FEATURE_STEPS | FEATURE_CHOSEN | FEATURE_IMPORTED,
                                .created_ns = clock_ns(CLOCK_REALTIME)};
    if (getrandom(header.job_id, sizeof header.job_id, GRND_NONBLOCK) < 0) memset(header.job_id, 0, 16);
    return header;
}

static void free_import(struct import *import) {
    log_writer_abandon(&import->writer);
    lookup_free(&import->file_by_id);
    lookup_free(&import->rank_by_number);
    lookup_free(&import->links);
    bytes_free(&import->payload);
    free(import->rank);
    free(import->segment);
    free(import->span);
}

int import_file(const char *path, const char *log_path, bool replace, struct import_result *result,
                struct problem *problem) {
    struct import import = {.writer.fd = -1};
    struct darshan_log *from;
    FORWARD(darshan_open(&from, path, problem));
    import.from = from;
    const struct log_header header = new_header();
    int code = log_writer_open(&import.writer, log_path, &header);
    import.writer.has_source = true;
    if (code == 0) code = write_log(&import);
    if (code == 0) code = log_writer_publish(&import.writer, replace);
    import.result.log_bytes = import.writer.offset;
    *result = import.result;
    free_import(&import);
    darshan_close(from);
    return code < 0 ? problem_code(problem, code, log_path) : 0;
}
