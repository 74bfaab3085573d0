#include "replay/runner/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "model/phase_list.h"
#include "replay/runner/unrecorded.h"
#include "replay/runner/world.h"

enum {
    OPEN_WAIT_SECONDS = 10,
    NAME_POLL_US = 500,
    CLOCK_READINGS = 1000,
    BUFFER_ALIGN = 4096,
    MALLOC_OFFSET = 16,
    LARGEST_BUFFER = 1 << 30
};

#define LEAST_SLEEP 0.002 // seconds

// --- files

static struct replay_file *find_file(struct runner *runner, uint32_t set, uint32_t member)
{
    uint32_t at = lookup_find(&runner->file_of, lookup_pair(set, member));
    if (at != LOOKUP_NONE) return runner->file[at];
    struct replay_file *file = calloc(1, sizeof *file);
    if (!file || array_room(runner->file, runner->files) < 0) {
        free(file);
        return NULL;
    }
    *file = (struct replay_file){.set = set, .member = member, .fd = -1, .spare = -1, .own = -1};
    file->path = paths_of(&runner->paths, set, member);
    if (!file->path || lookup_set(&runner->file_of, lookup_pair(set, member), (uint32_t)runner->files) < 0) {
        free(file->path);
        free(file);
        return NULL;
    }
    runner->file[runner->files++] = file;
    return file;
}

struct replay_file *runner_file(struct runner *runner, uint32_t set, uint32_t member)
{
    pthread_mutex_lock(&runner->lock);
    struct replay_file *file = find_file(runner, set, member);
    pthread_mutex_unlock(&runner->lock);
    return file;
}

void runner_opened(struct runner *runner, struct replay_file *file)
{
    pthread_mutex_lock(&runner->lock);
    file->was_open = true;
    pthread_cond_broadcast(&runner->opened);
    pthread_mutex_unlock(&runner->lock);
}

static void free_files(struct runner *runner)
{
    for (size_t i = 0; i < runner->files; i++) {
        replay_posix.end_file(runner->file[i]);
#ifdef IOSEER_REPLAY_MPI
        replay_mpiio.end_file(runner->file[i]);
#endif
        free(runner->file[i]->path);
        free(runner->file[i]);
    }
    free(runner->file);
    lookup_free(&runner->file_of);
    paths_free(&runner->paths);
    free(runner->link_target);
    free(runner->opened_somewhere);
    for (size_t i = 0; runner->memory_types && i < runner->model.types.count; i++) free(runner->memory_types[i]);
    free(runner->memory_types);
}

void runner_skip(struct runner *runner, const struct model_step *step)
{
    pthread_mutex_lock(&runner->lock);
    if (!runner->result.skipped++)
        snprintf(runner->result.first_skipped, sizeof runner->result.first_skipped, "%s", step->kind->call);
    pthread_mutex_unlock(&runner->lock);
}

// How all calls of the log that open the file do it, but for reading and writing.
int runner_open_inherited(const struct runner *runner, struct replay_file *file, const struct model_step *step)
{
    int flags = O_DIRECT | O_SYNC | O_DSYNC;
    bool opens = false;
    for (size_t i = 0; i < runner->model.kinds; i++) {
        const struct op_kind *kind = &runner->model.kind[i];
        if (kind->class != CLASS_OPEN || kind->layer != LAYER_POSIX || kind->set != file->set) continue;
        flags &= (int)kind->flags;
        opens = true;
    }
    flags = (opens ? flags : 0) | O_RDWR | O_CREAT | O_CLOEXEC;
    int fd = unseen_open(file->path, flags);
    if (fd < 0) fd = unseen_open(file->path, flags = O_RDONLY | O_CLOEXEC); // a folder
    if (fd < 0) return -1;
    file->flags = flags;
    file->position = step->kind->has_offset ? unseen_seek(fd, step->op->at[AT_OFFSET]) : 0;
    return fd;
}

// Processes without MPI are not in step: one may come to a file before another has made it.
static void wait_for_name(struct lane_run *lane, const struct replay_file *file)
{
    double until = clock_seconds() + OPEN_WAIT_SECONDS;
    if (lane->runner->np < 2) return;
    while (!lane->gave_up && !unseen_exists(file->path)) {
        usleep(NAME_POLL_US);
        lane->gave_up = clock_seconds() > until;
    }
}

// Another thread may have to open it first.
static void wait_for_open(struct runner *runner, const struct replay_backend *backend, const struct replay_file *file,
                          const struct model_step *step)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += OPEN_WAIT_SECONDS;
    if (!runner->opened_somewhere[file->set] || model_threads(&runner->model, runner->job->program) < 2) return;
    while (!file->was_open && backend->lacks(file, step) &&
           pthread_cond_timedwait(&runner->opened, &runner->lock, &until) == 0)
        continue;
}

static void make_ready(struct lane_run *lane, const struct replay_backend *backend, struct replay_file *file,
                       const struct model_step *step)
{
    const struct op_kind *kind = step->kind;
    struct runner *runner = lane->runner;
    if (kind->error || !backend->lacks) return;
    if (kind->class == CLASS_OPEN) {
        if (kind->layer != LAYER_MPIIO && !(kind->flags & O_CREAT)) wait_for_name(lane, file);
        return;
    }
    pthread_mutex_lock(&runner->lock);
    bool lacks = backend->lacks(file, step);
    if (lacks) wait_for_open(runner, backend, file, step);
    pthread_mutex_unlock(&runner->lock);
    if (!lacks || !backend->make_ready) return;
    wait_for_name(lane, file);
    pthread_mutex_lock(&runner->lock);
    if (backend->lacks(file, step)) backend->make_ready(runner, file, step);
    pthread_mutex_unlock(&runner->lock);
}

// --- operations

static const struct replay_backend *backend_of(const struct runner *runner, const struct op_kind *kind)
{
    if (runner->job->null) return &replay_null;
    switch (kind->layer) {
    case LAYER_STDIO: return replay_calls[kind->call_id].form == REPLAY_POSITION ? &replay_posix : &replay_stdio;
#ifdef IOSEER_REPLAY_MPI
    case LAYER_MPIIO: return &replay_mpiio;
#endif
    default: return &replay_posix;
    }
}

// How steeply the last quarter of a distribution rises to its largest value, so that the mean comes out right: one
// long pause among many short ones must not become many long ones.
static double steepness(const struct model_pause *pause)
{
    const int64_t *quantile = pause->quantile_ns;
    double mean = (double)pause->total_ns / (double)pause->count, rise = (double)(quantile[4] - quantile[3]);
    double others = (double)quantile[0] / 2 + (double)quantile[1] + (double)quantile[2] + (double)quantile[3] / 2;
    double last = 4 * mean - others - (double)quantile[3];
    if (last <= 0 || rise <= 0) return INFINITY;
    return rise > last ? rise / last - 1 : 0;
}

// A value of the distribution, at another place each time, so that all of them together are the distribution again.
static double think_seconds(const struct model_pause *pause, uint64_t number)
{
    double place = (double)number * 0.6180339887498949 + 0.5;
    place = (place - (double)(uint64_t)place) * 4;
    unsigned below = place < 3 ? (unsigned)place : 3;
    const int64_t *quantile = pause->quantile_ns;
    double from = (double)quantile[below], to = (double)quantile[below + 1], part = place - below;
    if (below == 3) part = pow(part, steepness(pause));
    return (from + (to - from) * part) / 1e9;
}

static double next_pause(struct lane_run *lane, const struct model_pause *pause)
{
    if (!pause || !pause->count) return 0;
    uint32_t taken = lookup_find(&lane->pauses, (uintptr_t)pause);
    if (taken == LOOKUP_NONE) taken = 0;
    if (lookup_set(&lane->pauses, (uintptr_t)pause, taken + 1) < 0) return 0;
    return think_seconds(pause, (uint64_t)taken * lane->runner->np + lane->runner->rank);
}

static void note_failure(struct lane_run *lane, const struct model_step *step, const struct replay_file *file,
                         int64_t error)
{
    struct runner *runner = lane->runner;
    pthread_mutex_lock(&runner->lock);
    if (!runner->result.failed++) {
        snprintf(runner->result.first_failure, sizeof runner->result.first_failure, "%s: %.150s: %s", step->kind->call,
                 file ? file->path : "", strerror((int)-error));
    }
    pthread_mutex_unlock(&runner->lock);
}

const struct model_type *runner_memory_type(const struct runner *runner, const struct model_step *step)
{
    uint32_t place = step->kind->memory;
    if (!place || place > runner->model.types.count || step->kind->layer != LAYER_MPIIO) return NULL;
    const struct model_type *type = &runner->model.types.type[place - 1];
    bool whole = type->bytes && !(step->op->at[AT_SIZE] % (int64_t)type->bytes);
    return whole && !type->cut && type->flat.low >= 0 && type->extent > 0 ? type : NULL;
}

// That a transfer needs: more than it moves where its memory has holes.
static size_t memory_bytes(const struct runner *runner, const struct model_step *step)
{
    const struct model_type *type = runner_memory_type(runner, step);
    int64_t size = step->op->at[AT_SIZE];
    if (!type || !size) return (size_t)size;
    return (size_t)(size / (int64_t)type->bytes - 1) * (size_t)type->extent + (size_t)type->flat.high;
}

// Memory as malloc gives it: large pieces begin a little behind a page, which makes one page more of each transfer.
static int reserve_buffer(struct lane_run *lane, const struct replay_file *file, size_t bytes)
{
    struct buffer *buffer = &lane->buffer;
    size_t room = (bytes + 2 * BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
    if (!buffer->memory && lane->spares) *buffer = lane->spare[--lane->spares];
    if (room > buffer->bytes) {
        free(buffer->memory);
        *buffer = (struct buffer){.memory = aligned_alloc(BUFFER_ALIGN, room)};
        RETURN_IF(!buffer->memory, -ENOMEM);
        data_fill(buffer->memory, 0, 0, 0, room);
        buffer->bytes = room;
    }
    lane->data = (unsigned char *)buffer->memory + (file->flags & O_DIRECT ? 0 : MALLOC_OFFSET);
    return 0;
}

// The whole pattern takes time that the program may not have taken: where nobody checks it, every page gets some of it.
static void prepare_data(struct lane_run *lane, const struct replay_file *file, const struct model_step *step)
{
    uint64_t bytes = (uint64_t)step->op->at[AT_SIZE], offset = (uint64_t)step->op->at[AT_OFFSET];
    if (lane->runner->job->verify) {
        data_of_step(lane->data, runner_memory_type(lane->runner, step), file, step, bytes, false);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += BUFFER_ALIGN) {
        uint64_t part = bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);
        data_fill(lane->data + at, file->set, file->member, offset + at, part);
    }
}

static void verify(struct runner *runner, const struct model_step *step, const struct replay_file *file, void *data,
                   int64_t moved)
{
    if (!runner->job->verify || step->kind->class != CLASS_READ || moved <= 0) return;
    if (!step->kind->has_offset) return; // a shared pointer: nobody knows where
    uint64_t wrong = data_of_step(data, runner_memory_type(runner, step), file, step, (uint64_t)moved, true);
    __atomic_fetch_add(&runner->result.wrong_bytes, wrong, __ATOMIC_RELAXED);
}

// --- nonblocking transfers

static int keep_pending(struct lane_run *lane, const struct replay_backend *backend, struct replay_file *file,
                        const struct model_step *step, double start, double end)
{
    FORWARD(array_room(lane->pending, lane->pendings));
    FORWARD(array_room(lane->spare, lane->pendings + lane->spares));
    bool works = step->async && lane->runner->job->think;
    lane->pending[lane->pendings++] = (struct pending){
        .request = lane->submitted,
        .backend = backend,
        .file = file,
        .kind = step->kind,
        .op = *step->op,
        .buffer = lane->buffer,
        .data = lane->data,
        .start = start,
        .busy_until = end + (works ? (double)step->async->overlap_ns / 1e9 : 0),
        .ahead = step->async ? step->async->ahead : 0,
        .phase = step->phase,
    };
    lane->submitted = NULL;
    lane->buffer = (struct buffer){0};
    return 0;
}

// Lanes share the sums of their process.
static void add_to(struct runner *runner, double *sum, double seconds)
{
    pthread_mutex_lock(&runner->lock);
    *sum += seconds;
    pthread_mutex_unlock(&runner->lock);
}

static void complete(struct lane_run *lane, const struct pending *pending)
{
    struct model_step step = {.kind = pending->kind, .op = &pending->op, .phase = pending->phase};
    while (clock_seconds() < pending->busy_until) continue;
    int64_t result = pending->backend->complete(pending->request);
    double end = clock_seconds();
    add_to(lane->runner, &lane->runner->time[pending->phase].seconds, end - pending->start);
    lane->free_at = end;
    lane->spare[lane->spares++] = pending->buffer;
    if (result < 0 && !pending->kind->error) note_failure(lane, &step, pending->file, result);
    verify(lane->runner, &step, pending->file, pending->data, result);
}

// Waits for the transfers whose turn it is before the next operation; for all of a file that is to be closed, and for
// all where there is none.
static void complete_pending(struct lane_run *lane, const struct replay_file *closed, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < lane->pendings; i++) {
        struct pending *pending = &lane->pending[i];
        if (all || !pending->ahead || pending->file == closed) {
            complete(lane, pending);
        } else {
            pending->ahead--;
            lane->pending[kept++] = *pending;
        }
    }
    lane->pendings = kept;
}

// Works as long as the program worked before this operation; what was done since the last one counts. More threads than
// processors cannot all have worked: they sleep through most of it.
static void think(struct lane_run *lane, const struct model_step *step)
{
    if (!lane->runner->job->think) return;
    double until = lane->free_at + next_pause(lane, step->think), left = until - clock_seconds();
    if (lane->runner->sleeps && left > LEAST_SLEEP) usleep((useconds_t)((left - LEAST_SLEEP / 2) * 1e6));
    while (clock_seconds() < until) continue;
}

// Of several barriers the last stands before what comes, the others behind what was: the pause lies between.
static void run_barriers(struct lane_run *lane, const struct model_step *step)
{
    int64_t left = lane->thread ? 0 : lane->runner->barriers[step->phase] - lane->barriers;
    int64_t count = step->op->at[AT_SIZE] < left ? step->op->at[AT_SIZE] : left;
    lane->barriers += count;
    for (int64_t i = 1; i < count; i++) world_barrier();
    if (count > 1) lane->free_at = clock_seconds();
    think(lane, step);
    if (!count) return;
    world_barrier();
    lane->free_at = clock_seconds();
}

// What a call takes that does nothing: two readings of the clock have one between them.
static double measure_clock(void)
{
    double least = 1;
    for (unsigned i = 0; i < CLOCK_READINGS; i++) {
        double start = clock_seconds(), end = clock_seconds();
        if (end - start < least) least = end - start;
    }
    return least;
}

static void add_time(struct runner *runner, const struct model_step *step, bool transfers, double seconds)
{
    struct phase_time *time = &runner->time[step->phase];
    bool completes = runner->job->durable && step->kind->class == CLASS_SYNC;
    seconds = seconds > runner->clock_seconds ? seconds - runner->clock_seconds : 0;
    add_to(runner, transfers || completes ? &time->seconds : &time->others, seconds);
    if (transfers && runner->latency) latency_note(&runner->latency[step->phase], seconds);
}

static int take_transfer(struct lane_run *lane, const struct replay_backend *backend, struct replay_file *file,
                         const struct model_step *step)
{
    struct runner *runner = lane->runner;
    int64_t size = step->op->at[AT_SIZE], moved = size - step->op->at[AT_SHORT];
    struct op op = *step->op;
    struct model_step smaller = *step;
    if (size < 0 || size > LARGEST_BUFFER) { // as much as there is, which was less
        smaller.op = &op;
        op.at[AT_SIZE] = moved;
        op.at[AT_SHORT] = 0;
        step = &smaller;
    }
    make_ready(lane, backend, file, step);
    FORWARD(reserve_buffer(lane, file, memory_bytes(runner, step)));
    if (step->kind->class == CLASS_WRITE) prepare_data(lane, file, step);
    think(lane, step);
    double start = clock_seconds();
    int64_t result = backend->transfer(lane, file, step, lane->data);
    double end = clock_seconds();
    lane->free_at = end; // what checking takes is part of the next pause
    if (lane->submitted) return keep_pending(lane, backend, file, step, start, end);
    add_time(runner, step, true, end - start);
    if (result < 0 && !step->kind->error) note_failure(lane, step, file, result);
    verify(runner, step, file, lane->data, result);
    return 0;
}

static int64_t do_other(struct lane_run *lane, const struct replay_backend *backend, struct replay_file *file,
                        const struct model_step *step)
{
    if (step->kind->class == CLASS_OPEN && file) return backend->open(lane, file, step);
    if (step->kind->class == CLASS_CLOSE && file) return backend->close(lane, file, step);
    return backend->other(lane, file, step);
}

// What is in the page cache of a file goes to the storage and is forgotten.
static void drop_cached(const struct replay_file *file)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (fsync(fd) == 0) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static int take_operation(struct lane_run *lane, const struct model_step *step)
{
    struct runner *runner = lane->runner;
    const struct op_kind *kind = step->kind;
    bool transfers = kind->class == CLASS_READ || kind->class == CLASS_WRITE;
    struct replay_file *file =
        kind->set == OP_NO_SET ? NULL : runner_file(runner, kind->set, (uint32_t)step->op->at[AT_MEMBER]);
    if (kind->set != OP_NO_SET && !file) return -ENOMEM;
    if (transfers && !file) return 0;
    complete_pending(lane, kind->class == CLASS_CLOSE ? file : NULL, false);
    const struct replay_backend *backend = backend_of(runner, kind);
    if (transfers && !posix_copies(lane, step)) return take_transfer(lane, backend, file, step);
    if (runner->job->drop && file && kind->class == CLASS_OPEN) drop_cached(file);
    if (file) make_ready(lane, backend, file, step);
    think(lane, step);
    double start = clock_seconds();
    int64_t result = do_other(lane, backend, file, step);
    lane->free_at = clock_seconds();
    add_time(runner, step, transfers, lane->free_at - start);
    // Both halves of a copy take as long as it.
    if (transfers && kind->class == CLASS_WRITE) {
        add_to(runner, &runner->time[lane->source_phase].seconds, lane->free_at - start);
    }
    // What only looks at names may find them otherwise than the program did: the comparison tells.
    bool counts = transfers || kind->class == CLASS_OPEN || kind->class == CLASS_CLOSE || kind->class == CLASS_SYNC;
    if (result < 0 && !kind->error && counts) note_failure(lane, step, file, result);
    return 0;
}

static int take_step(const struct model_step *step, void *context)
{
    struct lane_run *lane = context;
    if (step->kind->class == CLASS_NONE) {
        complete_pending(lane, NULL, false); // a barrier counts as an operation
        run_barriers(lane, step);
        return 0;
    }
    waits_before(lane);
    int code = take_operation(lane, step);
    waits_after(lane, 1);
    return code;
}

static int leave_out(const struct model_step *step, void *context)
{
    if (step->kind->class != CLASS_NONE) waits_after(context, 1);
    return 0;
}

// --- lanes

static void tell_progress(const struct runner *runner, size_t phase)
{
    FILE *out = runner->job->progress && !runner->rank ? fopen(runner->job->progress, "we") : NULL;
    if (!out) return;
    fprintf(out, "%zu\n", phase + 1);
    fclose(out);
}

static void free_lane(struct lane_run *lane)
{
    for (size_t i = 0; i < lane->spares; i++) free(lane->spare[i].memory);
    free(lane->spare);
    free(lane->pending);
    free(lane->wait);
    free(lane->buffer.memory);
    lookup_free(&lane->pauses);
}

static void *run_lane(void *context)
{
    struct lane_run *lane = context;
    struct runner *runner = lane->runner;
    const struct model_program *program = &runner->model.program[runner->job->program];
    lane->free_at = clock_seconds();
    for (size_t i = program->first; i < program->end && !lane->status; i++) {
        const struct model_family *family = &runner->model.family[runner->model.phase[i].family];
        bool parted = family->cut == CUT_COMMUNICATION && i > program->first;
        if (parted) complete_pending(lane, NULL, true);
        if (parted && !lane->thread && program->is_mpi) {
            world_move();
            lane->free_at = clock_seconds();
        }
        if (!lane->thread) tell_progress(runner, i);
        lane->barriers = 0;
        bool chosen = phase_list_has(runner->job->phases, i + 1);
        if (chosen || runner->waits) {
            lane->status = model_expand_phase(&runner->model, (uint32_t)i, runner->rank, lane->thread,
                                              chosen ? take_step : leave_out, lane);
        }
    }
    complete_pending(lane, NULL, true);
    waits_end(lane);
    return NULL;
}

static int run_lanes(struct runner *runner)
{
    uint32_t count = model_threads(&runner->model, runner->job->program);
    struct lane_run *lane = calloc(count + 1, sizeof *lane);
    pthread_t *thread = calloc(count + 1, sizeof *thread);
    int code = lane && thread ? 0 : -ENOMEM;
    uint32_t started = 1;
    for (uint32_t i = 0; i < count && !code; i++) {
        lane[i] = (struct lane_run){.runner = runner, .thread = i, .next_wanted = UINT64_MAX};
    }
    if (!code) code = waits_begin(runner, lane, count);
    while (started < count && !code) {
        code = -pthread_create(&thread[started], NULL, run_lane, &lane[started]);
        if (!code) started++;
    }
    if (!code && count) run_lane(&lane[0]);
    if (code && started > 1) { // those that do not run are waited for by nobody
        waits_end(&lane[0]);
        for (uint32_t i = started; i < count; i++) waits_end(&lane[i]);
    }
    for (uint32_t i = 1; i < started && thread; i++) pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < count && lane; i++) {
        if (lane[i].status && !code) code = lane[i].status;
        free_lane(&lane[i]);
    }
    free(lane);
    free(thread);
    return code;
}

// --- the whole

static int set_up_files(struct runner *runner)
{
    const struct model *model = &runner->model;
    const char *folder = runner->job->directory;
    runner->sleeps = model_threads(model, runner->job->program) > sysconf(_SC_NPROCESSORS_ONLN);
    runner->opened_somewhere = calloc(model->files + 1, sizeof *runner->opened_somewhere);
    runner->memory_types = calloc(model->types.count + 1, sizeof *runner->memory_types);
    RETURN_IF(!runner->opened_somewhere || !runner->memory_types, -ENOMEM);
    RETURN_IF(asprintf(&runner->link_target, "%s/%s", folder, LINK_TARGET) < 0, -ENOMEM);
    FORWARD(runner_find_opened(runner, runner->opened_somewhere));
    return paths_make(&runner->paths, model, folder);
}

int runner_run(struct runner *runner)
{
    pthread_mutex_init(&runner->lock, NULL);
    pthread_mutex_init(&runner->wait_lock, NULL);
    pthread_cond_init(&runner->opened, NULL);
    runner->rank = (uint32_t)world_rank();
    runner->np = (uint32_t)world_size();
    runner->clock_seconds = measure_clock();
    runner->time = calloc(runner->model.phases + 1, sizeof *runner->time);
    if (runner->job->latency) runner->latency = calloc(runner->model.phases + 1, sizeof *runner->latency);
    RETURN_IF(!runner->time || (runner->job->latency && !runner->latency), -ENOMEM);
    int code = set_up_files(runner);
    if (!code) code = runner_choose_barriers(runner);
    world_barrier();
    if (!code) code = run_lanes(runner);
    free_files(runner);
    if (!code) code = runner_report(runner);
    free(runner->time);
    free(runner->latency);
    free(runner->barriers);
    return code;
}
