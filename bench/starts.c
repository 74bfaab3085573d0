// starts KIND COUNT DIRECTORY: starts many processes, or uses many small files. Prints wall time and processor time of
// itself and its children, in seconds.
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 20, FILES_OF_FOLDER = 1000 };

static const char *directory;

static void die(const char *what) {
    perror(what);
    _exit(1);
}

static void write_file(const char *name) {
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, name, 8) != 8 || close(fd)) die(name);
}

static void write_own(const char *what, unsigned number) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s-%u", directory, what, number);
    write_file(name);
}

static void wait_for(pid_t pid) {
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status) die("child");
}

static void fork_and_write(unsigned number) {
    pid_t pid = fork();
    if (pid == 0) {
        write_own("fork", number);
        _exit(0);
    }
    wait_for(pid);
}

static void vfork_and_exec(unsigned number) {
    (void)number;
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    wait_for(pid);
}

static void spawn(unsigned number) {
    (void)number;
    char *words[] = {"true", NULL};
    pid_t pid;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ)) die("posix_spawn");
    wait_for(pid);
}

// What a test of a suite is: a shell, which starts a program that reads and writes.
static void run_test(unsigned number) {
    char script[8192];
    snprintf(script, sizeof script, "echo %u > %s/test && cat %s/test > %s/copy", number, directory, directory,
             directory);
    char *words[] = {"sh", "-c", script, NULL};
    pid_t pid;
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ)) die("posix_spawn");
    wait_for(pid);
}

static void *write_in_thread(void *number) {
    write_own("thread", (unsigned)(size_t)number);
    return NULL;
}

static void fork_with_threads(unsigned number) {
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            if (pthread_create(&thread[i], NULL, write_in_thread, (void *)(size_t)(number * THREADS + i)))
                die("thread");
        }
        for (unsigned i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        exit(0);
    }
    wait_for(pid);
}

static void small_file(unsigned number) {
    char name[4096], bytes[8];
    snprintf(name, sizeof name, "%s/folder%u", directory, number / FILES_OF_FOLDER);
    if (number % FILES_OF_FOLDER == 0) mkdir(name, 0700);
    snprintf(name, sizeof name, "%s/folder%u/file%u", directory, number / FILES_OF_FOLDER, number % FILES_OF_FOLDER);
    write_file(name);
    int fd = open(name, O_RDONLY);
    if (read(fd, bytes, sizeof bytes) != sizeof bytes || close(fd)) die(name);
}

static const struct {
    const char *name;
    void (*once)(unsigned number);
} kinds[] = {
    {"fork", fork_and_write}, {"vfork", vfork_and_exec},      {"spawn", spawn},
    {"tests", run_test},      {"threads", fork_with_threads}, {"files", small_file},
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double processor_s(int who) {
    struct rusage used;
    getrusage(who, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv) {
    for (unsigned i = 0; argc == 4 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name)) continue;
        directory = argv[3];
        unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
        double start = now_s();
        for (unsigned number = 0; number < count; number++) kinds[i].once(number);
        printf("%.6f %.6f\n", now_s() - start, processor_s(RUSAGE_SELF) + processor_s(RUSAGE_CHILDREN));
        return 0;
    }
    fprintf(stderr, "usage: starts KIND COUNT DIRECTORY\n");
    return 2;
}
