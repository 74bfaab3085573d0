#include "rec/tracer/trace.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program_file.h"
#include "base/settings.h"
#include "rec/asking.h"
#include "rec/recorder.h"
#include "rec/tracer/followed.h"
#include "rec/tracer/rings.h"
#include "rec/tracer/traced_call.h"

enum { BUCKETS = 1024 };

// A thread that is followed.
struct task {
    struct task *next;
    pid_t tid;
    struct followed *process; // NULL: it ended before the tracer could look at it, or there was no memory
    struct thread *thread;    // NULL: it has made no call yet
    bool exits;
    bool in_call;        // between the two stops of a call
    bool is_interrupted; // a signal came: the kernel restarts the call, or the program sees EINTR
    const struct traced_call *call;
    long number;
    long word[6];
    struct probe probe;
};

static struct task *bucket[BUCKETS];
static bool joins; // processes without a filter
static volatile sig_atomic_t is_stopped;

// --- the tables

static struct task **place_of(pid_t tid) {
    struct task **at = &bucket[(unsigned)tid % BUCKETS];
    while (*at && (*at)->tid != tid) at = &(*at)->next;
    return at;
}

static void remove_task(pid_t tid) {
    struct task **at = place_of(tid), *task = *at;
    if (!task) return;
    *at = task->next;
    free(task);
}

// What the kernel tells a new program about itself. The program's file is not opened: the server of its file system may
// be a followed process, which waits for the tracer.
struct start {
    uint64_t loader;
    uint64_t is_secure;
    uint64_t segments, segment_count; // program headers, in its memory
};

static struct start start_of(pid_t pid) {
    char path[48];
    uint64_t vector[128] = {0};
    struct start start = {0};
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    long len = asking_read(path, (char *)vector, sizeof vector);
    for (long i = 0; i + 1 < len / (long)sizeof *vector; i += 2) {
        if (vector[i] == AT_BASE) start.loader = vector[i + 1];
        if (vector[i] == AT_SECURE) start.is_secure = vector[i + 1];
        if (vector[i] == AT_PHDR) start.segments = vector[i + 1];
        if (vector[i] == AT_PHNUM) start.segment_count = vector[i + 1];
    }
    return start;
}

// By how much the program is moved in memory. Its table of segments has an entry for itself, or follows the header of
// the file, as in a static program that may be anywhere (static-pie).
static uint64_t base_of(const struct start *start, const Elf64_Phdr *segment, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (segment[i].p_type == PT_PHDR) return start->segments - segment[i].p_vaddr;
        if (segment[i].p_type == PT_LOAD && !segment[i].p_offset)
            return start->segments - sizeof(Elf64_Ehdr) - segment[i].p_vaddr;
    }
    return 0;
}

// Whether the recorder is linked into the program. One of another version is off.
static bool is_linked(const struct start *start) {
    Elf64_Phdr segment[32];
    char notes[PROGRAM_NOTE_BYTES];
    uint64_t count = start->segment_count < 32 ? start->segment_count : 32;
    if (!tracer_read(segment, (long)start->segments, count * sizeof *segment)) return false;
    uint64_t base = base_of(start, segment, count);
    for (uint64_t i = 0; i < count; i++) {
        size_t bytes = segment[i].p_filesz < sizeof notes ? segment[i].p_filesz : sizeof notes;
        if (segment[i].p_type == PT_NOTE && tracer_read(notes, (long)(base + segment[i].p_vaddr), bytes) &&
            program_file_recorder(notes, bytes) == PROGRAM_NOTE_VERSION)
            return true;
    }
    return false;
}

// Whether the program has a variable with this text in its value.
static bool has_variable(pid_t pid, const char *name, const char *text) {
    static char variables[128 << 10];
    char path[48];
    size_t name_len = strlen(name);
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    long len = asking_read(path, variables, sizeof variables);
    for (const char *at = variables, *end = variables + len; len > 0 && at < end; at += strlen(at) + 1) {
        if (strncmp(at, name, name_len) == 0 && at[name_len] == '=') return strstr(at, text);
    }
    return false;
}

// Whether the recorder is in the process.
static bool records_itself(pid_t pid) {
    asking_about(pid);
    struct start start = start_of(pid);
    if (start.is_secure || !recorder.library) return false;
    if (start.loader) return has_variable(pid, "LD_PRELOAD", recorder.library);
    return is_linked(&start) && has_variable(pid, SETTING_JOB, recorder.job);
}

static bool is_recorded(pid_t pid) { return followed_all() || !records_itself(pid); }

// The process of a new thread, which a leader begins. `maker` is the thread that made it, NULL if that is not known
// yet.
static struct followed *process_of(pid_t tid, const struct task *maker) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    pid_t pid = (pid_t)asking_number(path, "\nTgid:", 10);
    if (pid < 0) return NULL;
    struct task *leader = *place_of(pid);
    if (pid != tid) return leader ? leader->process : NULL;
    struct followed *process = followed_new(pid);
    if (!process) return NULL;
    process->generation = 1;
    process->is_recorded = maker && maker->process ? maker->process->is_recorded : is_recorded(pid);
    return process;
}

// The tracer's entry of a thread. A new thread may stop before its maker's stop announces it.
static struct task *task_of(pid_t tid, const struct task *maker) {
    struct task **at = place_of(tid);
    if (*at) return *at;
    struct task *task = calloc(1, sizeof *task);
    if (!task) return NULL;
    task->tid = tid;
    task->process = process_of(tid, maker);
    if (task->process) task->process->tasks++;
    *place_of(tid) = task;
    return task;
}

// --- calls

// Codes of the kernel that never reach a program.
static bool is_restart(long returned) { return returned <= -512 && returned >= -516; }

static void finish_call(struct task *task, long returned) {
    current_thread = task->thread;
    task->is_interrupted = false;
    if (returned < 0 && returned > -4096) {
        errno = (int)-returned;
        returned = -1;
    }
    task->call->after(&task->probe, task->word, returned);
    if (task->number == SYS_mmap) rings_mapped(task->word, returned);
}

static bool is_same_call(const struct task *task, const struct __ptrace_syscall_info *info) {
    if ((long)info->entry.nr != task->number) return false;
    for (int i = 0; i < 6; i++) {
        if ((long)info->entry.args[i] != task->word[i]) return false;
    }
    return true;
}

static bool is_exec(uint64_t number) { return number == SYS_execve || number == SYS_execveat; }

// What the filter decides for processes that have one; both kinds of stop begin with the same fields.
static bool is_watched(const struct __ptrace_syscall_info *info) {
    if (info->op == PTRACE_SYSCALL_INFO_SECCOMP) return info->seccomp.nr < TRACED_CALLS;
    if (!joins || info->op != PTRACE_SYSCALL_INFO_ENTRY || info->arch != CPU_AUDIT) return false;
    uint64_t number = info->entry.nr;
    if (number >= TRACED_CALLS || (number == SYS_mmap && info->entry.args[3] & MAP_ANONYMOUS)) return false;
    return traced_calls[number].before || is_exec(number);
}

// Returns whether the end of the call is of interest.
static bool begin_call(struct task *task) {
    struct followed *process = task->process;
    struct __ptrace_syscall_info info;
    if (!process || !process->is_recorded) return false;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof info, &info) <= 0) return false;
    if (!is_watched(&info)) return false;
    followed_turn_to(process, task->tid);
    if (task->is_interrupted && is_same_call(task, &info)) return true;
    if (task->is_interrupted) finish_call(task, -EINTR);
    task->call = &traced_calls[info.entry.nr];
    if (!task->call->before) {
        if (process->has_spill) followed_before_exec(); // the only calls without a probe in the filter
        return false;
    }
    if (!process->has_spill) followed_begin(process);
    if (!process->has_spill) return false;
    if (!task->thread) task->thread = followed_thread(task->tid);
    if (!task->thread) return false;
    current_thread = task->thread;
    task->number = (long)info.entry.nr;
    for (int i = 0; i < 6; i++) task->word[i] = (long)info.entry.args[i];
    task->probe = (struct probe){0};
    return task->call->before(&task->probe, task->word);
}

static void end_call(struct task *task) {
    struct __ptrace_syscall_info info;
    task->in_call = false;
    if (!task->process || !task->process->has_spill || !task->thread) return;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof info, &info) <= 0) return;
    if (info.op != PTRACE_SYSCALL_INFO_EXIT) return;
    if (is_restart((long)info.exit.rval)) {
        task->is_interrupted = true;
        return;
    }
    followed_turn_to(task->process, task->tid);
    finish_call(task, (long)info.exit.rval);
}

// --- new programs, new threads, ends

// The other threads are gone, even if their ends are still to be reported. The one that called exec has the leader's
// number now; its own ends without a report.
static void forget_others(const struct task *leader, pid_t former) {
    if (former && former != leader->tid) remove_task(former);
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (struct task *task = bucket[i]; task; task = task->next) {
            if (task == leader || task->process != leader->process) continue;
            task->process = NULL;
            task->thread = NULL;
        }
    }
}

static void begin_program(struct task *task) {
    unsigned long former = 0;
    struct followed *process = task->process;
    ptrace(PTRACE_GETEVENTMSG, task->tid, 0, &former);
    forget_others(task, (pid_t)former);
    task->in_call = task->is_interrupted = task->exits = false;
    task->thread = NULL;
    if (!process) return;
    followed_turn_to(process, task->tid);
    process->is_recorded = is_recorded(process->pid); // before the end: the job must know what the tracer has read
    followed_end(process, EXIT_EXEC, 0);
    process->tasks = 1;
    process->generation = 0;
    if (process->is_recorded) followed_begin(process);
}

// A process with the same program begins its record with its first call.
static void begin_task(struct task *maker) {
    unsigned long tid = 0;
    if (ptrace(PTRACE_GETEVENTMSG, maker->tid, 0, &tid) < 0 || !tid) return;
    const struct task *task = task_of((pid_t)tid, maker);
    if (!task || !maker->process || !maker->process->has_spill || task->process == maker->process) return;
    followed_turn_to(maker->process, maker->tid);
    handles_share_all(); // each of the two can move the positions of the other's files
}

static void end_process(struct followed *process, struct thread *thread, pid_t tid, int status) {
    followed_turn_to(process, tid);
    if (process->has_spill && thread) rings_end(thread);
    if (WIFSIGNALED(status)) {
        followed_end(process, EXIT_SIGNAL, (uint32_t)WTERMSIG(status));
    } else {
        followed_end(process, EXIT_CLEAN, (uint32_t)WEXITSTATUS(status));
    }
}

// At the first sign of its end; the process's counts and memory can still be read.
static void end_task(struct task *task, int status) {
    struct followed *process = task->process;
    if (task->exits) return;
    task->exits = true;
    if (!process) return;
    if (--process->tasks == 0) {
        end_process(process, task->thread, task->tid, status);
    } else if (task->thread && process->has_spill) {
        followed_turn_to(process, task->tid);
        followed_thread_ended(task->thread);
    }
    task->thread = NULL;
}

// The leader is reaped last.
static void reap_task(struct task *task, int status) {
    struct followed *process = task->process;
    end_task(task, status);
    if (process && process->pid == task->tid) followed_free(process);
    remove_task(task->tid);
}

// --- stops

static bool stops_group(int number) {
    return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

static void handle_stop(struct task *task, int status) {
    int event = status >> 16, pass_on = 0;
    unsigned long message = 0;
    switch (event) {
    case 0:
        if (WSTOPSIG(status) == (SIGTRAP | 0x80) && joins && !task->in_call) {
            task->in_call = begin_call(task);
        } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            end_call(task);
        } else {
            pass_on = WSTOPSIG(status);
        }
        break;
    case PTRACE_EVENT_SECCOMP: task->in_call = begin_call(task); break;
    case PTRACE_EVENT_EXEC: begin_program(task); break;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE: begin_task(task); break;
    case PTRACE_EVENT_EXIT:
        ptrace(PTRACE_GETEVENTMSG, task->tid, 0, &message);
        end_task(task, (int)message);
        break;
    case PTRACE_EVENT_STOP:
        if (!stops_group(WSTOPSIG(status))) break;
        ptrace(PTRACE_LISTEN, task->tid, 0, 0); // it stays stopped until SIGCONT
        return;
    default: break;
    }
    ptrace(task->in_call || joins ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, 0, pass_on);
}

static const long trace_options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK |
                                  PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;

int trace_attach(pid_t pid) {
    if (ptrace(PTRACE_SEIZE, pid, 0, trace_options | PTRACE_O_TRACESECCOMP) < 0) return -errno;
    struct task *task = task_of(pid, NULL);
    if (!task || !task->process) return -ENOMEM;
    task->process->is_recorded = false; // it is ioseer-follow itself
    return 0;
}

// Those that are new; returns how many, or a negative code. A thread that ends meanwhile is none.
static int join_threads(pid_t pid) {
    char path[32];
    int joined = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    if (!dir) return -errno;
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || *place_of(tid) || ptrace(PTRACE_SEIZE, tid, 0, trace_options) < 0) continue;
        if (!task_of(tid, NULL)) break;
        ptrace(PTRACE_INTERRUPT, tid, 0, 0); // only a stopped thread can be told to stop at its calls
        joined++;
    }
    closedir(dir);
    return joined;
}

// Threads that a joined one makes are followed at once. So nothing is missing when no new ones are found.
int trace_join(pid_t pid) {
    joins = true;
    if (*place_of(pid)) return 0; // named twice, or another one's child
    if (ptrace(PTRACE_SEIZE, pid, 0, trace_options) < 0) return -errno;
    struct task *task = task_of(pid, NULL);
    if (!task || !task->process) return -ENOMEM;
    ptrace(PTRACE_INTERRUPT, pid, 0, 0);
    int joined;
    while ((joined = join_threads(pid)) > 0) continue;
    task->process->generation = 0;
    task->process->is_joined = true;
    followed_turn_to(task->process, pid);
    followed_begin(task->process);
    return joined < 0 ? joined : task->process->has_spill ? 0 : -EIO;
}

void trace_stop(void) { is_stopped = true; }

static void leave_all(void) {
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (const struct task *task = bucket[i]; task; task = task->next) {
            if (!task->process || !task->process->has_spill) continue;
            followed_turn_to(task->process, task->tid);
            followed_end(task->process, EXIT_RUNNING, 0);
        }
    }
}

void trace_run(void) {
    for (;;) {
        int status;
        if (is_stopped) {
            leave_all();
            return;
        }
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid < 0 && errno == EINTR) continue;
        if (tid < 0) return;
        struct task *task = task_of(tid, NULL);
        if (!task) {
            if (WIFSTOPPED(status)) ptrace(PTRACE_CONT, tid, 0, 0);
        } else if (WIFSTOPPED(status)) {
            handle_stop(task, status);
        } else {
            reap_task(task, status);
        }
    }
}
