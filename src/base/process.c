#include "base/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static FILE *open_file(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

bool process_stat(pid_t pid, struct process_stat *stat)
{
    char line[1024] = "";
    FILE *file = open_file(pid, "stat");
    if (!file) return false;
    size_t len = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[len] = 0;
    // The program's name, in parentheses, may hold any character; the rest follows the last parenthesis.
    const char *rest = strrchr(line, ')');
    return rest && sscanf(rest, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
                          &stat->state, &stat->parent, &stat->start_ticks) == 3;
}

bool process_chars(pid_t pid, uint64_t chars[2])
{
    FILE *file = open_file(pid, "io");
    if (!file) return false;
    bool known = fscanf(file, "rchar: %" SCNu64 " wchar: %" SCNu64, &chars[0], &chars[1]) == 2;
    fclose(file);
    return known;
}

bool process_is_running(pid_t pid)
{
    struct process_stat stat;
    return process_stat(pid, &stat) && stat.state != 'Z' && stat.state != 'X';
}
