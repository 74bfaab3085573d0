#include "replay/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/grow.h"
#include "base/json_out.h"
#include "model/model_read.h"
#include "replay/world.h"

enum { OPEN_WAIT_SECONDS = 10, BUFFER_ALIGN = 4096, MALLOC_OFFSET = 16, PREPARE_BYTES = 1 << 20 };

double runner_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// --- files

static char *path_of(const struct runner *runner, uint32_t set, uint32_t member)
{
    char name[MODEL_PLAIN_NAME_BYTES], *path = NULL;
    model_plain_name(&runner->model, set, member, name);
    return asprintf(&path, "%s/%s", runner->options->directory, name) < 0 ? NULL : path;
}

static struct replay_file *find_file(struct runner *runner, uint32_t set, uint32_t member)
{
    uint32_t at = lookup_find(&runner->file_of, lookup_pair(set, member));
    if (at != LOOKUP_NONE) return runner->file[at];
    struct replay_file *file = calloc(1, sizeof *file);
    if (!file || grow(&runner->file, &runner->files_room, runner->files, sizeof *runner->file) < 0) {
        free(file);
        return NULL;
    }
    *file = (struct replay_file){.set = set, .member = member, .fd = -1, .spare = -1};
    file->path = path_of(runner, set, member);
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
    (void)file;
    pthread_mutex_lock(&runner->lock);
    pthread_cond_broadcast(&runner->opened);
    pthread_mutex_unlock(&runner->lock);
}

static void free_files(struct runner *runner)
{
    for (size_t i = 0; i < runner->files; i++) {
        replay_posix.end_file(runner->file[i]);
        replay_stdio.end_file(runner->file[i]);
#ifdef IOSEER_REPLAY_MPI
        replay_mpiio.end_file(runner->file[i]);
#endif
        free(runner->file[i]->path);
        free(runner->file[i]);
    }
    free(runner->file);
    lookup_free(&runner->file_of);
}

static bool is_open(const struct replay_file *file)
{
    return file->fd >= 0 || file->spare >= 0 || file->stream || file->mpi;
}

// Another thread may have to open it first.
static void wait_for_open(struct runner *runner, const struct replay_file *file)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += OPEN_WAIT_SECONDS;
    pthread_mutex_lock(&runner->lock);
    while (!is_open(file) && pthread_cond_timedwait(&runner->opened, &runner->lock, &until) == 0) continue;
    pthread_mutex_unlock(&runner->lock);
}

// --- operations

static const struct replay_backend *backend_of(const struct runner *runner, unsigned layer)
{
    if (runner->options->null) return &replay_null;
    switch (layer) {
    case LAYER_STDIO: return &replay_stdio;
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
    if (!runner->failed++) {
        snprintf(runner->first_failure, sizeof runner->first_failure, "%s: %.150s: %s", step->kind->call,
                 file ? file->path : "", strerror((int)-error));
    }
    pthread_mutex_unlock(&runner->lock);
}

// Memory as malloc gives it: large pieces begin a little behind a page, which makes one page more of each transfer.
static int reserve_buffer(struct lane_run *lane, const struct replay_file *file, size_t bytes)
{
    size_t room = (bytes + 2 * BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
    if (room > lane->buffer_bytes) {
        free(lane->buffer);
        lane->buffer_bytes = 0;
        lane->buffer = aligned_alloc(BUFFER_ALIGN, room);
        RETURN_IF(!lane->buffer, -ENOMEM);
        data_fill(lane->buffer, 0, 0, 0, room);
        lane->buffer_bytes = room;
    }
    lane->data = (unsigned char *)lane->buffer + (file->flags & O_DIRECT ? 0 : MALLOC_OFFSET);
    return 0;
}

static void complete_pending(struct lane_run *lane)
{
#ifdef IOSEER_REPLAY_MPI
    if (lane->pending <= 0) return;
    replay_mpiio.complete(lane);
    lane->runner->time[lane->pending_phase].seconds += runner_now() - lane->pending;
    lane->pending = 0;
#else
    (void)lane;
#endif
}

static int64_t do_step(struct lane_run *lane, const struct replay_backend *backend, struct replay_file *file,
                       const struct model_step *step, bool transfers)
{
    if (transfers) return backend->transfer(lane, file, step, lane->data);
    if (step->kind->class == CLASS_OPEN && file) return backend->open(lane, file, step);
    if (step->kind->class == CLASS_CLOSE && file) return backend->close(lane, file, step);
    return backend->other(lane, file, step);
}

// The whole pattern takes time that the program may not have taken: where nobody checks it, every page gets some of it.
static void prepare_data(struct lane_run *lane, const struct replay_file *file, const struct model_step *step)
{
    uint64_t bytes = (uint64_t)step->op->at[AT_SIZE], offset = (uint64_t)step->op->at[AT_OFFSET];
    if (lane->runner->options->verify) {
        data_of_step(lane->data, file, step, bytes, false);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += BUFFER_ALIGN) {
        uint64_t part = bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);
        data_fill(lane->data + at, file->set, file->member, offset + at, part);
    }
}

static void verify(struct lane_run *lane, const struct model_step *step, const struct replay_file *file, int64_t moved)
{
    if (!lane->runner->options->verify || step->kind->class != CLASS_READ || moved <= 0 || lane->pending > 0) return;
    if (!step->kind->has_offset) return; // a shared pointer: nobody knows where
    uint64_t wrong = data_of_step(lane->data, file, step, (uint64_t)moved, true);
    __atomic_fetch_add(&lane->runner->wrong_bytes, wrong, __ATOMIC_RELAXED);
}

// Works as long as the program worked before this operation; what was done since the last one counts.
static void think(struct lane_run *lane, const struct model_step *step)
{
    if (!lane->runner->options->think) return;
    double until = lane->free_at + next_pause(lane, step->think);
    while (runner_now() < until) continue;
}

// Of several barriers the last stands before what comes, the others behind what was: the pause lies between.
static void run_barriers(struct lane_run *lane, const struct model_step *step)
{
    bool takes_part = !lane->thread && lane->runner->barriers[step->phase];
    int64_t count = step->op->at[AT_SIZE];
    for (int64_t i = 1; takes_part && i < count; i++) world_barrier();
    if (takes_part && count > 1) lane->free_at = runner_now();
    think(lane, step);
    if (!takes_part) return;
    world_barrier();
    lane->free_at = runner_now();
}

static int take_step(const struct model_step *step, void *context)
{
    struct lane_run *lane = context;
    struct runner *runner = lane->runner;
    const struct op_kind *kind = step->kind;
    bool transfers = kind->class == CLASS_READ || kind->class == CLASS_WRITE;
    complete_pending(lane);
    if (kind->class == CLASS_NONE) {
        run_barriers(lane, step);
        return 0;
    }
    struct replay_file *file =
        kind->set == OP_NO_SET ? NULL : runner_file(runner, kind->set, (uint32_t)step->op->at[AT_MEMBER]);
    if (kind->set != OP_NO_SET && !file) return -ENOMEM;
    if (transfers && !file) return 0;
    if (transfers) {
        FORWARD(reserve_buffer(lane, file, (size_t)step->op->at[AT_SIZE]));
        if (!runner->options->null && !is_open(file)) wait_for_open(runner, file);
        if (kind->class == CLASS_WRITE) prepare_data(lane, file, step);
    }
    const struct replay_backend *backend = backend_of(runner, kind->layer);
    think(lane, step);
    double start = runner_now();
    int64_t result = do_step(lane, backend, file, step, transfers);
    double end = runner_now();
    if (transfers && kind->nonblocking && backend->complete) {
        lane->pending = start;
        lane->pending_phase = step->phase;
    } else {
        struct phase_time *time = &runner->time[step->phase];
        *(transfers ? &time->seconds : &time->others) += end - start;
    }
    // What only looks at names may find them otherwise than the program did: the comparison tells.
    bool counts = transfers || kind->class == CLASS_OPEN || kind->class == CLASS_CLOSE || kind->class == CLASS_SYNC;
    if (result < 0 && !kind->error && counts) note_failure(lane, step, file, result);
    if (transfers) verify(lane, step, file, result);
    lane->free_at = end; // what checking took is part of the next pause
    return 0;
}

// --- lanes

static bool phase_is_chosen(const struct runner *runner, size_t phase)
{
    const char *at = runner->options->phases;
    if (!at || !*at) return true;
    while (*at) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        if (phase + 1 >= first && phase + 1 <= last) return true;
        at = *end ? end + 1 : end;
    }
    return false;
}

static void *run_lane(void *context)
{
    struct lane_run *lane = context;
    struct runner *runner = lane->runner;
    const struct model_program *program = &runner->model.program[runner->options->program];
    lane->free_at = runner_now();
    for (size_t i = program->first; i < program->end && !lane->status; i++) {
        const struct model_family *family = &runner->model.family[runner->model.phase[i].family];
        bool parted = family->cut == CUT_COMMUNICATION && i > program->first;
        complete_pending(lane);
        if (parted && !lane->thread && program->is_mpi) {
            world_move();
            lane->free_at = runner_now();
        }
        if (phase_is_chosen(runner, i)) {
            lane->status = model_expand_phase(&runner->model, (uint32_t)i, runner->rank, lane->thread, take_step, lane);
        }
    }
    complete_pending(lane);
    return NULL;
}

static int run_lanes(struct runner *runner)
{
    uint32_t count = model_threads(&runner->model, runner->options->program);
    struct lane_run *lane = calloc(count + 1, sizeof *lane);
    pthread_t *thread = calloc(count + 1, sizeof *thread);
    int code = lane && thread ? 0 : -ENOMEM;
    uint32_t started = 1;
    for (uint32_t i = 0; i < count && !code; i++) lane[i] = (struct lane_run){.runner = runner, .thread = i};
    for (; started < count && !code; started++)
        code = -pthread_create(&thread[started], NULL, run_lane, &lane[started]);
    if (!code && count) run_lane(&lane[0]);
    for (uint32_t i = 1; i < started && thread; i++) pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < count && lane; i++) {
        if (lane[i].status && !code) code = lane[i].status;
        free(lane[i].buffer);
        free(lane[i].mpi_request);
        lookup_free(&lane[i].pauses);
    }
    free(lane);
    free(thread);
    return code;
}

// --- barriers: of all processes or of none, lest some wait for ever

struct barrier_count {
    const struct model *model;
    int64_t count;
};

static int count_barriers(const struct op *op, size_t leaf, void *context)
{
    struct barrier_count *barriers = context;
    (void)leaf;
    if (barriers->model->kind[op->kind].class == CLASS_NONE) barriers->count += op->at[AT_SIZE];
    return 0;
}

static int add_part_barriers(const struct runner *runner, const struct model_family *family,
                             const struct model_part *part, uint32_t ph, int64_t *count)
{
    size_t place = model_place(part->ph, part->phs, ph);
    for (size_t i = 0; place != SIZE_MAX && !part->thread && i < part->ranks; i++) {
        struct arena arena = {0};
        struct nest_seq seq;
        struct barrier_count barriers = {.model = &runner->model};
        int code = model_instance(&runner->model, family, part, place, i, &arena, &seq);
        if (!code) nest_walk(&seq, count_barriers, &barriers);
        arena_free(&arena);
        FORWARD(code);
        count[part->rank[i]] += barriers.count;
    }
    return 0;
}

// A phase's barriers are done where all processes have the same number of them.
static int choose_barriers(struct runner *runner)
{
    const struct model_program *program = &runner->model.program[runner->options->program];
    int64_t *count = malloc(runner->np * sizeof *count);
    runner->barriers = calloc(runner->model.phases + 1, sizeof *runner->barriers);
    int code = count && runner->barriers ? 0 : -ENOMEM;
    for (size_t i = program->first; i < program->end && !code; i++) {
        const struct model_phase *phase = &runner->model.phase[i];
        const struct model_family *family = &runner->model.family[phase->family];
        memset(count, 0, runner->np * sizeof *count);
        for (size_t k = 0; k < family->others && !code; k++) {
            code = add_part_barriers(runner, family, &family->other[k], phase->ph, count);
        }
        runner->barriers[i] = true;
        for (uint32_t r = 1; r < runner->np; r++) {
            if (count[r] != count[0]) runner->barriers[i] = false;
        }
    }
    free(count);
    return code;
}

// --- what was there before

static int prepare_file(struct runner *runner, uint32_t set, uint32_t member, uint64_t bytes)
{
    struct replay_file *file = runner_file(runner, set, member);
    unsigned char *data = malloc(PREPARE_BYTES);
    int fd = file && data ? open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    int code = !file || !data ? -ENOMEM : fd < 0 ? -errno : 0;
    for (uint64_t offset = 0; offset < bytes && !code;) {
        size_t part = bytes - offset < PREPARE_BYTES ? (size_t)(bytes - offset) : PREPARE_BYTES;
        data_fill(data, set, member, offset, part);
        ssize_t put = pwrite(fd, data, part, (off_t)offset);
        if (put < 0)
            code = -errno;
        else
            offset += (uint64_t)put;
    }
    // Cold: the data must be on the device before the page cache lets go of it.
    if (!code && runner->options->cold && (fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)))
        code = -errno;
    if (fd >= 0) close(fd);
    free(data);
    return code;
}

int runner_prepare(struct runner *runner)
{
    pthread_mutex_init(&runner->lock, NULL);
    int code = 0;
    for (uint32_t set = 0; set < runner->model.files && !code; set++) {
        const struct model_file *file = &runner->model.file[set];
        for (uint64_t member = 0; member < file->existed && !code; member++) {
            code = prepare_file(runner, set, (uint32_t)member, file->size_before / file->existed);
        }
    }
    free_files(runner);
    return code;
}

// --- the result

static void write_result(const struct runner *runner, const struct phase_time *all, const uint64_t *counts, FILE *out)
{
    struct json_out *json = malloc(sizeof *json);
    if (!json) return;
    const struct model_program *program = &runner->model.program[runner->options->program];
    json_out_begin(json, out, 2);
    json_object(json);
    json_key(json, "phases");
    json_array(json);
    for (size_t i = program->first; i < program->end; i++) {
        double slowest = 0, others = 0;
        for (uint32_t rank = 0; rank < runner->np; rank++) {
            const struct phase_time *time = &all[(size_t)rank * runner->model.phases + i];
            if (time->seconds > slowest) slowest = time->seconds;
            if (time->others > others) others = time->others;
        }
        json_object(json);
        json_key(json, "id");
        json_unsigned(json, i + 1);
        json_key(json, "time");
        json_double(json, slowest);
        json_key(json, "others");
        json_double(json, others);
        json_close(json);
    }
    json_close(json);
    static const char *const names[] = {"wrong_bytes", "failed", "skipped"};
    for (unsigned k = 0; k < 3; k++) {
        uint64_t sum = 0;
        for (uint32_t rank = 0; rank < runner->np; rank++) sum += counts[rank * 3 + k];
        json_key(json, names[k]);
        json_unsigned(json, sum);
    }
    json_key(json, "first_failure");
    json_text(json, *runner->first_failure ? runner->first_failure : NULL);
    json_close(json);
    json_out_end(json);
    free(json);
}

static int report(const struct runner *runner)
{
    size_t bytes = runner->model.phases * sizeof *runner->time;
    uint64_t mine[3] = {runner->wrong_bytes, runner->failed, runner->skipped};
    struct phase_time *all = runner->rank ? NULL : malloc(bytes * runner->np + 1);
    uint64_t *counts = runner->rank ? NULL : malloc(sizeof mine * runner->np);
    world_gather(runner->time, bytes, all);
    world_gather(mine, sizeof mine, counts);
    int code = 0;
    if (!runner->rank) {
        FILE *out = all && counts ? fopen(runner->options->result, "we") : NULL;
        if (out) write_result(runner, all, counts, out);
        code = !out || fclose(out) ? -EIO : 0;
    }
    free(all);
    free(counts);
    return code;
}

// --- the whole

int runner_run(struct runner *runner)
{
    pthread_mutex_init(&runner->lock, NULL);
    pthread_cond_init(&runner->opened, NULL);
    runner->rank = (uint32_t)world_rank();
    runner->np = (uint32_t)world_size();
    runner->time = calloc(runner->model.phases + 1, sizeof *runner->time);
    RETURN_IF(!runner->time, -ENOMEM);
    int code = choose_barriers(runner);
    world_barrier();
    if (!code) code = run_lanes(runner);
    free_files(runner);
    if (!code) code = report(runner);
    free(runner->time);
    free(runner->barriers);
    return code;
}
