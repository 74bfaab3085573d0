// The processes that replay together: MPI's, or forked ones where the program had no MPI.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// `np` counts without MPI only. Returns 0 in every process, or a negative code.
int world_start(int *argc, char ***argv, int np, int threads);
int world_rank(void);
int world_size(void);
void world_barrier(void);
void world_move(void);                                        // a little data: parts phases as the program did
void world_gather(const void *mine, size_t bytes, void *all); // to rank 0
// Whether messages can be timed: MPI, and two processes at least.
bool world_has_messages(void);
void world_exchange(void *data, size_t bytes); // from the first process to the second and back
// All processes' worst status; ends the world.
int world_end(int status);
