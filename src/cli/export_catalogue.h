// A catalogue that `export` gives away without names.
#pragma once

#include "cli/verb.h"

struct export_catalogue {
    const char *db, *key, *output; // db, key: NULL, as for catalogue_open and anonymous_prepare
    bool quiet;
};

enum status export_catalogue(const struct export_catalogue *order);
