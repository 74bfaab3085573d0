#include "fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

struct fixture f;

static size_t folder_len;

static void make_file(const char *path) {
    static char content[DATA_BYTES];
    for (size_t i = 0; i < sizeof content; i += 16) memcpy(content + i, "abcdefg 1234567\n", 16);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, content, sizeof content) != sizeof content) abort();
    close(fd);
}

static int open_at_position(const char *path) {
    int fd = open(path, O_RDWR);
    if (fd < 0 || lseek(fd, POSITION, SEEK_SET) != POSITION) abort();
    return fd;
}

static void name_files(void) {
    char folder[PATH_ROOM];
    strcpy(folder, case_path("work"));
    folder_len = strlen(folder);
    mkdir(folder, 0700);
    snprintf(f.path, sizeof f.path, "%s", case_path("work/data"));
    snprintf(f.other, sizeof f.other, "%s", case_path("work/other"));
    snprintf(f.link, sizeof f.link, "%s", case_path("work/link"));
    snprintf(f.folder, sizeof f.folder, "%s", case_path("work/folder"));
    snprintf(f.fresh, sizeof f.fresh, "%s", case_path("work/fresh"));
    snprintf(f.missing, sizeof f.missing, "%s", case_path("work/missing/file"));
    snprintf(f.template, sizeof f.template, "%s", case_path("work/XXXXXX"));
}

void fixture_begin(void) {
    f = (struct fixture){.pair = {-1, -1}, .in_offset = IN_OFFSET, .out_offset = OUT_OFFSET};
    if (chdir(case_scratch()) < 0) abort();
    name_files();
    unlink(f.fresh);
    rmdir(f.fresh);
    make_file(f.path);
    make_file(f.other);
    setxattr(f.path, "user.ioseer", "value", 5, 0);
    unlink(f.link);
    if (symlink("data", f.link) < 0) abort();
    mkdir(f.folder, 0700);
    f.fd = open_at_position(f.path);
    f.out = open_at_position(f.other);
    f.dirfd = open(case_path("work"), O_RDONLY | O_DIRECTORY);
    f.iov[0] = (struct iovec){f.buf, LENGTH / 2};
    f.iov[1] = (struct iovec){f.buf + LENGTH / 2, LENGTH / 2};
    memcpy(f.buf, "0123456789abcdefghijklmnopqrstuv", LENGTH);
    sigemptyset(&f.signals);
    sigaddset(&f.signals, SIGUSR1);
}

void fixture_stream(const char *mode) {
    f.stream = fopen(f.path, mode);
    if (!f.stream || fseek(f.stream, OFFSET, SEEK_SET) || fgetpos(f.stream, &f.position_of_stream)) abort();
    if (mode[0] != 'a') fseek(f.stream, POSITION, SEEK_SET);
}

void fixture_pipe_stream(void) { f.stream = popen("true", "r"); }

void fixture_dir(void) { f.dir = opendir(case_path("work")); }

void fixture_map(void) { f.map = mmap(NULL, DATA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0); }

void fixture_pipe(void) {
    if (pipe(f.pair) < 0) abort();
}

void fixture_high(void) {
    int old = f.fd;
    f.fd = dup2(old, HIGH_FD);
    close(old);
}

void fixture_listener(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "listener");
    unlink(address.sun_path);
    close(f.fd);
    f.fd = socket(AF_UNIX, SOCK_STREAM, 0);
    f.pair[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    const struct sockaddr *where = (const struct sockaddr *)&address;
    if (bind(f.fd, where, sizeof address) || listen(f.fd, 1) || connect(f.pair[0], where, sizeof address)) abort();
}

void fixture_lose(int fd) {
    static int (*unseen_close)(int);
    if (!unseen_close) {
        void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
        if (libc) *(void **)&unseen_close = dlsym(libc, "__close");
    }
    if (unseen_close) unseen_close(fd);
}

void fixture_break(FILE *stream) {
    if (stream != f.stream && !freopen(f.path, stream == stdin ? "a" : "r", stream)) abort();
}

void fixture_mend(FILE *stream) {
    if (stream == stdin && !freopen(case_path("stdin"), "r", stream)) abort();
    if (stream == stdout && !freopen(case_path("stdout"), "a", stream)) abort();
}

void fixture_write_nowhere(void) {
    fputs("lost", f.stream);
    fixture_lose(fileno(f.stream));
}

void fixture_end(void) {
    if (f.stream) fclose(f.stream);
    if (f.dir) closedir(f.dir);
    if (f.map && f.map != MAP_FAILED) munmap(f.map, DATA_BYTES);
    free(f.line);
    unlink(f.template);
    rmdir(f.template);
    shm_unlink("/ioseer-case");
    for (int fd = 3; fd < 64; fd++) close(fd);
    close(HIGH_FD);
}

const char *fixture_relative(const char *path) { return path + folder_len + 1; }

const char *fixture_shared_name(const char *name) {
    static char path[PATH_ROOM + 16];
    snprintf(path, sizeof path, "/dev/shm%s", name);
    return path;
}

const char *fixture_name_of(int fd) {
    static char name[PATH_ROOM];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, name, sizeof name - 1);
    if (len < 0) return "";
    name[len] = 0;
    char *deleted = strstr(name, " (deleted)");
    if (deleted) *deleted = 0;
    return name;
}

int fixture_stream_fd(FILE *stream) { return stream ? fileno(stream) : -1; }

int fixture_dir_fd(DIR *dir) { return dir ? dirfd(dir) : -1; }

bool fixture_find(void *slot, const char *name) {
    void *found = case_symbol_named(name);
    *(void **)slot = found;
    return found != NULL;
}
