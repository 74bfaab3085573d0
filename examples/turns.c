// Ranks write in turns, so that a server is not asked by all at once: each waits for a message from the one before it,
// writes, and sends one to the next. With --at-once N there are N such chains side by side. The blocks go to one file
// that all have open, or each rank has a file of its own and writes it with stdio.
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct example example;
    const char *files;
    long long steps, block_bytes, requests, at_once, work_us;
    char *data;
};

static uint64_t seed_of(const struct run *run, int step, int request) {
    return (uint64_t)((step * run->example.ranks + run->example.rank) * run->requests + request);
}

static void wait_for_turn(const struct run *run) {
    int before = run->example.rank - (int)run->at_once;
    if (before >= 0) MUST(MPI_Recv(NULL, 0, MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void pass_turn(const struct run *run) {
    int after = run->example.rank + (int)run->at_once;
    if (after < run->example.ranks) MUST(MPI_Send(NULL, 0, MPI_BYTE, after, 0, MPI_COMM_WORLD));
}

static void write_shared(struct run *run, int step) {
    char *path = example_path(&run->example, "turns", step);
    int bytes = (int)run->block_bytes;
    MPI_Offset offset = run->example.rank * run->requests * run->block_bytes;
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    wait_for_turn(run);
    for (int i = 0; i < run->requests; i++) {
        pattern_fill(run->data, (size_t)bytes, seed_of(run, step, i));
        MUST(MPI_File_write_at(file, offset + i * bytes, run->data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    pass_turn(run);
    for (int i = 0; i < run->requests; i++) {
        MUST(MPI_File_read_at(file, offset + i * bytes, run->data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        if (!pattern_matches(run->data, (size_t)bytes, seed_of(run, step, i))) run->example.wrong = true;
    }
    MUST(MPI_File_close(&file));
    free(path);
}

static void write_own(struct run *run, int step) {
    char *path = example_path(&run->example, "turns", step * run->example.ranks + run->example.rank);
    size_t bytes = (size_t)run->block_bytes;
    wait_for_turn(run);
    FILE *stream = fopen(path, "w+");
    must(stream != NULL, path);
    for (int i = 0; i < run->requests; i++) {
        pattern_fill(run->data, bytes, seed_of(run, step, i));
        must(fwrite(run->data, 1, bytes, stream) == bytes, "fwrite");
    }
    must(fflush(stream) == 0, "fflush");
    pass_turn(run);
    must(fseek(stream, 0, SEEK_SET) == 0, "fseek");
    for (int i = 0; i < run->requests; i++) {
        must(fread(run->data, 1, bytes, stream) == bytes, "fread");
        if (!pattern_matches(run->data, bytes, seed_of(run, step, i))) run->example.wrong = true;
    }
    must(fclose(stream) == 0, "fclose");
    free(path);
}

int main(int argc, char **argv) {
    struct run run = {.files = "shared", .steps = 2, .block_bytes = 65536, .requests = 4, .at_once = 1};
    static const char *const files[] = {"shared", "own", NULL};
    const struct example_option options[] = {
        {"files", OPTION_WORD, &run.files, "one file or one per rank", files},
        {"steps", OPTION_COUNT, &run.steps, "how often each rank has its turn", NULL},
        {"size", OPTION_SIZE, &run.block_bytes, "bytes of a request", NULL},
        {"requests", OPTION_COUNT, &run.requests, "requests in a turn", NULL},
        {"at-once", OPTION_COUNT, &run.at_once, "ranks that write at the same time", NULL},
        {"work", OPTION_COUNT, &run.work_us, "microseconds of computation before a step", NULL},
        {0}};
    example_start(&run.example, &argc, &argv, "Ranks write one after the other.", options);
    if (run.at_once < 1 || run.at_once > INT32_MAX) example_refuse(&run.example, "--at-once: 1 or more");
    if (run.block_bytes > INT32_MAX) example_refuse(&run.example, "requests of 2 GiB at most");
    run.data = example_memory((size_t)run.block_bytes);
    for (int step = 0; step < run.steps; step++) {
        example_work(run.work_us);
        if (strcmp(run.files, "shared") == 0) write_shared(&run, step);
        if (strcmp(run.files, "own") == 0) write_own(&run, step);
    }
    free(run.data);
    return example_end(&run.example);
}
