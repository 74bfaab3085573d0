// System calls by instructions of the program's own: libc knows nothing of them.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static long call(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long kind __asm__("x8") = number, first __asm__("x0") = a, second __asm__("x1") = b;
    register long third __asm__("x2") = c, fourth __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(kind), "r"(second), "r"(third), "r"(fourth) : "memory");
    return first;
#endif
}

int main(void) {
    static char data[8192];
    char back[4096];
    long total = 0, got;
    memset(data, 'd', sizeof data);
    long fd = call(SYS_openat, AT_FDCWD, (long)"direct", O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (long i = 0; i < 20; i++) total += call(SYS_write, fd, (long)data, 1000 + i, 0);
    total += call(SYS_pwrite64, fd, (long)data, sizeof data, 100000);
    const struct iovec pieces[2] = {{data, 100}, {data + 500, 300}};
    total += call(SYS_writev, fd, (long)pieces, 2, 0);
    call(SYS_lseek, fd, 500, SEEK_SET, 0);
    while ((got = call(SYS_read, fd, (long)back, sizeof back, 0)) > 0) total += got;
    total += call(SYS_pread64, fd, (long)back, 64, 99990);
    call(SYS_close, fd, 0, 0, 0);
    call(SYS_renameat2, AT_FDCWD, (long)"direct", AT_FDCWD, (long)"renamed");
    return printf("%ld\n", total) < 0;
}
