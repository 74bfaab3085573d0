// Many files and requests below one megabyte, like those of an ocean model: the files are distributed over the
// processes, each is written in three requests of different sizes with computation between them, and all are read back
// from the last to the first.
#include "common.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { REQUESTS = 3 };

struct run {
    struct example example;
    long long files, work_us;
    long long sizes[REQUESTS];
    unsigned char *data;
};

static uint64_t seed_of(long long file, int request) { return (uint64_t)(file * REQUESTS + request); }

static void write_file(struct run *run, long long file) {
    char *path = example_path(&run->example, "small", (int)file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    must(fd >= 0, path);
    for (int request = 0; request < REQUESTS; request++) {
        pattern_fill(run->data, (size_t)run->sizes[request], seed_of(file, request));
        example_work(run->work_us);
        must(write(fd, run->data, (size_t)run->sizes[request]) == run->sizes[request], "write");
    }
    must(close(fd) == 0, "close");
    free(path);
}

static void read_file(struct run *run, long long file) {
    char *path = example_path(&run->example, "small", (int)file);
    int fd = open(path, O_RDONLY);
    must(fd >= 0, path);
    long long offset = run->sizes[0] + run->sizes[1] + run->sizes[2];
    for (int request = REQUESTS - 1; request >= 0; request--) {
        size_t bytes = (size_t)run->sizes[request];
        offset -= run->sizes[request];
        example_work(run->work_us);
        must(lseek(fd, offset, SEEK_SET) == offset, "lseek");
        must(read(fd, run->data, bytes) == (ssize_t)bytes, "read");
        if (!pattern_matches(run->data, bytes, seed_of(file, request))) run->example.wrong = true;
    }
    must(close(fd) == 0, "close");
    free(path);
}

int main(int argc, char **argv) {
    struct run run = {.files = 300, .sizes = {740000, 420000, 240000}};
    const struct example_option options[] = {{"files", OPTION_COUNT, &run.files, "files of all processes", NULL},
                                             {"first", OPTION_SIZE, &run.sizes[0], "bytes of the first request", NULL},
                                             {"second", OPTION_SIZE, &run.sizes[1], "bytes of the second", NULL},
                                             {"third", OPTION_SIZE, &run.sizes[2], "bytes of the third", NULL},
                                             {"work", OPTION_COUNT, &run.work_us, "microseconds before each", NULL},
                                             {0}};
    example_start(&run.example, &argc, &argv, "Writes many small files, then reads them in reverse.", options);
    long long largest = 1;
    for (int i = 0; i < REQUESTS; i++) largest = run.sizes[i] > largest ? run.sizes[i] : largest;
    if (run.files > 1000000 || largest > INT32_MAX) example_refuse(&run.example, "a million files of 2 GiB at most");
    run.data = example_memory((size_t)largest);
    int rank = run.example.rank, ranks = run.example.ranks;
    long long own = (run.files + ranks - 1 - rank) / ranks;
    for (long long i = 0; i < own; i++) write_file(&run, rank + i * ranks);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (long long i = own - 1; i >= 0; i--) read_file(&run, rank + i * ranks);
    free(run.data);
    return example_end(&run.example);
}
