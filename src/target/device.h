// How long storage of a given kind takes for a request: the arithmetic of `emulate`, free of any file system.
//
// A request is done when its latency has passed and its bytes have gone through the bandwidth. Latencies of several
// clients pass at the same time; the bandwidth is one for all, and reading and writing have one each. What the emulator
// itself wastes (late wake-ups, its way through the kernel) is made good by letting the next request of a stream
// through earlier, up to a credit of 100 ms: the rate of a stream is exact in the long run. Storage that was left alone
// gives no credit for it.
#ifndef IOSEER_TARGET_DEVICE_H
#define IOSEER_TARGET_DEVICE_H

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
    bool saturated[2];  // the last request waited for bandwidth, not for latency
    unsigned under_way;
    int64_t left_alone_ns; // since when, with none under way
    uint64_t head_file;    // where the last data request ended
    uint64_t head_offset;
};

struct device_request {
    bool is_write;
    uint64_t file;
    uint64_t offset;
    uint64_t bytes;
};

void device_init(struct device *device, const struct device_settings *settings);
// When a request that arrives now is done. Each one admitted must be ended.
int64_t device_admit(struct device *device, const struct device_request *request, int64_t now_ns);
void device_end(struct device *device, int64_t now_ns);

#endif
