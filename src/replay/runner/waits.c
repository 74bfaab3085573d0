// Threads that wait until another has opened a file that they use, or has used a file that they close.
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/err.h"
#include "replay/runner/runner.h"

enum { PATIENCE_SECONDS = 10 }; // of MPI programs, where lanes wait for other processes too

static int add_wait(struct lane_run *lane, const struct model_wait *wait)
{
    return array_push(lane->wait, lane->waits, (struct lane_wait){.wait = wait});
}

int waits_begin(struct runner *runner, struct lane_run *lane, uint32_t lanes)
{
    runner->lane = lane;
    runner->waits = false;
    for (uint32_t i = 0; i < lanes; i++) pthread_cond_init(&lane[i].told, NULL);
    for (size_t i = 0; i < runner->model.waits; i++) {
        const struct model_wait *wait = &runner->model.wait[i];
        if (wait->program != runner->job->program || wait->rank != runner->rank) continue;
        if (wait->thread >= lanes || wait->behind >= lanes) continue;
        FORWARD(add_wait(&lane[wait->thread], wait));
        runner->waits = true;
    }
    return 0;
}

// --- waiting

// A model that somebody wrote may have threads that wait for each other for ever.
static bool is_stuck(const struct lane_run *lane)
{
    for (const struct lane_run *at = lane; at->behind && at->behind->done < at->wanted; at = at->behind) {
        if (at->behind == lane) return true;
    }
    return false;
}

// Of a lane in some call of MPI nobody here can say for whom it waits: where nothing is done for long, one goes on.
static bool wait_a_while(struct runner *runner, struct lane_run *other)
{
    struct timespec until;
    if (!runner->model.program[runner->job->program].is_mpi) {
        pthread_cond_wait(&other->told, &runner->wait_lock);
        return true;
    }
    uint64_t before = runner->done;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    return pthread_cond_timedwait(&other->told, &runner->wait_lock, &until) != ETIMEDOUT || runner->done != before;
}

// With the lock held.
static void wait_for(struct lane_run *lane, struct lane_run *other, uint64_t done)
{
    if (other->done >= done) return;
    lane->behind = other;
    lane->wanted = done;
    for (bool goes_on = !is_stuck(lane); goes_on && other->done < done;) {
        if (done < other->next_wanted) other->next_wanted = done;
        goes_on = wait_a_while(lane->runner, other);
    }
    lane->behind = NULL;
}

void waits_before(struct lane_run *lane)
{
    struct runner *runner = lane->runner;
    int64_t op = (int64_t)lane->done + 1;
    for (size_t i = 0; i < lane->waits; i++) {
        struct lane_wait *at = &lane->wait[i];
        const struct model_wait *wait = at->wait;
        while (at->next < wait->count && wait->op[at->next] < op) at->next++;
        if (at->next == wait->count || wait->op[at->next] != op) continue;
        pthread_mutex_lock(&runner->wait_lock);
        wait_for(lane, &runner->lane[wait->behind], (uint64_t)wait->done[at->next]);
        pthread_mutex_unlock(&runner->wait_lock);
    }
}

// --- what was done

void waits_after(struct lane_run *lane, uint64_t count)
{
    struct runner *runner = lane->runner;
    if (!runner->waits) return;
    pthread_mutex_lock(&runner->wait_lock);
    lane->done = count > UINT64_MAX - lane->done ? UINT64_MAX : lane->done + count;
    runner->done++;
    if (lane->done >= lane->next_wanted) {
        lane->next_wanted = UINT64_MAX; // those that want more say so again
        pthread_cond_broadcast(&lane->told);
    }
    pthread_mutex_unlock(&runner->wait_lock);
}

void waits_end(struct lane_run *lane)
{
    waits_after(lane, UINT64_MAX);
}
