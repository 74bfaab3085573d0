// How far a run has come, from the spill files of its processes (live/live.h).
#pragma once

#include "base/json_out.h"
#include "live/live.h"

enum { LAB_SAMPLES = 400, LAB_PHASES = 200 };

// Sums at a moment: rates between any two of them can be computed, so samples can be left out.
struct lab_sample {
    double at; // seconds since the begin
    uint64_t bytes[2], calls;
};

// A stretch of time in which bytes went in one direction, or in both by turns, in one file or in several. This is what
// can be seen from outside while a program runs; the phases of a model are found in its log.
struct lab_phase {
    double from, to;
    uint64_t bytes[2]; // read, written
    double last[2];    // when these moved
    uint32_t file;     // index in `live`
    bool is_several;   // files
    char *name;        // of the file
};

struct lab_progress {
    struct live live; // for the thread that looks; all else is under the lab's lock
    bool is_open;
    int64_t begun_ns; // CLOCK_MONOTONIC
    double seconds;
    struct live_sums sums;
    uint64_t running, ended; // processes
    uint64_t unseen;
    bool is_over; // all its processes have ended
    struct lab_sample sample[LAB_SAMPLES];
    size_t samples, skip, skipped; // one of skip + 1 looks is a sample
    struct lab_phase phase[LAB_PHASES];
    size_t phases;
    uint64_t phases_before; // that are left out
    bool is_in_phase;       // the last one goes on
};

// Finds the spill files of a `record`, once they are there, and reads what is new. Not under the lock.
int lab_progress_look(struct lab_progress *progress, pid_t record);
// Takes what was read into what is shown. Under the lock.
void lab_progress_take(struct lab_progress *progress);
void lab_progress_json(const struct lab_progress *progress, struct json_out *json);
// Ends looking; what is shown stays.
void lab_progress_close(struct lab_progress *progress);
void lab_progress_free(struct lab_progress *progress);
