// processes VERB: ways in which processes start, end and are hard to record.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char block[4096];
static const char *self;
static int *volatile nowhere = (int *)8;

static void say(const char *what, long result) {
    printf("%s %ld %d\n", what, result, result < 0 ? errno : 0);
    fflush(stdout);
}

static int put(const char *name, size_t bytes) {
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
    ssize_t done = fd < 0 ? -1 : write(fd, block, bytes);
    say(name, done);
    return fd;
}

static void await(pid_t child) {
    int status = 0;
    say("waitpid", waitpid(child, &status, 0) == child);
    say("status", status);
}

static void close_all(void) {
    put("before", 100);
    for (int fd = 3; fd < 1024; fd++) close(fd);
    say("fd", put("after", 200));
}

static void close_by_range(void) {
    put("before", 100);
    say("close_range", close_range(3, ~0u, 0));
    say("fd", put("after", 200));
}

static void change_root(void) {
    put("before", 10);
    say("mkdir", mkdir("jail", 0755));
    say("chroot", chroot("jail"));
    say("chdir", chdir("/"));
    put("/inside", 20);
    pid_t child = fork();
    if (child == 0) {
        put("/child", 30);
        exit(0);
    }
    await(child);
}

static void change_user(void) {
    mkdir("open-to-all", 0777);
    chmod("open-to-all", 0777);
    chmod(".", 0755);
    say("setgroups", setgroups(0, NULL));
    say("setgid", setgid(65534));
    say("setuid", setuid(65534));
    put("open-to-all/mine", 10);
    put("not-mine", 10);
    pid_t child = fork();
    if (child == 0) {
        put("open-to-all/mine", 30);
        exit(0);
    }
    await(child);
}

static void change_directory(void) {
    say("mkdir", mkdir("a", 0755));
    say("chdir", chdir("a"));
    put("in-a", 10);
    say("chdir", chdir(".."));
    put("outside", 10);
    int fd = open("a", O_RDONLY | O_DIRECTORY);
    say("fchdir", fchdir(fd));
    put("again-in-a", 10);
}

static void vfork_exec(void) {
    put("parent", 10);
    int fd = open("parent", O_RDWR);
    char *words[] = {(char *)self, "put", "child", NULL};
    pid_t child = vfork();
    if (child == 0) {
        close(fd);
        execv(self, words);
        _exit(127);
    }
    await(child);
    say("write", write(fd, block, 5));
    put("parent", 10);
}

static void spawn(void) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char *words[] = {(char *)self, "put", "child", NULL};
    pid_t child = 0;
    put("parent", 10);
    say("posix_spawn", posix_spawn(&child, self, &actions, NULL, words, environ));
    await(child);
    put("parent", 20);
}

static void fork_only(void) {
    int fd = put("shared", 100);
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            char name[16];
            snprintf(name, sizeof(name), "child.%d", i);
            put(name, 50);
            _exit(write(fd, block, 25) == 25 ? i : 99);
        }
        await(child);
    }
    say("write", write(fd, block, 10));
}

static void end_underscore(void) {
    FILE *lost = fopen("lost", "w");
    fprintf(lost, "never flushed");
    put("file", 10);
    _exit(7);
}

static void end_abort(void) {
    put("file", 10);
    abort();
}

static void end_segv(void) {
    put("file", 10);
    *nowhere = 1;
}

// Counts its completed writes in a mapping, which costs no system call and outlives the kill.
static void *kill_soon(void *argument) {
    usleep(30000);
    kill(getpid(), SIGKILL);
    return argument;
}

static void end_kill(void) {
    int progress_fd = open("progress", O_RDWR | O_CREAT, 0644);
    if (ftruncate(progress_fd, 8) != 0) return;
    volatile long *progress = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, progress_fd, 0);
    int fd = open("file", O_WRONLY | O_CREAT, 0644);
    pthread_t killer;
    pthread_create(&killer, NULL, kill_soon, NULL);
    for (long i = 0;; i++) {
        if (pwrite(fd, block, sizeof(block), i % 64 * 4096) != sizeof(block)) return;
        *progress = i + 1;
    }
}

static void exec_chain(const char *depth) {
    char name[32], next[16];
    snprintf(name, sizeof(name), "chain.%s", depth);
    put(name, 10);
    int left = atoi(depth);
    if (left == 0) return;
    snprintf(next, sizeof(next), "%d", left - 1);
    execl(self, self, "chain", next, NULL);
}

static void become_daemon(void) {
    put("before", 10);
    pid_t child = fork();
    if (child > 0) return;
    setsid();
    if (fork() != 0) _exit(0);
    fclose(stdout);
    usleep(300000);
    int fd = open("daemon", O_WRONLY | O_CREAT, 0644);
    ssize_t done = write(fd, block, 1234);
    _exit(done != 1234);
}

static void use_all_descriptors(void) {
    struct rlimit limit = {24, 24};
    say("setrlimit", setrlimit(RLIMIT_NOFILE, &limit));
    int fd = -1, count = 0;
    for (;;) {
        char name[32];
        snprintf(name, sizeof(name), "file.%d", count);
        int next = open(name, O_WRONLY | O_CREAT, 0644);
        if (next < 0) break;
        fd = next;
        say("write", write(fd, block, 10));
        count++;
    }
    say("last open", -1);
    say("count", count);
    say("highest", fd);
    pid_t child = fork();
    if (child == 0) _exit(write(fd, block, 20) != 20);
    await(child);
    say("write", write(fd, block, 30));
}

static void limit_file_size(void) {
    struct rlimit limit = {8192, 8192};
    signal(SIGXFSZ, SIG_IGN);
    say("setrlimit", setrlimit(RLIMIT_FSIZE, &limit));
    int fd = open("file", O_WRONLY | O_CREAT, 0644);
    for (int i = 0; i < 4; i++) say("write", write(fd, block, 3000));
    pid_t child = fork();
    if (child == 0) {
        put("child", 100);
        _exit(3);
    }
    await(child);
}

static void limit_memory(void) {
    struct rlimit limit = {64 << 20, 64 << 20};
    say("setrlimit", setrlimit(RLIMIT_AS, &limit));
    int fd = put("file", 10);
    for (int i = 0; i < 1000; i++)
        if (write(fd, block, 100) != 100) say("write", -1);
    say("malloc", malloc(1 << 20) != NULL);
    say("too much", malloc(128 << 20) != NULL);
    pid_t child = fork();
    if (child == 0) {
        put("child", 100);
        _exit(3);
    }
    await(child);
}

static void many(void) {
    pid_t child[16];
    for (int i = 0; i < 16; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            char name[32];
            snprintf(name, sizeof(name), "many.%d", i);
            int fd = open(name, O_RDWR | O_CREAT, 0644);
            for (int n = 0; n < 50; n++)
                if (write(fd, block, 100 + (size_t)i) < 0 || pread(fd, block, 50, n * 10) < 0) _exit(99);
            exit(i);
        }
    }
    for (int i = 0; i < 16; i++) await(child[i]);
}

// What libc itself runs: it must not be disturbed, and its status must come back.
static void libc_starts(void) {
    say("system", system("echo from system > system-file; exit 3"));
    FILE *pipe = popen("cat system-file", "r");
    char line[64] = "";
    say("fgets", fgets(line, sizeof(line), pipe) != NULL);
    fputs(line, stdout);
    say("pclose", pclose(pipe));
}

struct verb {
    const char *name;
    void (*run)(void);
};

static const struct verb verbs[] = {
    {"close-all", close_all},
    {"close-range", close_by_range},
    {"chroot", change_root},
    {"setuid", change_user},
    {"chdir", change_directory},
    {"vfork", vfork_exec},
    {"spawn", spawn},
    {"fork", fork_only},
    {"_exit", end_underscore},
    {"abort", end_abort},
    {"segv", end_segv},
    {"kill", end_kill},
    {"daemon", become_daemon},
    {"all-fds", use_all_descriptors},
    {"file-limit", limit_file_size},
    {"memory-limit", limit_memory},
    {"many", many},
    {"libc", libc_starts},
};

int main(int argc, char **argv) {
    self = argv[0];
    memset(block, 'b', sizeof(block));
    if (argc == 3 && strcmp(argv[1], "put") == 0) return put(argv[2], 77) < 0;
    if (argc == 3 && strcmp(argv[1], "chain") == 0) {
        exec_chain(argv[2]);
        return 5;
    }
    for (size_t i = 0; argc == 2 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(argv[1], verbs[i].name) == 0) {
            verbs[i].run();
            return 0;
        }
    fprintf(stderr, "processes: unknown verb\n");
    return 2;
}
