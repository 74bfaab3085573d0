// One program, or the replay of one model, at every point of a grid: places, sizes of the page cache, numbers of
// processes, interfaces. Every point runs until its time is known well enough; runs alternate over the points.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "base/problem.h"
#include "measure/statistics.h"
#include "model/model.h"

enum { SWEEP_LEAST_RUNS = 3, SWEEP_MOST_RUNS = 15 };

struct sweep_target {
    const char *name; // a directory, as the user gave it
    char type[64];    // of its file system
    bool is_cached;   // its files go through the page cache
};

struct sweep_grid {
    char **command;      // NULL: a model is replayed
    const char *model;   // its name; NULL: a command
    uint64_t digest;     // of the model
    const char *program; // the command, or what was recorded; or NULL
    struct sweep_target *target;
    size_t targets;
    uint64_t *cache; // limits of memory in bytes; 0: none
    size_t caches;
    uint32_t *np; // 0: as the command, or the model, has it
    size_t nps;
    const char **interface;
    size_t interfaces;
};

struct sweep_point {
    size_t target, cache, np, interface; // places in the grid
    double io[SWEEP_MOST_RUNS];          // seconds, by run
    double wall[SWEEP_MOST_RUNS];        // the same; 0: not known
    unsigned runs;
    uint64_t working_set; // distinct bytes; 0: not known
    bool killed;          // for memory
    char *failed;         // why it did; or NULL
};

enum sweep_end { SWEEP_UNDER_WAY, SWEEP_PRECISE, SWEEP_MOST, SWEEP_TIME, SWEEP_ENDS };

struct sweep_phase {
    uint64_t id; // as `ioseer phases` prints it
    uint64_t working_set;
};

struct sweep {
    struct sweep_grid grid;
    struct sweep_point *point;
    size_t points;
    double precision; // asked for, as a fraction
    enum sweep_end end;
    struct sweep_phase *phase; // of the first point that ran
    size_t phases;
};

struct sweep_progress {
    const struct sweep *sweep;
    const struct sweep_point *point; // that runs now
    size_t ready;                    // points that need no more runs
};

struct sweep_settings {
    struct model *model;                                     // NULL: grid.command
    const char *launcher;                                    // as in replay/replay.h
    double stall;                                            // the same
    double seconds;                                          // the longest time for all; 0: no limit
    const char *path;                                        // file that has the results so far; NULL: none
    bool anew;                                               // replace what it has
    void (*progress)(const struct sweep_progress *progress); // called before each run; or NULL
};

// Lists such as "1G,512M,none" and "2,4". ERR_USAGE, with a reason, if one is wrong.
int sweep_parse_caches(struct sweep_grid *grid, const char *text, struct problem *problem);
int sweep_parse_nps(struct sweep_grid *grid, const char *text, struct problem *problem);
int sweep_parse_interfaces(struct sweep_grid *grid, const char *text, struct problem *problem);

// Runs the grid, and continues what settings->path has of it. Free the sweep in any case.
int sweep_run(struct sweep *sweep, const struct sweep_settings *settings, struct problem *problem);
void sweep_free(struct sweep *sweep);

// The median of the point's runs; false if it has no time.
bool sweep_time(const struct sweep_point *point, struct interval *time);
bool sweep_is_precise(const struct sweep *sweep, const struct sweep_point *point);
uint64_t sweep_working_set(const struct sweep *sweep); // the largest of the points; 0: not known

const char *sweep_end_text(enum sweep_end end); // as in JSON; NULL: under way
void sweep_write(const struct sweep *sweep, struct json_out *json);
