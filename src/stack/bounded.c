// Work that may hang, with a limit of time.
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "stack/private.h"
#include "target/guard.h"

static bool ends_within(pid_t child, int timeout_ms) {
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    if (process < 0) return true;
    bool ended = guard_ends_within(process, timeout_ms);
    close(process);
    return ended;
}

// The result is an exit status: errno, and 255 for codes above that.
int stack_bounded(int (*work)(const void *context), const void *context, int timeout_ms) {
    int status;
    pid_t child = fork();
    RETURN_IF(child < 0, -errno);
    if (!child) {
        close_range(0, ~0u, 0); // whoever reads our output must not wait for this process
        int code = work(context);
        _exit(code >= 0 ? 0 : code >= -254 ? -code : 255);
    }
    if (!ends_within(child, timeout_ms)) {
        kill(child, SIGKILL); // it may end later; nobody waits for that
        return -ETIMEDOUT;
    }
    while (waitpid(child, &status, 0) < 0) RETURN_IF(errno != EINTR, -errno);
    return WIFEXITED(status) && WEXITSTATUS(status) != 255 ? -WEXITSTATUS(status) : -EIO;
}
