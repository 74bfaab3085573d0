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

int unrecorded_open(const char *path, int flags)
{
    return (int)result_of(cpu_syscall(SYS_openat, AT_FDCWD, path, flags, 0600));
}

int unrecorded_dup(int fd)
{
    return (int)result_of(cpu_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, UNRECORDED_FAR));
}

int unrecorded_dup2(int fd, int to)
{
    return (int)result_of(cpu_syscall(SYS_dup3, fd, to, O_CLOEXEC));
}

void unrecorded_close(int fd)
{
    cpu_syscall(SYS_close, fd);
}

off_t unrecorded_seek(int fd, off_t offset)
{
    return result_of(cpu_syscall(SYS_lseek, fd, offset, SEEK_SET));
}

FILE *unrecorded_fdopen(int fd, const char *mode)
{
    return _IO_fdopen(fd, mode);
}

bool unrecorded_exists(const char *path)
{
    return cpu_syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}
