#include "target/mount_point.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"

enum { NAMED_MOST = 3, PATIENCE_NS = 1000000000, RETRY_NS = 10000000 };

bool mount_point_top(const char *mount, struct mount_point_top *top) {
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    bool found = false;
    struct mntent entry;
    char text[3 * PATH_MAX];
    while (mounts && getmntent_r(mounts, &entry, text, sizeof text)) {
        if (strcmp(entry.mnt_dir, mount)) continue;
        snprintf(top->type, sizeof top->type, "%s", entry.mnt_type);
        snprintf(top->source, sizeof top->source, "%s", entry.mnt_fsname);
        found = true;
    }
    if (mounts) endmntent(mounts);
    return found;
}

int mount_point_is_empty(const char *directory) {
    DIR *listing = opendir(directory);
    RETURN_IF(!listing, -errno);
    int entries = 0;
    while (readdir(listing)) entries++;
    closedir(listing);
    return entries <= 2;
}

// --- users

bool mount_point_contains(const char *outer, const char *inner) {
    size_t length = strlen(outer);
    return !strncmp(inner, outer, length) && (inner[length] == '/' || !inner[length] || !strcmp(outer, "/"));
}

static bool link_points_under(const char *link, const char *mount) {
    char path[PATH_MAX];
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return false;
    path[length] = 0;
    return mount_point_contains(mount, path);
}

static bool has_open_file(const char *process, const char *mount) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%s/fd", process);
    DIR *listing = opendir(path);
    if (!listing) return false;
    bool found = false;
    const struct dirent *entry;
    while (!found && (entry = readdir(listing))) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", process, entry->d_name);
        found = link_points_under(path, mount);
    }
    closedir(listing);
    return found;
}

static bool has_mapped_file(const char *process, const char *mount) {
    char path[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%s/maps", process);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    while (!found && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\n")] = 0;
        const char *name = strchr(line, '/');
        found = name && mount_point_contains(mount, name);
    }
    free(line);
    fclose(file);
    return found;
}

static bool uses(const char *process, const char *mount) {
    static const char *const links[] = {"cwd", "root", "exe"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(path, sizeof path, "/proc/%s/%s", process, links[i]);
        if (link_points_under(path, mount)) return true;
    }
    return has_open_file(process, mount) || has_mapped_file(process, mount);
}

static void add_name(const char *process, char *text, size_t size) {
    char path[PATH_MAX], name[32];
    snprintf(path, sizeof path, "/proc/%s/comm", process);
    if (!io_first_line(path, name, sizeof name)) strcpy(name, "?");
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s (%s)", used ? ", " : "", name, process);
}

void mount_point_users(const char *mount, char *text, size_t size) {
    DIR *processes = opendir("/proc");
    unsigned found = 0;
    const struct dirent *entry;
    text[0] = 0;
    if (!processes) return;
    while (found <= NAMED_MOST && (entry = readdir(processes))) {
        bool is_other = isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid();
        if (!is_other || !uses(entry->d_name, mount)) continue;
        if (++found <= NAMED_MOST) add_name(entry->d_name, text, size);
    }
    size_t used = strlen(text);
    if (found > NAMED_MOST) snprintf(text + used, size - used, " and others");
    closedir(processes);
}

int mount_point_in_use(const char *mount, const char *given, struct problem *problem) {
    char users[200];
    mount_point_users(mount, users, sizeof users);
    return problem_set(problem, -EBUSY, given, "in use%s%s; end that first, or add --force", users[0] ? " by " : "",
                       users);
}

// --- unmounting

static int unmount_by_helper(const char *mount, bool lazily) {
    pid_t child = fork();
    RETURN_IF(child < 0, -errno);
    if (!child) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        execlp("fusermount3", "fusermount3", "-u", lazily ? "-z" : "-q", "--", mount, (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

int unmount(const char *mount, bool lazily) {
    if (umount2(mount, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0) return 0;
    if (errno == EINVAL || errno == ENOENT) return 0; // another process has unmounted it
    return errno == EPERM ? unmount_by_helper(mount, lazily) : -errno;
}

int unmount_patiently(const char *mount) {
    int64_t until_ns = clock_now_ns() + PATIENCE_NS;
    for (;;) {
        int code = unmount(mount, false);
        if (code != -EBUSY || clock_now_ns() > until_ns) return code;
        clock_sleep_until(clock_now_ns() + RETRY_NS);
    }
}
