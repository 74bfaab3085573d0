#include "fmt/call.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"

_Static_assert(sizeof(struct call_info) == 8, "an index into call_table is a shift");

static const char *const layer_names[LAYER_COUNT] = {
    [LAYER_POSIX] = "posix",     [LAYER_STDIO] = "stdio",   [LAYER_MPIIO] = "mpiio", [LAYER_HDF5] = "hdf5",
    [LAYER_PNETCDF] = "pnetcdf", [LAYER_CLIENT] = "client", [LAYER_NET] = "net",     [LAYER_SERVER] = "server",
    [LAYER_DISK] = "disk",       [LAYER_NETCDF] = "netcdf",
};

static const char *const class_names[CLASS_COUNT] = {
    [CLASS_READ] = "read", [CLASS_WRITE] = "write", [CLASS_OPEN] = "open", [CLASS_CLOSE] = "close",
    [CLASS_SYNC] = "sync", [CLASS_SEEK] = "seek",   [CLASS_META] = "meta",
};

static int find(const char *const *names, unsigned count, const char *name) {
    for (unsigned i = 0; i < count; i++) {
        if (names[i] && strcmp(names[i], name) == 0) return (int)i;
    }
    return ERR_NOTHING;
}

const char *call_layer_name(unsigned layer) { return layer < LAYER_COUNT ? layer_names[layer] : NULL; }

const char *call_class_name(unsigned class) { return class < CLASS_COUNT ? class_names[class] : NULL; }

int call_layer_find(const char *name) { return find(layer_names, LAYER_COUNT, name); }

int call_class_find(const char *name) { return find(class_names, CLASS_COUNT, name); }

static bool has_name(unsigned id, const char *name) {
    return id < call_table_len && call_names[id] && strcmp(call_names[id], name) == 0;
}

uint16_t call_find(const char *name, unsigned hint) {
    if (has_name(hint, name)) return (uint16_t)hint;
    for (unsigned id = 1; id < call_table_len; id++) {
        if (has_name(id, name)) return (uint16_t)id;
    }
    return 0;
}
