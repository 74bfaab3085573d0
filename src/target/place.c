#include "target/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate/emulate.h"
#include "target/mount_point.h"
#include "target/throttle/throttle.h"

static bool is_ours(const char *name) { return emulate_state_of(name) != EMULATE_NONE || throttle_is_at(name); }

int place_name(const char *given, char name[PATH_MAX]) {
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

// --- starting

// A mount must not hide anything.
static int check_free(const char *given, const char *mount, struct problem *problem) {
    if (geteuid() == 0) throttle_remove_dead();
    enum emulate_state state = emulate_state_of(mount);
    if (state == EMULATE_SERVED || throttle_is_at(mount))
        return problem_set(problem, -EBUSY, given, "is a mount of ioseer's already; --stop ends it");
    if (state == EMULATE_DEAD) return 0;
    int empty = mount_point_is_empty(mount);
    return empty > 0 ? 0 : problem_code(problem, empty < 0 ? empty : -ENOTEMPTY, given);
}

// Fails if the process that started this one was killed in between.
static int announce(const struct target_outcome *outcome, void *context) {
    int pipe = *(int *)context;
    signal(SIGPIPE, SIG_IGN);
    ssize_t put = write(pipe, outcome, sizeof *outcome);
    close(pipe);
    return put < 0 ? -EPIPE : 0;
}

// Releases everything of the caller: its directory and its descriptors.
static void leave_caller(int keep) {
    setsid();
    if (chdir("/") < 0) _exit(1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++) dup2(null, fd);
    if (keep > 3) close_range(3, (unsigned)keep - 1, 0);
    close_range((unsigned)keep + 1, ~0u, 0);
}

int place_in_background(place_serve *serve, const void *what, struct target_outcome *outcome) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    pid_t child = fork();
    RETURN_IF(child < 0, -errno);
    if (!child) {
        leave_caller(ends[1]);
        _exit(serve(what, announce, &ends[1]) < 0);
    }
    close(ends[1]);
    if (read(ends[0], outcome, sizeof *outcome) != sizeof *outcome) *outcome = target_killed;
    close(ends[0]);
    if (outcome->code) waitpid(child, NULL, 0);
    return outcome->code;
}

static int keep_outcome(const struct target_outcome *outcome, void *context) {
    *(struct target_outcome *)context = *outcome;
    return 0;
}

int place_start(const char *given, const char *mount, place_serve *serve, const void *what, bool in_foreground,
                struct problem *problem) {
    struct target_outcome outcome = {0};
    pid_t parent = getppid();
    if (in_foreground) prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (in_foreground && getppid() != parent) return 0; // it ended in between
    FORWARD(check_free(given, mount, problem));
    int code = in_foreground ? serve(what, keep_outcome, &outcome) : place_in_background(serve, what, &outcome);
    if (outcome.code >= 0) return code < 0 ? problem_code(problem, code, given) : 0;
    // libfuse and its helper begin their messages with their names, which say nothing to the user.
    const char *why = outcome.why[0] ? outcome.why : err_text(outcome.code), *colon = strstr(why, ": ");
    return problem_set(problem, outcome.code, given, "%s", colon && !strncmp(why, "fuse", 4) ? colon + 2 : why);
}

// --- stopping

int place_stop(const char *given, bool force, struct problem *problem) {
    char name[PATH_MAX];
    int code = place_name(given, name);
    if (code < 0) return problem_code(problem, code, given);
    code = throttle_is_at(name) ? throttle_stop(name, force) : emulate_stop(name, force);
    if (code == -EBUSY) return mount_point_in_use(name, given, problem);
    if (code == ERR_NOTHING) return problem_set(problem, code, given, "nothing of ioseer's is mounted there");
    if (code == -ETIMEDOUT) return problem_set(problem, code, given, "unmounted, but its server does not end");
    return code < 0 ? problem_code(problem, code, given) : 0;
}
