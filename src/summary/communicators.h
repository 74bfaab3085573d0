// The communicators of the MPI jobs in a log: what each process says about its own, joined.
#pragma once

#include "base/json_out.h"
#include "log/log.h"

// Communicators of one job that have the same origin and members.
struct summary_comm {
    const struct communicator *first;
    uint32_t world;
    uint64_t communicators; // how many, one after the other or at the same time
    uint64_t processes;     // that know them
};

struct summary_comms {
    struct summary_comm *comm;
    size_t count;
};

// Appends the ranks in MPI_COMM_WORLD: "0-3", "0-6:2" with a step, "?*4" for four processes of another job.
void summary_comm_members(struct bytes *text, const struct comm_group *group);

// MPI_COMM_SELF, which each process has, is left out.
int summary_comms_find(struct summary_comms *comms, const struct log *log);
void summary_comms_json(const struct summary_comms *comms, struct json_out *json, size_t most);
