#include "rec/asking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "rec/tracer/followed.h"
#include "rec/tracer/traced_call.h"

static char folder[32];
const char *asking_folder = folder;
static pid_t asked;

void asking_about(pid_t tid) {
    if (asked == tid) return;
    asked = tid;
    snprintf(folder, sizeof folder, "/proc/%d", (int)tid);
}

long asking_read(const char *path, char *out, size_t room) {
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fd;
    long len = cpu_syscall(SYS_read, fd, out, room - 1);
    cpu_syscall(SYS_close, fd);
    out[len < 0 ? 0 : len] = 0;
    if (len > 0) followed_count_read((size_t)len);
    return len;
}

// A number of a line of /proc/PID/fdinfo/FD or /proc/PID/status.
long asking_number(const char *path, const char *label, int base) {
    char text[2048];
    if (asking_read(path, text, sizeof text) <= 0) return -1;
    const char *at = strstr(text, label);
    return at ? strtol(at + strlen(label), NULL, base) : -1;
}

long ask_stat(int fd, struct stat *data) { return ask_known(AT_FDCWD, ask_path_of_fd("/fd/", fd).text, data); }

long ask_position(int fd) { return asking_number(ask_path_of_fd("/fdinfo/", fd).text, "pos:", 10); }

long ask_open_flags(int fd) { return asking_number(ask_path_of_fd("/fdinfo/", fd).text, "flags:", 8); }

long ask_cwd(char *out, size_t room) {
    long len = cpu_syscall(SYS_readlinkat, AT_FDCWD, ask_path("/cwd").text, out, room - 1);
    if (len <= 0) return len;
    out[len] = 0;
    return len + 1;
}

// The tracer cannot ask a terminal of another process without opening it. Its device number tells as much.
bool ask_is_terminal(int fd) {
    enum { CONSOLES = 4, CURRENT = 5, FIRST_PSEUDO = 136, LAST_PSEUDO = 143 };
    struct stat data;
    if (ask_stat(fd, &data) < 0) return false;
    unsigned kind = major(data.st_rdev);
    return kind == CONSOLES || kind == CURRENT || (kind >= FIRST_PSEUDO && kind <= LAST_PSEUDO);
}

long ask_parent(void) { return asking_number(ask_path("/status").text, "\nPPid:", 10); }

long ask_user(void) { return asking_number(ask_path("/status").text, "\nUid:", 10); }

// --- memory

static union {
    char bytes[IOV_MAX * sizeof(struct iovec)];
    uint64_t aligned;
} copies[2];
static char texts[2][PATH_MAX];

bool tracer_read(void *out, long address, size_t len) {
    struct iovec here = {out, len}, there = {(void *)address, len};
    return cpu_syscall6(SYS_process_vm_readv, asked, (long)&here, 1, (long)&there, 1, 0) == (long)len;
}

void *tracer_copy(unsigned place, long address, size_t len) {
    char *out = copies[place].bytes;
    if (!address) return NULL;
    if (len > sizeof copies[place].bytes) len = sizeof copies[place].bytes;
    if (!tracer_read(out, address, len)) memset(out, 0, sizeof copies[place].bytes);
    return out;
}

// In pieces that lie within a page: what follows the text may not be readable.
const char *tracer_text(unsigned place, long address) {
    enum { PIECE = 256 };
    char *out = texts[place];
    size_t len = 0;
    if (!address) return NULL;
    while (len < PATH_MAX - PIECE) {
        size_t piece = PIECE - (((unsigned long)address + len) & (PIECE - 1));
        if (!tracer_read(out + len, address + (long)len, piece)) break;
        if (memchr(out + len, 0, piece)) return out;
        len += piece;
    }
    return "";
}
