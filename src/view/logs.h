// The logs that `ioseer view` shows. One thread reads them one after the other; until a log is read, its index answers.
// All answers are JSON in memory from malloc.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "summary/summary.h"

struct view_logs;

struct view_answer {
    char *text;
    size_t len;
};

// One log, opened twice: a struct log serves one thread at a time.
struct view_source {
    struct summary_source requests; // answers requests while and after the log is read
    struct summary_source reader;   // for the reading thread, which closes it
};

// Starts to read the logs. Copies the sources; what they point to must stay valid. Nothing stops it: the thread and its
// memory live until the process ends. 0 or -errno.
int view_logs_start(struct view_logs **logs, const struct view_source *sources, size_t count);

// {"logs": ["name", ...]}
int view_logs_names(const struct view_logs *logs, struct view_answer *answer);

// Any thread may call these. They return 0, ERR_NOTHING for a log or call that does not exist, ERR_USAGE for numbers
// that make no sense, or another code.
int view_logs_data(struct view_logs *logs, size_t number, struct view_answer *answer);
int view_logs_timeline(struct view_logs *logs, size_t number, double from, double to, uint64_t width,
                       struct view_answer *answer);
int view_logs_call(struct view_logs *logs, size_t number, uint64_t id, double at, struct view_answer *answer);
