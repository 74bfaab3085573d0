// Options of verbs that ask about a program on several targets: directories, and profiles that `measure` made.
#pragma once

#include "cli/argument.h"
#include "cli/option_rows.h"
#include "cli/verb.h"
#include "replay/replay.h"

struct target_options {
    struct option_list on, system;
    const char *launcher, *cache, *output;
    uint64_t repeat, np;
    double stall;
    struct model_choice model;
    bool json, quiet;
};
#define TARGET_DEFAULTS .cache = "as-recorded", .stall = REPLAY_STALL_SECONDS

#define ROW_ON(targets, help) ROW("on", 0, OPTION_LIST, &(targets).on, "DIR", help)
#define ROW_SYSTEM(targets)                                                                                            \
    ROW("system", 0, OPTION_LIST, &(targets).system, "SYSTEM", "calculate with a profile from `measure` (repeatable)")
#define ROW_NP(targets) ROW("np", 0, OPTION_COUNT, &(targets).np, "N", "number of processes (default: as recorded)")
#define ROWS_TARGETS(targets)                                                                                          \
    ROW_LAUNCHER(&(targets).launcher), ROW_STALL(&(targets).stall), ROW_CACHE_STATE(&(targets).cache),                 \
        ROW_STANDARD_STREAMS(&(targets).model.standard_streams), ROW_JSON(&(targets).json),                            \
        ROW_OUTPUT(&(targets).output), ROW_QUIET(&(targets).quiet, "suppress progress messages and warnings")

// Whether progress is shown.
bool targets_show(const struct target_options *targets);

// `cache` is enum replay_cache.
enum status targets_check(const struct target_options *targets, const char *verb, int argc, char **argv,
                          uint32_t *cache);

// Opens the model and says what is wrong with it. Close the argument if this returns STATUS_OK.
enum status targets_open(const struct target_options *targets, const char *verb, const char *name,
                         struct argument *argument);
