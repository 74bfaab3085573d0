#include "model/file/keywords.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "fmt/call.h"

static const char *const cut_names[] = {
    [CUT_START] = "start", [CUT_PATTERN] = "pattern", [CUT_COMMUNICATION] = "communication", [CUT_PAUSE] = "pause"};

const char *model_cut_name(enum model_cut cut) { return cut_names[cut]; }

int model_cut_find(const char *name) {
    for (unsigned i = 0; i < sizeof cut_names / sizeof *cut_names; i++) {
        if (!strcmp(cut_names[i], name)) return (int)i;
    }
    return ERR_NOTHING;
}

const char *model_coordinate_name(const struct op_kind *kind, enum op_coordinate coordinate) {
    switch (coordinate) {
    case AT_MEMBER: return kind->sync ? "rank" : "member";
    case AT_OFFSET: return "offset";
    case AT_SECOND: return kind->has_view ? "view_offset" : kind->etype_bytes ? "type" : "member2";
    case AT_POSITION: return "after";
    case AT_SIZE: return kind->sync ? "times" : "size";
    default: return "short";
    }
}

// --- flags

struct flag {
    const char *name;
    uint32_t bits;
};

// Names for several bits come before names for one of them.
static const struct flag posix_flags[] = {
    {"O_WRONLY", O_WRONLY},   {"O_RDWR", O_RDWR},       {"O_CREAT", O_CREAT},         {"O_EXCL", O_EXCL},
    {"O_NOCTTY", O_NOCTTY},   {"O_TRUNC", O_TRUNC},     {"O_APPEND", O_APPEND},       {"O_NONBLOCK", O_NONBLOCK},
    {"O_SYNC", O_SYNC},       {"O_DSYNC", O_DSYNC},     {"O_ASYNC", O_ASYNC},         {"O_DIRECT", O_DIRECT},
    {"O_LARGEFILE", 0100000}, {"O_TMPFILE", O_TMPFILE}, {"O_DIRECTORY", O_DIRECTORY}, {"O_NOFOLLOW", O_NOFOLLOW},
    {"O_NOATIME", O_NOATIME}, {"O_CLOEXEC", O_CLOEXEC}, {"O_PATH", O_PATH},           {NULL, 0},
};

// MPICH and Open MPI have the same numbers: both took them from ROMIO.
static const struct flag mpi_flags[] = {
    {"MPI_MODE_RDONLY", 2},       {"MPI_MODE_WRONLY", 4},
    {"MPI_MODE_RDWR", 8},         {"MPI_MODE_CREATE", 1},
    {"MPI_MODE_EXCL", 64},        {"MPI_MODE_APPEND", 128},
    {"MPI_MODE_SEQUENTIAL", 256}, {"MPI_MODE_DELETE_ON_CLOSE", 16},
    {"MPI_MODE_UNIQUE_OPEN", 32}, {NULL, 0},
};

static const struct flag hdf5_flags[] = {
    {"H5F_ACC_RDWR", 1},        {"H5F_ACC_TRUNC", 2},      {"H5F_ACC_EXCL", 4}, {"H5F_ACC_CREAT", 16},
    {"H5F_ACC_SWMR_WRITE", 32}, {"H5F_ACC_SWMR_READ", 64}, {NULL, 0},
};

static const struct flag netcdf_flags[] = {
    {"NC_WRITE", 0x1},       {"NC_NOCLOBBER", 0x4},       {"NC_DISKLESS", 0x8},
    {"NC_64BIT_DATA", 0x20}, {"NC_CLASSIC_MODEL", 0x100}, {"NC_64BIT_OFFSET", 0x200},
    {"NC_SHARE", 0x800},     {"NC_NETCDF4", 0x1000},      {NULL, 0},
};

static const struct flag *flags_of(unsigned layer) {
    if (layer == LAYER_HDF5) return hdf5_flags;
    if (layer == LAYER_PNETCDF || layer == LAYER_NETCDF) return netcdf_flags;
    return layer == LAYER_MPIIO ? mpi_flags : posix_flags;
}

static bool is_posix(unsigned layer) { return flags_of(layer) == posix_flags; }

void model_flags_text(unsigned layer, uint32_t flags, char text[MODEL_FLAGS_BYTES]) {
    size_t len = 0;
    if (is_posix(layer) && !(flags & O_ACCMODE)) {
        len = (size_t)snprintf(text, MODEL_FLAGS_BYTES, "O_RDONLY");
    }
    if (layer == LAYER_HDF5 && !flags) {
        snprintf(text, MODEL_FLAGS_BYTES, "H5F_ACC_RDONLY");
        return;
    }
    for (const struct flag *flag = flags_of(layer); flag->name; flag++) {
        if ((flags & flag->bits) != flag->bits) continue;
        len += (size_t)snprintf(text + len, MODEL_FLAGS_BYTES - len, "%s%s", len ? "|" : "", flag->name);
        flags &= ~flag->bits;
    }
    if (flags || !len) snprintf(text + len, MODEL_FLAGS_BYTES - len, "%s0x%" PRIx32, len ? "|" : "", flags);
}

static int parse_flag(unsigned layer, const char *word, uint32_t *bits) {
    *bits = 0;
    if (is_posix(layer) && !strcmp(word, "O_RDONLY")) return 0;
    for (const struct flag *flag = flags_of(layer); flag->name; flag++) {
        if (strcmp(flag->name, word)) continue;
        *bits = flag->bits;
        return 0;
    }
    char *end;
    unsigned long number = strtoul(word, &end, 16);
    RETURN_IF(strncmp(word, "0x", 2) || !word[2] || *end || number > UINT32_MAX, ERR_FORMAT);
    *bits = (uint32_t)number;
    return 0;
}

int model_flags_parse(unsigned layer, const char *text, uint32_t *flags) {
    char copy[MODEL_FLAGS_BYTES], *rest = copy, *word;
    RETURN_IF(strlen(text) >= sizeof copy, ERR_LIMIT);
    memcpy(copy, text, strlen(text) + 1);
    *flags = 0;
    while ((word = strsep(&rest, "|"))) {
        uint32_t bits;
        FORWARD(parse_flag(layer, word, &bits));
        *flags |= bits;
    }
    return 0;
}

// --- other constants of the system

static const char *const whence_names[] = {[SEEK_SET] = "SEEK_SET",
                                           [SEEK_CUR] = "SEEK_CUR",
                                           [SEEK_END] = "SEEK_END",
                                           [SEEK_DATA] = "SEEK_DATA",
                                           [SEEK_HOLE] = "SEEK_HOLE"};

const char *model_whence_name(uint32_t whence) {
    return whence < sizeof whence_names / sizeof *whence_names ? whence_names[whence] : NULL;
}

int model_whence_find(const char *name) {
    for (unsigned i = 0; i < sizeof whence_names / sizeof *whence_names; i++) {
        if (!strcmp(whence_names[i], name)) return (int)i;
    }
    return ERR_NOTHING;
}

int model_error_find(const char *name) {
    enum { MAX_ERRNO = 4095 }; // of the kernel
    for (int error = 1; error <= MAX_ERRNO; error++) {
        const char *known = strerrorname_np(error);
        if (known && !strcmp(known, name)) return error;
    }
    return ERR_NOTHING;
}
