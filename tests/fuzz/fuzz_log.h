// Opens a log and reads everything in it.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "log/communication.h"
#include "log/iter.h"
#include "log/log.h"
#include "log/stats.h"

enum { FUZZ_MAX_EVENTS = 100000 }; // a small block can hold very many; this bounds the time of a run

static inline int fuzz_take_record(const struct log_stats_record *record, void *context) {
    struct counters_value values[COUNTERS_MAX_VALUES];
    const struct counters_module module = log_stats_module(context, record);
    counters_list(&record->counters, &module, values);
    return 0;
}

static inline int fuzz_take_comm(const struct log_comm *comm, void *context) {
    (void)context;
    fuzz_touch((const uint8_t *)comm, sizeof *comm);
    return 0;
}

static inline void fuzz_read_stats(struct log *log) { log_stats(log, NULL, fuzz_take_record, log); }

static inline void fuzz_read_events(struct log *log) {
    struct log_filter everything = {.below = true};
    struct log_iter *iter;
    const struct log_event *event;
    if (log_iter_open(&iter, log, &everything) != 0) return;
    for (int i = 0; i < FUZZ_MAX_EVENTS && log_iter_next(iter, &event) == 1; i++) {
        fuzz_touch((const uint8_t *)&event->raw.attribute_mask, sizeof event->raw.attribute_mask);
    }
    log_iter_close(iter);
}

static inline void fuzz_read_datatypes(struct log *log) {
    for (size_t i = 0; i < log_datatype_count(log); i++) {
        const struct datatype *flat;
        if (log_datatype_flat(log, log_datatype_at(log, i), &flat) != 0) abort();
        fuzz_touch((const uint8_t *)flat->item, flat->items * sizeof *flat->item);
    }
    for (size_t i = 0; i < log_hints_count(log); i++) {
        const struct log_hint_list *list = &log_hints_at(log, i)->in_force;
        for (size_t j = 0; j < list->count; j++) fuzz_touch((const uint8_t *)list->hint[j].value, 1);
    }
}

// All sums were checked when the log was opened.
static inline void fuzz_read_devices(const struct log *log) {
    for (size_t i = 0; i < log_device_count(log); i++) {
        struct device_samples_in samples = log_device_at(log, i)->samples;
        struct device_sample sample, sum = {0};
        while (device_samples_next(&samples, &sample) > 0) {
            if (device_sample_add(&sum, &sample) < 0) abort();
        }
        if (memcmp(&sum, &log_device_at(log, i)->sum, sizeof sum) != 0) abort();
    }
}

static inline void fuzz_read_log(const uint8_t *data, size_t len) {
    struct log *log;
    char name[64];
    int fd = fuzz_file(data, len);
    if (fd < 0) return;
    fuzz_file_name(name, fd);
    if (log_open(&log, name) != 0) return;
    fuzz_read_datatypes(log);
    fuzz_read_devices(log);
    fuzz_read_events(log);
    fuzz_read_stats(log);
    log_reduce(log, NULL, false, fuzz_take_record, log);
    log_comm(log, NULL, fuzz_take_comm, NULL);
    log_close(log);
}
