// What the requests of one program took, and what they would have taken alone.
#pragma once

#include "interference/interference.h"

enum { ESTIMATE_ALL = -1 };

struct estimate {
    bool known; // most of the time of shared requests has something to be compared with
    struct estimate_server {
        double took, alone; // seconds of the shared requests
    } * server;             // by number, as many as the interference has
    size_t servers;
    double alone_seconds; // at servers, of the process that would have spent the most alone
    double *lost;         // by process, then by server, and last for all of them: see estimate_lost
    size_t processes;
};

int estimate_make(struct estimate *estimate, const struct interference *in, size_t job);
void estimate_free(struct estimate *estimate);

// Seconds that the process with the largest loss lost because requests to the server (or ESTIMATE_ALL) were shared. A
// call that goes to several servers at once takes as long as the slowest of them; calls of a process that go on at the
// same time share the time. NAN if it is not known.
double estimate_lost(const struct estimate *estimate, int server);
