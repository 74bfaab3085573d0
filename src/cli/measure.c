// `ioseer measure`: what a directory's storage can do.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "measure/measure.h"
#include "target/system/system.h"

static struct {
    struct option_list nodes;
    const char *output, *launcher, *sizes;
    uint64_t np;
    double seconds;
    bool quick, twice_memory, json, quiet;
} options;

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.output, "SYSTEM", "write the profile there"},
    {"quick", 0, OPTION_FLAG, &options.quick, NULL, "fewer points in about two minutes"},
    {"sizes", 0, OPTION_TEXT, &options.sizes, "LIST", "of requests, as in 4k,1M (default: 4k to 16M)"},
    {"np", 0, OPTION_COUNT, &options.np, "N", "with up to so many processes (default: as many as processors)"},
    {"time", 0, OPTION_DURATION, &options.seconds, "DURATION", "repeat nothing after that (three runs are the least)"},
    {"node", 0, OPTION_LIST, &options.nodes, "SYSTEM",
     "profile of a server of this file system; the peak is the sum of theirs"},
    {"launcher", 0, OPTION_TEXT, &options.launcher, "COMMAND", "starts them: 'mpiexec.mpich -n {np}'"},
    {"twice-memory", 0, OPTION_FLAG, &options.twice_memory, NULL,
     "files of twice the machine's memory instead of a bounded cache"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print the profile instead of a table"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "print no progress"},
    {0},
};

// --- the table

static void print_storage(const struct system *system, FILE *out)
{
    const struct storage *storage = &system->storage;
    fprintf(out, "%s: %s on %s%s%s%s, %s free of %s; %s of memory, %u processors\n", storage->directory,
            *storage->file_system ? storage->file_system : "a file system", *storage->source ? storage->source : "?",
            storage->rotational == 1 ? ", rotating" : "", *storage->raid ? ", " : "", storage->raid,
            human_bytes(storage->free_bytes).text, human_bytes(storage->size_bytes).text,
            human_bytes(storage->memory_bytes).text, storage->processors);
    fprintf(out, "Page cache: %s.\n",
            !strcmp(system->cache, "direct")    ? "passed by, with direct I/O"
            : !strcmp(system->cache, "dropped") ? "written data is synced (which counts) and dropped before reading"
            : !strcmp(system->cache, "twice-memory") ? "files are twice as large as the memory"
                                                     : "could not be kept out");
}

static void print_point(const struct system_point *point, FILE *out)
{
    char range[2 * sizeof(struct human) + 4];
    snprintf(range, sizeof range, "%s - %s", human_bytes((uint64_t)point->low).text,
             human_bytes((uint64_t)point->high).text);
    fprintf(out, "%-6s %10s %-10s %4u %-7s %-5s %11s/s %25s %12s %12s%s\n", point->write ? "write" : "read",
            human_bytes(point->size).text, system_mode_name(point->mode), point->np,
            point->collective ? "coll."
            : point->shared   ? "shared"
                              : "unique",
            point->warm ? "warm" : "cold", human_bytes((uint64_t)point->bandwidth).text, range,
            human_time(point->latency_p50).text, human_time(point->latency_p99).text,
            point->stable ? "" : "  not stable");
}

static void print_table(const struct system *system, FILE *out)
{
    print_storage(system, out);
    fprintf(out, "\n%-6s %10s %-10s %4s %-7s %-5s %13s %25s %12s %12s\n", "OP", "REQUEST", "MODE", "NP", "FILE",
            "CACHE", "BANDWIDTH", "95 % INTERVAL", "LATENCY", "99 %");
    for (size_t i = 0; i < system->points; i++) print_point(&system->point[i], out);
    fprintf(out, "\nPeak: %s/s reading, ", human_bytes((uint64_t)system->peak_read).text);
    fprintf(out, "%s/s writing", human_bytes((uint64_t)system->peak_write).text);
    if (system->nodes) fprintf(out, ", the sum of %s", human_count(system->nodes, "server").text);
    fputc('\n', out);
    const struct system_metadata *names = &system->metadata;
    fprintf(out, "Names, %u process%s: %.0f created, %.0f looked up, %.0f opened, %.0f removed a second\n", names->np,
            names->np == 1 ? "" : "es", names->create, names->stat, names->open, names->unlink);
    const struct system_messages *messages = &system->messages;
    if (messages->latency > 0) {
        fprintf(out, "%s: %s a message, %s/s\n", messages->name, human_time(messages->latency).text,
                human_bytes((uint64_t)messages->bandwidth).text);
    }
}

static int write_output(const struct system *system, const char *path, bool as_json)
{
    struct output output;
    int status = output_open(&output, "measure", path);
    if (status != STATUS_OK) return status;
    if (as_json)
        output.error = system_write(system, output.out);
    else
        print_table(system, output.out);
    return output_close(&output, false);
}

enum { SIZES_MOST = 32 };
static const uint64_t LARGEST_SIZE = UINT64_C(1) << 30;

// The sizes of --sizes; direct I/O needs multiples of 512.
static int parse_sizes(uint64_t size[SIZES_MOST], size_t *count)
{
    for (const char *at = options.sizes; at && *at;) {
        char word[32];
        size_t length = strcspn(at, ",");
        if (*count == SIZES_MOST || length >= sizeof word) return cli_usage("measure", at, "too long a list");
        memcpy(word, at, length);
        word[length] = 0;
        if (options_size(word, &size[*count]) < 0 || !size[*count] || size[*count] > LARGEST_SIZE) {
            return cli_usage("measure", word, "not a size from 512 bytes to 1 GiB");
        }
        if (size[(*count)++] % 512) return cli_usage("measure", word, "not a multiple of 512 bytes");
        at += length + (at[length] == ',');
    }
    return STATUS_OK;
}

// The profiles of --node, each of which is read before anything is measured, and added to the result afterwards.
static int take_nodes(struct system *result)
{
    int status = STATUS_OK;
    for (size_t i = 0; i < options.nodes.count && status == STATUS_OK; i++) {
        const char *path = options.nodes.item[i];
        struct json_in_error error;
        struct system node;
        int code = system_read(&node, path, &error);
        if (code < 0) return cli_fail_json("measure", path, code, &error);
        code = result ? system_add_node(result, &node) : 0;
        if (code < 0) status = cli_fail("measure", path, code);
        system_free(&node);
    }
    return status;
}

static int measure_verb(int argc, char **argv)
{
    uint64_t size[SIZES_MOST];
    size_t sizes = 0;
    if (argc != 2) return cli_usage("measure", "DIR", argc < 2 ? "is missing" : "one is enough");
    if (options.np > 4096) return cli_usage("measure", "--np", "too many processes");
    int status = parse_sizes(size, &sizes);
    if (status == STATUS_OK) status = take_nodes(NULL);
    if (status == STATUS_OK) status = output_check("measure", options.output);
    if (status != STATUS_OK) return status;
    struct measure_settings settings = {.directory = argv[1],
                                        .size = size,
                                        .sizes = sizes,
                                        .launcher = options.launcher,
                                        .np = (uint32_t)options.np,
                                        .seconds = options.seconds,
                                        .quick = options.quick,
                                        .twice_memory = options.twice_memory,
                                        .quiet = options.quiet};
    struct system system;
    status = measure_system(&system, &settings);
    if (status == STATUS_OK) status = take_nodes(&system);
    if (status == STATUS_OK && options.output) status = write_output(&system, options.output, true);
    if (status == STATUS_OK && (!options.output || !options.quiet)) {
        status = write_output(&system, NULL, options.json && !options.output);
    }
    system_free(&system);
    return status;
}

const struct verb verb_measure = {
    .name = "measure",
    .summary = "find out what storage can do",
    .usage = "[OPTION]... DIR",
    .about =
        "Measures the storage under DIR without any application: bandwidth and latency by request size, access mode,\n"
        "number of processes, shared and separate files, collective I/O, with and without the page cache; how fast\n"
        "names are made and found; how fast MPI's messages go. Works in a folder of its own, which it removes.",
    .options = rows,
    .run = measure_verb,
};
