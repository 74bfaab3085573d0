// Where the replay's files are. Their names are not the program's, but files that shared a folder share one again: what
// changes names waits for others that do so in the same folder.
#pragma once

#include <stdbool.h>

#include "base/lookup.h"
#include "model/model.h"

struct paths {
    const struct model *model;
    const char *folder;
    struct paths_known {
        uint32_t set, member;
        bool has_files; // it is the folder of others
    } * known;          // every file that has a name
    size_t count;
    struct lookup known_of;   // a name's hash -> known
    struct lookup outside_of; // so too, of folders that the model has only files of -> their number from 0
    uint32_t outside;         // how many of these
};

int paths_make(struct paths *paths, const struct model *model, const char *folder);
void paths_free(struct paths *paths);

// The file's, to be freed: its plain name in the folder, in FOLDER/dir-NUMBER or in a folder with a plain name.
char *paths_of(const struct paths *paths, uint32_t set, uint32_t member);
char *paths_outside(const struct paths *paths, uint32_t number); // a folder, to be freed; the first is FOLDER itself
bool paths_has_files(const struct paths *paths, uint32_t set, uint32_t member);
