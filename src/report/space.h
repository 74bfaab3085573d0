// The space of Méndez: tick, process and file offset of the transfers, as many as a picture needs, each with its phase.
#pragma once

#include "base/json_out.h"
#include "log/walk.h"
#include "model/model.h"

enum { SPACE_POINTS = 8000 };

struct space_point {
    uint32_t process; // id in the log
    uint32_t tid;
    uint32_t lane;
    uint64_t number; // of the transfer in its lane
    int64_t start_ns;
    uint64_t tick;
    uint64_t offset;
    uint64_t size;
    uint32_t file; // place in the log's table
    bool is_write;
};

struct space {
    const struct log *log;
    struct space_point *point;
    size_t count;
    uint64_t every;
    uint64_t *transfers; // by lane, so far
    size_t lanes;
};

int space_init(struct space *space, const struct log *log);
int space_take(struct space *space, const struct log_step *step);
void space_free(struct space *space);

// An object. The model may be NULL: then the points are in no phase.
int space_json(const struct space *space, const struct model *model, struct json_out *json, size_t most,
               size_t name_bytes);
