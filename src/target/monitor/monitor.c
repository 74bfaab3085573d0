#include "target/monitor/monitor.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "fmt/fields.h"
#include "fmt/records.h"
#include "target/monitor/history.h"
#include "target/monitor/underlying.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define FIRST_INTERVAL_NS UINT64_C(100000000)

enum { DEVICE_ROOM = 256, NUMBER_ROOM = 16 };

struct monitor {
    struct monitor_places places;
    struct history history; // belongs to the thread while it runs
    struct diskstats stats;
    uint64_t start_epoch_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stopping; // guarded by the lock
};

static int add_reading(struct monitor *monitor) {
    FORWARD(diskstats_read(&monitor->stats, monitor->places.diskstats));
    return history_add(&monitor->history, clock_ns(CLOCK_MONOTONIC), &monitor->stats);
}

// Returns false when the monitor must stop.
static bool wait_until(struct monitor *monitor, uint64_t deadline_ns) {
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / NS_PER_SECOND),
                                .tv_nsec = (long)(deadline_ns % NS_PER_SECOND)};
    int code = 0;
    pthread_mutex_lock(&monitor->lock);
    while (!monitor->stopping && code != ETIMEDOUT)
        code = pthread_cond_clockwait(&monitor->stopped, &monitor->lock, CLOCK_MONOTONIC, &deadline);
    bool go_on = !monitor->stopping;
    pthread_mutex_unlock(&monitor->lock);
    return go_on;
}

static void *poll_devices(void *context) {
    struct monitor *monitor = context;
    for (;;) {
        const struct history *history = &monitor->history;
        uint64_t last_ns = history->read_ns[history->readings - 1];
        if (!wait_until(monitor, last_ns + (FIRST_INTERVAL_NS << history->halvings))) return NULL;
        if (add_reading(monitor) < 0) return NULL;
    }
}

// The thread takes no signals: they are for the program that started the monitor.
static int start_thread(struct monitor *monitor) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&monitor->thread, NULL, poll_devices, monitor);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

static void free_monitor(struct monitor *monitor) {
    history_free(&monitor->history);
    diskstats_free(&monitor->stats);
    pthread_mutex_destroy(&monitor->lock);
    pthread_cond_destroy(&monitor->stopped);
    free(monitor);
}

int monitor_start(struct monitor **monitor, const struct monitor_places *places) {
    struct monitor *made = calloc(1, sizeof *made);
    RETURN_IF(!made, -ENOMEM);
    made->places = (struct monitor_places){
        .diskstats = places && places->diskstats ? places->diskstats : "/proc/diskstats",
        .sys = places && places->sys ? places->sys : UNDERLYING_SYS,
        .mountinfo = places && places->mountinfo ? places->mountinfo : "/proc/self/mountinfo",
    };
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->stopped, NULL);
    made->start_epoch_ns = clock_ns(CLOCK_REALTIME);
    int code = add_reading(made);
    if (code == 0) code = start_thread(made);
    if (code < 0) {
        free_monitor(made);
        return code;
    }
    *monitor = made;
    return 0;
}

struct file_systems {
    struct underlying *item; // each begins with the file system's own device
    size_t count;
};

static bool is_listed(const struct file_systems *systems, uint64_t device) {
    for (size_t i = 0; i < systems->count; i++) {
        if (systems->item[i].device[0] == device) return true;
    }
    return false;
}

// Lists every mounted file system once.
static int list_file_systems(struct file_systems *systems, const struct monitor_places *places) {
    struct mounts mounts;
    *systems = (struct file_systems){0};
    int code = mounts_read(&mounts, places->mountinfo);
    if (code < 0) return code == -ENOMEM ? code : 0;
    systems->item = calloc(mounts.count + 1, sizeof *systems->item);
    for (size_t i = 0; systems->item && i < mounts.count; i++) {
        uint64_t device = mounts.item[i].device;
        if (is_listed(systems, device)) continue;
        underlying_list(&systems->item[systems->count++], device, &mounts, places->sys);
    }
    mounts_free(&mounts);
    return systems->item ? 0 : -ENOMEM;
}

static void put_under(struct fields_out *out, uint64_t device, const struct file_systems *systems) {
    fields_number(out, DEVICE_UNDER, device); // even if it is no longer mounted
    for (size_t i = 0; i < systems->count; i++) {
        uint64_t system = systems->item[i].device[0];
        if (system != device && underlying_has(&systems->item[i], device)) fields_number(out, DEVICE_UNDER, system);
    }
}

static int put_device(const struct monitor *monitor, const struct history_device *device, const char *host,
                      const struct file_systems *systems, struct bytes *records) {
    struct bytes samples = {0};
    int code = history_put_samples(&monitor->history, device, &samples);
    size_t room = DEVICE_ROOM + strlen(host) + samples.len + NUMBER_ROOM * systems->count;
    uint8_t *at = code < 0 ? NULL : bytes_reserve(records, room);
    if (at) {
        struct fields_out out = {.at = at, .end = at + room};
        fields_begin(&out, RECORD_DEVICE);
        fields_string(&out, DEVICE_NAME, device->name);
        fields_number(&out, DEVICE_NUMBER, device->device);
        fields_string(&out, DEVICE_HOST, host);
        fields_number(&out, DEVICE_MONO_NS, monitor->history.read_ns[0]);
        fields_number(&out, DEVICE_EPOCH_NS, monitor->start_epoch_ns);
        put_under(&out, device->device, systems);
        fields_bytes(&out, DEVICE_SAMPLES, samples.data, samples.len);
        fields_end(&out);
        records->len += (size_t)(out.at - at);
    }
    bytes_free(&samples);
    return at ? 0 : -ENOMEM;
}

static int put_devices(const struct monitor *monitor, const char *host, struct bytes *records) {
    struct file_systems systems;
    int code = list_file_systems(&systems, &monitor->places);
    for (size_t i = 0; i < monitor->history.devices && code == 0; i++) {
        const struct history_device *device = &monitor->history.device[i];
        if (device->totals) code = put_device(monitor, device, host, &systems, records);
    }
    free(systems.item);
    return code;
}

int monitor_stop(struct monitor *monitor, const char *host, struct bytes *records) {
    pthread_mutex_lock(&monitor->lock);
    monitor->stopping = true;
    pthread_cond_signal(&monitor->stopped);
    pthread_mutex_unlock(&monitor->lock);
    pthread_join(monitor->thread, NULL);
    int code = add_reading(monitor);
    if (code == 0) code = put_devices(monitor, host, records);
    free_monitor(monitor);
    return code;
}
