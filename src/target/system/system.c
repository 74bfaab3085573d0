#include "target/system/system.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"

static const char *const mode_names[MODE_COUNT] = {"sequential", "strided", "random"};

const char *system_mode_name(enum system_mode mode) { return mode_names[mode]; }

bool system_mode_of(const char *name, enum system_mode *mode) {
    for (unsigned i = 0; i < MODE_COUNT; i++) {
        if (strcmp(mode_names[i], name)) continue;
        *mode = i;
        return true;
    }
    return false;
}

// Cold points count more than warm ones, then stable points more than others.
static unsigned trust(const struct system_point *point) { return 2 * !point->warm + point->stable; }

static double best_of(const struct system *system, bool write) {
    const struct system_point *best = NULL;
    for (size_t i = 0; i < system->points; i++) {
        const struct system_point *point = &system->point[i];
        if (point->write != write || point->pause > 0 || (best && trust(point) < trust(best))) continue;
        if (!best || trust(point) > trust(best) || point->bandwidth > best->bandwidth) best = point;
    }
    return best ? best->bandwidth : 0;
}

void system_set_peaks(struct system *system) {
    system->peak_read = best_of(system, false);
    system->peak_write = best_of(system, true);
}

int system_add_node(struct system *system, const struct system *node) {
    FORWARD(array_room(system->node, system->nodes));
    if (!system->nodes) system->peak_read = system->peak_write = 0;
    struct system_node *added = &system->node[system->nodes++];
    *added = (struct system_node){.peak_read = node->peak_read, .peak_write = node->peak_write};
    snprintf(added->name, sizeof added->name, "%s:%s", node->storage.host, node->storage.directory);
    system->peak_read += node->peak_read;
    system->peak_write += node->peak_write;
    return 0;
}

void system_free(struct system *system) {
    free(system->node);
    free(system->mpiio);
    free(system->point);
    *system = (struct system){0};
}

// --- writing

// Empty text is not known: null.
#define m_known(name, value) m_text(name, *(value) ? (value) : NULL)

static void write_storage(const struct system *system, struct json_out *json) {
    const struct storage *storage = &system->storage;
    json_object_of(json, m_known("directory", storage->directory), m_known("file_system", storage->file_system),
                   m_known("source", storage->source), m_known("options", storage->options),
                   m_known("device", storage->device), m_known("model", storage->model),
                   m_bool_if("rotational", storage->rotational >= 0, storage->rotational > 0),
                   m_known("raid", storage->raid), m_number("stripe", storage->stripe_bytes),
                   m_known("write_cache", storage->write_cache), m_number("size", storage->size_bytes),
                   m_number("free", storage->free_bytes), m_known("cache", system->cache),
                   m_known("host", storage->host), m_known("kernel", storage->kernel),
                   m_number("memory", storage->memory_bytes), m_number("processors", storage->processors));
}

static void write_point(const struct system_point *point, struct json_out *json) {
    json_object(json);
    json_members(json, m_text("op", point->write ? "write" : "read"), m_number("size", point->size),
                 m_text("mode", mode_names[point->mode]), m_number("np", point->np), m_bool("shared", point->shared),
                 m_bool("collective", point->collective), m_text("cache", point->warm ? "warm" : "cold"));
    if (point->pause > 0) key_double(json, "pause", point->pause);
    json_members(json, m_double("bandwidth", point->bandwidth), m_double("low", point->low),
                 m_double("high", point->high), m_double("latency_p50", point->latency_p50),
                 m_double("latency_p99", point->latency_p99), m_number("runs", point->runs),
                 m_bool("stable", point->stable));
    json_close(json);
}

static void write_nodes(const struct system *system, struct json_out *json) {
    key_array(json, "nodes");
    for (size_t i = 0; i < system->nodes; i++) {
        json_object_of(json, m_text("name", system->node[i].name), m_double("read", system->node[i].peak_read),
                       m_double("write", system->node[i].peak_write));
    }
    json_close(json);
}

// Points with pauses are listed apart: they do not show the speed of the storage itself.
static void write_points(const struct system *system, const char *key, bool rested, struct json_out *json) {
    key_array(json, key);
    for (size_t i = 0; i < system->points; i++) {
        if (rested == (system->point[i].pause > 0)) write_point(&system->point[i], json);
    }
    json_close(json);
}

// Both 0: it was not measured.
static void write_line(const struct system_line *line, const char *key, struct json_out *json) {
    if (!(line->start > 0) && !(line->per_byte > 0)) {
        key_null(json, key);
        return;
    }
    json_key(json, key);
    json_object_of(json, m_double("start", line->start), m_double("per_byte", line->per_byte));
}

static void write_bandwidths(const double value[2], const char *key, uint64_t size, struct json_out *json) {
    key_object(json, key);
    json_members(json, m_double_if("read", value[0] > 0, value[0]), m_double_if("write", value[1] > 0, value[1]));
    if (size) key_number(json, "size", size);
    json_close(json);
}

static void write_costs(const double value[2], const char *key, struct json_out *json) {
    json_key(json, key);
    json_object_of(json, m_double("read", value[0]), m_double("write", value[1]));
}

static void write_collective(const struct system_collective *costs, const char *key, struct json_out *json) {
    json_key(json, key);
    json_object_of(json, m_double("per_call", costs->per_call), m_double("per_round", costs->per_round),
                   m_double("per_byte", costs->per_byte), m_double("per_piece", costs->per_piece),
                   m_double("error", costs->error));
}

static void write_mpiio(const struct system_mpiio *mpiio, struct json_out *json) {
    json_object(json);
    json_members(json, m_known("name", mpiio->name), m_known("library", mpiio->library), m_number("np", mpiio->np),
                 m_number("nodes", mpiio->nodes));
    write_line(&mpiio->within, "within", json);
    write_line(&mpiio->between, "between", json);
    write_bandwidths(mpiio->sequential, "sequential", 0, json);
    write_bandwidths(mpiio->random, "random", mpiio->random_size, json);
    key_object(json, "collective");
    write_collective(&mpiio->collective[0], "read", json);
    write_collective(&mpiio->collective[1], "write", json);
    json_close(json);
    write_costs(mpiio->per_piece, "per_piece", json);
    write_costs(mpiio->per_call, "per_call", json);
    json_close(json);
}

static void write_mpiios(const struct system *system, struct json_out *json) {
    key_array(json, "mpiio");
    for (size_t i = 0; i < system->mpiios; i++) write_mpiio(&system->mpiio[i], json);
    json_close(json);
}

int system_write(const struct system *system, FILE *out) {
    struct json_out *json = json_out_begin(out, 2);
    RETURN_IF(!json, -ENOMEM);
    json_object(json);
    key_number(json, "ioseer_system", SYSTEM_VERSION);
    json_key(json, "storage");
    write_storage(system, json);
    key_object(json, "peak");
    json_members(json, m_double("read", system->peak_read), m_double("write", system->peak_write));
    if (system->nodes) write_nodes(system, json);
    json_close(json);
    key_object(json, "metadata");
    json_members(json, m_number("np", system->metadata.np), m_double("create", system->metadata.create),
                 m_double("stat", system->metadata.stat), m_double("open", system->metadata.open),
                 m_double("unlink", system->metadata.unlink));
    json_close(json);
    key_object(json, "mpi");
    json_members(json, m_known("name", system->messages.name), m_number("np", system->messages.np),
                 m_double("latency", system->messages.latency > 0 ? system->messages.latency : NAN),
                 m_double("bandwidth", system->messages.bandwidth > 0 ? system->messages.bandwidth : NAN));
    json_close(json);
    write_mpiios(system, json);
    write_points(system, "points", false, json);
    write_points(system, "rested", true, json);
    json_close(json);
    return json_out_end(json);
}

// --- reading

static void read_text(const struct json_value *object, const char *key, char out[STORAGE_TEXT]) {
    const char *text;
    if (json_in_text(json_in_member(object, key), &text, NULL) == 0) snprintf(out, STORAGE_TEXT, "%s", text);
}

static void read_double(const struct json_value *object, const char *key, double *out) {
    json_in_double(json_in_member(object, key), out);
}

static int read_point(const struct json_value *value, struct system_point *point, struct json_in_error *error) {
    const char *text;
    uint64_t np;
    FORWARD(json_in_need_text(value, "op", &text, NULL, error));
    point->write = !strcmp(text, "write");
    if (!point->write && strcmp(text, "read")) return json_in_fail(error, value, "\"op\" is neither read nor write");
    FORWARD(json_in_need_uint64(value, "size", &point->size, error));
    FORWARD(json_in_need_text(value, "mode", &text, NULL, error));
    if (!system_mode_of(text, &point->mode)) return json_in_fail(error, value, "there is no mode \"%.40s\"", text);
    FORWARD(json_in_need_uint64(value, "np", &np, error));
    if (!point->size || !np || np > UINT32_MAX) return json_in_fail(error, value, "\"size\" or \"np\" is out of range");
    point->np = (uint32_t)np;
    FORWARD(json_in_need_bool(value, "shared", &point->shared, error));
    FORWARD(json_in_need_bool(value, "collective", &point->collective, error));
    FORWARD(json_in_need_text(value, "cache", &text, NULL, error));
    point->warm = !strcmp(text, "warm");
    FORWARD(json_in_need_double(value, "bandwidth", &point->bandwidth, error));
    if (!(point->bandwidth > 0)) return json_in_fail(error, value, "\"bandwidth\" is not positive");
    point->low = point->high = point->bandwidth;
    read_double(value, "pause", &point->pause);
    read_double(value, "low", &point->low);
    read_double(value, "high", &point->high);
    read_double(value, "latency_p50", &point->latency_p50);
    read_double(value, "latency_p99", &point->latency_p99);
    point->stable = true;
    json_in_bool(json_in_member(value, "stable"), &point->stable);
    return 0;
}

static int read_points(const struct json_value *points, struct system *system, struct json_in_error *error) {
    for (size_t i = 0; i < json_in_length(points); i++) {
        FORWARD(read_point(json_in_at(points, i), &system->point[system->points], error));
        system->points++;
    }
    return 0;
}

static void read_storage(const struct json_value *value, struct system *system) {
    read_text(value, "directory", system->storage.directory);
    read_text(value, "file_system", system->storage.file_system);
    read_text(value, "source", system->storage.source);
    read_text(value, "options", system->storage.options);
    read_text(value, "device", system->storage.device);
    read_text(value, "model", system->storage.model);
    read_text(value, "host", system->storage.host);
    read_text(value, "cache", system->cache);
    uint64_t processors = 0;
    json_in_uint64(json_in_member(value, "memory"), &system->storage.memory_bytes);
    json_in_uint64(json_in_member(value, "processors"), &processors);
    if (processors <= UINT32_MAX) system->storage.processors = (uint32_t)processors;
}

// Left out: no rates are known.
static void read_metadata(const struct json_value *value, struct system_metadata *metadata) {
    double np = 0;
    read_double(value, "np", &np);
    read_double(value, "create", &metadata->create);
    read_double(value, "stat", &metadata->stat);
    read_double(value, "open", &metadata->open);
    read_double(value, "unlink", &metadata->unlink);
    metadata->np = np >= 1 && np <= UINT32_MAX ? (uint32_t)np : 0;
}

// --- reading MPI-IO

// A time or bandwidth that is left out or null is 0.
static int read_cost(const struct json_value *object, const char *key, double *out, struct json_in_error *error) {
    read_double(object, key, out);
    return *out >= 0 ? 0 : json_in_fail(error, json_in_member(object, key), "\"%s\" is negative", key);
}

static int read_costs(const struct json_value *object, double value[2], struct json_in_error *error) {
    FORWARD(read_cost(object, "read", &value[0], error));
    return read_cost(object, "write", &value[1], error);
}

static int read_line(const struct json_value *object, struct system_line *line, struct json_in_error *error) {
    FORWARD(read_cost(object, "start", &line->start, error));
    return read_cost(object, "per_byte", &line->per_byte, error);
}

static int read_collective(const struct json_value *object, struct system_collective *costs,
                           struct json_in_error *error) {
    FORWARD(read_cost(object, "per_call", &costs->per_call, error));
    FORWARD(read_cost(object, "per_round", &costs->per_round, error));
    FORWARD(read_cost(object, "per_byte", &costs->per_byte, error));
    FORWARD(read_cost(object, "per_piece", &costs->per_piece, error));
    return read_cost(object, "error", &costs->error, error);
}

static int read_mpiio(const struct json_value *value, struct system_mpiio *mpiio, struct json_in_error *error) {
    uint64_t np, nodes = 1;
    const char *library;
    const struct json_value *random = json_in_member(value, "random"), *both = json_in_member(value, "collective");
    FORWARD(json_in_need_uint64(value, "np", &np, error));
    json_in_uint64(json_in_member(value, "nodes"), &nodes);
    if (!np || np > UINT32_MAX || !nodes || nodes > np)
        return json_in_fail(error, value, "\"np\" or \"nodes\" is out of range");
    mpiio->np = (uint32_t)np;
    mpiio->nodes = (uint32_t)nodes;
    read_text(value, "name", mpiio->name);
    if (json_in_text(json_in_member(value, "library"), &library, NULL) == 0)
        snprintf(mpiio->library, sizeof mpiio->library, "%s", library);
    FORWARD(read_line(json_in_member(value, "within"), &mpiio->within, error));
    FORWARD(read_line(json_in_member(value, "between"), &mpiio->between, error));
    FORWARD(read_costs(json_in_member(value, "sequential"), mpiio->sequential, error));
    FORWARD(read_costs(random, mpiio->random, error));
    json_in_uint64(json_in_member(random, "size"), &mpiio->random_size);
    FORWARD(read_collective(json_in_member(both, "read"), &mpiio->collective[0], error));
    FORWARD(read_collective(json_in_member(both, "write"), &mpiio->collective[1], error));
    FORWARD(read_costs(json_in_member(value, "per_piece"), mpiio->per_piece, error));
    return read_costs(json_in_member(value, "per_call"), mpiio->per_call, error);
}

// Profiles of older versions have none.
static int read_mpiios(const struct json_value *value, struct system *system, struct json_in_error *error) {
    system->mpiio = calloc(json_in_length(value) + 1, sizeof *system->mpiio);
    RETURN_IF(!system->mpiio, -ENOMEM);
    for (size_t i = 0; i < json_in_length(value); i++) {
        FORWARD(read_mpiio(json_in_at(value, i), &system->mpiio[system->mpiios++], error));
    }
    return 0;
}

static int read_all(struct system *system, const struct json_value *root, struct json_in_error *error) {
    uint64_t version;
    const struct json_value *points, *rested, *peak;
    FORWARD(json_in_need_uint64(root, "ioseer_system", &version, error));
    if (version > SYSTEM_VERSION) {
        json_in_fail(error, root, "written by a newer ioseer");
        return ERR_VERSION;
    }
    read_storage(json_in_member(root, "storage"), system);
    FORWARD(json_in_need_array(root, "points", &points, error));
    rested = json_in_member(root, "rested");
    system->point = calloc(json_in_length(points) + json_in_length(rested) + 1, sizeof *system->point);
    RETURN_IF(!system->point, -ENOMEM);
    FORWARD(read_points(points, system, error));
    FORWARD(read_points(rested, system, error));
    system_set_peaks(system);
    FORWARD(json_in_need_object(root, "peak", &peak, error));
    read_double(peak, "read", &system->peak_read);
    read_double(peak, "write", &system->peak_write);
    read_metadata(json_in_member(root, "metadata"), &system->metadata);
    const struct json_value *messages = json_in_member(root, "mpi");
    read_text(messages, "name", system->messages.name);
    read_double(messages, "latency", &system->messages.latency);
    read_double(messages, "bandwidth", &system->messages.bandwidth);
    return read_mpiios(json_in_member(root, "mpiio"), system, error);
}

int system_read(struct system *system, const char *path, struct json_in_error *error) {
    struct json_in json;
    *system = (struct system){.storage.rotational = -1};
    FORWARD(json_in_read(&json, path, error));
    int code = read_all(system, json.root, error);
    json_in_free(&json);
    if (code < 0) system_free(system);
    return code;
}
