// What all kinds of emulated storage need to start and stop.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/emulate.h"
#include "cli/verb.h"
#include "target/emulate/emulate.h"
#include "target/mount_point.h"
#include "target/throttle/throttle.h"

int emulate_fail(const char *what, const char *why)
{
    fprintf(stderr, "ioseer emulate: %s: %s\n", what, why);
    return STATUS_FAILURE;
}

// --- places

static bool is_ours(const char *name)
{
    return emulate_state_of(name) != EMULATE_NONE || throttle_is_at(name);
}

int emulate_mount_name(const char *given, char name[PATH_MAX])
{
    char before[PATH_MAX], above[PATH_MAX];
    size_t length = strlen(given);
    while (length > 1 && given[length - 1] == '/') length--;
    const char *slash = memrchr(given, '/', length), *last = slash ? slash + 1 : given;
    size_t last_length = length - (size_t)(last - given);
    snprintf(before, sizeof before, "%.*s", slash ? (int)(last - given) : 1, slash ? given : ".");
    if (realpath(before, above)) {
        bool is_root = !strcmp(above, "/");
        int made = snprintf(name, PATH_MAX, "%s/%.*s", is_root ? "" : above, (int)last_length, last);
        if (made < PATH_MAX && is_ours(name)) return 0;
    }
    return realpath(given, name) ? 0 : -errno;
}

static int is_empty(const char *directory)
{
    DIR *listing = opendir(directory);
    RETURN_IF(!listing, -errno);
    int entries = 0;
    while (readdir(listing)) entries++;
    closedir(listing);
    return entries <= 2;
}

// What is mounted must not hide anything.
int emulate_check_mount(const char *given, const char *mount)
{
    if (geteuid() == 0) throttle_remove_dead();
    enum emulate_state state = emulate_state_of(mount);
    if (state == EMULATE_SERVED || throttle_is_at(mount))
        return emulate_fail(given, "is a mount of ioseer's already; --stop ends it");
    if (state == EMULATE_DEAD) return STATUS_OK;
    int empty = is_empty(mount);
    if (empty < 0) return cli_fail("emulate", given, empty);
    return empty ? STATUS_OK : cli_fail("emulate", given, -ENOTEMPTY);
}

// --- starting

// What libfuse and its helper say begins with their names, which is of no use here.
static int fail_to_start(const char *mount, const struct target_outcome *outcome)
{
    const char *why = outcome->why[0] ? outcome->why : err_text(outcome->code), *colon = strstr(why, ": ");
    return emulate_fail(mount, colon && !strncmp(why, "fuse", 4) ? colon + 2 : why);
}

// Fails where the one who started this was killed in between.
static int announce(const struct target_outcome *outcome, void *context)
{
    int pipe = *(int *)context;
    signal(SIGPIPE, SIG_IGN);
    ssize_t put = write(pipe, outcome, sizeof *outcome);
    close(pipe);
    return put < 0 ? -EPIPE : 0;
}

// Nothing of the caller's may be held: neither its directory nor its descriptors.
static void leave_caller(int keep)
{
    setsid();
    if (chdir("/") < 0) _exit(STATUS_FAILURE);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++) dup2(null, fd);
    if (keep > 3) close_range(3, (unsigned)keep - 1, 0);
    close_range((unsigned)keep + 1, ~0u, 0);
}

static int serve_in_background(emulate_server_function *serve, const void *what, struct target_outcome *outcome)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    pid_t child = fork();
    RETURN_IF(child < 0, -errno);
    if (!child) {
        leave_caller(ends[1]);
        _exit(serve(what, announce, &ends[1]) < 0 ? STATUS_FAILURE : STATUS_OK);
    }
    close(ends[1]);
    if (read(ends[0], outcome, sizeof *outcome) != sizeof *outcome) *outcome = target_killed;
    close(ends[0]);
    if (outcome->code) waitpid(child, NULL, 0);
    return outcome->code;
}

static int keep_outcome(const struct target_outcome *outcome, void *context)
{
    *(struct target_outcome *)context = *outcome;
    return 0;
}

static int serve_in_foreground(emulate_server_function *serve, const void *what, struct target_outcome *outcome)
{
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) return 0; // it ended in between
    return serve(what, keep_outcome, outcome);
}

int emulate_start_process(const struct emulate_words *words, const char *given, emulate_server_function *serve,
                          const void *what)
{
    struct target_outcome outcome = {0};
    int code =
        words->foreground ? serve_in_foreground(serve, what, &outcome) : serve_in_background(serve, what, &outcome);
    if (outcome.code < 0) return fail_to_start(given, &outcome);
    return code < 0 ? cli_fail("emulate", given, code) : STATUS_OK;
}

// --- stopping

static int fail_busy(const char *given, const char *mount)
{
    char users[200];
    mount_point_users(mount, users, sizeof users);
    fprintf(stderr, "ioseer emulate: %s: in use%s%s; end that first, or add --force\n", given, users[0] ? " by " : "",
            users);
    return STATUS_FAILURE;
}

int emulate_end(const struct emulate_words *words, const char *given)
{
    char name[PATH_MAX];
    int code = emulate_mount_name(given, name);
    if (code < 0) return cli_fail("emulate", given, code);
    code = throttle_is_at(name) ? throttle_stop(name, words->force) : emulate_stop(name, words->force);
    if (code >= 0) return STATUS_OK;
    if (code == -EBUSY) return fail_busy(given, name);
    if (code == ERR_NOTHING) return emulate_fail(given, "nothing of ioseer's is mounted there");
    if (code == -ETIMEDOUT) return emulate_fail(given, "unmounted, but its server does not end");
    return cli_fail("emulate", given, code);
}
