/*
 * nests --plan PLAN: does the I/O that a plan describes, with MPI. A plan is words and numbers:
 *
 * - `open NAME BYTES`: a file of all ranks, made as long as this;
 * - `own NAME BYTES`: a file of each rank, NAME.RANK.dat;
 * - `barrier`, `move`: all ranks: a barrier; a sum over all ranks, which moves data;
 * - `ranks FIRST END EACH`: the ranks that do what follows: FIRST, FIRST + EACH, ... below END;
 * - `loop COUNT ... end`: repeats what is between;
 * - `read` or `write` FILE SIZE BASE RANK WIDTH ACROSS DOWN STEP...: a transfer by the FILE-th file that was opened, at
 *   BASE + RANK * rank + ACROSS * (rank % WIDTH) + DOWN * (rank / WIDTH) + a STEP for each loop around it, the
 *   outermost first;
 * - `posix`, `mpiio`: the calls that are used from here on.
 */
#include "common.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 8, DEPTH = 4, WORDS = 65536, WORD_BYTES = 64, LARGEST = 1 << 20 };

struct run {
    struct example example;
    char (*word)[WORD_BYTES];
    size_t words;
    MPI_File file[FILES];
    int fd[FILES];
    unsigned files;
    bool posix, takes_part;
    long long index[DEPTH];
    unsigned depth;
    char *data;
};

static long long number(struct run *run, size_t *at) { return atoll(run->word[(*at)++]); }

static bool is_word(const struct run *run, size_t at, const char *text) {
    return at < run->words && strcmp(run->word[at], text) == 0;
}

static void read_plan(struct run *run, const char *path) {
    FILE *in = fopen(path, "r");
    must(in != NULL, path);
    run->word = example_memory(WORDS * sizeof *run->word);
    while (run->words < WORDS && fscanf(in, "%63s", run->word[run->words]) == 1) run->words++;
    fclose(in);
}

static void open_file(struct run *run, bool own, const char *name, long long bytes) {
    char *path = example_path(&run->example, name, own ? run->example.rank : -1);
    MPI_Comm comm = own ? MPI_COMM_SELF : MPI_COMM_WORLD;
    MUST(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &run->file[run->files]));
    MUST(MPI_File_set_size(run->file[run->files], bytes));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    run->fd[run->files] = open(path, O_RDWR);
    must(run->fd[run->files] >= 0, path);
    run->files++;
    free(path);
}

static void transfer(struct run *run, bool writes, size_t at) {
    long long file = number(run, &at), size = number(run, &at), offset = number(run, &at);
    offset += run->example.rank * number(run, &at);
    long long width = number(run, &at);
    offset += run->example.rank % width * number(run, &at);
    offset += run->example.rank / width * number(run, &at);
    for (unsigned i = 0; i < run->depth; i++) offset += run->index[i] * number(run, &at);
    if (!run->takes_part) return;
    MPI_Status status;
    if (run->posix) {
        ssize_t moved = writes ? pwrite(run->fd[file], run->data, (size_t)size, offset)
                               : pread(run->fd[file], run->data, (size_t)size, offset);
        must(moved == size, "transfer");
    } else if (writes) {
        MUST(MPI_File_write_at(run->file[file], offset, run->data, (int)size, MPI_BYTE, &status));
    } else {
        MUST(MPI_File_read_at(run->file[file], offset, run->data, (int)size, MPI_BYTE, &status));
    }
}

static size_t end_of_loop(const struct run *run, size_t at) {
    for (unsigned open = 1; at < run->words; at++) {
        open += is_word(run, at, "loop");
        open -= is_word(run, at, "end");
        if (!open) break;
    }
    return at;
}

static void execute(struct run *run, size_t at, size_t end);

static size_t repeat(struct run *run, size_t at) {
    long long count = number(run, &at);
    size_t end = end_of_loop(run, at);
    must(run->depth < DEPTH, "loops in loops");
    for (run->depth++; run->index[run->depth - 1] < count; run->index[run->depth - 1]++) execute(run, at, end);
    run->index[--run->depth] = 0;
    return end + 1;
}

static void communicate(const struct run *run) {
    long long mine = run->example.rank, sum;
    MUST(MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
}

static void choose_ranks(struct run *run, size_t at) {
    long long first = number(run, &at), last = number(run, &at), each = number(run, &at), rank = run->example.rank;
    run->takes_part = rank >= first && rank < last && (rank - first) % each == 0;
}

// Numbers that belong to a word are passed over: no word begins like one.
static void execute(struct run *run, size_t at, size_t end) {
    while (at < end) {
        size_t next = at + 1;
        if (is_word(run, at, "loop")) next = repeat(run, at + 1);
        if (is_word(run, at, "read") || is_word(run, at, "write")) transfer(run, is_word(run, at, "write"), at + 1);
        if (is_word(run, at, "ranks")) choose_ranks(run, at + 1);
        if (is_word(run, at, "barrier")) MUST(MPI_Barrier(MPI_COMM_WORLD));
        if (is_word(run, at, "move")) communicate(run);
        if (is_word(run, at, "posix") || is_word(run, at, "mpiio")) run->posix = is_word(run, at, "posix");
        if (is_word(run, at, "open") || is_word(run, at, "own")) {
            open_file(run, is_word(run, at, "own"), run->word[at + 1], atoll(run->word[at + 2]));
        }
        at = next;
    }
}

int main(int argc, char **argv) {
    struct run run = {.takes_part = true};
    const char *plan = "plan";
    const struct example_option options[] = {{"plan", OPTION_WORD, &plan, "file that says what to do", NULL}, {0}};
    example_start(&run.example, &argc, &argv, "Does the I/O that a plan describes.", options);
    read_plan(&run, plan);
    run.data = example_memory(LARGEST);
    memset(run.data, 'x', LARGEST);
    execute(&run, 0, run.words);
    for (unsigned i = 0; i < run.files; i++) {
        MUST(MPI_File_close(&run.file[i]));
        must(close(run.fd[i]) == 0, "close");
    }
    free(run.data);
    free(run.word);
    return example_end(&run.example);
}
