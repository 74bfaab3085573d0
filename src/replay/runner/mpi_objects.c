#include "replay/runner/mpi_objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

// --- communicators

// Which processes open a file in the model.
struct openers {
    const struct model *model;
    uint32_t set, member, rank;
    bool *opens; // by rank
};

static int look_for_open(const struct op *op, size_t leaf, void *context) {
    struct openers *o = context;
    const struct op_kind *kind = &o->model->kind[op->kind];
    (void)leaf;
    if (kind->class == CLASS_OPEN && kind->layer == LAYER_MPIIO && kind->set == o->set &&
        op->at[AT_MEMBER] == (int64_t)o->member) {
        o->opens[o->rank] = true;
    }
    return 0;
}

static bool items_open(const struct model *model, const struct model_items *items) {
    struct model_leaves leaves = model_leaves(items);
    for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
        if (item->type == LOOPS_LIST || model->kind[item->kind].class == CLASS_OPEN) return true;
    }
    return false;
}

static void find_openers(struct openers *o, const struct model_family *family) {
    for (size_t i = 0; i < family->others; i++) {
        const struct model_part *part = &family->other[i];
        if (!items_open(o->model, &part->items)) continue;
        for (size_t p = 0; p < part->phs; p++) {
            for (size_t r = 0; r < part->ranks; r++) {
                o->rank = part->rank[r];
                model_walk(&(struct model_process){o->model, family, part, p, r}, look_for_open, o);
            }
        }
    }
}

MPI_Comm mpi_comm_of(struct runner *runner, const struct replay_file *file) {
    struct openers o = {.model = &runner->model, .set = file->set, .member = file->member};
    int *ranks = malloc(runner->np * sizeof *ranks), count = 0;
    MPI_Comm comm = MPI_COMM_WORLD;
    o.opens = calloc(runner->np, sizeof *o.opens);
    if (o.opens && ranks) {
        for (size_t i = 0; i < runner->model.families; i++) {
            const struct model_family *family = &runner->model.family[i];
            if (family->program == runner->job->program) find_openers(&o, family);
        }
        for (uint32_t i = 0; i < runner->np; i++) {
            if (o.opens[i]) ranks[count++] = (int)i;
        }
        if (count == 1) comm = MPI_COMM_SELF;
        if (count > 1 && count < (int)runner->np) {
            MPI_Group world, group;
            MPI_Comm_group(MPI_COMM_WORLD, &world);
            MPI_Group_incl(world, count, ranks, &group);
            MPI_Comm_create_group(MPI_COMM_WORLD, group, (int)(file->set * 1000 + file->member) & 0x3fff, &comm);
            MPI_Group_free(&group);
            MPI_Group_free(&world);
        }
    }
    free(o.opens);
    free(ranks);
    return comm;
}

// --- hints and views

MPI_Info mpi_hints_of(const struct model *model, const struct op_kind *kind) {
    MPI_Info info = MPI_INFO_NULL;
    if (!kind->hints || kind->hints > model->hints_count) return info;
    const struct model_hints *hints = &model->hints[kind->hints - 1];
    if (!hints->asked_count) return info;
    MPI_Info_create(&info);
    for (size_t i = 0; i < hints->asked_count; i++) MPI_Info_set(info, hints->asked[i].name, hints->asked[i].value);
    return info;
}

// The datatype of items [first, end) of one body.
static int make_body(const struct datatype *flat, uint32_t first, uint32_t end, MPI_Datatype *out) {
    int count = 0, made = 0, code = MPI_SUCCESS;
    for (uint32_t i = first; i < end; i += flat->item[i].span) count++;
    int *length = calloc((size_t)count + 1, sizeof *length);
    MPI_Aint *offset = calloc((size_t)count + 1, sizeof *offset);
    MPI_Datatype *type = calloc((size_t)count + 1, sizeof *type);
    if (!length || !offset || !type) code = MPI_ERR_NO_MEM;
    for (uint32_t i = first; i < end && code == MPI_SUCCESS; i += flat->item[i].span) {
        const struct datatype_item *item = &flat->item[i];
        MPI_Datatype body;
        offset[made] = (MPI_Aint)item->offset;
        length[made] = 1;
        if (datatype_is_loop(item)) {
            code = make_body(flat, i + 1, i + item->span, &body);
            if (code == MPI_SUCCESS) {
                code = MPI_Type_create_hvector((int)item->count, 1, (MPI_Aint)item->stride, body, &type[made]);
                MPI_Type_free(&body);
            }
        } else {
            code = MPI_Type_contiguous((int)item->bytes, MPI_BYTE, &type[made]);
        }
        if (code == MPI_SUCCESS) made++;
    }
    if (code == MPI_SUCCESS) code = MPI_Type_create_struct(made, length, offset, type, out);
    for (int i = 0; i < made; i++) MPI_Type_free(&type[i]);
    free(length);
    free(offset);
    free(type);
    return code;
}

static int make_type(const struct model_type *from, MPI_Datatype *out) {
    MPI_Datatype body;
    int code = make_body(&from->flat, 0, from->flat.items, &body);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Type_create_resized(body, 0, (MPI_Aint)from->extent, out);
    MPI_Type_free(&body);
    if (code == MPI_SUCCESS) code = MPI_Type_commit(out);
    return code;
}

int mpi_set_view(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    const struct model *model = &thread->runner->model;
    struct mpi_open *open = file->mpi;
    MPI_Datatype etype = MPI_BYTE, filetype;
    int64_t place = step->op->at[AT_SECOND];
    uint32_t etype_bytes = step->kind->etype_bytes;
    if (!etype_bytes || place < 0 || (uint64_t)place >= model->types.count || model->types.type[place].cut) {
        operations_skip(thread->runner, step);
        return MPI_SUCCESS;
    }
    const struct model_type *type = &model->types.type[place];
    MPI_Info info = mpi_hints_of(model, step->kind);
    int code = make_type(type, &filetype);
    if (code == MPI_SUCCESS && etype_bytes > 1) {
        code = MPI_Type_contiguous((int)etype_bytes, MPI_BYTE, &etype);
        if (code == MPI_SUCCESS) code = MPI_Type_commit(&etype);
    }
    if (code == MPI_SUCCESS) {
        code = MPI_File_set_view(open->handle, step->op->at[AT_OFFSET], etype, filetype, "native", info);
        open->etype_bytes = etype_bytes;
        file->has_view = true;
        file->view = (struct datatype_tiling){&type->flat, type->bytes, type->extent, step->op->at[AT_OFFSET]};
        MPI_Type_free(&filetype);
        if (etype_bytes > 1) MPI_Type_free(&etype);
    }
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    return code;
}

// --- memory

// Datatypes are made once and kept, as programs do: MPI analyses a datatype when it first sees it.
struct mpi_memory mpi_memory_of(struct runner *runner, const struct model_step *step) {
    const struct model_type *type = transfers_memory_type(runner, step);
    struct mpi_memory bytes = {MPI_BYTE, (int)step->op->at[AT_SIZE]};
    if (!type) return bytes;
    uint32_t place = step->kind->memory - 1;
    pthread_mutex_lock(&runner->lock);
    MPI_Datatype *made = runner->memory_types[place];
    if (!made && (made = malloc(sizeof *made))) {
        if (make_type(type, made) == MPI_SUCCESS) {
            runner->memory_types[place] = made;
        } else {
            free(made);
            made = NULL;
        }
    }
    pthread_mutex_unlock(&runner->lock);
    return made ? (struct mpi_memory){*made, (int)(step->op->at[AT_SIZE] / (int64_t)type->bytes)} : bytes;
}
