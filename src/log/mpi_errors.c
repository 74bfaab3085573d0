// Error classes of MPI. A log has the numbers of the MPI that the program used, and each MPI has its own.
#include <errno.h>
#include <string.h>

#include "log/describe.h"

enum { MPICH, OPEN_MPI, MPIS };

static const struct mpi_error {
    const char *name;
    uint8_t number[MPIS]; // 0: it does not have this class
    int error;            // the errno that says the same, or EINVAL for a wrong argument
} mpi_errors[] = {
    {"MPI_ERR_BUFFER", {1, 1}, EINVAL},
    {"MPI_ERR_COUNT", {2, 2}, EINVAL},
    {"MPI_ERR_TYPE", {3, 3}, EINVAL},
    {"MPI_ERR_TAG", {4, 4}, EINVAL},
    {"MPI_ERR_COMM", {5, 5}, EINVAL},
    {"MPI_ERR_RANK", {6, 6}, EINVAL},
    {"MPI_ERR_ROOT", {7, 8}, EINVAL},
    {"MPI_ERR_GROUP", {8, 9}, EINVAL},
    {"MPI_ERR_OP", {9, 10}, EINVAL},
    {"MPI_ERR_TOPOLOGY", {10, 11}, EINVAL},
    {"MPI_ERR_DIMS", {11, 12}, EINVAL},
    {"MPI_ERR_ARG", {12, 13}, EINVAL},
    {"MPI_ERR_UNKNOWN", {13, 14}, EIO},
    {"MPI_ERR_TRUNCATE", {14, 15}, EOVERFLOW},
    {"MPI_ERR_OTHER", {15, 16}, EIO},
    {"MPI_ERR_INTERN", {16, 17}, EIO},
    {"MPI_ERR_IN_STATUS", {17, 18}, EINVAL},
    {"MPI_ERR_PENDING", {18, 19}, EINVAL},
    {"MPI_ERR_REQUEST", {19, 7}, EINVAL},
    {"MPI_ERR_ACCESS", {20, 20}, EACCES},
    {"MPI_ERR_AMODE", {21, 21}, EINVAL},
    {"MPI_ERR_BAD_FILE", {22, 23}, EINVAL},
    {"MPI_ERR_CONVERSION", {23, 25}, EINVAL},
    {"MPI_ERR_DUP_DATAREP", {24, 27}, EINVAL},
    {"MPI_ERR_FILE_EXISTS", {25, 28}, EEXIST},
    {"MPI_ERR_FILE_IN_USE", {26, 29}, EBUSY},
    {"MPI_ERR_FILE", {27, 30}, EBADF},
    {"MPI_ERR_INFO", {28, 34}, EINVAL},
    {"MPI_ERR_INFO_KEY", {29, 31}, EINVAL},
    {"MPI_ERR_INFO_VALUE", {30, 33}, EINVAL},
    {"MPI_ERR_INFO_NOKEY", {31, 32}, EINVAL},
    {"MPI_ERR_IO", {32, 35}, EIO},
    {"MPI_ERR_NAME", {33, 38}, EINVAL},
    {"MPI_ERR_NO_MEM", {34, 39}, ENOMEM},
    {"MPI_ERR_NOT_SAME", {35, 40}, EINVAL},
    {"MPI_ERR_NO_SPACE", {36, 41}, ENOSPC},
    {"MPI_ERR_NO_SUCH_FILE", {37, 42}, ENOENT},
    {"MPI_ERR_PORT", {38, 43}, EINVAL},
    {"MPI_ERR_QUOTA", {39, 44}, EDQUOT},
    {"MPI_ERR_READ_ONLY", {40, 45}, EROFS},
    {"MPI_ERR_SERVICE", {41, 48}, EINVAL},
    {"MPI_ERR_SPAWN", {42, 50}, EINVAL},
    {"MPI_ERR_UNSUPPORTED_DATAREP", {43, 51}, ENOTSUP},
    {"MPI_ERR_UNSUPPORTED_OPERATION", {44, 52}, ENOTSUP},
    {"MPI_ERR_WIN", {45, 53}, EINVAL},
    {"MPI_ERR_BASE", {46, 24}, EINVAL},
    {"MPI_ERR_LOCKTYPE", {47, 37}, EINVAL},
    {"MPI_ERR_KEYVAL", {48, 36}, EINVAL},
    {"MPI_ERR_RMA_CONFLICT", {49, 46}, EINVAL},
    {"MPI_ERR_RMA_SYNC", {50, 47}, EINVAL},
    {"MPI_ERR_SIZE", {51, 49}, EINVAL},
    {"MPI_ERR_DISP", {52, 26}, EINVAL},
    {"MPI_ERR_ASSERT", {53, 22}, EINVAL},
    {"MPI_ERR_RMA_RANGE", {55, 68}, EINVAL},
    {"MPI_ERR_RMA_ATTACH", {56, 69}, EINVAL},
    {"MPI_ERR_RMA_SHARED", {57, 71}, EINVAL},
    {"MPI_ERR_RMA_FLAVOR", {58, 70}, EINVAL},
    {"MPI_ERR_SESSION", {75, 0}, EINVAL},
    {"MPI_ERR_PROC_ABORTED", {76, 0}, EINVAL},
    {"MPI_ERR_VALUE_TOO_LARGE", {77, 0}, EINVAL},
};

// Those that are derived from MPICH (Intel MPI, MVAPICH) have its numbers.
static const struct mpi_error *find(const struct log_event *event) {
    unsigned mpi = event->process->mpi && !strncmp(event->process->mpi, "Open MPI", 8) ? OPEN_MPI : MPICH;
    for (size_t i = 0; i < sizeof mpi_errors / sizeof *mpi_errors; i++) {
        if (mpi_errors[i].number[mpi] == event->raw.error) return &mpi_errors[i];
    }
    return NULL;
}

int log_event_errno(const struct log_event *event) {
    if (event->raw.error && call_layer_is_above(event->call->layer)) return EIO; // HDF5 does not number its errors
    if (!event->raw.error || event->call->layer != LAYER_MPIIO) return event->raw.error;
    const struct mpi_error *error = find(event);
    return error ? error->error : EIO;
}

const char *describe_error(const struct log_event *event) {
    if (!event->raw.error) return NULL;
    if (call_layer_is_above(event->call->layer)) return "failed";
    if (event->call->layer != LAYER_MPIIO) return strerrorname_np(event->raw.error);
    const struct mpi_error *error = find(event);
    return error ? error->name : NULL;
}
