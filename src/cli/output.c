#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/verb.h"

int cli_fail(const char *verb, const char *what, int code)
{
    fprintf(stderr, "ioseer %s: %s: %s\n", verb, what, err_text(code));
    return STATUS_FAILURE;
}

int cli_usage(const char *verb, const char *what, const char *why)
{
    fprintf(stderr, "ioseer %s: %s: %s\n", verb, what, why);
    return STATUS_USAGE;
}

// A device or a pipe cannot be replaced by renaming.
static bool is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int file_open(struct output *o)
{
    const char *name = o->path;
    int flags = O_WRONLY | O_CLOEXEC;
    if (!is_special(o->path)) {
        RETURN_IF(asprintf(&o->beside, "%s.%ld.part", o->path, (long)getpid()) < 0, -ENOMEM);
        name = o->beside;
        flags |= O_CREAT | O_EXCL;
    }
    int fd = open(name, flags, 0666);
    RETURN_IF(fd < 0, -errno);
    o->out = fdopen(fd, "w");
    if (o->out) return 0;
    int code = -errno;
    close(fd);
    if (o->beside) unlink(o->beside);
    return code;
}

int output_open(struct output *o, const char *verb, const char *path)
{
    *o = (struct output){.verb = verb, .path = path, .out = stdout};
    // A write to a pipe without a reader should fail and be seen, not kill.
    signal(SIGPIPE, SIG_IGN);
    if (!path) return STATUS_OK;
    int code = file_open(o);
    if (code == 0) return STATUS_OK;
    free(o->beside);
    return cli_fail(verb, path, code);
}

int output_close(struct output *o, int code)
{
    const char *shown = o->path ? o->path : "standard output";
    // An error that an earlier, buffered write met is remembered by the stream only.
    errno = 0;
    bool failed = ferror(o->out);
    if (fflush(o->out)) failed = true;
    if (failed && code == 0) code = errno ? -errno : -EIO;
    if (o->path && fclose(o->out) && code == 0) code = -errno;
    if (o->beside) {
        if (code == 0 && rename(o->beside, o->path)) code = -errno;
        if (code < 0) unlink(o->beside);
        free(o->beside);
    }
    if (code == 0) return STATUS_OK;
    return code == -EPIPE ? STATUS_FAILURE : cli_fail(o->verb, shown, code);
}
