// Processes: every way to become or start another program, to end, and to wait. The recorder must follow, with the
// descriptors and positions that were inherited.
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

enum { CHILD_STATUS = 5 };

static char program[PATH_ROOM];
static char number[16]; // of the descriptor that the new program reads from
static char *words[] = {program, "--child", number, NULL};
static char *no_environment[] = {NULL};
static int program_fd;
static char *name; // of the program, without its directory, which is in PATH

static void prepare(void) {
    fixture_begin();
    snprintf(number, sizeof number, "%d", f.fd);
    program_fd = open(program, O_RDONLY | O_CLOEXEC);
}

// The new program: its read must be seen, at the position it inherited.
static int child_main(const char *fd) {
    char buf[LENGTH];
    return read(atoi(fd), buf, sizeof buf) == LENGTH ? CHILD_STATUS : 1;
}

static void expect_child_program(pid_t pid, int status) {
    case_stop(status);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    expect_process(pid, "clean");
    fixture_end();
}

static void exec_with(void (*run)(void *)) {
    void *symbol = case_symbol();
    int status = -1;
    if (!symbol) return;
    prepare();
    case_start();
    pid_t pid = fork();
    if (pid == 0) {
        run(symbol);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    expect_child_program(pid, status);
}

static void run_execve(void *symbol) {
    ((int (*)(const char *, char *const *, char *const *))symbol)(program, words, no_environment);
}

static void run_execv(void *symbol) { ((int (*)(const char *, char *const *))symbol)(program, words); }

static void run_execvp(void *symbol) { ((int (*)(const char *, char *const *))symbol)(name, words); }

static void run_execvpe(void *symbol) {
    ((int (*)(const char *, char *const *, char *const *))symbol)(name, words, no_environment);
}

static void run_execl(void *symbol) {
    ((int (*)(const char *, const char *, ...))symbol)(program, words[0], words[1], words[2], NULL);
}

static void run_execlp(void *symbol) {
    ((int (*)(const char *, const char *, ...))symbol)(name, words[0], words[1], words[2], NULL);
}

static void run_execle(void *symbol) {
    ((int (*)(const char *, const char *, ...))symbol)(program, words[0], words[1], words[2], NULL, no_environment);
}

static void run_fexecve(void *symbol) {
    ((int (*)(int, char *const *, char *const *))symbol)(program_fd, words, no_environment);
}

static void run_execveat(void *symbol) {
    ((int (*)(int, const char *, char *const *, char *const *, int))symbol)(AT_FDCWD, program, words, no_environment,
                                                                            0);
}

static void execve_case(void) { exec_with(run_execve); }

static void execv_case(void) { exec_with(run_execv); }

static void execvp_case(void) { exec_with(run_execvp); }

static void execvpe_case(void) { exec_with(run_execvpe); }

static void execl_case(void) { exec_with(run_execl); }

static void execlp_case(void) { exec_with(run_execlp); }

static void execle_case(void) { exec_with(run_execle); }

static void execveat_case(void) { exec_with(run_execveat); }

static void fexecve_case(void) { exec_with(run_fexecve); }

static void exec_fails(void) {
    prepare();
    case_start();
    int result = execv(f.missing, words);
    result += (int)read(f.fd, f.buf, LENGTH);
    case_stop(result);
    CHECK(result == LENGTH - 1);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    fixture_end();
}

static void spawn_case(void) {
    int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
                 char *const *) = case_symbol();
    pid_t pid = -1;
    int status = -1;
    if (!spawn) return;
    prepare();
    case_start();
    int result = spawn(&pid, program, NULL, NULL, words, no_environment);
    if (result == 0) waitpid(pid, &status, 0);
    expect_child_program(pid, status);
}

// The child shares our memory until it runs the program: what it closes must stay open here.
static void vfork_case(void) {
    int status = -1;
    if (!case_symbol()) return;
    prepare();
    case_start();
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(f.fd, f.out);
        close(f.dirfd);
        execv(program, words);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    ssize_t moved = read(f.out, f.buf, 8);
    case_stop(status + moved);
    CHECK(WEXITSTATUS(status) == CHILD_STATUS && fcntl(f.dirfd, F_GETFD) >= 0);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    expect("read", f.other, POSITION, 8, 8);
    fixture_end();
}

// --- ends

static void end_with(void (*end)(void *), const char *how, bool named) {
    void *symbol = named ? case_symbol() : NULL;
    int status = -1;
    if (named && !symbol) return;
    prepare();
    case_start();
    pid_t pid = fork();
    if (pid == 0) {
        read(f.fd, f.buf, LENGTH);
        end(symbol);
    }
    waitpid(pid, &status, 0);
    case_stop(status);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    expect_process(pid, how);
    fixture_end();
}

static void run_exit(void *symbol) { ((void (*)(int))symbol)(CHILD_STATUS); }

static void run_abort(void *symbol) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    ((void (*)(void))symbol)();
}

static void run_exit_group(void *symbol) {
    (void)symbol;
    syscall(SYS_exit_group, CHILD_STATUS);
}

static void run_kill(void *symbol) {
    (void)symbol;
    kill(getpid(), SIGKILL);
}

static void exit_case(void) { end_with(run_exit, "_exit", true); }

// In a sandbox the child can still write, and no system call of the recorder kills it.
static void run_prctl(void *symbol) {
    int (*call)(int, ...) = (int (*)(int, ...))symbol;
    if (call(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0L, 0L, 0L) != 0) _exit(1);
    if (write(f.fd, "x", 1) != 1) syscall(SYS_exit, 1);
    syscall(SYS_exit, CHILD_STATUS);
}

static void prctl_case(void) {
    void *symbol = case_symbol();
    int status = -1;
    if (!symbol) return;
    prepare();
    case_start();
    pid_t pid = fork();
    if (pid == 0) run_prctl(symbol);
    waitpid(pid, &status, 0);
    case_stop(status);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_STATUS);
    fixture_end();
}

static void abort_case(void) { end_with(run_abort, "signal 6", true); }

static void exit_group_case(void) { end_with(run_exit_group, "_exit", false); }

static void kill_case(void) { end_with(run_kill, "signal 9", false); }

// --- waiting: the only way to learn that a signal killed a child

static void wait_with(int (*run)(void *, pid_t, int *)) {
    void *symbol = case_symbol();
    int status = -1;
    if (!symbol) return;
    prepare();
    case_start();
    pid_t pid = fork();
    if (pid == 0) {
        read(f.fd, f.buf, LENGTH);
        kill(getpid(), SIGKILL);
    }
    int result = run(symbol, pid, &status);
    case_stop(status);
    CHECK(result == pid && status == SIGKILL);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    expect_process(pid, "signal 9");
    fixture_end();
}

static int run_wait(void *symbol, pid_t pid, int *status) {
    (void)pid;
    return ((pid_t(*)(int *))symbol)(status);
}

static int run_waitpid(void *symbol, pid_t pid, int *status) {
    return ((pid_t(*)(pid_t, int *, int))symbol)(pid, status, 0);
}

static int run_wait3(void *symbol, pid_t pid, int *status) {
    (void)pid;
    return ((pid_t(*)(int *, int, struct rusage *))symbol)(status, 0, NULL);
}

static int run_wait4(void *symbol, pid_t pid, int *status) {
    return ((pid_t(*)(pid_t, int *, int, struct rusage *))symbol)(pid, status, 0, NULL);
}

static int run_waitid(void *symbol, pid_t pid, int *status) {
    siginfo_t info = {0};
    int result = ((int (*)(idtype_t, id_t, siginfo_t *, int))symbol)(P_PID, (id_t)pid, &info, WEXITED);
    *status = info.si_status;
    return result == 0 ? info.si_pid : -1;
}

static void wait_case(void) { wait_with(run_wait); }

static void waitpid_case(void) { wait_with(run_waitpid); }

static void wait3_case(void) { wait_with(run_wait3); }

static void wait4_case(void) { wait_with(run_wait4); }

static void waitid_case(void) { wait_with(run_waitid); }

static void syscall_case(void) {
    long (*call)(long, ...) = case_symbol();
    if (!call) return;
    case_start();
    long pid = call(SYS_getpid);
    long result = call(-1);
    case_stop(result);
    CHECK(pid == getpid() && case_error() == ENOSYS);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"execve", execve_case},     {"execv", execv_case},
        {"execvp", execvp_case},     {"execvpe", execvpe_case},
        {"execl", execl_case},       {"execlp", execlp_case},
        {"execle", execle_case},     {"fexecve", fexecve_case},
        {"execveat", execveat_case}, {"exec that fails", exec_fails},
        {"posix_spawn", spawn_case}, {"posix_spawnp", spawn_case},
        {"vfork", vfork_case},       {"_exit", exit_case},
        {"_Exit", exit_case},        {"abort", abort_case},
        {"prctl", prctl_case},       {"exit_group through syscall", exit_group_case},
        {"SIGKILL", kill_case},      {"wait", wait_case},
        {"waitpid", waitpid_case},   {"wait3", wait3_case},
        {"wait4", wait4_case},       {"waitid", waitid_case},
        {"syscall", syscall_case},   {NULL, NULL},
    };
    if (argc == 3 && strcmp(argv[1], "--child") == 0) return child_main(argv[2]);
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    if (len < 0) return 1;
    name = strrchr(program, '/') + 1;
    char folder[PATH_ROOM];
    snprintf(folder, sizeof folder, "%.*s", (int)(name - program), program);
    setenv("PATH", folder, 1);
    return case_main(argc, argv, cases);
}
