// Records of several variables in one file, like PnetCDF: rank 0 writes a header, each rank posts nonblocking writes of
// its parts of all variables and completes them together, then all flush the file. In the end each rank reads its parts
// in the same way.
#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 4096, VARIABLES_MAX = 64 };

struct run {
    struct example example;
    long long records, variables, part_bytes;
    char *data; // the parts of one record
};

static MPI_Offset offset_of(const struct run *run, int record, int variable) {
    long long parts = (record * run->variables + variable) * run->example.ranks + run->example.rank;
    return HEADER + parts * run->part_bytes;
}

static void transfer(struct run *run, MPI_File file, int record, bool writes) {
    MPI_Request request[VARIABLES_MAX];
    MPI_Status status[VARIABLES_MAX];
    int bytes = (int)run->part_bytes;
    for (int i = 0; i < run->variables; i++) {
        char *data = run->data + i * run->part_bytes;
        MPI_Offset offset = offset_of(run, record, i);
        if (writes) pattern_fill(data, (size_t)bytes, (uint64_t)offset);
        if (writes) MUST(MPI_File_iwrite_at(file, offset, data, bytes, MPI_BYTE, &request[i]));
        if (!writes) MUST(MPI_File_iread_at(file, offset, data, bytes, MPI_BYTE, &request[i]));
    }
    MUST(MPI_Waitall((int)run->variables, request, status));
    for (int i = 0; i < run->variables && !writes; i++) {
        uint64_t seed = (uint64_t)offset_of(run, record, i);
        if (!pattern_matches(run->data + i * run->part_bytes, (size_t)bytes, seed)) run->example.wrong = true;
    }
}

static void write_header(const struct run *run, MPI_File file, int records) {
    char header[HEADER];
    memset(header, 0, sizeof header);
    memcpy(header, &records, sizeof records);
    if (run->example.rank == 0) MUST(MPI_File_write_at(file, 0, header, HEADER, MPI_BYTE, MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    struct run run = {.records = 4, .variables = 5, .part_bytes = 32768};
    const struct example_option options[] = {{"records", OPTION_COUNT, &run.records, "records", NULL},
                                             {"variables", OPTION_COUNT, &run.variables, "variables", NULL},
                                             {"size", OPTION_SIZE, &run.part_bytes, "bytes of a rank's part", NULL},
                                             {0}};
    example_start(&run.example, &argc, &argv, "Writes records of variables without blocking, then reads them.",
                  options);
    if (run.variables < 1 || run.variables > VARIABLES_MAX) example_refuse(&run.example, "1 to 64 variables");
    if (run.part_bytes > INT32_MAX) example_refuse(&run.example, "parts of 2 GiB at most");
    run.data = example_memory((size_t)(run.variables * run.part_bytes));
    char *path = example_path(&run.example, "variables", -1);
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    write_header(&run, file, 0);
    for (int record = 0; record < run.records; record++) {
        transfer(&run, file, record, true);
        write_header(&run, file, record + 1);
        MUST(MPI_File_sync(file));
    }
    for (int record = 0; record < run.records; record++) transfer(&run, file, record, false);
    MUST(MPI_File_close(&file));
    free(path);
    free(run.data);
    return example_end(&run.example);
}
