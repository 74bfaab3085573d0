// Measures what storage can do: repeats benchmarks until their times are certain.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/problem.h"
#include "target/system/system.h"

// What a measurement is doing. Points are counted as in the SYSTEM.
struct measure_progress {
    enum { MEASURE_FIRST_LOOK, MEASURE_ESTIMATE, MEASURE_ROUND, MEASURE_DONE } step;
    size_t points;
    size_t uncertain;   // MEASURE_ROUND: points that need more runs
    unsigned round;     // MEASURE_ROUND: counts from 1
    double least, most; // MEASURE_ESTIMATE: seconds that the rounds will take
};

struct measure_settings {
    const char *directory;
    const char *launcher; // with {np}; NULL: that of an MPI that is installed, or none
    double stall;         // as in replay/replay.h
    const uint64_t *size; // of requests
    size_t sizes;         // 0: the default ones
    uint32_t np;          // the most processes; 0: as many as processors
    double seconds;       // stop repeating after this long; 0: the default
    bool quick;
    bool twice_memory; // files of twice the memory, instead of keeping them out of the page cache
    void (*progress)(const struct measure_progress *progress); // or NULL
};

// Free the system in any case, also after an error.
int measure_system(struct system *system, const struct measure_settings *settings, struct problem *problem);

struct measure_point_wanted {
    uint64_t size;
    enum system_mode mode;
    uint32_t np;
    bool shared, collective; // as in a point of the system
    bool mpiio;              // MPI-IO's independent calls; the points do not tell them from pread and pwrite
    bool warm;               // leave the page cache alone
    bool write_only;         // otherwise it is read, too
};

// Measures these points only, in settings->seconds or about 20 (more if the first requests take longer), not the sizes
// and numbers of processes of the settings. Points that do not fit the storage are left out. Free the system in any
// case.
int measure_points(struct system *system, const struct measure_settings *settings,
                   const struct measure_point_wanted *wanted, size_t count, struct problem *problem);

// What MPI-IO with `np` processes costs on this machine and storage, in settings->seconds or about 8 (quick: 3).
// ERR_NOTHING: there is no MPI.
int measure_mpiio(struct system_mpiio *out, const struct measure_settings *settings, uint32_t np,
                  struct problem *problem);
