#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

// One file for all runs: making a new one each time costs more than the parser.
int fuzz_file(const uint8_t *data, size_t len) {
    static int fd = -1;
    if (fd < 0) fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, len, 0) != (ssize_t)len) return -1;
    return fd;
}

void fuzz_file_name(char name[64], int fd) { snprintf(name, 64, "/proc/self/fd/%d", fd); }
