// Threads and processes that wait until another has opened or made what they use, or has used what they close or
// remove. Each tells how far it has come in memory that the others see, and a futex wakes those that wait for it.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "replay/runner/runner.h"
#include "replay/runner/unrecorded.h"

// A thread stops waiting when no operation has ended for this long.
enum {
    MPI_PATIENCE_SECONDS = 10, // a thread inside a call of MPI may wait for any other process: the replay goes on
    PATIENCE_SECONDS = 600,    // without MPI, not counting pauses and barriers: the storage hangs, and the replay fails
};

#define get(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define set(place, value) __atomic_store_n(&(place), value, __ATOMIC_SEQ_CST)

static int compare_waits(const void *a, const void *b) {
    const struct thread_wait *x = a, *y = b;
    return x->op < y->op ? -1 : x->op > y->op;
}

static int add_waits(struct replay_thread *thread, const struct model_wait *wait, struct progress *behind) {
    for (size_t i = 0; i < wait->count; i++) {
        struct thread_wait one = {wait->op[i], (uint64_t)wait->done[i], behind};
        FORWARD(array_push(thread->wait, thread->waits, one));
    }
    return 0;
}

int waits_begin(struct runner *runner, struct replay_thread *thread, uint32_t threads) {
    runner->waits = false;
    runner->threads = threads;
    for (uint32_t i = 0; i < threads; i++) {
        thread[i].progress = &world_progress(runner->rank)[i];
        thread[i].progress->rank = runner->rank;
        thread[i].progress->thread = i;
    }
    for (size_t i = 0; i < runner->model.waits; i++) {
        const struct model_wait *wait = &runner->model.wait[i];
        if (wait->program != runner->job->program || wait->thread >= threads || wait->behind >= threads) continue;
        struct progress *behind = world_progress(wait->behind_rank);
        if (!behind) continue;
        runner->waits = true;
        if (wait->rank == runner->rank) FORWARD(add_waits(&thread[wait->thread], wait, &behind[wait->behind]));
    }
    for (uint32_t i = 0; i < threads; i++) {
        if (thread[i].waits) qsort(thread[i].wait, thread[i].waits, sizeof *thread[i].wait, compare_waits);
    }
    return 0;
}

// --- waiting

// The next in a chain of those that wait; NULL at its end.
static struct progress *next_of(const struct progress *at) {
    struct progress *behind = get(at->behind);
    return behind && get(behind->done) < get(at->wanted) ? behind : NULL;
}

// The last in the chain. In a model from a file, threads may wait for each other forever: then it is the first.
static struct progress *end_of_chain(const struct runner *runner, struct progress *first) {
    struct progress *at = first;
    for (size_t i = 0; i < (size_t)runner->np * runner->threads; i++) {
        struct progress *next = next_of(at);
        if (!next) return at;
        if (next == first) return first;
        at = next;
    }
    return at;
}

static bool is_stuck(const struct runner *runner, struct progress *thread) {
    return next_of(thread) && end_of_chain(runner, thread) == thread;
}

// Of all threads that this process sees; it changes when one of them goes on.
static uint64_t sum_done(const struct runner *runner) {
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < runner->np; rank++) {
        struct progress *progress = world_progress(rank);
        for (uint32_t i = 0; progress && i < runner->threads; i++) sum += get(progress[i].done);
    }
    return sum;
}

static void want(struct progress *other, uint64_t done) {
    uint64_t wanted = get(other->next_wanted);
    while ((!wanted || done < wanted) &&
           !__atomic_compare_exchange_n(&other->next_wanted, &wanted, done, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        continue;
}

// Returns false when nothing happened for too long.
static bool wait_a_while(const struct runner *runner, struct progress *other, uint64_t done, bool is_mpi) {
    const struct timespec patience = {.tv_sec = is_mpi ? MPI_PATIENCE_SECONDS : PATIENCE_SECONDS};
    uint64_t before = sum_done(runner);
    uint32_t told = get(other->told); // it changes, and the futex does not wait, if `want` is too late
    want(other, done);
    if (get(other->done) >= done) return true;
    if (cpu_syscall(SYS_futex, &other->told, FUTEX_WAIT, told, &patience) != -ETIMEDOUT) return true;
    double paused_until;
    __atomic_load(&end_of_chain(runner, other)->paused_until, &paused_until, __ATOMIC_SEQ_CST);
    return sum_done(runner) != before || (!is_mpi && clock_seconds() < paused_until + PATIENCE_SECONDS);
}

// A thread that is stuck in a call cannot be joined.
static void give_up(const struct replay_thread *thread, const struct progress *other) {
    char why[120];
    snprintf(why, sizeof why, "thread %u waited %d s for operation %" PRIu64 " of thread %u of rank %u", thread->number,
             PATIENCE_SECONDS, thread->progress->wanted, other->thread, other->rank);
    runner_give_up(why);
}

// Waits until `other` has done this many operations.
static void wait_for(struct replay_thread *thread, struct progress *other, uint64_t done) {
    if (get(other->done) >= done) return;
    const struct runner *runner = thread->runner;
    bool is_mpi = runner->model.program[runner->job->program].is_mpi;
    set(thread->progress->wanted, done);
    set(thread->progress->behind, other);
    for (bool goes_on = !is_stuck(runner, thread->progress); goes_on && get(other->done) < done;) {
        goes_on = wait_a_while(runner, other, done, is_mpi);
        if (!goes_on && !is_mpi && get(other->done) < done) give_up(thread, other);
    }
    set(thread->progress->behind, NULL);
}

void waits_before(struct replay_thread *thread) {
    int64_t op = (int64_t)thread->progress->done + 1;
    for (; thread->next_wait < thread->waits && thread->wait[thread->next_wait].op <= op; thread->next_wait++) {
        const struct thread_wait *wait = &thread->wait[thread->next_wait];
        if (wait->op == op) wait_for(thread, wait->behind, wait->done); // others were left out
    }
}

// --- what was done

void waits_after(struct replay_thread *thread, uint64_t count) {
    struct progress *progress = thread->progress;
    if (!thread->runner->waits) return;
    uint64_t done = count > UINT64_MAX - progress->done ? UINT64_MAX : progress->done + count;
    set(progress->done, done);
    uint64_t wanted = get(progress->next_wanted);
    if (!wanted || done < wanted) return;
    set(progress->next_wanted, 0); // those that wait for more set it again
    __atomic_fetch_add(&progress->told, 1, __ATOMIC_SEQ_CST);
    cpu_syscall(SYS_futex, &progress->told, FUTEX_WAKE, INT_MAX);
}

void waits_pause(struct replay_thread *thread, double until) {
    if (thread->runner->waits) __atomic_store(&thread->progress->paused_until, &until, __ATOMIC_SEQ_CST);
}

void waits_end(struct replay_thread *thread) { waits_after(thread, UINT64_MAX); }
