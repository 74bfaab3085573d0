#include "target/emulate/speed.h"

#include <string.h>

enum {
    OWED_MOST_NS = 100000000,
    FRESH_MOST_NS = 5000000, // of the time just lost, repaid by the next request
    LATER_SHARE = 4,         // a request is shortened by 1/4 of its time for what was owed before
    PAUSE_NS = 200000,       // a client that comes back later than this did not use the storage meanwhile
    PAUSE_BYTES_PER_NS = 4,  // added to the pause for a client that copies its data
};

#define MIB (UINT64_C(1) << 20)
#define US INT64_C(1000)

// Bandwidths and latencies as one application sees them on such storage, as far as FUSE can imitate them:
// doc/targets.md.
const struct speed_preset speed_presets[] = {
    {"hdd", "a disk: 150 / 140 MiB/s, 0.2 ms, 8 ms to seek", {150 * MIB, 140 * MIB, 200 * US, 200 * US, 8000 * US}},
    {"ssd", "SATA flash: 500 / 450 MiB/s, 0.1 ms", {500 * MIB, 450 * MIB, 100 * US, 100 * US, 0}},
    {"nvme", "NVMe flash: 1000 / 800 MiB/s, 50 us", {1000 * MIB, 800 * MIB, 50 * US, 50 * US, 0}},
    {"nvm", "non-volatile memory: 1200 / 1000 MiB/s, no latency of its own", {1200 * MIB, 1000 * MIB, 0, 0, 0}},
    {"nfs-1g",
     "NFS over gigabit Ethernet: 110 MiB/s, 0.3 ms, 0.5 ms for names",
     {110 * MIB, 110 * MIB, 300 * US, 500 * US, 0}},
    {0},
};

const struct speed_preset *speed_preset_named(const char *name) {
    for (const struct speed_preset *preset = speed_presets; preset->name; preset++) {
        if (!strcmp(preset->name, name)) return preset;
    }
    return NULL;
}

void speed_init(struct speed *speed, const struct speed_settings *settings) {
    *speed = (struct speed){.settings = *settings, .head_file = UINT64_MAX};
    pthread_mutex_init(&speed->lock, NULL);
}

static int64_t transfer_ns(uint64_t bytes, uint64_t bandwidth) {
    return bandwidth ? (int64_t)((double)bytes * 1e9 / (double)bandwidth) : 0;
}

static int64_t later(int64_t a_ns, int64_t b_ns) { return a_ns > b_ns ? a_ns : b_ns; }

// Adds the time that the emulator has lost since all requests were due, and returns it. Time in which the clients did
// not use the storage does not count. What was owed before a long pause is forgotten.
static int64_t add_owed(struct speed *speed, const struct speed_request *request, int64_t now_ns) {
    int64_t pause_most_ns = PAUSE_NS + (int64_t)(request->bytes / PAUSE_BYTES_PER_NS);
    int64_t idle_ns = speed->under_way ? 0 : now_ns - speed->ended_ns - request->waited_ns;
    int64_t added_ns = later((idle_ns > pause_most_ns ? speed->ended_ns : now_ns) - speed->due_ns, 0);
    speed->owed_ns += added_ns;
    if (speed->owed_ns > OWED_MOST_NS) speed->owed_ns = OWED_MOST_NS;
    if (idle_ns > OWED_MOST_NS) speed->owed_ns = 0;
    return added_ns;
}

// Moves the head to the request and returns how long that takes.
static int64_t seek_ns(struct speed *speed, const struct speed_request *request) {
    bool continues = request->file == speed->head_file && request->offset == speed->head_offset;
    speed->head_file = request->file;
    speed->head_offset = request->offset + request->bytes;
    return continues ? 0 : speed->settings.seek_latency_ns;
}

static int64_t sooner(int64_t a_ns, int64_t b_ns) { return a_ns < b_ns ? a_ns : b_ns; }

// A request will be through the bandwidth at `free_ns`. Makes that earlier by what is owed, by at most `most_ns` and
// not before `ready_ns`. The limit keeps the storage from looking much faster than asked for. A request that waits only
// for its latency shows that the clients do not lack bandwidth: then nothing is owed.
static int64_t repay(struct speed *speed, int64_t free_ns, int64_t ready_ns, int64_t most_ns) {
    if (free_ns <= ready_ns) speed->owed_ns = 0;
    int64_t gain_ns = sooner(sooner(free_ns - ready_ns, speed->owed_ns), most_ns);
    if (gain_ns <= 0) return free_ns;
    speed->owed_ns -= gain_ns;
    return free_ns - gain_ns;
}

int64_t speed_admit(struct speed *speed, const struct speed_request *request, int64_t now_ns) {
    const struct speed_settings *settings = &speed->settings;
    uint64_t bandwidth = request->is_write ? settings->write_bandwidth : settings->read_bandwidth;
    int64_t *own = &speed->free_ns[request->is_write], *other = &speed->free_ns[!request->is_write];
    pthread_mutex_lock(&speed->lock);
    int64_t fresh_ns = sooner(add_owed(speed, request, now_ns), FRESH_MOST_NS);
    int64_t own_ns = transfer_ns(request->bytes, bandwidth);
    int64_t from_ns = later(now_ns, *own), ready_ns = now_ns + settings->latency_ns,
            moving_ns = seek_ns(speed, request);
    if (moving_ns) {
        from_ns = *other = later(from_ns, *other) + moving_ns;
        ready_ns = from_ns + settings->latency_ns;
    }
    *own = repay(speed, from_ns + own_ns, ready_ns, fresh_ns + own_ns / LATER_SHARE);
    int64_t done_ns = later(*own, ready_ns);
    speed->due_ns = later(speed->due_ns, done_ns);
    speed->under_way++;
    pthread_mutex_unlock(&speed->lock);
    return done_ns;
}

void speed_end(struct speed *speed, int64_t now_ns) {
    pthread_mutex_lock(&speed->lock);
    speed->under_way--;
    speed->ended_ns = later(speed->ended_ns, now_ns);
    pthread_mutex_unlock(&speed->lock);
}
