// The space of Méndez: tick, process and file offset of the transfers, each with its phase. Keeps as many transfers as
// a picture needs.
#pragma once

#include "base/json_out.h"
#include "log/event.h"
#include "model/model.h"
#include "report/process_places.h"

enum { SPACE_POINTS = 8000 };

struct space_point {
    uint32_t process; // id in the log
    uint32_t tid;
    uint32_t thread; // number in the log
    uint64_t number; // of the transfer in its thread
    int64_t start_ns;
    uint64_t tick;
    uint64_t offset;
    uint64_t size;
    uint32_t file; // index in the log's table
    bool is_write;
};

struct space {
    const struct log *log;
    struct space_point *point;
    size_t count;
    uint64_t every;
    uint64_t *transfers; // by thread: transfers so far
    size_t threads;
};

int space_init(struct space *space, const struct log *log);
// Adds an event. Events must come in the order of their starts.
int space_add(struct space *space, const struct log_event *event);
void space_free(struct space *space);

// Writes an object. The model may be NULL: then the points have no phase.
int space_json(const struct space *space, const struct process_places *places, const struct model *model,
               struct json_out *json, size_t most, size_t name_bytes);
