#include "cli/log_argument.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/verb.h"
#include "log/describe.h"
#include "pack/pack.h"

enum status log_argument_open(struct log_argument *argument, const char *verb, int argc, char **argv)
{
    if (argc < 2) return cli_usage(verb, "LOG", "is missing");
    if (argc > 2) return cli_usage(verb, argv[2], "one LOG is enough");
    struct problem problem = {0};
    *argument = (struct log_argument){.verb = verb, .path = argv[1]};
    signal(SIGXFSZ, SIG_IGN); // a directory is packed into a log, which may not be allowed to grow so large
    int code = pack_open_log(&argument->log, argv[1], &argument->is_directory, &problem);
    return code < 0 ? cli_problem(verb, argv[1], &problem, code) : STATUS_OK;
}

enum status log_argument_spare(const struct log_argument *argument, const char *path)
{
    struct stat log, there;
    if (path && stat(argument->path, &log) == 0 && stat(path, &there) == 0 && log.st_dev == there.st_dev &&
        log.st_ino == there.st_ino) {
        return cli_usage(argument->verb, path, "is LOG itself; the output needs another name");
    }
    return STATUS_OK;
}

enum status log_argument_output(const struct log_argument *argument, struct output *output, const char *path)
{
    enum status status = log_argument_spare(argument, path);
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

enum status log_argument_print(const char *verb, int argc, char **argv, const struct print_options *options,
                               int (*print)(struct log *log, struct output *output))
{
    struct log_argument argument;
    struct output output;
    enum status status = log_argument_open(&argument, verb, argc, argv);
    if (status != STATUS_OK) return status;
    status = log_argument_output(&argument, &output, options->output);
    if (status == STATUS_OK) {
        status = output_end(&output, argument.path, print(argument.log, &output));
        if (status == STATUS_OK && !options->quiet) log_argument_warn(&argument);
    }
    log_argument_close(&argument);
    return status;
}
