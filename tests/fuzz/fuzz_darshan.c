// Imports a log of Darshan; whatever it holds, the log that is made of it must be readable.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "darshan/text.h"
#include "fuzz_log.h"
#include "log/import.h"
#include "pack/import.h"

// Replaces libc's function: nothing has to be on a disk.
int fdatasync(int fd) {
    (void)fd;
    return 0;
}

static void take_value(const char *counter, const char *value, void *context) {
    (void)context;
    fuzz_touch((const uint8_t *)counter, strlen(counter));
    fuzz_touch((const uint8_t *)value, strlen(value));
}

static void read_imported(struct log *log) {
    struct log_imported imported = {0};
    for (size_t i = 0; i < log_imported_count(log); i++) {
        if (log_imported_at(log, i, &imported) != 0) abort();
        darshan_print_record(&imported.record, i & 1, take_value, NULL);
    }
    log_imported_free(&imported);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct import_result result;
    struct problem problem = {0};
    char from[64], made[64];
    struct log *log;
    int fd = fuzz_file(data, len);
    if (fd < 0) return 0;
    fuzz_file_name(from, fd);
    snprintf(made, sizeof made, "/dev/shm/ioseer-fuzz-%d", (int)getpid());
    if (import_file(from, made, true, &result, &problem) != 0) return 0;
    if (log_open(&log, made) != 0 || log_health(log)->truncated || log_health(log)->records_damaged) abort();
    read_imported(log);
    fuzz_read_events(log);
    fuzz_read_stats(log);
    log_stats_added_up(log, NULL, fuzz_take_record, log);
    log_reduce(log, NULL, false, fuzz_take_record, log);
    log_close(log);
    unlink(made);
    return 0;
}
