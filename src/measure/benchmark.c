#include "measure/benchmark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "model/file/read.h"

uint64_t benchmark_bytes(const struct benchmark *benchmark, size_t count, uint32_t np)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += benchmark[i].size * benchmark[i].count * np;
    return bytes;
}

// --- the model's text

struct writing {
    struct json_out *json;
    const struct benchmark *benchmark;
    size_t count;
    uint32_t np;
    bool is_mpi;
};

struct name {
    char text[64];
};

static struct name name_of(const char *front, size_t number)
{
    struct name name;
    snprintf(name.text, sizeof name.text, "%s %zu", front, number);
    return name;
}

static struct name file_of(const struct writing *w, size_t i)
{
    struct name name;
    snprintf(name.text, sizeof name.text, w->benchmark[i].shared ? "benchmark-%zu.dat" : "benchmark-%zu.*.dat", i);
    return name;
}

static void write_file(struct writing *w, size_t i)
{
    struct json_out *json = w->json;
    json_object(json);
    key_text(json, "file", file_of(w, i).text);
    if (!w->benchmark[i].shared) {
        key_number(json, "members", w->np);
        json_key(json, "numbers");
        json_array(json);
        json_object(json);
        key_number(json, "first", 0);
        key_signed(json, "step", 1);
        key_number(json, "count", w->np);
        json_close(json);
        json_close(json);
    }
    json_close(json);
}

static void write_kind(struct writing *w, size_t i, const char *front, const char *call, const char *layer,
                       const char *class, const char *flags)
{
    struct json_out *json = w->json;
    bool is_transfer = !strcmp(class, "read") || !strcmp(class, "write"), is_mpi = !strcmp(layer, "mpiio");
    json_object(json);
    key_text(json, "kind", name_of(front, i).text);
    key_text(json, "call", call);
    key_text(json, "layer", layer);
    key_text(json, "class", class);
    key_text(json, "file", file_of(w, i).text);
    if (is_transfer) key_text(json, "pointer", "explicit");
    if (is_transfer) key_bool(json, "has_offset", true);
    if (is_mpi && (!is_transfer || w->benchmark[i].collective)) key_bool(json, "collective", true);
    if (is_mpi && !strcmp(class, "open")) key_number(json, "hints", 0);
    if (flags) key_text(json, "flags", flags);
    json_close(json);
}

static void write_kinds(struct writing *w, size_t i)
{
    const struct benchmark *b = &w->benchmark[i];
    if (b->mpiio) {
        write_kind(w, i, "write", b->collective ? "MPI_File_write_at_all" : "MPI_File_write_at", "mpiio", "write",
                   NULL);
        write_kind(w, i, "read", b->collective ? "MPI_File_read_at_all" : "MPI_File_read_at", "mpiio", "read", NULL);
        write_kind(w, i, "create", "MPI_File_open", "mpiio", "open", "MPI_MODE_WRONLY|MPI_MODE_CREATE");
        write_kind(w, i, "open", "MPI_File_open", "mpiio", "open", "MPI_MODE_RDONLY");
        write_kind(w, i, "sync", "MPI_File_sync", "mpiio", "sync", NULL);
        write_kind(w, i, "close", "MPI_File_close", "mpiio", "close", NULL);
    } else {
        write_kind(w, i, "write", "pwrite", "posix", "write", NULL);
        write_kind(w, i, "read", "pread", "posix", "read", NULL);
        write_kind(w, i, "create", "open", "posix", "open",
                   b->direct ? "O_WRONLY|O_CREAT|O_DIRECT" : "O_WRONLY|O_CREAT");
        write_kind(w, i, "open", "open", "posix", "open", b->direct ? "O_RDONLY|O_DIRECT" : "O_RDONLY");
        write_kind(w, i, "sync", "fsync", "posix", "sync", NULL);
        write_kind(w, i, "close", "close", "posix", "close", NULL);
    }
}

static void write_other(struct writing *w, size_t i, const char *front, uint64_t after)
{
    struct json_out *json = w->json;
    json_object(json);
    key_text(json, "op", name_of(front, i).text);
    if (!w->benchmark[i].shared) key_text(json, "member", "idP");
    if (after) key_number(json, "after", after);
    json_close(json);
}

static void write_barrier(struct writing *w)
{
    json_object(w->json);
    key_text(w->json, "op", "barrier");
    key_number(w->json, "times", 1);
    json_close(w->json);
}

static void write_step(struct writing *w, uint64_t offset)
{
    json_object(w->json);
    if (offset) key_number(w->json, "offset", offset);
    json_close(w->json);
}

static void open_loop(struct writing *w, uint64_t count)
{
    json_object(w->json);
    key_number(w->json, "loop", count);
    json_key(w->json, "body");
    json_array(w->json);
}

static void close_loop(struct writing *w)
{
    json_close(w->json);
    json_close(w->json);
}

// A loop over requests. In one process's own file, strided ones go over it twice, every second request at a time.
static void write_loop(struct writing *w, size_t i, bool write)
{
    const struct benchmark *b = &w->benchmark[i];
    bool twice = b->mode == MODE_STRIDED && !b->shared && b->count % 2 == 0;
    char offset[64] = "0";
    if (b->shared && b->mode == MODE_STRIDED) snprintf(offset, sizeof offset, "idP*rs");
    if (b->shared && b->mode != MODE_STRIDED)
        snprintf(offset, sizeof offset, "idP*%llu*rs", (unsigned long long)b->count);
    if (twice) open_loop(w, 2);
    open_loop(w, twice ? b->count / 2 : b->count);
    json_object(w->json);
    key_text(w->json, "op", name_of(write ? "write" : "read", i).text);
    if (!b->shared) key_text(w->json, "member", "idP");
    key_text(w->json, "offset", offset);
    key_number(w->json, "size", b->size);
    json_key(w->json, "steps");
    json_array(w->json);
    write_step(w, twice ? 2 * b->size : b->shared && b->mode == MODE_STRIDED ? b->size * w->np : b->size);
    if (twice) write_step(w, b->size);
    json_close(w->json);
    json_close(w->json);
    close_loop(w);
    if (twice) close_loop(w);
}

// Each process's requests in an order of its own, the same in every run.
static void shuffle(uint64_t *order, uint64_t count, uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (uint64_t i = 0; i < count; i++) order[i] = i;
    for (uint64_t i = count; i > 1; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t other = (state >> 33) % i, kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static int write_list(struct writing *w, size_t i, bool write)
{
    const struct benchmark *b = &w->benchmark[i];
    uint64_t *order = malloc(b->count * sizeof *order);
    RETURN_IF(!order, -ENOMEM);
    json_object(w->json);
    key_number(w->json, "list", b->count);
    key_number(w->json, "lists", w->np);
    json_key(w->json, "ops");
    json_array(w->json);
    for (uint32_t rank = 0; rank < w->np; rank++) {
        shuffle(order, b->count, (uint64_t)rank * 2 + write);
        for (uint64_t k = 0; k < b->count; k++) {
            uint64_t block = b->shared ? rank * b->count + order[k] : order[k];
            json_object(w->json);
            key_text(w->json, "op", name_of(write ? "write" : "read", i).text);
            if (!b->shared && rank) key_number(w->json, "member", rank);
            if (block) key_number(w->json, "offset", block * b->size);
            key_number(w->json, "size", b->size);
            json_close(w->json);
        }
    }
    json_close(w->json);
    json_close(w->json);
    free(order);
    return 0;
}

static void open_part(struct writing *w)
{
    char ranks[32];
    snprintf(ranks, sizeof ranks, w->np > 1 ? "0-%u" : "%u", w->np - 1);
    json_array(w->json);
    json_object(w->json);
    key_text(w->json, "ranks", ranks);
    json_key(w->json, "items");
    json_array(w->json);
}

static void close_part(struct writing *w)
{
    json_close(w->json);
    json_close(w->json);
    json_close(w->json);
}

static int write_family(struct writing *w, size_t i, bool write)
{
    const struct benchmark *b = &w->benchmark[i];
    struct json_out *json = w->json;
    json_object(json);
    key_number(json, "family", 2 * i + !write + 1);
    key_number(json, "program", 0);
    key_number(json, "phases", 1);
    key_text(json, "separator", i || !write ? "pattern" : "start");
    key_number(json, "weight", b->size * b->count * w->np);
    json_key(json, "parts");
    open_part(w);
    int code = 0;
    if (b->mode == MODE_RANDOM)
        code = write_list(w, i, write);
    else
        write_loop(w, i, write);
    close_part(w);
    json_key(json, "others");
    open_part(w);
    write_other(w, i, write ? "create" : "open", 0);
    write_barrier(w);
    if (b->sync && write) write_other(w, i, "sync", b->count);
    write_other(w, i, "close", b->count);
    close_part(w);
    json_close(json);
    return code;
}

static int write_structure(struct writing *w)
{
    struct json_out *json = w->json;
    int code = 0;
    json_object(json);
    json_key(json, "programs");
    json_array(json);
    json_object(json);
    key_bool(json, "mpi", w->is_mpi);
    key_number(json, "np", w->np);
    json_key(json, "order");
    json_array(json);
    for (size_t i = 0; i < 2 * w->count; i++) json_unsigned(json, i + 1);
    json_close(json);
    json_close(json);
    json_close(json);
    json_key(json, "files");
    json_array(json);
    for (size_t i = 0; i < w->count; i++) write_file(w, i);
    json_close(json);
    json_key(json, "hints");
    json_array(json);
    json_array(json);
    json_close(json);
    json_close(json);
    json_key(json, "kinds");
    json_array(json);
    json_object(json);
    key_text(json, "kind", "barrier");
    json_close(json);
    for (size_t i = 0; i < w->count; i++) write_kinds(w, i);
    json_close(json);
    json_key(json, "families");
    json_array(json);
    for (size_t i = 0; i < w->count && !code; i++) {
        code = write_family(w, i, true);
        if (!code) code = write_family(w, i, false);
    }
    json_close(json);
    json_close(json);
    return code;
}

// --- what a run of it would have seen: the pauses

static void write_think(struct writing *w, size_t i, bool write)
{
    struct json_out *json = w->json;
    const struct benchmark *b = &w->benchmark[i];
    double pause = b->pause[!write];
    if (pause <= 0) return;
    json_object(json);
    key_number(json, "family", 2 * i + !write + 1);
    json_key(json, "think");
    json_array(json);
    json_object(json);
    key_number(json, "part", 1);
    key_number(json, "op", 1);
    key_number(json, "count", b->count * w->np);
    key_double(json, "mean", pause);
    json_key(json, "quartiles");
    json_array(json);
    for (unsigned q = 0; q < 5; q++) json_double(json, pause);
    json_close(json);
    json_close(json);
    json_close(json);
    json_close(json);
}

static void write_observed(struct writing *w)
{
    json_object(w->json);
    json_key(w->json, "families");
    json_array(w->json);
    for (size_t i = 0; i < w->count; i++) {
        write_think(w, i, true);
        write_think(w, i, false);
    }
    json_close(w->json);
    json_close(w->json);
}

static int write_model(struct writing *w)
{
    json_object(w->json);
    key_number(w->json, "ioseer_model", MODEL_VERSION);
    json_key(w->json, "structure");
    int code = write_structure(w);
    json_key(w->json, "observed");
    write_observed(w);
    json_close(w->json);
    int ended = json_out_end(w->json);
    return code ? code : ended;
}

int benchmark_model(struct model *model, const struct benchmark *benchmark, size_t count, uint32_t np, bool is_mpi)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    RETURN_IF(!out, -ENOMEM);
    struct writing w = {
        .json = json_out_begin(out, 3), .benchmark = benchmark, .count = count, .np = np, .is_mpi = is_mpi};
    int code = w.json ? write_model(&w) : -ENOMEM;
    if (fclose(out) && !code) code = -errno;
    struct json_in_error error;
    if (!code) code = model_parse(model, text, length, &error);
    free(text);
    return code;
}
