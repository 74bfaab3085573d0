// What is known of a captured call, whatever alias it was called by. Ids come from calls/ids.lock and never move;
// a log carries the rows it uses, so that it can be read by a program that has another table.
#pragma once

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
    LAYER_COUNT
};

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
    CALL_TRANSFERS = 1 << 2,        // result is bytes moved; where the stream does not say, it equals the size
    CALL_RESULT_IS_OFFSET = 1 << 3, // seeks: the stream's offset field holds the result
    CALL_ASYNC = 1 << 4,            // lasts from submission to observed completion
    CALL_COLLECTIVE = 1 << 5,
    CALL_UNCOUNTED = 1 << 6, // the kernel does not count its bytes in /proc/PID/io
};

struct call_info {
    const char *name; // canonical: the plain libc or MPI name; NULL for an id that is not in use
    uint8_t layer;
    uint8_t class;
    uint8_t traits;
};

const char *call_layer_name(unsigned layer); // "posix" …; NULL where there is none
const char *call_class_name(unsigned class);
int call_layer_find(const char *name); // or ERR_NOTHING
int call_class_find(const char *name);

// This build's own table (generated): call_table[id], ids from 1 to call_table_len - 1.
extern const struct call_info call_table[];
extern const unsigned call_table_len;

// Every name under which an operation may be called, ended by a row without a name.
struct call_symbol {
    const char *symbol;
    unsigned call;
};
extern const struct call_symbol call_symbols[];
