#include "model/variant_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/phase_list.h"

#define LARGEST_CALL (UINT64_C(1) << 30)

// --- which ranks use a file

struct finding {
    struct variant_files *files;
    uint32_t rank;
};

static bool is_user(const struct variant_file *file, uint32_t rank) {
    return file->shared ? file->shared[rank / 64] >> rank % 64 & 1 : file->first == rank;
}

static int add_user(struct variant_file *file, uint32_t rank, uint32_t np) {
    if (is_user(file, rank)) return 0;
    if (!file->shared) {
        file->shared = calloc(np / 64 + 1, sizeof *file->shared);
        RETURN_IF(!file->shared, -ENOMEM);
        file->shared[file->first / 64] |= UINT64_C(1) << file->first % 64;
    }
    file->shared[rank / 64] |= UINT64_C(1) << rank % 64;
    file->users++;
    return 0;
}

static uint64_t group_key(const struct model_step *step) {
    return hash_add(hash_add(step->phase, step->op->kind), (uint64_t)step->op->at[AT_MEMBER]);
}

// The ranks come one after the other.
static int note_group(struct variant_files *files, const struct model_step *step, uint32_t rank) {
    int64_t size = step->op->at[AT_SIZE];
    uint32_t place = lookup_find(&files->group_of, group_key(step));
    if (place == LOOKUP_NONE) {
        struct variant_group first = {.ranks = 1, .last = rank, .size = size};
        place = (uint32_t)files->groups;
        FORWARD(array_push(files->group, files->groups, first));
        FORWARD(lookup_set(&files->group_of, group_key(step), place));
    }
    struct variant_group *group = &files->group[place];
    if (group->last != rank) {
        if (group->ranks == 1) group->count = group->current;
        group->differs |= group->current != group->count;
        group->current = 0;
        group->last = rank;
        group->ranks++;
    }
    group->current++;
    group->sizes_differ |= size != group->size;
    return 0;
}

static int note_use(const struct model_step *step, void *context) {
    struct finding *f = context;
    struct variant_files *files = f->files;
    const struct op_kind *kind = step->kind;
    if (!op_kind_moves(kind) || kind->set == OP_NO_SET) return 0;
    uint32_t member = (uint32_t)step->op->at[AT_MEMBER];
    uint32_t place = lookup_find(&files->of, lookup_pair(kind->set, member));
    if (place == LOOKUP_NONE) {
        struct variant_file file = {kind->set, member, 1, f->rank, NULL, false};
        place = (uint32_t)files->count;
        FORWARD(array_push(files->file, files->count, file));
        FORWARD(lookup_set(&files->of, lookup_pair(kind->set, member), place));
    }
    files->file[place].by_posix |= kind->layer == LAYER_POSIX;
    FORWARD(note_group(files, step, f->rank));
    return add_user(&files->file[place], f->rank, files->np);
}

int variant_files_find(struct variant_files *files, const struct model *model, uint32_t program, const char *phases) {
    const struct model_program *of = &model->program[program];
    struct finding f = {.files = files};
    uint32_t threads = model_threads(model, program);
    *files = (struct variant_files){.np = of->np};
    for (size_t i = of->first; i < of->end; i++) {
        if (!phase_list_has(phases, i + 1)) continue;
        for (f.rank = 0; f.rank < of->np; f.rank++) {
            for (uint32_t thread = 0; thread < threads; thread++)
                FORWARD(model_expand_phase(model, (uint32_t)i, f.rank, thread, note_use, &f));
        }
    }
    return 0;
}

void variant_files_free(struct variant_files *files) {
    for (size_t i = 0; i < files->count; i++) free(files->file[i].shared);
    free(files->file);
    lookup_free(&files->of);
    free(files->group);
    lookup_free(&files->group_of);
    *files = (struct variant_files){0};
}

const struct variant_file *variant_file_of(const struct variant_files *files, uint32_t set, uint32_t member) {
    uint32_t place = lookup_find(&files->of, lookup_pair(set, member));
    return place == LOOKUP_NONE ? NULL : &files->file[place];
}

bool variant_file_used_by(const struct variant_file *file, uint32_t rank) { return is_user(file, rank); }

// --- by which calls

bool variant_changes_calls(const struct variant *variant) {
    return variant->interface || variant->nonblocking || variant->request || variant->request_factor > 0 ||
           variant->alignment;
}

// A call with its own offset in place of the recorded one, which may use the position of the file: calls of a variant
// do not move that.
static enum variant_way same_way(const struct op_kind *kind) {
    if (kind->layer == LAYER_POSIX) return WAY_POSIX;
    return kind->collective ? WAY_COLLECTIVE : WAY_INDEPENDENT;
}

static const struct variant_group *group_of(const struct variant_files *files, const struct model_step *step) {
    uint32_t place = lookup_find(&files->group_of, group_key(step));
    return place == LOOKUP_NONE ? NULL : &files->group[place];
}

// Whether all ranks that use the file make as many of these transfers.
static bool is_of_all(const struct variant_files *files, const struct model_step *step) {
    const struct variant_file *file = variant_file_of(files, step->kind->set, (uint32_t)step->op->at[AT_MEMBER]);
    const struct variant_group *group = group_of(files, step);
    if (!file || !group || file->users < 2 || group->ranks != file->users) return false;
    return !group->differs && group->current == group->count;
}

static bool has_other_calls(const struct variant *variant, const struct model_step *step) {
    const struct op_kind *kind = step->kind;
    bool is_known = (kind->layer == LAYER_MPIIO || kind->layer == LAYER_POSIX) && kind->call_id && kind->has_offset;
    bool is_half = kind->call_id && call_table[kind->call_id].form == FORM_HALF;
    return is_known && !is_half && !kind->error && kind->set != OP_NO_SET && variant_changes_calls(variant);
}

enum variant_way variant_way(const struct variant *variant, const struct variant_files *files,
                             const struct model_step *step) {
    if (!has_other_calls(variant, step)) return WAY_RECORDED;
    switch (variant->interface) {
    case VARIANT_COLLECTIVE: return is_of_all(files, step) ? WAY_COLLECTIVE : same_way(step->kind);
    case VARIANT_INDEPENDENT: return WAY_INDEPENDENT;
    case VARIANT_POSIX: return WAY_POSIX;
    default: return same_way(step->kind);
    }
}

// --- of which size

bool variant_resizes(const struct variant *variant, const struct variant_files *files, const struct model_step *step) {
    bool wants = variant->request || variant->request_factor > 0 || variant->alignment;
    int64_t size = step->op->at[AT_SIZE];
    if (!wants || step->kind->nonblocking || step->op->at[AT_SHORT]) return false;
    if (size <= 0 || (uint64_t)size > LARGEST_CALL || !has_other_calls(variant, step)) return false;
    if (variant_way(variant, files, step) != WAY_COLLECTIVE || variant->own_files) return true;
    return is_of_all(files, step) && !group_of(files, step)->sizes_differ;
}

bool variant_stream_joins(const struct variant_stream *stream, const struct op_kind *kind, int64_t member, int64_t at) {
    return stream->kind == kind && stream->member == member && stream->at + (int64_t)stream->bytes == at;
}

// `unit` is the alignment of calls in the file, or the elementary type of a view.
static uint64_t call_size(const struct variant *variant, uint64_t recorded, uint64_t unit, bool aligns) {
    uint64_t size = variant->request              ? variant->request
                    : variant->request_factor > 0 ? (uint64_t)((double)recorded * variant->request_factor + 0.5)
                                                  : recorded;
    if (size > LARGEST_CALL) size = LARGEST_CALL;
    if (aligns) return (size + unit - 1) / unit * unit;
    size -= size % unit;
    return size ? size : unit;
}

// The bytes of the next call, of which one of stream->size is there.
static uint64_t next_bytes(const struct variant_stream *stream, const struct variant *variant) {
    if (!stream->aligns) return stream->size;
    int64_t end = stream->at + (int64_t)stream->size;
    return stream->size - (uint64_t)(end % (int64_t)variant->alignment);
}

static int make_call(struct variant_stream *stream, uint64_t bytes, variant_call *call, void *context) {
    int64_t at = stream->at;
    stream->at += (int64_t)bytes;
    stream->bytes -= bytes;
    return call(at, bytes, context);
}

int variant_stream_add(struct variant_stream *stream, const struct variant *variant, const struct op_kind *kind,
                       int64_t member, int64_t at, uint64_t bytes, uint64_t unit, variant_call *call, void *context) {
    if (!stream->kind) {
        bool aligns = variant->alignment && !unit;
        uint64_t size = call_size(variant, bytes, aligns ? variant->alignment : unit ? unit : 1, aligns);
        *stream = (struct variant_stream){.kind = kind, .member = member, .at = at, .size = size, .aligns = aligns};
    }
    stream->bytes += bytes;
    while (stream->bytes >= stream->size) FORWARD(make_call(stream, next_bytes(stream, variant), call, context));
    return 0;
}

int variant_stream_end(struct variant_stream *stream, const struct variant *variant, variant_call *call,
                       void *context) {
    while (stream->kind && stream->bytes) {
        uint64_t bytes = stream->bytes < stream->size ? stream->bytes : next_bytes(stream, variant);
        FORWARD(make_call(stream, bytes, call, context));
    }
    stream->kind = NULL;
    return 0;
}

bool variant_stream_lets_pass(const struct op_kind *kind) { return kind->class == CLASS_SEEK; }
