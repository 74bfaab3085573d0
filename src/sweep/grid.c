#include "sweep/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/options.h"
#include "base/scoped.h"

const char grid_as_recorded[] = "as-recorded";

enum { MOST_PROCESSES = 1 << 20 };

// Calls `take` for each word of a list with commas.
static int each_word(const char *text, int (*take)(struct sweep_grid *grid, const char *word), struct sweep_grid *grid,
                     const char *option, const char *example, struct problem *problem) {
    SCOPED_FREE char *copy = strdup(text);
    RETURN_IF(!copy, -ENOMEM);
    char *rest = copy, *word;
    while ((word = strsep(&rest, ","))) {
        int code = *word ? take(grid, word) : ERR_USAGE;
        if (code == ERR_EXISTS) return problem_set(problem, ERR_USAGE, option, "%s is there twice", word);
        if (code < 0) return problem_set(problem, code, option, "'%s' is not a list such as %s", text, example);
    }
    return 0;
}

static int take_cache(struct sweep_grid *grid, const char *word) {
    uint64_t bytes = 0;
    bool is_none = !strcmp(word, "none");
    if (!is_none) FORWARD(options_size(word, &bytes));
    if (!is_none && !bytes) return ERR_USAGE;
    for (size_t i = 0; i < grid->caches; i++) RETURN_IF(grid->cache[i] == bytes, ERR_EXISTS);
    return array_push(grid->cache, grid->caches, bytes);
}

int sweep_parse_caches(struct sweep_grid *grid, const char *text, struct problem *problem) {
    return each_word(text, take_cache, grid, "--page-cache", "1G,512M,none", problem);
}

static int take_np(struct sweep_grid *grid, const char *word) {
    char *end;
    unsigned long np = strtoul(word, &end, 10);
    if (*end || !np || np > MOST_PROCESSES || strspn(word, "0123456789") != strlen(word)) return ERR_USAGE;
    for (size_t i = 0; i < grid->nps; i++) RETURN_IF(grid->np[i] == np, ERR_EXISTS);
    return array_push(grid->np, grid->nps, (uint32_t)np);
}

int sweep_parse_nps(struct sweep_grid *grid, const char *text, struct problem *problem) {
    return each_word(text, take_np, grid, "--np", "2,4,8", problem);
}

static int take_interface(struct sweep_grid *grid, const char *word) {
    static const char *const names[] = {grid_as_recorded, "collective", "independent", "posix"};
    for (size_t i = 0; i < grid->interfaces; i++) RETURN_IF(!strcmp(grid->interface[i], word), ERR_EXISTS);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i], word)) return array_push(grid->interface, grid->interfaces, names[i]);
    }
    return ERR_USAGE;
}

int sweep_parse_interfaces(struct sweep_grid *grid, const char *text, struct problem *problem) {
    return each_word(text, take_interface, grid, "--interface", "collective,independent,posix", problem);
}

// --- points

// Lists that were not given have one element.
static int complete(struct sweep_grid *grid) {
    if (!grid->caches) FORWARD(array_push(grid->cache, grid->caches, 0));
    if (!grid->nps) FORWARD(array_push(grid->np, grid->nps, 0));
    if (!grid->interfaces) FORWARD(array_push(grid->interface, grid->interfaces, grid_as_recorded));
    return 0;
}

// The last list changes fastest: neighbours run shortly after each other.
int grid_make_points(struct sweep *sweep) {
    struct sweep_grid *grid = &sweep->grid;
    FORWARD(complete(grid));
    size_t count = grid->targets * grid->caches * grid->nps * grid->interfaces;
    sweep->point = calloc(count + 1, sizeof *sweep->point);
    RETURN_IF(!sweep->point, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i;
        struct sweep_point *point = &sweep->point[sweep->points++];
        point->interface = rest % grid->interfaces;
        rest /= grid->interfaces;
        point->np = rest % grid->nps;
        rest /= grid->nps;
        point->target = rest % grid->targets;
        point->cache = rest / grid->targets;
    }
    return 0;
}

void grid_free(struct sweep *sweep) {
    struct sweep_grid *grid = &sweep->grid;
    for (size_t i = 0; i < sweep->points; i++) free(sweep->point[i].failed);
    free(sweep->point);
    free(sweep->phase);
    free(grid->target);
    free(grid->cache);
    free(grid->np);
    free(grid->interface);
}
