// What existed when the program began: as the job found it, or as other programs of the job had left it.
#include "replay/runner/found.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "replay/runner/runner.h"
#include "replay/runner/unrecorded.h"

int found_make(struct found *found, const struct model *model, uint32_t program) {
    *found = (struct found){.model = model};
    for (size_t i = 0; i < model->founds; i++) {
        const struct model_found *from = &model->found[i];
        if (from->program != program) continue;
        for (size_t k = 0; k < from->count; k++) {
            uint64_t key = lookup_pair(from->file, from->member[k]);
            FORWARD(lookup_set(&found->place, key, (uint32_t)found->count));
            FORWARD(array_push(found->bytes, found->count, from->bytes[k]));
        }
    }
    return 0;
}

void found_free(struct found *found) {
    lookup_free(&found->place);
    free(found->bytes);
    *found = (struct found){0};
}

bool found_by_program(const struct found *found, uint32_t set, uint32_t member, int64_t *bytes) {
    uint32_t place = lookup_find(&found->place, lookup_pair(set, member));
    if (place == LOOKUP_NONE) return false;
    *bytes = found->bytes[place];
    return true;
}

int64_t found_bytes(const struct found *found, uint32_t set, uint32_t member) {
    const struct model_file *file = &found->model->file[set];
    int64_t bytes;
    if (found_by_program(found, set, member, &bytes)) return bytes;
    size_t place = file->before ? model_place(file->before, file->existed, member) : member;
    if (place >= file->existed) return -1;
    return file->before_bytes ? file->before_bytes[place] : (int64_t)(file->size_before / file->existed);
}

// --- making it while the program runs

static int write_all(int fd, const struct replay_file *file, int64_t bytes) {
    enum { PART = 1 << 16 };
    unsigned char *data = malloc(PART);
    int code = data ? 0 : -ENOMEM;
    for (int64_t at = 0; at < bytes && !code; at += PART) {
        int64_t part = bytes - at < PART ? bytes - at : PART;
        data_fill(data, file->set, file->member, (uint64_t)at, (uint64_t)part);
        if (cpu_syscall(SYS_pwrite64, fd, data, part, at) != part) code = -EIO;
    }
    free(data);
    return code;
}

// Other processes see the file only when it is complete.
static void make_file(const struct replay_file *file, int64_t bytes) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s.%d", file->path, (int)getpid()) >= (int)sizeof path) return;
    int fd = unrecorded_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (fd < 0) return;
    int code = write_all(fd, file, bytes);
    unrecorded_close(fd);
    if (code || cpu_syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, file->path, 0))
        cpu_syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static void make_folders(const struct runner *runner, const char *path) {
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder) return;
    for (char *slash = folder + strlen(runner->job->directory) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        cpu_syscall(SYS_mkdirat, AT_FDCWD, folder, 0700);
        *slash = '/';
    }
}

void found_make_late(const struct runner *runner, const struct replay_file *file) {
    int64_t bytes = -1;
    found_by_program(&runner->found, file->set, file->member, &bytes);
    if (bytes < 0 && (!file->was_missing || runner->made_somewhere[file->set])) return;
    if (unrecorded_exists(file->path)) return;
    if (bytes <= MODEL_CAME_LATER) bytes = MODEL_CAME_LATER - bytes;
    make_folders(runner, file->path);
    if (paths_has_files(&runner->paths, file->set, file->member))
        cpu_syscall(SYS_mkdirat, AT_FDCWD, file->path, 0700);
    else
        make_file(file, bytes);
}
