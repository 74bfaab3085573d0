#include "replay/runner/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"

// False for members beyond the recorded ones, which a replay with more processes has.
static bool name_of(const struct paths *paths, uint32_t set, uint32_t member, char name[PATH_MAX]) {
    const struct file_set *names = paths->model->file[set].set;
    return member < names->member_count && file_set_member_name(names, member, name, PATH_MAX) >= 0;
}

// Cuts the name after its directory; false if it has none.
static bool cut_to_folder(char *name) {
    char *slash = strrchr(name, '/');
    if (!slash || slash == name) return false;
    *slash = 0;
    return true;
}

static int add_known(struct paths *paths, uint32_t set, uint32_t member) {
    char name[PATH_MAX];
    if (!name_of(paths, set, member, name)) return 0;
    FORWARD(array_room(paths->known, paths->count));
    paths->known[paths->count] = (struct paths_known){.set = set, .member = member};
    return lookup_set(&paths->known_of, hash_text(0, name), (uint32_t)paths->count++);
}

static int add_folder(struct paths *paths, const struct paths_known *of) {
    char name[PATH_MAX];
    if (!name_of(paths, of->set, of->member, name) || !cut_to_folder(name)) return 0;
    uint64_t hash = hash_text(0, name);
    uint32_t at = lookup_find(&paths->known_of, hash);
    if (at != LOOKUP_NONE) {
        paths->known[at].has_files = true;
        return 0;
    }
    if (lookup_find(&paths->outside_of, hash) != LOOKUP_NONE) return 0;
    return lookup_set(&paths->outside_of, hash, paths->outside++);
}

int paths_make(struct paths *paths, const struct model *model, const char *folder) {
    *paths = (struct paths){.model = model, .folder = folder};
    RETURN_IF(asprintf(&paths->link_target, "%s/link-target", folder) < 0, -ENOMEM);
    for (uint32_t set = 0; set < model->files; set++) {
        for (size_t i = 0; i < model->file[set].set->member_count; i++) FORWARD(add_known(paths, set, (uint32_t)i));
    }
    for (size_t i = 0; i < paths->count; i++) FORWARD(add_folder(paths, &paths->known[i]));
    return 0;
}

void paths_free(struct paths *paths) {
    free(paths->link_target);
    free(paths->known);
    lookup_free(&paths->known_of);
    lookup_free(&paths->outside_of);
    *paths = (struct paths){0};
}

char *paths_outside(const struct paths *paths, uint32_t number) {
    char *path = NULL;
    if (!number) return strdup(paths->folder);
    return asprintf(&path, "%s/dir-%u", paths->folder, number) < 0 ? NULL : path;
}

static char *folder_of(const struct paths *paths, uint32_t set, uint32_t member) {
    char name[PATH_MAX];
    if (!name_of(paths, set, member, name) || !cut_to_folder(name)) return strdup(paths->folder);
    uint64_t hash = hash_text(0, name);
    uint32_t at = lookup_find(&paths->known_of, hash);
    if (at != LOOKUP_NONE) return paths_of(paths, paths->known[at].set, paths->known[at].member);
    at = lookup_find(&paths->outside_of, hash);
    return paths_outside(paths, at == LOOKUP_NONE ? 0 : at);
}

char *paths_of(const struct paths *paths, uint32_t set, uint32_t member) {
    char name[MODEL_PLAIN_NAME_BYTES], *path = NULL, *folder = folder_of(paths, set, member);
    if (!folder) return NULL;
    model_plain_name(paths->model, set, member, name);
    int length = asprintf(&path, "%s/%s", folder, name);
    free(folder);
    return length < 0 ? NULL : path;
}

bool paths_folder(const struct paths *paths, struct paths_known *of) {
    char name[PATH_MAX];
    if (!name_of(paths, of->set, of->member, name) || !cut_to_folder(name)) return false;
    uint32_t at = lookup_find(&paths->known_of, hash_text(0, name));
    if (at != LOOKUP_NONE) *of = paths->known[at];
    return at != LOOKUP_NONE;
}

bool paths_has_files(const struct paths *paths, uint32_t set, uint32_t member) {
    char name[PATH_MAX];
    if (!name_of(paths, set, member, name)) return false;
    uint32_t at = lookup_find(&paths->known_of, hash_text(0, name));
    return at != LOOKUP_NONE && paths->known[at].has_files;
}
