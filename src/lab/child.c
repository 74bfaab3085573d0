#include "lab/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

struct pipes {
    int out[2], err[2], go[2];
};

static int open_pipes(struct pipes *pipes) {
    memset(pipes, -1, sizeof *pipes);
    if (pipe2(pipes->out, O_CLOEXEC) || pipe2(pipes->err, O_CLOEXEC) || pipe2(pipes->go, O_CLOEXEC)) return -errno;
    return 0;
}

static void close_pair(int pair[2]) {
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0) close(pair[i]);
    }
}

// After fork in a process with threads: only what a signal handler may do.
static void become(char **words, const char *folder, const struct rlimit *files, const struct pipes *pipes,
                   bool is_guarded) {
    char go;
    sigset_t none;
    sigemptyset(&none);
    setsid();
    if (!is_guarded) prctl(PR_SET_PDEATHSIG, SIGTERM);
    close(pipes->go[1]); // or it would never see the end of the other side
    if (read(pipes->go[0], &go, 1) != 1) _exit(127);
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(pipes->out[1], 1) < 0 || dup2(pipes->err[1], 2) < 0) _exit(127);
    close_range(3, ~0u, 0);
    setrlimit(RLIMIT_NOFILE, files);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir(folder) == 0) execv(words[0], words);
    const char *why = strerrordesc_np(errno);
    (void)!write(2, why, strlen(why));
    _exit(127);
}

int lab_child_start(struct lab_child *child, char **words, const char *folder, const struct rlimit *files,
                    const struct lab_guard *guard) {
    bool is_guarded = guard && guard->fd >= 0;
    struct pipes pipes;
    for (int i = 0; i < 2; i++) child->output[i].fd = -1;
    int code = open_pipes(&pipes);
    child->pid = code == 0 ? fork() : -1;
    if (code == 0 && child->pid < 0) code = -errno;
    if (child->pid == 0) become(words, folder, files, &pipes, is_guarded);
    if (code < 0) {
        close_pair(pipes.out);
        close_pair(pipes.err);
        close_pair(pipes.go);
        return code;
    }
    if (is_guarded) lab_guard_tell(guard, child->pid);
    (void)!write(pipes.go[1], "", 1);
    close_pair(pipes.go);
    close(pipes.out[1]);
    close(pipes.err[1]);
    child->output[0].fd = pipes.out[0];
    child->output[1].fd = pipes.err[0];
    for (int i = 0; i < 2; i++) fcntl(child->output[i].fd, F_SETFL, O_NONBLOCK);
    return 0;
}

void lab_child_wait(const struct lab_child *child, int milliseconds) {
    struct pollfd wanted[2];
    nfds_t count = 0;
    for (int i = 0; i < 2; i++) {
        if (child->output[i].fd >= 0) wanted[count++] = (struct pollfd){.fd = child->output[i].fd, .events = POLLIN};
    }
    poll(wanted, count, milliseconds);
}

// Keeps the last part.
static void add_output(struct lab_output *output, const char *text, size_t len) {
    size_t room = sizeof output->text - output->len;
    if (len > room) {
        size_t drop = len - room;
        memmove(output->text, output->text + drop, output->len - drop);
        output->len -= drop;
        output->is_cut = true;
    }
    memcpy(output->text + output->len, text, len);
    output->len += len;
}

// Bounded: a program that prints without end must not keep the lock.
static void read_output(struct lab_output *output) {
    char text[4096];
    for (unsigned round = 0; round < 64 && output->fd >= 0; round++) {
        ssize_t got = read(output->fd, text, sizeof text);
        if (got > 0) {
            add_output(output, text, (size_t)got);
        } else if (got == 0) {
            close(output->fd);
            output->fd = -1;
        } else {
            return;
        }
    }
}

void lab_child_read(struct lab_child *child) {
    for (int i = 0; i < 2; i++) read_output(&child->output[i]);
}

bool lab_child_has_ended(struct lab_child *child, int *status) {
    if (!child->pid) return true;
    if (waitpid(child->pid, status, WNOHANG) != child->pid) return false;
    child->pid = 0;
    return true;
}

void lab_child_close(struct lab_child *child) {
    for (int i = 0; i < 2; i++) {
        if (child->output[i].fd >= 0) close(child->output[i].fd);
        child->output[i].fd = -1;
    }
}
