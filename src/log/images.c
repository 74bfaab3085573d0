#include "log/images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static int compare(const void *a, const void *b) {
    const struct log_process *left = *(const struct log_process *const *)a;
    const struct log_process *right = *(const struct log_process *const *)b;
    if (left->pid != right->pid) return left->pid < right->pid ? -1 : 1;
    int order = strcmp(left->host ? left->host : "", right->host ? right->host : "");
    if (order || left->start_ns == right->start_ns) return order ? order : left < right ? -1 : left > right;
    return left->start_ns < right->start_ns ? -1 : 1;
}

int log_images_find(struct log_images *images, const struct log *log) {
    size_t count = log_process_count(log);
    *images = (struct log_images){.log = log,
                                  .image = calloc(count + 1, sizeof *images->image),
                                  .first = calloc(count + 1, sizeof *images->first)};
    RETURN_IF(!images->image || !images->first, -ENOMEM);
    for (size_t i = 0; i < count; i++) images->image[i] = log_process_at(log, i);
    qsort(images->image, count, sizeof *images->image, compare);
    for (size_t i = 0; i < count; i++) {
        const struct log_process *image = images->image[i], *before = i ? images->image[i - 1] : NULL;
        images->first[image->index] =
            before && log_process_goes_on(before, image) ? images->first[before->index] : image->index;
    }
    return 0;
}

void log_images_free(struct log_images *images) {
    free(images->image);
    free(images->first);
}

int log_images_add_user(const struct log_images *images, struct lookup *users, const struct log_process *image,
                        uint32_t number) {
    if (images->first[image->index] == image->index && image->exit != EXIT_EXEC) return 1; // has no other images
    uint64_t key = lookup_pair(images->first[image->index], number);
    if (lookup_find(users, key) != LOOKUP_NONE) return 0;
    FORWARD(lookup_set(users, key, 1));
    return 1;
}
