// Threads that wait until another has opened a file that they use, or has used a file that they close.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "replay/runner/runner.h"

// A thread stops waiting when no operation of the process has ended for this long.
enum {
    MPI_PATIENCE_SECONDS = 10, // a thread inside a call of MPI may wait for any other process: the replay goes on
    PATIENCE_SECONDS = 600,    // without MPI, not counting pauses and barriers: the storage hangs, and the replay fails
};

int waits_begin(struct runner *runner, struct replay_thread *thread, uint32_t threads) {
    runner->thread = thread;
    runner->waits = false;
    for (uint32_t i = 0; i < threads; i++) pthread_cond_init(&thread[i].told, NULL);
    for (size_t i = 0; i < runner->model.waits; i++) {
        const struct model_wait *wait = &runner->model.wait[i];
        if (wait->program != runner->job->program || wait->rank != runner->rank) continue;
        if (wait->thread >= threads || wait->behind >= threads) continue;
        struct replay_thread *to = &thread[wait->thread];
        FORWARD(array_push(to->wait, to->waits, (struct thread_wait){.wait = wait}));
        runner->waits = true;
    }
    return 0;
}

// --- waiting

// In a model from a file, threads may wait for each other forever.
static bool is_stuck(const struct replay_thread *thread) {
    for (const struct replay_thread *at = thread; at->behind && at->behind->done < at->wanted; at = at->behind) {
        if (at->behind == thread) return true;
    }
    return false;
}

// Returns false when nothing happened for too long.
static bool wait_a_while(struct runner *runner, struct replay_thread *other, bool is_mpi) {
    struct timespec until;
    uint64_t before = runner->done;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += is_mpi ? MPI_PATIENCE_SECONDS : PATIENCE_SECONDS;
    if (pthread_cond_timedwait(&other->told, &runner->wait_lock, &until) != ETIMEDOUT) return true;
    const struct replay_thread *last = other; // the last one in the chain of waiting threads
    while (last->behind) last = last->behind;
    return runner->done != before || (!is_mpi && clock_seconds() < last->paused_until + PATIENCE_SECONDS);
}

// A thread that is stuck in a call cannot be joined.
static void give_up(const struct replay_thread *thread) {
    char why[120];
    snprintf(why, sizeof why, "thread %u waited %d s for operation %" PRIu64 " of thread %u", thread->number,
             PATIENCE_SECONDS, thread->wanted, thread->behind->number);
    runner_give_up(why);
}

// Waits until `other` has done this many operations. Called with wait_lock held.
static void wait_for(struct replay_thread *thread, struct replay_thread *other, uint64_t done) {
    if (other->done >= done) return;
    bool is_mpi = thread->runner->model.program[thread->runner->job->program].is_mpi;
    thread->behind = other;
    thread->wanted = done;
    for (bool goes_on = !is_stuck(thread); goes_on && other->done < done;) {
        if (done < other->next_wanted) other->next_wanted = done;
        goes_on = wait_a_while(thread->runner, other, is_mpi);
        if (!goes_on && !is_mpi && other->done < done) give_up(thread);
    }
    thread->behind = NULL;
}

void waits_before(struct replay_thread *thread) {
    struct runner *runner = thread->runner;
    int64_t op = (int64_t)thread->done + 1;
    for (size_t i = 0; i < thread->waits; i++) {
        struct thread_wait *at = &thread->wait[i];
        const struct model_wait *wait = at->wait;
        while (at->next < wait->count && wait->op[at->next] < op) at->next++;
        if (at->next == wait->count || wait->op[at->next] != op) continue;
        pthread_mutex_lock(&runner->wait_lock);
        wait_for(thread, &runner->thread[wait->behind], (uint64_t)wait->done[at->next]);
        pthread_mutex_unlock(&runner->wait_lock);
    }
}

// --- what was done

void waits_after(struct replay_thread *thread, uint64_t count) {
    struct runner *runner = thread->runner;
    if (!runner->waits) return;
    pthread_mutex_lock(&runner->wait_lock);
    thread->done = count > UINT64_MAX - thread->done ? UINT64_MAX : thread->done + count;
    runner->done++;
    if (thread->done >= thread->next_wanted) {
        thread->next_wanted = UINT64_MAX; // a thread that waits for more sets it again
        pthread_cond_broadcast(&thread->told);
    }
    pthread_mutex_unlock(&runner->wait_lock);
}

void waits_pause(struct replay_thread *thread, double until) {
    struct runner *runner = thread->runner;
    if (!runner->waits) return;
    pthread_mutex_lock(&runner->wait_lock);
    thread->paused_until = until;
    pthread_mutex_unlock(&runner->wait_lock);
}

void waits_end(struct replay_thread *thread) { waits_after(thread, UINT64_MAX); }
