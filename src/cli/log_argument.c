#include "cli/log_argument.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "pack/pack.h"

int log_argument_no_spills(const char *verb, const char *directory)
{
    fprintf(stderr, "ioseer %s: %s: no spill files in it\n", verb, directory);
    return STATUS_FAILURE;
}

static int fail(const struct log_argument *argument, int code)
{
    if (argument->is_directory && code == ERR_NOTHING) return log_argument_no_spills(argument->verb, argument->path);
    if (code != ERR_FORMAT) return cli_fail(argument->verb, argument->path, code);
    fprintf(stderr, "ioseer %s: %s: not an ioseer log\n", argument->verb, argument->path);
    return STATUS_FAILURE;
}

// The packed log needs no name once it is open. Returns an exit status.
static int open_directory(struct log_argument *argument)
{
    const char *folder = getenv("TMPDIR");
    char *packed = NULL;
    signal(SIGXFSZ, SIG_IGN); // a log that may not grow so large is an error like a full disk
    if (!folder || !*folder) folder = "/tmp";
    if (asprintf(&packed, "%s/ioseer-XXXXXX", folder) < 0) return fail(argument, -ENOMEM);
    int fd = mkstemp(packed);
    if (fd < 0) {
        int status = cli_fail(argument->verb, folder, -errno);
        free(packed);
        return status;
    }
    close(fd);
    struct pack_options options = {.replace = true};
    struct pack_result result;
    int code = pack_directory(NULL, argument->path, packed, &options, &result);
    if (code == 0) code = log_open(&argument->log, packed);
    unlink(packed);
    free(packed);
    return code < 0 ? fail(argument, code) : STATUS_OK;
}

int log_argument_open(struct log_argument *argument, const char *verb, int argc, char **argv)
{
    if (argc < 2) return cli_usage(verb, "LOG", "is missing");
    if (argc > 2) return cli_usage(verb, argv[2], "one LOG is enough");
    struct stat st;
    *argument = (struct log_argument){.verb = verb, .path = argv[1]};
    if (stat(argv[1], &st)) return cli_fail(verb, argv[1], -errno);
    argument->is_directory = S_ISDIR(st.st_mode);
    if (argument->is_directory) return open_directory(argument);
    int code = log_open(&argument->log, argv[1]);
    return code < 0 ? fail(argument, code) : STATUS_OK;
}

int log_argument_spare(const struct log_argument *argument, const char *path)
{
    struct stat log, there;
    if (path && stat(argument->path, &log) == 0 && stat(path, &there) == 0 && log.st_dev == there.st_dev &&
        log.st_ino == there.st_ino) {
        return cli_usage(argument->verb, path, "is LOG itself; the output needs another name");
    }
    return STATUS_OK;
}

int log_argument_output(const struct log_argument *argument, struct output *output, const char *path)
{
    int status = log_argument_spare(argument, path);
    return status == STATUS_OK ? output_open(output, argument->verb, path) : status;
}

void log_argument_close(struct log_argument *argument)
{
    log_close(argument->log);
}

void log_argument_warn(const struct log_argument *argument)
{
    char *line = NULL;
    size_t len;
    FILE *out = open_memstream(&line, &len);
    if (!out) return;
    int parts = describe_health(out, log_health(argument->log));
    if (fclose(out) == 0 && parts) {
        fprintf(stderr, "ioseer %s: %s: not all of it could be read: %s\n", argument->verb, argument->path, line);
    }
    free(line);
}
