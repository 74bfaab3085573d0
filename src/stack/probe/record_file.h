// SPDX-License-Identifier: LGPL-3.0-or-later
// The file of a probe (fmt/probe.h), as its probe writes it, from several threads at once. A place is claimed by one
// atomic addition. The segments with calls that are not over are mapped; their space on the disk is allocated before,
// so that a full disk costs records and not the process.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fmt/probe.h"

enum { RECORD_FILE_SLOTS = 1024 };

// What a probe keeps of a call until it is over: one for each record, in memory that comes and goes with the segment.
struct record_note {
    struct probe *probe;
    void (*back)(void); // to whom the answer goes when the probe has seen it, and what comes with it
    void *cookie;
    bool is_on_copy; // of the call stack
};

struct record_file {
    struct probe_header *header;
    struct probe_record *window; // address space: segment n is at n modulo RECORD_FILE_SLOTS
    struct record_note *notes;   // of the records in the window
    int fd;
    pthread_mutex_t lock; // for all below that is not atomic
    struct record_slot {
        _Atomic uint64_t mapped; // 1 + number of the segment whose records can be written; 0: none
        _Atomic uint32_t over;   // of its records
        uint64_t owner;          // 1 + number of the segment that the slot is for; 0: free
        uint64_t refused;        // 1 + number of a segment that found the slot in use
        uint64_t tried_ns;       // when there was no room last
    } slot[RECORD_FILE_SLOTS];
};

uint64_t record_file_now_ns(void); // CLOCK_MONOTONIC

// Opens or creates the file at `path`. `wanted` has number, server and layer. A file of the same probe is continued
// with its next segment: its server was started again. Returns 0 or a negative errno value.
int record_file_open(struct record_file *file, const char *path, const struct probe_header *wanted);
void record_file_close(struct record_file *file);

static inline struct record_note *record_file_note(const struct record_file *file, const struct probe_record *record) {
    return file->notes + (record - file->window);
}

static inline struct probe_record *record_file_noted(const struct record_file *file, const struct record_note *note) {
    return file->window + (note - file->notes);
}

// A record full of zeros; null if there is no room, which the header counts.
struct probe_record *record_file_claim(struct record_file *file);

// Of a record that is not over.
uint64_t record_file_id(const struct record_file *file, const struct probe_record *record);

// The record is complete but for its end. It and its note must not be used any more.
void record_file_end(struct record_file *file, struct probe_record *record, uint64_t end_ns);
