// The logs that `ioseer view` shows. A thread reads them one after the other; what is asked for meanwhile comes from
// their indexes. All answers are JSON in memory of malloc.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct view_logs;

struct view_answer {
    char *text;
    size_t len;
};

// Opens them all. Prints what is wrong; returns an exit status.
int view_logs_open(struct view_logs **logs, int count, char **paths);
// Begins to read. 0 or -errno.
int view_logs_start(struct view_logs *logs);

size_t view_logs_count(const struct view_logs *logs);
// {"logs": ["name", ...]}
int view_logs_names(const struct view_logs *logs, struct view_answer *answer);

// These may be called by any thread. 0; ERR_NOTHING where there is no such thing; ERR_USAGE for numbers that make no
// sense; or another code.
int view_logs_data(struct view_logs *logs, size_t number, struct view_answer *answer);
int view_logs_timeline(struct view_logs *logs, size_t number, double from, double to, uint64_t width,
                       struct view_answer *answer);
int view_logs_call(struct view_logs *logs, size_t number, uint64_t id, double at, struct view_answer *answer);
