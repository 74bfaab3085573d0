// What existed when the program began.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/lookup.h"
#include "model/model.h"

struct runner;
struct replay_file;

struct found {
    const struct model *model;
    struct lookup place; // by set and member: what the program found otherwise than the job
    int64_t *bytes;
    size_t count;
};

int found_make(struct found *found, const struct model *model, uint32_t program); // found_free in any case
void found_free(struct found *found);
// Whether the program found it otherwise than the job; `bytes` is then as in found_bytes.
bool found_by_program(const struct found *found, uint32_t set, uint32_t member, int64_t *bytes);
// -1: it was not there; MODEL_CAME_LATER - bytes: not at first.
int64_t found_bytes(const struct found *found, uint32_t set, uint32_t member);
// Makes, unseen, what another program of the job had made in a folder that this one makes, and what was missing before
// and no call made: a socket.
void found_make_late(const struct runner *runner, const struct replay_file *file);
