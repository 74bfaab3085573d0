#include "site/deliver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "fmt/spill.h"
#include "pack/bundle.h"
#include "pack/pack.h"
#include "site/finish.h"

static bool ends_in(const char *name, const char *suffix) {
    size_t len = strlen(name), suffix_len = strlen(suffix);
    return len > suffix_len && !strcmp(name + len - suffix_len, suffix);
}

// --- names

static int read_link(const char *folder, const char *name, char out[PATH_MAX]) {
    char path[PATH_MAX];
    RETURN_IF(snprintf(path, sizeof path, "%s%s", folder, name) >= PATH_MAX, -ENAMETOOLONG);
    ssize_t len = readlink(path, out, PATH_MAX - 1);
    RETURN_IF(len < 0, -errno);
    out[len] = 0;
    return *out == '/' ? 0 : ERR_FORMAT;
}

// "/tmp/.ioseer-1000/12.0.spill-step.on-node1" -> "node1"
static const char *host_of(const char *folder) {
    const char *slash = strrchr(folder, '/'), *name = strstr(slash ? slash : folder, ".spill-");
    const char *host = name ? strstr(name, SPILL_HOST_SUFFIX) : NULL;
    return host ? host + sizeof SPILL_HOST_SUFFIX - 1 : "";
}

bool deliver_is_of_host(const char *folder) { return *host_of(folder); }

int deliver_find_job(const char *folder, char job[PATH_MAX]) { return read_link(folder, SPILL_HOST_JOB, job); }

static void name_this_host(char host[256]) {
    memset(host, 0, 256);
    gethostname(host, 255);
}

bool deliver_is_here(const char *folder) {
    char host[256];
    name_this_host(host);
    return !strcmp(host, host_of(folder));
}

// --- the two folders

// They are the user's own, and nobody else can have put anything there.
static int open_own(const char *path) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH))) return fd;
    close(fd);
    return -EPERM;
}

// Its name changes while the log is made, and may change back.
static int open_job(const char *job) {
    enum { ATTEMPTS = 3, PAUSE_NS = 10000000 };
    char packing[PATH_MAX];
    RETURN_IF(snprintf(packing, sizeof packing, "%s" SITE_PACKING, job) >= PATH_MAX, -ENAMETOOLONG);
    int fd = -ENOENT;
    for (int i = 0; i < ATTEMPTS && fd == -ENOENT; i++) {
        if (i) clock_sleep_until(clock_now_ns() + PAUSE_NS);
        fd = open_own(job);
        if (fd == -ENOENT) fd = open_own(packing);
    }
    return fd;
}

// Whether what was put there will be found: who removes the directory gives it another name first, and then looks.
static bool is_still_there(const char *job, int fd) {
    struct stat opened, named;
    int now = open_job(job);
    bool is_same = now >= 0 && fstat(fd, &opened) == 0 && fstat(now, &named) == 0 && opened.st_ino == named.st_ino &&
                   opened.st_dev == named.st_dev;
    if (now >= 0) close(now);
    return is_same;
}

static DIR *open_entries(int fd) {
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir && copy >= 0) close(copy);
    return dir;
}

// --- the bundle

static int add_file(int folder, const char *name, int bundle) {
    struct stat status;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = fstat(fd, &status) ? -errno : S_ISREG(status.st_mode) ? bundle_add(bundle, fd, name) : 0;
    close(fd);
    return code;
}

static int add_files(int folder, int bundle) {
    const struct dirent *entry;
    int code = 0;
    DIR *dir = open_entries(folder);
    RETURN_IF(!dir, -errno);
    while (code == 0 && (entry = readdir(dir))) {
        if (ends_in(entry->d_name, SPILL_SUFFIX)) code = add_file(folder, entry->d_name, bundle);
    }
    closedir(dir);
    return code;
}

// It gets its name when it is whole. Network file systems report a full disk only when a file is closed.
static int send(int folder, int job, const char *host) {
    char name[NAME_MAX + 1], unfinished[NAME_MAX + 8];
    int len = snprintf(name, sizeof name, "%s.%d.%llx" BUNDLE_SUFFIX, host, (int)getpid(),
                       (unsigned long long)clock_ns(CLOCK_REALTIME));
    RETURN_IF(len >= (int)sizeof name, -ENAMETOOLONG);
    snprintf(unfinished, sizeof unfinished, "%s.new", name);
    int bundle = openat(job, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    RETURN_IF(bundle < 0, -errno);
    int code = add_files(folder, bundle);
    if (close(bundle) && code == 0) code = -errno;
    if (code == 0 && renameat(job, unfinished, job, name)) code = -errno;
    if (code < 0) unlinkat(job, unfinished, 0);
    return code;
}

// --- delivering

// From now on its name is free for processes that begin, and may soon be delivered again.
static int remove_folder(const char *folder) {
    char done[PATH_MAX];
    RETURN_IF(snprintf(done, sizeof done, "%s.%d" SITE_DONE, folder, (int)getpid()) >= PATH_MAX, -ENAMETOOLONG);
    RETURN_IF(rename(folder, done), -errno);
    return pack_remove_directory(done);
}

static int deliver_to(const char *folder, int from, const char *job) {
    char mark[NAME_MAX + 1];
    const char *host = host_of(folder);
    RETURN_IF(snprintf(mark, sizeof mark, "%s" SPILL_AWAY_SUFFIX, host) >= (int)sizeof mark, -ENAMETOOLONG);
    int to = open_job(job);
    RETURN_IF(to == -ENOENT, ERR_NOTHING);
    RETURN_IF(to < 0, to);
    int code = send(from, to, host);
    if (code == 0) unlinkat(to, mark, 0);
    bool is_there = is_still_there(job, to);
    close(to);
    RETURN_IF(!is_there, ERR_NOTHING);
    return code < 0 ? code : remove_folder(folder);
}

// Whether the lock is that of the folder with this name: another process may have delivered the one that was opened,
// and others may have begun there again.
static bool is_lock_of(const char *folder, int lock) {
    char path[PATH_MAX];
    struct stat locked, named;
    return snprintf(path, sizeof path, "%s" SPILL_PRESENCE, folder) < PATH_MAX && fstat(lock, &locked) == 0 &&
           lstat(path, &named) == 0 && locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

// The lock keeps processes out that begin meanwhile: their spill files go to the job's directory. A process that has no
// lock, where the file system has none, is found by its number. One that has just made the folder has still to make the
// link.
static int deliver_locked(const char *folder, int from, bool counts_unseen) {
    char job[PATH_MAX];
    int running = pack_is_running(folder, counts_unseen);
    RETURN_IF(running, running < 0 ? running : -EBUSY);
    int code = deliver_find_job(folder, job);
    RETURN_IF(code == -ENOENT, counts_unseen ? ERR_NOTHING : -EBUSY);
    return code < 0 ? code : deliver_to(folder, from, job);
}

int deliver_folder(const char *folder, bool counts_unseen) {
    int from = open_own(folder);
    RETURN_IF(from < 0, from);
    int lock = openat(from, SPILL_PRESENCE + 1, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int code = lock < 0 ? -errno : 0;
    if (code == 0 && flock(lock, LOCK_EX | LOCK_NB)) code = -EBUSY;
    if (code == 0 && !is_lock_of(folder, lock)) code = -ENOENT;
    if (code == 0) code = deliver_locked(folder, from, counts_unseen);
    if (lock >= 0) close(lock);
    close(from);
    return code;
}

int deliver_of_job(const char *job, bool counts_unseen) {
    char mark[300], folder[PATH_MAX], host[256];
    name_this_host(host);
    snprintf(mark, sizeof mark, "/%s" SPILL_AWAY_SUFFIX, host);
    RETURN_IF(read_link(job, mark, folder) < 0, ERR_NOTHING);
    int code = deliver_folder(folder, counts_unseen);
    return code == -ENOENT ? ERR_NOTHING : code;
}

struct deliveries deliver_count(const char *job) {
    struct deliveries count = {0};
    const struct dirent *entry;
    DIR *dir = opendir(job);
    while (dir && (entry = readdir(dir))) {
        count.away += ends_in(entry->d_name, SPILL_AWAY_SUFFIX);
        count.arrived += ends_in(entry->d_name, BUNDLE_SUFFIX);
    }
    if (dir) closedir(dir);
    return count;
}
