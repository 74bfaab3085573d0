// Where the time went, per layer: inclusive (in calls of a layer) and exclusive (without the calls below them), per
// process and per call, and the longest calls of all.
#pragma once

#include "base/json_out.h"
#include "log/visit.h"

struct layer_time {
    int64_t inclusive_ns;
    int64_t exclusive_ns;
    uint64_t calls;
};

struct layer_process {
    struct layer_time of[LAYER_COUNT];
    int64_t own_ns; // in calls that the program made
};

struct layer_call {
    int64_t inclusive_ns;
    int64_t exclusive_ns;
    int64_t longest_ns;
    uint64_t calls;
    uint64_t bytes;
    struct {
        int64_t ns;
        uint64_t calls;
        uint64_t bytes;
    } below[LAYER_COUNT];
};

enum { LAYERS_SLOWEST = 16, LAYERS_TREE = 120 };

struct layer_slow {
    uint64_t id;
    const struct log_process *process;
    int64_t start_ns;
    int64_t duration_ns;
};

struct layer_slowest {
    struct layer_slow of[LAYERS_SLOWEST]; // longest first; of equal ones the earliest
    size_t count;
};

struct layers {
    struct log *log;
    struct layer_process *process; // by index in the log's table
    struct layer_call *call;       // by the log's id
    uint32_t call_ids;
    struct layer_slowest slow;
};

int layers_init(struct layers *layers, struct log *log);
struct log_consumer layers_consumer(struct layers *layers);
void layers_free(struct layers *layers);

// Writes an object: at most `ranks` processes, and `trees` of the slowest calls with `most` calls each.
int layers_json(const struct layers *layers, struct json_out *json, size_t ranks, size_t trees, size_t most);

// Writes an object: one call and the calls below it. Reads the blocks of its process at its time. ERR_NOTHING if the
// call does not exist.
int layers_tree_json(struct log *log, uint64_t id, int64_t at_ns, size_t most, struct json_out *json);
