// Benchmarks as models: what IOR and the like would do, in a form that the runner of replays runs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "target/system/system.h"

// Every process writes `count` requests of `size` bytes, then reads them. Shared files hold them in blocks, one block a
// process, or in turns where strided.
struct benchmark {
    uint64_t size;
    uint64_t count; // of one process
    enum system_mode mode;
    bool shared;
    bool mpiio;
    bool collective; // implies mpiio and shared
    bool direct;     // O_DIRECT; not with mpiio
    bool sync;       // what is written
    double pause[2]; // seconds before each request that is written, and read
};

// A model of all of them in a row: the i-th writes in phase 2 i and reads in phase 2 i + 1 (places in model.phase).
int benchmark_model(struct model *model, const struct benchmark *benchmark, size_t count, uint32_t np, bool is_mpi);

// Bytes that the files of all of them take.
uint64_t benchmark_bytes(const struct benchmark *benchmark, size_t count, uint32_t np);
