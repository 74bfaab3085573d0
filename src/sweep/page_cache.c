#include "sweep/page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"

enum { TRIAL_BYTES = 64 << 10 };

// What was just written is in memory, or never will be. A mapping does not read anything until it is touched.
static int look(int fd, bool *used) {
    static const char data[TRIAL_BYTES];
    unsigned char resident[TRIAL_BYTES / 4096 + 1] = {0};
    FORWARD(io_write_all(fd, data, sizeof data));
    void *pages = mmap(NULL, sizeof data, PROT_READ, MAP_PRIVATE, fd, 0);
    RETURN_IF(pages == MAP_FAILED, errno == ENODEV ? 0 : -errno);
    int code = mincore(pages, sizeof data, resident) < 0 ? -errno : 0;
    *used = resident[0] & 1;
    munmap(pages, sizeof data);
    return code;
}

int page_cache_is_used(const char *directory, bool *used) {
    char path[PATH_MAX];
    *used = false;
    RETURN_IF(snprintf(path, sizeof path, "%s/ioseer-sweep-XXXXXX", directory) >= (int)sizeof path, -ENAMETOOLONG);
    int fd = mkostemp(path, O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = look(fd, used);
    close(fd);
    unlink(path);
    return code;
}
