#include "replay/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GUARD_FD = 3, POLL_US = 20000, POLITE_POLLS = 25, ALL_POLLS = 250 };

// --- processes

static bool has_word(pid_t pid, const char *word)
{
    char name[64], words[8192];
    snprintf(name, sizeof name, "/proc/%d/cmdline", (int)pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, words, sizeof words - 1);
    if (fd >= 0) close(fd);
    return length > 0 && memmem(words, (size_t)length, word, strlen(word));
}

static unsigned signal_all(const char *word, int signal)
{
    unsigned found = 0;
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    while (processes && (entry = readdir(processes))) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 1 || pid == getpid() || !has_word(pid, word)) continue;
        found++;
        kill(pid, signal);
    }
    if (processes) closedir(processes);
    return found;
}

// Launchers clean up after SIGTERM; what is still there after half a second gets SIGKILL.
void replay_end_processes(const char *work)
{
    for (unsigned i = 0; i < ALL_POLLS; i++) {
        int signal = i == 0 ? SIGTERM : i < POLITE_POLLS ? 0 : SIGKILL;
        if (!signal_all(work, signal)) return;
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        usleep(POLL_US);
    }
}

// --- folders

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about, (void)type, (void)where;
    remove(path);
    return 0;
}

void replay_remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

// --- the guard

static void guard(int end, const char *folder, const char *work)
{
    char word;
    setsid();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    if (end != GUARD_FD) dup2(end, GUARD_FD);
    close_range(GUARD_FD + 1, ~0u, 0);
    ssize_t got;
    while ((got = read(GUARD_FD, &word, 1)) < 0 && errno == EINTR) continue;
    if (got == 1) _exit(0);
    replay_end_processes(work);
    replay_remove_tree(folder);
    replay_remove_tree(work);
    _exit(0);
}

void replay_guard_start(struct replay_guard *to, const char *folder, const char *work)
{
    int ends[2];
    to->end = -1;
    if (pipe2(ends, O_CLOEXEC)) return;
    pid_t between = fork();
    if (between == 0) {
        close(ends[1]);
        if (fork() == 0) guard(ends[0], folder, work);
        _exit(0); // so that the guard is not our child
    }
    close(ends[0]);
    if (between > 0) waitpid(between, NULL, 0);
    if (between > 0)
        to->end = ends[1];
    else
        close(ends[1]);
}

void replay_guard_dismiss(struct replay_guard *to)
{
    if (to->end < 0) return;
    ssize_t ignored = write(to->end, "", 1);
    (void)ignored;
    close(to->end);
    to->end = -1;
}
