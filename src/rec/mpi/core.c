#include "fmt/fields.h"
#include "rec/mpi/core_interface.h"
#include "rec/probe/probe.h"
#include "rec/shims.h"
#include "rec/triggers.h"

static struct file *file_of(const char *path) {
    bool left_out;
    return probe_file(AT_FDCWD, path, &left_out);
}

static void note(const uint8_t *bytes, size_t len) {
    struct thread *thread = recorder_thread();
    if (!thread || !emit_claim(thread)) return;
    spill_record(bytes, len);
    spill_update_clock(); // a process that is killed soon has no other reading
    emit_unclaim(thread);
}

static void describe(int rank, int size, int local_rank, const char *library) {
    uint8_t buffer[512];
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    triggers_note_rank(rank);
    fields_begin(&out, RECORD_PROCESS);
    fields_number(&out, PROCESS_RANK, (uint64_t)rank + 1);
    fields_number(&out, PROCESS_MPI_SIZE, (uint64_t)size);
    if (local_rank >= 0) fields_number(&out, PROCESS_LOCAL_RANK, (uint64_t)local_rank + 1);
    fields_string(&out, PROCESS_MPI, library);
    fields_end(&out);
    if (!out.overflow) note(buffer, (size_t)(out.at - buffer));
}

static void record(unsigned kind, const uint8_t *fields, size_t len) {
    enum { HEAD_BYTES = 32 };
    struct fields_out out;
    struct thread *thread = recorder_thread();
    if (!thread || thread->trace_ended || !recorder.trace_cap || !emit_claim(thread)) return;
    if (spill_begin_record(&out, HEAD_BYTES + len)) {
        fields_begin(&out, kind);
        fields_copy(&out, (struct fields_in){.at = fields, .end = fields + len});
        fields_end(&out);
        spill_end_record(&out);
    } else {
        spill_count_loss(LOSS_TABLE_FULL, 1);
    }
    emit_unclaim(thread);
}

static struct thread *current(void) { return recorder_thread(); }

static const struct mpi_core core = {.build = MPI_BUILD,
                                     .thread = current,
                                     .file = file_of,
                                     .describe = describe,
                                     .record = record,
                                     .note = note,
                                     .tick = &recorder.tick,
                                     .event_clock_uses_ns = &event_clock_uses_ns,
#define CORE_FUNCTION(name) .name = name,
                                     CORE_FUNCTIONS(CORE_FUNCTION)
#undef CORE_FUNCTION
};

EXPORT const struct mpi_core *ioseer_core(void) { return &core; }
