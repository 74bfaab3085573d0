// One operation of an application: what it is (its kind) and where it is (its coordinates). There are few kinds, each
// stored once. Everything that changes from one operation to the next in a loop is a coordinate, so a loop is one
// operation plus a step for each coordinate.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum op_coordinate {
    AT_MEMBER,   // which file of its set; of a synchronisation: the other rank, or the root
    AT_OFFSET,   // in the file; of a seek: its target; of a truncation: unused, see AT_SIZE
    AT_SECOND,   // transfers: offset in the view; calls with two files: which one of the second set; file views:
                 // place of the file's datatype
    AT_POSITION, // of others: how many of the phase's transfers come before it
    AT_SIZE,     // bytes asked for; of synchronisations: how many
    AT_SHORT,    // bytes asked for that were not moved
    AT_COUNT
};

// How ranks wait for each other between their operations. A program has many calls for that; what counts for the order
// of its I/O is which rank waits for which.
enum op_sync {
    SYNC_NONE,
    SYNC_BARRIER, // all ranks of a communicator wait for all
    SYNC_BCAST,   // all wait for the root
    SYNC_REDUCE,  // the root waits for all
    SYNC_SEND,
    SYNC_RECEIVE, // waits for a send
    SYNC_COUNT
};

const char *op_sync_name(enum op_sync sync);
int op_sync_find(const char *name); // or ERR_NOTHING

struct op_kind {
    const char *call; // canonical name; two kinds with equal names have the same pointer
    uint8_t layer;    // enum call_layer
    uint8_t class;    // enum call_class; CLASS_NONE: a synchronisation
    uint8_t sync;     // enum op_sync
    uint8_t handle;   // of MPI-IO: which of those that the process has open on the file at one time, mostly 0
    bool collective;
    bool nonblocking;
    bool has_offset;
    bool has_view;
    uint16_t call_id;      // in call_table; 0: a synchronisation, or a call that this build does not know
    uint32_t set;          // of the file, OP_NO_SET without
    uint32_t set2;         // of the second file, OP_NO_SET without
    uint32_t flags;        // of an open, as the call got them
    uint32_t etype_bytes;  // of a file view, else 0
    uint32_t memory;       // of a transfer whose memory is not contiguous: place of its datatype + 1, else 0
    uint32_t hints;        // given with the call: place + 1, else 0
    uint32_t whence;       // of a seek
    uint32_t communicator; // of an open with MPI-IO, and of a synchronisation: place + 1; 0: not known
    uint32_t selection;    // of a transfer above MPI-IO: place + 1; 0: none
    int error;
};

#define OP_NO_SET UINT32_MAX

// What the operation is, in one word: read, write, or what it does to names: create, open, list, stat, lookup, remove,
// mkdir, rmdir, rename, link, change. NULL: something else, such as a close.
const char *op_kind_name(const struct op_kind *kind);
bool op_kind_asks(const struct op_kind *kind);        // about something, and changes nothing
bool op_kind_moves(const struct op_kind *kind);       // reads or writes
bool op_kind_is_metadata(const struct op_kind *kind); // has a name, did not fail, and does not move data

enum { OP_MOST_HANDLES = 16 }; // on one file at one time

// One of 64 bits for a number, so that a set of kinds or sizes fits a word. Several numbers share a bit, and which ones
// share it decides the lists and phases of a model: this must not change from version to version.
static inline uint64_t op_bit(uint64_t number) {
    uint64_t hash = (number ^ 1) * UINT64_C(0x9e3779b97f4a7c15);
    return UINT64_C(1) << ((hash ^ hash >> 29) & 63);
}

struct op {
    uint32_t kind;
    int64_t at[AT_COUNT];
};

// Whether the flags of a POSIX open make a file. One without a name (O_TMPFILE) has a made-up name in a log.
bool op_flags_create(uint64_t flags);
bool op_flags_nameless(uint64_t flags);

// What separates a phase from the previous one.
enum model_cut { CUT_START, CUT_PATTERN, CUT_COMMUNICATION, CUT_PAUSE };

struct op_time {
    int64_t start_ns;
    int64_t duration_ns;
    int64_t think_ns; // since the thread's previous operation, without communication
    // For asynchronous transfers, from the start until the end was seen:
    int64_t work_ns; // if no other operation began
    uint64_t ahead;  // operations that began
};
