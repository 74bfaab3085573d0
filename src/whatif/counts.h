// What a phase asks of MPI-IO and of the storage, counted from the accesses of all ranks. Nothing here is a time,
// except the pauses of the program.
#pragma once

#include "target/system/system.h"
#include "whatif/access.h"

// Requests of one size that `np` processes make at the same time, each `count` of them, one after the other.
struct request_row {
    bool write;
    uint64_t size;
    enum system_mode mode;
    uint32_t np;
    bool shared;
    bool warm; // the page cache has the data, or takes it
    double count;
    double think; // seconds before each, mean
};

// Work of MPI-IO in one direction.
struct mpiio_counts {
    uint64_t calls;         // in which all ranks agree with each other
    uint64_t exchanges;     // of these, with two phases
    uint64_t rounds;        // of the busiest aggregator in each call
    uint64_t bytes;         // of all ranks through the aggregators
    uint64_t crossing;      // of these, from or to another rank
    uint64_t node_crossing; // of these, from or to another node
    uint64_t pieces;        // of all ranks through the aggregators
    uint64_t holes;         // rounds in which an aggregator reads before it writes
    double own_calls;       // independent calls of the busiest rank
    double own_pieces;      // and contiguous pieces of the file in them
    double sieved;          // bytes that sieving moves for each byte that is asked for; 0: none is sieved
    uint32_t aggregators;
    double waiting; // seconds that a rank waits for the others, because they come later to a collective call
};

struct io_counts {
    struct mpiio_counts mpiio[2]; // reading, writing
    uint64_t all_bytes[2];
    uint64_t most_bytes[2]; // of one rank
    struct request_row *row;
    size_t rows;
    uint32_t np;     // processes that transfer something
    bool overlapped; // by the program's own computation
};

// Where the program runs: how the library of MPI-IO works, where hints do not say otherwise, and what the page cache is
// good for.
struct library {
    bool romio; // else OMPIO
    uint32_t nodes;
    uint32_t np;
    bool caches;    // there is a page cache with room for all that the program moves
    uint32_t found; // enum replay_cache: of files that are there before
};
bool counts_is_warm(const struct access *access, const struct library *library);

int counts_of(const struct accesses *accesses, const struct variant *variant, const struct library *library,
              struct io_counts *counts);
void counts_free(struct io_counts *counts);

// For the parts of the count: adds requests to the row of their kind.
int counts_add(struct io_counts *counts, struct request_row row);

// Transfers that the ranks make together: the n-th of each rank on one file in one direction.
struct access_group {
    const struct access *const *item; // in rank order
    size_t count;
};

// How they are made in a variant.
struct how {
    enum { TWO_PHASE_NEVER, TWO_PHASE_IF_INTERLEAVED, TWO_PHASE_ALWAYS } two_phase;
    uint32_t aggregators;
    uint64_t buffer;
    bool sieving;
    uint64_t sieve_buffer;
};
struct how counts_how(const struct access *access, const struct variant *variant, const struct library *library);

// A file so far.
struct file_state {
    int64_t head; // where the last request ended; -1: there was none
    int64_t end;  // of what was written; it is empty at first
};

// Counts a collective call. *exchanged is false if each rank makes its requests for itself after all.
int two_phase_count(const struct access_group *group, const struct how *how, const struct library *library,
                    struct file_state *file, struct io_counts *counts, bool *exchanged);

// Counts the independent calls of all ranks in one direction.
int independent_count(const struct access *const *item, size_t count, const struct variant *variant,
                      const struct library *library, struct io_counts *counts);
