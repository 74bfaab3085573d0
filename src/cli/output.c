#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/human.h"
#include "base/terminal.h"
#include "cli/pager.h"
#include "cli/verb.h"

static void prefix(const char *verb, enum terminal_style style) {
    fprintf(stderr, "%sioseer%s%s:%s ", terminal_style(stderr, style), verb ? " " : "", verb ? verb : "",
            terminal_style(stderr, STYLE_NONE));
}

void cli_prefix(const char *verb) { prefix(verb, STYLE_BAD); }

void cli_warn(const char *verb, const char *format, ...) {
    va_list list;
    va_start(list, format);
    prefix(verb, STYLE_WARNING);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
}

// One line, whatever a name or a file contains.
static void say(const char *verb, const char *what, const char *why) {
    cli_prefix(verb);
    human_print_name(stderr, what);
    if (*what) fputs(": ", stderr);
    human_print_name(stderr, why);
    fputc('\n', stderr);
}

enum status cli_fail(const char *verb, const char *what, int code) {
    say(verb, what, err_text(code));
    return STATUS_FAILURE;
}

enum status cli_fail_json(const char *verb, const char *path, int code, const struct json_in_error *error) {
    if (!error->line) return cli_fail(verb, path, code);
    cli_prefix(verb);
    fprintf(stderr, "%s:%u: %s\n", path, error->line, error->message);
    return STATUS_FAILURE;
}

enum status cli_usage(const char *verb, const char *what, const char *why) {
    say(verb, what, why);
    return STATUS_USAGE;
}

enum status cli_problem(const char *verb, const char *what, const struct problem *problem, int code) {
    if (problem->signal) return STATUS_SIGNAL + (enum status)problem->signal;
    if (*problem->why) what = problem->what;
    say(verb, what, *problem->why ? problem->why : err_text(code));
    return code == ERR_USAGE ? STATUS_USAGE : STATUS_FAILURE;
}

// A device or a pipe cannot be replaced by renaming.
static bool is_special(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int file_open(struct output *o) {
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

enum status output_open(struct output *o, const char *verb, const char *path) {
    *o = (struct output){.verb = verb, .path = path, .out = stdout};
    // A write to a pipe without a reader, or past the limit for files, must fail with an error, not kill the process.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    FILE *paged = path ? NULL : pager_open();
    if (paged) o->out = paged;
    if (!path) return STATUS_OK;
    int code = file_open(o);
    if (code == 0) return STATUS_OK;
    free(o->beside);
    return cli_fail(verb, path, code);
}

void output_live(struct output *o) {
    if (o->path || o->out == stdout) return;
    fclose(o->out);
    o->out = stdout;
}

enum status output_check(const char *verb, const char *path) {
    struct output o;
    struct stat st;
    if (!path || is_special(path)) return STATUS_OK;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return cli_fail(verb, path, -EISDIR);
    enum status status = output_open(&o, verb, path);
    if (status == STATUS_OK) output_close(&o, true);
    return status;
}

struct json_out *output_json(struct output *o, unsigned unfold) {
    o->json = json_out_begin(o->out, unfold);
    if (o->json) return o->json;
    cli_fail(o->verb, "memory", -ENOMEM);
    if (o->beside) unlink(o->beside);
    exit(STATUS_FAILURE);
}

void output_json_end(struct output *o) {
    int written = o->json ? json_out_end(o->json) : 0;
    o->json = NULL;
    if (written < 0 && !o->error) o->error = written;
}

bool output_failed(struct output *o) {
    if (o->json && o->json->error && !o->error) o->error = o->json->error;
    if (ferror(o->out) && !o->error) o->error = errno ? -errno : -EIO;
    return o->error;
}

enum status output_close(struct output *o, bool verb_failed) {
    errno = 0;
    output_json_end(o);
    if (fflush(o->out)) output_failed(o);
    output_failed(o);
    if (o->out != stdout && fclose(o->out) && !o->error) o->error = -errno;
    if (o->beside) {
        if (!verb_failed && !o->error && rename(o->beside, o->path)) o->error = -errno;
        if (verb_failed || o->error) unlink(o->beside);
        free(o->beside);
    }
    if (verb_failed) return STATUS_FAILURE;
    if (!o->error) return STATUS_OK;
    if (o->error == -EPIPE) return o->path || o->out == stdout ? STATUS_FAILURE : STATUS_OK;
    return cli_fail(o->verb, o->path ? o->path : "standard output", o->error);
}

enum status output_end(struct output *o, const char *what, int code) {
    if (code < 0 && ferror(o->out) && !o->error) o->error = code; // errno may have changed by now
    bool failed = code < 0 && !output_failed(o);
    if (failed) cli_fail(o->verb, what, code);
    return output_close(o, failed);
}
