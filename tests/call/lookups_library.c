// A library that is opened late. It calls libc, and one of its functions has the name of a libc function.
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

ssize_t late_write(int fd, const void *data, size_t len, off_t offset);
void *late_next(const char *name);
int late_own(int fd);
int fdatasync(int fd);

static ssize_t (*const address_of_pwrite)(int, const void *, size_t, off_t) = pwrite;

#pragma GCC visibility push(default)
// Twice: through the table of calls, and through an address that was taken.
ssize_t late_write(int fd, const void *data, size_t len, off_t offset) {
    ssize_t first = pwrite(fd, data, len, offset);
    ssize_t (*volatile taken)(int, const void *, size_t, off_t) = address_of_pwrite;
    return first + (taken == pwrite ? pwrite(fd, data, len, offset + (off_t)len) : -1);
}

void *late_next(const char *name) { return dlsym(RTLD_NEXT, name); }

int fdatasync(int fd) { return fd + 1000; }

int late_own(int fd) { return fdatasync(fd); }
#pragma GCC visibility pop
