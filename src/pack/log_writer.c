#include "pack/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "fmt/clock_map.h"
#include "fmt/records.h"
#include "fmt/stream.h"
#include "pack/log_queue.h"

enum {
    RECORDS_BLOCK_BYTES = 256 << 10, // records are written when there are this many bytes of them
    INDEX_BLOCK_BYTES = 8 << 20,     // a larger index becomes several blocks
    RECORD_HEAD_BYTES = 32,          // more than kind and length of any record need
    INDEX_ROOM = 160 + CLASS_COUNT * 3 * 12,
    ALONE_BLOCKS = 16, // so many blocks of events are stored before a thread is worth its start
};

static int write_all(struct log_writer *w, const uint8_t *data, size_t len) {
    FORWARD(io_write_all(w->fd, data, len));
    w->offset += len;
    return 0;
}

static int create(const char *name) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(name, flags, 0600);
    // The name holds our own pid: a killed process with the same pid left this file.
    if (fd < 0 && errno == EEXIST && unlink(name) == 0) fd = open(name, flags, 0600);
    return fd >= 0 ? fd : -errno;
}

static char *name_beside(const char *path, int pid) {
    char *beside;
    return asprintf(&beside, "%s.tmp-%d", path, pid) < 0 ? NULL : beside;
}

void log_writer_remove_unfinished(const char *path, int pid) {
    char *beside = name_beside(path, pid);
    if (beside) unlink(beside);
    free(beside);
}

void log_summary_end(struct log_summary *summary, const struct clock_map *clock) {
    double rate = (double)clock->span_ns / (double)clock->span_units;
    for (unsigned class = 0; class < CLASS_COUNT; class ++) {
        double ns = (double)summary->duration_ns[class] * rate;
        summary->duration_ns[class] = ns < (double)(UINT64_MAX >> 5) ? (uint64_t)ns : UINT64_MAX >> 4;
    }
}

int log_writer_open(struct log_writer *w, const char *path, const struct log_header *header) {
    uint8_t bytes[LOG_HEADER_BYTES];
    *w = (struct log_writer){.fd = -1, .path = strdup(path)};
    char *beside = name_beside(path, (int)getpid());
    w->fd = beside ? create(beside) : -ENOMEM;
    if (w->fd < 0) {
        free(beside);
        return w->fd;
    }
    w->beside = beside;
    RETURN_IF(!w->path, -ENOMEM);
    log_header_put(bytes, header);
    return write_all(w, bytes, sizeof bytes);
}

static void note_error(struct log_writer *w, int code) {
    if (w->error == 0) w->error = code;
}

struct fields_out *log_writer_room(struct log_writer *w, size_t room) {
    uint8_t *at = bytes_reserve(&w->records, room);
    if (!at) note_error(w, -ENOMEM);
    w->out = (struct fields_out){.at = at, .end = at ? at + room : NULL};
    return &w->out;
}

void log_writer_added(struct log_writer *w) {
    if (w->out.overflow) note_error(w, ERR_LIMIT);
    if (w->error) return;
    w->records.len = (size_t)(w->out.at - w->records.data);
    if (w->records.len >= RECORDS_BLOCK_BYTES) note_error(w, log_writer_flush(w));
}

struct fields_out *log_writer_begin(struct log_writer *w, unsigned kind, size_t room) {
    struct fields_out *out = log_writer_room(w, room + RECORD_HEAD_BYTES);
    fields_begin(out, kind);
    return out;
}

void log_writer_end(struct log_writer *w) {
    fields_end(&w->out);
    log_writer_added(w);
}

void log_writer_records(struct log_writer *w, const struct bytes *records) {
    struct fields_out *out = log_writer_room(w, records->len);
    if (!out->at) return;
    memcpy(out->at, records->data, records->len);
    out->at += records->len;
    log_writer_added(w);
}

static int write_records(struct log_writer *w, struct log_block *block, const uint8_t *records, size_t len) {
    w->stored.len = 0;
    FORWARD(log_block_append(block, records, len, &w->stored));
    return write_all(w, w->stored.data, w->stored.len);
}

static int add_to_index(struct log_writer *w, uint64_t offset, const struct log_block *block,
                        const struct log_summary *summary) {
    uint8_t *at = bytes_reserve(&w->index, INDEX_ROOM);
    RETURN_IF(!at, -ENOMEM);
    struct fields_out out = {.at = at, .end = at + INDEX_ROOM};
    fields_begin(&out, RECORD_BLOCK);
    fields_number(&out, INDEX_OFFSET, offset);
    fields_number(&out, INDEX_TYPE, block->type);
    fields_number(&out, INDEX_STORED_LEN, block->stored_len);
    if (summary) {
        fields_number(&out, INDEX_STREAM, block->stream);
        fields_number(&out, INDEX_PROCESS, summary->process);
        fields_number(&out, INDEX_EVENTS, block->events);
        fields_number(&out, INDEX_START_NS, block->start_ns);
        fields_number(&out, INDEX_END_NS, block->end_ns);
        if (block->flags & BLOCK_BELOW) fields_number(&out, INDEX_FLAGS, block->flags);
        fields_indexed(&out, INDEX_CLASS_COUNT, summary->count, CLASS_COUNT);
        fields_indexed(&out, INDEX_CLASS_BYTES, summary->bytes, CLASS_COUNT);
        fields_indexed(&out, INDEX_CLASS_NS, summary->duration_ns, CLASS_COUNT);
    }
    fields_end(&out);
    RETURN_IF(out.overflow, ERR_LIMIT);
    w->index.len = (size_t)(out.at - w->index.data);
    return 0;
}

int log_writer_index(struct log_writer *w, uint64_t offset, const struct log_block *block) {
    return add_to_index(w, offset, block, NULL);
}

// File systems that share blocks between files copy nothing here.
int log_writer_copy(struct log_writer *w, int fd, uint64_t end) {
    off_t from = LOG_HEADER_BYTES;
    while ((uint64_t)from < end) {
        ssize_t done = copy_file_range(fd, &from, w->fd, NULL, end - (uint64_t)from, 0);
        if (done < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
            done = sendfile(w->fd, fd, &from, end - (uint64_t)from);
        if (done < 0 && errno == EINTR) continue;
        RETURN_IF(done <= 0, done ? -errno : ERR_TRUNCATED);
    }
    w->offset = end;
    return 0;
}

// Until all blocks are written, the thread that does it has the writer.
static int wait_for_queue(struct log_writer *w) {
    if (w->queue) note_error(w, log_queue_wait(w->queue));
    return w->error;
}

int log_writer_flush(struct log_writer *w) {
    RETURN_IF(w->error || w->records.len == 0, w->error);
    FORWARD(wait_for_queue(w));
    struct log_block block = {.type = BLOCK_RECORDS};
    uint64_t offset = w->offset;
    FORWARD(write_records(w, &block, w->records.data, w->records.len));
    w->records.len = 0;
    return add_to_index(w, offset, &block, NULL);
}

static int store_events(void *context, struct log_block *block, const struct bytes *raw,
                        const struct log_summary *summary) {
    struct log_writer *w = context;
    uint64_t offset = w->offset;
    // The header comes first but is known last; together the block is one write.
    w->stored.len = 0;
    RETURN_IF(!bytes_reserve(&w->stored, LOG_BLOCK_HEADER_BYTES), -ENOMEM);
    w->stored.len = LOG_BLOCK_HEADER_BYTES;
    FORWARD(log_block_store(block, raw->data, raw->len, &w->stored));
    log_block_put(w->stored.data, block);
    FORWARD(write_all(w, w->stored.data, w->stored.len));
    return add_to_index(w, offset, block, summary);
}

int log_writer_events(struct log_writer *w, struct log_block *block, const uint8_t *raw, size_t len,
                      const struct log_summary *summary) {
    // Records come before the events that refer to them, so that a log that is cut off has the names.
    FORWARD(log_writer_flush(w));
    w->has_events = true;
    if (++w->blocks == ALONE_BLOCKS) w->queue = log_queue_start(store_events, w);
    if (w->queue) return log_queue_add(w->queue, block, raw, len, summary);
    return store_events(w, block, &(struct bytes){.data = (uint8_t *)raw, .len = len}, summary);
}

// Blocks of a size that readers accept, each with whole records.
static int write_index(struct log_writer *w) {
    struct fields_in rest = fields_of(&w->index);
    const uint8_t *from = rest.at;
    for (;;) {
        unsigned kind;
        struct fields_in body;
        int more = fields_next_record(&rest, &kind, &body);
        FORWARD(more);
        if (more && rest.at - from < INDEX_BLOCK_BYTES) continue;
        struct log_block block = {.type = BLOCK_INDEX};
        FORWARD(write_records(w, &block, from, (size_t)(rest.at - from)));
        from = rest.at;
        if (from == rest.end) return 0;
    }
}

int log_writer_may_replace(const char *path, bool replace) {
    struct stat there;
    if (lstat(path, &there)) return errno == ENOENT ? 0 : -errno;
    RETURN_IF(!replace, ERR_EXISTS);
    RETURN_IF(!S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode), ERR_EXISTS);
    return 0;
}

static int rename_into_place(struct log_writer *w, bool replace) {
    FORWARD(log_writer_may_replace(w->path, replace));
    int code = renameat2(AT_FDCWD, w->beside, AT_FDCWD, w->path, replace ? 0 : RENAME_NOREPLACE);
    // Some file systems do not know the flag; then only the check above protects an existing log.
    if (code && errno == EINVAL) code = rename(w->beside, w->path);
    RETURN_IF(code && errno == EEXIST, ERR_EXISTS);
    RETURN_IF(code, -errno);
    free(w->beside);
    w->beside = NULL;
    return 0;
}

int log_writer_publish(struct log_writer *w, bool replace) {
    FORWARD(log_writer_flush(w));
    FORWARD(wait_for_queue(w));
    uint64_t index_offset = w->offset;
    if (w->has_events) FORWARD(write_index(w)); // blocks of records need none: readers read all of them
    RETURN_IF(w->offset - index_offset > UINT32_MAX, ERR_LIMIT);
    uint8_t trailer[LOG_TRAILER_BYTES];
    log_trailer_put(trailer, (uint32_t)(w->offset - index_offset));
    FORWARD(write_all(w, trailer, sizeof trailer));

    // The spill files are removed once the log has its name: by then it must be on the disk.
    RETURN_IF(!w->has_source && fdatasync(w->fd) && errno != EINVAL && errno != ENOSYS, -errno);
    // Network file systems report a full disk only here.
    int fd = w->fd;
    w->fd = -1;
    RETURN_IF(close(fd), -errno);
    return rename_into_place(w, replace);
}

void log_writer_abandon(struct log_writer *w) {
    log_queue_stop(w->queue);
    if (w->fd >= 0) close(w->fd);
    if (w->beside) unlink(w->beside);
    free(w->beside);
    free(w->path);
    bytes_free(&w->stored);
    bytes_free(&w->records);
    bytes_free(&w->index);
    *w = (struct log_writer){.fd = -1};
}
