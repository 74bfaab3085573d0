// One rank is at the file before the others, as in many simulation codes. Each step has a file with a header and a
// block per rank:
//   look   rank 0 opens the file alone to see whether it is there. It is missing at first, so all create it; then it is
//          there, and rank 0 tells the others how long the blocks are that they read
//   posix  rank 0 writes the header with POSIX calls, then all write their blocks collectively
//   stdio  the same with stdio
#include "common.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 512 };

struct run {
    struct example example;
    const char *mode;
    long long steps, block_bytes;
    char *data;
};

static uint64_t seed_of(const struct run *run, int step) {
    return (uint64_t)(step * run->example.ranks + run->example.rank);
}

static void fill_header(const struct run *run, char *header) {
    memset(header, ' ', HEADER);
    snprintf(header, HEADER, "%lld", run->block_bytes);
}

// --- the header, by rank 0

static void write_header_posix(const struct run *run, const char *path) {
    char header[HEADER];
    fill_header(run, header);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    must(fd >= 0, path);
    must(write(fd, header, HEADER) == HEADER, "write");
    must(close(fd) == 0, "close");
}

static void write_header_stdio(const struct run *run, const char *path) {
    char header[HEADER];
    fill_header(run, header);
    FILE *stream = fopen(path, "w");
    must(stream != NULL, path);
    must(fwrite(header, 1, HEADER, stream) == HEADER, "fwrite");
    must(fclose(stream) == 0, "fclose");
}

// How long a block is, 0 if there is no file. The other ranks are told.
static long long look_first(const struct run *run, const char *path) {
    long long block_bytes = 0;
    char header[HEADER];
    MPI_File file;
    if (run->example.rank == 0 && MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == 0) {
        MUST(MPI_File_read_at(file, 0, header, HEADER, MPI_BYTE, MPI_STATUS_IGNORE));
        MUST(MPI_File_close(&file));
        block_bytes = atoll(header);
    }
    MUST(MPI_Bcast(&block_bytes, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD));
    return block_bytes;
}

// --- the blocks, by all

static void write_blocks(struct run *run, const char *path, int step) {
    int bytes = (int)run->block_bytes;
    char header[HEADER];
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    if (run->example.rank == 0 && strcmp(run->mode, "look") == 0) {
        fill_header(run, header);
        MUST(MPI_File_write_at(file, 0, header, HEADER, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    pattern_fill(run->data, (size_t)bytes, seed_of(run, step));
    MUST(MPI_File_write_at_all(file, HEADER + run->example.rank * run->block_bytes, run->data, bytes, MPI_BYTE,
                               MPI_STATUS_IGNORE));
    MUST(MPI_File_close(&file));
}

static void read_blocks(struct run *run, const char *path, int step) {
    int bytes = (int)run->block_bytes;
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    MUST(MPI_File_read_at_all(file, HEADER + run->example.rank * run->block_bytes, run->data, bytes, MPI_BYTE,
                              MPI_STATUS_IGNORE));
    if (!pattern_matches(run->data, (size_t)bytes, seed_of(run, step))) run->example.wrong = true;
    MUST(MPI_File_close(&file));
}

static void run_step(struct run *run, int step) {
    char *path = example_path(&run->example, "first", step);
    bool alone = run->example.rank == 0;
    if (strcmp(run->mode, "look") == 0 && look_first(run, path) != 0) run->example.wrong = true;
    if (strcmp(run->mode, "posix") == 0 && alone) write_header_posix(run, path);
    if (strcmp(run->mode, "stdio") == 0 && alone) write_header_stdio(run, path);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    write_blocks(run, path, step);
    if (look_first(run, path) != run->block_bytes) run->example.wrong = true;
    read_blocks(run, path, step);
    free(path);
}

int main(int argc, char **argv) {
    struct run run = {.mode = "look", .steps = 3, .block_bytes = 65536};
    static const char *const modes[] = {"look", "posix", "stdio", NULL};
    const struct example_option options[] = {{"mode", OPTION_WORD, &run.mode, "what rank 0 does first", modes},
                                             {"steps", OPTION_COUNT, &run.steps, "steps, a file each", NULL},
                                             {"size", OPTION_SIZE, &run.block_bytes, "bytes of a block", NULL},
                                             {0}};
    example_start(&run.example, &argc, &argv, "Rank 0 is at the file before the others.", options);
    if (run.block_bytes < 1 || run.block_bytes > INT32_MAX) example_refuse(&run.example, "blocks of 1 byte to 2 GiB");
    run.data = example_memory((size_t)run.block_bytes);
    for (int step = 0; step < run.steps; step++) run_step(&run, step);
    free(run.data);
    return example_end(&run.example);
}
