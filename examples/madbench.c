// The I/O of a program for the cosmic microwave background, after MADbench2: matrices that do not fit into memory are
// written to disk bin by bin and read back. There are three parts: S writes all bins; W reads each bin, works on it
// and writes the result in its place, one bin behind (r0 r1 w0 r2 w1 ...); C reads the results. Each operation is
// between barriers.
#include "common.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    struct example example;
    long long bins, bin_bytes, work_us;
    const char *api;
    bool unique; // one file per process
    MPI_File file;
    int fd;
    FILE *stream;
    unsigned char *data;
};

enum part { PART_S, PART_W }; // which part wrote the bin

static long long bin_offset(const struct run *run, long long bin) {
    return ((run->unique ? 0 : run->example.rank * run->bins) + bin) * run->bin_bytes;
}

static uint64_t bin_seed(const struct run *run, enum part part, long long bin) {
    return (uint64_t)((part * run->example.ranks + run->example.rank) * run->bins + bin);
}

static bool is_api(const struct run *run, const char *name) { return strcmp(run->api, name) == 0; }

static void transfer_mpiio(struct run *run, bool writes, long long offset) {
    MPI_Status status;
    MUST(MPI_File_seek(run->file, offset, MPI_SEEK_SET));
    if (writes) {
        MUST(MPI_File_write(run->file, run->data, (int)run->bin_bytes, MPI_BYTE, &status));
    } else {
        MUST(MPI_File_read(run->file, run->data, (int)run->bin_bytes, MPI_BYTE, &status));
    }
    must_move(&status, MPI_BYTE, run->bin_bytes, "transfer");
}

static void transfer_async(struct run *run, bool writes, long long offset) {
    MPI_Request request;
    MPI_Status status;
    MUST(MPI_File_seek(run->file, offset, MPI_SEEK_SET));
    if (writes) {
        MUST(MPI_File_iwrite(run->file, run->data, (int)run->bin_bytes, MPI_BYTE, &request));
    } else {
        MUST(MPI_File_iread(run->file, run->data, (int)run->bin_bytes, MPI_BYTE, &request));
    }
    example_work(run->work_us);
    MUST(MPI_Wait(&request, &status));
    must_move(&status, MPI_BYTE, run->bin_bytes, "transfer");
}

static void transfer_posix(struct run *run, bool writes, long long offset) {
    must(lseek(run->fd, offset, SEEK_SET) == offset, "lseek");
    ssize_t moved =
        writes ? write(run->fd, run->data, (size_t)run->bin_bytes) : read(run->fd, run->data, (size_t)run->bin_bytes);
    must(moved == run->bin_bytes, writes ? "write" : "read");
}

static void transfer_stdio(struct run *run, bool writes, long long offset) {
    must(fseeko(run->stream, offset, SEEK_SET) == 0, "fseeko");
    size_t moved = writes ? fwrite(run->data, 1, (size_t)run->bin_bytes, run->stream)
                          : fread(run->data, 1, (size_t)run->bin_bytes, run->stream);
    must(moved == (size_t)run->bin_bytes, writes ? "fwrite" : "fread");
}

static void transfer(struct run *run, bool writes, long long bin) {
    long long offset = bin_offset(run, bin);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (is_api(run, "mpiio")) transfer_mpiio(run, writes, offset);
    if (is_api(run, "async")) transfer_async(run, writes, offset);
    if (is_api(run, "posix")) transfer_posix(run, writes, offset);
    if (is_api(run, "stdio")) transfer_stdio(run, writes, offset);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

static void write_bin(struct run *run, enum part part, long long bin) {
    pattern_fill(run->data, (size_t)run->bin_bytes, bin_seed(run, part, bin));
    transfer(run, true, bin);
}

static void read_bin(struct run *run, enum part part, long long bin) {
    transfer(run, false, bin);
    if (!pattern_matches(run->data, (size_t)run->bin_bytes, bin_seed(run, part, bin))) run->example.wrong = true;
}

static void open_file(struct run *run) {
    char *path = example_path(&run->example, "madbench", run->unique ? run->example.rank : -1);
    MPI_Comm comm = run->unique ? MPI_COMM_SELF : MPI_COMM_WORLD;
    if (is_api(run, "mpiio") || is_api(run, "async")) {
        MUST(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &run->file));
    } else {
        run->fd = open(path, O_RDWR | O_CREAT, 0644);
        must(run->fd >= 0, path);
        if (is_api(run, "stdio")) must((run->stream = fdopen(run->fd, "r+")) != NULL, path);
    }
    free(path);
}

static void close_file(struct run *run) {
    if (run->stream) {
        must(fclose(run->stream) == 0, "fclose");
    } else if (run->fd >= 0) {
        must(close(run->fd) == 0, "close");
    } else {
        MUST(MPI_File_close(&run->file));
    }
}

int main(int argc, char **argv) {
    struct run run = {.bins = 8, .bin_bytes = 1 << 20, .api = "mpiio", .fd = -1};
    static const char *const apis[] = {"mpiio", "async", "posix", "stdio", NULL};
    const struct example_option options[] = {{"bins", OPTION_COUNT, &run.bins, "bins of a process", NULL},
                                             {"size", OPTION_SIZE, &run.bin_bytes, "bytes of a bin", NULL},
                                             {"work", OPTION_COUNT, &run.work_us, "microseconds before a wait", NULL},
                                             {"api", OPTION_WORD, &run.api, "calls", apis},
                                             {"unique", OPTION_FLAG, &run.unique, "a file for each process", NULL},
                                             {0}};
    example_start(&run.example, &argc, &argv, "Writes, reworks and reads matrices bin by bin.", options);
    if (run.bins < 1 || run.bin_bytes < 1 || run.bin_bytes > INT32_MAX) {
        example_refuse(&run.example, "one bin or more, of 1 byte to 2 GiB");
    }
    run.data = example_memory((size_t)run.bin_bytes);
    open_file(&run);
    for (long long bin = 0; bin < run.bins; bin++) write_bin(&run, PART_S, bin);
    for (long long bin = 0; bin < run.bins; bin++) {
        read_bin(&run, PART_S, bin);
        if (bin > 0) write_bin(&run, PART_W, bin - 1);
    }
    write_bin(&run, PART_W, run.bins - 1);
    for (long long bin = 0; bin < run.bins; bin++) read_bin(&run, PART_W, bin);
    close_file(&run);
    free(run.data);
    return example_end(&run.example);
}
