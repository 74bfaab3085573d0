// What the parts of finding waits share: build_waits.c finds those that times show, build_handles.c those
// of files that several threads use.
#pragma once

#include "model/build/build.h"

// An operation of a thread, in its order.
struct moment {
    int64_t start_ns;
    int64_t end_ns;
    struct op_time *time;
    struct op_time *barrier; // that has its pause; NULL: it has it itself
    const struct op *op;
    bool is_async; // nobody sees it end
};

struct access_order_of {
    struct moment *moment;
    size_t count;
    // While the pauses of another thread, or the opens and closes of all, are gone through:
    size_t next;        // the first that ends behind
    size_t ended;       // how many ended in the pause
    int64_t longest_ns; // pause between two of these
};

// Operation `op` of a thread begins when `done` operations of another have ended, both counted from 1.
struct edge {
    uint32_t thread, behind;
    int64_t op, done;
    int64_t after_ns; // from the last end until then
    bool is_pause;    // the thread's pause was this wait
};

struct waiting {
    struct building *b;
    const struct lane *lane; // of the process, by thread
    struct access_order_of *of;
    uint32_t threads;
    int64_t first_ns; // when the first operation began
    struct edge *edge;
    size_t edges, edges_room;
};

int waiting_add(struct waiting *w, const struct edge *edge); // ERR_LIMIT: too many
// Edges from closes to what other threads did to the file before, and from that to the open.
int waiting_find_handles(struct waiting *w);
