// What the threads did over time, in as few spans as a picture needs: a call longer than a pixel is a span, the others
// of a pixel become one. If there are few calls, each is a span.
#pragma once

#include "base/json_out.h"
#include "log/event.h"

enum {
    TIMELINE_BINS = 800,
    TIMELINE_MAX_ROWS = 256,
    TIMELINE_CELLS = 5000, // pixels of all threads together, unless the width is given
    TIMELINE_ALONE = 6000, // up to this number of calls, each is a span
    TIMELINE_LONGEST = 24,
};

enum timeline_source {
    TIMELINE_EVENTS,
    TIMELINE_INDEX,    // of the log: no blocks were read
    TIMELINE_HEAT_MAP, // of a log without events that another program made: bytes only
    TIMELINE_NOTHING,  // such a log without heat maps: not known
    TIMELINE_SOURCES
};

// One call, or several in one pixel.
struct timeline_span {
    int64_t start_ns;
    int64_t end_ns;
    int64_t best_ns; // of the longest call; the next four members belong to it
    uint64_t event;
    uint32_t call; // as in the log
    uint32_t file; // index in the log's table; UINT32_MAX: none
    uint32_t row;
    uint8_t class;
    uint64_t calls;
    uint64_t bytes;
};

struct timeline_row {
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
    int64_t column_ns; // duration of a pixel
    double bin_ns;
    struct timeline_row *row;
    size_t rows;
    uint32_t *row_of; // by the thread's number in the log: index in `row`, or one of the values below
    size_t row_of_count;
    uint64_t rows_left_out;
    bool *process_shown; // by index in the log's table
    struct timeline_spans longer;
    struct timeline_spans alone;
    struct timeline_span longest[TIMELINE_LONGEST]; // calls, the longest first; of equal ones the earliest
    size_t longest_count;
    bool too_many; // for each call to be a span
    enum timeline_source source;
    double *bytes[2]; // [TIMELINE_BINS], read and written
    double *others;   // [TIMELINE_BINS], calls of the program that move no data, by their start
};

struct timeline_window {
    int64_t from_ns;
    int64_t to_ns;
    size_t columns; // 0: as many as TIMELINE_CELLS allows
};

int timeline_init(struct timeline *timeline, const struct log *log, const struct timeline_window *window);
// Adds an event. Events must come in the order of their starts.
int timeline_add(struct timeline *timeline, const struct log_event *event);
void timeline_add_bytes(struct timeline *timeline, unsigned direction, int64_t start_ns, int64_t end_ns,
                        uint64_t bytes);
// Of a log without events that another program made: what its heat maps say. Does nothing for other logs.
int timeline_add_heat(struct timeline *timeline, struct log *log);
// From the log's index: reads no events.
int timeline_from_index(struct timeline *timeline, struct log *log);
// Reads the window. If it has too many calls, blocks narrower than a pixel are drawn from their sums in the index.
int timeline_read(struct timeline *timeline, struct log *log);
void timeline_free(struct timeline *timeline);

// Writes an object with at most `most` spans and `name_bytes` bytes of file names.
int timeline_json(struct timeline *timeline, struct json_out *json, size_t most, size_t name_bytes);

// The time span of the log.
struct timeline_window timeline_whole(const struct log *log);
