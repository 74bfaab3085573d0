// The verb `emulate`: emulate.c takes the words apart, emulate_mount.c mounts directories, emulate_block.c has to do
// with throttled devices, emulate_process.c with what both need to start and stop.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "target/emulate/speed.h"
#include "target/guard.h"

struct emulate_words {
    const char *preset;
    uint64_t read_bandwidth, write_bandwidth;   // 0: not given
    double latency, meta_latency, seek_latency; // seconds; negative: not given
    const char *cache;
    uint64_t block; // bytes; 0: not a block device
    const char *type;
    uint64_t dirty_limit, memory; // bytes; 0: not given
    bool run;
    bool foreground;
    bool stop;
    bool force;
    bool list;
    bool json;
    bool quiet;
};

int emulate_fail(const char *what, const char *why);

// All return an exit status.
int emulate_start_mount(const struct emulate_words *words, const char *backing, const char *mount);
int emulate_start_block(const struct emulate_words *words, const char *backing, const char *mount);
int emulate_end(const struct emulate_words *words, const char *mount);
int emulate_run_in_group(const char *mount, char **command);

// The name of a mount as the list of mounts has it. A mount whose server is dead or hangs cannot be asked, so the last
// word is taken as it is where the directory before it leads to a target of ours. Gives an error code.
int emulate_mount_name(const char *given, char name[PATH_MAX]);
// Whether something can be mounted there; says what prevents it.
int emulate_check_mount(const char *given, const char *mount);

// Runs `serve` in the background or in the foreground, as the words say; says what prevents it.
typedef int emulate_server_function(const void *what, target_ready *ready, void *context);
int emulate_start_process(const struct emulate_words *words, const char *given, emulate_server_function *serve,
                          const void *what);
