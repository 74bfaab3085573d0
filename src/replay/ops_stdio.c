// Buffered streams.
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "replay/runner.h"

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
    if (adopts) file->fd = -1; // the stream's from now on
    if (file->stream) fclose(file->stream);
    file->stream = stream;
    file->position = 0;
    runner_opened(lane->runner, file);
    return 0;
}

static int64_t stdio_close(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    (void)lane, (void)step;
    FILE *stream = file->stream;
    file->stream = NULL;
    return stream && fclose(stream) ? -errno : 0;
}

static int64_t stdio_transfer(struct lane_run *lane, struct replay_file *file, const struct model_step *step,
                              void *data)
{
    size_t size = (size_t)step->op->at[AT_SIZE];
    (void)lane;
    if (!file->stream) return -EBADF;
    if (step->kind->has_offset && ftello(file->stream) != step->op->at[AT_OFFSET]) {
        if (fseeko(file->stream, step->op->at[AT_OFFSET], SEEK_SET) < 0) return -errno;
    }
    size_t moved =
        step->kind->class == CLASS_WRITE ? fwrite(data, 1, size, file->stream) : fread(data, 1, size, file->stream);
    return moved < size && ferror(file->stream) ? -EIO : (int64_t)moved;
}

static int64_t stdio_other(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    const char *call = step->kind->call;
    if (file && file->stream) {
        if (!strcmp(call, "fseek")) return fseek(file->stream, step->op->at[AT_OFFSET], SEEK_SET) < 0 ? -errno : 0;
        if (!strcmp(call, "fseeko")) return fseeko(file->stream, step->op->at[AT_OFFSET], SEEK_SET) < 0 ? -errno : 0;
        if (!strcmp(call, "fflush")) return fflush(file->stream) < 0 ? -errno : 0;
        if (!strcmp(call, "rewind")) {
            rewind(file->stream);
            return 0;
        }
    }
    lane->runner->skipped++;
    return 0;
}

static void stdio_end_file(struct replay_file *file)
{
    if (file->stream) fclose(file->stream);
    file->stream = NULL;
}

const struct replay_backend replay_stdio = {
    .layer = LAYER_STDIO,
    .open = stdio_open,
    .close = stdio_close,
    .transfer = stdio_transfer,
    .other = stdio_other,
    .end_file = stdio_end_file,
};
