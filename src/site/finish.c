#include "site/finish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "fmt/spill.h"
#include "site/deliver.h"
#include "site/log_tree.h"

// In a job's directory: a link to its log, which lacks what has not arrived yet.
#define LOG_LINK "/log"

enum { SECONDS_PER_DAY = 24 * 3600 };

enum moment {
    JUST_ENDED,
    LEFT,     // a while ago
    LAST_TIME // nobody waits any longer for what has not arrived
};

static int name_inside(const char *directory, const char *name, char path[PATH_MAX]) {
    return snprintf(path, PATH_MAX, "%s%s", directory, name) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

// --- the log

struct naming {
    const struct site_settings *settings;
    struct problem *problem;
    char *path;
};

static int choose_path(void *context, const struct pack_name *name, char path[4096]) {
    const struct naming *naming = context;
    FORWARD(log_tree_name(naming->settings, name, path, naming->problem));
    strcpy(naming->path, path);
    return 0;
}

// The log that was made before more has arrived, unless it is gone.
static bool find_log(const char *directory, char path[PATH_MAX]) {
    char link[PATH_MAX];
    struct stat status;
    ssize_t len = name_inside(directory, LOG_LINK, link) < 0 ? -1 : readlink(link, path, PATH_MAX - 1);
    if (len <= 0) return false;
    path[len] = 0;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

static int link_log(const char *directory, const char *path) {
    char link[PATH_MAX];
    FORWARD(name_inside(directory, LOG_LINK, link));
    unlink(link);
    return symlink(path, link) ? -errno : 0;
}

static bool ends_in(const char *name, const char *suffix) {
    size_t len = strlen(name), suffix_len = strlen(suffix);
    return len > suffix_len && !strcmp(name + len - suffix_len, suffix);
}

// Two processes may both believe that they are the last: the one that can rename the directory makes the log. `plain`:
// its name before.
static int claim(const char *directory, char plain[PATH_MAX], char claimed[PATH_MAX]) {
    bool is_claimed = ends_in(directory, SITE_PACKING);
    FORWARD(name_inside(directory, "", plain));
    if (is_claimed) plain[strlen(plain) - (sizeof SITE_PACKING - 1)] = 0;
    FORWARD(name_inside(plain, SITE_PACKING, claimed));
    return is_claimed || rename(directory, claimed) == 0 ? 0 : -errno;
}

// Two jobs of one name may choose the same path at once: the second one chooses again.
static int pack_claimed(const char *claimed, struct naming *naming, struct pack_result *result) {
    enum { ATTEMPTS = 100 };
    const char *mode = naming->settings->value[SITE_LOG_MODE];
    struct pack_options options = {
        .mode = (unsigned)strtoul(mode, NULL, 8), .choose_path = choose_path, .choose_context = naming};
    options.most_ranks = strtoull(naming->settings->value[SITE_RANK_CAP], NULL, 10);
    options.replace = find_log(claimed, naming->path);
    if (options.replace) return pack_directory(NULL, claimed, naming->path, &options, result);
    int code = ERR_EXISTS;
    for (int i = 0; code == ERR_EXISTS && i < ATTEMPTS; i++)
        code = pack_directory(NULL, claimed, NULL, &options, result);
    return code;
}

// The directory gets a name under which nobody delivers anything to it; what came before that counts. 1: more has
// arrived than is in the log, which is to be made again.
static int put_away(const char *plain, const char *claimed, const char *log, bool is_last, struct deliveries packed) {
    char done[PATH_MAX];
    FORWARD(name_inside(plain, SITE_DONE, done));
    bool is_whole = packed.away == 0 || is_last;
    if (!is_whole) FORWARD(link_log(claimed, log));
    RETURN_IF(rename(claimed, is_whole ? done : plain), -errno);
    struct deliveries now = deliver_count(is_whole ? done : plain);
    bool has_more = now.arrived != packed.arrived || now.away != packed.away;
    if (is_whole && !has_more) return pack_remove_directory(done);
    if (is_whole) FORWARD(link_log(done, log));
    RETURN_IF(is_whole && rename(done, plain), -errno);
    return has_more;
}

static int make_claimed(const char *plain, const char *claimed, struct naming *naming, bool is_last, uint64_t *logs) {
    struct pack_result result = {0};
    int lock = open(claimed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), code = 0;
    RETURN_IF(lock < 0, -errno);
    bool is_taken = flock(lock, LOCK_EX | LOCK_NB) != 0; // another process is at it
    if (!is_taken) {
        struct deliveries packed = deliver_count(claimed);
        code = pack_claimed(claimed, naming, &result);
        *logs += code == 0;
        if (code == 0)
            code = put_away(plain, claimed, naming->path, is_last, packed);
        else if (code == ERR_NOTHING)
            code = pack_remove_directory(claimed);
    }
    close(lock);
    return code;
}

// 1 if it is to be made again.
static int make_log(const struct site_settings *settings, const char *directory, bool is_last,
                    struct site_finished *finished) {
    char plain[PATH_MAX], claimed[PATH_MAX];
    struct naming naming = {settings, &finished->problem, finished->last};
    int code = claim(directory, plain, claimed);
    if (code == -ENOENT) return 0; // another process was first
    if (code == 0) code = make_claimed(plain, claimed, &naming, is_last, &finished->logs);
    if (code >= 0) return code;
    finished->failed++;
    return problem_code(&finished->problem, code, directory);
}

// --- when the job is over

static void leave_mark(const char *directory) {
    char path[PATH_MAX];
    if (name_inside(directory, SPILL_LATE, path) < 0) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

static bool has_link(const char *directory) {
    char path[PATH_MAX];
    struct stat status;
    return name_inside(directory, LOG_LINK, path) == 0 && lstat(path, &status) == 0;
}

// Hosts whose processes end just now deliver in a moment. Half of the time that the job's end may take is for that. If
// there is a log already, they had their time.
static void await_others(const struct site_settings *settings, const char *directory) {
    const int64_t half_second_ns = 500000000, longest_ns = 100000000;
    int64_t pause_ns = 1000000;
    int64_t until_ns = clock_now_ns() + strtoll(settings->value[SITE_PATIENCE], NULL, 10) * half_second_ns;
    while (!has_link(directory) && deliver_count(directory).away && clock_now_ns() < until_ns) {
        clock_sleep_until(clock_now_ns() + pause_ns);
        if (pause_ns < longest_ns) pause_ns *= 2;
    }
}

// The mark comes before the look: a process that ends in between sees it.
static int finish(const struct site_settings *settings, const char *directory, enum moment when,
                  struct site_finished *finished) {
    int code = 1;
    while (code > 0) {
        leave_mark(directory);
        int here = deliver_of_job(directory, when != JUST_ENDED);
        int running = here == -EBUSY ? 1 : pack_is_running(directory, when != JUST_ENDED);
        if (running == -ENOENT) return 0;
        if (running > 0) finished->waiting++;
        if (running > 0) return 0;
        if (running < 0) return problem_code(&finished->problem, running, directory);
        if (when == JUST_ENDED && (here == 0 || here == ERR_NOTHING)) await_others(settings, directory);
        code = make_log(settings, directory, when == LAST_TIME, finished);
    }
    return code;
}

static bool is_over(const char *job) {
    char path[PATH_MAX];
    return name_inside(job, SPILL_LATE, path) == 0 && access(path, F_OK) == 0;
}

// Without the job's directory, what the host has becomes a log of its own. 1: delivered.
static int deliver(const struct site_settings *settings, const char *folder, enum moment when,
                   struct site_finished *finished) {
    int code = deliver_folder(folder, when != JUST_ENDED);
    if (code == 0) return 1;
    if (code == -EBUSY || code == -ENOENT) return 0;
    if (code == ERR_NOTHING) return make_log(settings, folder, true, finished);
    finished->failed++;
    return problem_code(&finished->problem, code, folder);
}

// As long as there is no log, somebody waits for all hosts; the last of them finds nobody away.
int site_finish(const struct site_settings *settings, const char *directory, struct site_finished *finished) {
    char job[PATH_MAX] = "";
    if (!deliver_is_of_host(directory)) return finish(settings, directory, JUST_ENDED, finished);
    deliver_find_job(directory, job);
    int code = deliver(settings, directory, JUST_ENDED, finished);
    if (code <= 0) return code;
    bool is_next = is_over(job) && (has_link(job) || !deliver_count(job).away);
    return is_next ? finish(settings, job, JUST_ENDED, finished) : 0;
}

// --- jobs that were left

// Whether something of the job is, or may still run, on another host.
static bool has_other_hosts(const char *path) {
    char host[256] = "";
    bool found = false;
    gethostname(host, sizeof host - 1);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && !found && (entry = readdir(dir))) {
        if (!ends_in(entry->d_name, SPILL_SUFFIX) && !ends_in(entry->d_name, SPILL_AWAY_SUFFIX)) continue;
        found = strncmp(entry->d_name, host, strlen(host)) != 0 || entry->d_name[strlen(host)] != '.';
    }
    if (dir) closedir(dir);
    return found;
}

// A job that has a log waits for hosts as long as logs are kept. More may have arrived from one that was killed then.
static void finish_again(const struct site_settings *settings, const char *path, const struct stat *status,
                         struct site_finished *finished) {
    enum { MOST_DAYS = 30 };
    char link[PATH_MAX];
    struct stat made;
    long days = strtol(settings->value[SITE_KEEP_DAYS], NULL, 10);
    if (days <= 0) days = MOST_DAYS;
    bool is_known = name_inside(path, LOG_LINK, link) == 0 && lstat(link, &made) == 0;
    bool is_old = is_known && time(NULL) - made.st_mtime > (time_t)days * SECONDS_PER_DAY;
    if (is_old || (is_known && status->st_mtime > made.st_mtime + 1))
        finish(settings, path, is_old ? LAST_TIME : LEFT, finished);
    else
        finished->waiting++;
}

// For a day a job that may still run on another host is let alone.
static void finish_left_job(const struct site_settings *settings, const char *path, time_t age,
                            struct site_finished *finished) {
    struct stat status;
    if (lstat(path, &status)) return;
    if (has_link(path))
        finish_again(settings, path, &status, finished);
    else if (age < SECONDS_PER_DAY && has_other_hosts(path))
        finished->waiting++;
    else
        finish(settings, path, LEFT, finished); // one that fails does not stop the others
}

static void deliver_left(const struct site_settings *settings, const char *folder, time_t age,
                         struct site_finished *finished) {
    char job[PATH_MAX] = "";
    deliver_find_job(folder, job);
    if (age < SECONDS_PER_DAY && !deliver_is_here(folder)) return;
    if (deliver(settings, folder, LEFT, finished) <= 0) return;
    if (is_over(job))
        finish(settings, job, LEFT, finished);
    else
        finish_left_job(settings, job, age, finished);
}

// A job that is just beginning or ending is let alone.
static void finish_left(const struct site_settings *settings, const char *path, struct site_finished *finished) {
    const time_t settled = 20;
    struct stat status;
    if (lstat(path, &status) || !S_ISDIR(status.st_mode)) return;
    time_t age = time(NULL) - status.st_mtime;
    bool is_of_host = deliver_is_of_host(path); // the job is counted where its directory is
    if (age < settled)
        finished->waiting += !is_of_host;
    else if (ends_in(path, SITE_DONE))
        pack_remove_directory(path);
    else if (!is_of_host)
        finish_left_job(settings, path, age, finished);
    else if (ends_in(path, SITE_PACKING))
        make_log(settings, path, true, finished);
    else
        deliver_left(settings, path, age, finished);
}

static int finish_folder(const struct site_settings *settings, const char *folder, uint64_t most,
                         struct site_finished *finished) {
    char path[PATH_MAX];
    struct stat status;
    if (lstat(folder, &status)) return errno == ENOENT ? 0 : problem_code(&finished->problem, -errno, folder);
    if (status.st_uid != geteuid()) return problem_code(&finished->problem, -EPERM, folder);
    DIR *dir = opendir(folder);
    if (!dir) return problem_code(&finished->problem, -errno, folder);
    const struct dirent *entry;
    while (finished->logs < most && (entry = readdir(dir))) {
        bool fits = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path;
        if (fits && strstr(entry->d_name, ".spill-")) finish_left(settings, path, finished);
    }
    closedir(dir);
    return 0;
}

static const enum site_setting parents[] = {SITE_SPILL, SITE_LOG_DIR}; // what is delivered comes first

int site_finish_left(const struct site_settings *settings, uint64_t most, struct site_finished *finished) {
    char folder[PATH_MAX];
    int code = 0;
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        const char *parent = settings->value[parents[i]];
        if (!*parent) continue;
        if (snprintf(folder, sizeof folder, "%s" SPILL_USER_FOLDER "%u", parent, geteuid()) >= PATH_MAX)
            return problem_code(&finished->problem, -ENAMETOOLONG, parent);
        int failed = finish_folder(settings, folder, most, finished);
        if (failed < 0) code = failed;
    }
    return code;
}

// --- those of all users

// A user's files are read with that user's rights and no others, and not for ever.
static __attribute__((noreturn)) void work_as(const struct site_settings *settings, const char *folder,
                                              const struct stat *owner, int out) {
    enum { MOST_SECONDS = 600 };
    struct site_finished finished = {0};
    alarm(MOST_SECONDS);
    bool is_user = !setgroups(0, NULL) && !setresgid(owner->st_gid, owner->st_gid, owner->st_gid) &&
                   !setresuid(owner->st_uid, owner->st_uid, owner->st_uid);
    int code = is_user ? finish_folder(settings, folder, UINT64_MAX, &finished) : -EPERM;
    if (code < 0 && !finished.failed) finished.failed = 1;
    _exit(io_write_all(out, &finished, sizeof finished) < 0);
}

static void add_result(struct site_finished *finished, const struct site_finished *one, const char *folder) {
    finished->logs += one->logs;
    finished->waiting += one->waiting;
    finished->failed += one->failed;
    if (one->failed)
        problem_set(&finished->problem, -EIO, *one->problem.what ? one->problem.what : folder, "%s", one->problem.why);
}

static int finish_as_owner(const struct site_settings *settings, const char *folder, struct site_finished *finished) {
    struct stat owner;
    struct bytes bytes = {0};
    int ends[2];
    if (lstat(folder, &owner) || !S_ISDIR(owner.st_mode)) return 0;
    RETURN_IF(pipe2(ends, O_CLOEXEC), -errno);
    pid_t pid = fork();
    if (pid == 0) work_as(settings, folder, &owner, ends[1]);
    int code = pid < 0 ? -errno : 0;
    close(ends[1]);
    if (code == 0) code = io_read_all(ends[0], &bytes, sizeof *finished);
    close(ends[0]);
    if (pid > 0) waitpid(pid, NULL, 0);
    if (code == 0 && bytes.len == sizeof *finished)
        add_result(finished, (struct site_finished *)bytes.data, folder);
    else
        finished->failed++;
    bytes_free(&bytes);
    return code;
}

static int finish_users_in(const struct site_settings *settings, const char *parent, struct site_finished *finished) {
    const char *prefix = SPILL_USER_FOLDER + 1;
    char folder[PATH_MAX];
    DIR *dir = opendir(parent);
    if (!dir) return problem_code(&finished->problem, -errno, parent);
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        if (snprintf(folder, sizeof folder, "%s/%s", parent, entry->d_name) < PATH_MAX)
            finish_as_owner(settings, folder, finished);
    }
    closedir(dir);
    return 0;
}

int site_finish_all_users(const struct site_settings *settings, struct site_finished *finished) {
    int code = 0;
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        const char *parent = settings->value[parents[i]];
        int failed = *parent ? finish_users_in(settings, parent, finished) : 0;
        if (failed < 0) code = failed;
    }
    return code;
}
