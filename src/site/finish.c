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
#include "base/err.h"
#include "base/io.h"
#include "fmt/spill.h"
#include "site/log_tree.h"

#define PACKING ".packing"

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

// Two processes may both believe that they are the last: the one that can rename the directory makes the log.
static int claim(const char *directory, char claimed[PATH_MAX]) {
    size_t len = strlen(directory), suffix = sizeof PACKING - 1;
    bool is_claimed = len > suffix && !strcmp(directory + len - suffix, PACKING);
    if (snprintf(claimed, PATH_MAX, "%s%s", directory, is_claimed ? "" : PACKING) >= PATH_MAX) return -ENAMETOOLONG;
    return is_claimed || rename(directory, claimed) == 0 ? 0 : -errno;
}

// Two jobs of one name may choose the same path at once: the second one chooses again.
static int pack_claimed(const char *claimed, const struct pack_options *options) {
    enum { ATTEMPTS = 100 };
    struct pack_result result;
    int code = ERR_EXISTS;
    for (int i = 0; code == ERR_EXISTS && i < ATTEMPTS; i++)
        code = pack_directory(NULL, claimed, NULL, options, &result);
    return code;
}

static int make_log(const struct site_settings *settings, const char *directory, struct site_finished *finished) {
    char claimed[PATH_MAX];
    struct naming naming = {settings, &finished->problem, finished->last};
    struct pack_options options = {.mode = (unsigned)strtoul(settings->value[SITE_LOG_MODE], NULL, 8),
                                   .choose_path = choose_path,
                                   .choose_context = &naming};
    int code = claim(directory, claimed);
    int lock = code == 0 ? open(claimed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (code == 0 && lock < 0) code = -errno;
    bool is_taken = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0; // another process is at it
    if (code == 0 && !is_taken) code = pack_claimed(claimed, &options);
    finished->logs += code == 0 && !is_taken;
    if (!is_taken && (code == 0 || code == ERR_NOTHING)) pack_remove_directory(claimed);
    if (lock >= 0) close(lock);
    bool is_gone = code < 0 && access(claimed, F_OK) && access(directory, F_OK); // another process was first
    if (code == 0 || code == ERR_NOTHING || is_gone) return 0;
    finished->failed++;
    return problem_code(&finished->problem, code, directory);
}

static void leave_mark(const char *directory) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s" SPILL_LATE, directory) >= (int)sizeof path) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

// The mark comes before the look: a process that ends in between sees it.
static int finish(const struct site_settings *settings, const char *directory, bool counts_unseen,
                  struct site_finished *finished) {
    leave_mark(directory);
    int running = pack_is_running(directory, counts_unseen);
    if (running == -ENOENT) return 0;
    if (running > 0) finished->waiting++;
    if (running > 0) return 0;
    if (running < 0) return problem_code(&finished->problem, running, directory);
    return make_log(settings, directory, finished);
}

int site_finish(const struct site_settings *settings, const char *directory, struct site_finished *finished) {
    return finish(settings, directory, false, finished);
}

// --- jobs that were left

static bool has_other_hosts(const char *path) {
    char host[256] = "";
    bool found = false;
    gethostname(host, sizeof host - 1);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && !found && (entry = readdir(dir))) {
        const char *suffix = strstr(entry->d_name, SPILL_SUFFIX);
        if (!suffix || suffix[sizeof SPILL_SUFFIX - 1]) continue;
        found = strncmp(entry->d_name, host, strlen(host)) != 0 || entry->d_name[strlen(host)] != '.';
    }
    if (dir) closedir(dir);
    return found;
}

// A job that is just beginning or ending is let alone, and for a day one that may still run on another host.
static void finish_left(const struct site_settings *settings, const char *path, struct site_finished *finished) {
    const time_t settled = 20, other_hosts = 24 * 3600;
    struct stat status;
    if (lstat(path, &status) || !S_ISDIR(status.st_mode)) return;
    time_t age = time(NULL) - status.st_mtime;
    if (age < settled || (age < other_hosts && has_other_hosts(path)))
        finished->waiting++;
    else
        finish(settings, path, true, finished); // one that fails does not stop the others
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

static const char *spill_parent(const struct site_settings *settings) {
    const char *spill = settings->value[SITE_SPILL];
    return *spill ? spill : settings->value[SITE_LOG_DIR];
}

int site_finish_left(const struct site_settings *settings, uint64_t most, struct site_finished *finished) {
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s" SPILL_USER_FOLDER "%u", spill_parent(settings), geteuid()) >= PATH_MAX)
        return problem_code(&finished->problem, -ENAMETOOLONG, settings->value[SITE_LOG_DIR]);
    return finish_folder(settings, folder, most, finished);
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

int site_finish_all_users(const struct site_settings *settings, struct site_finished *finished) {
    const char *parent = spill_parent(settings), *prefix = SPILL_USER_FOLDER + 1;
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
