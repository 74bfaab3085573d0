// Reduces the counters of all ranks at MPI_Finalize and writes them, without MPI: messages go through functions of the
// caller. Every step takes a number of rounds that grows with the logarithm of the ranks:
//
//   1  rank 0 makes the file and tells all
//   2  butterfly by hash: each rank gives half of its entries to a partner, and gets those of its own half; the files
//   of
//      all ranks are then spread over them, each file in one place, its counters added up on the way
//   3  few entries move on to fewer ranks, so that blocks are large enough to be compressed
//   4  a sum over the ranks before each one gives it the numbers of its files, another one its place in the file
//   5  each writes its blocks; rank 0 hears whether all could, and gives the index its name
//
// Nothing counts before the last step, so a rank may fail, or vanish, at any time: the packer then uses the spill
// files.
#pragma once

#include "fmt/counters.h"
#include "reduce/set.h"

// Functions that return 0 or a negative code, in bounded time.
struct reduce_link {
    void *context;
    int rank;
    int size; // of the world, at least 2
    int (*send)(void *context, int to, const void *data, size_t len);
    int (*receive)(void *context, int from, struct bytes *data); // replaces the contents
    // Both at once, with the same partner.
    int (*swap)(void *context, int with, const void *data, size_t len, struct bytes *received);
};

// Takes a file of this process. Its counters have clock units, and may be changed.
typedef int reduce_take(void *context, const struct reduce_file *file, struct spill_counters *layer, size_t layers);

struct reduce_job {
    const char *folder;     // for the files of fmt/part.h
    uint64_t epoch_ns;      // when the process began; moments count from rank 0's
    struct clock_map clock; // its origin is that moment; origin_ns is not used
    // Hands over all counters so far. They are those of the part with this number, if it is ever committed.
    int (*hand_over)(void *context, uint64_t part, reduce_take *take, void *take_context);
    // The name of a file with this number in the process, or NULL.
    const char *(*name_of)(void *context, uint32_t number, size_t *len);
    void *context;
};

// How much went where, for measurements.
struct reduce_costs {
    uint64_t sent_bytes, received_bytes, rounds;
    uint64_t most_bytes; // of the set, at any time
    uint64_t written_bytes;
    uint64_t files;
};

// 0 also if the part is not made: no fault of this rank.
int reduce_run(const struct reduce_job *job, const struct reduce_link *link, struct reduce_costs *costs);

// What the library exports, under this name: it is loaded at MPI_Finalize, because it needs zstd, which not every
// program should have to load.
struct reducer {
    char version[32];
    size_t job_bytes, link_bytes;
    int (*run)(const struct reduce_job *job, const struct reduce_link *link, struct reduce_costs *costs);
};
#define REDUCER_SYMBOL "ioseer_reducer"
#define REDUCER_BUILD IOSEER_VERSION, sizeof(struct reduce_job), sizeof(struct reduce_link)
