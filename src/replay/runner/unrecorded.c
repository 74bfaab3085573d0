#include "replay/runner/unrecorded.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu_syscall.h"

// The C library's own name of fdopen.
FILE *_IO_fdopen(int fd, const char *mode);

static long result_of(long code)
{
    return code < 0 ? -1 : code;
}

int unseen_open(const char *path, int flags)
{
    return (int)result_of(cpu_syscall(SYS_openat, AT_FDCWD, path, flags, 0600));
}

int unseen_dup(int fd)
{
    return (int)result_of(cpu_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, UNSEEN_FAR));
}

int unseen_dup2(int fd, int to)
{
    return (int)result_of(cpu_syscall(SYS_dup3, fd, to, O_CLOEXEC));
}

void unseen_close(int fd)
{
    cpu_syscall(SYS_close, fd);
}

off_t unseen_seek(int fd, off_t offset)
{
    return result_of(cpu_syscall(SYS_lseek, fd, offset, SEEK_SET));
}

FILE *unseen_fdopen(int fd, const char *mode)
{
    return _IO_fdopen(fd, mode);
}

bool unseen_exists(const char *path)
{
    return cpu_syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}
