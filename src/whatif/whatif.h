// What if the program did its I/O in another way: how long each way takes on each target, which is best, what to set.
#pragma once

#include "base/json_out.h"
#include "base/problem.h"
#include "measure/statistics.h"
#include "model/model.h"
#include "model/variant.h"
#include "whatif/crossover.h"
#include "whatif/extended.h"

// What whatif is doing.
struct whatif_progress {
    const char *target;
    enum { WHATIF_MEASURES, WHATIF_REPLAYS } step;
    unsigned run, runs; // of replays
    size_t points;      // that are measured
    const char *option; // that is replayed
};

struct whatif_settings {
    const char **directory; // targets to measure
    size_t directories;
    const char **profile; // targets that were measured: SYSTEM files
    size_t profiles;
    const char **variant; // only these, besides as recorded; none: all that the program can do
    size_t variants;
    const char *launcher; // as in replay/replay.h
    double stall;
    double seconds; // to measure each directory; 0: the default
    uint32_t cache; // enum replay_cache
    uint32_t np;    // processes; 0: as recorded
    bool verify;
    unsigned runs;                                            // of each verified option
    void (*progress)(const struct whatif_progress *progress); // or NULL
};

struct whatif_phase {
    struct extended extended;
    double published; // NAN: its parameters are not known
};

struct whatif_option {
    struct variant variant;
    char name[VARIANT_TEXT_BYTES];
    struct interval total;
    double published;
    struct extended parts;      // of all phases
    struct whatif_phase *phase; // by place in the program
    struct variant_hint hint[VARIANT_HINTS];
    unsigned hints;
    unsigned overruled; // bit by hint: the program asks for another value itself, which ROMIO_HINTS does not change
    double exchanged;   // share of the bytes that go through aggregators
    double crossing;    // share of the bytes that go to another rank
    bool verified;
    struct interval measured; // of the runs, if it is verified
    unsigned runs;
    char *reason; // why it was not verified; or NULL
};

struct whatif_target {
    char *name;
    bool is_directory;
    struct system system;
    const struct system_mpiio *mpiio; // of the nearest number of processes; or NULL
    struct whatif_option *option;     // the first one is as recorded
    size_t options;
    size_t best;        // the shortest time
    bool within_noise;  // the best one is not shorter than as recorded by more than the intervals
    size_t *phase_best; // by phase
    struct crossover crossover;
};

struct whatif {
    struct whatif_target *target;
    size_t targets;
    uint32_t program;
    uint32_t np;
    uint64_t *phase; // numbers, as `ioseer phases` prints them
    size_t phases;
    double recorded; // seconds of I/O in the recorded run
    double share;    // of the bytes, that were looked at
};

// Scales the model to settings->np. `name` is the model's name, for messages. Free in any case, also after an error.
int whatif(struct model *model, const char *name, const struct whatif_settings *settings, struct whatif *result,
           struct problem *problem);
void whatif_free(struct whatif *result);

void whatif_write(const struct whatif *result, struct json_out *json);
