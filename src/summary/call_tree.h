// Which calls made which: the calls of layers above MPI-IO, the calls inside them and so on, summed up over all events
// with the same calls around them. And the objects of these layers: datasets, variables. Empty for a log without such
// layers.
#pragma once

#include "base/lookup.h"
#include "log/visit.h"
#include "summary/coverage.h"

enum { CALL_TREE_ROOT = 0 };

struct call_node {
    const struct log_call *call; // NULL: the root
    uint32_t parent;             // place of its node; a parent comes before its children
    uint64_t calls;
    uint64_t bytes[DIRECTION_COUNT];
    int64_t ns;       // in these calls
    int64_t below_ns; // of that, in the calls that they made; may exceed `ns` for nonblocking calls
};

// What the calls on an object do; the first two are directions.
enum object_part { OBJECT_READ, OBJECT_WRITE, OBJECT_OPEN, OBJECT_OTHER, OBJECT_PARTS };

struct object_requests {
    uint64_t calls;
    uint64_t bytes;
    int64_t ns;
};

struct object_sum {
    const struct log_file *object;
    const struct log_dataset *dataset; // the last that is known, or NULL
    unsigned layer;
    uint64_t opens;
    uint64_t calls[DIRECTION_COUNT]; // that moved its elements
    uint64_t collective;             // of these
    uint64_t bytes[DIRECTION_COUNT]; // of its elements
    int64_t ns[DIRECTION_COUNT];
    // Bytes of the chunks that hold these elements, counted anew for each call; filters may make them smaller. Only of
    // selections with a rule, whose bytes are `regular`.
    uint64_t chunk_bytes[DIRECTION_COUNT];
    uint64_t regular[DIRECTION_COUNT];
    // Inside its calls. Those inside a call on several objects are divided among them in proportion to their bytes.
    struct object_requests request[OBJECT_PARTS][DIRECTION_COUNT];
    uint64_t processes;
    uint64_t together[DIRECTION_COUNT]; // of `bytes`, in calls on several objects
    uint32_t pool;                      // the object that stands for these calls, place + 1; 0: there are none
};

struct call_tree {
    struct log *log;
    struct call_node *node;
    size_t count;
    struct lookup by; // parent and call -> node
    struct object_sum *object;
    size_t objects;
    struct lookup object_of; // layer and index of the log's files -> place in `object`
};

// The visit's consumer; without layers above MPI-IO it has no callbacks.
int call_tree_begin(struct call_tree *tree, struct log *log, struct log_consumer *consumer);
void call_tree_free(struct call_tree *tree);

// Whether a node moves bytes of a file: a request of POSIX or stdio, counted once.
bool call_tree_is_request(const struct call_tree *tree, size_t node);

// What the calls of a layer above MPI-IO asked for and what that came to, by what they do.
enum library_part { PART_TRANSFERS, PART_OPENS, PART_CLOSES, PART_OTHERS, LIBRARY_PARTS };

struct library_sum {
    uint64_t calls;
    uint64_t bytes[DIRECTION_COUNT];      // of elements
    uint64_t file_calls[DIRECTION_COUNT]; // requests to the files
    uint64_t file_bytes[DIRECTION_COUNT];
    int64_t ns;
    int64_t below_ns; // in the layers below, libraries included
};

// Only the outermost calls of the layer count.
void call_tree_library(const struct call_tree *tree, unsigned layer, struct library_sum part[LIBRARY_PARTS]);
void library_sum_add(struct library_sum *sum, const struct library_sum *more);
const char *library_part_name(enum library_part part); // "transfers" …

// The requests of one direction inside the transfers of an object.
struct object_requests object_moved(const struct object_sum *sum, unsigned direction);

// Objects that were opened or moved, but no attributes: the most time first. `order` has room for all `objects`.
// Returns how many there are.
size_t call_tree_objects(const struct call_tree *tree, const struct object_sum **order);
