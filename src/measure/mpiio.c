// What MPI-IO costs: its bandwidths on the storage, and its own costs with files in memory.
#include <stdio.h>

#include "base/err.h"
#include "measure/measure.h"

static const uint64_t SEQUENTIAL_BYTES = 4 << 20, RANDOM_BYTES = 64 << 10;
static const double SECONDS = 8, QUICK_SECONDS = 3;

static void take_bandwidths(struct system_mpiio *out, const struct system *system) {
    for (size_t i = 0; i < system->points; i++) {
        const struct system_point *point = &system->point[i];
        double *to = point->mode == MODE_RANDOM ? out->random : out->sequential;
        to[point->write] = point->bandwidth;
    }
    snprintf(out->name, sizeof out->name, "%s", system->messages.name);
    out->random_size = RANDOM_BYTES;
}

static int measure_bandwidths(struct system_mpiio *out, const struct measure_settings *settings,
                              struct problem *problem) {
    const struct measure_point_wanted wanted[] = {
        {.size = SEQUENTIAL_BYTES, .np = out->np, .shared = true, .mpiio = true},
        {.size = RANDOM_BYTES, .np = out->np, .shared = true, .mpiio = true, .mode = MODE_RANDOM},
    };
    struct system system;
    int code = measure_points(&system, settings, wanted, sizeof wanted / sizeof *wanted, problem);
    if (!code) take_bandwidths(out, &system);
    system_free(&system);
    return code;
}

int measure_mpiio(struct system_mpiio *out, const struct measure_settings *settings, uint32_t np,
                  struct problem *problem) {
    double seconds = settings->seconds > 0 ? settings->seconds : settings->quick ? QUICK_SECONDS : SECONDS;
    struct measure_settings part = *settings;
    part.seconds = seconds / 2;
    part.twice_memory = false;
    part.progress = NULL;
    *out = (struct system_mpiio){.np = np, .nodes = 1};
    return measure_bandwidths(out, &part, problem);
}
