// A process that executes other programs (exec) has several entries in the log, its images. Whoever counts processes
// counts it once.
#pragma once

#include "base/lookup.h"
#include "log/log.h"

struct log_images {
    const struct log *log;
    const struct log_process **image; // all; those of a process are adjacent, in order
    uint32_t *first;                  // by index in the log's table: index of the first image of the same process
};

int log_images_find(struct log_images *images, const struct log *log); // call log_images_free in any case
void log_images_free(struct log_images *images);

// Returns 1 if no other image of the same process was added with this number before, 0 if one was, or -ENOMEM. An image
// is added once with each number.
int log_images_add_user(const struct log_images *images, struct lookup *users, const struct log_process *image,
                        uint32_t number);
