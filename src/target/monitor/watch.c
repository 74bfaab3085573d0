#include "target/monitor/watch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"

// The kernel lists devices in an order that hardly changes: the one that is looked for mostly is at the same place.
static struct watch_device *find(const struct watch *watch, const struct diskstats_row *row, size_t place)
{
    for (size_t i = 0; i < watch->devices; i++) {
        struct watch_device *device = &watch->device[(place + i) % watch->devices];
        if (device->device == row->device && strcmp(device->name, row->name) == 0) return device;
    }
    return NULL;
}

static int add(struct watch *watch, const struct diskstats_row *row)
{
    FORWARD(grow(&watch->device, &watch->capacity, watch->devices, sizeof *watch->device));
    struct watch_device *device = &watch->device[watch->devices++];
    *device = (struct watch_device){.device = row->device};
    memcpy(device->name, row->name, sizeof device->name);
    memcpy(device->last, row->count, sizeof device->last);
    return 0;
}

// Whether anything has happened since the look before. A counter that went back began anew.
static bool count_on(struct watch_device *device, const uint64_t now[DEVICE_COUNTERS])
{
    bool moved = false;
    for (unsigned i = 0; i < DEVICE_COUNTERS; i++) {
        uint64_t step = now[i] >= device->last[i] ? now[i] - device->last[i] : now[i];
        device->total[i] += step;
        device->last[i] = now[i];
        moved |= step != 0;
    }
    return moved;
}

// All looks so far saw nothing.
static int begin_history(struct watch_device *device)
{
    device->history = calloc(WATCH_MAX_LOOKS, sizeof *device->history);
    return device->history ? 0 : -ENOMEM;
}

static void forget_every_second(struct watch *watch)
{
    watch->looks = (watch->looks + 1) / 2;
    watch->halvings++;
    for (size_t i = 0; i < watch->looks; i++) watch->look_ns[i] = watch->look_ns[2 * i];
    for (size_t i = 0; i < watch->devices; i++) {
        uint64_t(*history)[DEVICE_COUNTERS] = watch->device[i].history;
        for (size_t j = 0; history && j < watch->looks; j++) memcpy(history[j], history[2 * j], sizeof *history);
    }
}

int watch_look(struct watch *watch, uint64_t now_ns, const struct diskstats *stats)
{
    if (watch->looks == WATCH_MAX_LOOKS) forget_every_second(watch);
    for (size_t i = 0; i < stats->count; i++) {
        struct watch_device *device = find(watch, &stats->row[i], i);
        if (!device) {
            FORWARD(add(watch, &stats->row[i]));
        } else if (count_on(device, stats->row[i].count) && !device->history) {
            FORWARD(begin_history(device));
        }
    }
    watch->look_ns[watch->looks] = now_ns;
    for (size_t i = 0; i < watch->devices; i++) {
        struct watch_device *device = &watch->device[i];
        if (device->history) memcpy(device->history[watch->looks], device->total, sizeof device->total);
    }
    watch->looks++;
    return 0;
}

int watch_put_samples(const struct watch *watch, const struct watch_device *device, struct bytes *out)
{
    for (size_t i = 1; i < watch->looks; i++) {
        struct device_sample sample = {.span_ns = watch->look_ns[i] - watch->look_ns[i - 1]};
        for (unsigned j = 0; j < DEVICE_COUNTERS; j++)
            sample.count[j] = device->history[i][j] - device->history[i - 1][j];
        uint8_t *at = bytes_reserve(out, DEVICE_SAMPLE_MAX_BYTES);
        RETURN_IF(!at, -ENOMEM);
        out->len += (size_t)(device_sample_put(at, &sample) - at);
    }
    return 0;
}

void watch_free(struct watch *watch)
{
    for (size_t i = 0; i < watch->devices; i++) free(watch->device[i].history);
    free(watch->device);
    *watch = (struct watch){0};
}
