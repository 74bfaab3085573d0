// Load for a metadata server: each process creates files, looks them up, opens and closes them, renames them, looks
// them up again and removes them, in its own directory or all in one. Each kind of operation is done on all files
// before the next, with a barrier in between.
#include "common.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
    struct example example;
    long long files, file_bytes;
    bool shared;
    char *directory;
    char *data;
};

static char *name_of(const struct run *run, const char *stem, long long file) {
    size_t bytes = strlen(run->directory) + strlen(stem) + 64;
    char *name = example_memory(bytes);
    snprintf(name, bytes, "%s/%s.%d.%lld", run->directory, stem, run->example.rank, file);
    return name;
}

static void create(struct run *run, long long file) {
    char *name = name_of(run, "new", file);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    must(fd >= 0, name);
    if (run->file_bytes > 0) must(write(fd, run->data, (size_t)run->file_bytes) == run->file_bytes, name);
    must(close(fd) == 0, name);
    free(name);
}

static void look(struct run *run, const char *stem, long long file) {
    char *name = name_of(run, stem, file);
    struct stat found;
    must(stat(name, &found) == 0, name);
    if (found.st_size != run->file_bytes) run->example.wrong = true;
    free(name);
}

static void look_at_new(struct run *run, long long file) { look(run, "new", file); }

static void look_at_old(struct run *run, long long file) { look(run, "old", file); }

static void reopen(struct run *run, long long file) {
    char *name = name_of(run, "new", file);
    int fd = open(name, O_RDONLY);
    must(fd >= 0 && close(fd) == 0, name);
    free(name);
}

static void move(struct run *run, long long file) {
    char *from = name_of(run, "new", file), *to = name_of(run, "old", file);
    must(rename(from, to) == 0, from);
    free(from);
    free(to);
}

static void delete (struct run *run, long long file) {
    char *name = name_of(run, "old", file);
    must(unlink(name) == 0, name);
    free(name);
}

static void for_each_file(struct run *run, void (*operation)(struct run *, long long)) {
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (long long file = 0; file < run->files; file++) operation(run, file);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv) {
    struct run run = {.files = 100};
    const struct example_option options[] = {
        {"files", OPTION_COUNT, &run.files, "files of a process", NULL},
        {"size", OPTION_SIZE, &run.file_bytes, "bytes of a file", NULL},
        {"shared", OPTION_FLAG, &run.shared, "one directory for all processes", NULL},
        {0}};
    example_start(&run.example, &argc, &argv, "Makes, looks at, renames and removes many files.", options);
    if (run.file_bytes > INT32_MAX) example_refuse(&run.example, "files of 2 GiB at most");
    size_t bytes = strlen(run.example.directory) + 64;
    run.directory = example_memory(bytes);
    snprintf(run.directory, bytes, "%s/metadata.%d", run.example.directory, run.shared ? 0 : run.example.rank);
    run.data = example_memory((size_t)run.file_bytes);
    memset(run.data, 'm', (size_t)run.file_bytes);
    bool owner = !run.shared || run.example.rank == 0;
    if (owner) must(mkdir(run.directory, 0700) == 0, run.directory);
    for_each_file(&run, create);
    for_each_file(&run, look_at_new);
    for_each_file(&run, reopen);
    for_each_file(&run, move);
    for_each_file(&run, look_at_old);
    for_each_file(&run, delete);
    if (owner) must(rmdir(run.directory) == 0, run.directory);
    free(run.directory);
    free(run.data);
    return example_end(&run.example);
}
