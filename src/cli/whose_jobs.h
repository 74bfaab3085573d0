// Whose jobs of a catalogue a verb shows: all to who made the catalogue, to root and to members of `support_group`, to
// others their own.
#pragma once

#include "catalogue/catalogue.h"
#include "site/viewer.h"

int whose_jobs(const struct catalogue *catalogue, struct site_viewer *viewer, struct problem *problem);

// For struct ask_filter: NULL for all.
static inline const char *whose_owner(const struct site_viewer *viewer) {
    return viewer->sees_all ? NULL : viewer->name;
}
