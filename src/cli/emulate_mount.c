// Mounts of given speed, started and stopped for the command line.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "target/emulate.h"
#include "target/users.h"

#ifdef IOSEER_WITH_FUSE

// The name of the mount as the list of mounts has it. A mount whose server is dead or hangs cannot be asked, so the
// last word is taken as it is where the directory before it leads to a mount of ours.
static void mount_name(const char *given, char name[PATH_MAX])
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
        if (made < PATH_MAX && emulate_state_of(name) != EMULATE_NONE) return;
    }
    if (!realpath(given, name)) snprintf(name, PATH_MAX, "%s", given);
}

// --- stopping

static int fail_busy(const char *given, const char *mount)
{
    char users[200];
    users_text(mount, users, sizeof users);
    fprintf(stderr, "ioseer emulate: %s: in use%s%s; end that first, or add --force\n", given, users[0] ? " by " : "",
            users);
    return STATUS_FAILURE;
}

int emulate_end(const struct emulate_words *words, const char *given)
{
    char name[PATH_MAX];
    mount_name(given, name);
    int code = emulate_stop(name, words->force);
    if (code >= 0) return STATUS_OK;
    if (code == -EBUSY) return fail_busy(given, name);
    if (code == ERR_NOTHING) return emulate_fail(given, "nothing of ioseer's is mounted there");
    if (code == -ETIMEDOUT) return emulate_fail(given, "unmounted, but its server does not end");
    return cli_fail("emulate", given, code);
}

// --- starting

// What libfuse and its helper say begins with their names, which is of no use here.
static int fail_to_mount(const char *mount, const struct emulate_outcome *outcome)
{
    const char *why = outcome->why[0] ? outcome->why : err_text(outcome->code), *colon = strstr(why, ": ");
    return emulate_fail(mount, colon && !strncmp(why, "fuse", 4) ? colon + 2 : why);
}

// Fails where the one who started this was killed in between.
static int announce(const struct emulate_outcome *outcome, void *context)
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

static int serve_in_background(const struct emulate_options *what, struct emulate_outcome *outcome)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    pid_t child = fork();
    RETURN_IF(child < 0, -errno);
    if (!child) {
        leave_caller(ends[1]);
        _exit(emulate_serve(what, announce, &ends[1]) < 0 ? STATUS_FAILURE : STATUS_OK);
    }
    close(ends[1]);
    if (read(ends[0], outcome, sizeof *outcome) != sizeof *outcome) outcome->code = -EIO;
    close(ends[0]);
    if (outcome->code) waitpid(child, NULL, 0);
    return outcome->code;
}

static int keep_outcome(const struct emulate_outcome *outcome, void *context)
{
    *(struct emulate_outcome *)context = *outcome;
    return 0;
}

static int serve_in_foreground(const struct emulate_options *what, struct emulate_outcome *outcome)
{
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) return 0; // it ended in between
    return emulate_serve(what, keep_outcome, outcome);
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

static bool lies_inside(const char *inner, const char *outer)
{
    size_t length = strlen(outer);
    return !strncmp(inner, outer, length) && (inner[length] == '/' || !inner[length] || !strcmp(outer, "/"));
}

// What is mounted must not hide anything, least of all what it serves, and must not contain itself.
static int check_mount(const char *given, const char *backing, const char *mount)
{
    enum emulate_state state = emulate_state_of(mount);
    if (state == EMULATE_SERVED) return emulate_fail(given, "is a mount of ioseer's already; --stop ends it");
    if (state == EMULATE_DEAD) return STATUS_OK;
    if (lies_inside(mount, backing))
        return cli_usage("emulate", given, "lies inside BACKING; mount on a directory elsewhere");
    int empty = is_empty(mount);
    if (empty < 0) return cli_fail("emulate", given, empty);
    return empty ? STATUS_OK : cli_fail("emulate", given, -ENOTEMPTY);
}

static int64_t to_ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static int settings_of(const struct emulate_words *words, struct device_settings *settings)
{
    *settings = (struct device_settings){0};
    if (words->preset) {
        const struct device_preset *preset = device_preset_find(words->preset);
        if (!preset) return cli_usage("emulate", words->preset, "no such preset (--presets lists them)");
        *settings = preset->settings;
    }
    if (words->read_bandwidth) settings->read_bandwidth = words->read_bandwidth;
    if (words->write_bandwidth) settings->write_bandwidth = words->write_bandwidth;
    if (words->latency >= 0) settings->latency_ns = to_ns(words->latency);
    if (words->meta_latency >= 0) settings->meta_latency_ns = to_ns(words->meta_latency);
    if (words->seek_latency >= 0) settings->seek_latency_ns = to_ns(words->seek_latency);
    return STATUS_OK;
}

static int start(const struct emulate_words *words, const char *given, const struct emulate_options *what)
{
    struct emulate_outcome outcome = {0};
    int code = words->foreground ? serve_in_foreground(what, &outcome) : serve_in_background(what, &outcome);
    if (outcome.code < 0) return fail_to_mount(given, &outcome);
    if (code < 0) return cli_fail("emulate", given, code);
    if (!words->quiet && !words->foreground)
        printf("%s: mounted; ends with: ioseer emulate --stop %s\n", what->mount, given);
    return STATUS_OK;
}

int emulate_start(const struct emulate_words *words, const char *given_backing, const char *given_mount)
{
    char backing[PATH_MAX], mount[PATH_MAX];
    struct emulate_options what = {.backing = backing, .mount = mount, .kernel_cache = !strcmp(words->cache, "kernel")};
    if (!what.kernel_cache && strcmp(words->cache, "none"))
        return cli_usage("emulate", words->cache, "not none or kernel");
    int status = settings_of(words, &what.device);
    if (status != STATUS_OK) return status;
    if (!realpath(given_backing, backing)) return cli_fail("emulate", given_backing, -errno);
    mount_name(given_mount, mount);
    if (emulate_state_of(mount) == EMULATE_NONE && !realpath(given_mount, mount))
        return cli_fail("emulate", given_mount, -errno);
    status = check_mount(given_mount, backing, mount);
    return status == STATUS_OK ? start(words, given_mount, &what) : status;
}

#else

int emulate_start(const struct emulate_words *words, const char *backing, const char *mount)
{
    (void)words, (void)backing;
    return emulate_fail(mount, "left out of this build: libfuse 3.14 was not there");
}

int emulate_end(const struct emulate_words *words, const char *mount)
{
    return emulate_start(words, NULL, mount);
}

#endif
