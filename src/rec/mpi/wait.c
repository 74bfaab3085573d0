// Completion of nonblocking I/O: calls that wait or test look up the transfers of their requests. MPI may do the I/O
// only then, so the calls inside a wait are children of the transfer that they serve.
#include <stdlib.h>

#include "rec/mpi/plugin.h"

struct mpi_wait {
    MPI_Status *statuses; // the program's, or our own
    int count;
    bool is_large; // too large for the scratch memory
    unsigned io_count;
    struct pending **io; // the requests that are transfers
    uint64_t ids[];      // of the requests as they were before the call
};

const char plugin_request_queue[1];

// Allocates everything in one piece.
static struct mpi_wait *wait_new(int count, MPI_Status *statuses) {
    size_t n = (size_t)count;
    bool ignored = statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE;
    struct mpi_wait *wait = NULL;
    size_t bytes = sizeof *wait + n * (sizeof *wait->ids + sizeof *wait->io + (ignored ? sizeof *statuses : 0));
    bool is_large = bytes > PLUGIN_SCRATCH_BYTES;
    wait = is_large ? malloc(bytes) : plugin_scratch();
    if (!wait) return NULL;
    wait->is_large = is_large;
    wait->count = count;
    wait->io_count = 0;
    wait->io = (struct pending **)(wait->ids + n);
    wait->statuses = ignored ? (MPI_Status *)(wait->io + n) : statuses;
    return wait;
}

static void wait_free(struct mpi_wait *wait) {
    if (wait && wait->is_large) free(wait);
}

void mpi_enter_wait(struct mpi_probe *p, int count, const MPI_Request *requests, MPI_Status **statuses) {
    mpi_enter_comm(p);
    p->wait = NULL;
    struct mpi_wait *wait = count > 0 ? wait_new(count, *statuses) : NULL;
    for (int i = 0; wait && i < count; i++) {
        wait->ids[i] = plugin_request_id(requests[i]);
        struct pending *found = plugin.core->pending_find(p->thread, plugin_request_queue, wait->ids[i]);
        if (found) wait->io[wait->io_count++] = found;
    }
    if (!wait || !wait->io_count) { // communication alone
        wait_free(wait);
        return;
    }
    p->wait = wait;
    *statuses = wait->statuses;
    plugin.core->emit_push_choice(p->thread, &p->frame, wait->io, wait->io_count);
    p->thread->comm_start = plugin_now_unshifted();
}

// The bytes of a completed transfer, or the negative error. Returns false if it is not complete after all.
static bool outcome(const MPI_Status *status, int result, uint64_t size, int64_t *moved) {
    int error = plugin_error(result);
    if (error == MPI_ERR_IN_STATUS) error = plugin_error(status->MPI_ERROR);
    *moved = error ? -error : plugin_moved_bytes(status, size);
    return error != MPI_ERR_PENDING;
}

void mpi_leave_wait(struct mpi_probe *p, uint32_t call, int count, const int *indices, int result) {
    struct mpi_wait *wait = p->wait;
    (void)call;
    uint64_t end = plugin_now_unshifted();
    uint64_t call_time = (end - p->thread->comm_start) >> CPU_COUNTER_SHIFT;
    plugin.core->emit_leave(p->thread, &p->frame);
    for (int i = 0; i < count; i++) {
        int index = indices ? indices[i] : i;
        struct pending *found = NULL, done;
        int64_t moved;
        if (index >= 0 && index < wait->count) {
            found = plugin.core->pending_find(p->thread, plugin_request_queue, wait->ids[index]);
        }
        if (!found || !outcome(&wait->statuses[i], result, found->size, &moved)) continue;
        if (!plugin.core->pending_remove(p->thread, plugin_request_queue, wait->ids[index], &done)) continue;
        atomic_fetch_sub(&plugin.io_requests, 1);
        plugin.core->pending_emit(p->thread, &done, moved, call_time);
        call_time = 0;               // counted once, however many there are
        p->thread->comm_start = end; // the wait was I/O: it is not communication as well
    }
    wait_free(wait);
}
