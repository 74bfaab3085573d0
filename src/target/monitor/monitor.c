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
#include "target/monitor/underlying.h"
#include "target/monitor/watch.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define FIRST_INTERVAL_NS UINT64_C(100000000)

enum { DEVICE_ROOM = 256, NUMBER_ROOM = 16 };

struct monitor {
    struct monitor_places places;
    struct watch watch; // the thread's while it runs
    struct diskstats stats;
    uint64_t start_epoch_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stopping; // guarded by the lock
};

static int look(struct monitor *monitor)
{
    FORWARD(diskstats_read(&monitor->stats, monitor->places.diskstats));
    return watch_look(&monitor->watch, clock_ns(CLOCK_MONOTONIC), &monitor->stats);
}

// False once the monitor is to stop.
static bool wait_until(struct monitor *monitor, uint64_t deadline_ns)
{
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

static void *watch_on(void *context)
{
    struct monitor *monitor = context;
    for (;;) {
        const struct watch *watch = &monitor->watch;
        uint64_t last_ns = watch->look_ns[watch->looks - 1];
        if (!wait_until(monitor, last_ns + (FIRST_INTERVAL_NS << watch->halvings))) return NULL;
        if (look(monitor) < 0) return NULL;
    }
}

// Signals are the business of those who started us.
static int start_thread(struct monitor *monitor)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&monitor->thread, NULL, watch_on, monitor);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

static void free_monitor(struct monitor *monitor)
{
    watch_free(&monitor->watch);
    diskstats_free(&monitor->stats);
    pthread_mutex_destroy(&monitor->lock);
    pthread_cond_destroy(&monitor->stopped);
    free(monitor);
}

int monitor_start(struct monitor **monitor, const struct monitor_places *places)
{
    struct monitor *made = calloc(1, sizeof *made);
    RETURN_IF(!made, -ENOMEM);
    made->places = (struct monitor_places){
        .diskstats = places && places->diskstats ? places->diskstats : "/proc/diskstats",
        .sys = places && places->sys ? places->sys : BENEATH_SYS,
        .mountinfo = places && places->mountinfo ? places->mountinfo : "/proc/self/mountinfo",
    };
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->stopped, NULL);
    made->start_epoch_ns = clock_ns(CLOCK_REALTIME);
    int code = look(made);
    if (code == 0) code = start_thread(made);
    if (code < 0) {
        free_monitor(made);
        return code;
    }
    *monitor = made;
    return 0;
}

struct file_system {
    uint64_t device;
    struct underlying beneath;
};

struct file_systems {
    struct file_system *item;
    size_t count;
};

static bool is_known(const struct file_systems *systems, uint64_t device)
{
    for (size_t i = 0; i < systems->count; i++) {
        if (systems->item[i].device == device) return true;
    }
    return false;
}

// All that are mounted, each once.
static int find_file_systems(struct file_systems *systems, const struct monitor_places *places)
{
    struct mounts mounts;
    *systems = (struct file_systems){0};
    int code = mounts_read(&mounts, places->mountinfo);
    if (code < 0) return code == -ENOMEM ? code : 0;
    systems->item = calloc(mounts.count + 1, sizeof *systems->item);
    for (size_t i = 0; systems->item && i < mounts.count; i++) {
        uint64_t device = mounts.item[i].device;
        if (is_known(systems, device)) continue;
        struct file_system *added = &systems->item[systems->count++];
        added->device = device;
        underlying_find(&added->beneath, device, &mounts, places->sys);
    }
    mounts_free(&mounts);
    return systems->item ? 0 : -ENOMEM;
}

static void put_under(struct fields_out *out, uint64_t device, const struct file_systems *systems)
{
    fields_number(out, DEVICE_UNDER, device); // also where it is mounted no more
    for (size_t i = 0; i < systems->count; i++) {
        const struct file_system *system = &systems->item[i];
        if (system->device != device && underlying_has(&system->beneath, device))
            fields_number(out, DEVICE_UNDER, system->device);
    }
}

static int put_device(const struct monitor *monitor, const struct watch_device *device, const char *host,
                      const struct file_systems *systems, struct bytes *records)
{
    struct bytes samples = {0};
    int code = watch_put_samples(&monitor->watch, device, &samples);
    size_t room = DEVICE_ROOM + strlen(host) + samples.len + NUMBER_ROOM * systems->count;
    uint8_t *at = code < 0 ? NULL : bytes_reserve(records, room);
    if (at) {
        struct fields_out out = {.at = at, .end = at + room};
        fields_begin(&out, RECORD_DEVICE);
        fields_string(&out, DEVICE_NAME, device->name);
        fields_number(&out, DEVICE_NUMBER, device->device);
        fields_string(&out, DEVICE_HOST, host);
        fields_number(&out, DEVICE_MONO_NS, monitor->watch.look_ns[0]);
        fields_number(&out, DEVICE_EPOCH_NS, monitor->start_epoch_ns);
        put_under(&out, device->device, systems);
        fields_bytes(&out, DEVICE_SAMPLES, samples.data, samples.len);
        fields_end(&out);
        records->len += (size_t)(out.at - at);
    }
    bytes_free(&samples);
    return at ? 0 : -ENOMEM;
}

static int put_devices(const struct monitor *monitor, const char *host, struct bytes *records)
{
    struct file_systems systems;
    int code = find_file_systems(&systems, &monitor->places);
    for (size_t i = 0; i < monitor->watch.devices && code == 0; i++) {
        const struct watch_device *device = &monitor->watch.device[i];
        if (device->history) code = put_device(monitor, device, host, &systems, records);
    }
    free(systems.item);
    return code;
}

int monitor_stop(struct monitor *monitor, const char *host, struct bytes *records)
{
    pthread_mutex_lock(&monitor->lock);
    monitor->stopping = true;
    pthread_cond_signal(&monitor->stopped);
    pthread_mutex_unlock(&monitor->lock);
    pthread_join(monitor->thread, NULL);
    int code = look(monitor);
    if (code == 0) code = put_devices(monitor, host, records);
    free_monitor(monitor);
    return code;
}
