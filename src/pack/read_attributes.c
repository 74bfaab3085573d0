#include "pack/read_attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/scoped.h"

enum { PIPE = 0 }; // the child's only descriptor

struct answer {
    int len; // or -errno; the value follows
    uint8_t value[ATTRIBUTE_MAX_BYTES];
};

static int read_one(const struct attribute_request *request, size_t file, struct answer *answer) {
    for (size_t i = 0; i < sizeof request->name / sizeof *request->name && request->name[i]; i++) {
        ssize_t len = getxattr(request->file[file], request->name[i], answer->value, sizeof answer->value);
        if (len >= 0) return (int)len;
        answer->len = -errno;
        if (errno == ENOENT) break;
    }
    return answer->len;
}

// It may never return from a call. So it holds nothing of the caller's that somebody could wait for: a pipe that it
// kept open would never end.
static _Noreturn void be_child(const struct attribute_request *request, int fd, struct answer *answer) {
    enum { MOST = 1024 };
    if (dup2(fd, PIPE) < 0 || chdir("/")) _exit(1);
    bool closed = syscall(SYS_close_range, PIPE + 1, ~0u, 0) == 0;
    for (int i = PIPE + 1; !closed && i < MOST; i++) close(i); // before Linux 5.9
    setsid();                                                  // a signal of the terminal is for the caller
    for (size_t i = 0; i < request->count; i++) {
        answer->len = read_one(request, i, answer);
        size_t value_len = answer->len > 0 ? (size_t)answer->len : 0;
        if (io_write_all(PIPE, answer, sizeof answer->len + value_len) < 0) _exit(1);
    }
    _exit(0);
}

struct reading {
    int fd;
    int patience_ms;
    int64_t deadline_ns; // of everything
    struct answer *answer;
};

// False at the end of the pipe, or if time runs out.
static bool read_in_time(const struct reading *reading, void *data, size_t len) {
    for (uint8_t *at = data; len > 0;) {
        int64_t left_ms = (reading->deadline_ns - clock_now_ns()) / 1000000;
        int wait_ms = left_ms < reading->patience_ms ? (int)left_ms : reading->patience_ms;
        if (wait_ms <= 0 || poll(&(struct pollfd){.fd = reading->fd, .events = POLLIN}, 1, wait_ms) <= 0) return false;
        ssize_t got = read(reading->fd, at, len);
        if (got <= 0) return false;
        at += got;
        len -= (size_t)got;
    }
    return true;
}

static int take_answers(const struct attribute_request *request, const struct reading *reading, attribute_take *take,
                        void *context) {
    struct answer *answer = reading->answer;
    size_t i = 0;
    for (; i < request->count && read_in_time(reading, &answer->len, sizeof answer->len); i++) {
        RETURN_IF(answer->len > ATTRIBUTE_MAX_BYTES, ERR_FORMAT);
        if (answer->len > 0 && !read_in_time(reading, answer->value, (size_t)answer->len)) break;
        FORWARD(take(context, i, answer->value, answer->len));
    }
    return (int)i;
}

// A process that the kernel does not let go is left to init.
static void end_child(pid_t child) {
    enum { ATTEMPTS = 100, PAUSE_NS = 1000000 };
    kill(child, SIGKILL);
    for (int i = 0; i < ATTEMPTS && waitpid(child, NULL, WNOHANG) == 0; i++)
        clock_sleep_until(clock_now_ns() + PAUSE_NS);
}

int read_attributes(const struct attribute_request *request, attribute_take *take, void *context) {
    int fd[2];
    SCOPED_FREE struct answer *answer = malloc(sizeof *answer);
    RETURN_IF(!answer, -ENOMEM);
    RETURN_IF(pipe2(fd, O_CLOEXEC), -errno);
    pid_t child = fork();
    if (child == 0) be_child(request, fd[1], answer);
    int code = child < 0 ? -errno : 0;
    close(fd[1]);
    if (code == 0) {
        int64_t deadline_ns = clock_now_ns() + (int64_t)request->limit_ms * 1000000;
        struct reading reading = {fd[0], request->patience_ms, deadline_ns, answer};
        code = take_answers(request, &reading, take, context);
        end_child(child);
    }
    close(fd[0]);
    return code;
}
