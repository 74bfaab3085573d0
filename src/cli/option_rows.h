// Options that several verbs have: one name, one letter and one help text for each.
#pragma once

#include "base/options.h"

#define ROW(...)                                                                                                       \
    { __VA_ARGS__ }
#define ROW_JSON(target) ROW("json", 0, OPTION_FLAG, target, NULL, "print JSON")
#define ROW_OUTPUT(target) ROW("output", 'o', OPTION_TEXT, target, "FILE", "write to FILE instead of standard output")
#define ROW_QUIET(target, help) ROW("quiet", 'q', OPTION_FLAG, target, NULL, help)
#define ROW_LAUNCHER(target)                                                                                           \
    ROW("launcher", 0, OPTION_TEXT, target, "COMMAND",                                                                 \
        "start the processes with COMMAND, such as 'mpiexec.mpich -n {np}'")
#define ROW_STALL(target)                                                                                              \
    ROW("stall", 0, OPTION_DURATION, target, "DURATION",                                                               \
        "stop when no operation has ended for this long beyond the longest recorded one; 0s: never (default: 30s)")
#define ROW_WATTS(target)                                                                                              \
    ROW("watts", 0, OPTION_TEXT, target, "BUSY,IDLE",                                                                  \
        "watts of a disk of a stack's servers, for its energy (default: 13.5,10.2, which is assumed)")
#define ROW_SYSTEMS(target)                                                                                            \
    ROW("system", 0, OPTION_LIST, target, "SYSTEM",                                                                    \
        "findings also say what their advice gains on this storage: a profile from `measure` (repeatable)")
#define ROW_DB(target)                                                                                                 \
    ROW("db", 0, OPTION_TEXT, target, "DB",                                                                            \
        "the catalogue: a file, or postgresql://... (default: ioseer/catalogue.db in $XDG_DATA_HOME or "               \
        "~/.local/share)")
#define ROW_FORCE(target) ROW("force", 0, OPTION_FLAG, target, NULL, "overwrite LOG")

// Verbs that print what a log or a model says.
struct print_options {
    bool json, quiet;
    const char *output;
};
#define ROWS_PRINT(options) ROW_JSON(&(options).json), ROW_OUTPUT(&(options).output), ROW_QUIET_LOG(&(options).quiet)
#define ROW_QUIET_LOG(target) ROW_QUIET(target, "suppress warnings about unreadable parts")

// Verbs that make a model of a log.
struct model_choice {
    const char *layer;
    double gap_seconds;
    bool standard_streams;
};
#define ROW_MODEL_LAYER(target)                                                                                        \
    ROW("layer", 0, OPTION_CHOICE, target, "mpiio|posix|stdio",                                                        \
        "use the calls of this layer (default: the calls that the program itself made)")
#define ROW_CACHE_STATE(target)                                                                                        \
    ROW("cache", 0, OPTION_CHOICE, target, "cold|warm|as-recorded",                                                    \
        "page cache state of files that exist before the run (default: as-recorded)")
#define ROW_GAP(target)                                                                                                \
    ROW("gap", 0, OPTION_DURATION, target, "TIME",                                                                     \
        "length of a pause that separates phases, for programs without MPI (default: 200ms)")
#define ROW_STANDARD_STREAMS(target)                                                                                   \
    ROW("standard-streams", 0, OPTION_FLAG, target, NULL,                                                              \
        "also use files that were open before the job began, such as its standard output")
#define ROWS_MODEL(options)                                                                                            \
    ROW_MODEL_LAYER(&(options).layer), ROW_GAP(&(options).gap_seconds),                                                \
        ROW_STANDARD_STREAMS(&(options).standard_streams)
