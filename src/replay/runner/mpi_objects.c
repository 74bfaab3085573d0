#include "replay/runner/mpi_objects.h"

#include <stdlib.h>

// --- hints

MPI_Info mpi_hints_of(const struct runner *runner, const struct op_kind *kind, bool opens) {
    static const struct model_hints none;
    struct variant_hint of_variant[VARIANT_HINTS];
    const struct model *model = &runner->model;
    bool known = kind->hints && kind->hints <= model->hints_count;
    const struct model_hints *hints = known ? &model->hints[kind->hints - 1] : &none;
    unsigned count = variant_hints(&runner->variants.variant, of_variant);
    MPI_Info info = MPI_INFO_NULL;
    if (!hints->asked_count && (!opens || !count)) return info;
    MPI_Info_create(&info);
    for (size_t i = 0; i < hints->asked_count; i++) MPI_Info_set(info, hints->asked[i].name, hints->asked[i].value);
    for (unsigned i = 0; i < count; i++) MPI_Info_set(info, of_variant[i].name, of_variant[i].value);
    return info;
}

// --- datatypes

// Those that are made of one type of the model; what a step does not need is not made.
struct made {
    MPI_Datatype memory;
    struct mpi_view view;
};

static struct made *made_of(struct runner *runner, uint32_t place) {
    struct made *made = runner->mpi_types[place];
    if (made || !(made = malloc(sizeof *made))) return made;
    *made = (struct made){MPI_DATATYPE_NULL, {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, 0}};
    return runner->mpi_types[place] = made;
}

// The type of a view that can be made again, else NULL.
static const struct model_type *view_type(const struct runner *runner, const struct model_step *step) {
    const struct types *types = &runner->model.types;
    int64_t place = step->op->at[AT_SECOND];
    bool is_known = step->kind->etype_bytes && place >= 0 && (uint64_t)place < types->count;
    return is_known && !types->type[place].cut ? &types->type[place] : NULL;
}

void mpi_make_types(struct runner *runner, const struct model_step *step) {
    bool transfers = step->kind->class == CLASS_READ || step->kind->class == CLASS_WRITE;
    const struct model_type *type = transfers ? transfers_memory_type(runner, step) : view_type(runner, step);
    if (!type) return;
    pthread_mutex_lock(&runner->lock);
    struct made *made = made_of(runner, (uint32_t)(type - runner->model.types.type));
    if (made && transfers && made->memory == MPI_DATATYPE_NULL) mpi_make_type(type, 0, &made->memory);
    if (made && !transfers && made->view.etype_bytes != step->kind->etype_bytes)
        mpi_make_view(type, step->kind->etype_bytes, &made->view);
    pthread_mutex_unlock(&runner->lock);
}

int mpi_set_view(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    const struct model_type *type = view_type(thread->runner, step);
    struct mpi_open *open = file->mpi[step->kind->handle].open;
    if (!type) {
        operations_skip(thread->runner, step);
        return MPI_SUCCESS;
    }
    const struct made *made = thread->runner->mpi_types[type - thread->runner->model.types.type];
    if (!made || made->view.filetype == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
    MPI_Info info = mpi_hints_of(thread->runner, step->kind, false);
    MPI_Offset displacement = step->op->at[AT_OFFSET];
    int code = MPI_File_set_view(open->handle, displacement, made->view.etype, made->view.filetype, "native", info);
    open->etype_bytes = made->view.etype_bytes;
    file->mpi[step->kind->handle].has_view = true;
    file->mpi[step->kind->handle].view = (struct datatype_tiling){&type->flat, type->bytes, type->extent, displacement};
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    return code;
}

// Memory without holes is a row of elements of the view, as in most programs.
struct mpi_memory mpi_memory_of(struct runner *runner, const struct replay_file *file, const struct model_step *step) {
    const struct model_type *type = transfers_memory_type(runner, step);
    const struct made *made = type ? runner->mpi_types[step->kind->memory - 1] : NULL;
    const struct mpi_open *open = file->mpi[step->kind->handle].open;
    int64_t size = step->op->at[AT_SIZE];
    if (made && made->memory != MPI_DATATYPE_NULL)
        return (struct mpi_memory){made->memory, (int)(size / (int64_t)type->bytes)};
    MPI_Datatype element = size % open->etype_bytes ? MPI_DATATYPE_NULL : mpi_type_of_size(open->etype_bytes);
    if (element == MPI_DATATYPE_NULL) return (struct mpi_memory){MPI_BYTE, (int)size};
    return (struct mpi_memory){element, (int)(size / open->etype_bytes)};
}
