// Of a log that was imported from Darshan: what Darshan said about the job, and its records, whose ids are hashes of
// names.
#include <errno.h>
#include <string.h>

#include "anonymous/name.h"
#include "anonymous/private.h"
#include "base/err.h"
#include "base/varint.h"
#include "fmt/record_id.h"
#include "log/import.h"

// --- the job

static int put_signed(struct bytes *out, unsigned key, int64_t value) {
    return anonymous_put_number(out, key, varint_fold(value));
}

// Seconds and nanoseconds since the epoch, as much earlier as the whole job; 0 stays "not known".
static int put_moment(const struct anonymous *a, unsigned key, int64_t seconds, int64_t ns, struct bytes *out) {
    const int64_t second_ns = 1000000000;
    bool is_moment = seconds > 0 && seconds < INT64_MAX / second_ns && ns >= 0 && ns < second_ns;
    int64_t moment = is_moment ? seconds * second_ns + ns - (int64_t)a->moved_ns : 0;
    FORWARD(put_signed(out, key, moment / second_ns));
    return put_signed(out, key + 1, moment % second_ns);
}

// Lines, of which those with hints have several parts.
static int metadata_without_names(const struct anonymous_key *key, const char *metadata, struct bytes *text) {
    while (*metadata) {
        size_t len = strcspn(metadata, "\n;");
        FORWARD(anonymous_words(key, metadata, len, text));
        if (metadata[len]) FORWARD(bytes_append(text, metadata + len++, 1));
        metadata += len;
    }
    return 0;
}

static int mount_without_names(const struct anonymous_key *key, const struct darshan_mount *mount, struct bytes *text) {
    FORWARD(anonymous_name(key, 0, mount->point, strlen(mount->point), text));
    FORWARD(bytes_append(text, "", 1));
    return anonymous_words(key, mount->type, strlen(mount->type), text);
}

// `code`: of what made the text.
static int put_text(struct bytes *out, unsigned key, struct bytes *text, int code) {
    if (code == 0) code = anonymous_put_bytes(out, key, text);
    text->len = 0;
    return code;
}

static int put_texts(const struct anonymous *a, const struct log_import *import, struct bytes *text,
                     struct bytes *out) {
    const struct darshan_job *job = &import->job;
    const struct anonymous_key *key = a->key;
    FORWARD(put_text(out, IMPORT_PROGRAM, text, anonymous_words(key, import->program, strlen(import->program), text)));
    FORWARD(put_text(out, IMPORT_VERSION, text, anonymous_words(key, import->version, strlen(import->version), text)));
    FORWARD(put_text(out, IMPORT_METADATA, text, metadata_without_names(key, job->metadata, text)));
    FORWARD(put_text(out, IMPORT_COMMAND, text, anonymous_command(key, job->command, text)));
    for (size_t i = 0; i < job->mount_count; i++)
        FORWARD(put_text(out, IMPORT_MOUNT, text, mount_without_names(key, &job->mounts[i], text)));
    for (size_t i = 0; i < import->module_count; i++) {
        uint8_t room[DARSHAN_PART_ROOM + 4];
        struct fields_out part = {.at = room, .end = room + sizeof room};
        darshan_put_part(&part, IMPORT_MODULE, &import->modules[i]);
        FORWARD(bytes_append(out, room, (size_t)(part.at - room)));
    }
    return 0;
}

int anonymous_import(const struct anonymous *a, struct bytes *out) {
    const struct log_import *import = a->log ? log_import(a->log) : NULL;
    struct bytes text = {0};
    if (!import) return 0;
    const struct darshan_job *job = &import->job;
    uint64_t user = anonymous_number(a->key, DOMAIN_USER, (uint64_t)job->user, ANONYMOUS_USER_BITS);
    uint64_t id = anonymous_number(a->key, DOMAIN_JOB, (uint64_t)job->id, ANONYMOUS_USER_BITS);
    FORWARD(anonymous_put_number(out, IMPORT_CODEC, import->codec));
    if (import->is_swapped) FORWARD(anonymous_put_number(out, IMPORT_SWAPPED, 1));
    FORWARD(put_signed(out, IMPORT_USER, (int64_t)user));
    FORWARD(put_moment(a, IMPORT_START_S, job->start_s, job->start_ns, out));
    FORWARD(put_moment(a, IMPORT_END_S, job->end_s, job->end_ns, out));
    FORWARD(put_signed(out, IMPORT_PROCESSES, job->processes));
    FORWARD(put_signed(out, IMPORT_JOB, (int64_t)id));
    FORWARD(anonymous_put_number(out, IMPORT_JOB_BYTES, import->job_bytes));
    FORWARD(anonymous_put_number(out, IMPORT_NAMES_BYTES, import->names_bytes));
    int code = put_texts(a, import, &text, out);
    bytes_free(&text);
    return code < 0 ? code : 1;
}

// --- records

static void replace_number(const struct anonymous *a, enum anonymous_domain domain, int64_t *number) {
    *number = (int64_t)anonymous_number(a->key, domain, (uint64_t)*number, ANONYMOUS_RECORD_BITS);
}

// By the new name of the file that had the id; else a number.
static int replace_id(const struct anonymous *a, uint64_t *id) {
    uint32_t at = *id ? lookup_find(&a->by_record, *id) : LOOKUP_NONE;
    if (at != LOOKUP_NONE) return anonymous_record_id(a->key, log_file_at(a->log, at), id);
    *id = anonymous_number(a->key, DOMAIN_RECORD, *id, ANONYMOUS_RECORD_BITS);
    return 0;
}

// Integers that are no counts.
static int replace_numbers(const struct anonymous *a, struct darshan_record *record) {
    enum { BGQ_JOB = 0, POSIX_RENAMED_FROM = 12 };
    if (record->module == DARSHAN_BGQ) replace_number(a, DOMAIN_JOB, &record->number[BGQ_JOB]);
    if (record->module != DARSHAN_POSIX || record->number[POSIX_RENAMED_FROM] <= 0) return 0;
    uint64_t id = (uint64_t)record->number[POSIX_RENAMED_FROM];
    FORWARD(replace_id(a, &id));
    record->number[POSIX_RENAMED_FROM] = (int64_t)id;
    return 0;
}

// UUIDs and objects of DAOS, names of pools of Lustre.
static int replace_more(const struct anonymous *a, struct darshan_record *record) {
    enum darshan_shape shape = darshan_module(record->module)->shape;
    if (shape == DARSHAN_OF_POOL || shape == DARSHAN_OF_OBJECT) {
        for (size_t i = 0; i < record->more_count; i++) replace_number(a, DOMAIN_RECORD, &record->more[i]);
    }
    if (shape != DARSHAN_LAYOUT) return 0;
    size_t parts = record->number[0] > 0 ? (size_t)record->number[0] : 0,
           most = record->more_count / DARSHAN_PART_WORDS;
    for (size_t i = 0; i < parts && i < most; i++) {
        char *pool = (char *)(record->more + i * DARSHAN_PART_WORDS + DARSHAN_LAYOUT_NUMBERS);
        struct bytes letters = {0};
        if (!*pool) continue;
        int code = anonymous_text(a->key, pool, strnlen(pool, DARSHAN_LAYOUT_POOL_BYTES), &letters);
        memset(pool, 0, DARSHAN_LAYOUT_POOL_BYTES);
        if (code == 0) memcpy(pool, letters.data, letters.len < DARSHAN_LAYOUT_POOL_BYTES ? letters.len : 0);
        bytes_free(&letters);
        FORWARD(code);
    }
    return 0;
}

// A record has the id that belongs to its new name. A file of which Darshan had no name has none.
static int replace_names(const struct anonymous *a, struct darshan_record *record, struct darshan_stored *stored,
                         struct bytes *name) {
    const struct log_file *file = stored->file ? log_file_find(a->log, stored->file) : NULL;
    if (record->file) FORWARD(replace_id(a, &record->file));
    if (file && !stored->is_nameless) return anonymous_record_id(a->key, file, &record->id);
    record->id = anonymous_number(a->key, DOMAIN_RECORD, record->id, ANONYMOUS_RECORD_BITS);
    if (!stored->name) return 0;
    FORWARD(anonymous_name(a->key, 0, stored->name, stored->name_len, name));
    stored->name = (const char *)name->data;
    stored->name_len = name->len;
    record->id = record_id(stored->name, stored->name_len, NULL, 0);
    return 0;
}

static int write_record(const struct darshan_record *record, const struct darshan_stored *stored, struct bytes *out) {
    size_t room = darshan_stored_room(record, stored);
    uint8_t *at = bytes_reserve(out, room);
    RETURN_IF(!at, -ENOMEM);
    struct fields_out fields = {.at = at, .end = at + room};
    darshan_put_stored(&fields, record, stored);
    out->len += (size_t)(fields.at - at);
    return fields.overflow ? ERR_FORMAT : 1;
}

int anonymous_imported(const struct anonymous *a, struct fields_in in, struct bytes *out) {
    struct bytes words = {0}, name = {0};
    struct darshan_record record;
    struct darshan_stored stored;
    int code = darshan_get_stored(in, &record, &stored, &words);
    if (code == 0) code = replace_numbers(a, &record);
    if (code == 0) code = replace_more(a, &record);
    if (code == 0) code = replace_names(a, &record, &stored, &name);
    if (code == 0) code = write_record(&record, &stored, out);
    bytes_free(&words);
    bytes_free(&name);
    return code;
}
