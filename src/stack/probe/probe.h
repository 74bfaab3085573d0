// SPDX-License-Identifier: LGPL-3.0-or-later
// A translator of GlusterFS that records the calls that pass it (fmt/probe.h). Instances stand at four places:
//
//   client process:  probe (client) > shard, distribute, disperse > probe (net) > protocol/client, one per server
//   server process:  protocol/server > probe (server) > io-threads, locks > probe (disk) > storage/posix
//
// A probe makes no frame of its own in GlusterFS's call stack: it hands on the one that it got, with a function of its
// own in front of the one that the answer goes to. Frames with such a function are the calls above, so within a process
// a call finds its parent without help. Only on the way to another process does the id travel in the request's
// dictionary, and the first probe there takes it out.
#pragma once

#include <glusterfs/defaults.h>
#include <glusterfs/xlator.h>
#include <stdbool.h>

#include "fmt/call.h"
#include "stack/probe/record_file.h"

enum { CALL_BUCKETS = 1024, CALL_BUCKET_SIZE = 4, CALL_ENTERING = 1 };

struct probe {
    const struct probe_control *control;
    struct record_file file;
    enum call_layer layer;
    bool sends_id;           // the next probe below is in another process
    bool receives_id;        // the next probe above is
    xlator_t *above;         // the probe above in the same process, or null
    _Atomic(dict_t *) spare; // with an id and nothing else; null: in use
    // The client's calls that are not over, by the number of their request. Some translators work on a copy of the call
    // stack, which has that number but no way up.
    struct call_entry {
        _Atomic uint64_t id; // 0: free; CALL_ENTERING: becomes used
        _Atomic uint64_t request;
    } calls[CALL_BUCKETS][CALL_BUCKET_SIZE];
};

// What a record says of a call before it goes on.
struct probe_call {
    enum probe_operation operation;
    uint32_t flags;
    unsigned char *gfid; // of the file; null: not known
    uint64_t offset, size;
    dict_t *xdata; // what the call came with, then what it goes on with
    dict_t *own;   // that, if the probe made it
};

typedef void (*probe_function)(void); // of any type

// Where an answer goes when the probe has seen it.
struct probe_answer {
    probe_function back;
    void *cookie;
};

extern struct xlator_fops probe_fops;

static inline bool probe_is_recording(const xlator_t *this) {
    const struct probe *probe = this->private;
    return atomic_load_explicit(&probe->control->recording, memory_order_relaxed) != 0;
}

// Puts `back` in front of the function to which the answer of this frame would go, if the call can be recorded.
// probe_wound follows when the call was handed on.
void probe_begin(call_frame_t *frame, xlator_t *this, struct probe_call *call, probe_function back);
void probe_wound(xlator_t *this, dict_t *own);

// `cookie` is what the function in front got; `found` is what the answer says of the file, or null; `xdata` is that of
// the answer.
struct probe_answer probe_end(const call_stack_t *root, void *cookie, int32_t result, int32_t error,
                              const struct iatt *found, dict_t *xdata);

extern const probe_function probe_backs[GF_FOP_MAXVALUE]; // by the number of the operation
