#include "rec/mpi/launch.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rec/fixed_text.h"
#include "rec/recorder.h"

// The first variable that is a number; -1 without one.
static int variable_number(const char *const *names) {
    for (; *names; names++) {
        const char *text = recorder_variable(*names);
        if (text && *text >= '0' && *text <= '9') return (int)recorder_number_of(text);
    }
    return -1;
}

// Reads the start of a file of /proc/PID, and ends it with a zero.
static size_t read_about(int pid, const char *name, char *out, size_t room) {
    char path[64];
    struct fixed_text text = {path, sizeof path, 0};
    fixed_text_add(&text, "/proc/");
    fixed_text_number(&text, (uint64_t)pid, 10);
    fixed_text_add(&text, name);
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long len = fd < 0 ? 0 : cpu_syscall(SYS_read, fd, out, room - 1);
    if (fd >= 0) cpu_syscall(SYS_close, fd);
    if (len < 0) len = 0;
    if (recorder.spill) recorder.spill->own_chars += (uint32_t)len;
    out[len] = 0;
    return (size_t)len;
}

// "PID (NAME) STATE PARENT …", where the name may have anything in it.
static int parent_of(int pid, char *room, size_t bytes) {
    read_about(pid, "/stat", room, bytes);
    const char *after = strrchr(room, ')');
    return after && strlen(after) > 4 ? (int)recorder_number_of(after + 4) : 0;
}

// MPICH's launcher gives a launch no name. But all ranks descend from proxies, one per host, and all proxies report to
// the same port (see also record/ranks.c).
static const char *port_of_proxies(char *words, size_t room) {
    enum { GENERATIONS = 8 };
    static const char option[] = "--control-port";
    int pid = (int)cpu_syscall(SYS_getppid, 0);
    for (int i = 0; i < GENERATIONS && pid > 1; i++) {
        size_t len = read_about(pid, "/cmdline", words, room);
        for (const char *at = words; at < words + len; at += strlen(at) + 1) {
            const char *next = at + strlen(at) + 1;
            if (!strcmp(at, option) && next < words + len) return next;
        }
        pid = parent_of(pid, words, room);
    }
    return NULL;
}

bool launch_name(struct launch *launch) {
    char words[2048];
    struct fixed_text text = {launch->name, sizeof launch->name, 0};
    const char *of_pmix = recorder_variable("PMIX_NAMESPACE"), *step = recorder_variable("SLURM_STEP_ID");
    const char *of_slurm = recorder_variable("SLURM_JOB_ID");
    if (of_pmix) {
        fixed_text_add(&text, of_pmix);
    } else if (of_slurm && step) {
        fixed_text_add(&text, of_slurm);
        fixed_text_add(&text, "-");
        fixed_text_add(&text, step);
    } else if (!recorder_variable("PMI_SPAWNED")) { // by a rank: all of its launches would have the same name
        const char *port = port_of_proxies(words, sizeof words);
        if (port) fixed_text_add(&text, port);
    }
    for (char *at = launch->name; text.len && *at; at++) {
        bool is_plain = (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');
        if (!is_plain) *at = '-';
    }
    return text.len;
}

// "2(x3),1": two tasks on each of three nodes, then one.
static int slurm_local_size(void) {
    const char *at = recorder_variable("SLURM_STEP_TASKS_PER_NODE"), *node = recorder_variable("SLURM_NODEID");
    uint64_t before = node ? recorder_number_of(node) : 0;
    while (at && node && *at) {
        const char *next = at + strcspn(at, ","), *times = memchr(at, 'x', (size_t)(next - at));
        uint64_t nodes = times ? recorder_number_of(times + 1) : 1;
        if (before < nodes) return (int)recorder_number_of(at);
        before -= nodes;
        at = next + (*next == ',');
    }
    return -1;
}

bool launch_find(struct launch *launch) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", NULL};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL};
    static const char *const local_ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", NULL};
    static const char *const local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL};
    launch->rank = variable_number(ranks);
    launch->size = variable_number(sizes);
    launch->local_rank = variable_number(local_ranks);
    launch->local_size = variable_number(local_sizes);
    if (launch->local_size < 0) launch->local_size = slurm_local_size();
    return launch->rank >= 0 && launch->local_rank >= 0 && launch->local_size > 0 && launch->size >= launch->local_size;
}

// A link that leads nowhere: it needs no descriptor and no space.
void launch_leave_mark(const char *mark) {
    char path[PATH_MAX];
    struct fixed_text text = {path, sizeof path, 0};
    if (!recorder.job) return;
    fixed_text_add(&text, recorder.job);
    fixed_text_add(&text, "/");
    fixed_text_add(&text, mark);
    cpu_syscall(SYS_symlinkat, "-", AT_FDCWD, path);
}

void launch_each_mark(void (*visit)(const char *name, void *context), void *context) {
    _Alignas(struct dirent64) char entries[4096];
    long fd = recorder.job ? cpu_syscall(SYS_openat, AT_FDCWD, recorder.job, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    for (long len; (len = cpu_syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0;) {
        for (long at = 0; at < len; at += ((const struct dirent64 *)(entries + at))->d_reclen) {
            visit(((const struct dirent64 *)(entries + at))->d_name, context);
        }
    }
    cpu_syscall(SYS_close, fd);
}
