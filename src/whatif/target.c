// Targets: profiles that are read, and directories that are measured.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "measure/measure.h"
#include "replay/launch.h"
#include "target/system/storage.h"
#include "whatif/private.h"

enum { SIZES_MOST = 4 }; // of one kind of requests
#define SECONDS 25.0     // to measure a directory
#define MPIIO_SHARE 0.2  // of these
#define FIRST_SHARE 0.5  // the rest is for those points again that decide which option is the best
// Of the memory: up to this much waits in the page cache before the kernel begins to write it
// (vm.dirty_background_ratio).
#define CACHE_SHARE 0.1

// --- opening

// The number of processes that is nearest.
static void choose_mpiio(const struct asking *a, struct whatif_target *target) {
    const struct system *system = &target->system;
    for (size_t i = 0; i < system->mpiios; i++) {
        const struct system_mpiio *mpiio = &system->mpiio[i];
        double off = fabs(log2((double)mpiio->np / a->result->np));
        if (!target->mpiio || off < fabs(log2((double)target->mpiio->np / a->result->np))) target->mpiio = mpiio;
    }
}

static struct measure_settings measuring(const struct asking *a, const struct whatif_target *target, double share) {
    return (struct measure_settings){.directory = target->name,
                                     .launcher = a->settings->launcher,
                                     .stall = a->settings->stall,
                                     .seconds = share * (a->settings->seconds > 0 ? a->settings->seconds : SECONDS),
                                     .quick = true};
}

static void tell(const struct asking *a, const struct whatif_target *target, size_t points) {
    struct whatif_progress now = {.target = target->name, .step = WHATIF_MEASURES, .points = points};
    if (a->settings->progress) a->settings->progress(&now);
}

static int measure_mpi(const struct asking *a, struct whatif_target *target) {
    struct measure_settings settings = measuring(a, target, MPIIO_SHARE);
    target->system.mpiio = calloc(1, sizeof *target->system.mpiio);
    RETURN_IF(!target->system.mpiio, -ENOMEM);
    tell(a, target, 0);
    int code = measure_mpiio(target->system.mpiio, &settings, a->result->np, a->problem);
    if (code == ERR_NOTHING) return 0; // no MPI: only requests are compared
    target->system.mpiios = code < 0 ? 0 : 1;
    return code;
}

int target_open(const struct asking *a, struct whatif_target *target) {
    struct json_in_error error;
    if (target->is_directory) {
        int code = storage_describe(target->name, &target->system.storage);
        if (code < 0) return problem_code(a->problem, code, target->name);
        if (a->model->program[a->result->program].is_mpi) FORWARD(measure_mpi(a, target));
    } else {
        int code = system_read(&target->system, target->name, &error);
        if (code < 0) return problem_json(a->problem, code, target->name, &error);
    }
    choose_mpiio(a, target);
    return 0;
}

struct library target_library(const struct asking *a, const struct whatif_target *target) {
    const struct system_mpiio *mpiio = target->mpiio;
    const char *launcher = a->settings->launcher ? a->settings->launcher : launch_default_launcher();
    bool ompio =
        mpiio && mpiio->library[0] ? !strcmp(mpiio->library, "ompio") : !strcmp(launch_mpi_name(launcher), "Open MPI");
    return (struct library){.romio = !ompio,
                            .nodes = mpiio ? mpiio->nodes : 1,
                            .np = a->result->np,
                            .caches =
                                (double)a->model->bytes <= CACHE_SHARE * (double)target->system.storage.memory_bytes,
                            .found = a->settings->cache};
}

// --- measuring

// Requests that differ in their size only: a series of points.
struct series {
    enum system_mode mode;
    uint32_t np;
    bool shared, warm;
    uint64_t *size;
    double *weight; // bytes
    size_t sizes;
};

struct wanting {
    struct series *series;
    size_t count;
    struct measure_point_wanted *wanted;
    size_t wants;
};

static struct series *series_of(struct wanting *w, const struct request_row *row, uint32_t np) {
    bool shared = row->shared && np > 1;
    for (size_t i = 0; i < w->count; i++) {
        struct series *s = &w->series[i];
        if (s->mode == row->mode && s->np == np && s->shared == shared && s->warm == row->warm) return s;
    }
    struct series series = {.mode = row->mode, .np = np, .shared = shared, .warm = row->warm};
    if (array_push(w->series, w->count, series)) return NULL;
    return &w->series[w->count - 1];
}

static int add_size(struct wanting *w, const struct request_row *row, uint32_t np) {
    struct series *s = series_of(w, row, np);
    double bytes = (double)row->size * row->count;
    RETURN_IF(!s, -ENOMEM);
    for (size_t i = 0; i < s->sizes; i++) {
        if (s->size[i] != row->size) continue;
        s->weight[i] += bytes;
        return 0;
    }
    FORWARD(array_room(s->weight, s->sizes));
    FORWARD(array_room(s->size, s->sizes));
    s->weight[s->sizes] = bytes;
    s->size[s->sizes++] = row->size;
    return 0;
}

static int want(struct wanting *w, const struct series *series, uint64_t size) {
    struct measure_point_wanted wanted = {
        .size = size, .mode = series->mode, .np = series->np, .shared = series->shared, .warm = series->warm};
    return array_push(w->wanted, w->wants, wanted);
}

// If there are too many sizes, those with the most bytes, and the smallest and the largest: times are interpolated.
static int want_series(struct wanting *w, const struct series *s) {
    uint64_t low = UINT64_MAX, high = 0;
    SCOPED_FREE bool *chosen = calloc(s->sizes + 1, sizeof *chosen);
    RETURN_IF(!chosen, -ENOMEM);
    for (size_t i = 0; i < s->sizes; i++) {
        low = s->size[i] < low ? s->size[i] : low;
        high = s->size[i] > high ? s->size[i] : high;
    }
    for (size_t i = 0; i < s->sizes; i++) chosen[i] = s->size[i] == low || s->size[i] == high;
    for (unsigned n = 2; n < SIZES_MOST; n++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < s->sizes; i++) {
            if (!chosen[i] && (best == SIZE_MAX || s->weight[i] > s->weight[best])) best = i;
        }
        if (best != SIZE_MAX) chosen[best] = true;
    }
    for (size_t i = 0; i < s->sizes; i++) {
        if (chosen[i]) FORWARD(want(w, s, s->size[i]));
    }
    return 0;
}

// What a request takes alone counts where the others pause.
static int add_rows(struct wanting *w, const struct io_counts *counts) {
    for (size_t i = 0; i < counts->rows; i++) {
        const struct request_row *row = &counts->row[i];
        FORWARD(add_size(w, row, row->np));
        if (row->think > 0 && row->np > 1) FORWARD(add_size(w, row, 1));
    }
    return 0;
}

// Points with one number of processes and one state of the page cache are measured in one run.
static int by_run(const void *a, const void *b) {
    const struct series *x = a, *y = b;
    return x->np != y->np ? (x->np > y->np) - (x->np < y->np) : x->warm - y->warm;
}

static int list_wanted(struct wanting *w, const struct counted *counted, const bool *chosen) {
    for (size_t i = 0; i < counted->options; i++) {
        for (size_t k = 0; k < counted->families && (!chosen || chosen[i]); k++)
            FORWARD(add_rows(w, &counted->option[i][k]));
    }
    qsort(w->series, w->count, sizeof *w->series, by_run);
    for (size_t i = 0; i < w->count; i++) FORWARD(want_series(w, &w->series[i]));
    return 0;
}

static void free_wanting(struct wanting *w) {
    for (size_t i = 0; i < w->count; i++) {
        free(w->series[i].size);
        free(w->series[i].weight);
    }
    free(w->series);
    free(w->wanted);
}

static bool is_like(const struct system_point *a, const struct system_point *b) {
    return a->write == b->write && a->size == b->size && a->mode == b->mode && a->np == b->np &&
           a->shared == b->shared && a->warm == b->warm;
}

// A point that is measured again is certain enough: earlier ones had less time.
static int take_point(struct system *to, const struct system_point *point) {
    for (size_t i = 0; i < to->points; i++) {
        if (!is_like(&to->point[i], point)) continue;
        to->point[i] = *point;
        return 0;
    }
    return array_push(to->point, to->points, *point);
}

static int take_points(struct system *to, const struct system *from) {
    to->storage = from->storage;
    memcpy(to->cache, from->cache, sizeof to->cache);
    for (size_t i = 0; i < from->points; i++) FORWARD(take_point(to, &from->point[i]));
    system_set_peaks(to);
    return 0;
}

int target_measure(const struct asking *a, struct whatif_target *target, const struct counted *counted,
                   const bool *chosen) {
    double share = (1 - MPIIO_SHARE) * (chosen ? 1 - FIRST_SHARE : FIRST_SHARE);
    struct measure_settings settings = measuring(a, target, share);
    struct wanting w = {0};
    struct system measured = {0};
    if (!target->is_directory) return 0;
    int code = list_wanted(&w, counted, chosen);
    tell(a, target, w.wants);
    if (!code) code = measure_points(&measured, &settings, w.wanted, w.wants, a->problem);
    free_wanting(&w);
    if (!code) code = take_points(&target->system, &measured);
    system_free(&measured);
    return code;
}
