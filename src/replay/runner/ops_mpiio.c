// MPI-IO in all its forms. The name of the call says which:
// MPI_File_[i](read|write)[_at|_shared|_ordered][_all][_begin].
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "replay/runner/mpi_objects.h"
#include "replay/runner/runner.h"

struct form {
    bool is_write, at, shared, ordered, all, nonblocking, split;
};

static struct form form_of(const struct op_kind *kind)
{
    const char *call = kind->call;
    return (struct form){.is_write = kind->class == CLASS_WRITE,
                         .at = strstr(call, "_at") != NULL,
                         .shared = strstr(call, "_shared") != NULL,
                         .ordered = strstr(call, "_ordered") != NULL,
                         .all = strstr(call, "_all") != NULL,
                         .nonblocking = strstr(call, "_iread") || strstr(call, "_iwrite"),
                         .split = strstr(call, "_begin") != NULL};
}

struct under_way { // a nonblocking or split transfer
    MPI_Request request;
    MPI_File file;
    struct form form;
    void *data;
};

static MPI_File handle_of(const struct replay_file *file)
{
    const struct mpi_open *open = file->mpi;
    return open ? open->handle : MPI_FILE_NULL;
}

static int64_t etype_bytes(const struct replay_file *file)
{
    return ((const struct mpi_open *)file->mpi)->etype_bytes;
}

// --- files

static int64_t mpi_error(int code)
{
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

static int64_t mpiio_open(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    struct mpi_open *open = malloc(sizeof *open);
    if (!open) return -ENOMEM;
    open->etype_bytes = 1;
    MPI_Comm comm = mpi_comm_of(lane->runner, file);
    MPI_Info info = mpi_hints_of(&lane->runner->model, step->kind);
    int code = MPI_File_open(comm, file->path, (int)step->kind->flags, info, &open->handle);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) MPI_Comm_free(&comm);
    if (code != MPI_SUCCESS) {
        free(open);
        return mpi_error(code);
    }
    file->mpi = open;
    runner_opened(lane->runner, file);
    return 0;
}

static int64_t mpiio_close(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    (void)lane, (void)step;
    struct mpi_open *open = file->mpi;
    if (!open) return 0;
    int code = MPI_File_close(&open->handle);
    free(open);
    file->mpi = NULL;
    return mpi_error(code);
}

// --- transfers

static int start_split(MPI_File fh, MPI_Offset at, void *data, struct mpi_memory m, struct form f)
{
    if (f.at) {
        return f.is_write ? MPI_File_write_at_all_begin(fh, at, data, m.count, m.type)
                          : MPI_File_read_at_all_begin(fh, at, data, m.count, m.type);
    }
    if (f.ordered) {
        return f.is_write ? MPI_File_write_ordered_begin(fh, data, m.count, m.type)
                          : MPI_File_read_ordered_begin(fh, data, m.count, m.type);
    }
    return f.is_write ? MPI_File_write_all_begin(fh, data, m.count, m.type)
                      : MPI_File_read_all_begin(fh, data, m.count, m.type);
}

static int end_split(const struct under_way *u, MPI_Status *status)
{
    if (u->form.at) {
        return u->form.is_write ? MPI_File_write_at_all_end(u->file, u->data, status)
                                : MPI_File_read_at_all_end(u->file, u->data, status);
    }
    if (u->form.ordered) {
        return u->form.is_write ? MPI_File_write_ordered_end(u->file, u->data, status)
                                : MPI_File_read_ordered_end(u->file, u->data, status);
    }
    return u->form.is_write ? MPI_File_write_all_end(u->file, u->data, status)
                            : MPI_File_read_all_end(u->file, u->data, status);
}

static int start_nonblocking(MPI_File fh, MPI_Offset at, void *data, struct mpi_memory m, struct form f,
                             MPI_Request *request)
{
    if (f.at && f.all) {
        return f.is_write ? MPI_File_iwrite_at_all(fh, at, data, m.count, m.type, request)
                          : MPI_File_iread_at_all(fh, at, data, m.count, m.type, request);
    }
    if (f.at) {
        return f.is_write ? MPI_File_iwrite_at(fh, at, data, m.count, m.type, request)
                          : MPI_File_iread_at(fh, at, data, m.count, m.type, request);
    }
    if (f.shared) {
        return f.is_write ? MPI_File_iwrite_shared(fh, data, m.count, m.type, request)
                          : MPI_File_iread_shared(fh, data, m.count, m.type, request);
    }
    if (f.all) {
        return f.is_write ? MPI_File_iwrite_all(fh, data, m.count, m.type, request)
                          : MPI_File_iread_all(fh, data, m.count, m.type, request);
    }
    return f.is_write ? MPI_File_iwrite(fh, data, m.count, m.type, request)
                      : MPI_File_iread(fh, data, m.count, m.type, request);
}

static int blocking(MPI_File fh, MPI_Offset at, void *data, struct mpi_memory m, struct form f, MPI_Status *status)
{
    if (f.at && f.all) {
        return f.is_write ? MPI_File_write_at_all(fh, at, data, m.count, m.type, status)
                          : MPI_File_read_at_all(fh, at, data, m.count, m.type, status);
    }
    if (f.at) {
        return f.is_write ? MPI_File_write_at(fh, at, data, m.count, m.type, status)
                          : MPI_File_read_at(fh, at, data, m.count, m.type, status);
    }
    if (f.shared) {
        return f.is_write ? MPI_File_write_shared(fh, data, m.count, m.type, status)
                          : MPI_File_read_shared(fh, data, m.count, m.type, status);
    }
    if (f.ordered) {
        return f.is_write ? MPI_File_write_ordered(fh, data, m.count, m.type, status)
                          : MPI_File_read_ordered(fh, data, m.count, m.type, status);
    }
    if (f.all) {
        return f.is_write ? MPI_File_write_all(fh, data, m.count, m.type, status)
                          : MPI_File_read_all(fh, data, m.count, m.type, status);
    }
    return f.is_write ? MPI_File_write(fh, data, m.count, m.type, status)
                      : MPI_File_read(fh, data, m.count, m.type, status);
}

static int64_t moved_bytes(int code, const MPI_Status *status, int64_t asked)
{
    int count;
    if (code != MPI_SUCCESS) return mpi_error(code);
    return MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count != MPI_UNDEFINED ? count : asked;
}

static int64_t mpiio_complete(void *request)
{
    struct under_way *u = request;
    MPI_Status status;
    int code = u->form.split ? end_split(u, &status) : MPI_Wait(&u->request, &status);
    int64_t moved = moved_bytes(code, &status, 0);
    free(u);
    return moved;
}

static int64_t mpiio_transfer(struct lane_run *lane, struct replay_file *file, const struct model_step *step,
                              void *data)
{
    struct form form = form_of(step->kind);
    MPI_File fh = handle_of(file);
    MPI_Status status;
    int64_t size = step->op->at[AT_SIZE];
    if (fh == MPI_FILE_NULL) return -EBADF;
    int64_t bytes_in_view = step->kind->has_view ? step->op->at[AT_SECOND] : step->op->at[AT_OFFSET];
    MPI_Offset at = bytes_in_view / etype_bytes(file);
    struct mpi_memory memory = mpi_memory_of(lane->runner, step);
    if (!form.nonblocking && !form.split) {
        return moved_bytes(blocking(fh, at, data, memory, form, &status), &status, size);
    }
    struct under_way *u = malloc(sizeof *u);
    if (!u) return -ENOMEM;
    *u = (struct under_way){.file = fh, .form = form, .data = data};
    int code = form.split ? start_split(fh, at, data, memory, form)
                          : start_nonblocking(fh, at, data, memory, form, &u->request);
    if (code == MPI_SUCCESS)
        lane->submitted = u;
    else
        free(u);
    return code == MPI_SUCCESS ? size : mpi_error(code);
}

// --- the rest

static int64_t mpiio_other(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    const char *call = step->kind->call;
    MPI_File fh = file ? handle_of(file) : MPI_FILE_NULL;
    if (file && !strcmp(call, "MPI_File_delete")) return mpi_error(MPI_File_delete(file->path, MPI_INFO_NULL));
    if (fh != MPI_FILE_NULL) {
        if (!strcmp(call, "MPI_File_seek")) {
            return mpi_error(MPI_File_seek(fh, step->op->at[AT_OFFSET] / etype_bytes(file), MPI_SEEK_SET));
        }
        if (!strcmp(call, "MPI_File_seek_shared")) {
            return mpi_error(MPI_File_seek_shared(fh, step->op->at[AT_OFFSET] / etype_bytes(file), MPI_SEEK_SET));
        }
        if (!strcmp(call, "MPI_File_sync")) return mpi_error(MPI_File_sync(fh));
        if (!strcmp(call, "MPI_File_set_size")) return mpi_error(MPI_File_set_size(fh, step->op->at[AT_SIZE]));
        if (!strcmp(call, "MPI_File_preallocate")) return mpi_error(MPI_File_preallocate(fh, step->op->at[AT_SIZE]));
        if (!strcmp(call, "MPI_File_set_atomicity")) return mpi_error(MPI_File_set_atomicity(fh, 1));
        if (!strcmp(call, "MPI_File_set_view")) return mpi_error(mpi_set_view(lane, file, step));
    }
    runner_skip(lane->runner, step);
    return 0;
}

static void mpiio_end_file(struct replay_file *file)
{
    struct mpi_open *open = file->mpi;
    if (open) MPI_File_close(&open->handle);
    free(open);
    file->mpi = NULL;
}

static bool mpiio_lacks(const struct replay_file *file, const struct model_step *step)
{
    return !file->mpi && (step->kind->class == CLASS_READ || step->kind->class == CLASS_WRITE);
}

const struct replay_backend replay_mpiio = {
    .layer = LAYER_MPIIO,
    .lacks = mpiio_lacks,
    .open = mpiio_open,
    .close = mpiio_close,
    .transfer = mpiio_transfer,
    .other = mpiio_other,
    .complete = mpiio_complete,
    .end_file = mpiio_end_file,
};
