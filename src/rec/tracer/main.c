// ioseer-follow: becomes a program that no library can be preloaded into, and has it followed (base/follower.h).
//
// A second process, the tracer, attaches to this one. Then this one tells the kernel which system calls the tracer
// wants to see (seccomp) and executes the program: all other calls run at full speed. The program sees nothing of this:
// the tracer is neither its child nor in its session, and has none of its descriptors. If anything fails, the program
// runs all the same.
//
// With FOLLOWER_JOINS it is itself the tracer, of processes that run already.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/follower.h"
#include "rec/spill.h"
#include "rec/tracer/followed.h"
#include "rec/tracer/trace.h"
#include "rec/tracer/traced_call.h"

enum { PATIENCE_MS = 5000 }; // for the tracer to attach

// A child that does not signal its end: the program might find that signal pending.
static pid_t fork_quietly(void) { return (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0); }

// The words of this process. Everybody may read them in /proc, and the program's environment is among them.
static struct {
    char *start;
    size_t bytes;
} words;

static void close_all(void) {
    enum { MOST = 1 << 16 };
    if (syscall(SYS_close_range, 0, ~0u, 0) == 0) return;
    for (int fd = 0; fd < MOST; fd++) close(fd); // before Linux 5.9
}

static void become_tracer(pid_t followed, _Atomic int *is_attached) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    memset(words.start, 0, words.bytes);
    if (chdir("/") || trace_attach(followed) < 0) _exit(1);
    atomic_store(is_attached, 1);
    close_all(); // among them the end of the pipe that the program waits for
    trace_run();
    _exit(0);
}

// The tracer works for all processes of the program. If it had a limit of processor time, it would be killed, and their
// calls would fail.
static bool may_follow(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_CPU, &limit) < 0 || limit.rlim_max == RLIM_INFINITY;
}

// The tracer must attach before the filter is set: without a tracer, the calls in the filter fail. It closes its end of
// a pipe when it has attached or failed. The wait has a bound; nobody writes into the pipe, because the kernel counts
// that as I/O.
static bool start_tracer(void) {
    int ready[2];
    pid_t own = getpid();
    _Atomic int *is_attached =
        mmap(NULL, sizeof *is_attached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (is_attached == MAP_FAILED || pipe2(ready, O_CLOEXEC)) return false;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); // Yama asks for it; fails without Yama
    pid_t between = fork_quietly();
    if (between == 0) {
        if (fork_quietly() == 0) become_tracer(own, is_attached);
        _exit(0);
    }
    close(ready[1]);
    if (between > 0) waitpid(between, NULL, __WALL);
    poll(&(struct pollfd){.fd = ready[0]}, 1, PATIENCE_MS);
    prctl(PR_SET_PTRACER, 0);
    close(ready[0]);
    return atomic_load(is_attached);
}

// --- the filter

static size_t add(struct sock_filter *filter, size_t len, struct sock_filter instruction) {
    filter[len] = instruction;
    return len + 1;
}

// Calls of other architectures pass, and so do mappings of memory, which most programs make often.
static size_t make_filter(struct sock_filter *filter) {
    const unsigned load = BPF_LD | BPF_W | BPF_ABS, equal = BPF_JMP | BPF_JEQ | BPF_K, give = BPF_RET | BPF_K;
    const struct sock_filter pass = BPF_STMT(give, SECCOMP_RET_ALLOW), stop = BPF_STMT(give, SECCOMP_RET_TRACE);
    size_t len = add(filter, 0, (struct sock_filter)BPF_STMT(load, offsetof(struct seccomp_data, arch)));
    len = add(filter, len, (struct sock_filter)BPF_JUMP(equal, CPU_AUDIT, 1, 0));
    len = add(filter, len, pass);
    len = add(filter, len, (struct sock_filter)BPF_STMT(load, offsetof(struct seccomp_data, nr)));
    for (unsigned number = 0; number < TRACED_CALLS; number++) {
        if (!traced_calls[number].before || number == SYS_mmap) continue;
        len = add(filter, len, (struct sock_filter)BPF_JUMP(equal, number, 0, 1));
        len = add(filter, len, stop);
    }
    len = add(filter, len, (struct sock_filter)BPF_JUMP(equal, SYS_execve, 1, 0));
    len = add(filter, len, (struct sock_filter)BPF_JUMP(equal, SYS_execveat, 0, 1));
    len = add(filter, len, stop);
    len = add(filter, len, (struct sock_filter)BPF_JUMP(equal, SYS_mmap, 1, 0));
    len = add(filter, len, pass);
    len = add(filter, len, (struct sock_filter)BPF_STMT(load, offsetof(struct seccomp_data, args[3])));
    len = add(filter, len, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1));
    len = add(filter, len, pass);
    return add(filter, len, stop);
}

// A process without rights may only set a filter if it also gives up gaining rights by exec.
static bool set_filter(void) {
    struct sock_filter filter[2 * TRACED_CALLS + 16];
    struct sock_fprog program = {.len = (unsigned short)make_filter(filter), .filter = filter};
    // Otherwise some kernels make the program's own work slower, too.
    const unsigned long flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0) return true;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

// --- processes that run already

static void stop(int number) {
    (void)number;
    const struct itimerval again = {.it_interval.tv_usec = 20000, .it_value.tv_usec = 20000};
    trace_stop();
    setitimer(ITIMER_REAL, &again, NULL); // it may be just about to wait
}

// Ends with the recording: by a signal, after a time, or with the process that started it. Returns an errno.
static int join(char **arguments) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM};
    double seconds = atof(arguments[0]);
    struct itimerval limit = {.it_value.tv_sec = (time_t)seconds};
    limit.it_value.tv_usec = (suseconds_t)((seconds - (double)limit.it_value.tv_sec) * 1e6);
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        sigaction(ends[i], &(struct sigaction){.sa_handler = stop}, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (followed_init() < 0) return EINVAL;
    for (char **pid = arguments + 1; *pid; pid++) {
        int code = trace_join(atoi(*pid));
        if (code < 0) return -code;
    }
    if (chdir("/") == 0) close_all();
    if (seconds > 0) setitimer(ITIMER_REAL, &limit, NULL);
    trace_run();
    return 0;
}

int main(int argc, char **argv) {
    if (argc > FOLLOWER_COUNT && !strcmp(argv[FOLLOWER_PATH], FOLLOWER_JOINS)) return join(argv + FOLLOWER_COUNT);
    int count = argc > FOLLOWER_COUNT ? atoi(argv[FOLLOWER_COUNT]) : -1;
    if (count < 0 || count > argc - FOLLOWER_FIRST) return 2;
    const char *path = argv[FOLLOWER_PATH];
    words.start = argv[0];
    words.bytes = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);
    char **arguments = argv + FOLLOWER_FIRST - 1; // one word earlier, so that a NULL fits behind them
    for (int i = 0; i < count; i++) arguments[i] = arguments[i + 1];
    arguments[count] = NULL;
    environ = argv + FOLLOWER_FIRST + count;
    uint64_t mark = 0;
    if (followed_init() == 0 && !(may_follow() && start_tracer() && set_filter()))
        mark = spill_mark_unfollowed(UNFOLLOWED_FORBIDDEN);
    execve(path, arguments, environ);
    int error = errno;
    if (mark) spill_unmark_unfollowed(mark);
    return error == ENOENT ? 127 : 126;
}
