// Threads that wait for each other as the program's did.
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/grow.h"
#include "replay/runner.h"

// With more processes than were recorded, these do as the recorded ones.
static uint32_t rank_like(const struct runner *runner)
{
    uint32_t ranks = 1;
    for (size_t i = 0; i < runner->model.waits; i++) {
        const struct model_wait *wait = &runner->model.wait[i];
        if (wait->program == runner->options->program && wait->rank >= ranks) ranks = wait->rank + 1;
    }
    return runner->rank % ranks;
}

static int add_wait(struct lane_run *lane, const struct model_wait *wait)
{
    FORWARD(grow(&lane->wait, &lane->waits_room, lane->waits, sizeof *lane->wait));
    lane->wait[lane->waits++] = (struct lane_wait){.wait = wait};
    return 0;
}

// Operations are counted through all phases: where only some are run, nobody can wait.
int waits_begin(struct runner *runner, struct lane_run *lane, uint32_t lanes)
{
    uint32_t rank = rank_like(runner);
    pthread_mutex_init(&runner->wait_lock, NULL);
    pthread_cond_init(&runner->done, NULL);
    runner->lane = lane;
    runner->running = lanes;
    runner->waits = false;
    for (size_t i = 0; i < runner->model.waits && !runner->options->phases; i++) {
        const struct model_wait *wait = &runner->model.wait[i];
        if (wait->program != runner->options->program || wait->rank != rank) continue;
        if (wait->thread >= lanes || wait->behind >= lanes) continue;
        FORWARD(add_wait(&lane[wait->thread], wait));
        runner->waits = true;
    }
    return 0;
}

// A model that somebody wrote may have threads that wait for each other for ever.
static void give_up_if_stuck(struct runner *runner)
{
    if (runner->waiting < runner->running) return;
    runner->waits = false;
    pthread_cond_broadcast(&runner->done);
}

// With the lock held. When the other had done it.
static double wait_for(struct runner *runner, const struct lane_run *other, uint64_t done)
{
    if (other->done >= done) return 0;
    runner->waiting++;
    give_up_if_stuck(runner);
    while (runner->waits && other->done < done) pthread_cond_wait(&runner->done, &runner->wait_lock);
    runner->waiting--;
    return other->done_at;
}

void waits_before(struct lane_run *lane)
{
    struct runner *runner = lane->runner;
    int64_t op = (int64_t)lane->done + 1;
    for (size_t i = 0; i < lane->waits; i++) {
        struct lane_wait *at = &lane->wait[i];
        while (at->next < at->wait->count && at->wait->op[at->next] < op) at->next++;
        if (at->next == at->wait->count || at->wait->op[at->next] != op) continue;
        pthread_mutex_lock(&runner->wait_lock);
        double done_at = wait_for(runner, &runner->lane[at->wait->behind], (uint64_t)at->wait->done[at->next]);
        pthread_mutex_unlock(&runner->wait_lock);
        if (done_at > lane->free_at) lane->free_at = done_at; // the pause begins there
    }
}

static void tell(struct lane_run *lane, uint64_t done)
{
    struct runner *runner = lane->runner;
    pthread_mutex_lock(&runner->wait_lock);
    lane->done = done;
    lane->done_at = lane->free_at;
    if (runner->waiting) pthread_cond_broadcast(&runner->done);
    pthread_mutex_unlock(&runner->wait_lock);
}

void waits_after(struct lane_run *lane)
{
    if (lane->runner->model.waits) tell(lane, lane->done + 1);
}

void waits_end(struct lane_run *lane)
{
    struct runner *runner = lane->runner;
    tell(lane, UINT64_MAX);
    pthread_mutex_lock(&runner->wait_lock);
    runner->running--;
    if (runner->running) give_up_if_stuck(runner);
    pthread_mutex_unlock(&runner->wait_lock);
}
