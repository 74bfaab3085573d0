// What a throttled target is made of: an image, a loop device, a file system, limits, a mount.
#pragma once

#include "target/throttle/note.h"
#include "target/throttle/throttle.h"

// Makes all of it; the note exists already and is kept up to date. Where it fails, `why` has the reason in words.
// `device` holds the loop device until it is closed, so that nobody gets it with limits that are not theirs; -1: none.
int block_make(const struct block_options *options, struct block_note *note, int *device, char *why, size_t why_size);

// Takes apart what there is of a target; also twice. Lazily unmounted it is all gone when its last user is.
void block_remove(const struct block_note *note);

// The number of the loop device that is mounted there, -1 where none is.
int block_loop_at(const char *mount);
