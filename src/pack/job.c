// What the log says about the job: from `record`, or without it from the job file in the spill directory.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/varint.h"
#include "pack/private.h"

enum { JOB_ROOM = 256, WORD_ROOM = 16, MAX_FILE_BYTES = 64 << 20 };

static size_t room_for(const char *text) { return text ? strlen(text) + WORD_ROOM : 0; }

static size_t job_room(const struct pack_job *job) {
    size_t room = JOB_ROOM + room_for(job->host) + room_for(job->cwd) + room_for(job->batch_id) + room_for(job->only);
    for (size_t i = 0; i < job->command_words; i++) room += room_for(job->command[i]);
    return room;
}

static void put_text(struct fields_out *out, unsigned key, const char *text) {
    if (text) fields_string(out, key, text);
}

// The fields that are known before the command runs.
static void put_job_start(struct fields_out *out, const struct pack_job *job) {
    for (size_t i = 0; i < job->command_words; i++) fields_string(out, JOB_COMMAND, job->command[i]);
    fields_number(out, JOB_START_NS, job->start.epoch_ns);
    put_text(out, JOB_HOST, job->host);
    put_text(out, JOB_CWD, job->cwd);
    fields_string(out, JOB_VERSION, IOSEER_VERSION);
    fields_number(out, JOB_UID, job->uid);
    put_text(out, JOB_ID, job->batch_id);
    put_text(out, JOB_ONLY, job->only);
}

static void put_job_end(struct fields_out *out, const struct pack_job *job) {
    if (!job->complete) return;
    fields_number(out, JOB_COMPLETE, 1);
    fields_number(out, JOB_END_NS, job->end.epoch_ns);
    if (!job->joins) fields_number(out, JOB_EXIT_STATUS, (uint32_t)job->status);
    fields_number(out, JOB_READ_CHARS, job->chars[0]);
    fields_number(out, JOB_WRITE_CHARS, job->chars[1]);
    fields_number(out, JOB_CHARS_KNOWN, job->chars_known);
}

// The records of a job that are known before the command runs.
static int encode_job(const struct pack_job *job, struct bytes *out) {
    size_t room = job_room(job);
    for (size_t i = 0; i < job->setting_count; i++) {
        room += room_for(job->settings[i].name) + room_for(job->settings[i].value) + WORD_ROOM;
    }
    uint8_t *data = bytes_reserve(out, room);
    RETURN_IF(!data, -ENOMEM);
    struct fields_out fields = {.at = data, .end = data + room};
    fields_begin(&fields, RECORD_JOB);
    put_job_start(&fields, job);
    fields_end(&fields);
    for (size_t i = 0; i < job->setting_count; i++) {
        fields_begin(&fields, RECORD_SETTING);
        put_text(&fields, SETTING_NAME, job->settings[i].name);
        put_text(&fields, SETTING_VALUE, job->settings[i].value);
        fields_end(&fields);
    }
    out->len += (size_t)(fields.at - data);
    return fields.overflow ? ERR_LIMIT : 0;
}

static uint64_t latest_epoch_ns(const struct pack *pack) {
    uint64_t latest = pack->start_epoch_ns;
    for (size_t i = 0; i < pack->process_count; i++) {
        uint64_t end = pack->process[i].spill.header.latest.epoch_ns;
        if (end > latest) latest = end;
    }
    return latest;
}

// Without `record` and the job file the spills still say when and where the job began.
static void write_bare_job(struct pack *pack) {
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_JOB, JOB_ROOM + sizeof pack->host);
    fields_number(out, JOB_START_NS, pack->start_epoch_ns);
    fields_number(out, JOB_END_NS, latest_epoch_ns(pack));
    fields_number(out, JOB_NPROCS, pack->result.processes);
    if (pack->host[0]) fields_string(out, JOB_HOST, pack->host);
    fields_string(out, JOB_VERSION, IOSEER_VERSION);
    log_writer_end(&pack->writer);
}

// How the process that began the job ended.
static void put_own_end(struct fields_out *out, const struct pack *pack) {
    fields_number(out, JOB_END_NS, latest_epoch_ns(pack));
    if (!pack->began) return;
    const struct pack_process *process = &pack->process[pack->began - 1];
    for (size_t i = 0; i < pack->process_count; i++) { // its last image
        if (pack->process[i].spill.header.pid == process->spill.header.pid && pack->process[i].is_local)
            process = &pack->process[i];
    }
    bool is_known = process->exit == EXIT_CLEAN || process->exit == EXIT_UNDERSCORE || process->exit == EXIT_SIGNAL;
    if (!is_known) return;
    uint32_t value = process->exit_value;
    fields_number(out, JOB_COMPLETE, 1);
    fields_number(out, JOB_EXIT_STATUS, process->exit == EXIT_SIGNAL ? value : (value & 0xff) << 8);
}

void pack_write_job(struct pack *pack) {
    struct fields_in records = fields_of(&pack->job_records);
    struct fields_in body;
    unsigned kind;
    if (!pack->job_records.len) write_bare_job(pack);
    while (fields_next_record(&records, &kind, &body) > 0) {
        if (kind != RECORD_JOB && kind != RECORD_SETTING) continue;
        size_t room = (size_t)(body.end - body.at) * 2 + JOB_ROOM;
        struct fields_out *out = log_writer_begin(&pack->writer, kind, room);
        fields_copy(out, body);
        if (kind == RECORD_JOB) {
            if (pack->job) put_job_end(out, pack->job);
            if (!pack->job) put_own_end(out, pack);
            fields_number(out, JOB_NPROCS, pack->result.processes);
        }
        log_writer_end(&pack->writer);
    }
}

static void copy_text(char *out, size_t room, const struct field *field) {
    if (!field->is_bytes || field->len >= room) return;
    memcpy(out, field->data, field->len);
    out[field->len] = 0;
}

// The last part of the command's first word.
static void find_program(struct pack_name *name, struct fields_in body) {
    struct field field;
    while (fields_next(&body, &field) > 0 && field.key != JOB_COMMAND) continue;
    if (field.key != JOB_COMMAND || !field.is_bytes || !field.len) return;
    const uint8_t *slash = memrchr(field.data, '/', field.len);
    size_t len = slash ? (size_t)(field.data + field.len - slash - 1) : field.len;
    snprintf(name->program, sizeof name->program, "%.*s", (int)len, slash ? slash + 1 : field.data);
}

static void read_start(struct pack *pack, struct fields_in body) {
    struct field f[JOB_ID + 1];
    struct pack_name *name = &pack->name;
    fields_by_key(body, f, JOB_ID + 1);
    if (f[JOB_START_NS].number) pack->start_epoch_ns = f[JOB_START_NS].number;
    copy_text(pack->host, sizeof pack->host, &f[JOB_HOST]);
    copy_text(name->host, sizeof name->host, &f[JOB_HOST]);
    copy_text(name->id, sizeof name->id, &f[JOB_ID]);
    name->user = (uint32_t)f[JOB_UID].number;
    name->start_ns = f[JOB_START_NS].number;
    if (pack->began) name->pid = pack->process[pack->began - 1].spill.header.pid;
    find_program(name, body);
}

int pack_read_file(const struct pack *pack, const char *name, struct bytes *out) {
    int fd = openat(pack->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = io_read_all(fd, out, MAX_FILE_BYTES);
    close(fd);
    if (code < 0) out->len = 0;
    return code;
}

int pack_load_job(struct pack *pack) {
    struct bytes *job = &pack->job_records;
    if (pack->job) FORWARD(encode_job(pack->job, job));
    RETURN_IF(!pack->job && pack_read_file(pack, PACK_JOB_FILE, job) == -ENOMEM, -ENOMEM);
    return 0;
}

int pack_read_job(struct pack *pack, const struct pack_process *process, unsigned kind, struct fields_in body) {
    uint8_t head[2 * VARINT_MAX_BYTES];
    size_t len = (size_t)(body.end - body.at);
    if (!pack->job_records.len && kind == RECORD_JOB) pack->began = process->id;
    if (pack->began != process->id) return 0;
    const uint8_t *end = varint_put(varint_put(head, kind), len);
    FORWARD(bytes_append(&pack->job_records, head, (size_t)(end - head)));
    return bytes_append(&pack->job_records, body.at, len);
}

void pack_find_job_start(struct pack *pack) {
    struct bytes *job = &pack->job_records;
    struct fields_in records = fields_of(job);
    struct fields_in body;
    unsigned kind;
    bool found = false;
    while (fields_next_record(&records, &kind, &body) > 0) {
        if (kind != RECORD_JOB) continue;
        found = true;
        read_start(pack, body);
    }
    if (!found) job->len = 0;
}

int pack_save_job(const struct pack_job *job, const char *spill_dir) {
    char *path = NULL;
    struct bytes data = {0};
    RETURN_IF(asprintf(&path, "%s/" PACK_JOB_FILE, spill_dir) < 0, -ENOMEM);
    int code = encode_job(job, &data);
    int fd = code < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (code == 0) code = fd < 0 ? -errno : io_write_all(fd, data.data, data.len);
    if (fd >= 0) close(fd);
    bytes_free(&data);
    free(path);
    return code;
}
