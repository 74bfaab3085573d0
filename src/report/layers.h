// Where the time went, per layer: inclusive (in calls of a layer) and exclusive (without the calls below them), per
// process and per call, and the longest calls of all.
#pragma once

#include "base/json_out.h"
#include "base/lookup.h"
#include "log/visit.h"
#include "summary/call_tree.h"

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

enum { LAYERS_SLOWEST = 16, LAYERS_TREE = 64 };

// A call and the calls below it, in the order of their starts: a call comes before the calls inside it.
struct layer_tree {
    struct layer_tree_call {
        struct log_event event; // without attributes
        uint32_t server;        // of a stack, or LOG_NO_SERVER
        uint32_t place;         // among those found
        int64_t length_ns;      // its own, or that of the call of the file system's client around it
    } * call;                   // the call itself, then the first ones or the longest
    size_t count, most;
    bool keeps_longest;
    struct layer_tree_length {
        int64_t ns;
        bool is_below; // the system call
    } * length;        // by place, if the longest are kept
    size_t lengths;
    bool has_below; // requests may have calls below the system call
    uint64_t found;
    struct lookup inside; // those that may have calls below them: their places, from 0
};

struct layers {
    struct log *log;
    struct layer_process *process; // by index in the log's table
    struct layer_call *call;       // by the log's id
    uint32_t call_ids;
    struct layer_tree slow[LAYERS_SLOWEST]; // longest first; of equal ones the earliest
    size_t slow_count;
    int64_t slow_ns;  // calls that are no longer than this are not among the slowest
    int64_t until_ns; // calls below the slowest start before this time
};

int layers_init(struct layers *layers, struct log *log);
struct log_consumer layers_consumer(struct layers *layers);
void layers_free(struct layers *layers);

// Calls come in the order of their starts, the tree's own first. Ignores those that are not below it.
int layer_tree_add(struct layer_tree *tree, const struct log_event *event);
int64_t layer_tree_parent(const struct layer_tree *tree, size_t i); // index of the call around it; -1: not kept
void layer_tree_shorten(struct layer_tree *tree);                   // to the longest
void layer_tree_free(struct layer_tree *tree);

// Writes an object: at most `most` processes, the slowest calls, and which calls made which (libraries_json_tree), all
// limited by what was kept.
int layers_json(const struct layers *layers, const struct call_tree *tree, struct json_out *json, size_t most);

// Reads a call and all calls below it, also those below the system call: the blocks of its process at its time. Keeps
// the longest, which show all of the call's time; a call of the file system's client is kept with all that is inside
// it. ERR_NOTHING if the call does not exist. Sets `most` before; layer_tree_free in any case.
int layer_tree_read(struct layer_tree *tree, struct log *log, uint64_t id, int64_t at_ns);

// Writes an object: one call and the calls below it. Reads the blocks of its process at its time. ERR_NOTHING if the
// call does not exist.
int layers_tree_json(struct log *log, uint64_t id, int64_t at_ns, size_t most, struct json_out *json);
