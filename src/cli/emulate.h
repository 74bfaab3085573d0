// The verb `emulate`: emulate.c takes the words apart, emulate_mount.c starts and stops mounts.
#ifndef IOSEER_CLI_EMULATE_H
#define IOSEER_CLI_EMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "target/device.h"

struct emulate_words {
    const char *preset;
    uint64_t read_bandwidth, write_bandwidth;   // 0: not given
    double latency, meta_latency, seek_latency; // seconds; negative: not given
    const char *cache;
    bool foreground;
    bool stop;
    bool force;
    bool list;
    bool json;
    bool quiet;
};

int emulate_fail(const char *what, const char *why);

// All return an exit status.
int emulate_start(const struct emulate_words *words, const char *backing, const char *mount);
int emulate_end(const struct emulate_words *words, const char *mount);

#endif
