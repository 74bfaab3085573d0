// Calls of stdio. Transfers use the program's own call if its number of bytes describes it completely. The data is
// text.
#include <stdio_ext.h>

#include "replay/runner/ops.h"
#include "replay/runner/unrecorded.h"

// The mode that makes fopen open with these flags.
static const char *mode_of(uint32_t flags) {
    bool both = (flags & O_ACCMODE) == O_RDWR;
    if (flags & O_APPEND) return both ? "a+" : "a";
    if (flags & O_TRUNC) return both ? "w+" : "w";
    return both ? "r+" : (flags & O_ACCMODE) == O_WRONLY ? "w" : "r";
}

// The same, for a descriptor that is open: fdopen truncates nothing.
static const char *mode_of_open(int flags) {
    if ((flags & O_ACCMODE) == O_RDONLY) return "r";
    return (flags & O_ACCMODE) == O_RDWR ? "r+" : "w";
}

static int64_t stdio_open(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    bool adopts = replay_call_of(step)->form == REPLAY_FDOPEN && file->fd >= 0;
    FILE *stream = adopts ? fdopen(file->fd, mode_of_open(file->flags)) : fopen(file->path, mode_of(step->kind->flags));
    if (!stream) return -errno;
    if (file->stdio && !file->stdio_is_adopted) {
        file->older_stdio = file->stdio;
        file->older_stdio_position = file->position;
    }
    if (adopts) {
        file->fd = -1; // belongs to the stream now
    } else {
        file->flags = (int)step->kind->flags;
        file->position = 0;
    }
    file->stdio = stream;
    file->stdio_is_adopted = false;
    files_opened(thread->runner, file);
    return 0;
}

static int64_t stdio_close(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    (void)thread, (void)step;
    FILE *stream = file->stdio;
    file->stdio = file->older_stdio;
    file->position = file->older_stdio ? file->older_stdio_position : file->position;
    file->older_stdio = NULL;
    file->stdio_is_adopted = false;
    return stream && fclose(stream) ? -errno : 0;
}

static bool stdio_lacks(const struct replay_file *file, const struct model_step *step) {
    (void)step;
    return !file->stdio;
}

// Makes a stream for standard input or output, which no call opens.
static void stdio_make_ready(const struct runner *runner, struct replay_file *file, const struct model_step *step) {
    int open = file->fd >= 0 ? file->fd : file->spare;
    int fd = open >= 0 ? unrecorded_dup(open) : files_open_inherited(runner, file, step);
    file->stdio = fd < 0 ? NULL : unrecorded_fdopen(fd, mode_of_open(file->flags));
    file->stdio_is_adopted = true;
}

// --- transfers

int replay_list(int (*call)(FILE *, const char *, va_list), FILE *stream, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = call(stream, format, list);
    va_end(list);
    return result;
}

// A file with two streams: makes the one that can do this the current one.
static void choose_stream(struct replay_file *file, unsigned class) {
    bool writes = class == CLASS_WRITE || class == CLASS_SYNC;
    if (!file->older_stdio || (writes ? __fwritable(file->stdio) : __freadable(file->stdio))) return;
    FILE *stream = file->stdio;
    off_t position = file->position;
    file->stdio = file->older_stdio;
    file->position = file->older_stdio_position;
    file->older_stdio = stream;
    file->older_stdio_position = position;
}

// A program that reads again what it has just read has put it back, and ungetc is no event. True if the stream is
// there.
static bool put_back(struct replay_file *file, off_t offset) {
    FILE *stream = file->stdio;
    while (file->position > offset && stream->_IO_read_ptr > stream->_IO_read_base &&
           ungetc((unsigned char)stream->_IO_read_ptr[-1], stream) != EOF) {
        file->position--;
    }
    return file->position == offset;
}

static int64_t stdio_transfer(struct replay_thread *thread, struct replay_file *file, const struct model_step *step,
                              void *data) {
    (void)thread;
    size_t size = (size_t)step->op->at[AT_SIZE];
    if (!file->stdio) return -EBADF;
    choose_stream(file, step->kind->class);
    int64_t offset = step->op->at[AT_OFFSET];
    bool is_write = step->kind->class == CLASS_WRITE, appends = is_write && file->flags & O_APPEND;
    if (step->kind->has_offset && file->position != offset && !put_back(file, offset)) {
        if (!appends && fseeko(file->stdio, offset, SEEK_SET) < 0) return -errno;
        file->position = offset;
    }
    const struct replay_call *call = replay_call_of(step);
    if (call->form != REPLAY_STDIO_TRANSFER) call = &replay_calls[is_write ? CALL_fwrite : CALL_fread];
    int64_t moved = call->run(&(struct replay_arguments){.stream = file->stdio, .buf = data, .len = size});
    if (moved < 0) moved = 0;
    file->position += moved;
    if ((size_t)moved < size && ferror(file->stdio)) return errno ? -errno : -EIO;
    return moved;
}

static int64_t stdio_other(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    const struct replay_call *call = replay_call_of(step);
    bool flushes = step->kind->class == CLASS_SYNC;
    if (flushes && !file) return call->run(&(struct replay_arguments){.stream = NULL}) < 0 ? -errno : 0; // all streams
    if (!file || !file->stdio || (call->form != REPLAY_STDIO && call->form != REPLAY_STDIO_SEEK)) {
        operations_skip(thread->runner, step);
        return 0;
    }
    if (flushes) choose_stream(file, CLASS_SYNC);
    struct replay_arguments a = {.stream = file->stdio, .off = step->op->at[AT_OFFSET]};
    if (call->run(&a) < 0) return -errno;
    if (call->form == REPLAY_STDIO_SEEK) file->position = a.off;
    return 0;
}

const struct replay_backend replay_stdio = {
    .layer = LAYER_STDIO,
    .lacks = stdio_lacks,
    .make_ready = stdio_make_ready,
    .open = stdio_open,
    .close = stdio_close,
    .transfer = stdio_transfer,
    .other = stdio_other,
};
