// Notes about throttled targets in /run/ioseer: what they are made of, one file each. A note is there whole or not at
// all, whenever its writer is killed.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum { BLOCK_NAME_BYTES = 32 };

struct block_note {
    char name[BLOCK_NAME_BYTES]; // of the note, and of the group of processes
    pid_t guard, keeper;
    int loop; // number of the device, -1: none yet
    char mount[PATH_MAX];
};

// A new note for a target at this place that this process guards, not written yet.
struct block_note block_note_for(const char *mount);

int block_note_begin(const struct block_note *note); // -EEXIST where there is one for the place
int block_note_loop(struct block_note *note, int loop);
int block_note_read(struct block_note *note, const char *mount);
void block_note_remove(const struct block_note *note);

// Hands every note to the function.
void block_note_each(void (*visit)(const struct block_note *note));
