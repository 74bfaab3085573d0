#include "target/monitor/history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/err.h"

// "8 0 sda reads merged sectors ms writes merged sectors ms in-flight busy-ms queue-ms …"
static bool parse_line(const char *line, struct diskstats_row *row) {
    unsigned major_number, minor_number;
    uint64_t *count = row->count;
    int parsed = sscanf(
        line, "%u %u %31s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64,
        &major_number, &minor_number, row->name, &count[DEVICE_READS], &count[DEVICE_SECTORS_READ],
        &count[DEVICE_WRITES], &count[DEVICE_SECTORS_WRITTEN], &count[DEVICE_BUSY_MS], &count[DEVICE_QUEUE_MS]);
    if (parsed != 3 + DEVICE_COUNTERS) return false;
    row->device = makedev(major_number, minor_number);
    return true;
}

int diskstats_read(struct diskstats *stats, const char *path) {
    stats->count = 0;
    FILE *file = fopen(path, "re");
    RETURN_IF(!file, -errno);
    char line[512];
    int code = 0;
    while (code == 0 && fgets(line, sizeof line, file)) {
        code = array_room(stats->row, stats->count);
        if (code == 0 && parse_line(line, &stats->row[stats->count])) stats->count++;
    }
    fclose(file);
    return code;
}

void diskstats_free(struct diskstats *stats) {
    free(stats->row);
    *stats = (struct diskstats){0};
}

// The kernel lists devices in an order that hardly changes, so the search starts at the same place.
static struct history_device *device_of(const struct history *history, const struct diskstats_row *row, size_t place) {
    for (size_t i = 0; i < history->devices; i++) {
        struct history_device *device = &history->device[(place + i) % history->devices];
        if (device->device == row->device && strcmp(device->name, row->name) == 0) return device;
    }
    return NULL;
}

static int add_device(struct history *history, const struct diskstats_row *row) {
    FORWARD(array_room(history->device, history->devices));
    struct history_device *device = &history->device[history->devices++];
    *device = (struct history_device){.device = row->device};
    memcpy(device->name, row->name, sizeof device->name);
    memcpy(device->last, row->count, sizeof device->last);
    return 0;
}

// Returns whether a counter changed since the last reading. A counter that went back has restarted from 0.
static bool add_to_total(struct history_device *device, const uint64_t now[DEVICE_COUNTERS]) {
    bool changed = false;
    for (unsigned i = 0; i < DEVICE_COUNTERS; i++) {
        uint64_t step = now[i] >= device->last[i] ? now[i] - device->last[i] : now[i];
        device->total[i] += step;
        device->last[i] = now[i];
        changed |= step != 0;
    }
    return changed;
}

static void drop_every_second(struct history *history) {
    history->readings = (history->readings + 1) / 2;
    history->halvings++;
    for (size_t i = 0; i < history->readings; i++) history->read_ns[i] = history->read_ns[2 * i];
    for (size_t i = 0; i < history->devices; i++) {
        uint64_t(*totals)[DEVICE_COUNTERS] = history->device[i].totals;
        for (size_t j = 0; totals && j < history->readings; j++) memcpy(totals[j], totals[2 * j], sizeof *totals);
    }
}

int history_add(struct history *history, uint64_t now_ns, const struct diskstats *stats) {
    if (history->readings == HISTORY_MAX_READINGS) drop_every_second(history);
    for (size_t i = 0; i < stats->count; i++) {
        struct history_device *device = device_of(history, &stats->row[i], i);
        if (!device) {
            FORWARD(add_device(history, &stats->row[i]));
        } else if (add_to_total(device, stats->row[i].count) && !device->totals) {
            device->totals = calloc(HISTORY_MAX_READINGS, sizeof *device->totals); // 0 at all readings so far
            RETURN_IF(!device->totals, -ENOMEM);
        }
    }
    history->read_ns[history->readings] = now_ns;
    for (size_t i = 0; i < history->devices; i++) {
        struct history_device *device = &history->device[i];
        if (device->totals) memcpy(device->totals[history->readings], device->total, sizeof device->total);
    }
    history->readings++;
    return 0;
}

int history_put_samples(const struct history *history, const struct history_device *device, struct bytes *out) {
    for (size_t i = 1; i < history->readings; i++) {
        struct device_sample sample = {.span_ns = history->read_ns[i] - history->read_ns[i - 1]};
        for (unsigned j = 0; j < DEVICE_COUNTERS; j++)
            sample.count[j] = device->totals[i][j] - device->totals[i - 1][j];
        uint8_t *at = bytes_reserve(out, DEVICE_SAMPLE_MAX_BYTES);
        RETURN_IF(!at, -ENOMEM);
        out->len += (size_t)(device_sample_put(at, &sample) - at);
    }
    return 0;
}

void history_free(struct history *history) {
    for (size_t i = 0; i < history->devices; i++) free(history->device[i].totals);
    free(history->device);
    *history = (struct history){0};
}
