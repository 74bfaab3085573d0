// Communicators of MPI: how they were made, and which ranks they have.
//
//   members := run*
//   run     := varint (first + 1), folded step, varint count
//
// A run stands for `count` processes, each by its rank in MPI_COMM_WORLD: first, first + step and so on, in the order
// of their ranks in the communicator. Processes of another world have no rank: their run has 0 in place of first + 1,
// and a step of 0.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/fields.h"

enum comm_origin { // numbers are never reused
    ORIGIN_UNKNOWN = 0,
    ORIGIN_WORLD = 1,
    ORIGIN_SELF = 2,
    ORIGIN_DUP = 3,
    ORIGIN_SPLIT = 4,
    ORIGIN_CREATE = 5,
    ORIGIN_GROUP = 6,    // MPI_Comm_create_group
    ORIGIN_SHARED = 7,   // MPI_Comm_split_type
    ORIGIN_TOPOLOGY = 8, // Cartesian and graph communicators
    ORIGIN_INTER = 9,
    ORIGIN_MERGE = 10,
    ORIGIN_SPAWN = 11,   // to the processes that were started, or to those that started this one
    ORIGIN_CONNECT = 12, // accept, connect, join
    ORIGIN_COUNT
};

// What a process is to the others in a communication call.
enum partner_role {
    PARTNER_ALL = 0,       // all wait for all
    PARTNER_FROM_ROOT = 1, // all wait for the peer
    PARTNER_TO_ROOT = 2,   // the peer waits for all
    PARTNER_SEND = 3,      // the peer waits for this process
    PARTNER_RECEIVE = 4,   // this process waits for the peer
    PARTNER_MORE = 5,      // calls whose partners were not kept
    PARTNER_ROLES
};

enum { MEMBERS_MAX_BYTES = 4096, MEMBERS_UNKNOWN = -1 };

struct members_run {
    int64_t first; // or MEMBERS_UNKNOWN
    int64_t step;
    uint64_t count;
};

// Packs members one by one. What does not fit is counted and hashed only.
struct members_out {
    uint8_t *at; // the caller gives MEMBERS_MAX_BYTES
    uint8_t *end;
    struct members_run run; // not written yet
    uint64_t size;
    uint64_t hash; // of all members
    bool cut;
};

void members_start(struct members_out *out, uint8_t *buffer);
void members_add(struct members_out *out, int64_t rank);
void members_end(struct members_out *out);

struct members_in {
    const uint8_t *at;
    const uint8_t *end;
};

// Returns 1 with the next run, 0 at the end, a negative code on damage.
int members_next(struct members_in *in, struct members_run *run);
// The rank in MPI_COMM_WORLD of the member with this rank; MEMBERS_UNKNOWN if it is not listed or of another world.
int64_t members_rank(struct members_in in, uint64_t rank);
// 0 if the runs have `size` members; `cut`: at most that.
int members_check(struct members_in in, uint64_t size, bool cut);

struct comm_group {
    uint64_t size;
    struct members_in members;
    bool cut;      // only the first members are listed
    uint64_t hash; // of all of them, if cut
};

struct communicator {
    uint32_t process; // 0 in a spill
    uint32_t number;
    uint32_t origin;  // enum comm_origin
    uint32_t parent;  // number; 0: none
    uint64_t ordinal; // collective creations on the parent before this one
    bool is_inter;
    struct comm_group local;
    struct comm_group remote; // of an inter-communicator
};

// Reads and checks the body of a RECORD_COMMUNICATOR; the lists point into it.
int communicator_get(struct fields_in body, struct communicator *out);

const char *comm_origin_name(unsigned origin); // "unknown" if it is not known
const char *partner_role_name(unsigned role);
