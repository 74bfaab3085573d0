#include "replay/runner/variants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "replay/runner/ops.h"
#ifdef IOSEER_REPLAY_MPI
#include "replay/runner/variants_mpi.h"
#endif

enum { FORMS = 16, MOST_HIDDEN = 64 };

int variants_begin(struct runner *runner) {
    struct variants *v = &runner->variants;
    if (!runner->job->variant) return 0;
    FORWARD(variant_parse(&v->variant, runner->job->variant));
#ifdef IOSEER_REPLAY_MPI
    v->variant.nodes = mpi_count_nodes();
#endif
    v->changes_calls = variant_changes_calls(&v->variant) && !runner->job->null;
    if (!v->changes_calls && !v->variant.own_files) return 0;
    v->kind = calloc(runner->model.kinds * FORMS + 1, sizeof *v->kind);
    RETURN_IF(!v->kind, -ENOMEM);
    FORWARD(variant_files_find(&v->files, &runner->model, runner->job->program, runner->job->phases));
#ifdef IOSEER_REPLAY_MPI
    if (v->variant.interface == VARIANT_COLLECTIVE) FORWARD(mpi_make_users(&v->files));
#endif
    return 0;
}

void variants_end(struct runner *runner) {
    struct variants *v = &runner->variants;
    for (size_t i = 0; v->kind && i < runner->model.kinds * FORMS; i++) free(v->kind[i]);
    free(v->kind);
    variant_files_free(&v->files);
}

bool variants_owns(const struct runner *runner, uint32_t set, uint32_t member) {
    const struct variants *v = &runner->variants;
    const struct variant_file *file = v->variant.own_files ? variant_file_of(&v->files, set, member) : NULL;
    return file && file->users > 1;
}

// --- the calls

static uint16_t call_of(enum variant_way way, bool writes, bool nonblocking) {
    static const uint16_t calls[][2][2] = {
        [WAY_COLLECTIVE] = {{CALL_MPI_File_read_at_all, CALL_MPI_File_iread_at_all},
                            {CALL_MPI_File_write_at_all, CALL_MPI_File_iwrite_at_all}},
        [WAY_INDEPENDENT] = {{CALL_MPI_File_read_at, CALL_MPI_File_iread_at},
                             {CALL_MPI_File_write_at, CALL_MPI_File_iwrite_at}},
        [WAY_POSIX] = {{CALL_pread, CALL_aio_read}, {CALL_pwrite, CALL_aio_write}},
    };
    return calls[way][writes][nonblocking];
}

static struct op_kind *make_kind(const struct op_kind *recorded, enum variant_way way, bool packs, bool nonblocking) {
    struct op_kind *kind = malloc(sizeof *kind);
    if (!kind) return NULL;
    *kind = *recorded;
    kind->call_id = call_of(way, kind->class == CLASS_WRITE, nonblocking);
    kind->call = call_names[kind->call_id];
    kind->layer = way == WAY_POSIX ? LAYER_POSIX : LAYER_MPIIO;
    kind->collective = way == WAY_COLLECTIVE;
    kind->nonblocking = nonblocking;
    if (recorded->layer == LAYER_POSIX) kind->handle = VARIANT_HANDLE;
    if (way == WAY_POSIX) kind->has_view = false;
    if (way == WAY_POSIX || packs) kind->memory = 0;
    return kind;
}

// A kind of a call in place of a recorded one. Bytes that calls of other sizes move come from memory without holes.
static const struct op_kind *kind_as(struct runner *runner, const struct op_kind *recorded, enum variant_way way,
                                     bool packs, bool nonblocking) {
    size_t form = (size_t)way | (packs ? 4 : 0) | (nonblocking ? 8 : 0);
    struct op_kind **kind = &runner->variants.kind[(size_t)(recorded - runner->model.kind) * FORMS + form];
    pthread_mutex_lock(&runner->lock);
    if (!*kind) *kind = make_kind(recorded, way, packs, nonblocking);
    pthread_mutex_unlock(&runner->lock);
    return *kind;
}

static const struct replay_backend *backend_of(const struct op_kind *kind) {
#ifdef IOSEER_REPLAY_MPI
    if (kind->layer == LAYER_MPIIO) return &replay_mpiio;
#endif
    (void)kind;
    return &replay_posix;
}

static int make_call(int64_t at, uint64_t bytes, void *context) {
    struct replay_thread *thread = context;
    struct variant_making *making = &thread->making;
    struct op op = making->op;
    struct model_step step = {
        .kind = making->kind, .op = &op, .phase = making->phase, .think = making->think, .async = making->async};
    const struct replay_backend *backend = backend_of(step.kind);
    op.at[making->in_view ? AT_SECOND : AT_OFFSET] = at;
    op.at[AT_SIZE] = (int64_t)bytes;
    making->think = NULL;
    if (thread->pendings >= MOST_HIDDEN) transfers_end_hidden(thread);
    if (backend->prepare) backend->prepare(thread->runner, &step);
    return transfers_run(thread, backend, making->file, &step);
}

int variants_flush(struct replay_thread *thread) {
    return variant_stream_end(&thread->making.stream, &thread->runner->variants.variant, make_call, thread);
}

// --- files that the program has open in another way

static int open_descriptor(struct replay_file *file) {
    file->flags = O_RDWR | O_CLOEXEC;
    file->fd = open(file->path, file->flags);
    if (file->fd < 0) file->fd = open(file->path, file->flags = O_RDONLY | O_CLOEXEC);
    file->fd_is_of_variant = file->fd >= 0;
    return file->fd < 0 ? -errno : 0;
}

static int open_as(struct replay_thread *thread, struct replay_file *file, const struct op_kind *recorded,
                   enum variant_way way) {
    struct runner *runner = thread->runner;
    int code = 0;
    double start = clock_seconds();
    pthread_mutex_lock(&file->position_lock);
    if (way == WAY_POSIX && recorded->layer == LAYER_MPIIO && file->fd < 0) code = open_descriptor(file);
#ifdef IOSEER_REPLAY_MPI
    if (way != WAY_POSIX && recorded->layer == LAYER_POSIX) code = mpi_open_for_variant(runner, file, way);
#endif
    pthread_mutex_unlock(&file->position_lock);
    operations_add(runner, &runner->time[thread->making.phase].others, clock_seconds() - start);
    return code;
}

void variants_close(struct replay_file *file, const struct model_step *step) {
    if (step->kind->layer == LAYER_MPIIO && file->fd_is_of_variant) {
        close(file->fd);
        file->fd = -1;
        file->fd_is_of_variant = false;
    }
#ifdef IOSEER_REPLAY_MPI
    if (step->kind->layer == LAYER_POSIX) mpi_close_for_variant(file);
#endif
}

// --- a transfer

// Whether calls that were put off may wait for the step.
static bool goes_on(const struct replay_thread *thread, const struct model_step *step) {
    const struct variant_stream *stream = &thread->making.stream;
    if (!op_kind_moves(step->kind)) return variant_stream_lets_pass(step->kind);
    return stream->kind == step->kind && stream->member == step->op->at[AT_MEMBER] &&
           variant_resizes(&thread->runner->variants.variant, &thread->runner->variants.files, step);
}

int variants_before(struct replay_thread *thread, const struct model_step *step) {
    return thread->making.stream.kind && !goes_on(thread, step) ? variants_flush(thread) : 0;
}

// Makes calls of bytes that are in one piece, in a view or in the file.
static int move(struct replay_thread *thread, const struct model_step *step, int64_t at, uint64_t bytes,
                uint64_t unit) {
    struct variant_making *making = &thread->making;
    const struct variant *variant = &thread->runner->variants.variant;
    int64_t member = step->op->at[AT_MEMBER];
    if (!making->resizes) return make_call(at, bytes, thread);
    if (!variant_stream_joins(&making->stream, step->kind, member, at)) FORWARD(variants_flush(thread));
    return variant_stream_add(&making->stream, variant, step->kind, member, at, bytes, unit, make_call, thread);
}

static int move_pieces(struct replay_thread *thread, const struct replay_file *file, const struct model_step *step) {
    struct datatype_map map;
    struct datatype_piece piece;
    const struct datatype_tiling *view = &file->mpi[step->kind->handle].view;
    uint64_t bytes = (uint64_t)step->op->at[AT_SIZE];
    int more;
    if (!bytes) return 0;
    FORWARD(datatype_map_start(&map, view, (uint64_t)step->op->at[AT_SECOND], bytes));
    while ((more = datatype_map_next(&map, &piece)) == 1) FORWARD(move(thread, step, piece.offset, piece.bytes, 0));
    return more;
}

static int move_all(struct replay_thread *thread, const struct replay_file *file, const struct model_step *step,
                    enum variant_way way) {
    bool in_view = step->kind->has_view && file->mpi[step->kind->handle].has_view;
    uint64_t unit = 0;
    if (way == WAY_POSIX && in_view) return move_pieces(thread, file, step);
#ifdef IOSEER_REPLAY_MPI
    if (thread->making.in_view) unit = mpi_unit_of_view(file, step);
#endif
    int64_t at = step->op->at[thread->making.in_view ? AT_SECOND : AT_OFFSET];
    return move(thread, step, at, (uint64_t)step->op->at[AT_SIZE], unit);
}

static void set_making(struct replay_thread *thread, struct replay_file *file, const struct model_step *step,
                       enum variant_way way) {
    struct runner *runner = thread->runner;
    struct variant_making *making = &thread->making;
    bool resizes = variant_resizes(&runner->variants.variant, &runner->variants.files, step);
    bool in_pieces = way == WAY_POSIX && step->kind->has_view;
    bool nonblocking = runner->variants.variant.nonblocking || (step->kind->nonblocking && !in_pieces);
    making->file = file;
    making->kind = kind_as(runner, step->kind, way, resizes, nonblocking);
    making->op = *step->op;
    making->phase = step->phase;
    making->in_view = way != WAY_POSIX && step->kind->has_view;
    making->resizes = resizes;
    making->think = step->think;
    making->async = step->kind->nonblocking && nonblocking ? step->async : NULL;
}

// A write goes on while the program works after it; the next one waits for its end. A read begins before the work that
// comes before it.
static int move_hidden(struct replay_thread *thread, const struct replay_file *file, const struct model_step *step,
                       enum variant_way way) {
    double free_at = thread->free_at;
    thread->making.think = NULL;
    if (step->kind->class == CLASS_WRITE) pauses_wait(thread, step);
    transfers_end_hidden(thread);
    thread->hides = true;
    int code = move_all(thread, file, step, way);
    thread->hides = false;
    if (step->kind->class == CLASS_WRITE || code < 0) return code;
    thread->free_at = free_at;
    pauses_wait(thread, step);
    transfers_end_hidden(thread);
    return 0;
}

int variants_transfer(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                      const struct model_step *step) {
    const struct variants *v = &thread->runner->variants;
    enum variant_way way = variant_way(&v->variant, &v->files, step);
    if (way == WAY_RECORDED) return transfers_run(thread, backend, file, step);
    set_making(thread, file, step, way);
    RETURN_IF(!thread->making.kind, -ENOMEM);
    int code = open_as(thread, file, step->kind, way);
    if (code < 0) operations_failed(thread, step, file, code);
    bool hides = v->variant.nonblocking && !step->kind->nonblocking;
    code = hides ? move_hidden(thread, file, step, way) : move_all(thread, file, step, way);
    if (!thread->making.think || code < 0) return code;
    pauses_wait(thread, step); // nothing was called yet
    thread->making.think = NULL;
    thread->free_at = clock_seconds();
    return 0;
}
