#include "target/emulate/speed.h"

#include <string.h>

enum {
    OWED_MOST_NS = 100000000,
    FRESH_MOST_NS = 5000000, // of what is owed is made good by the next request
    LATER_SHARE = 4,         // of a request's time, one in so many, goes for what is owed from before
    // Between two requests of a stream at most; after a longer pause the storage was left alone.
    PAUSE_NS = 200000,
    PAUSE_BYTES_PER_NS = 4, // more for clients that copy their data
};

#define MIB (UINT64_C(1) << 20)
#define US INT64_C(1000)

// Bandwidths and latencies as such devices show them to one application, as far as FUSE can show them: doc/targets.md.
const struct device_preset device_presets[] = {
    {"hdd", "a disk: 150 / 140 MiB/s, 0.2 ms, 8 ms to seek", {150 * MIB, 140 * MIB, 200 * US, 200 * US, 8000 * US}},
    {"ssd", "SATA flash: 500 / 450 MiB/s, 0.1 ms", {500 * MIB, 450 * MIB, 100 * US, 100 * US, 0}},
    {"nvme", "NVMe flash: 1000 / 800 MiB/s, 50 us", {1000 * MIB, 800 * MIB, 50 * US, 50 * US, 0}},
    {"nvm", "non-volatile memory: 1200 / 1000 MiB/s, no latency of its own", {1200 * MIB, 1000 * MIB, 0, 0, 0}},
    {"nfs-1g",
     "NFS over gigabit Ethernet: 110 MiB/s, 0.3 ms, 0.5 ms for names",
     {110 * MIB, 110 * MIB, 300 * US, 500 * US, 0}},
    {0},
};

const struct device_preset *device_preset_find(const char *name)
{
    for (const struct device_preset *preset = device_presets; preset->name; preset++) {
        if (!strcmp(preset->name, name)) return preset;
    }
    return NULL;
}

void device_init(struct device *device, const struct device_settings *settings)
{
    *device = (struct device){.settings = *settings, .head_file = UINT64_MAX};
    pthread_mutex_init(&device->lock, NULL);
}

static int64_t transfer_ns(uint64_t bytes, uint64_t bandwidth)
{
    return bandwidth ? (int64_t)((double)bytes * 1e9 / (double)bandwidth) : 0;
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

// Adds the time since all was due, as far as it was not the clients who did without the storage; returns it. What was
// owed before a long rest is forgotten.
static int64_t owe(struct device *device, const struct device_request *request, int64_t now_ns)
{
    int64_t pause_ns = PAUSE_NS + (int64_t)(request->bytes / PAUSE_BYTES_PER_NS);
    int64_t rest_ns = device->under_way ? 0 : now_ns - device->ended_ns - request->waited_ns;
    int64_t added_ns = later((rest_ns > pause_ns ? device->ended_ns : now_ns) - device->due_ns, 0);
    device->owed_ns += added_ns;
    if (device->owed_ns > OWED_MOST_NS) device->owed_ns = OWED_MOST_NS;
    if (rest_ns > OWED_MOST_NS) device->owed_ns = 0;
    return added_ns;
}

// How long the head needs to get to the request, which moves it.
static int64_t seek_ns(struct device *device, const struct device_request *request)
{
    bool goes_on = request->file == device->head_file && request->offset == device->head_offset;
    device->head_file = request->file;
    device->head_offset = request->offset + request->bytes;
    return goes_on ? 0 : device->settings.seek_latency_ns;
}

static int64_t sooner(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

// Makes a request that will be through the bandwidth at `free_ns` earlier by what is owed, but not than `ready_ns`: by
// what has just come to be owed, and by a little of what was before, so that nobody sees storage that is much faster
// than was asked for. A request that waits for its latency alone shows that the clients do not want for bandwidth:
// nothing is owed then.
static int64_t make_good(struct device *device, int64_t free_ns, int64_t ready_ns, int64_t most_ns)
{
    if (free_ns <= ready_ns) device->owed_ns = 0;
    int64_t gain_ns = sooner(sooner(free_ns - ready_ns, device->owed_ns), most_ns);
    if (gain_ns <= 0) return free_ns;
    device->owed_ns -= gain_ns;
    return free_ns - gain_ns;
}

int64_t device_admit(struct device *device, const struct device_request *request, int64_t now_ns)
{
    const struct device_settings *settings = &device->settings;
    uint64_t bandwidth = request->is_write ? settings->write_bandwidth : settings->read_bandwidth;
    int64_t *own = &device->free_ns[request->is_write], *other = &device->free_ns[!request->is_write];
    pthread_mutex_lock(&device->lock);
    int64_t fresh_ns = sooner(owe(device, request, now_ns), FRESH_MOST_NS);
    int64_t own_ns = transfer_ns(request->bytes, bandwidth);
    int64_t from_ns = later(now_ns, *own), ready_ns = now_ns + settings->latency_ns, way_ns = seek_ns(device, request);
    if (way_ns) {
        from_ns = *other = later(from_ns, *other) + way_ns;
        ready_ns = from_ns + settings->latency_ns;
    }
    *own = make_good(device, from_ns + own_ns, ready_ns, fresh_ns + own_ns / LATER_SHARE);
    int64_t done_ns = later(*own, ready_ns);
    device->due_ns = later(device->due_ns, done_ns);
    device->under_way++;
    pthread_mutex_unlock(&device->lock);
    return done_ns;
}

void device_end(struct device *device, int64_t now_ns)
{
    pthread_mutex_lock(&device->lock);
    device->under_way--;
    device->ended_ns = later(device->ended_ns, now_ns);
    pthread_mutex_unlock(&device->lock);
}
