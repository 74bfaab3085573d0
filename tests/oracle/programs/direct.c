// System calls by instructions of the program's own: libc knows nothing of them.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/cpu.h"

int main(void) {
    static char data[8192];
    char back[4096];
    long total = 0, got;
    memset(data, 'd', sizeof data);
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, "direct", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (long i = 0; i < 20; i++) total += cpu_syscall(SYS_write, fd, data, 1000 + i);
    total += cpu_syscall(SYS_pwrite64, fd, data, sizeof data, 100000);
    const struct iovec pieces[2] = {{data, 100}, {data + 500, 300}};
    total += cpu_syscall(SYS_writev, fd, pieces, 2);
    cpu_syscall(SYS_lseek, fd, 500, SEEK_SET);
    while ((got = cpu_syscall(SYS_read, fd, back, sizeof back)) > 0) total += got;
    total += cpu_syscall(SYS_pread64, fd, back, 64, 99990);
    cpu_syscall(SYS_close, fd);
    cpu_syscall(SYS_renameat2, AT_FDCWD, "direct", AT_FDCWD, "renamed", 0);
    return printf("%ld\n", total) < 0;
}
