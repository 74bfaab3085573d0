// The modules of Darshan's logs: their numbers, the names of their counters, and how each version lays out its records.
// The reader, the writer and `stats --darshan` share these tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// As in logs of version 3.41. Numbers never change.
enum darshan_module_id {
    DARSHAN_NULL,
    DARSHAN_POSIX,
    DARSHAN_MPIIO,
    DARSHAN_H5F,
    DARSHAN_H5D, // not in logs before 3.20: there the following have numbers that are one lower
    DARSHAN_PNETCDF_FILE,
    DARSHAN_PNETCDF_VAR, // not in logs before 3.41: the same
    DARSHAN_BGQ,
    DARSHAN_LUSTRE,
    DARSHAN_STDIO,
    DARSHAN_DXT_POSIX,
    DARSHAN_DXT_MPIIO,
    DARSHAN_MDHIM,
    DARSHAN_APXC,
    DARSHAN_APMPI,
    DARSHAN_HEATMAP,
    DARSHAN_DFS,
    DARSHAN_DAOS,
    DARSHAN_MODULES, // that have a name
    DARSHAN_SLOTS = 64
};

enum { DARSHAN_MAX_NUMBERS = 120, DARSHAN_MAX_REALS = 17 };

// What a record has besides its counters.
enum darshan_shape {
    DARSHAN_OPAQUE,     // records of this module cannot be read
    DARSHAN_COUNTERS,   // nothing
    DARSHAN_OF_FILE,    // before them: the record id of the file that has the object
    DARSHAN_OF_POOL,    // behind them: the UUIDs of DAOS's pool and container
    DARSHAN_OF_OBJECT,  // the same, and the two words of an object's id
    DARSHAN_OF_SERVERS, // behind them: a number for each of MDHIM's servers
    DARSHAN_LAYOUT,     // Lustre: parts of the file, then the numbers of their servers
    DARSHAN_BINS,       // heat map: bytes written per bin, then bytes read
    DARSHAN_SEGMENTS,   // DXT: a trace
};

// How an older version differs from the newest one, whose counters a reader gives. Bit i of a mask stands for counter i
// of the newest version.
struct darshan_version {
    uint64_t missing_numbers; // -1 in what a reader gives
    uint64_t zero_numbers;    // of these: 0
    uint32_t missing_reals;   // -1
    uint8_t dropped_at;       // behind so many counters of the file come
    uint8_t dropped;          // so many that the newest version does not have
    bool is_added;            // what is dropped adds to the counter that follows it
    bool spoils;              // a record with more than 0 in the first that is dropped mixes what cannot be told apart
    bool lacks_file;          // DARSHAN_OF_FILE: without the record id
};

struct darshan_module {
    const char *name; // in Darshan's text output
    enum darshan_shape shape;
    unsigned layer;           // enum call_layer; LAYER_NONE: ioseer counts nothing like it
    bool is_object;           // its records are of objects in files
    const char *const *names; // of the integers, then of the floating-point numbers
    unsigned numbers;
    unsigned reals;
    unsigned versions; // that exist: 1 to this one
};

// Never NULL. A module without a name has none of the other fields either.
const struct darshan_module *darshan_module(unsigned id);

// NULL: there is no such version, or it is newer than this code.
const struct darshan_version *darshan_version(unsigned id, unsigned version);

// The name of a module for people: those without one are named by their number.
struct darshan_module_name {
    char text[32];
};
struct darshan_module_name darshan_module_name(unsigned id);
