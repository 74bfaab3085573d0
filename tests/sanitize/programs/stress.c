// stress CASE: hard cases for a recorder, run under the sanitizers. Works in the current directory. Prints the number
// of its writes to files, including those of signal handlers and children; the log must have all of them.
#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, NAME_BYTES = 64, PAGE = 4096 };

static struct {
    _Atomic unsigned long *writes; // shared with children
    int plain;                     // descriptors that all threads use
    int append;
    FILE *stream;
    FILE *reader;
    atomic_bool stop;
} state;

static void check(bool good, const char *what) {
    if (good) return;
    perror(what);
    _exit(1);
}

static void put(int fd, const void *data, size_t len) {
    check(write(fd, data, len) == (ssize_t)len, "write");
    atomic_fetch_add(state.writes, 1);
}

static void put_at(int fd, const void *data, size_t len, off_t at) {
    check(pwrite(fd, data, len, at) == (ssize_t)len, "pwrite");
    atomic_fetch_add(state.writes, 1);
}

static int open_or_die(const char *name, int flags) {
    int fd = open(name, flags | O_CREAT, 0600);
    check(fd >= 0, name);
    return fd;
}

__attribute__((format(printf, 2, 3))) static void name_file(char name[NAME_BYTES], const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(name, NAME_BYTES, format, list);
    va_end(list);
}

static void run_threads(int count, void *(*work)(void *)) {
    pthread_t thread[THREADS * 2];
    for (long i = 0; i < count; i++) check(!pthread_create(&thread[i], NULL, work, (void *)i), "pthread_create");
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
}

// --- descriptors

// Threads constantly close numbers that other threads get again.
static void private_round(long id, int round) {
    char name[NAME_BYTES], data[64] = "private";
    name_file(name, "private.%ld.%d", id, round % 7);
    int fd = open_or_die(name, O_RDWR);
    for (int i = 0; i < 10; i++) put_at(fd, data, sizeof data, i * 100);
    (void)!read(fd, data, sizeof data);
    struct iovec pieces[2] = {{data, 10}, {data + 20, 20}};
    check(readv(fd, pieces, 2) >= 0, "readv");
    int twin = dup(fd);
    check(twin >= 0 && close(fd) == 0, "dup");
    check(ftruncate(twin, 50) == 0, "ftruncate");
    int target = open_or_die("/dev/null", O_RDWR);
    check(dup2(twin, target) == target, "dup2");
    close(twin);
    put(target, data, 5);
    check(fcntl(target, F_SETFL, O_APPEND) == 0, "fcntl");
    put(target, data, 5);
    close(target);
    close(-1);
    unlink(name);
}

// libc's freopen and fflush(NULL) wait for each other in different threads: this is not with the other streams.
static void reopen_stream(long id) {
    char name[NAME_BYTES];
    name_file(name, "reopened.%ld", id);
    FILE *stream = fopen(name, "w");
    check(stream && (stream = freopen(name, "a", stream)), "freopen");
    fputs("end", stream);
    fclose(stream);
}

static void *private_work(void *id) {
    for (int round = 0; round < 40; round++) {
        private_round((long)id, round);
        reopen_stream((long)id);
    }
    return NULL;
}

static void *shared_work(void *id) {
    char data[64] = "shared";
    for (int i = 0; i < 150; i++) {
        put(state.plain, data, 16);
        put(state.append, data, 1 + (size_t)(long)id);
        put_at(state.plain, data, 32, i * 32);
        put_at(state.append, data, 3, 0);
        (void)!pread(state.plain, data, 8, i);
        (void)!read(state.plain, data, 4);
        if (i % 16 == 0) lseek(state.plain, i, SEEK_SET);
        if (i % 50 == 0) fsync(state.append);
    }
    return NULL;
}

static void case_private(void) { run_threads(THREADS, private_work); }

static void case_shared(void) { run_threads(THREADS, shared_work); }

// --- streams

static void read_a_little(void) {
    char line[80];
    if (!fgets(line, sizeof line, state.reader)) rewind(state.reader);
    (void)!fread(line, 3, 7, state.reader);
}

static void use_second_stream(void) {
    FILE *second = fdopen(dup(state.append), "a");
    check(second != NULL, "fdopen");
    fputs("by another stream on the same open file\n", second);
    fclose(second);
}

static void *stream_work(void *id) {
    char name[NAME_BYTES] = "";
    for (int i = 0; i < 100; i++) {
        fprintf(state.stream, "thread %ld round %d\n", (long)id, i);
        fputc('x', state.stream);
        flockfile(state.stream);
        for (int k = 0; k < 10; k++) putc_unlocked('y', state.stream);
        fputc('z', state.stream); // a macro's bytes are seen at the next call
        funlockfile(state.stream);
        read_a_little();
        if (i % 20 == 0) fflush(NULL);
        if (i % 10) continue;
        use_second_stream();
        name_file(name, "stream.%ld", (long)id);
        FILE *own = fopen(name, "w+");
        check(own != NULL, "fopen");
        fwrite(name, 1, sizeof name, own);
        fseek(own, 1, SEEK_SET);
        fscanf(own, "%*s");
        fclose(own);
    }
    return NULL;
}

static void case_streams(void) {
    for (int i = 0; i < 1000; i++) fprintf(state.stream, "line %d\n", i);
    fflush(state.stream);
    run_threads(THREADS, stream_work);
}

// --- mappings

// TSan treats a new mapping as a write to all of it, and does not see the recorder's mappings, which may get the same
// addresses later: so this bypasses TSan's versions of the calls.
static struct {
    void *(*mmap)(void *address, size_t len, int protection, int flags, int fd, off_t offset);
    int (*munmap)(void *address, size_t len);
} next;

static void find_next(void) {
    *(void **)&next.mmap = dlsym(RTLD_NEXT, "mmap");
    *(void **)&next.munmap = dlsym(RTLD_NEXT, "munmap");
    check(next.mmap && next.munmap, "dlsym");
}

static void map_once(int fd) {
    char *map = next.mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(map != MAP_FAILED, "mmap");
    msync(map, PAGE, MS_ASYNC);
    next.munmap(map + PAGE, PAGE); // in the middle: now there are two
    next.munmap(map + 2 * PAGE, 2 * PAGE);
    next.munmap(map, PAGE);
    map = next.mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    check(map != MAP_FAILED, "mmap");
    void *moved = mremap(map, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
    check(moved != MAP_FAILED, "mremap");
    next.munmap(moved, 2 * PAGE);
}

static void *mapping_work(void *id) {
    char name[NAME_BYTES];
    name_file(name, "mapped.%ld", (long)id);
    int fd = open_or_die(name, O_RDWR);
    check(ftruncate(fd, 4 * PAGE) == 0, "ftruncate");
    for (int i = 0; i < 150; i++) map_once(i % 2 ? fd : state.plain);
    close(fd);
    return NULL;
}

static void case_mappings(void) {
    check(ftruncate(state.plain, 4 * PAGE) == 0, "ftruncate");
    run_threads(THREADS, mapping_work);
}

// --- asynchronous transfers

static void wait_for(struct aiocb *block) {
    const struct aiocb *list[] = {block};
    while (aio_error(block) == EINPROGRESS) aio_suspend(list, 1, NULL);
    check(aio_return(block) >= 0, "aio_return");
}

static void one_by_one(char data[64], long id) {
    struct aiocb block = {.aio_fildes = state.plain, .aio_buf = data, .aio_nbytes = 32, .aio_offset = id * 64};
    check(aio_write(&block) == 0, "aio_write");
    wait_for(&block);
    atomic_fetch_add(state.writes, 1);
    check(aio_read(&block) == 0, "aio_read");
    wait_for(&block);
}

static void in_a_list(char data[64], long id) {
    struct aiocb block[3];
    struct aiocb *list[3];
    for (int i = 0; i < 3; i++) {
        block[i] = (struct aiocb){.aio_fildes = state.plain,
                                  .aio_buf = data,
                                  .aio_nbytes = 8,
                                  .aio_offset = id * 64 + i * 8,
                                  .aio_lio_opcode = LIO_WRITE};
        list[i] = &block[i];
    }
    check(lio_listio(LIO_WAIT, list, 3, NULL) == 0, "lio_listio");
    atomic_fetch_add(state.writes, 3);
    for (int i = 0; i < 3; i++) wait_for(&block[i]);
}

static void by_the_kernel(char data[64]) {
    aio_context_t context = 0;
    struct iocb block = {.aio_lio_opcode = IOCB_CMD_PWRITE,
                         .aio_fildes = (uint32_t)state.plain,
                         .aio_buf = (uintptr_t)data,
                         .aio_nbytes = 16};
    struct iocb second = block;
    struct iocb *list[] = {&block, &second};
    struct io_event events[2];
    if (syscall(SYS_io_setup, 4, &context) != 0) return; // the machine may not allow more
    check(syscall(SYS_io_submit, context, 2, list) == 2, "io_submit");
    check(syscall(SYS_io_getevents, context, 2, 2, events, NULL) == 2, "io_getevents");
    atomic_fetch_add(state.writes, 2);
    syscall(SYS_io_destroy, context);
}

static void *async_work(void *id) {
    char data[64] = "async";
    for (int i = 0; i < 15; i++) {
        one_by_one(data, (long)id);
        in_a_list(data, (long)id);
        by_the_kernel(data);
    }
    return NULL;
}

static void case_async(void) { run_threads(THREADS, async_work); }

// --- names

static void *names_work(void *id) {
    char name[NAME_BYTES], other[NAME_BYTES];
    struct stat data;
    for (int i = 0; i < 60; i++) {
        name_file(name, "name.%ld.%d", (long)id, i % 5);
        name_file(other, "other.%ld.%d", (long)id, i % 3);
        close(open_or_die(name, O_WRONLY));
        close(open_or_die("common", O_WRONLY));
        stat(name, &data);
        rename(name, other);
        link(other, name);
        mkdir("folder", 0700);
        unlink(name);
        unlink(other);
        if (id == 0) check(chdir(i % 2 ? ".." : "inside") == 0, "chdir");
        DIR *dir = opendir(".");
        while (dir && readdir(dir)) {
        }
        if (dir) closedir(dir);
    }
    return NULL;
}

// One thread changes the directory all the time, so the others' files end up in two.
static void case_names(void) {
    check(mkdir("inside", 0700) == 0, "mkdir");
    run_threads(THREADS, names_work);
}

// --- threads that come and go

static pthread_key_t last_words;

static void say_last_words(void *fd) { put((int)(long)fd, "end", 3); }

static void *short_life(void *id) {
    char name[NAME_BYTES];
    name_file(name, "short.%ld", (long)id);
    int fd = open_or_die(name, O_WRONLY);
    put(fd, name, 5);
    close(fd);
    pthread_setspecific(last_words, (void *)(long)state.plain);
    return NULL;
}

static void case_churn(void) {
    check(!pthread_key_create(&last_words, say_last_words), "pthread_key_create");
    for (int i = 0; i < 40; i++) run_threads(THREADS, short_life);
}

static void *limit_work(void *id) {
    struct rlimit limit;
    check(getrlimit(RLIMIT_AS, &limit) == 0 && setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    return short_life(id);
}

// A limit on address space makes the recorder give some back.
static void case_limit(void) {
    check(!pthread_key_create(&last_words, say_last_words), "pthread_key_create");
    run_threads(THREADS, limit_work);
    run_threads(THREADS, private_work);
}

// --- children

// Takes no memory: a sanitizer's allocator that a thread holds at the moment of fork is closed to the child forever.
static void *busy_work(void *id) {
    char data[64] = "busy";
    for (int round = 0; !atomic_load(&state.stop); round++) {
        private_round((long)id, round);
        put(state.append, data, 4);
        map_once(state.plain);
        fprintf(state.stream, "busy %d\n", round);
        if (round % 4 == 0) by_the_kernel(data);
    }
    return NULL;
}

static void *child_work(void *id) {
    private_round(100 + (long)id, getpid());
    put(state.append, "child", 5);
    return NULL;
}

// The child's threads are the first to do anything in it, so they make its spill file at the same time.
static void child(int number) {
    char data[64] = "child";
    if (number % 4 == 3) _exit(0);
    if (number % 2) run_threads(3, child_work);
    child_work(NULL);
    map_once(state.plain);
    by_the_kernel(data);
    chdir(".");
    close(open_or_die("of-child", O_WRONLY));
    _exit(0);
}

static void make_child(int number) {
    char *words[] = {"true", NULL};
    char *nothing[] = {NULL};
    int status;
    pid_t pid = 0;
    if (number % 8 == 7) {
        check(posix_spawn(&pid, "/bin/true", NULL, NULL, words, nothing) == 0, "posix_spawn");
    } else {
        pid = fork();
        check(pid >= 0, "fork");
        if (pid == 0) child(number);
    }
    check(waitpid(pid, &status, 0) == pid && status == 0, "child");
}

static void case_fork(void) {
    pthread_t thread[3];
    fputs("has its buffer now\n", state.stream);
    check(ftruncate(state.plain, 4 * PAGE) == 0, "ftruncate");
    for (long i = 0; i < 3; i++) check(!pthread_create(&thread[i], NULL, busy_work, (void *)i), "pthread_create");
    for (int i = 0; i < 16; i++) make_child(i);
    atomic_store(&state.stop, true);
    for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
}

// --- signals

static void handler(int signal) {
    int error = errno;
    char byte;
    (void)signal;
    put(state.append, "signal", 6);
    (void)!pread(state.plain, &byte, 1, 0);
    int fd = open_or_die("of-handler", O_WRONLY);
    put(fd, "h", 1);
    close(fd);
    errno = error;
}

static void allow_alarms(int how) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    check(!pthread_sigmask(how, &alarms, NULL), "pthread_sigmask");
}

static void *interrupted_work(void *id) {
    allow_alarms(SIG_UNBLOCK);
    for (int round = 0; round < 60; round++) {
        private_round((long)id, round);
        map_once(state.plain);
    }
    return NULL;
}

static void case_signals(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {.it_interval.tv_usec = 300, .it_value.tv_usec = 300}, never = {0};
    check(ftruncate(state.plain, 4 * PAGE) == 0, "ftruncate");
    sigaction(SIGALRM, &action, NULL);
    allow_alarms(SIG_BLOCK); // TSan hangs if a signal comes while it frees the memory of a joined thread
    setitimer(ITIMER_REAL, &often, NULL);
    run_threads(THREADS, interrupted_work);
    run_threads(THREADS, interrupted_work); // threads end and begin under signals too
    setitimer(ITIMER_REAL, &never, NULL);
}

// --- an end in the middle of everything

static void *until_the_end(void *id) {
    char data[16] = "end";
    for (int i = 0;; i++) {
        check(pwrite(state.plain, data, sizeof data, i * 16) > 0, "pwrite");
        fprintf(state.stream, "thread %ld\n", (long)id);
        close(open_or_die("end", O_WRONLY));
    }
    return NULL;
}

// The number of writes is unknown, and nothing is printed.
static void case_exit(void) {
    pthread_t thread;
    for (long i = 0; i < 3; i++) check(!pthread_create(&thread, NULL, until_the_end, (void *)i), "pthread_create");
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    exit(0);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"private", case_private},   {"shared", case_shared}, {"streams", case_streams},
                 {"mappings", case_mappings}, {"async", case_async},   {"names", case_names},
                 {"churn", case_churn},       {"fork", case_fork},     {"limit", case_limit},
                 {"signals", case_signals},   {"exit", case_exit}};
    find_next();
    state.writes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    state.plain = open_or_die("plain", O_RDWR);
    state.append = open_or_die("append", O_WRONLY | O_APPEND);
    state.stream = fopen("stream", "w");
    state.reader = fopen("stream", "r");
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[1]) != 0) continue;
        cases[i].run();
        printf("%lu\n", atomic_load(state.writes));
        return 0;
    }
    fprintf(stderr, "usage: stress CASE\n");
    return 2;
}
