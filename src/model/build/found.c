// What a program of the job found otherwise than the job: names that another program had made, removed or written
// before. A replay runs one program, and begins with what that one found.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/build/build.h"

struct found_member {
    uint32_t program, file, member;
    int64_t bytes;
};

static int compare(const void *a, const void *b) {
    const struct found_member *x = a, *y = b;
    if (x->program != y->program) return x->program < y->program ? -1 : 1;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->member < y->member ? -1 : x->member > y->member;
}

// What the job found; -1: nothing.
static int64_t bytes_before(const struct model_file *file, uint32_t member) {
    size_t place = file->before ? model_place(file->before, file->existed, member) : member;
    return place < file->existed ? file->before_bytes[place] : -1;
}

// The program of each process; UINT32_MAX: none.
static uint32_t *programs_of(const struct building *b) {
    size_t count = log_process_count(b->log);
    uint32_t *program = malloc((count + 1) * sizeof *program);
    if (program) memset(program, 0xff, (count + 1) * sizeof *program);
    for (size_t i = 0; program && i < b->recorded.count; i++) {
        program[b->recorded.thread[i].process->index] = b->recorded.thread[i].program;
    }
    return program;
}

static int find_all(const struct building *b, const uint32_t *file_of, struct found_member **all, size_t *count) {
    const struct model *model = b->model;
    SCOPED_FREE uint32_t *program = programs_of(b);
    SCOPED(lookup_free) struct lookup seen = {0}; // by program and name
    RETURN_IF(!program, -ENOMEM);
    for (size_t i = 0; i < b->recorded.uses; i++) {
        const struct recorded_use *use = &b->recorded.use[i];
        const struct file_place *place = &model->sets.place[use->file];
        struct found_member one = {program[use->process], file_of[place->set], place->member, -1};
        uint64_t key = hash_add(hash_add(one.program, one.file), one.member);
        if (one.program == UINT32_MAX || one.file == OP_NO_SET || lookup_find(&seen, key) != LOOKUP_NONE) continue;
        FORWARD(lookup_set(&seen, key, 0));
        int64_t before = bytes_before(&model->file[one.file], one.member);
        if (use->existed)
            one.bytes = use->sized ? (int64_t)use->size : before < 0 ? 0 : before;
        else if (use->sized && use->size)
            one.bytes = MODEL_CAME_LATER - (int64_t)use->size;
        if (one.bytes != before) FORWARD(array_push(*all, *count, one));
    }
    if (*count) qsort(*all, *count, sizeof **all, compare);
    return 0;
}

static int add(struct model *model, const struct found_member *all, size_t count) {
    struct model_found found = {.program = all->program, .file = all->file, .count = count};
    FORWARD(arena_array(&model->arena, found.member, count));
    FORWARD(arena_array(&model->arena, found.bytes, count));
    for (size_t i = 0; i < count; i++) {
        found.member[i] = all[i].member;
        found.bytes[i] = all[i].bytes;
    }
    return array_push(model->found, model->founds, found);
}

int build_found(struct building *b, const uint32_t *file_of) {
    SCOPED_FREE struct found_member *all = NULL;
    size_t count = 0;
    if (b->recorded.programs < 2) return 0;
    FORWARD(find_all(b, file_of, &all, &count));
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && all[end].program == all[first].program && all[end].file == all[first].file;)
            end++;
        FORWARD(add(b->model, &all[first], end - first));
    }
    return 0;
}
