// What the recorder asks the kernel about the recorded process. In the preload library that is the process itself; in
// the tracer (rec/tracer), which is compiled from the same probes, it is the process that is followed.
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/cpu.h"
#include "rec/fixed_text.h"

// Variables of which there is one for each recorded process. The tracer follows many processes: it keeps these in a
// section of their own, and exchanges its contents.
// The status of a descriptor (with an empty path), or of a path, as far as this host knows it already. The server of a
// file system is not asked: the program would wait for it, and it may be a process that waits for the tracer.
static inline long ask_known(int fd, const char *path, struct stat *data) {
    struct statx known;
    long code = cpu_syscall(SYS_statx, fd, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &known);
    if (code < 0) return code;
    data->st_dev = makedev(known.stx_dev_major, known.stx_dev_minor);
    data->st_ino = known.stx_ino;
    data->st_mode = known.stx_mode;
    data->st_size = (off_t)known.stx_size;
    data->st_blksize = known.stx_blksize;
    return 0;
}

#ifdef IOSEER_TRACER
#define PER_PROCESS __attribute__((section("per_process")))
#else
#define PER_PROCESS
#endif

// Each returns a negative code on failure. ask_stat sets what ask_known does.
#ifdef IOSEER_TRACER

enum { ASKING_COUNTS = 0 };       // 1: the kernel counts what is read as the recorded process's
extern const char *asking_folder; // "/proc/PID"
long ask_stat(int fd, struct stat *data);
long ask_position(int fd);
long ask_open_flags(int fd);
long ask_cwd(char *out, size_t room); // length, the final zero included, as getcwd counts
bool ask_is_terminal(int fd);
long ask_parent(void);
long ask_user(void);

#else

enum { ASKING_COUNTS = 1 };
#define asking_folder "/proc/self"
static inline long ask_stat(int fd, struct stat *data) { return ask_known(fd, "", data); }
static inline long ask_position(int fd) { return cpu_syscall(SYS_lseek, fd, 0, SEEK_CUR); }
static inline long ask_open_flags(int fd) { return cpu_syscall(SYS_fcntl, fd, F_GETFL); }
static inline long ask_cwd(char *out, size_t room) { return cpu_syscall(SYS_getcwd, out, room); }
static inline long ask_parent(void) { return cpu_syscall(SYS_getppid, 0); }
static inline long ask_user(void) { return cpu_syscall(SYS_getuid, 0); }
static inline bool ask_is_terminal(int fd) {
    char attributes[64];
    const long get_terminal_attributes = 0x5401; // TCGETS
    return cpu_syscall(SYS_ioctl, fd, get_terminal_attributes, attributes) == 0;
}

#endif

// The name of a file of the process in /proc: "/exe".
struct ask_path {
    char text[48];
};

static inline struct ask_path ask_path(const char *name) {
    struct ask_path path;
    struct fixed_text text = {path.text, sizeof path.text, 0};
    fixed_text_add(&text, asking_folder);
    fixed_text_add(&text, name);
    return path;
}

// "/fd/" or "/fdinfo/" of a descriptor.
static inline struct ask_path ask_path_of_fd(const char *folder, int fd) {
    struct ask_path path = ask_path(folder);
    struct fixed_text text = {path.text, sizeof path.text, strlen(path.text)};
    fixed_text_number(&text, (unsigned)fd, 10);
    return path;
}
