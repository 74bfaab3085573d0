// The catalogue of a site: what is known about the jobs of many logs, in a database, and questions to it.
#pragma once

#include "catalogue/store.h"
#include "catalogue/walk.h"

struct catalogue {
    struct store *store;
};

// `place`: a path, postgresql://..., or NULL for the user's own (catalogue_default_place).
int catalogue_open(struct catalogue *catalogue, const char *place, enum store_access access, struct problem *problem);
void catalogue_close(struct catalogue *catalogue);

// ioseer/catalogue.db in $XDG_DATA_HOME or ~/.local/share.
int catalogue_default_place(char path[], struct problem *problem); // PATH_MAX bytes

struct catalogue_progress {
    uint64_t done, total;
};

struct catalogue_order {
    char *const *path; // folders and logs
    size_t paths;
    // Called several times per second; may be NULL. A negative return value ends the work; what is stored stays.
    int (*progress)(void *context, const struct catalogue_progress *progress);
    void *context;
};

struct catalogue_changes {
    uint64_t added, updated, removed, same;
    struct walk walk; // with all bad logs
};

// Brings the catalogue up to date with the logs below some folders. Call catalogue_changes_free in any case.
int catalogue_index(struct catalogue *catalogue, const struct catalogue_order *order, struct catalogue_changes *changes,
                    struct problem *problem);
void catalogue_changes_free(struct catalogue_changes *changes);
