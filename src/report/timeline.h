// What the threads did when, in as few pieces as a picture needs: calls that are longer than a pixel stand alone, the
// others of a pixel are put together. Where there are few calls all of them stand alone.
#pragma once

#include "base/json_out.h"
#include "log/event.h"

enum {
    TIMELINE_BINS = 800,
    TIMELINE_MAX_LANES = 256,
    TIMELINE_CELLS = 5000, // pixels of all lanes together, unless the width is given
    TIMELINE_ALONE = 6000, // calls up to which all stand alone
};

// One call, or several of one pixel.
struct timeline_span {
    int64_t start_ns;
    int64_t end_ns;
    int64_t best_ns; // of the longest call, which the four below are of
    uint64_t event;
    uint32_t call; // as in the log
    uint32_t file; // place in the log's table, UINT32_MAX for none
    uint32_t lane;
    uint8_t class;
    uint64_t calls;
    uint64_t bytes;
};

struct timeline_lane {
    const struct log_process *process;
    uint32_t tid;
    int64_t busy_ns;
    struct timeline_span *cell; // [columns]
};

struct timeline_spans {
    struct timeline_span *span;
    size_t count;
};

struct timeline {
    const struct log *log;
    int64_t from_ns;
    int64_t to_ns;
    size_t columns;
    int64_t column_ns; // how long one is
    double bin_ns;
    struct timeline_lane *lane;
    size_t lanes;
    uint32_t *lane_of; // by the thread's number in the log: place in `lane`, or one of those below
    size_t lane_of_count;
    uint64_t lanes_left_out;
    bool *process_shown; // by place in the log's table
    struct timeline_spans longer;
    struct timeline_spans alone;
    bool too_many;    // for all to stand alone
    bool from_index;  // blocks were not read
    double *bytes[2]; // [TIMELINE_BINS], read and written
};

struct timeline_window {
    int64_t from_ns;
    int64_t to_ns;
    size_t columns; // 0: as many as TIMELINE_CELLS allows
};

int timeline_init(struct timeline *timeline, const struct log *log, const struct timeline_window *window);
// Adds an event; they must come in the order of their starts.
int timeline_add(struct timeline *timeline, const struct log_event *event);
// As the log's index has it: nothing is read.
int timeline_from_index(struct timeline *timeline, struct log *log);
// Reads what the window shows: blocks that are narrower than a pixel by their sums only, where there are too many.
int timeline_read(struct timeline *timeline, struct log *log);
void timeline_free(struct timeline *timeline);

// An object. `most` spans at most; names of files take at most `name_bytes`.
int timeline_json(struct timeline *timeline, struct json_out *json, size_t most, size_t name_bytes);

// The time that the log is about.
struct timeline_window timeline_whole(const struct log *log);
