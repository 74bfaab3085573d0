// measure [NAME=VALUE]... COMMAND...: runs the command with these variables and without its output. Prints wall time
// and processor time in seconds, and peak memory in KiB. This program is small because the peak memory of a process
// includes that of its parent.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec * 1e-6; }

int main(int argc, char **argv) {
    int first = 1;
    for (; first < argc && strchr(argv[first], '='); first++) putenv(argv[first]);
    if (first >= argc) return 2;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    double start = now_s();
    pid_t pid;
    int error = posix_spawnp(&pid, argv[first], &actions, NULL, argv + first, environ);
    if (error) {
        fprintf(stderr, "measure: %s: %s\n", argv[first], strerror(error));
        return 1;
    }
    int status;
    struct rusage used;
    if (wait4(pid, &status, 0, &used) != pid || !WIFEXITED(status)) return 1;
    printf("%.6f %.6f %ld\n", now_s() - start, seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss);
    return WEXITSTATUS(status);
}
