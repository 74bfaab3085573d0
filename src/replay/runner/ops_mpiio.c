// Calls of MPI-IO.
#include "replay/runner/ops_mpiio.h"

#include "base/scoped.h"
#include "replay/runner/mpi_objects.h"
#include "replay/runner/world_mpi.h"

static struct mpi_open *open_of(const struct replay_file *file, const struct model_step *step) {
    return file->mpi[step->kind->handle].open;
}

static bool transfers(const struct model_step *step) {
    return step->kind->class == CLASS_READ || step->kind->class == CLASS_WRITE;
}

// The model has bytes, MPI counts elementary types.
static struct mpi_arguments arguments_of(const struct replay_file *file, const struct model_step *step) {
    const struct mpi_open *open = open_of(file, step);
    bool in_view = transfers(step) && step->kind->has_view;
    return (struct mpi_arguments){
        .path = file->path,
        .file = open ? open->handle : MPI_FILE_NULL,
        .at = step->op->at[in_view ? AT_SECOND : AT_OFFSET] / (open ? open->etype_bytes : 1),
        .size = step->op->at[AT_SIZE],
    };
}

// --- files

static int64_t mpi_error(int code) {
    int class;
    if (code == MPI_SUCCESS) return 0;
    MPI_Error_class(code, &class);
    switch (class) {
    case MPI_ERR_NO_SUCH_FILE: return -ENOENT;
    case MPI_ERR_NO_SPACE: return -ENOSPC;
    case MPI_ERR_ACCESS: return -EACCES;
    case MPI_ERR_READ_ONLY: return -EROFS;
    case MPI_ERR_FILE_EXISTS: return -EEXIST;
    default: return -EIO;
    }
}

static int64_t mpiio_open(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    struct mpi_open *open = calloc(1, sizeof *open);
    if (!open) return -ENOMEM;
    open->etype_bytes = 1;
    MPI_Info info = mpi_hints_of(thread->runner, step->kind, true);
    MPI_Comm comm = file->is_own ? MPI_COMM_SELF : world_communicator(step->kind);
    int flags = (int)step->kind->flags;
    if (file->is_own && !(flags & MPI_MODE_RDONLY)) flags |= MPI_MODE_CREATE;
    int code = MPI_File_open(comm, file->path, flags, info, &open->handle);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (code != MPI_SUCCESS) {
        free(open);
        return mpi_error(code);
    }
    file->mpi[step->kind->handle].open = open;
    file->mpi[step->kind->handle].has_view = false;
    files_opened(thread->runner, file);
    return 0;
}

static int64_t mpiio_close(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    (void)thread;
    struct mpi_open *open = open_of(file, step);
    if (!open) return 0;
    int code = MPI_File_close(&open->handle);
    free(open);
    file->mpi[step->kind->handle].open = NULL;
    return mpi_error(code);
}

// --- transfers

static int64_t moved_bytes(int code, const MPI_Status *status, int64_t asked) {
    int count;
    if (code != MPI_SUCCESS) return mpi_error(code);
    return MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count != MPI_UNDEFINED ? count : asked;
}

// A nonblocking or split transfer that has begun.
struct begun {
    const struct mpi_call *call;
    struct mpi_arguments a;
};

static int64_t complete(struct begun *begun) {
    struct mpi_arguments *a = &begun->a;
    int code = begun->call->end ? begun->call->end(a) : MPI_Wait(&a->request, &a->status);
    int64_t moved = moved_bytes(code, &a->status, 0);
    free(begun);
    return moved;
}

// An MPI may sleep in MPI_Waitall and spin in MPI_Wait: requests that the program waited for together end together.
static int complete_together(void *const *begun, size_t count, MPI_Request *request, MPI_Status *status) {
    for (size_t i = 0; i < count; i++) request[i] = ((struct begun *)begun[i])->a.request;
    return MPI_Waitall((int)count, request, status);
}

static bool are_nonblocking(void *const *begun, size_t count) {
    size_t i = 0;
    while (i < count && !((struct begun *)begun[i])->call->end) i++;
    return i == count;
}

static void mpiio_complete(void *const *begun, size_t count, int64_t *moved) {
    SCOPED_FREE MPI_Request *request = calloc(count, sizeof *request);
    SCOPED_FREE MPI_Status *status = calloc(count, sizeof *status);
    if (count == 1 || !request || !status || !are_nonblocking(begun, count)) {
        for (size_t i = 0; i < count; i++) moved[i] = complete(begun[i]);
        return;
    }
    int code = complete_together(begun, count, request, status);
    for (size_t i = 0; i < count; i++) {
        moved[i] = moved_bytes(code == MPI_ERR_IN_STATUS ? status[i].MPI_ERROR : code, &status[i], 0);
        free(begun[i]);
    }
}

static int64_t begin(struct replay_thread *thread, const struct mpi_call *call, const struct mpi_arguments *a) {
    struct begun *begun = malloc(sizeof *begun);
    if (!begun) return -ENOMEM;
    *begun = (struct begun){call, *a};
    int code = call->run(&begun->a);
    if (code == MPI_SUCCESS)
        thread->submitted = begun;
    else
        free(begun);
    return code == MPI_SUCCESS ? a->size : mpi_error(code);
}

static int64_t mpiio_transfer(struct replay_thread *thread, struct replay_file *file, const struct model_step *step,
                              void *data) {
    const struct mpi_call *call = &mpi_calls[step->kind->call_id];
    struct mpi_arguments a = arguments_of(file, step);
    if (a.file == MPI_FILE_NULL) return -EBADF;
    if (!call->run) {
        operations_skip(thread->runner, step);
        return a.size;
    }
    struct mpi_memory memory = mpi_memory_of(thread->runner, file, step);
    a.data = data;
    a.count = memory.count;
    a.type = memory.type;
    if (call_table[step->kind->call_id].form != FORM_BLOCKING) return begin(thread, call, &a);
    return moved_bytes(call->run(&a), &a.status, a.size);
}

// --- other calls

static int64_t mpiio_other(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    unsigned form = replay_call_of(step)->form;
    bool is_open = file && open_of(file, step);
    if (form == REPLAY_MPI_VIEW && is_open) return mpi_error(mpi_set_view(thread, file, step));
    if ((form == REPLAY_MPI && is_open) || (form == REPLAY_NAME && file)) {
        struct mpi_arguments a = arguments_of(file, step);
        return mpi_error(mpi_calls[step->kind->call_id].run(&a));
    }
    operations_skip(thread->runner, step);
    return 0;
}

static void mpiio_end_file(struct replay_file *file) {
    for (unsigned i = 0; i < OP_MOST_HANDLES; i++) {
        struct mpi_open *open = file->mpi[i].open;
        if (open) MPI_File_close(&open->handle);
        free(open);
        file->mpi[i].open = NULL;
    }
}

static bool mpiio_lacks(const struct replay_file *file, const struct model_step *step) {
    return !open_of(file, step) && transfers(step);
}

// The trace has the transfer but not its open: each process opens the file for itself.
static void mpiio_make_ready(const struct runner *runner, struct replay_file *file, const struct model_step *step) {
    (void)runner;
    if (call_table[step->kind->call_id].traits & CALL_COLLECTIVE || step->kind->collective) return;
    struct mpi_open *open = calloc(1, sizeof *open);
    if (!open) return;
    open->etype_bytes = 1;
    int code = MPI_File_open(MPI_COMM_SELF, file->path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &open->handle);
    if (code != MPI_SUCCESS)
        code = MPI_File_open(MPI_COMM_SELF, file->path, MPI_MODE_RDONLY, MPI_INFO_NULL, &open->handle);
    if (code == MPI_SUCCESS)
        file->mpi[step->kind->handle].open = open;
    else
        free(open);
}

const struct replay_backend replay_mpiio = {
    .layer = LAYER_MPIIO,
    .prepare = mpi_make_types,
    .lacks = mpiio_lacks,
    .make_ready = mpiio_make_ready,
    .open = mpiio_open,
    .close = mpiio_close,
    .transfer = mpiio_transfer,
    .other = mpiio_other,
    .complete = mpiio_complete,
    .end_file = mpiio_end_file,
};
