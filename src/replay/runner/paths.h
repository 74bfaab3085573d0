// Paths of the replay's files. Names differ from those of the program, but files of one directory share a directory
// again, because calls that change names in one directory wait for each other.
#pragma once

#include <stdbool.h>

#include "base/lookup.h"
#include "model/model.h"

struct paths {
    const struct model *model;
    const char *folder;
    char *link_target; // the file to which all symbolic links lead
    struct paths_known {
        uint32_t set, member;
        bool has_files; // other files are in it
    } * known;          // every file that has a name
    size_t count;
    struct lookup known_of;   // hash of a name -> place in known
    struct lookup outside_of; // hash of a directory that is no file of the model itself -> its number, from 0
    uint32_t outside;         // how many of these
};

int paths_make(struct paths *paths, const struct model *model, const char *folder);
void paths_free(struct paths *paths);

// The path of a file, which the caller frees: a plain name in the folder, in FOLDER/dir-NUMBER or in a directory of the
// model.
char *paths_of(const struct paths *paths, uint32_t set, uint32_t member);
char *paths_outside(const struct paths *paths, uint32_t number); // the caller frees it; number 0 is FOLDER itself
// Goes from a file to its directory, if that is a file of the model itself.
bool paths_folder(const struct paths *paths, struct paths_known *of);
bool paths_has_files(const struct paths *paths, uint32_t set, uint32_t member);
