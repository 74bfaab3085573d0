// A spill directory with any bytes as job file and device samples: other users may be able to write there, and this
// must not break a rescue.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "fuzz_log.h"
#include "pack/pack.h"

static char directory[] = "/dev/shm/ioseer-fuzz-XXXXXX"; // in memory: a log is synced when it is done
static char job_name[sizeof directory + 16], devices_name[sizeof directory + 16], log_name[sizeof directory + 16];

static void remove_directory(void) { pack_remove_directory(directory); }

static bool prepare(void) {
    if (job_name[0]) return true;
    if (!mkdtemp(directory) || atexit(remove_directory) != 0) return false;
    snprintf(job_name, sizeof job_name, "%s/%s", directory, PACK_JOB_FILE);
    snprintf(devices_name, sizeof devices_name, "%s/x%s", directory, PACK_DEVICES_SUFFIX);
    snprintf(log_name, sizeof log_name, "%s/log", directory);
    return true;
}

static bool write_file(const char *name, const uint8_t *data, size_t len) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, data, len) == (ssize_t)len;
    if (fd >= 0) close(fd);
    return written;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct pack_options options = {.replace = true};
    struct pack_result result;
    struct log *log;
    if (!prepare() || !write_file(job_name, data, len) || !write_file(devices_name, data, len)) return 0;
    int code = pack_directory(NULL, directory, log_name, &options, &result);
    if (code == ERR_NOTHING) return 0; // nothing in it says that the directory is a job's
    if (code != 0 || log_open(&log, log_name) != 0 || log_health(log)->truncated) __builtin_trap();
    log_close(log);
    return 0;
}
