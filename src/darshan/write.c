#include "darshan/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "base/lookup.h"
#include "darshan/spool.h"

struct darshan_writer {
    char *beside; // how the names of files begin that have none later
    struct spool *names;
    struct spool *module[DARSHAN_MODULES]; // NULL: it has no records
    struct lookup named;
};

int darshan_write_begin(struct darshan_writer **out, const char *path) {
    struct darshan_writer *writer = calloc(1, sizeof *writer);
    RETURN_IF(!writer, -ENOMEM);
    writer->beside = strdup(path);
    if (!writer->beside) {
        free(writer);
        return -ENOMEM;
    }
    *out = writer;
    return 0;
}

void darshan_write_free(struct darshan_writer *writer) {
    if (!writer) return;
    spool_free(writer->names);
    for (unsigned i = 0; i < DARSHAN_MODULES; i++) spool_free(writer->module[i]);
    lookup_free(&writer->named);
    free(writer->beside);
    free(writer);
}

int darshan_write_bytes(struct darshan_writer *writer, unsigned module, const void *data, size_t len) {
    struct spool **spool = &writer->module[module];
    if (!*spool) FORWARD(spool_open(spool, writer->beside));
    return spool_add(*spool, data, len);
}

int darshan_write_name(struct darshan_writer *writer, uint64_t id, const char *name, const char *object) {
    if (lookup_find(&writer->named, id) != LOOKUP_NONE) return 0;
    FORWARD(lookup_set(&writer->named, id, 0));
    if (!writer->names) FORWARD(spool_open(&writer->names, writer->beside));
    FORWARD(spool_add(writer->names, &id, sizeof id));
    FORWARD(spool_add(writer->names, name, strlen(name)));
    if (object) FORWARD(spool_add(writer->names, ":", 1));
    if (object) FORWARD(spool_add(writer->names, object, strlen(object)));
    return spool_add(writer->names, "", 1);
}

// --- the job

enum {
    TEXT_ROOM = DARSHAN_JOB_BYTES - DARSHAN_JOB_NUMBERS * 8 - DARSHAN_METADATA_BYTES - 1, // of command and mounts
    MOST_MOUNTS = 64,
};

static bool is_network(const struct darshan_mount *mount) { return !strncmp(mount->type, "nfs", 3); }

// A line cannot hold names with line ends or tabs.
static bool fits_a_line(const char *text) { return !strpbrk(text, "\n\t"); }

// Network mounts come last: where there is no room for all, other ones say more.
static int append_mounts(struct bytes *text, const struct darshan_job *job, bool network, size_t room, unsigned *left) {
    for (size_t i = 0; i < job->mount_count && *left; i++) {
        const struct darshan_mount *mount = &job->mounts[i];
        size_t len = strlen(mount->type) + strlen(mount->point) + 2;
        if (is_network(mount) != network || !fits_a_line(mount->point) || !fits_a_line(mount->type)) continue;
        if (text->len + len > room) continue;
        --*left;
        FORWARD(bytes_append(text, "\n", 1));
        FORWARD(bytes_append(text, mount->type, strlen(mount->type)));
        FORWARD(bytes_append(text, "\t", 1));
        FORWARD(bytes_append(text, mount->point, strlen(mount->point)));
    }
    return 0;
}

static int append_command(struct bytes *job, const char *command, size_t room) {
    static const char cut[] = "<TRUNCATED>";
    size_t len = strlen(command);
    bool is_cut = len > room;
    if (is_cut) len = room - strlen(cut);
    FORWARD(bytes_append(job, command, len));
    for (size_t i = job->len - len; i < job->len; i++) {
        if (job->data[i] == '\n') job->data[i] = ' ';
    }
    return is_cut ? bytes_append(job, cut, strlen(cut)) : 0;
}

static int append_job(struct bytes *out, const struct darshan_job *job, const struct bytes *mounts) {
    const int64_t numbers[DARSHAN_JOB_NUMBERS] = {job->user,   job->start_s,   job->start_ns, job->end_s,
                                                  job->end_ns, job->processes, job->id};
    char metadata[DARSHAN_METADATA_BYTES] = "";
    snprintf(metadata, sizeof metadata, "%s", job->metadata);
    FORWARD(bytes_append(out, numbers, sizeof numbers));
    FORWARD(bytes_append(out, metadata, sizeof metadata));
    FORWARD(append_command(out, job->command, TEXT_ROOM - mounts->len));
    FORWARD(bytes_append(out, mounts->data, mounts->len));
    return bytes_append(out, "", 1);
}

static int make_job(struct bytes *out, const struct darshan_job *job) {
    struct bytes mounts = {0};
    unsigned left = MOST_MOUNTS;
    // A long command gets half of the room at least, and the mounts the other half.
    size_t command = strlen(job->command), room = TEXT_ROOM - (command < TEXT_ROOM / 2 ? command : TEXT_ROOM / 2);
    int code = append_mounts(&mounts, job, false, room, &left);
    if (code == 0) code = append_mounts(&mounts, job, true, room, &left);
    if (code == 0) code = append_job(out, job, &mounts);
    bytes_free(&mounts);
    return code;
}

// --- putting it together

static int write_job(const struct darshan_writer *writer, struct spool **spool, const struct darshan_job *job) {
    struct bytes bytes = {0};
    int code = make_job(&bytes, job);
    if (code == 0) code = spool_open(spool, writer->beside);
    if (code == 0) code = spool_add(*spool, bytes.data, bytes.len);
    bytes_free(&bytes);
    return code;
}

// Appends a region to the log; its place goes to the map. Where no region is, its place still says where it would be.
static int put_region(struct spool *spool, int fd, uint64_t *offset, uint8_t *map) {
    uint64_t place[2] = {*offset, 0};
    if (spool) FORWARD(spool_copy(spool, fd, &place[1]));
    if (map) memcpy(map, place, sizeof place);
    *offset += place[1];
    return 0;
}

static int put_modules(struct darshan_writer *writer, int fd, uint64_t *offset, uint8_t *header, uint64_t partial) {
    enum { MAP_BYTES = 16 };
    uint64_t incomplete = 0;
    for (unsigned i = 0; i < DARSHAN_MODULES; i++) {
        uint32_t version = darshan_module(i)->versions;
        if (!writer->module[i]) continue;
        FORWARD(put_region(writer->module[i], fd, offset, header + DARSHAN_MAPS_AT + (size_t)i * MAP_BYTES));
        memcpy(header + DARSHAN_VERSIONS_AT + i * sizeof version, &version, sizeof version);
        incomplete |= partial & UINT64_C(1) << i;
    }
    memcpy(header + DARSHAN_PARTIAL_AT, &incomplete, sizeof incomplete);
    return 0;
}

static int put_log(struct darshan_writer *writer, struct spool *job, int fd, uint64_t partial) {
    uint8_t header[DARSHAN_HEADER_BYTES] = DARSHAN_NEWEST;
    const int64_t magic = DARSHAN_MAGIC;
    uint64_t offset = sizeof header;
    memcpy(header + DARSHAN_MAGIC_AT, &magic, sizeof magic);
    header[DARSHAN_CODEC_AT] = (uint8_t)spool_codec();
    RETURN_IF(lseek(fd, (off_t)offset, SEEK_SET) < 0, -errno);
    FORWARD(put_region(job, fd, &offset, NULL));
    FORWARD(put_region(writer->names, fd, &offset, header + DARSHAN_NAMES_AT));
    FORWARD(put_modules(writer, fd, &offset, header, partial));
    RETURN_IF(lseek(fd, 0, SEEK_SET) < 0, -errno);
    return io_write_all(fd, header, sizeof header);
}

int darshan_write_end(struct darshan_writer *writer, const struct darshan_job *job, uint64_t partial,
                      const char *path) {
    struct spool *spool = NULL;
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    RETURN_IF(fd < 0, -errno);
    int code = write_job(writer, &spool, job);
    if (code == 0) code = put_log(writer, spool, fd, partial);
    if (close(fd) < 0 && code == 0) code = -errno;
    spool_free(spool);
    return code;
}
