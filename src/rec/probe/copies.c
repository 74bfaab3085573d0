// Probes of calls that copy between two descriptors inside the kernel: a read of one and a write of the other.
#include <errno.h>

#include "rec/probe/probe.h"

bool enter_copy(struct probe *p, int in, int out) {
    p->thread = recorder_thread();
    if (!p->thread) return false;
    p->out = probe_handle(out);
    return probe_start(p, probe_handle(in));
}

static uint32_t side(uint32_t call, bool writes) {
    switch (call) {
    case CALL_sendfile: return writes ? CALL_sendfile_write : CALL_sendfile_read;
    case CALL_splice: return writes ? CALL_splice_write : CALL_splice_read;
    default: return writes ? CALL_copy_file_range_write : CALL_copy_file_range_read;
    }
}

// Where the copy began. The kernel has advanced a given offset by what was copied; after a failure it may be
// unreadable.
static off_t copied_from(struct handle *handle, int fd, const off_t *given, bool writes, ssize_t result, int error) {
    if (!given) return probe_advance_position(handle, fd, result, writes, NULL);
    return error ? -1 : *given - (result > 0 ? result : 0);
}

// `event` has the size and the end time.
static void emit_side(struct probe *p, struct plain_event event, struct handle *handle, int fd, const off_t *given,
                      ssize_t result) {
    int error = result < 0 ? errno : 0;
    bool writes = call_table[event.call].class == CLASS_WRITE;
    event.offset = (uint64_t)copied_from(handle, fd, given, writes, result, error);
    probe_emit_transfer(p, handle, event, result, error);
}

// The kernel's count of I/O does not contain splices, so neither do the left-out bytes.
static void tally(struct probe *p, uint32_t call, struct handle *handle, bool writes, ssize_t result) {
    if (call != CALL_splice) emit_left_out(p->thread, writes, handle->left_out, result);
}

void leave_copy(struct probe *p, uint32_t call, int in, const off_t *in_offset, int out, const off_t *out_offset,
                size_t len, ssize_t result) {
    uint64_t end = event_clock_now();
    int error = result < 0 ? errno : 0;
    bool reads = p->handle->file != NULL;
    bool writes = p->out->file != NULL;
    struct call_frame frame;
    if (!reads) tally(p, call, p->handle, false, result);
    if (!writes) tally(p, call, p->out, true, result);
    if (reads && writes) emit_push(p->thread, &frame, CALL_FRAME_SILENT);
    if (reads) emit_side(p, probe_event(p, side(call, false), 0, len, end), p->handle, in, in_offset, result);
    if (writes) emit_side(p, probe_event(p, side(call, true), 0, len, end), p->out, out, out_offset, result);
    if (reads && writes) {
        struct emission e;
        emit_start(&e, probe_event(p, call, 0, len, end), NULL, 0);
        emit_result(&e, result, 0, error);
        emit_finish(p->thread, &frame, &e);
    }
}
