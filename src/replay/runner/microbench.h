// Measurements other than transfers: how fast calls create and find names, and how fast messages go.
#pragma once

#include "replay/contract.h"

// Runs in all processes. Makes files in the directory of the job and removes them. Rank 0 writes the result: the calls
// per second of all processes together, and latency and bandwidth of messages between two of them.
int microbench_run(const struct replay_job *job);
