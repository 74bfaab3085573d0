#include "replay/runner/variants_mpi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/runner/mpi_objects.h"

static MPI_Comm *users; // by place of the file; MPI_COMM_NULL: this process does not use it

uint32_t mpi_count_nodes(void) {
    MPI_Comm here;
    int rank, first, nodes;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_rank(here, &rank);
    first = rank == 0;
    MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&here);
    return (uint32_t)nodes;
}

static bool are_alike(const struct variant_file *one, const struct variant_file *other, uint32_t np) {
    return one->shared && other->shared && !memcmp(one->shared, other->shared, (np / 64 + 1) * sizeof *one->shared);
}

int mpi_make_users(const struct variant_files *files) {
    users = calloc(files->count + 1, sizeof *users);
    RETURN_IF(!users, -ENOMEM);
    for (size_t i = 0; i < files->count; i++) {
        const struct variant_file *file = &files->file[i];
        size_t like = 0;
        users[i] = MPI_COMM_NULL;
        if (file->users < 2 || !file->by_posix) continue;
        while (like < i && !(files->file[like].by_posix && are_alike(file, &files->file[like], files->np))) like++;
        if (like < i) {
            users[i] = users[like];
            continue;
        }
        bool uses = variant_file_used_by(file, (uint32_t)world.rank);
        MPI_Comm_split(MPI_COMM_WORLD, uses ? 0 : MPI_UNDEFINED, world.rank, &users[i]);
    }
    return 0;
}

static MPI_Comm users_of(const struct runner *runner, const struct replay_file *file, enum variant_way way) {
    const struct variant_file *of = variant_file_of(&runner->variants.files, file->set, file->member);
    return way == WAY_COLLECTIVE && of && of->users > 1 ? users[of - runner->variants.files.file] : MPI_COMM_SELF;
}

static void close_handle(struct replay_file *file) {
    struct mpi_open *open = file->mpi[VARIANT_HANDLE].open;
    if (!open) return;
    MPI_File_close(&open->handle);
    free(open);
    file->mpi[VARIANT_HANDLE].open = NULL;
}

int mpi_open_for_variant(struct runner *runner, struct replay_file *file, enum variant_way way) {
    static const struct op_kind none;
    struct mpi_open *open = file->mpi[VARIANT_HANDLE].open;
    if (open && !open->is_stale) return 0;
    close_handle(file);
    open = malloc(sizeof *open);
    RETURN_IF(!open, -ENOMEM);
    MPI_Comm comm = users_of(runner, file, way);
    *open = (struct mpi_open){.etype_bytes = 1, .is_alone = comm == MPI_COMM_SELF};
    MPI_Info info = mpi_hints_of(runner, &none, true);
    int code = MPI_File_open(comm, file->path, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &open->handle);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    if (code == MPI_SUCCESS)
        file->mpi[VARIANT_HANDLE].open = open;
    else
        free(open);
    return code == MPI_SUCCESS ? 0 : -EIO;
}

// The others of a communicator may close it later.
void mpi_close_for_variant(struct replay_file *file) {
    struct mpi_open *open = file->mpi[VARIANT_HANDLE].open;
    if (!open) return;
    open->is_stale = true;
    if (open->is_alone) close_handle(file);
}

uint64_t mpi_unit_of_view(const struct replay_file *file, const struct model_step *step) {
    const struct mpi_open *open = file->mpi[step->kind->handle].open;
    return open ? (uint64_t)open->etype_bytes : 1;
}
