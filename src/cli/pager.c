#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"
#include "base/locate.h"
#include "base/terminal.h"

struct pager {
    struct bytes held;             // before the pager runs
    unsigned rows, column;         // where the text ends on the screen
    unsigned width, height;        // of the screen
    int pipe;                      // to the pager; standard output if there is none
    bool is_decided;               // nothing is held any more
    struct sigaction on_interrupt; // as it was before
};

static volatile pid_t running; // the pager, for the handler; 0: none

// Ctrl-C is meant for the pager while it runs: it would lose the terminal to the shell if this process ended first.
static void interrupt(int number) {
    if (running && waitpid(running, NULL, WNOHANG) == 0) return;
    signal(number, SIG_DFL);
    raise(number);
}

// --- the command

static const char *command(void) {
    const char *own = getenv("IOSEER_PAGER"), *common = getenv("PAGER");
    return own ? own : common ? common : "less";
}

// A command that is more than a program and its arguments is for the shell to judge.
static bool is_there(const char *text) {
    char word[256], path[PATH_MAX];
    size_t len = strcspn(text, " \t");
    if (!len || len >= sizeof word) return len > 0;
    snprintf(word, sizeof word, "%.*s", (int)len, text);
    return strpbrk(word, "=$'\"`\\(){};|&<>~") || locate_program(word, path);
}

static int start(struct pager *pager) {
    int ends[2];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t plain;
    pid_t pid;
    char *words[] = {"sh", "-c", (char *)command(), NULL};
    if (pipe2(ends, O_CLOEXEC)) return -errno;
    setenv("LESS", "FRX", 0); // leaves a short text on the screen, passes colour on
    sigemptyset(&plain);
    sigaddset(&plain, SIGPIPE);
    sigaddset(&plain, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &plain);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[0]);
    if (error) {
        close(ends[1]);
        return -error;
    }
    running = pid;
    sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt, .sa_flags = SA_RESTART}, &pager->on_interrupt);
    pager->pipe = ends[1];
    return 0;
}

// --- the stream

// True if the text does not fit on the screen any more. The shell's prompt needs a row.
static bool is_long(struct pager *pager, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        bool is_next = text[i] == '\n' || pager->column == pager->width;
        pager->rows += is_next;
        pager->column = is_next ? 0 : pager->column + (((unsigned char)text[i] & 0xc0) != 0x80);
    }
    return pager->rows >= pager->height;
}

static int release(struct pager *pager) {
    pager->is_decided = true;
    return io_write_all(pager->pipe, pager->held.data, pager->held.len);
}

// What a stream of stdio expects: the bytes written, 0 and errno after an error.
static ssize_t take(void *cookie, const char *text, size_t len) {
    struct pager *pager = cookie;
    int code = pager->is_decided ? io_write_all(pager->pipe, text, len) : bytes_append(&pager->held, text, len);
    if (code == 0 && !pager->is_decided && is_long(pager, text, len)) {
        start(pager); // without a pager the text is printed directly
        code = release(pager);
    }
    errno = code < 0 ? -code : errno;
    return code < 0 ? 0 : (ssize_t)len;
}

static int end(void *cookie) {
    struct pager *pager = cookie;
    int code = pager->is_decided ? 0 : release(pager);
    terminal_lead(NULL, false);
    if (running) {
        close(pager->pipe);
        while (waitpid(running, NULL, 0) < 0 && errno == EINTR) {
        }
        running = 0;
        sigaction(SIGINT, &pager->on_interrupt, NULL);
    }
    bytes_free(&pager->held);
    free(pager);
    errno = code < 0 ? -code : errno;
    return code < 0 ? -1 : 0;
}

FILE *pager_open(void) {
    // A process in the background must not take the terminal.
    bool is_possible = terminal_has_keys() && terminal_height(stdout) && terminal_width(stdout) &&
                       tcgetpgrp(STDOUT_FILENO) == getpgrp() && is_there(command());
    struct pager *pager = is_possible ? calloc(1, sizeof *pager) : NULL;
    if (!pager) return NULL;
    *pager = (struct pager){.width = terminal_width(stdout), .height = terminal_height(stdout), .pipe = STDOUT_FILENO};
    FILE *out = fopencookie(pager, "w", (cookie_io_functions_t){.write = take, .close = end});
    const char *less = getenv("LESS");
    if (!out) free(pager);
    terminal_lead(out, !less || strchr(less, 'R'));
    return out;
}
