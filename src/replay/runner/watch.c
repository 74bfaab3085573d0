// A thread that tells once a second what the others do (replay/stall.h): they only store it in memory.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "replay/runner/runner.h"
#include "replay/runner/unrecorded.h"
#include "replay/runner/world.h"

// Processes on other hosts, and ioseer, see what is written when the file is closed.
static void write_slot(const struct replay_job *job, const struct replay_slot *slot) {
    int fd = job->slots ? unrecorded_open(job->slots, O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    cpu_syscall(SYS_pwrite64, fd, slot, sizeof *slot, (long)world.rank * (long)sizeof *slot);
    unrecorded_close(fd);
}

void watch_tell(const struct replay_job *job, const char *call, uint64_t ended, uint64_t bytes) {
    struct replay_slot slot = {.started = 1, .ended = ended, .bytes = bytes};
    snprintf(slot.call, sizeof slot.call, "%s", call);
    write_slot(job, &slot);
}

static void name_file(const struct model *model, const struct watch_place *place, char *name, size_t room) {
    char path[4096];
    uint32_t set = place->kind->set;
    if (set == OP_NO_SET || file_set_member_name(model->file[set].set, place->member, path, sizeof path) < 0) return;
    const char *base = strrchr(path, '/');
    snprintf(name, room, "%.*s", (int)room - 1, base ? base + 1 : path);
}

// As models name them: split, split#2 ...
static void name_communicator(const struct model *model, const struct op_kind *kind, char *name, size_t room) {
    if (!kind->communicator) return;
    const char *origin = model->communicator[kind->communicator - 1].origin;
    unsigned number = 1;
    for (uint32_t i = 0; i + 1 < kind->communicator; i++) number += !strcmp(model->communicator[i].origin, origin);
    snprintf(name, room, number > 1 ? "%.16s#%u" : "%.16s", origin, number);
}

static void name_behind(const struct runner *runner, const struct progress *progress, char *name, size_t room) {
    const struct progress *behind = __atomic_load_n(&progress->behind, __ATOMIC_SEQ_CST);
    if (!behind) return;
    if (behind->rank == runner->rank)
        snprintf(name, room, "thread %u", behind->thread);
    else
        snprintf(name, room, "rank %u", behind->rank);
}

// A process waits where the first of its threads does that is not between operations.
static struct replay_slot slot_of(const struct runner *runner) {
    struct replay_slot slot = {.started = 1, .call = "no call, at its start or end"};
    const struct op_kind *shown = NULL;
    for (uint32_t i = 0; i < runner->watch.threads; i++) {
        struct watch_place place = runner->watch.thread[i].place;
        slot.ended += place.ended;
        slot.pauses |= place.pauses;
        if (!place.kind) continue;
        slot.bytes += place.bytes;
        if (shown) continue;
        shown = place.kind;
        snprintf(slot.call, sizeof slot.call, "%s", shown->call);
        name_file(&runner->model, &place, slot.file, sizeof slot.file);
        name_communicator(&runner->model, shown, slot.group, sizeof slot.group);
        name_behind(runner, runner->watch.thread[i].progress, slot.behind, sizeof slot.behind);
    }
    return slot;
}

static void *run_watch(void *context) {
    struct runner *runner = context;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    pthread_mutex_lock(&runner->watch.lock);
    while (!runner->watch.ends) {
        struct replay_slot slot = slot_of(runner);
        write_slot(runner->job, &slot);
        until.tv_sec++;
        pthread_cond_timedwait(&runner->watch.wake, &runner->watch.lock, &until);
    }
    pthread_mutex_unlock(&runner->watch.lock);
    return NULL;
}

// Signals are for the other threads. Without this thread, the replay seems to do nothing: it must not run.
int watch_begin(struct runner *runner, const struct replay_thread *thread, uint32_t threads) {
    sigset_t all, before;
    runner->watch.thread = thread;
    runner->watch.threads = threads;
    pthread_mutex_init(&runner->watch.lock, NULL);
    pthread_cond_init(&runner->watch.wake, NULL);
    if (!runner->job->slots) return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int code = -pthread_create(&runner->watch.id, NULL, run_watch, runner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    runner->watch.runs = !code;
    return code;
}

void watch_end(struct runner *runner) {
    if (!runner->watch.runs) return;
    pthread_mutex_lock(&runner->watch.lock);
    runner->watch.ends = true;
    pthread_cond_signal(&runner->watch.wake);
    pthread_mutex_unlock(&runner->watch.lock);
    pthread_join(runner->watch.id, NULL);
    watch_tell(runner->job, "the end of the replay", slot_of(runner).ended, 0);
}

// --- what a thread does

void watch_operation(struct replay_thread *thread, const struct model_step *step) {
    struct watch_place *place = &thread->place;
    bool writes = step->kind->class == CLASS_WRITE, moves = writes || step->kind->class == CLASS_READ;
    bool flushes = step->kind->class == CLASS_SYNC || step->kind->class == CLASS_CLOSE;
    int64_t size = step->op->at[AT_SIZE];
    place->member = (uint32_t)step->op->at[AT_MEMBER];
    place->bytes = moves && size > 0 ? (uint64_t)size : flushes ? place->written : 0;
    if (writes) place->written += place->bytes;
    __atomic_store_n(&place->kind, step->kind, __ATOMIC_RELEASE);
}

void watch_done(struct replay_thread *thread) {
    __atomic_store_n(&thread->place.kind, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->place.ended, thread->place.ended + 1, __ATOMIC_RELAXED);
}
