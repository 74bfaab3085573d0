// collectives DIRECTORY CALLS AGGREGATORS ROUNDS BYTES: collective writes, then reads, of BYTES per rank and round,
// through the library two_phase. Rank 1 comes late to each. Each rank writes the library's times to
// DIRECTORY/times.RANK: one line per call, with waiting, exchange and file access of each round, the rest and the sum.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "two_phase.h"

enum { LATE_US = 60000 };

static int rank, ranks, rounds;

static void fill(char *data, int bytes, int call) {
    for (int i = 0; i < bytes; i++) data[i] = (char)(i * 7 + rank * 31 + call);
}

static int transfer(MPI_File file, MPI_Offset offset, char *data, int bytes, bool is_write, FILE *times) {
    if (rank == 1) usleep(LATE_US);
    int code = is_write ? MPI_File_write_at_all(file, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                        : MPI_File_read_at_all(file, offset, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    for (int i = 0; i < rounds; i++) {
        const struct two_phase_round *round = &two_phase_times.round[i];
        fprintf(times, "%.9f %.9f %.9f ", round->wait, round->exchange, round->io);
    }
    fprintf(times, "%.9f %.9f\n", two_phase_times.rest, two_phase_times.all);
    return code;
}

static int run(const char *directory, int calls, struct two_phase_setup *setup) {
    char path[4096], name[4096];
    int bytes = setup->bytes * setup->rounds, wrong;
    char *data = malloc((size_t)bytes), *expected = malloc((size_t)bytes);
    MPI_File file;
    snprintf(path, sizeof path, "%s/two_phase.dat", directory);
    snprintf(name, sizeof name, "%s/times.%d", directory, rank);
    FILE *times = fopen(name, "w");
    wrong = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    setup->fd = open(path, O_RDWR | O_DSYNC);
    if (wrong || !times || setup->fd < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    two_phase_begin(setup);
    for (int i = 0; i < 2 * calls; i++) {
        bool is_write = i < calls;
        MPI_Offset offset = (MPI_Offset)(i % calls) * bytes * ranks + (MPI_Offset)rank * setup->bytes;
        fill(expected, bytes, i % calls);
        if (is_write) memcpy(data, expected, (size_t)bytes);
        wrong |= transfer(file, offset, data, bytes, is_write, times) || memcmp(data, expected, (size_t)bytes);
    }
    two_phase_end();
    close(setup->fd);
    free(data);
    free(expected);
    return wrong | MPI_File_close(&file) | fclose(times);
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct two_phase_setup setup = {.aggregators = atoi(argv[3]), .rounds = atoi(argv[4]), .bytes = atoi(argv[5])};
    rounds = setup.rounds;
    if (rounds < 1 || rounds > TWO_PHASE_ROUNDS) MPI_Abort(MPI_COMM_WORLD, 2);
    int wrong = run(argv[1], atoi(argv[2]), &setup);
    MPI_Finalize();
    return wrong != 0;
}
