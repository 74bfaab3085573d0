#include "target/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/process.h"

const struct target_outcome target_killed = {-EIO, "killed while it was made"};

void guard_tell(int outcome_pipe, int code, const char *why) {
    struct target_outcome outcome = {.code = code};
    snprintf(outcome.why, sizeof outcome.why, "%s", why);
    if (write(outcome_pipe, &outcome, sizeof outcome) < 0) return; // the guard has ended; a signal follows
    close(outcome_pipe);
}

static int be_keeper(const struct guard_work *work, pid_t guard, int outcome_pipe) {
    sigset_t signals = process_ending_signals();
    setsid(); // a signal to the guard's terminal or process group must not kill both
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != guard) return 1;
    signal(SIGPIPE, SIG_IGN);
    return work->keep(work->context, &signals, outcome_pipe) < 0;
}

// A signal meanwhile is for the keeper: it need not finish what it makes.
static void await_report(int report, pid_t keeper, struct target_outcome *outcome) {
    sigset_t ending = process_ending_signals();
    struct signalfd_siginfo about;
    int signals = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd events[] = {{.fd = report, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    while (poll(events, 2, -1) <= 0 || !events[0].revents) {
        if (read(signals, &about, sizeof about) == sizeof about) kill(keeper, SIGTERM);
    }
    if (read(report, outcome, sizeof *outcome) != sizeof *outcome) *outcome = target_killed;
    if (signals >= 0) close(signals);
}

// Starts the keeper and waits for its report. Returns its process id or a negative code.
static pid_t start_keeper(const struct guard_work *work, struct target_outcome *outcome) {
    int ends[2];
    RETURN_IF(pipe2(ends, O_CLOEXEC) < 0, -errno);
    pid_t guard = getpid(), keeper = fork();
    int code = -errno;
    if (!keeper) {
        close(ends[0]);
        _exit(be_keeper(work, guard, ends[1]));
    }
    close(ends[1]);
    if (keeper > 0) await_report(ends[0], keeper, outcome);
    close(ends[0]);
    outcome->why[sizeof outcome->why - 1] = 0;
    return keeper < 0 ? code : keeper;
}

// Waits for the keeper and for helpers that it started.
static void await_end(const struct guard_work *work, pid_t keeper, const sigset_t *signals) {
    for (;;) {
        int number = sigwaitinfo(signals, NULL);
        if (number > 0 && number != SIGCHLD && work->stop(work->context) < 0) kill(keeper, SIGTERM);
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) continue;
        if (ended < 0 && errno == ECHILD) return;
    }
}

int guard_run(const struct guard_work *work, target_ready *ready, void *ready_context) {
    struct target_outcome outcome = {0};
    sigset_t signals = process_ending_signals();
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    pid_t keeper = start_keeper(work, &outcome);
    if (keeper < 0) outcome.code = keeper;
    if (!outcome.code && work->ready) work->ready(work->context);
    if (ready(&outcome, ready_context) < 0) kill(getpid(), SIGTERM); // blocked until await_end() takes it
    if (keeper > 0) await_end(work, keeper, &signals);
    work->clean_up(work->context);
    return outcome.code;
}

bool guard_ends_within(int guard_process, int timeout_ms) {
    return poll(&(struct pollfd){.fd = guard_process, .events = POLLIN}, 1, timeout_ms) > 0;
}

// The pidfd is open before the times are compared: from then on it means the same process.
int guard_open(pid_t guard, uint64_t start_ticks) {
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)guard);
    int process = (int)syscall(SYS_pidfd_open, guard, 0);
    RETURN_IF(process < 0, -errno);
    bool ours = io_first_line(path, name, sizeof name) && !strcmp(name, "ioseer");
    if (start_ticks) ours &= process_start_ticks(guard) == start_ticks;
    if (ours && !guard_ends_within(process, 0)) return process;
    close(process);
    return -ESRCH;
}

void guard_await_keeper(pid_t keeper, uint64_t start_ticks, int timeout_ms) {
    int process = guard_open(keeper, start_ticks);
    if (process < 0) return;
    guard_ends_within(process, timeout_ms);
    close(process);
}
