// Buffered streams.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "model/similarity.h"
#include "replay/runner.h"
#include "replay/unseen.h"

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
    if (adopts) {
        file->fd = -1; // the stream's from now on
    } else {
        file->flags = (int)step->kind->flags;
        file->position = 0;
    }
    if (file->stream && !file->stream_is_on) fclose(file->stream);
    file->stream = stream;
    file->stream_is_on = false;
    runner_opened(lane->runner, file);
    return 0;
}

static int64_t stdio_close(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    (void)lane, (void)step;
    FILE *stream = file->stream;
    file->stream = NULL;
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

static int print(FILE *stream, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vfprintf(stream, format, list);
    va_end(list);
    return length;
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

// Calls for single bytes.
static const struct {
    const char *call;
    int (*put)(int byte, FILE *stream);
    int (*get)(FILE *stream);
} byte_calls[] = {
    {"fputc", fputc, NULL}, {"putc", putc, NULL}, {"putc_unlocked", put_unlocked, NULL},
    {"fgetc", NULL, fgetc}, {"getc", NULL, getc}, {"getc_unlocked", NULL, get_unlocked},
};

static bool byte_by_byte(const char *call, FILE *stream, char *data, size_t size, size_t *moved)
{
    size_t k = 0, calls = sizeof byte_calls / sizeof *byte_calls;
    while (k < calls && strcmp(byte_calls[k].call, call)) k++;
    if (k == calls) return false;
    for (*moved = 0; *moved < size; ++*moved) {
        int byte =
            byte_calls[k].put ? byte_calls[k].put((unsigned char)data[*moved], stream) : byte_calls[k].get(stream);
        if (byte == EOF) break;
        if (byte_calls[k].get) data[*moved] = (char)byte;
    }
    return true;
}

// By the program's own call where bytes and their number say all about it. The data is text.
static size_t write_by(const char *call, FILE *stream, char *data, size_t size)
{
    size_t moved;
    bool formats = !strcmp(call, "fprintf") || !strcmp(call, "vfprintf"), puts_text = !strcmp(call, "fputs");
    if (byte_by_byte(call, stream, data, size, &moved)) return moved;
    if (size > INT_MAX || !(formats || puts_text)) return fwrite(data, 1, size, stream);
    if (formats) {
        int length = call[0] == 'v' ? print(stream, "%.*s", (int)size, data) : fprintf(stream, "%.*s", (int)size, data);
        return length < 0 ? 0 : (size_t)length;
    }
    char behind = data[size];
    data[size] = 0;
    bool put = fputs(data, stream) >= 0;
    data[size] = behind;
    return put ? size : 0;
}

static size_t read_by(const char *call, FILE *stream, char *data, size_t size)
{
    size_t moved;
    if (byte_by_byte(call, stream, data, size, &moved)) return moved;
    if (size && size < INT_MAX && !strcmp(call, "fgets")) return fgets(data, (int)size + 1, stream) ? strlen(data) : 0;
    return fread(data, 1, size, stream);
}

static int64_t stdio_transfer(struct lane_run *lane, struct replay_file *file, const struct model_step *step,
                              void *data)
{
    size_t size = (size_t)step->op->at[AT_SIZE];
    (void)lane;
    if (!file->stream) return -EBADF;
    int64_t offset = step->op->at[AT_OFFSET];
    bool is_write = step->kind->class == CLASS_WRITE, appends = is_write && file->flags & O_APPEND;
    if (step->kind->has_offset && file->position != offset) {
        if (!appends && fseeko(file->stream, offset, SEEK_SET) < 0) return -errno;
        file->position = offset;
    }
    const char *call = similarity_call(step->kind);
    size_t moved = is_write ? write_by(call, file->stream, data, size) : read_by(call, file->stream, data, size);
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
