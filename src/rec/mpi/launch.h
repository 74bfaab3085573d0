// What a process knows before MPI_Init about the launch that it belongs to, and marks by which the first ranks of its
// hosts know each other: names in the job's directory. A process leaves its own before MPI_Init, which ends when all
// ranks have come. So afterwards those of all other hosts are there, unless a rank is not recorded or has another
// directory.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct launch {
    char name[64]; // the same for all ranks, and no other launch of the job has it
    int rank, size, local_rank, local_size;
};

// Finds the numbers. False if the launcher does not tell all of them.
bool launch_find(struct launch *launch);
// Finds the name, for which it may have to look at other processes. False if there is none.
bool launch_name(struct launch *launch);

// A mark has no content. `mark` must be a short name without a slash.
void launch_leave_mark(const char *mark);
// Calls the function with the name of everything that is in the job's directory.
void launch_each_mark(void (*visit)(const char *name, void *context), void *context);
