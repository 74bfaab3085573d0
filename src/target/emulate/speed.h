// How long storage of a given speed takes for a request: the arithmetic of `emulate`, without file system and clock.
//
// A request is done when its latency has passed and its bytes have gone through the bandwidth. Latencies of several
// clients pass at the same time. All clients share one bandwidth for reading and one for writing. A seek blocks the
// whole storage for its time.
//
// Time that the emulator itself loses is owed to its clients: late replies, and the time between a reply and the next
// request of a client that goes on at once. Later requests that wait for bandwidth are done earlier by that much, so
// that the rate is exact in the long run. Time without any request is not owed.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct speed_settings {
    uint64_t read_bandwidth; // bytes per second, 0: no limit
    uint64_t write_bandwidth;
    int64_t latency_ns;      // of a data request
    int64_t meta_latency_ns; // of a request about names and attributes
    int64_t seek_latency_ns; // added if a data request does not start where the last one ended
};

struct speed_preset {
    const char *name;
    const char *about;
    struct speed_settings settings;
};

extern const struct speed_preset speed_presets[];                // ends with a row without a name
const struct speed_preset *speed_preset_named(const char *name); // or NULL

struct speed {
    struct speed_settings settings;
    pthread_mutex_t lock;
    int64_t free_ns[2]; // reading, writing: when the bandwidth is free again
    int64_t owed_ns;
    unsigned under_way; // admitted, not ended
    int64_t due_ns;     // when all admitted requests are done
    int64_t ended_ns;   // when the last request ended
    uint64_t head_file; // where the last request left the head
    uint64_t head_offset;
};

struct speed_request {
    bool is_write;
    uint64_t file;
    uint64_t offset;
    uint64_t bytes;
    int64_t waited_ns; // for a processor, by its client, since its last request
};

void speed_init(struct speed *speed, const struct speed_settings *settings);
// Returns when a request that arrives now is done. Each admitted request must be ended when its client gets the reply.
int64_t speed_admit(struct speed *speed, const struct speed_request *request, int64_t now_ns);
void speed_end(struct speed *speed, int64_t now_ns);
