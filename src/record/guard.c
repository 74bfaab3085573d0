#include "record/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GUARD_FD = 3 };
enum word_kind { WORD_COMMAND, WORD_PACKING, WORD_DISMISSED };

struct word {
    enum word_kind kind;
    pid_t command;
};

static void tell(const struct record_guard *guard, struct word word)
{
    // One write of a few bytes to a pipe is never torn. Nobody to read it: there is no guard any more.
    ssize_t ignored = guard->words < 0 ? 0 : write(guard->words, &word, sizeof word);
    (void)ignored;
}

void record_guard_tell_command(const struct record_guard *guard, pid_t command)
{
    tell(guard, (struct word){.kind = WORD_COMMAND, .command = command});
}

void record_guard_tell_packing(const struct record_guard *guard)
{
    tell(guard, (struct word){.kind = WORD_PACKING});
}

void record_guard_dismiss(struct record_guard *guard)
{
    if (guard->words < 0) return;
    tell(guard, (struct word){.kind = WORD_DISMISSED});
    close(guard->words);
    guard->words = -1;
}

// Listens until the other end is closed, which death does too.
static void listen_until_the_end(int words, struct record_guard *guard)
{
    struct word word;
    for (;;) {
        ssize_t got = read(words, &word, sizeof word);
        if (got < 0 && errno == EINTR) continue;
        if (got != sizeof word) return;
        if (word.kind == WORD_COMMAND) guard->command = word.command;
        if (word.kind == WORD_PACKING) guard->packing = true;
        if (word.kind == WORD_DISMISSED) _exit(0);
    }
}

// The launcher tells by some of its descriptors that a rank is gone.
static void keep_only(int fd)
{
    if (fd != GUARD_FD) dup2(fd, GUARD_FD);
    close_range(GUARD_FD + 1, ~0u, 0);
}

bool record_guard_start(struct record_guard *guard)
{
    int words[2];
    *guard = (struct record_guard){.words = -1, .record = getpid()};
    if (pipe2(words, O_CLOEXEC)) return false;
    pid_t between = fork();
    if (between == 0) {
        if (fork() != 0) _exit(0); // the guard is nobody's child: `record` waits for all that it has
        setsid();
        signal(SIGPIPE, SIG_IGN); // the launcher may be gone when the guard has something to say
        keep_only(words[0]);
        listen_until_the_end(GUARD_FD, guard);
        close(GUARD_FD);
        return true;
    }
    close(words[0]);
    if (between < 0) {
        close(words[1]);
        return false;
    }
    waitpid(between, NULL, 0);
    guard->words = words[1];
    return false;
}

// A process that nobody has reaped yet is gone, too.
static bool is_running(pid_t pid)
{
    char name[64], state = 'Z';
    snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(name, "re");
    if (!file) return false;
    // The name of the program, in brackets, may hold anything but ends with the last bracket.
    char line[256] = "";
    const char *bracket = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (bracket) sscanf(bracket, ") %c", &state);
    fclose(file);
    return state != 'Z' && state != 'X';
}

void record_guard_await_command(const struct record_guard *guard, double wait_seconds)
{
    const double pause_seconds = 0.005;
    const struct timespec pause = {.tv_nsec = (long)(pause_seconds * 1e9)};
    for (double waited = 0; guard->command > 0 && is_running(guard->command) && waited < wait_seconds;) {
        nanosleep(&pause, NULL);
        waited += pause_seconds;
    }
}
