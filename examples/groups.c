// Groups of ranks that do different things at the same time:
//   halves   each half has a communicator and a file, and another number of steps than the other half
//   nodes    the ranks of a node give their blocks to one of them, in teams; these leaders write them together
//   again    files of groups are read by other ranks in another order; every fourth rank only takes part in barriers
//   between  two groups with an inter-communicator: barriers over it, then a file of both through the merged one
//   spawn    a second program is started and writes a file of its own while the first one writes its file
#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { TEAM = 2, CHILDREN = 2 };

struct run {
    struct example example;
    const char *mode;
    char *program; // path of this one
    long long steps, block_bytes;
    char *data;
};

static int size_of(MPI_Comm comm) {
    int size;
    MUST(MPI_Comm_size(comm, &size));
    return size;
}

static int rank_in(MPI_Comm comm) {
    int rank;
    MUST(MPI_Comm_rank(comm, &rank));
    return rank;
}

static MPI_Comm split(MPI_Comm comm, int color) {
    MPI_Comm part;
    MUST(MPI_Comm_split(comm, color, rank_in(comm), &part));
    return part;
}

static uint64_t seed_of(int number, long long block) { return (uint64_t)number << 32 | (uint64_t)block; }

// The members write a file with a block of each in each step, and wait for each other.
static void write_file(struct run *run, MPI_Comm comm, int number, long long steps) {
    char *path = example_path(&run->example, "groups", number);
    MPI_File file;
    MUST(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    for (long long step = 0; step < steps; step++) {
        long long block = step * size_of(comm) + rank_in(comm);
        pattern_fill(run->data, (size_t)run->block_bytes, seed_of(number, block));
        MUST(MPI_File_write_at_all(file, block * run->block_bytes, run->data, (int)run->block_bytes, MPI_BYTE,
                                   MPI_STATUS_IGNORE));
        MUST(MPI_Barrier(comm));
    }
    MUST(MPI_File_close(&file));
    free(path);
}

// The members read a file in turns: blocks from its start.
static void read_file(struct run *run, MPI_Comm comm, int number, long long blocks) {
    char *path = example_path(&run->example, "groups", number);
    MPI_File file;
    MUST(MPI_File_open(comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    for (long long block = rank_in(comm); block < blocks; block += size_of(comm)) {
        MUST(MPI_File_read_at(file, block * run->block_bytes, run->data, (int)run->block_bytes, MPI_BYTE,
                              MPI_STATUS_IGNORE));
        if (!pattern_matches(run->data, (size_t)run->block_bytes, seed_of(number, block))) run->example.wrong = true;
    }
    MUST(MPI_File_close(&file));
    free(path);
}

// --- the modes

static void run_halves(struct run *run) {
    bool upper = run->example.rank >= run->example.ranks / 2;
    MPI_Comm half = split(MPI_COMM_WORLD, upper);
    long long steps = upper ? 2 * run->steps + 1 : run->steps;
    write_file(run, half, upper, steps);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    read_file(run, half, upper, steps * size_of(half));
    MUST(MPI_Comm_free(&half));
}

static void run_nodes(struct run *run) {
    MPI_Comm node;
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    MPI_Comm team = split(node, rank_in(node) / TEAM);
    MPI_Comm leaders = split(MPI_COMM_WORLD, rank_in(team) == 0 ? 0 : MPI_UNDEFINED);
    int bytes = (int)run->block_bytes;
    char *blocks = example_memory((size_t)bytes * TEAM);
    for (long long step = 0; step < run->steps; step++) {
        pattern_fill(run->data, (size_t)bytes, seed_of((int)step, run->example.rank));
        MUST(MPI_Gather(run->data, bytes, MPI_BYTE, blocks, bytes, MPI_BYTE, 0, team));
        if (leaders == MPI_COMM_NULL) continue;
        char *path = example_path(&run->example, "groups", (int)step);
        MPI_File file;
        MUST(MPI_File_open(leaders, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
        MUST(MPI_File_write_at_all(file, run->example.rank * run->block_bytes, blocks, bytes * size_of(team), MPI_BYTE,
                                   MPI_STATUS_IGNORE));
        MUST(MPI_File_close(&file));
        free(path);
    }
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (long long step = 0; step < run->steps; step++) read_file(run, node, (int)step, run->example.ranks);
    if (leaders != MPI_COMM_NULL) MUST(MPI_Comm_free(&leaders));
    MUST(MPI_Comm_free(&team));
    MUST(MPI_Comm_free(&node));
    free(blocks);
}

static void run_again(struct run *run) {
    enum { GROUPS = 3 }; // of every four ranks, the last is in none
    int group = run->example.rank % (GROUPS + 1);
    MPI_Comm writers = split(MPI_COMM_WORLD, group == GROUPS ? MPI_UNDEFINED : group);
    MPI_Comm readers = split(MPI_COMM_WORLD, group == GROUPS ? MPI_UNDEFINED : 0);
    for (long long round = 0; round < 2; round++) {
        if (group < GROUPS) write_file(run, writers, group, run->steps + group);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
        // Two barriers are passed by those that read nothing, with nothing in between.
        for (int i = GROUPS; i-- > 0 && group < GROUPS;) {
            if (i != group) read_file(run, MPI_COMM_SELF, i, run->steps + i);
        }
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (group < GROUPS) read_file(run, readers, 0, run->steps);
    if (group < GROUPS) MUST(MPI_Comm_free(&writers));
    if (group < GROUPS) MUST(MPI_Comm_free(&readers));
}

static void run_between(struct run *run) {
    bool odd = run->example.rank % 2;
    MPI_Comm side = split(MPI_COMM_WORLD, odd), between, both;
    MUST(MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, !odd, 0, &between));
    write_file(run, side, odd, odd ? run->steps : run->steps + 2);
    MUST(MPI_Barrier(between));
    if (odd) read_file(run, side, 0, run->steps);
    MUST(MPI_Intercomm_merge(between, !odd, &both));
    write_file(run, both, 2, run->steps);
    read_file(run, both, 2, run->steps * size_of(both));
    MUST(MPI_Comm_free(&both));
    MUST(MPI_Comm_free(&between));
    MUST(MPI_Comm_free(&side));
}

static void run_spawn(struct run *run) {
    char *arguments[] = {"--directory", (char *)run->example.directory, "--mode", "spawned", NULL};
    MPI_Comm children;
    MUST(MPI_Comm_spawn(run->program, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                        MPI_ERRCODES_IGNORE));
    write_file(run, MPI_COMM_WORLD, 0, 2 * run->steps);
    MUST(MPI_Barrier(children));
    read_file(run, MPI_COMM_WORLD, 0, 2 * run->steps * run->example.ranks);
    MUST(MPI_Comm_disconnect(&children));
}

static void run_spawned(struct run *run) {
    MPI_Comm parents;
    MUST(MPI_Comm_get_parent(&parents));
    write_file(run, MPI_COMM_WORLD, 1, run->steps);
    if (parents == MPI_COMM_NULL) return;
    MUST(MPI_Barrier(parents));
    MUST(MPI_Comm_disconnect(&parents));
}

int main(int argc, char **argv) {
    static const char *const modes[] = {"halves", "nodes", "again", "between", "spawn", "spawned", NULL};
    static void (*const run_mode[])(struct run *) = {run_halves,  run_nodes, run_again,
                                                     run_between, run_spawn, run_spawned};
    struct run run = {.mode = modes[0], .program = argv[0], .steps = 3, .block_bytes = 65536};
    const struct example_option options[] = {{"mode", OPTION_WORD, &run.mode, "which groups", modes},
                                             {"steps", OPTION_COUNT, &run.steps, "steps of a group, at least", NULL},
                                             {"size", OPTION_SIZE, &run.block_bytes, "bytes of a block", NULL},
                                             {0}};
    example_start(&run.example, &argc, &argv, "Groups of ranks do different things.", options);
    if (run.example.ranks < 2) example_refuse(&run.example, "it takes two ranks or more");
    if (run.block_bytes > INT32_MAX / TEAM) example_refuse(&run.example, "blocks of 1 GiB at most");
    run.data = example_memory((size_t)run.block_bytes);
    for (int i = 0; modes[i]; i++) {
        if (strcmp(run.mode, modes[i]) == 0) run_mode[i](&run);
    }
    free(run.data);
    return example_end(&run.example);
}
