#include "site/log_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/user.h"

#define NS_PER_SECOND UINT64_C(1000000000)

// --- the name

// Whatever stands for something must not become a folder of its own, or a hidden file.
static void add_word(char *out, size_t room, const char *word) {
    size_t len = strlen(out);
    for (; *word && len + 1 < room; word++) out[len++] = *word == '/' || (unsigned char)*word < ' ' ? '_' : *word;
    out[len] = 0;
}

static void describe(char letter, const struct pack_name *name, char out[256]) {
    char format[] = {'%', letter, 0};
    time_t start = (time_t)(name->start_ns / NS_PER_SECOND);
    struct tm local;
    out[0] = 0;
    switch (letter) {
    case 'u': user_name(name->user, out); break;
    case 'p': snprintf(out, 256, "%s", *name->program ? name->program : "program"); break;
    case 'h': snprintf(out, 256, "%s", name->host); break;
    case 'j':
        if (*name->id) snprintf(out, 256, "%s", name->id);
        if (!*name->id) snprintf(out, 256, "%u", name->pid);
        break;
    case '%': strcpy(out, "%"); break;
    default:
        if (localtime_r(&start, &local)) strftime(out, 256, format, &local);
    }
}

static int expand(const char *pattern, const struct pack_name *name, char *out, size_t room) {
    out[0] = 0;
    for (const char *at = pattern; *at; at++) {
        char word[256] = {*at, 0};
        if (*at != '%' || !at[1]) {
            size_t len = strlen(out);
            RETURN_IF(len + 2 > room, -ENAMETOOLONG);
            out[len] = *at;
            out[len + 1] = 0;
            continue;
        }
        RETURN_IF(!strchr("uphjYmdHMS%", *++at), ERR_USAGE);
        describe(*at, name, word);
        add_word(out, room, word);
    }
    return 0;
}

// --- its folders

// Another user who made the folder, or may write into it without the sticky bit, could replace or remove logs.
static int check_folder(int fd) {
    struct stat status;
    RETURN_IF(fstat(fd, &status), -errno);
    bool is_ours = status.st_uid == geteuid() || status.st_uid == 0;
    bool is_open = status.st_mode & (S_IWGRP | S_IWOTH) && !(status.st_mode & S_ISVTX);
    return is_ours && !is_open ? 0 : -EPERM;
}

static int enter(int parent, const char *name, mode_t mode) {
    RETURN_IF(!strcmp(name, "..") || !strcmp(name, "."), ERR_USAGE);
    if (mkdirat(parent, name, mode) && errno != EEXIST) return -errno;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = check_folder(fd);
    if (code == 0) return fd;
    close(fd);
    return code;
}

// The group of the site's folder may look into a user's, if it may read the logs.
static mode_t folder_mode(const struct site_settings *settings) {
    unsigned long mode = strtoul(settings->value[SITE_LOG_MODE], NULL, 8);
    return 0700 | (mode & 0040 ? 0050 : 0) | (mode & 0004 ? 0005 : 0);
}

static int make_folders(const struct site_settings *settings, const char *top, char *below, struct problem *problem) {
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return problem_code(problem, -errno, top);
    int code = check_folder(fd);
    if (code < 0) problem_set(problem, code, top, "belongs to another user, or others can remove what is in it");
    char *rest = below;
    for (char *slash; code == 0 && (slash = strchr(rest, '/')); rest = slash + 1) {
        *slash = 0;
        int next = *rest ? enter(fd, rest, folder_mode(settings)) : dup(fd);
        if (next < 0)
            problem_set(problem, next, below, "%s", next == -EPERM ? "belongs to another user" : err_text(next));
        *slash = '/';
        close(fd);
        if (next < 0) return next;
        fd = next;
    }
    close(fd);
    return code;
}

// "x.ioseer" -> "x-2.ioseer"
static void number_name(const char *name, unsigned number, char out[PATH_MAX]) {
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    if (!dot) dot = name + strlen(name);
    snprintf(out, PATH_MAX, "%.*s-%u%s", (int)(dot - name), name, number, dot);
}

int log_tree_name(const struct site_settings *settings, const struct pack_name *name, char path[4096],
                  struct problem *problem) {
    const char *top = settings->value[SITE_LOG_DIR];
    char below[PATH_MAX], plain[PATH_MAX];
    if (!*top) return problem_set(problem, ERR_USAGE, "log_dir", "is not set");
    int code = expand(settings->value[SITE_LOG_NAME], name, below, sizeof below / 2);
    if (code < 0) return problem_set(problem, code, "log_name", "%s: bad name", settings->value[SITE_LOG_NAME]);
    FORWARD(make_folders(settings, top, below, problem));
    if (snprintf(plain, sizeof plain, "%s/%s", top, below) >= (int)sizeof plain)
        return problem_code(problem, -ENAMETOOLONG, top);
    strcpy(path, plain);
    struct stat there;
    for (unsigned number = 2; lstat(path, &there) == 0; number++) number_name(plain, number, path);
    return 0;
}
