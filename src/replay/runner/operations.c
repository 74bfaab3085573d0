// Executes one operation after the other: waits for its pause, runs it with the back end of its layer, and measures its
// time.
#include "replay/runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "replay/runner/ops.h"

static const struct replay_backend *backend_of(const struct runner *runner, const struct op_kind *kind) {
    if (runner->job->null) return &replay_null;
    switch (kind->layer) {
    case LAYER_STDIO: return replay_calls[kind->call_id].form == REPLAY_POSITION ? &replay_posix : &replay_stdio;
#ifdef IOSEER_REPLAY_MPI
    case LAYER_MPIIO: return &replay_mpiio;
#endif
    default: return &replay_posix;
    }
}

// --- results

void operations_skip(struct runner *runner, const struct model_step *step) {
    pthread_mutex_lock(&runner->lock);
    if (!runner->result.skipped++)
        snprintf(runner->result.first_skipped, sizeof runner->result.first_skipped, "%s", step->kind->call);
    pthread_mutex_unlock(&runner->lock);
}

void operations_failed(struct replay_thread *thread, const struct model_step *step, const struct replay_file *file,
                       int64_t error) {
    struct runner *runner = thread->runner;
    pthread_mutex_lock(&runner->lock);
    if (!runner->result.failed++) {
        snprintf(runner->result.first_failure, sizeof runner->result.first_failure, "%s: %.150s: %s", step->kind->call,
                 file ? file->path : "", strerror((int)-error));
    }
    pthread_mutex_unlock(&runner->lock);
}

// Threads share the sums of their process.
void operations_add(struct runner *runner, double *sum, double seconds) {
    pthread_mutex_lock(&runner->lock);
    *sum += seconds;
    pthread_mutex_unlock(&runner->lock);
}

static void count_latency(struct latency *latency, double seconds) {
    double place = seconds > 1e-9 ? log2(seconds * 1e9) * LATENCY_STEPS : 0;
    latency->bucket[place < LATENCY_BUCKETS ? (unsigned)place : LATENCY_BUCKETS - 1]++;
}

void operations_add_time(struct runner *runner, const struct model_step *step, double seconds) {
    struct phase_time *time = &runner->time[step->phase];
    bool completes = runner->job->durable && step->kind->class == CLASS_SYNC;
    seconds = seconds > runner->clock_seconds ? seconds - runner->clock_seconds : 0;
    operations_add(runner, step->is_other && !completes ? &time->others : &time->seconds, seconds);
    if (op_kind_moves(step->kind) && runner->latency) count_latency(&runner->latency[step->phase], seconds);
}

// --- operations

static int64_t do_other(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                        const struct model_step *step) {
    if (step->kind->class == CLASS_OPEN && file) return backend->open(thread, file, step);
    if (step->kind->class == CLASS_CLOSE && file) return backend->close(thread, file, step);
    return backend->other(thread, file, step);
}

// Writes a file's data in the page cache to the storage, and drops it.
static void drop_cached(const struct replay_file *file) {
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (fsync(fd) == 0) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

// Calls before which a program must wait for all nonblocking transfers of the file.
static bool ends_transfers(const struct op_kind *kind) {
    return kind->class == CLASS_CLOSE || (kind->layer == LAYER_MPIIO && kind->collective && !op_kind_moves(kind));
}

// OMPIO refuses a sync on a rank that has a nonblocking transfer of any file, while the other ranks wait for it there.
// Where the program's sync went well, all had ended by then, whether it had asked or not.
static bool ends_all(const struct op_kind *kind) {
    return kind->layer == LAYER_MPIIO && kind->class == CLASS_SYNC && !kind->error;
}

static int run_operation(struct replay_thread *thread, const struct model_step *step) {
    struct runner *runner = thread->runner;
    const struct op_kind *kind = step->kind;
    bool transfers = op_kind_moves(kind);
    struct replay_file *file =
        kind->set == OP_NO_SET ? NULL : files_get(runner, kind->set, (uint32_t)step->op->at[AT_MEMBER]);
    if (kind->set != OP_NO_SET && !file) return -ENOMEM;
    if (transfers && !file) return 0;
    transfers_complete(thread, ends_transfers(kind) ? file : NULL, ends_all(kind));
    const struct replay_backend *backend = backend_of(runner, kind);
    if (backend->prepare) backend->prepare(runner, step);
    if (transfers && !posix_copies(thread, step)) {
        return runner->variants.changes_calls ? variants_transfer(thread, backend, file, step)
                                              : transfers_run(thread, backend, file, step);
    }
    if (runner->job->drop && file && kind->class == CLASS_OPEN) drop_cached(file);
    if (file) files_make_ready(thread, backend, file, step);
    pauses_wait(thread, step);
    if (ends_transfers(kind) || kind->class == CLASS_SYNC) transfers_end_hidden(thread);
    if (kind->class == CLASS_CLOSE && file && runner->variants.changes_calls) variants_close(file, step);
    double start = clock_seconds();
    int64_t result = do_other(thread, backend, file, step);
    thread->free_at = clock_seconds();
    operations_add_time(runner, step, thread->free_at - start);
    // The time of a copy is that of both its halves, which count once in a phase.
    if (transfers && kind->class == CLASS_WRITE && thread->source_phase != step->phase) {
        operations_add(runner, &runner->time[thread->source_phase].seconds, thread->free_at - start);
    }
    // A call that only looks up names may give another result than in the program: the comparison shows that.
    bool counts = transfers || kind->class == CLASS_OPEN || kind->class == CLASS_CLOSE || kind->class == CLASS_SYNC;
    if (result < 0 && !kind->error && counts) operations_failed(thread, step, file, result);
    return 0;
}

int operations_run(const struct model_step *step, void *context) {
    struct replay_thread *thread = context;
    watch_operation(thread, step);
    int code = variants_before(thread, step);
    if (code < 0) return code;
    if (step->kind->sync) {
        transfers_complete(thread, NULL, false); // a synchronisation counts as an operation
        syncs_run(thread, step);
    } else {
        waits_before(thread);
        code = run_operation(thread, step);
        waits_after(thread, 1);
    }
    watch_done(thread);
    return code;
}

int operations_leave_out(const struct model_step *step, void *context) {
    if (!step->kind->sync) waits_after(context, 1);
    return 0;
}
