// Buffered streams.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <string.h>

#include "model/compare/similarity.h"
#include "replay/runner/runner.h"
#include "replay/runner/unrecorded.h"

// The mode of fopen from the flags that it opens with.
static const char *mode_of(uint32_t flags)
{
    bool both = (flags & O_ACCMODE) == O_RDWR;
    if (flags & O_APPEND) return both ? "a+" : "a";
    if (flags & O_TRUNC) return both ? "w+" : "w";
    return both ? "r+" : (flags & O_ACCMODE) == O_WRONLY ? "w" : "r";
}

// For a descriptor that is open already: nothing is truncated.
static const char *mode_of_open(int flags)
{
    if ((flags & O_ACCMODE) == O_RDONLY) return "r";
    return (flags & O_ACCMODE) == O_RDWR ? "r+" : "w";
}

static int64_t stdio_open(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    bool adopts = !strcmp(step->kind->call, "fdopen") && file->fd >= 0;
    FILE *stream = adopts ? fdopen(file->fd, mode_of_open(file->flags)) : fopen(file->path, mode_of(step->kind->flags));
    if (!stream) return -errno;
    if (file->stream && !file->stream_is_on) {
        file->older = file->stream;
        file->older_position = file->position;
    }
    if (adopts) {
        file->fd = -1; // the stream's from now on
    } else {
        file->flags = (int)step->kind->flags;
        file->position = 0;
    }
    file->stream = stream;
    file->stream_is_on = false;
    runner_opened(lane->runner, file);
    return 0;
}

static int64_t stdio_close(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    (void)lane, (void)step;
    FILE *stream = file->stream;
    file->stream = file->older;
    file->position = file->older ? file->older_position : file->position;
    file->older = NULL;
    file->stream_is_on = false;
    return stream && fclose(stream) ? -errno : 0;
}

static bool stdio_lacks(const struct replay_file *file, const struct model_step *step)
{
    (void)step;
    return !file->stream;
}

// On standard input and output, which no call opens.
static void stdio_make_ready(const struct runner *runner, struct replay_file *file, const struct model_step *step)
{
    int open = file->fd >= 0 ? file->fd : file->spare;
    int fd = open >= 0 ? unseen_dup(open) : runner_open_inherited(runner, file, step);
    file->stream = fd < 0 ? NULL : unseen_fdopen(fd, mode_of_open(file->flags));
    file->stream_is_on = true;
}

// --- transfers: by the program's own call where bytes and their number say all about it; the data is text

static int print(FILE *stream, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vfprintf(stream, format, list);
    va_end(list);
    return length;
}

static size_t put_bytes(FILE *stream, const char *data, size_t size, int (*put)(int byte, FILE *stream))
{
    size_t moved = 0;
    while (moved < size && put((unsigned char)data[moved], stream) != EOF) moved++;
    return moved;
}

static size_t get_bytes(FILE *stream, char *data, size_t size, int (*get)(FILE *stream))
{
    size_t moved = 0;
    for (int byte; moved < size && (byte = get(stream)) != EOF; moved++) data[moved] = (char)byte;
    return moved;
}

// Compilers expand the calls without locks: what is seen of them is where the buffer is filled or emptied, with all
// bytes.
static int put_unlocked(int byte, FILE *stream)
{
    return putc_unlocked(byte, stream);
}

static int get_unlocked(FILE *stream)
{
    return getc_unlocked(stream);
}

static size_t by_fputc(FILE *stream, char *data, size_t size)
{
    return put_bytes(stream, data, size, fputc);
}

static size_t by_putc(FILE *stream, char *data, size_t size)
{
    return put_bytes(stream, data, size, putc);
}

static size_t by_putc_unlocked(FILE *stream, char *data, size_t size)
{
    return put_bytes(stream, data, size, put_unlocked);
}

static size_t by_fgetc(FILE *stream, char *data, size_t size)
{
    return get_bytes(stream, data, size, fgetc);
}

static size_t by_getc(FILE *stream, char *data, size_t size)
{
    return get_bytes(stream, data, size, getc);
}

static size_t by_getc_unlocked(FILE *stream, char *data, size_t size)
{
    return get_bytes(stream, data, size, get_unlocked);
}

static size_t by_fwrite(FILE *stream, char *data, size_t size)
{
    return fwrite(data, 1, size, stream);
}

static size_t by_fread(FILE *stream, char *data, size_t size)
{
    return fread(data, 1, size, stream);
}

static size_t by_fprintf(FILE *stream, char *data, size_t size)
{
    int length = size > INT_MAX ? -1 : fprintf(stream, "%.*s", (int)size, data);
    return length < 0 ? 0 : (size_t)length;
}

static size_t by_vfprintf(FILE *stream, char *data, size_t size)
{
    int length = size > INT_MAX ? -1 : print(stream, "%.*s", (int)size, data);
    return length < 0 ? 0 : (size_t)length;
}

static size_t by_fputs(FILE *stream, char *data, size_t size)
{
    char behind = data[size];
    data[size] = 0;
    bool put = fputs(data, stream) >= 0;
    data[size] = behind;
    return put ? size : 0;
}

static size_t by_fgets(FILE *stream, char *data, size_t size)
{
    if (!size || size >= INT_MAX) return by_fread(stream, data, size);
    return fgets(data, (int)size + 1, stream) ? strlen(data) : 0;
}

static const struct {
    const char *call;
    replay_mover *move;
} movers[] = {
    {"fputc", by_fputc},     {"putc", by_putc},         {"putc_unlocked", by_putc_unlocked},
    {"fgetc", by_fgetc},     {"getc", by_getc},         {"getc_unlocked", by_getc_unlocked},
    {"fprintf", by_fprintf}, {"vfprintf", by_vfprintf}, {"fputs", by_fputs},
    {"fgets", by_fgets},
};

// Found once for operations of a kind that follow each other: a name is compared as slowly as a byte is written.
static replay_mover *mover_of(struct lane_run *lane, const struct op_kind *kind)
{
    if (lane->moved == kind) return lane->move;
    const char *call = similarity_call(kind);
    lane->moved = kind;
    lane->move = kind->class == CLASS_WRITE ? by_fwrite : by_fread;
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++) {
        if (!strcmp(movers[i].call, call)) lane->move = movers[i].move;
    }
    return lane->move;
}

// Of two streams the one that is for this.
static void choose_stream(struct replay_file *file, unsigned class)
{
    bool writes = class == CLASS_WRITE || class == CLASS_SYNC;
    if (!file->older || (writes ? __fwritable(file->stream) : __freadable(file->stream))) return;
    FILE *stream = file->stream;
    off_t position = file->position;
    file->stream = file->older;
    file->position = file->older_position;
    file->older = stream;
    file->older_position = position;
}

static int64_t stdio_transfer(struct lane_run *lane, struct replay_file *file, const struct model_step *step,
                              void *data)
{
    size_t size = (size_t)step->op->at[AT_SIZE];
    if (!file->stream) return -EBADF;
    choose_stream(file, step->kind->class);
    int64_t offset = step->op->at[AT_OFFSET];
    bool is_write = step->kind->class == CLASS_WRITE, appends = is_write && file->flags & O_APPEND;
    if (step->kind->has_offset && file->position != offset) {
        if (!appends && fseeko(file->stream, offset, SEEK_SET) < 0) return -errno;
        file->position = offset;
    }
    size_t moved = mover_of(lane, step->kind)(file->stream, data, size);
    file->position += (int64_t)moved;
    if (moved < size && ferror(file->stream)) return errno ? -errno : -EIO;
    return (int64_t)moved;
}

static int64_t stdio_seek(struct replay_file *file, const struct model_step *step)
{
    int64_t offset = step->op->at[AT_OFFSET];
    int code = strcmp(step->kind->call, "fseek") ? fseeko(file->stream, offset, SEEK_SET)
                                                 : fseek(file->stream, offset, SEEK_SET);
    if (code < 0) return -errno;
    file->position = offset;
    return 0;
}

static int64_t stdio_other(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    const char *call = step->kind->call;
    if (file && file->stream) {
        if (step->kind->class == CLASS_SYNC) choose_stream(file, CLASS_SYNC);
        if (!strcmp(call, "fseek") || !strcmp(call, "fseeko")) return stdio_seek(file, step);
        if (!strcmp(call, "fflush")) return fflush(file->stream) < 0 ? -errno : 0;
        if (!strcmp(call, "fileno")) return fileno(file->stream) < 0 ? -errno : 0;
        if (!strcmp(call, "setvbuf")) return setvbuf(file->stream, NULL, _IOFBF, 0) ? -EINVAL : 0; // changes nothing
        if (!strcmp(call, "rewind")) {
            rewind(file->stream);
            file->position = 0;
            return 0;
        }
    }
    runner_skip(lane->runner, step);
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
