// The I/O of a benchmark, after IOR: a file consists of segments, a segment has one block per process, and a block is
// moved in transfers of one size, in order or at random. There is one file for all processes or one per process,
// accessed by collective or independent calls at explicit offsets, or by POSIX. Everything is written, then read; on
// request each block is read by another process than the one that wrote it.
#include "common.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    struct example example;
    long long segments, block_bytes, transfer_bytes, shift, seed;
    const char *api;
    bool unique, random, collective;
    long long transfers; // per process
    long long *order;
    MPI_File file;
    int fd;
    unsigned char *data;
};

// Gives the same numbers on every machine: a congruential generator and a shuffle from the last to the first.
static void shuffle(struct run *run) {
    uint32_t state = (uint32_t)(run->seed + run->example.rank);
    for (long long i = 0; i < run->transfers; i++) run->order[i] = i;
    for (long long i = run->transfers - 1; run->random && i > 0; i--) {
        state = (state * 1103515245u + 12345u) & 0x7fffffffu;
        long long other = (state >> 8) % (i + 1), kept = run->order[i];
        run->order[i] = run->order[other];
        run->order[other] = kept;
    }
}

static long long transfer_offset(const struct run *run, int owner, long long number) {
    long long each = run->block_bytes / run->transfer_bytes;
    long long segment = number / each, blocks_before = run->unique ? segment : segment * run->example.ranks + owner;
    return blocks_before * run->block_bytes + number % each * run->transfer_bytes;
}

static void transfer_mpiio(struct run *run, bool writes, long long offset) {
    int count = (int)run->transfer_bytes, result;
    MPI_Status status;
    if (writes && run->collective) {
        result = MPI_File_write_at_all(run->file, offset, run->data, count, MPI_BYTE, &status);
    } else if (writes) {
        result = MPI_File_write_at(run->file, offset, run->data, count, MPI_BYTE, &status);
    } else if (run->collective) {
        result = MPI_File_read_at_all(run->file, offset, run->data, count, MPI_BYTE, &status);
    } else {
        result = MPI_File_read_at(run->file, offset, run->data, count, MPI_BYTE, &status);
    }
    must_mpi(result, "transfer");
    must_move(&status, MPI_BYTE, count, "transfer");
}

static void transfer_posix(struct run *run, bool writes, long long offset) {
    size_t count = (size_t)run->transfer_bytes;
    ssize_t moved = writes ? pwrite(run->fd, run->data, count, offset) : pread(run->fd, run->data, count, offset);
    must(moved == (ssize_t)count, writes ? "pwrite" : "pread");
}

static void pass(struct run *run, bool writes) {
    bool mpiio = strcmp(run->api, "mpiio") == 0;
    int owner = writes ? run->example.rank : (int)((run->example.rank + run->shift) % run->example.ranks);
    char *path = example_path(&run->example, "ior", run->unique ? owner : -1);
    int mode = writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    if (mpiio) {
        MPI_Comm comm = run->unique ? MPI_COMM_SELF : MPI_COMM_WORLD;
        MUST(MPI_File_open(comm, path, mode, MPI_INFO_NULL, &run->file));
    } else {
        run->fd = open(path, writes ? O_CREAT | O_WRONLY : O_RDONLY, 0644);
        must(run->fd >= 0, path);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (long long i = 0; i < run->transfers; i++) {
        long long number = run->order[i];
        uint64_t seed = (uint64_t)(owner * run->transfers + number);
        if (writes) pattern_fill(run->data, (size_t)run->transfer_bytes, seed);
        if (mpiio) transfer_mpiio(run, writes, transfer_offset(run, owner, number));
        if (!mpiio) transfer_posix(run, writes, transfer_offset(run, owner, number));
        if (!writes && !pattern_matches(run->data, (size_t)run->transfer_bytes, seed)) run->example.wrong = true;
    }
    if (mpiio) {
        MUST(MPI_File_close(&run->file));
    } else {
        must(close(run->fd) == 0, "close");
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    free(path);
}

int main(int argc, char **argv) {
    struct run run = {.segments = 2, .block_bytes = 1 << 20, .transfer_bytes = 256 << 10, .api = "mpiio"};
    static const char *const apis[] = {"mpiio", "posix", NULL};
    const struct example_option options[] = {
        {"segments", OPTION_COUNT, &run.segments, "segments", NULL},
        {"block", OPTION_SIZE, &run.block_bytes, "bytes of a process in a segment", NULL},
        {"transfer", OPTION_SIZE, &run.transfer_bytes, "bytes of a call", NULL},
        {"shift", OPTION_COUNT, &run.shift, "ranks from reader to writer", NULL},
        {"seed", OPTION_COUNT, &run.seed, "of the random order", NULL},
        {"api", OPTION_WORD, &run.api, "calls", apis},
        {"unique", OPTION_FLAG, &run.unique, "a file for each process", NULL},
        {"random", OPTION_FLAG, &run.random, "transfers in random order", NULL},
        {"collective", OPTION_FLAG, &run.collective, "collective calls", NULL},
        {0}};
    example_start(&run.example, &argc, &argv, "Writes and reads blocks in transfers of one size.", options);
    if (run.transfer_bytes < 1 || run.transfer_bytes > INT32_MAX || run.block_bytes % run.transfer_bytes != 0) {
        example_refuse(&run.example, "a block is one or more transfers of 1 byte to 2 GiB");
    }
    run.transfers = run.segments * (run.block_bytes / run.transfer_bytes);
    run.order = example_memory((size_t)run.transfers * sizeof *run.order);
    run.data = example_memory((size_t)run.transfer_bytes);
    shuffle(&run);
    pass(&run, true);
    pass(&run, false);
    free(run.order);
    free(run.data);
    return example_end(&run.example);
}
