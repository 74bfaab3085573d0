// Every kind of POSIX call on a few files: vectors, positions shared by dup and fork, appends, short reads, failures.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char buffer[65536];
static void *volatile nowhere = (void *)8;

static void say(const char *what, long result) { printf("%s %ld %d\n", what, result, result < 0 ? errno : 0); }

static void positions(void) {
    int fd = open("positions", O_RDWR | O_CREAT | O_TRUNC, 0644);
    say("write", write(fd, buffer, 1000));
    int copy = dup(fd);
    say("write dup", write(copy, buffer, 500));
    int copy2 = fcntl(fd, F_DUPFD_CLOEXEC, 40);
    say("write fcntl dup", write(copy2, buffer, 250));
    say("lseek", lseek(fd, -750, SEEK_CUR));
    say("read", read(copy, buffer, 4096));
    say("read at end", read(copy, buffer, 4096));
    say("dup2", dup2(fd, copy2));
    say("lseek end", lseek(copy2, 100, SEEK_END));
    say("write in hole", write(fd, buffer, 10));
    close(copy);
    close(copy2);
    int other = open("positions", O_RDONLY);
    say("read other", read(other, buffer, 100));
    say("pread", pread(other, buffer, 100, 50));
    say("read other again", read(other, buffer, 100));
    close(other);
    close(fd);
}

static void appends(void) {
    int fd = open("appends", O_WRONLY | O_CREAT | O_APPEND, 0644);
    int second = open("appends", O_WRONLY | O_APPEND);
    say("append", write(fd, buffer, 300));
    say("append second", write(second, buffer, 200));
    say("append", write(fd, buffer, 100));
    say("pwrite appends too", pwrite(fd, buffer, 50, 0));
    say("lseek", lseek(second, 0, SEEK_CUR));
    say("setfl", fcntl(second, F_SETFL, 0));
    say("write", write(second, buffer, 7));
    close(second);
    close(fd);
}

static void vectors(void) {
    struct iovec piece[3] = {{buffer, 100}, {buffer + 100, 0}, {buffer + 200, 4000}};
    int fd = open("vectors", O_RDWR | O_CREAT | O_TRUNC, 0644);
    say("writev", writev(fd, piece, 3));
    say("pwritev", pwritev(fd, piece, 3, 10000));
    say("pwritev2", pwritev2(fd, piece, 3, -1, 0));
    say("preadv", preadv(fd, piece, 3, 12000));
    say("preadv2", preadv2(fd, piece, 3, 0, 0));
    say("lseek", lseek(fd, 0, SEEK_SET));
    say("readv", readv(fd, piece, 3));
    close(fd);
}

static void copies(void) {
    int from = open("positions", O_RDONLY);
    int to = open("copies", O_RDWR | O_CREAT | O_TRUNC, 0644);
    off_t offset = 100;
    say("sendfile", sendfile(to, from, &offset, 500));
    say("sendfile at position", sendfile(to, from, NULL, 64));
    off_t target = 5000;
    say("copy_file_range", copy_file_range(from, NULL, to, &target, 333, 0));
    int pipe_end[2];
    say("pipe", pipe(pipe_end));
    say("splice in", splice(from, NULL, pipe_end[1], NULL, 128, 0));
    say("splice out", splice(pipe_end[0], NULL, to, NULL, 128, 0));
    close(pipe_end[0]);
    close(pipe_end[1]);
    close(from);
    close(to);
}

static void sizes(void) {
    int fd = open("sizes", O_RDWR | O_CREAT | O_TRUNC, 0644);
    say("ftruncate", ftruncate(fd, 8192));
    say("fallocate", fallocate(fd, 0, 0, 16384));
    say("posix_fallocate", posix_fallocate(fd, 16384, 4096));
    say("fsync", fsync(fd));
    say("fdatasync", fdatasync(fd));
    say("sync_file_range", sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE));
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
    memset(map, 'm', 4096);
    say("msync", msync(map, 4096, MS_SYNC));
    say("munmap", munmap(map, 4096));
    close(fd);
    say("truncate", truncate("sizes", 100));
}

static void names(void) {
    struct stat status;
    struct statx extended;
    say("mkdir", mkdir("dir", 0755));
    say("mkdir again", mkdir("dir", 0755));
    int dir = open("dir", O_RDONLY | O_DIRECTORY);
    int fd = openat(dir, "a", O_RDWR | O_CREAT, 0600);
    say("write", write(fd, buffer, 11));
    say("renameat", renameat(dir, "a", dir, "b"));
    say("write after rename", write(fd, buffer, 11));
    say("link", link("dir/b", "dir/c"));
    say("symlink", symlink("b", "dir/d"));
    say("stat", stat("dir/b", &status));
    say("lstat", lstat("dir/d", &status));
    say("fstat", fstat(fd, &status));
    say("fstatat", fstatat(dir, "c", &status, 0));
    say("statx", statx(dir, "c", 0, STATX_SIZE, &extended));
    say("stat missing", stat("dir/none", &status));
    say("access", access("dir/b", R_OK));
    say("faccessat", faccessat(dir, "none", R_OK, 0));
    say("chmod", chmod("dir/b", 0640));
    say("fchmod", fchmod(fd, 0644));
    say("unlinkat", unlinkat(dir, "c", 0));
    say("unlink", unlink("dir/b"));
    say("write deleted", write(fd, buffer, 11));
    say("unlink missing", unlink("dir/b"));
    say("rmdir full", rmdir("dir"));
    say("unlink link", unlink("dir/d"));
    close(fd);
    close(dir);
    say("rmdir", rmdir("dir"));
    say("rename missing", rename("none", "nowhere"));
}

static void failures(void) {
    say("open missing", open("missing/file", O_RDONLY));
    int fd = open("positions", O_RDONLY);
    say("write read-only", write(fd, buffer, 10));
    say("pread negative", pread(fd, buffer, 10, -5));
    say("lseek negative", lseek(fd, -5, SEEK_SET));
    say("read fault", read(fd, nowhere, 10));
    say("close", close(fd));
    say("write closed", write(fd, buffer, 10));
    say("close closed", close(fd));
    char name[] = "temporaryXXXXXX";
    fd = mkstemp(name);
    say("mkstemp", fd < 0);
    say("write", write(fd, buffer, 10));
    say("unlink", unlink(name));
    close(fd);
}

static void raw(void) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "raw", O_RDWR | O_CREAT | O_TRUNC, 0644);
    say("raw write", syscall(SYS_write, fd, buffer, 123));
    say("raw pwrite", syscall(SYS_pwrite64, fd, buffer, 123, 1000));
    say("raw lseek", syscall(SYS_lseek, fd, 0, SEEK_SET));
    say("raw read", syscall(SYS_read, fd, buffer, 99));
    say("raw close", syscall(SYS_close, fd));
}

static void forked(void) {
    int fd = open("forked", O_RDWR | O_CREAT | O_TRUNC, 0644);
    say("write", write(fd, buffer, 100));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(write(fd, buffer, 200) != 200);
    int status;
    waitpid(child, &status, 0);
    say("child", status);
    say("write after child", write(fd, buffer, 300));
    close(fd);
}

int main(void) {
    for (size_t i = 0; i < sizeof(buffer); i++) buffer[i] = (char)('a' + i % 23);
    positions();
    appends();
    vectors();
    copies();
    sizes();
    names();
    failures();
    raw();
    forked();
    return 0;
}
