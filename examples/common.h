// What the MPI examples share: options, a data pattern that can be checked, and errors that end the job.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

enum option_kind { OPTION_COUNT, OPTION_SIZE, OPTION_FLAG, OPTION_WORD };

// A row of an example's options; a table of them ends with a row without name.
struct example_option {
    const char *name;
    enum option_kind kind;
    void *value; // long long of a count or size (which take k, M, G), bool of a flag, const char * of a word
    const char *help;
    const char *const *words; // that a word may be, NULL at the end; NULL if it may be any
};

struct example {
    const char *name;
    const char *directory;
    int rank, ranks;
    bool wrong; // data read back was not what had been written
};

// Starts MPI, unless the program has done so itself, and reads the options, `--directory` and `--help` among them. Ends
// the program if these say so.
void example_start(struct example *self, int *argc, char ***argv, const char *summary,
                   const struct example_option *options);
// Ends the program with status 2 and one line.
_Noreturn void example_refuse(const struct example *self, const char *why);
// Collects the errors of all ranks, ends MPI and returns the exit status.
int example_end(struct example *self);

// "DIRECTORY/NAME.dat", and with a number of zero or more "DIRECTORY/NAME.NUMBER.dat". The caller frees it.
char *example_path(const struct example *self, const char *name, int number);
// A grid of all processes, as close to a cube as their number allows, and this one's place in it; z, y, x.
void example_grid(const struct example *self, int processes[3], int place[3]);
void *example_memory(size_t bytes);
void example_work(long long microseconds);

void must(bool ok, const char *what);
void must_mpi(int code, const char *what);
void must_move(const MPI_Status *status, MPI_Datatype type, long long count, const char *what);
#define MUST(call) must_mpi(call, #call)

// Bytes that follow from the seed; programs use what makes a piece of data different from all others.
void pattern_fill(void *data, size_t bytes, uint64_t seed);
bool pattern_matches(const void *data, size_t bytes, uint64_t seed);
