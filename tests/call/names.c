// Which file: names relative to directories, dots and slashes, files without a name.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"

static void open_and_expect(const char *path, const char *expected) {
    fixture_begin();
    case_start();
    int fd = open(path, O_RDONLY);
    case_stop(fd);
    expect("open", expected, NONE, NONE, fd);
    fixture_end();
}

static void dots(void) {
    fixture_begin();
    open_and_expect(case_path("work/.//folder/./..//data"), f.path);
}

static void relative(void) {
    fixture_begin();
    open_and_expect("work/data", f.path);
}

static void after_chdir(void) {
    fixture_begin();
    case_start();
    int result = chdir("work/folder");
    int fd = open("../data", O_RDONLY);
    int fd2 = open("new", O_RDWR | O_CREAT, 0600);
    case_stop(fd);
    expect("chdir", f.folder, NONE, NONE, result);
    expect("open", f.path, NONE, NONE, fd);
    expect("open", case_path("work/folder/new"), NONE, NONE, fd2);
    unlink("new");
    fixture_end();
}

static void after_fchdir(void) {
    fixture_begin();
    case_start();
    int result = fchdir(f.dirfd);
    int fd = open("data", O_RDONLY);
    struct stat data;
    int looked = stat("other", &data);
    case_stop(fd);
    expect("fchdir", case_path("work"), NONE, NONE, result);
    expect("open", f.path, NONE, NONE, fd);
    expect("stat", f.other, NONE, NONE, looked);
    fixture_end();
}

static void chdir_to_link(void) {
    fixture_begin();
    unlink(f.fresh);
    if (symlink("folder", f.fresh) < 0) return;
    case_start();
    int result = chdir(f.fresh);
    int fd = open("../data", O_RDONLY);
    case_stop(fd);
    expect("chdir", f.folder, NONE, NONE, result);
    expect("open", f.path, NONE, NONE, fd);
    fixture_end();
}

// Dot-dot after a symbolic link: only the kernel knows where it leads.
static void dotdot_behind_link(void) {
    fixture_begin();
    mkdir(case_path("deep"), 0700);
    mkdir(case_path("deep/down"), 0700);
    unlink(f.fresh);
    if (symlink("../deep/down", f.fresh) < 0) return;
    case_start();
    int fd = open(case_path("work/fresh/../made"), O_WRONLY | O_CREAT, 0600);
    case_stop(fd);
    expect("open", case_path("deep/made"), NONE, NONE, fd);
    fixture_end();
}

static void absolute_ignores_dirfd(void) {
    fixture_begin();
    case_start();
    int fd = openat(BAD_FD, f.path, O_RDONLY);
    int fd2 = openat(f.dirfd, "./folder/../other", O_RDONLY);
    int fd3 = openat(AT_FDCWD, "work/data", O_RDONLY);
    case_stop(fd);
    expect("openat", f.path, NONE, NONE, fd);
    expect("openat", f.other, NONE, NONE, fd2);
    expect("openat", f.path, NONE, NONE, fd3);
    fixture_end();
}

static void two_directories(void) {
    fixture_begin();
    int folder = open(f.folder, O_RDONLY | O_DIRECTORY);
    case_start();
    int result = renameat(f.dirfd, "data", folder, "moved");
    case_stop(result);
    expect_file2(expect("renameat", f.path, NONE, NONE, result), case_path("work/folder/moved"));
    unlink(case_path("work/folder/moved"));
    fixture_end();
}

static void the_descriptor_itself(void) {
    struct stat data;
    struct statx more;
    fixture_begin();
    case_start();
    int result = fstatat(f.fd, "", &data, AT_EMPTY_PATH);
    result += statx(f.fd, "", AT_EMPTY_PATH, STATX_SIZE, &more);
    result += (int)syscall(SYS_utimensat, f.fd, NULL, NULL, 0);
    case_stop(result);
    CHECK(data.st_size == DATA_BYTES);
    expect("fstatat", f.path, NONE, NONE, 0);
    expect("statx", f.path, NONE, NONE, 0);
    expect("utimensat", f.path, NONE, NONE, 0);
    fixture_end();
}

static void unnamed(void) {
    fixture_begin();
    case_start();
    int fd = open(case_path("work"), O_TMPFILE | O_RDWR, 0600);
    if (fd >= 0) write(fd, f.buf, LENGTH);
    case_stop(fd);
    if (fd < 0) {
        case_skip("this file system has no O_TMPFILE");
        return;
    }
    expect("open", fixture_name_of(fd), NONE, NONE, fd);
    expect("write", fixture_name_of(fd), 0, LENGTH, LENGTH);
    fixture_end();
}

static void unlinked(void) {
    fixture_begin();
    case_start();
    unlink(f.path);
    ssize_t moved = read(f.fd, f.buf, LENGTH);
    int fd = open(f.path, O_RDWR | O_CREAT, 0600);
    moved += write(fd, f.buf, 8);
    case_stop(moved);
    expect("unlink", f.path, NONE, NONE, 0);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    expect("open", f.path, NONE, NONE, fd);
    expect("write", f.path, 0, 8, 8);
    fixture_end();
}

static void trailing_slash(void) {
    fixture_begin();
    case_start();
    int result = mkdir(case_path("work/fresh///"), 0700);
    case_stop(result);
    expect("mkdir", f.fresh, NONE, NONE, result);
    fixture_end();
}

static void too_long(void) {
    char path[8192];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = 0;
    fixture_begin();
    case_start();
    int fd = open(path, O_RDONLY);
    case_stop(fd);
    CHECK(case_error() == ENAMETOOLONG);
    expect("open", NULL, NONE, NONE, -1);
    fixture_end();
}

static void empty(void) {
    struct stat data;
    fixture_begin();
    case_start();
    int result = open("", O_RDONLY) + stat("", &data);
    case_stop(result);
    CHECK(case_error() == ENOENT);
    expect("open", NULL, NONE, NONE, -1);
    expect("stat", NULL, NONE, NONE, -1);
    fixture_end();
}

static void left_out(void) {
    struct stat data;
    fixture_begin();
    case_start();
    int fd = open("/dev/zero", O_RDONLY);
    ssize_t moved = read(fd, f.buf, LENGTH);
    moved += stat("/etc/passwd", &data) + access("/proc/self", F_OK);
    case_stop(moved);
    fixture_end();
}

static void number_used_again(void) {
    fixture_begin();
    case_start();
    close(f.fd);
    int fd = open(f.other, O_RDONLY);
    ssize_t moved = read(fd, f.buf, LENGTH);
    close(fd);
    case_stop(moved);
    CHECK(fd == f.fd);
    expect("close", f.path, NONE, NONE, 0);
    expect("open", f.other, NONE, NONE, fd);
    expect("read", f.other, 0, LENGTH, LENGTH);
    expect("close", f.other, NONE, NONE, 0);
    fixture_end();
}

static void range_closed(void) {
    fixture_begin();
    int first = fcntl(f.fd, F_DUPFD, HIGH_FD);
    int second = fcntl(f.out, F_DUPFD, HIGH_FD);
    case_start();
    int result = close_range((unsigned)first, (unsigned)second, 0);
    int fd = fcntl(f.fd, F_DUPFD, HIGH_FD);
    case_stop(result);
    CHECK(fd == first);
    expect("close_range", f.path, NONE, NONE, 0);
    expect("close_range", f.other, NONE, NONE, 0);
    expect("fcntl", f.path, NONE, NONE, fd);
    close(fd);
    fixture_end();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"dots and double slashes", dots},
        {"a relative path", relative},
        {"relative paths after chdir", after_chdir},
        {"relative paths after fchdir", after_fchdir},
        {"chdir through a symbolic link", chdir_to_link},
        {"dot-dot behind a symbolic link", dotdot_behind_link},
        {"openat with all kinds of paths", absolute_ignores_dirfd},
        {"names in two directories", two_directories},
        {"empty paths mean the descriptor", the_descriptor_itself},
        {"O_TMPFILE", unnamed},
        {"an unlinked open file", unlinked},
        {"slashes at the end", trailing_slash},
        {"a name that is too long", too_long},
        {"an empty name", empty},
        {"system files are left out", left_out},
        {"a number used again", number_used_again},
        {"a range closed", range_closed},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
