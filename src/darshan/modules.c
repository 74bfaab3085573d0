#include "darshan/modules.h"

#include <stdio.h>

#include "counter_names.h" // made from calls/darshan.counters
#include "fmt/call.h"

#define BIT(i) (UINT64_C(1) << (i))

// Counters of the newest version that older ones lack.
enum {
    POSIX_FILENOS = 1,
    POSIX_DUPS = 2,
    POSIX_RENAME_SOURCES = 10,
    POSIX_RENAME_TARGETS = 11,
    POSIX_RENAMED_FROM = 12,
    STDIO_FDOPENS = 1,
    H5F_FLUSHES = 1,
    H5F_USE_MPIIO = 2,
    PNETCDF_FILE_OPENS = 1,
    // Of the floating-point numbers.
    CLOSE_START = 3,
    OPEN_END = 4,
    H5F_CLOSE_START = 1,
    H5F_OPEN_END = 2,
    H5F_META_TIME = 4,
    PNETCDF_CLOSE_START = 1,
    PNETCDF_WAIT_START = 2,
    PNETCDF_OPEN_END = 3,
    PNETCDF_WAIT_END = 5,
    PNETCDF_META_TIME = 6,
    PNETCDF_WAIT_TIME = 7,
};

static const struct darshan_version newest = {.missing_reals = 0};

enum { POSIX_AT_FOPENS = 6, POSIX_STDIO = 4 }; // version 1 counted stdio, too

#define POSIX_MISSING                                                                                                  \
    BIT(POSIX_FILENOS) | BIT(POSIX_DUPS) | BIT(POSIX_RENAME_SOURCES) | BIT(POSIX_RENAME_TARGETS) |                     \
        BIT(POSIX_RENAMED_FROM)
#define MISSING_TIMES BIT(CLOSE_START) | BIT(OPEN_END)

static const struct darshan_version posix_1 = {.missing_numbers = POSIX_MISSING,
                                               .zero_numbers = BIT(POSIX_RENAMED_FROM),
                                               .missing_reals = MISSING_TIMES,
                                               .dropped_at = POSIX_AT_FOPENS,
                                               .dropped = POSIX_STDIO,
                                               .spoils = true};
static const struct darshan_version posix_2 = {
    .missing_numbers = POSIX_MISSING, .zero_numbers = BIT(POSIX_RENAMED_FROM), .missing_reals = MISSING_TIMES};
static const struct darshan_version posix_3 = {.missing_numbers = POSIX_MISSING,
                                               .zero_numbers = BIT(POSIX_RENAMED_FROM)};
static const struct darshan_version mpiio_1 = {.missing_reals = MISSING_TIMES};
static const struct darshan_version stdio_1 = {.missing_numbers = BIT(STDIO_FDOPENS)};
static const struct darshan_version h5f_1 = {.missing_numbers = BIT(H5F_FLUSHES) | BIT(H5F_USE_MPIIO),
                                             .missing_reals =
                                                 BIT(H5F_CLOSE_START) | BIT(H5F_OPEN_END) | BIT(H5F_META_TIME)};
static const struct darshan_version h5f_2 = {.missing_numbers = BIT(H5F_FLUSHES) | BIT(H5F_USE_MPIIO),
                                             .missing_reals = BIT(H5F_META_TIME)};
static const struct darshan_version h5d_1 = {.lacks_file = true};

// Opens by one process and opens by all were two counters.
#define PNETCDF_MISSING ((BIT(PNETCDF_NUMBERS) - 1) & ~BIT(PNETCDF_FILE_OPENS))
#define MISSING_WAITS BIT(PNETCDF_WAIT_START) | BIT(PNETCDF_WAIT_END) | BIT(PNETCDF_META_TIME) | BIT(PNETCDF_WAIT_TIME)

static const struct darshan_version pnetcdf_1 = {.missing_numbers = PNETCDF_MISSING,
                                                 .missing_reals =
                                                     BIT(PNETCDF_CLOSE_START) | BIT(PNETCDF_OPEN_END) | MISSING_WAITS,
                                                 .dropped = 1,
                                                 .is_added = true};
static const struct darshan_version pnetcdf_2 = {
    .missing_numbers = PNETCDF_MISSING, .missing_reals = MISSING_WAITS, .dropped = 1, .is_added = true};
static const struct darshan_version bgq_1 = {.dropped = 1}; // and filling

// By module, by version; NULL: as the newest.
static const struct darshan_version *const old_versions[DARSHAN_MODULES][4] = {
    [DARSHAN_POSIX] = {NULL, &posix_1, &posix_2, &posix_3},
    [DARSHAN_MPIIO] = {NULL, &mpiio_1, &mpiio_1},
    [DARSHAN_STDIO] = {NULL, &stdio_1},
    [DARSHAN_H5F] = {NULL, &h5f_1, &h5f_2},
    [DARSHAN_H5D] = {NULL, &h5d_1},
    [DARSHAN_PNETCDF_FILE] = {NULL, &pnetcdf_1, &pnetcdf_2},
    [DARSHAN_BGQ] = {NULL, &bgq_1},
};

static const struct darshan_module modules[DARSHAN_MODULES] = {
    [DARSHAN_NULL] = {.name = "NULL"},
    [DARSHAN_POSIX] = {"POSIX", DARSHAN_COUNTERS, LAYER_POSIX, false, posix_names, POSIX_NUMBERS, POSIX_REALS, 4},
    [DARSHAN_MPIIO] = {"MPI-IO", DARSHAN_COUNTERS, LAYER_MPIIO, false, mpiio_names, MPIIO_NUMBERS, MPIIO_REALS, 3},
    [DARSHAN_H5F] = {"H5F", DARSHAN_COUNTERS, LAYER_HDF5, false, hdf5_names, HDF5_NUMBERS, HDF5_REALS, 3},
    [DARSHAN_H5D] = {"H5D", DARSHAN_OF_FILE, LAYER_HDF5, true, hdf5_objects_names, HDF5_OBJECTS_NUMBERS,
                     HDF5_OBJECTS_REALS, 2},
    [DARSHAN_PNETCDF_FILE] = {"PNETCDF_FILE", DARSHAN_COUNTERS, LAYER_PNETCDF, false, pnetcdf_names, PNETCDF_NUMBERS,
                              PNETCDF_REALS, 3},
    [DARSHAN_PNETCDF_VAR] = {"PNETCDF_VAR", DARSHAN_OF_FILE, LAYER_PNETCDF, true, pnetcdf_objects_names,
                             PNETCDF_OBJECTS_NUMBERS, PNETCDF_OBJECTS_REALS, 1},
    [DARSHAN_BGQ] = {"BG/Q", DARSHAN_COUNTERS, LAYER_NONE, false, bgq_names, BGQ_NUMBERS, BGQ_REALS, 2},
    [DARSHAN_LUSTRE] = {"LUSTRE", DARSHAN_LAYOUT, LAYER_NONE, false, lustre_names, LUSTRE_NUMBERS, LUSTRE_REALS, 2},
    [DARSHAN_STDIO] = {"STDIO", DARSHAN_COUNTERS, LAYER_STDIO, false, stdio_names, STDIO_NUMBERS, STDIO_REALS, 2},
    [DARSHAN_DXT_POSIX] = {.name = "DXT_POSIX", .shape = DARSHAN_SEGMENTS, .layer = LAYER_POSIX, .versions = 2},
    [DARSHAN_DXT_MPIIO] = {.name = "DXT_MPIIO", .shape = DARSHAN_SEGMENTS, .layer = LAYER_MPIIO, .versions = 3},
    [DARSHAN_MDHIM] = {"MDHIM", DARSHAN_OF_SERVERS, LAYER_NONE, false, mdhim_names, MDHIM_NUMBERS, MDHIM_REALS, 1},
    [DARSHAN_APXC] = {.name = "APXC"},
    [DARSHAN_APMPI] = {.name = "APMPI"},
    [DARSHAN_HEATMAP] = {"HEATMAP", DARSHAN_BINS, LAYER_NONE, false, heatmap_names, HEATMAP_NUMBERS, HEATMAP_REALS, 1},
    [DARSHAN_DFS] = {"DFS", DARSHAN_OF_POOL, LAYER_NONE, false, dfs_names, DFS_NUMBERS, DFS_REALS, 1},
    [DARSHAN_DAOS] = {"DAOS", DARSHAN_OF_OBJECT, LAYER_NONE, false, daos_names, DAOS_NUMBERS, DAOS_REALS, 1},
};

const struct darshan_version *darshan_version(unsigned id, unsigned version) {
    if (id >= DARSHAN_MODULES || version == 0 || version > modules[id].versions) return NULL;
    const struct darshan_version *old = version < modules[id].versions ? old_versions[id][version] : NULL;
    return old ? old : &newest;
}

const struct darshan_module *darshan_module(unsigned id) {
    static const struct darshan_module unknown = {0};
    return id < DARSHAN_MODULES ? &modules[id] : &unknown;
}

struct darshan_module_name darshan_module_name(unsigned id) {
    struct darshan_module_name name;
    const char *known = darshan_module(id)->name;
    if (known)
        snprintf(name.text, sizeof name.text, "%s", known);
    else
        snprintf(name.text, sizeof name.text, "module %u", id);
    return name;
}
