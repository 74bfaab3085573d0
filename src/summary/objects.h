// Datasets and selections in words and as JSON.
#pragma once

#include "base/json_out.h"
#include "log/event.h"

struct objects_words { // one text; what does not fit is cut off
    size_t len;
    char text[1024];
};

// "2x8 of 64x8 at 4,0": a regular selection without gaps; "all of 64x8"
struct objects_words objects_text_selection(const struct log_event *event);
struct objects_words objects_text_shape(const struct log_selection *selection); // without its place
struct objects_words objects_text_dataset(const struct log_dataset *dataset); // "float64 64x8, chunks of 8x8, deflate"

// The first coordinates of the event's selection. False: unknown.
bool objects_start_of(const struct log_event *event, uint64_t start[SELECTION_MAX_RANK]);

// As in `dump --json`; null without one.
void objects_json_selection(struct json_out *json, const struct log_event *event);
void objects_json_shape(struct json_out *json, const struct log_selection *selection); // members, without its place
void objects_json_dataset(struct json_out *json, const struct log_dataset *dataset);
