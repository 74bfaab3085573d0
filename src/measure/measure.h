// The measurements behind `ioseer measure`: benchmarks, repeated until they are sure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "target/system/system.h"

struct measure_settings {
    const char *directory;
    const char *launcher; // with {np}; NULL: of an MPI that is here, or none
    const uint64_t *size; // of requests
    size_t sizes;         // 0: the usual ones
    uint32_t np;          // the most processes; 0: as many as processors
    double seconds;       // after which nothing is repeated any more, 0: as usual
    bool quick;
    bool twice_memory;
    bool quiet;
};

// Prints what is wrong; returns an exit status. The system is to be freed in any case.
int measure_system(struct system *system, const struct measure_settings *settings);
