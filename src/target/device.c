#include "target/device.h"

#include <string.h>

enum {
    CREDIT_NS = 100000000, // that a stream can be behind its bandwidth and still make good
    PAUSE_NS = 1000000,    // between two requests of one stream at most; longer, and the storage was left alone
};

#define MIB (UINT64_C(1) << 20)
#define US INT64_C(1000)

// Bandwidths and latencies as such devices show them to one application. What a request costs in FUSE itself, some 15
// to 40 microseconds, is the floor under every latency here, and about 1.5 GiB/s the ceiling of every bandwidth.
const struct device_preset device_presets[] = {
    {"hdd", "a disk: 150 MiB/s, 0.2 ms and 8 ms to seek", {150 * MIB, 140 * MIB, 200 * US, 200 * US, 8000 * US}},
    {"ssd", "a SATA flash disk: 500 / 450 MiB/s, 0.1 ms", {500 * MIB, 450 * MIB, 100 * US, 100 * US, 0}},
    {"nvme", "NVMe flash: 1200 / 1000 MiB/s, 50 us", {1200 * MIB, 1000 * MIB, 50 * US, 50 * US, 0}},
    {"nvm", "non-volatile memory: 1400 / 1200 MiB/s, no latency of its own", {1400 * MIB, 1200 * MIB, 0, 0, 0}},
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

// Nanoseconds behind now at which the bandwidth may still be claimed.
static int64_t credit_ns(const struct device *device, unsigned direction, int64_t now_ns)
{
    bool left_alone = !device->under_way && now_ns - device->left_alone_ns > PAUSE_NS;
    return left_alone || !device->saturated[direction] ? 0 : CREDIT_NS;
}

int64_t device_admit(struct device *device, const struct device_request *request, int64_t now_ns)
{
    const struct device_settings *settings = &device->settings;
    unsigned direction = request->is_write;
    pthread_mutex_lock(&device->lock);
    bool goes_on = request->file == device->head_file && request->offset == device->head_offset;
    int64_t latency_ns = settings->latency_ns + (goes_on ? 0 : settings->seek_latency_ns);
    int64_t from_ns = now_ns - credit_ns(device, direction, now_ns);
    if (from_ns < device->free_ns[direction]) from_ns = device->free_ns[direction];
    int64_t free_ns =
        from_ns + transfer_ns(request->bytes, direction ? settings->write_bandwidth : settings->read_bandwidth);
    bool saturated = free_ns >= now_ns + latency_ns;
    device->free_ns[direction] = free_ns;
    device->saturated[direction] = saturated;
    device->head_file = request->file;
    device->head_offset = request->offset + request->bytes;
    device->under_way++;
    pthread_mutex_unlock(&device->lock);
    return saturated ? free_ns : now_ns + latency_ns;
}

void device_end(struct device *device, int64_t now_ns)
{
    pthread_mutex_lock(&device->lock);
    device->under_way--;
    device->left_alone_ns = now_ns;
    pthread_mutex_unlock(&device->lock);
}
