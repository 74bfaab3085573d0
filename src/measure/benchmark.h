// Benchmarks like those of IOR, as models that the runner of replays runs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "target/system/system.h"

// Each process writes `count` requests of `size` bytes, then reads them. A shared file has one block per process, or,
// if they are strided, the requests of all processes in turns.
struct benchmark {
    uint64_t size;
    uint64_t count; // per process
    enum system_mode mode;
    bool shared;
    bool mpiio;
    bool collective; // implies mpiio and shared
    bool direct;     // O_DIRECT; not with mpiio
    bool sync;       // after writing
    double pause[2]; // seconds before each write, and before each read
};

// Makes a model that runs them one after the other: number i writes in phase 2 i and reads in phase 2 i + 1 (places in
// model.phase).
int benchmark_model(struct model *model, const struct benchmark *benchmark, size_t count, uint32_t np, bool is_mpi);
