// Follows the program into its children: exec and spawn keep the recorder in the environment, even if the program
// changed that. Records how the process ends (_exit, abort) and how its children ended (wait). Nothing here allocates,
// because a vfork child runs on its parent's memory.
#include <alloca.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/follower.h"
#include "base/preload.h"
#include "base/program_file.h"
#include "base/settings.h"
#include "fmt/fields.h"
#include "rec/fixed_text.h"
#include "rec/job.h"
#include "rec/process_info.h"
#include "rec/shims.h"
#include "rec/spill.h"

#define PRELOAD "LD_PRELOAD="
enum { PRELOAD_LEN = sizeof PRELOAD - 1, WORDS_MAX = 1 << 16 };

static size_t count_words(char *const *words) {
    size_t count = 0;
    while (words && words[count]) count++;
    return count;
}

// The index of the entry "NAME=…" that has the same name as `entry`; or -1.
static long index_of(char *const *envp, size_t count, const char *entry, size_t name_len) {
    for (size_t i = 0; i < count; i++) {
        if (strncmp(envp[i], entry, name_len) == 0) return (long)i;
    }
    return -1;
}

// After chroot the library may be out of reach; the loader would then write to the program's standard error.
static bool can_follow(void) {
    if (!recorder.library || atomic_load(&recorder.phase) != RECORDER_ON) return false;
    return !recorder.new_root || cpu_syscall(SYS_faccessat, AT_FDCWD, recorder.library, R_OK) == 0;
}

// The kernel counts what the recorder reads as the process's; a child of vfork has its own count.
static void count_own_read(size_t bytes) {
    if (current_thread && current_thread->ready) recorder.spill->own_chars += (uint32_t)bytes;
}

// Bytes that follow_environment needs for its strings.
static size_t environment_room(char *const *envp, size_t count) {
    long at = index_of(envp, count, PRELOAD, PRELOAD_LEN);
    size_t library_len = recorder.library ? strlen(recorder.library) : 0;
    return PRELOAD_LEN + library_len + PRELOAD_NAME_ROOM + (at >= 0 ? strlen(envp[at]) : 0) + 3;
}

// Adds the settings to an environment; returns its new length.
static size_t put_settings(char **out, size_t count) {
    // A `record` inside of a job without one has a job of its own.
    bool is_recorded = index_of(out, count, SETTING_JOB "=", sizeof SETTING_JOB) >= 0 &&
                       index_of(out, count, SETTING_JOB_KEY "=", sizeof SETTING_JOB_KEY) < 0;
    for (unsigned i = 0; i < recorder.settings; i++) {
        size_t name_len = (size_t)(strchr(recorder.setting[i], '=') - recorder.setting[i]) + 1;
        long there = index_of(out, count, recorder.setting[i], name_len);
        // What a program sets for its children counts, but not a job that this process has left.
        bool is_of_job = !strncmp(recorder.setting[i], SETTING_JOB, sizeof SETTING_JOB - 1);
        if (is_of_job && is_recorded) continue;
        if (there < 0 || is_of_job) out[there < 0 ? (long)count++ : there] = recorder.setting[i];
    }
    return count;
}

// Writes the environment for the new program, the file `path`, into `out` (room for count + RECORDER_SETTINGS + 2).
static char **follow_environment(const char *path, char *const *envp, size_t count, char **out, char *room) {
    memcpy(out, envp, count * sizeof *out);
    long at = index_of(envp, count, PRELOAD, PRELOAD_LEN);
    if (can_follow()) {
        char runtime[PRELOAD_NAME_ROOM];
        count_own_read(preload_runtime(path, runtime));
        memcpy(room, PRELOAD, PRELOAD_LEN);
        preload_join(room + PRELOAD_LEN, at >= 0 ? envp[at] + PRELOAD_LEN : "", runtime, recorder.library);
        out[at >= 0 ? (size_t)at : count++] = room;
        count = put_settings(out, count);
    } else if (recorder.declined) {
        count = put_settings(out, count);
    } else if (recorder.new_root && at >= 0) {
        out[at] = PRELOAD;
    }
    out[count] = NULL;
    return out;
}

// Declares `following`, the environment to pass on to the file `path`; it lives until the function returns.
#define FOLLOW(path, envp)                                                                                             \
    recorder_thread();                                                                                                 \
    size_t envp_count = count_words(envp);                                                                             \
    char **envp_words = alloca((envp_count + RECORDER_SETTINGS + 2) * sizeof(char *));                                 \
    char *envp_text = alloca(environment_room(envp, envp_count));                                                      \
    char **following = follow_environment(path, envp, envp_count, envp_words, envp_text)

// The same for a file that is searched for.
#define FOLLOW_FOUND(file, envp)                                                                                       \
    char found[PATH_MAX];                                                                                              \
    if (!preload_find(file, getenv("PATH"), found, sizeof found)) found[0] = 0;                                        \
    FOLLOW(found, envp)

// How a program is started.
struct start {
    const char *path;
    bool is_followed; // through ioseer-follow: a preload cannot reach it
    uint64_t mark;    // not 0: the mark for a program that runs unseen
};

static void mark_unseen(struct start *start, const char *why) {
    start->is_followed = false;
    start->mark = spill_mark_unfollowed(why);
}

// `fd` is what `path` depends on, or -1. In a process that is traced, a debugger watches the exec, or the recorder's
// own tracer does.
static struct start plan_start(const char *path, int fd) {
    struct program_file file;
    struct start start = {.path = path};
    if (!recorder.follower || !path || !can_follow()) return start;
    int code = program_file_look_through(&file, path);
    count_own_read(file.bytes_read);
    bool gains_rights = code == 0 && program_file_gains_rights(path);
    if (code < 0 || (file.kind != PROGRAM_STATIC && !gains_rights)) return start;
    if (cpu_syscall(SYS_faccessat, AT_FDCWD, path, X_OK) < 0) return start; // exec tells why
    bool is_traced = process_info_is_traced();
    start.is_followed = !is_traced;
    if (gains_rights && cpu_syscall(SYS_geteuid, 0) != 0) {
        mark_unseen(&start, UNFOLLOWED_RIGHTS);
    } else if (!is_traced && recorder.follower[0] == '-') {
        mark_unseen(&start, recorder.follower + 1);
    } else if (!is_traced && fd >= 0 && cpu_syscall(SYS_fcntl, fd, F_GETFD) & FD_CLOEXEC) {
        mark_unseen(&start, UNFOLLOWED_CLOSED);
    }
    return start;
}

// Becomes the program through ioseer-follow, if need be; returns if that fails.
static void exec_followed(struct start *start, char *const argv[], char **envp) {
    static char *const nothing[] = {NULL};
    struct follower_count count;
    if (!start->is_followed) return;
    char **words = alloca(follower_room(argv, envp) * sizeof *words);
    follower_fill(words, &count, recorder.follower, start->path, argv, envp);
    real.execve(recorder.follower, words, nothing);
    mark_unseen(start, UNFOLLOWED_FAILED);
}

// exec returns only if it failed.
static int exec_failed(const struct start *start, int result) {
    if (start->mark) spill_unmark_unfollowed(start->mark);
    recorder_resume();
    return result;
}

SHIM(int, execve, const char *path, char *const argv[], char *const envp[]) {
    FOLLOW(path, envp);
    struct start start = plan_start(path, -1);
    recorder_end(EXIT_EXEC, 0);
    exec_followed(&start, argv, following);
    return exec_failed(&start, real.execve(path, argv, following));
}

SHIM(int, execvpe, const char *file, char *const argv[], char *const envp[]) {
    FOLLOW_FOUND(file, envp);
    struct start start = plan_start(found, -1);
    recorder_end(EXIT_EXEC, 0);
    exec_followed(&start, argv, following);
    return exec_failed(&start, real.execvpe(file, argv, following));
}

SHIM(int, execv, const char *path, char *const argv[]) { return shim_execve(path, argv, environ); }

SHIM(int, execvp, const char *file, char *const argv[]) { return shim_execvpe(file, argv, environ); }

// The name that the kernel gives to a file that execveat names by a descriptor.
static const char *path_at(int dirfd, const char *path, int flags, char room[PATH_MAX]) {
    if (!path || path[0] == '/' || dirfd < 0 || (!path[0] && !(flags & AT_EMPTY_PATH))) return path;
    struct fixed_text text = {room, PATH_MAX, 0};
    fixed_text_add(&text, "/dev/fd/");
    fixed_text_number(&text, (uint64_t)dirfd, 10);
    fixed_text_add(&text, path[0] ? "/" : "");
    fixed_text_add(&text, path);
    return room;
}

SHIM(int, fexecve, int fd, char *const argv[], char *const envp[]) {
    char room[PATH_MAX];
    const char *path = path_at(fd, "", AT_EMPTY_PATH, room);
    FOLLOW(path, envp);
    struct start start = plan_start(path, fd);
    recorder_end(EXIT_EXEC, 0);
    exec_followed(&start, argv, following);
    return exec_failed(&start, real.fexecve(fd, argv, following));
}

SHIM(int, execveat, int dirfd, const char *path, char *const argv[], char *const envp[], int flags) {
    char room[PATH_MAX];
    const char *name = path_at(dirfd, path, flags, room);
    FOLLOW(name, envp);
    // Another flag forbids links, or asks without executing.
    struct start start = flags & ~AT_EMPTY_PATH ? (struct start){0} : plan_start(name, name == path ? -1 : dirfd);
    recorder_end(EXIT_EXEC, 0);
    exec_followed(&start, argv, following);
    return exec_failed(&start, real.execveat(dirfd, path, argv, following, flags));
}

// Collects the arguments of an execl call from `word` on into argv; `list` is then after the final NULL.
#define COLLECT_WORDS(argv, word)                                                                                      \
    va_list list, counting;                                                                                            \
    va_start(list, word);                                                                                              \
    va_copy(counting, list);                                                                                           \
    size_t argv_count = 1;                                                                                             \
    while (argv_count < WORDS_MAX && va_arg(counting, char *)) argv_count++;                                           \
    va_end(counting);                                                                                                  \
    char **argv = alloca((argv_count + 1) * sizeof(char *));                                                           \
    argv[0] = (char *)word;                                                                                            \
    for (size_t i = 1; i <= argv_count; i++) argv[i] = va_arg(list, char *)

SHIM(int, execl, const char *path, const char *word, ...) {
    COLLECT_WORDS(argv, word);
    va_end(list);
    return shim_execve(path, argv, environ);
}

SHIM(int, execlp, const char *file, const char *word, ...) {
    COLLECT_WORDS(argv, word);
    va_end(list);
    return shim_execvpe(file, argv, environ);
}

SHIM(int, execle, const char *path, const char *word, ...) {
    COLLECT_WORDS(argv, word);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return shim_execve(path, argv, envp);
}

// Starts the program through ioseer-follow. Not 0: it is not needed, or failed.
static int spawn_followed(struct start *start, pid_t *pid, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const argv[], char **envp) {
    static char *const nothing[] = {NULL};
    struct follower_count count;
    if (!start->is_followed) return ENOEXEC;
    char **words = alloca(follower_room(argv, envp) * sizeof *words);
    follower_fill(words, &count, recorder.follower, start->path, argv, envp);
    int code = real.posix_spawn(pid, recorder.follower, actions, attributes, words, nothing);
    if (code) mark_unseen(start, UNFOLLOWED_FAILED);
    return code;
}

static int spawned(const struct start *start, int code) {
    if (code && start->mark) spill_unmark_unfollowed(start->mark);
    return code;
}

SHIM(int, posix_spawn, pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
    FOLLOW(path, envp);
    struct start start = plan_start(path, -1);
    handles_share_all();
    if (spawn_followed(&start, pid, actions, attributes, argv, following) == 0) return 0;
    return spawned(&start, real.posix_spawn(pid, path, actions, attributes, argv, following));
}

SHIM(int, posix_spawnp, pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
     const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]) {
    FOLLOW_FOUND(file, envp);
    struct start start = plan_start(found, -1);
    handles_share_all();
    if (spawn_followed(&start, pid, actions, attributes, argv, following) == 0) return 0;
    return spawned(&start, real.posix_spawnp(pid, file, actions, attributes, argv, following));
}

// --- ends

// In a static program, posix_spawn's child, which cannot execute the new program, calls _exit.
static bool is_on_parents_memory(void) {
    return real_via == VIA_LINK && recorder.spill_is_ours && atomic_load(recorder.spill_is_ours) &&
           cpu_syscall(SYS_getpid, 0) != (long)recorder.pid;
}

void shim__exit(int status) __asm__("_exit") __attribute__((noreturn));
EXPORT void shim__exit(int status) {
    if (is_on_parents_memory()) real._exit(status);
    recorder_thread();
    recorder_end(EXIT_UNDERSCORE, (uint32_t)status);
    job_end();
    real._exit(status);
    __builtin_unreachable();
}
EXPORT void shim__Exit(int status) __asm__("_Exit") __attribute__((noreturn, alias("_exit")));

void shim_abort(void) __asm__("abort") __attribute__((noreturn));
EXPORT void shim_abort(void) {
    recorder_thread();
    recorder_end(EXIT_SIGNAL, SIGABRT);
    job_end();
    real.abort();
    __builtin_unreachable();
}

static void record_child_end(pid_t pid, int status) {
    struct thread *thread = recorder_thread();
    if (!thread || pid <= 0 || (!WIFEXITED(status) && !WIFSIGNALED(status)) || !emit_claim(thread)) return;
    uint8_t buffer[32];
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    fields_begin(&out, RECORD_CHILD_END);
    fields_number(&out, CHILD_END_PID, (uint64_t)pid);
    fields_number(&out, CHILD_END_STATUS, (uint64_t)status);
    fields_end(&out);
    spill_record(buffer, (size_t)(out.at - buffer));
    emit_unclaim(thread);
}

// The recorder needs the status even if the program does not ask for it.
bool enter_wait(struct probe *p, int **status) {
    if (!*status) *status = &p->status;
    return enter(p);
}

void leave_wait(struct probe *p, uint32_t call, const int *status, pid_t result) {
    (void)p, (void)call;
    if (result > 0) record_child_end(result, *status);
}

void leave_waitid(struct probe *p, uint32_t call, const siginfo_t *info, int options, int result) {
    (void)p, (void)call;
    if (result < 0 || !info || options & WNOWAIT) return;
    if (info->si_code == CLD_EXITED) record_child_end(info->si_pid, info->si_status << 8);
    if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED) record_child_end(info->si_pid, info->si_status);
}
