// From a spill file of whatever bytes to a log, and what was made must be readable.
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_log.h"
#include "pack/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static int fd = -1;
    struct pack_result result;
    char name[64];
    struct log *log;
    if (fd < 0) fd = memfd_create("log", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) return 0;
    if (pack_image(data, len, fd, &result) != 0) return 0;
    fuzz_file_name(name, fd);
    if (log_open(&log, name) != 0 || log_health(log)->truncated) __builtin_trap();
    fuzz_read_events(log);
    log_close(log);
    return 0;
}
