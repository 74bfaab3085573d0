// Jobs that end badly. Every rank writes to one file, 10 times and once more for each rank below it, and adds one byte
// to its own file said.RANK.dat for each call that has returned. Then the last rank ends the job in the given way,
// while the others wait for it.
#include "common.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITES = 10, BYTES = 100, STATUS = 3 };

struct run {
    struct example example;
    MPI_File file;
    int said;
    const char *how;
    bool at_work; // the others go on writing
};

static void write_once(struct run *run, int number) {
    char data[BYTES];
    MPI_Offset at = ((MPI_Offset)number * run->example.ranks + run->example.rank) * BYTES;
    memset(data, 'a' + run->example.rank, sizeof data);
    MUST(MPI_File_write_at(run->file, at, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    must(write(run->said, ".", 1) == 1, "said");
}

// No rank sends: this lasts until the job is ended.
static void wait_for_ever(struct run *run, int number) {
    int never;
    while (run->at_work) {
        write_once(run, number++);
        usleep(500); // a log of moderate size
    }
    MUST(MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void end(const char *how) {
    if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, STATUS);
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    if (strcmp(how, "crash") == 0) raise(SIGSEGV);
    if (strcmp(how, "exit") == 0) exit(STATUS);
    if (strcmp(how, "exit-0") == 0) exit(0);
    if (strcmp(how, "_exit") == 0) _exit(STATUS);
}

int main(int argc, char **argv) {
    static const char *const ways[] = {"abort", "kill", "crash", "exit", "exit-0", "_exit", "deadlock", NULL};
    struct run run = {.how = "abort"};
    const struct example_option options[] = {{"how", OPTION_WORD, &run.how, "how the last rank ends", ways},
                                             {"at-work", OPTION_FLAG, &run.at_work, "the others go on writing", NULL},
                                             {0}};
    example_start(&run.example, &argc, &argv, "Writes a little and ends badly.", options);
    char *path = example_path(&run.example, "ends", -1), *said = example_path(&run.example, "said", run.example.rank);
    MUST(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &run.file));
    run.said = open(said, O_WRONLY | O_CREAT | O_APPEND, 0600);
    must(run.said >= 0, said);
    int writes = WRITES + run.example.rank;
    for (int i = 0; i < writes; i++) write_once(&run, i);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (run.example.rank == run.example.ranks - 1) end(run.how);
    wait_for_ever(&run, writes);
    return EXIT_FAILURE;
}
