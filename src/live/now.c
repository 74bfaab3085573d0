// What a process does at this moment, as far as the kernel shows it: system calls on files, of any of its threads.
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "live/live.h"

enum { MOST_THREADS = 256 };

static const struct call_number *find(long number) {
    const struct call_number *row = call_numbers;
    while (row->call && row->number != number) row++;
    return row->call ? row : NULL;
}

// A line as "1 0x3 0x7f…": number and arguments; a thread that runs, or sleeps outside a call, has none.
static bool read_thread(uint32_t pid, const char *tid, char call[32], char file[PATH_MAX]) {
    char path[80], line[256];
    char *after;
    snprintf(path, sizeof path, "/proc/%u/task/%.20s/syscall", pid, tid);
    if (!io_first_line(path, line, sizeof line) || !isdigit((unsigned char)line[0])) return false;
    const struct call_number *row = find(strtol(line, &after, 10));
    if (!row) return false;
    snprintf(call, 32, "%s", call_names[row->call]);
    file[0] = 0;
    if (!row->on_descriptor) return true;
    snprintf(path, sizeof path, "/proc/%u/fd/%ld", pid, strtol(after, NULL, 16));
    ssize_t len = readlink(path, file, PATH_MAX - 1);
    file[len < 0 ? 0 : len] = 0;
    bool is_device = !strncmp(file, "/dev/", 5) && strncmp(file, "/dev/shm/", 9);
    return file[0] == '/' && !is_device; // nor a pipe or a socket
}

bool live_now(const struct live_process *process, char call[32], char file[PATH_MAX]) {
    char path[64];
    bool found = false;
    unsigned threads = 0;
    if (process->has_ended || !process->is_local) return false;
    snprintf(path, sizeof path, "/proc/%u/task", process->header.pid);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && !found && threads < MOST_THREADS && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.') continue;
        threads++;
        found = read_thread(process->header.pid, entry->d_name, call, file);
    }
    if (dir) closedir(dir);
    return found;
}
