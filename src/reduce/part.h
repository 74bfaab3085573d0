// The files of fmt/part.h: each writer's blocks, and the index.
#pragma once

#include "base/mounts.h"
#include "fmt/part.h"
#include "reduce/set.h"

// A rank's blocks, before it is known where they go.
struct reduce_blocks {
    struct bytes stored; // blocks with their headers
    struct part_entry *entry;
    size_t count;
};

// The log's records of a set: files are numbered from `first` on. `mounts` may be empty.
int reduce_blocks_make(struct reduce_blocks *blocks, const struct reduce_set *set, uint64_t first,
                       const struct mounts *mounts);
void reduce_blocks_free(struct reduce_blocks *blocks);

// Where a part is.
struct part_place {
    const char *folder;
    uint64_t number;
};

// Makes both files; finds the number of the part, after those of other programs of the job.
int reduce_part_create(struct part_place *place);
// Writes the blocks at `offset`, and their entries behind `before` others.
int reduce_part_write(const struct part_place *place, const struct reduce_blocks *blocks, uint64_t offset,
                      uint64_t before);
int reduce_part_commit(const struct part_place *place, const struct part_head *head);
