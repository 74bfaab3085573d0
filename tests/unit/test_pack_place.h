// A directory for spill files, and the name of the log that is packed from it: what each test of the packer begins
// with.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pack/pack.h"

struct place {
    char spills[64];
    char log[64];
};

static int set_up(void **state) {
    static struct place place;
    strcpy(place.spills, "/tmp/ioseer-test-XXXXXX");
    if (!mkdtemp(place.spills)) return -1;
    snprintf(place.log, sizeof place.log, "%.50s.log", place.spills);
    *state = &place;
    return 0;
}

static int tear_down(void **state) {
    const struct place *place = *state;
    unlink(place->log);
    rmdir(place->log); // a test may have made a folder there
    pack_remove_directory(place->spills);
    return 0;
}
