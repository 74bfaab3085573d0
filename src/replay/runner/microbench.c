
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "replay/runner/runner.h"
#include "replay/runner/world.h"

enum { FEWEST_FILES = 16, MOST_FILES = 4096, SMALL_BYTES = 8, LARGE_BYTES = 1 << 20, ROUNDS = 200, LARGE_ROUNDS = 20 };
static const double CALL_SECONDS = 0.5; // about, for each kind of call

enum name_call { NAME_CREATE, NAME_STAT, NAME_OPEN, NAME_UNLINK, NAME_CALLS };

// --- names

static int do_call(enum name_call call, const char *path) {
    struct stat about;
    if (call == NAME_STAT) return stat(path, &about);
    if (call == NAME_UNLINK) return unlink(path);
    int fd = open(path, call == NAME_CREATE ? O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
    return fd < 0 ? -1 : close(fd);
}

// Seconds of `count` calls.
static int time_calls(const char *directory, enum name_call call, unsigned count, double *seconds) {
    char path[PATH_MAX];
    double start = clock_seconds();
    for (unsigned i = 0; i < count; i++) {
        int length = snprintf(path, sizeof path, "%s/file-names.%d.%u", directory, world.rank, i);
        RETURN_IF(length >= (int)sizeof path, -ENAMETOOLONG);
        RETURN_IF(do_call(call, path) < 0, -errno);
    }
    *seconds = clock_seconds() - start;
    return 0;
}

// Calls per second of all processes together.
static int measure_names(const struct replay_job *job, struct replay_result *result) {
    const char *directory = job->directory;
    double seconds = 0, *rate[NAME_CALLS] = {&result->create, &result->stat, &result->open, &result->unlink};
    FORWARD(time_calls(directory, NAME_CREATE, FEWEST_FILES, &seconds));
    FORWARD(time_calls(directory, NAME_UNLINK, FEWEST_FILES, &seconds));
    double fitting = seconds > 0 ? CALL_SECONDS / seconds * FEWEST_FILES : MOST_FILES;
    uint64_t mine = fitting < FEWEST_FILES ? FEWEST_FILES : fitting > MOST_FILES ? MOST_FILES : (uint64_t)fitting;
    double *all = malloc((size_t)world.size * sizeof *all);
    RETURN_IF(!all, -ENOMEM);
    int code = 0;
    for (unsigned call = 0; call < NAME_CALLS; call++) {
        watch_tell(job, "calls for names", call, mine << 20); // a second for each
        world_barrier();
        if (!code) code = time_calls(directory, call, (unsigned)mine, &seconds);
        double per_second = code || seconds <= 0 ? 0 : (double)mine / seconds;
        world_gather(&per_second, sizeof per_second, all);
        for (int i = 0; i < world.size && !world.rank; i++) *rate[call] += all[i];
    }
    free(all);
    return code;
}

// --- messages

// Seconds of one message from one process to another; 0 if there are no messages.
static double time_message(void *data, size_t bytes, unsigned rounds) {
    if (!world_exchange(data, bytes)) return 0; // the first one also sets up the connection
    world_barrier();
    double start = clock_seconds();
    for (unsigned i = 0; i < rounds; i++) world_exchange(data, bytes);
    double seconds = clock_seconds() - start;
    world_barrier();
    return seconds / rounds / 2;
}

int microbench_run(const struct replay_job *job) {
    struct replay_result result = {0};
    FORWARD(measure_names(job, &result));
    void *data = calloc(1, LARGE_BYTES);
    RETURN_IF(!data, -ENOMEM);
    result.message_latency = time_message(data, SMALL_BYTES, ROUNDS);
    double large = time_message(data, LARGE_BYTES, LARGE_ROUNDS);
    result.message_bandwidth = large > 0 ? LARGE_BYTES / large : 0;
    free(data);
    return world.rank ? 0 : contract_write_result(&result, job->result);
}
