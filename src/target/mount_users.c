#include "target/mount_users.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMED_MOST = 3 };

static bool lies_under(const char *path, const char *mount)
{
    size_t length = strlen(mount);
    return !strncmp(path, mount, length) && (!path[length] || path[length] == '/');
}

static bool link_leads_under(const char *link, const char *mount)
{
    char path[PATH_MAX];
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return false;
    path[length] = 0;
    return lies_under(path, mount);
}

static bool has_open(const char *process, const char *mount)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%s/fd", process);
    DIR *listing = opendir(path);
    if (!listing) return false;
    bool found = false;
    const struct dirent *entry;
    while (!found && (entry = readdir(listing))) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", process, entry->d_name);
        found = link_leads_under(path, mount);
    }
    closedir(listing);
    return found;
}

static bool has_mapped(const char *process, const char *mount)
{
    char path[PATH_MAX], *line = NULL;
    size_t room = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%s/maps", process);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    while (!found && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\n")] = 0;
        const char *name = strchr(line, '/');
        found = name && lies_under(name, mount);
    }
    free(line);
    fclose(file);
    return found;
}

static bool uses(const char *process, const char *mount)
{
    static const char *const links[] = {"cwd", "root", "exe"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        snprintf(path, sizeof path, "/proc/%s/%s", process, links[i]);
        if (link_leads_under(path, mount)) return true;
    }
    return has_open(process, mount) || has_mapped(process, mount);
}

static void add_name(const char *process, char *text, size_t size)
{
    char path[PATH_MAX], name[32] = "?";
    snprintf(path, sizeof path, "/proc/%s/comm", process);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fgets(name, sizeof name, file)) name[strcspn(name, "\n")] = 0;
        fclose(file);
    }
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s (%s)", used ? ", " : "", name, process);
}

void mount_users_text(const char *mount, char *text, size_t size)
{
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
