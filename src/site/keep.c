#include "site/keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

enum { MOST_FOLDERS = 16 }; // above each other

struct keeping {
    const char *suffix; // of the names of logs
    time_t oldest;
    int removed;
};

static bool is_old_log(const struct keeping *keeping, const char *name, const struct stat *status) {
    size_t len = strlen(name), suffix_len = strlen(keeping->suffix);
    bool is_own = geteuid() == 0 || status->st_uid == geteuid();
    return S_ISREG(status->st_mode) && is_own && status->st_mtime < keeping->oldest && len > suffix_len &&
           !strcmp(name + len - suffix_len, keeping->suffix);
}

// Goes down by descriptors, and never through links: a folder may belong to a user who changes it meanwhile.
static void visit(struct keeping *keeping, int parent, const char *folder, unsigned depth) {
    int fd = openat(parent, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    struct stat status;
    int before = keeping->removed;
    if (!dir && fd >= 0) close(fd);
    while (dir && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (name[0] == '.' || fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW)) continue;
        if (S_ISDIR(status.st_mode) && depth < MOST_FOLDERS) visit(keeping, fd, name, depth + 1);
        if (is_old_log(keeping, name, &status) && unlinkat(fd, name, 0) == 0) keeping->removed++;
    }
    if (dir) closedir(dir);
    if (depth && keeping->removed > before) unlinkat(parent, folder, AT_REMOVEDIR); // if it is empty now
}

// ".ioseer" of "%u/%p.ioseer". A pattern without one could name other files.
static const char *suffix_of(const char *log_name) {
    const char *dot = strrchr(log_name, '.');
    return dot && !strpbrk(dot, "/%") && dot[1] ? dot : NULL;
}

int site_remove_old(const struct site_settings *settings) {
    const time_t day = 24 * 3600;
    long days = strtol(settings->value[SITE_KEEP_DAYS], NULL, 10);
    struct keeping keeping = {.suffix = suffix_of(settings->value[SITE_LOG_NAME]),
                              .oldest = time(NULL) - (time_t)days * day};
    if (days <= 0 || !keeping.suffix) return 0;
    int top = open(settings->value[SITE_LOG_DIR], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(top < 0, -errno);
    visit(&keeping, top, ".", 0);
    close(top);
    return keeping.removed;
}
