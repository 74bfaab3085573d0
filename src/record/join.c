#include "record/join.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/process.h"

enum { MOST_BYTES = 1 << 20 };

static pid_t pid_of(const char *word) {
    char *end;
    long number = strtol(word, &end, 10);
    return *word >= '0' && *word <= '9' && !*end && number > 0 && number <= INT32_MAX ? (pid_t)number : 0;
}

static long status_number(pid_t pid, const char *label) {
    char path[32], text[2048];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    long number = 0;
    while (file && fgets(text, sizeof text, file)) {
        if (!strncmp(text, label, strlen(label))) number = strtol(text + strlen(label), NULL, 10);
    }
    if (file) fclose(file);
    return number;
}

static int look_at(const char *word, struct problem *problem) {
    pid_t pid = pid_of(word);
    struct process_stat stat;
    char path[32], name[64] = "";
    if (!pid) return problem_set(problem, ERR_USAGE, word, "not the number of a process");
    if (!process_stat(pid, &stat)) return problem_set(problem, -ESRCH, word, "there is no such process");
    if (stat.state == 'Z' || stat.state == 'X') return problem_set(problem, -ESRCH, word, "the process has ended");
    if (pid == getpid()) return problem_set(problem, ERR_USAGE, word, "is this ioseer itself");
    long tracer = status_number(pid, "TracerPid:");
    if (!tracer) return 0;
    snprintf(path, sizeof path, "/proc/%ld/comm", tracer);
    io_first_line(path, name, sizeof name);
    return problem_set(problem, -EPERM, word, "process %ld (%s) traces it already", tracer, name);
}

static int read_command(pid_t pid, struct text_list *command) {
    char path[32];
    struct bytes words = {0};
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), code = fd < 0 ? -errno : io_read_all(fd, &words, MOST_BYTES);
    if (fd >= 0) close(fd);
    if (code >= 0) code = bytes_append(&words, "", 1);
    const char *at = (const char *)words.data;
    for (size_t left = code < 0 ? 0 : words.len - 1; left > 0 && code >= 0;) {
        size_t len = strlen(at) + 1;
        code = text_list_add(command, "%s", at);
        at += len;
        left -= len < left ? len : left;
    }
    bytes_free(&words);
    if (code >= 0 && !command->count) code = text_list_add(command, "process %d", (int)pid);
    FORWARD(code);
    FORWARD(array_room(command->text, command->count));
    command->text[command->count] = NULL;
    return 0;
}

int record_join_look(const struct option_list *pids, struct text_list *command, struct problem *problem) {
    for (size_t i = 0; i < pids->count; i++) FORWARD(look_at(pids->item[i], problem));
    return problem_code(problem, read_command(pid_of(pids->item[0]), command), pids->item[0]);
}

static bool is_others(pid_t pid) {
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return geteuid() != 0 && stat(path, &status) == 0 && status.st_uid != geteuid();
}

int record_join_why(const struct option_list *pids, int error, struct problem *problem) {
    char scope[16] = "";
    for (size_t i = 0; i < pids->count; i++) {
        if (look_at(pids->item[i], problem) < 0) return -error;
        if (error == EPERM && is_others(pid_of(pids->item[i])))
            return problem_set(problem, -error, pids->item[i], "the process belongs to another user");
    }
    io_first_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    if (error == EPERM && *scope >= '1')
        return problem_set(problem, -error, pids->item[0],
                           "the system does not permit it: kernel.yama.ptrace_scope is %s; root may set it to 0",
                           scope);
    if (error == EPERM)
        return problem_set(problem, -error, pids->item[0],
                           "the system does not permit it: the process forbids tracing, or has other rights");
    return problem_code(problem, -error, pids->item[0]);
}
