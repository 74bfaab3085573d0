// Facts about each captured call; its aliases share them. Everything here is generated from calls/. Ids come from
// calls/ids.lock and never move. A log carries name, layer, class and traits of the calls that it uses, so that a
// program with another table can read it; the rest comes from the table of the reading program, by name.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum call_layer {
    LAYER_NONE,
    LAYER_POSIX,
    LAYER_STDIO,
    LAYER_MPIIO,
    LAYER_HDF5,
    LAYER_PNETCDF,
    LAYER_CLIENT,
    LAYER_NET,
    LAYER_SERVER,
    LAYER_DISK,
    LAYER_NETCDF,
    LAYER_COUNT
};

// Layers above MPI-IO, whose calls are on objects in files: datasets, variables. What they ask for and what reaches the
// file differ (caches, filters, conversions), so their bytes are not those of the job.
static inline bool call_layer_is_above(unsigned layer) {
    return layer == LAYER_HDF5 || layer == LAYER_PNETCDF || layer == LAYER_NETCDF;
}

// Layers below the system call: what a file system with probes did for it (src/stack).
static inline bool call_layer_is_below(unsigned layer) { return layer >= LAYER_CLIENT && layer <= LAYER_DISK; }
enum { LAYERS_BELOW = 1 << LAYER_CLIENT | 1 << LAYER_NET | 1 << LAYER_SERVER | 1 << LAYER_DISK };

// The layers above, numbered from 0: calls of one may be inside those of another.
enum { LAYERS_ABOVE = 3 };
static inline unsigned call_layer_above(unsigned layer) {
    return layer == LAYER_HDF5 ? 0 : layer == LAYER_PNETCDF ? 1 : 2;
}

enum call_class {
    CLASS_NONE,
    CLASS_READ,
    CLASS_WRITE,
    CLASS_OPEN,
    CLASS_CLOSE,
    CLASS_SYNC,
    CLASS_SEEK,
    CLASS_META,
    CLASS_COUNT
};

enum call_trait {
    CALL_HAS_OFFSET = 1 << 0,
    CALL_HAS_SIZE = 1 << 1,
    CALL_TRANSFERS = 1 << 2,        // the result is the bytes moved; if the event has no result, it equals the size
    CALL_RESULT_IS_OFFSET = 1 << 3, // seeks: the event's offset field holds the result
    CALL_ASYNC = 1 << 4,            // lasts from submission to observed completion
    CALL_COLLECTIVE = 1 << 5,
    CALL_UNCOUNTED = 1 << 6, // the kernel does not count its bytes in /proc/PID/io
};

// Which of Darshan's counters a call adds to (fmt/counters.c).
enum call_count {
    COUNT_NONE,
    COUNT_READ,
    COUNT_WRITE,
    COUNT_OPEN,
    COUNT_DUP,
    COUNT_FCNTL, // a dup if its command says so, else nothing
    COUNT_FILENO,
    COUNT_FDOPEN,
    COUNT_CLOSE,
    COUNT_SEEK,
    COUNT_STAT,
    COUNT_MMAP,
    COUNT_FSYNC,
    COUNT_FDSYNC,
    COUNT_FLUSH,
    COUNT_RENAME,
    COUNT_VIEW,
    COUNT_HINTS,
    COUNT_SYNC,   // of MPI-IO, PnetCDF
    COUNT_CREATE, // this and the next two: of PnetCDF
    COUNT_REDEF,
    COUNT_WAIT,
};

// Where in the file a transfer takes place. Ordered calls of MPI-IO use the shared pointer and are collective.
enum call_pointer { POINTER_INDIVIDUAL, POINTER_EXPLICIT, POINTER_SHARED };

enum call_form {
    FORM_BLOCKING,
    FORM_NONBLOCKING,
    FORM_SPLIT,
    FORM_HALF,     // one side of a copy inside the kernel, which moves what there is
    FORM_BUFFERED, // nonblocking, of PnetCDF: it copies the values
    FORM_READS,    // this and the next: of several objects; it contains a transfer of each
    FORM_WRITES,
};

// How a transfer of PnetCDF or NetCDF names a part of a variable.
enum call_part { PART_NONE, PART_VAR, PART_VAR1, PART_VARA, PART_VARS, PART_VARM, PART_VARN, PART_VARD, PART_END };

// What a call does to names. Opens are not here: their flags say whether they create.
enum call_effect {
    EFFECT_NONE,
    EFFECT_LOOKUP, // asks about a name and changes nothing
    EFFECT_ASK,    // the same, of something that is open
    EFFECT_STAT,   // asks for attributes
    EFFECT_CREATE,
    EFFECT_REMOVE,
    EFFECT_RENAME,
    EFFECT_LINK,
    EFFECT_CHANGE, // of attributes
};

// What a call does to the size of its file, besides writing: sets it, or fills the file up to offset + size.
enum call_sizing { SIZING_NONE, SIZING_SET, SIZING_FILL };

// What a call must find under its name, or makes there.
enum call_subject { SUBJECT_ANY, SUBJECT_DIRECTORY, SUBJECT_LINK };

// 8 bytes: the recorder indexes the table in its fast path.
struct call_info {
    uint8_t layer;
    uint8_t class;
    uint8_t traits;
    uint8_t count : 5, part : 3; // enum call_count, enum call_part
    uint8_t effect : 4, sizing : 2;
    uint8_t pointer : 2, form : 3, subject : 2;
    uint8_t by_name : 1;  // its file is given by a name, not by something that is open
    uint16_t replayed_as; // the call that a replay makes instead; itself for most
};

const char *call_layer_name(unsigned layer); // "posix" …; NULL if there is none
const char *call_class_name(unsigned class);
int call_layer_find(const char *name); // or ERR_NOTHING
int call_class_find(const char *name);

// This build's own table (generated): call_table[id], ids from 1 to call_table_len - 1. Entry 0 is for calls that this
// build does not know: it has no name and no traits.
extern const struct call_info call_table[];
extern const unsigned call_table_len;
// The plain libc or MPI name of each; NULL for an id that is not in use. The recorder does without: a table of
// addresses must be relocated in every process that loads it.
extern const char *const call_names[];

// This build's id of the call with that name; 0 if there is none. Other code keeps the id: this is the only place where
// names of calls are compared. `hint` is where the name probably is.
uint16_t call_find(const char *name, unsigned hint);

// Every name under which an operation may be called, ended by a row without a name.
struct call_symbol {
    const char *symbol;
    unsigned call;
};
extern const struct call_symbol call_symbols[];

// The system calls among them, ended by a row without a call.
struct call_number {
    uint16_t number; // of the kernel
    uint16_t call;
    bool on_descriptor; // its first argument is a descriptor
};
extern const struct call_number call_numbers[];
