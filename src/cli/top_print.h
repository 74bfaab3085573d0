// What `ioseer top` shows of a job: as text in a given number of lines, or as JSON.
#pragma once

#include <stdio.h>

#include "base/json_out.h"
#include "live/jobs.h"
#include "live/live.h"

// Text on the terminal begins with the letter of its key.
enum top_sort { TOP_BYTES, TOP_READ, TOP_WRITE, TOP_CALLS, TOP_METADATA, TOP_IO, TOP_RANK, TOP_SORTS };
extern const char *const top_sort_names[TOP_SORTS];

struct top_view {
    enum top_sort sort;
    unsigned width;  // of the terminal; 0: any
    unsigned lines;  // 0: any
    bool has_blocks; // the terminal knows the characters of the graph
    bool is_paused;
};

int top_text(const struct live *live, const struct top_view *view, FILE *out);
void top_json(const struct live *live, enum top_sort sort, struct json_out *json);

int top_list(const struct live_jobs *jobs, FILE *out);
void top_list_json(const struct live_jobs *jobs, struct json_out *json);

// The log that `record` makes of a spill directory, if it is there; NULL otherwise. The caller frees it.
char *top_log_name(const struct live *live);
