// Results as JSON: what `sweep` prints, what its file has, and how that is read again.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json_keys.h"
#include "sweep/grid.h"

enum { FILE_VERSION = 1, DIGEST_BYTES = 17 };

const char *sweep_end_text(enum sweep_end end) {
    static const char *const texts[SWEEP_ENDS] = {NULL, "precise", "most runs", "time"};
    return texts[end];
}

// --- writing

static void write_command(const struct sweep_grid *grid, struct json_out *json) {
    char digest[DIGEST_BYTES];
    snprintf(digest, sizeof digest, "%016" PRIx64, grid->digest);
    key_text(json, "program", grid->program);
    json_key(json, "command");
    if (grid->command) {
        json_fold(json);
        json_array(json);
        for (char **word = grid->command; *word; word++) json_text(json, *word);
        json_close(json);
    } else {
        json_null(json);
    }
    json_members(json, m_text("model", grid->model), m_text("digest", grid->model ? digest : NULL));
}

static void write_grid(const struct sweep_grid *grid, struct json_out *json) {
    key_array(json, "targets");
    for (size_t i = 0; i < grid->targets; i++) {
        const struct sweep_target *target = &grid->target[i];
        json_object_of(json, m_text("name", target->name), m_text("type", target->type),
                       m_bool("page_cache", target->is_cached));
    }
    json_close(json);
    key_array(json, "caches");
    for (size_t i = 0; i < grid->caches; i++)
        json_members(json, m_number_if(NULL, grid->cache[i] != 0, grid->cache[i]));
    json_close(json);
    key_array(json, "nps");
    for (size_t i = 0; i < grid->nps; i++) json_members(json, m_number_if(NULL, grid->np[i] != 0, grid->np[i]));
    json_close(json);
    key_texts(json, "interfaces", grid->interface, grid->interfaces);
}

static void write_runs(const char *key, const double *seconds, unsigned runs, struct json_out *json) {
    key_array(json, key);
    for (unsigned i = 0; i < runs; i++) json_double(json, seconds[i]);
    json_close(json);
}

static void write_point(const struct sweep *sweep, const struct sweep_point *point, struct json_out *json) {
    const struct sweep_grid *grid = &sweep->grid;
    struct interval time = {0}, wall = {0};
    double seconds[SWEEP_MOST_RUNS];
    bool known = sweep_time(point, &time), has_wall = known && point->wall[0] > 0;
    memcpy(seconds, point->wall, sizeof seconds);
    if (has_wall) wall = statistics_median(seconds, point->runs);
    json_object(json);
    json_members(json, m_text("target", grid->target[point->target].name),
                 m_number_if("cache", grid->cache[point->cache] != 0, grid->cache[point->cache]),
                 m_number_if("np", grid->np[point->np] != 0, grid->np[point->np]),
                 m_text("interface", grid->interface[point->interface]), m_double_if("time", known, time.middle),
                 m_double_if("low", known, time.low), m_double_if("high", known, time.high),
                 m_double_if("wall", has_wall, wall.middle), m_number("runs", point->runs),
                 m_bool("precise", sweep_is_precise(sweep, point)), m_bool("killed", point->killed),
                 m_text("failed", point->failed), m_bool("cached", grid->target[point->target].is_cached),
                 m_number_if("working_set", point->working_set != 0, point->working_set));
    write_runs("io_seconds", point->io, point->runs, json);
    write_runs("wall_seconds", point->wall, point->runs, json);
    json_close(json);
}

void sweep_write(const struct sweep *sweep, struct json_out *json) {
    json_object(json);
    key_number(json, "ioseer_sweep", FILE_VERSION);
    write_command(&sweep->grid, json);
    write_grid(&sweep->grid, json);
    uint64_t touched = sweep_working_set(sweep);
    json_members(json, m_double("precision", sweep->precision), m_text("ended", sweep_end_text(sweep->end)),
                 m_number_if("working_set", touched != 0, touched));
    key_array(json, "phases");
    for (size_t i = 0; i < sweep->phases; i++)
        json_object_of(json, m_number("id", sweep->phase[i].id), m_number("working_set", sweep->phase[i].working_set));
    json_close(json);
    key_array(json, "points");
    for (size_t i = 0; i < sweep->points; i++) write_point(sweep, &sweep->point[i], json);
    json_close(json);
    json_close(json);
}

static int write_all(void *context, struct json_out *json) {
    sweep_write(context, json);
    return json->error;
}

int store_write(const struct sweep *sweep, const char *path) {
    struct io_beside beside;
    char *text;
    size_t length;
    FORWARD(json_out_memory(&text, &length, write_all, (void *)sweep));
    int code = io_beside_open(&beside, path, 0666);
    if (code == 0) code = io_beside_close(&beside, path, io_write_all(beside.fd, text, length));
    free(text);
    return code;
}

// --- reading

struct reading {
    struct sweep *sweep;
    struct json_in_error error;
    const char *differs; // what is another
};

static bool is_text(const struct json_value *value, const char *text) {
    const char *found = NULL;
    return json_in_text(value, &found, NULL) == 0 ? text && !strcmp(found, text) : !text;
}

static bool is_number(const struct json_value *value, uint64_t number) {
    uint64_t found = 0;
    return json_in_uint64(value, &found) == 0 ? found == number : number == 0;
}

static bool has_command(const struct json_value *value, char **command) {
    size_t words = 0;
    while (command && command[words]) words++;
    bool same = json_in_length(value) == words;
    for (size_t i = 0; i < words && same; i++) same = is_text(json_in_at(value, i), command[i]);
    return same;
}

// What of the grid in the file is not that of the sweep; NULL: all is the same.
static const char *find_difference(const struct json_value *root, const struct sweep_grid *grid) {
    char digest[DIGEST_BYTES];
    snprintf(digest, sizeof digest, "%016" PRIx64, grid->digest);
    if (!has_command(json_in_member(root, "command"), grid->command)) return "programs";
    if (!is_text(json_in_member(root, "digest"), grid->model ? digest : NULL)) return "programs";
    const struct json_value *list = json_in_member(root, "targets");
    bool same = json_in_length(list) == grid->targets;
    for (size_t i = 0; i < grid->targets && same; i++)
        same = is_text(json_in_member(json_in_at(list, i), "name"), grid->target[i].name);
    if (!same) return "directories";
    list = json_in_member(root, "caches");
    same = json_in_length(list) == grid->caches;
    for (size_t i = 0; i < grid->caches && same; i++) same = is_number(json_in_at(list, i), grid->cache[i]);
    if (!same) return "page caches";
    list = json_in_member(root, "nps");
    same = json_in_length(list) == grid->nps;
    for (size_t i = 0; i < grid->nps && same; i++) same = is_number(json_in_at(list, i), grid->np[i]);
    if (!same) return "numbers of processes";
    list = json_in_member(root, "interfaces");
    same = json_in_length(list) == grid->interfaces;
    for (size_t i = 0; i < grid->interfaces && same; i++) same = is_text(json_in_at(list, i), grid->interface[i]);
    return same ? NULL : "interfaces";
}

static int read_runs(struct reading *r, const struct json_value *from, const char *key, double *seconds,
                     unsigned runs) {
    const struct json_value *list;
    FORWARD(json_in_need_array(from, key, &list, &r->error));
    if (json_in_length(list) != runs) return json_in_fail(&r->error, list, "%s: not %u runs", key, runs);
    for (unsigned i = 0; i < runs; i++) {
        if (json_in_double(json_in_at(list, i), &seconds[i]) == 0 && seconds[i] >= 0) continue;
        return json_in_fail(&r->error, list, "%s: not times", key);
    }
    return 0;
}

// A point that failed is tried again.
static int read_point(struct reading *r, const struct json_value *from, struct sweep_point *point) {
    uint64_t runs = 0;
    FORWARD(json_in_need_uint64(from, "runs", &runs, &r->error));
    if (runs > SWEEP_MOST_RUNS) return json_in_fail(&r->error, from, "runs: at most %u", SWEEP_MOST_RUNS);
    FORWARD(read_runs(r, from, "io_seconds", point->io, (unsigned)runs));
    FORWARD(read_runs(r, from, "wall_seconds", point->wall, (unsigned)runs));
    FORWARD(json_in_need_bool(from, "killed", &point->killed, &r->error));
    point->runs = (unsigned)runs;
    json_in_uint64(json_in_member(from, "working_set"), &point->working_set);
    return 0;
}

static int read_phases(struct reading *r, const struct json_value *root) {
    struct sweep *sweep = r->sweep;
    const struct json_value *list;
    FORWARD(json_in_need_array(root, "phases", &list, &r->error));
    sweep->phase = calloc(json_in_length(list) + 1, sizeof *sweep->phase);
    RETURN_IF(!sweep->phase, -ENOMEM);
    for (size_t i = 0; i < json_in_length(list); i++) {
        struct sweep_phase *phase = &sweep->phase[sweep->phases++];
        FORWARD(json_in_need_uint64(json_in_at(list, i), "id", &phase->id, &r->error));
        FORWARD(json_in_need_uint64(json_in_at(list, i), "working_set", &phase->working_set, &r->error));
    }
    return 0;
}

static int read_all(struct reading *r, const struct json_value *root) {
    const struct json_value *list;
    uint64_t version;
    FORWARD(json_in_need_uint64(root, "ioseer_sweep", &version, &r->error));
    if (version != FILE_VERSION) return ERR_VERSION;
    r->differs = find_difference(root, &r->sweep->grid);
    if (r->differs) return ERR_EXISTS;
    FORWARD(json_in_need_array(root, "points", &list, &r->error));
    if (json_in_length(list) != r->sweep->points)
        return json_in_fail(&r->error, list, "points: not %zu", r->sweep->points);
    for (size_t i = 0; i < r->sweep->points; i++) FORWARD(read_point(r, json_in_at(list, i), &r->sweep->point[i]));
    return read_phases(r, root);
}

int store_read(struct sweep *sweep, const char *path, struct problem *problem) {
    struct reading r = {.sweep = sweep};
    struct json_in in;
    if (access(path, F_OK) < 0 && errno == ENOENT) return 0;
    int code = json_in_read(&in, path, &r.error);
    if (code < 0) return problem_json(problem, code, path, &r.error);
    code = read_all(&r, in.root);
    if (r.differs) problem_set(problem, code, path, "it is of other %s; --force begins anew", r.differs);
    json_in_free(&in);
    return code < 0 ? problem_json(problem, code, path, &r.error) : 0;
}
