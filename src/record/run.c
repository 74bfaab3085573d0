#include "record/run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/err.h"
#include "base/process.h"

#define NS_PER_SECOND UINT64_C(1000000000)

// State of the supervision; results are in struct record_run.
struct supervisor {
    struct record_run *run;
    const struct record_plan *plan;
    pid_t command; // 0 once it has ended
    sigset_t caught;
    struct sigaction child_before;
    uint64_t
        deadline_ns; // of the wait for descendants, once the command has ended; before: of its end after `ended_by`
    int ended_by;    // a signal that should end the command; 0: none, or its delay was reported
    bool reported;
    unsigned interrupted; // signals that may end the command, other than SIGTERM
    uint64_t wait_ns;
    bool done;
};

struct spill_moment record_run_now(void) {
    return spill_moment_now(cpu_counter);
}

// Signals that people and schedulers send to a job. An alarm that was set before `record` was exec'ed is meant for the
// command.
static void fill_caught(sigset_t *caught) {
    static const int signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                  SIGUSR2, SIGALRM, SIGXCPU, SIGPIPE, SIGCHLD};
    sigemptyset(caught);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) sigaddset(caught, signals[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) sigaddset(caught, number);
}

// Blocked signals wait for sigtimedwait: without a handler none can be missed.
static void block_signals(struct supervisor *s) {
    fill_caught(&s->caught);
    sigprocmask(SIG_BLOCK, &s->caught, &s->run->mask_before);
    s->run->holds_signals = true;
    // If the caller ignores SIGCHLD, the kernel reaps children itself.
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &normal, &s->child_before);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static void become_command(const struct supervisor *s, int report) {
    const struct record_plan *plan = s->plan;
    if (plan->guard) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (plan->guard && getppid() != plan->guard->record) _exit(126); // the caller died before
    sigaction(SIGCHLD, &s->child_before, NULL);
    signal(SIGXFSZ, plan->file_limit);
    int outside = process_enter_group(plan->group);
    sigprocmask(SIG_SETMASK, &s->run->mask_before, NULL);
    if (plan->follower && !outside) {
        execve(plan->follower[0], plan->follower, (char *[]){NULL});
        (void)!symlink(UNFOLLOWED_FAILED, plan->mark); // even if that fails, the command runs
    }
    if (!outside) execvpe(plan->command[0], plan->command, plan->environment);
    int error = outside ? -outside : errno;
    ssize_t written = write(report, &error, sizeof error);
    _exit(written == sizeof error ? 127 : 126);
}

// The exec closes the pipe if it succeeds; otherwise the error comes through the pipe.
static int start_command(struct supervisor *s) {
    int report[2];
    RETURN_IF(pipe2(report, O_CLOEXEC), -errno);
    s->run->start = s->run->end = record_run_now();
    s->command = fork();
    if (s->command == 0) become_command(s, report[1]);
    int code = s->command < 0 ? -errno : 0;
    close(report[1]);
    int error = 0;
    ssize_t got;
    do {
        got = read(report[0], &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    close(report[0]);
    if (code == 0 && got == sizeof error) {
        s->run->exec_error = error;
        waitpid(s->command, NULL, 0);
        s->command = 0;
    }
    if (s->plan->guard && s->command > 0) record_guard_tell(s->plan->guard, GUARD_COMMAND, s->command);
    return code;
}

int record_run_add_child(struct record_run *run, const struct pack_child *child) {
    return array_push(run->children, run->child_count, *child);
}

static int reap_one(struct supervisor *s, pid_t pid) {
    struct pack_child child = {.pid = (uint32_t)pid};
    if (!process_reap(pid, &child.status, child.chars, &child.chars_known)) return 0;
    s->run->end = record_run_now();
    child.mono_ns = s->run->end.mono_ns;
    if (pid == s->command) {
        s->command = 0;
        s->run->status = child.status;
        s->deadline_ns = child.mono_ns + s->wait_ns;
    }
    return record_run_add_child(s->run, &child);
}

static int reap_all(struct supervisor *s) {
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL)) {
            if (errno == EINTR) continue;
            s->run->all_reaped = s->done = true; // ECHILD: none is left
            return 0;
        }
        if (info.si_pid == 0) return 0;
        FORWARD(reap_one(s, info.si_pid));
    }
}

// The terminal signals the whole process group; only a signal that was sent to us alone must be passed on.
static bool is_for_us_alone(const siginfo_t *info) { return info->si_code != SI_KERNEL || info->si_signo == SIGALRM; }

static void handle_signal(struct supervisor *s, const siginfo_t *info) {
    const uint64_t patience_ns = 2 * NS_PER_SECOND;
    int number = info->si_signo;
    if (number == SIGPIPE) return; // caused by our own line on a closed standard error
    bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
    if (!s->command) {
        s->done = s->done || ends; // Ctrl-C now ends the wait for the command's descendants
        return;
    }
    if (is_for_us_alone(info)) kill(s->command, number);
    if (!ends || s->ended_by || s->reported) return;
    if (number != SIGTERM && !s->interrupted++) return; // shells and servers handle a Ctrl-C and go on
    s->ended_by = number;
    s->deadline_ns = clock_ns(CLOCK_MONOTONIC) + patience_ns;
}

static void report_delay(struct supervisor *s) {
    if (s->plan->still_runs) s->plan->still_runs(s->plan->command[0], s->command, s->ended_by);
    s->ended_by = 0;
    s->reported = true;
}

static int wait_for_signal(const struct supervisor *s, siginfo_t *info) {
    if (s->command && !s->ended_by) return sigwaitinfo(&s->caught, info);
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t left = s->deadline_ns > now ? s->deadline_ns - now : 0;
    struct timespec timeout = {.tv_sec = (time_t)(left / NS_PER_SECOND), .tv_nsec = (long)(left % NS_PER_SECOND)};
    return sigtimedwait(&s->caught, info, &timeout);
}

static int supervise(struct supervisor *s) {
    FORWARD(reap_all(s));
    while (!s->done) {
        siginfo_t info;
        int number = wait_for_signal(s, &info);
        if (number < 0 && errno == EAGAIN && !s->command) break;
        if (number < 0 && errno == EAGAIN) report_delay(s);
        if (number < 0) continue;
        if (number == SIGCHLD) {
            FORWARD(reap_all(s));
        } else {
            handle_signal(s, &info);
        }
    }
    return 0;
}

int record_run_command(struct record_run *run, const struct record_plan *plan) {
    const double longest_seconds = 1e9;
    *run = (struct record_run){0};
    struct supervisor s = {.run = run, .plan = plan};
    s.wait_ns = (uint64_t)(fmin(plan->wait_seconds, longest_seconds) * (double)NS_PER_SECOND);
    block_signals(&s);
    FORWARD(start_command(&s));
    return run->exec_error ? 0 : supervise(&s);
}

// Signals that came too late for the command are dropped.
static void release_signals(const struct record_run *run) {
    sigset_t caught;
    fill_caught(&caught);
    while (sigtimedwait(&caught, NULL, &(struct timespec){0}) > 0) continue;
    sigprocmask(SIG_SETMASK, &run->mask_before, NULL);
}

void record_run_free(struct record_run *run) {
    if (run->holds_signals) release_signals(run);
    free(run->children);
    *run = (struct record_run){0};
}
