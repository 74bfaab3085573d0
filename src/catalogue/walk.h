// What has changed in trees of logs since they were last indexed.
#pragma once

#include "catalogue/write.h"

struct walk_log {
    uint32_t folder; // index in `folder`
    char *name;
    struct log_state state;
};

struct walk_bad {
    char *log, *reason; // a log, or a folder that cannot be read
};

struct walk {
    char **folder;
    size_t folders;
    struct walk_log *changed; // new logs, those that differ from the catalogue, and bad ones
    size_t changed_count;
    int64_t *removed; // numbers of logs that are gone
    size_t removed_count;
    uint64_t same;
    struct walk_bad *bad; // folders at first, logs when they have been read
    size_t bad_count;
};

// Looks at the trees below each of `path`, which may also be a log. A log is a regular file with a name that ends in
// .ioseer, .darshan or .darshan_partial; links in a tree are not followed. Logs in folders that cannot be read are not
// gone. Call walk_free in any case.
int walk_look(struct walk *walk, struct writer *writer, char *const *path, size_t paths, struct problem *problem);
void walk_free(struct walk *walk);
int walk_add_bad(struct walk *walk, const char *log, const char *reason);

int walk_path(const struct walk *walk, const struct walk_log *log, char path[]); // PATH_MAX bytes
