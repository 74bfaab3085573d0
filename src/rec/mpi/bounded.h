// Messages of the recorder's own between ranks of MPI_COMM_WORLD. Nothing here waits longer than its deadline, and no
// error reaches the program's error handler.
//
// The program may receive from any source with any tag, so its receives could take such a message. Therefore one is
// sent only to a rank that is known to be recorded, and that either waits in MPI_Finalize already, or posts the receive
// for it inside MPI_Init, before the program can post one, and never withdraws it while the program runs.
//
// Messages are small, so that MPI sends them without waiting for the receiver. Buffers must never be freed or reused
// after a call that returned false: MPI may still use them.
#pragma once

#include "rec/mpi/plugin.h"

// One number for each purpose. The tags are the highest that MPI has.
enum bounded_tag {
    BOUNDED_EARLY_QUESTION,
    BOUNDED_EARLY_ANSWER,
    BOUNDED_LATE_QUESTION,
    BOUNDED_LATE_ANSWER,
    BOUNDED_REDUCE
};

struct bounded {
    int64_t deadline_ns; // of CLOCK_MONOTONIC
    bool yields;         // the processor, in the first microseconds of a wait: good if the partner shares it
    MPI_Errhandler handler;
    bool has_handler;
};

// Between these two, errors in MPI_COMM_WORLD are returned to the recorder.
void bounded_begin(struct bounded *all, int64_t most_ns);
void bounded_end(struct bounded *all);

// Posts a receive. `rank` may be MPI_ANY_SOURCE.
bool bounded_post(int rank, enum bounded_tag tag, void *buffer, size_t bytes, MPI_Request *request);
// Whether the request has completed before the deadline. If not, it is still there. `source` may be NULL.
bool bounded_wait(const struct bounded *all, MPI_Request *request, int *source);
// Gives a posted receive up while the program may still run: a message that comes late meets it nevertheless.
void bounded_leave(MPI_Request *request);
// The same in MPI_Finalize, where it is withdrawn.
void bounded_cancel(MPI_Request *request);

// The size of the message that comes next, from a rank in MPI_Finalize; or -1.
int64_t bounded_probe(const struct bounded *all, int rank, enum bounded_tag tag);
// The request completes when all ranks have called this, in MPI_Finalize. It is collective, so no receive of the
// program can take part in it. Where it is given up it stays under way, and the real MPI_Finalize completes it when the
// last rank comes.
bool bounded_start_meeting(MPI_Request *request);

// Begins to send. Wait for it by bounded_wait().
bool bounded_start(int rank, enum bounded_tag tag, const void *buffer, size_t bytes, MPI_Request *request);
// False after the deadline; then the request is freed.
bool bounded_send(const struct bounded *all, int rank, enum bounded_tag tag, const void *buffer, size_t bytes);
// Posts, waits, and cancels after the deadline: only in MPI_Finalize.
bool bounded_receive(const struct bounded *all, int rank, enum bounded_tag tag, void *buffer, size_t bytes);
