// The files of the replay, by set and member, and what must be open before a step can use one.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "replay/runner/runner.h"
#include "replay/runner/unrecorded.h"

enum { OPEN_WAIT_SECONDS = 10, NAME_POLL_US = 500 };

static int append_rank(char **path, uint32_t rank) {
    char *own;
    RETURN_IF(asprintf(&own, "%s.%u", *path, rank) < 0, -ENOMEM);
    free(*path);
    *path = own;
    return 0;
}

static struct replay_file *lookup_file(struct runner *runner, uint32_t set, uint32_t member) {
    uint32_t at = lookup_find(&runner->file_of, lookup_pair(set, member));
    if (at != LOOKUP_NONE) return runner->file[at];
    struct replay_file *file = calloc(1, sizeof *file);
    if (!file || array_room(runner->file, runner->files) < 0) {
        free(file);
        return NULL;
    }
    *file = (struct replay_file){.set = set, .member = member, .fd = -1, .spare = -1, .own = -1};
    pthread_mutex_init(&file->position_lock, NULL);
    file->path = paths_of(&runner->paths, set, member);
    file->is_own = variants_owns(runner, set, member);
    if (file->is_own && file->path && append_rank(&file->path, runner->rank) < 0) {
        free(file->path);
        file->path = NULL;
    }
    if (!file->path || lookup_set(&runner->file_of, lookup_pair(set, member), (uint32_t)runner->files) < 0) {
        free(file->path);
        free(file);
        return NULL;
    }
    runner->file[runner->files++] = file;
    return file;
}

struct replay_file *files_get(struct runner *runner, uint32_t set, uint32_t member) {
    pthread_mutex_lock(&runner->lock);
    struct replay_file *file = lookup_file(runner, set, member);
    pthread_mutex_unlock(&runner->lock);
    return file;
}

void files_opened(struct runner *runner, struct replay_file *file) {
    pthread_mutex_lock(&runner->lock);
    file->was_open = true;
    pthread_cond_broadcast(&runner->opened);
    pthread_mutex_unlock(&runner->lock);
}

// Files of MPI that are still open are closed by all their processes, so in an order that all have.
static int compare_files(const void *a, const void *b) {
    const struct replay_file *x = *(struct replay_file *const *)a, *y = *(struct replay_file *const *)b;
    if (x->set != y->set) return x->set < y->set ? -1 : 1;
    return x->member < y->member ? -1 : x->member > y->member;
}

void files_free(struct runner *runner) {
    if (runner->files) qsort(runner->file, runner->files, sizeof *runner->file, compare_files);
    for (size_t i = 0; i < runner->files; i++) {
        replay_posix.end_file(runner->file[i]);
#ifdef IOSEER_REPLAY_MPI
        replay_mpiio.end_file(runner->file[i]);
#endif
        free(runner->file[i]->path);
        free(runner->file[i]->mapping);
        free(runner->file[i]);
    }
    free(runner->file);
    lookup_free(&runner->file_of);
}

// Opens for reading and writing, with the other flags that all opens of the file in the log have in common.
int files_open_inherited(const struct runner *runner, struct replay_file *file, const struct model_step *step) {
    int flags = O_DIRECT | O_SYNC | O_DSYNC;
    bool opens = false;
    for (size_t i = 0; i < runner->model.kinds; i++) {
        const struct op_kind *kind = &runner->model.kind[i];
        if (kind->class != CLASS_OPEN || kind->layer != LAYER_POSIX || kind->set != file->set) continue;
        flags &= (int)kind->flags;
        opens = true;
    }
    flags = (opens ? flags : 0) | O_RDWR | O_CREAT | O_CLOEXEC;
    int fd = unrecorded_open(file->path, flags);
    if (fd < 0) fd = unrecorded_open(file->path, flags = O_RDONLY | O_CLOEXEC); // a directory
    if (fd < 0) return -1;
    file->flags = flags;
    file->position = step->kind->has_offset ? unrecorded_seek(fd, step->op->at[AT_OFFSET]) : 0;
    return fd;
}

// Processes without MPI do not wait for each other: one may use a file before another has made it.
static void wait_for_name(struct replay_thread *thread, const struct replay_file *file) {
    double until = clock_seconds() + OPEN_WAIT_SECONDS;
    if (thread->runner->np < 2 || file->is_own) return;
    while (!thread->gave_up && !unrecorded_exists(file->path)) {
        usleep(NAME_POLL_US);
        thread->gave_up = clock_seconds() > until;
    }
}

// Waits until another thread has opened the file, if one does.
static void wait_for_open(struct runner *runner, const struct replay_backend *backend, const struct replay_file *file,
                          const struct model_step *step) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += OPEN_WAIT_SECONDS;
    if (!runner->opened_somewhere[file->set] || model_threads(&runner->model, runner->job->program) < 2) return;
    while (!file->was_open && backend->lacks(file, step) &&
           pthread_cond_timedwait(&runner->opened, &runner->lock, &until) == 0)
        continue;
}

static bool makes_name(const struct op_kind *kind) {
    return call_table[kind->call_id].effect == EFFECT_CREATE ||
           (kind->class == CLASS_OPEN && op_flags_create(kind->flags));
}

void files_make_ready(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                      const struct model_step *step) {
    const struct op_kind *kind = step->kind;
    struct runner *runner = thread->runner;
    if (kind->error == ENOENT) file->was_missing = true;
    if (kind->error || !backend->lacks) return;
    if (!file->was_used && !makes_name(kind)) found_make_late(runner, file);
    file->was_used = true;
    if (kind->class == CLASS_OPEN) {
        if (kind->layer != LAYER_MPIIO && !op_flags_create(kind->flags)) wait_for_name(thread, file);
        return;
    }
    pthread_mutex_lock(&runner->lock);
    bool lacks = backend->lacks(file, step);
    if (lacks) wait_for_open(runner, backend, file, step);
    pthread_mutex_unlock(&runner->lock);
    if (!lacks || !backend->make_ready) return;
    wait_for_name(thread, file);
    pthread_mutex_lock(&runner->lock);
    if (backend->lacks(file, step)) backend->make_ready(runner, file, step);
    pthread_mutex_unlock(&runner->lock);
}
