// How long storage of a given kind takes for a request: the arithmetic of `emulate`, free of any file system and clock.
//
// A request is done when its latency has passed and its bytes have gone through the bandwidth. Latencies of several
// clients pass at the same time; the bandwidth is one for all, and reading and writing have one each. A seek takes the
// whole device for its time.
//
// What the emulator itself wastes is owed to its clients: replies that come late, and the short way back and forth
// between two requests of a stream. Later requests that wait for bandwidth are done that much earlier, so that the
// rate of a stream is exact in the long run. Storage that was left alone owes nothing for that time.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_settings {
    uint64_t read_bandwidth; // bytes per second, 0: no limit
    uint64_t write_bandwidth;
    int64_t latency_ns;      // of a data request
    int64_t meta_latency_ns; // of a request about names and attributes
    int64_t seek_latency_ns; // more, where a data request does not go on where the last one ended
};

struct device_preset {
    const char *name;
    const char *about;
    struct device_settings settings;
};

extern const struct device_preset device_presets[];               // ended by a row without a name
const struct device_preset *device_preset_find(const char *name); // or NULL

struct device {
    struct device_settings settings;
    pthread_mutex_t lock;
    int64_t free_ns[2]; // reading, writing: when the bandwidth is free again
    int64_t owed_ns;
    unsigned under_way; // admitted, not ended
    int64_t due_ns;     // when all that were admitted are done
    int64_t ended_ns;   // when the last one was ended
    uint64_t head_file; // where the last one left the head
    uint64_t head_offset;
};

struct device_request {
    bool is_write;
    uint64_t file;
    uint64_t offset;
    uint64_t bytes;
    int64_t waited_ns; // by its client for a processor, since its last request
};

void device_init(struct device *device, const struct device_settings *settings);
// When a request that arrives now is done. Each one admitted must be ended, when its client was told.
int64_t device_admit(struct device *device, const struct device_request *request, int64_t now_ns);
void device_end(struct device *device, int64_t now_ns);
