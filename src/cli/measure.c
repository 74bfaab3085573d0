// `ioseer measure`: what the storage under a directory can do.
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/table.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "measure/measure.h"
#include "replay/replay.h"
#include "target/system/system.h"

static struct {
    struct option_list nodes;
    const char *output, *launcher, *sizes;
    uint64_t np;
    double seconds, stall;
    bool quick, twice_memory, json, quiet;
} options = {.stall = REPLAY_STALL_SECONDS};

static const struct option_row rows[] = {
    {"output", 'o', OPTION_TEXT, &options.output, "SYSTEM", "write the profile to SYSTEM"},
    {"quick", 0, OPTION_FLAG, &options.quick, NULL, "measure fewer points (about two minutes)"},
    {"sizes", 0, OPTION_TEXT, &options.sizes, "LIST", "request sizes, such as 4k,1M (default: 4k to 16M)"},
    {"np", 0, OPTION_COUNT, &options.np, "N",
     "largest number of processes (default: the number of processors, 2 to 16)"},
    {"time", 0, OPTION_DURATION, &options.seconds, "DURATION", "stop repeating after this long (three runs at least)"},
    {"node", 0, OPTION_LIST, &options.nodes, "SYSTEM",
     "profile of one server of this parallel file system; the peak is the sum over its servers (repeatable)"},
    ROW_LAUNCHER(&options.launcher),
    ROW_STALL(&options.stall),
    {"twice-memory", 0, OPTION_FLAG, &options.twice_memory, NULL,
     "use files twice as large as the memory to defeat the page cache"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print the profile (JSON) instead of a table"},
    ROW_QUIET(&options.quiet, "suppress progress messages, and the table with -o"),
    {0},
};

// --- the table

static void print_storage(const struct system *system, FILE *out) {
    const struct storage *storage = &system->storage;
    fprintf(out, "%s: %s on %s%s%s%s, %s free of %s; %s of memory, %u processors\n", storage->directory,
            *storage->file_system ? storage->file_system : "a file system", *storage->source ? storage->source : "?",
            storage->rotational == 1 ? ", rotating" : "", *storage->raid ? ", " : "", storage->raid,
            human_bytes(storage->free_bytes).text, human_bytes(storage->size_bytes).text,
            human_bytes(storage->memory_bytes).text, storage->processors);
    fprintf(out, "Page cache: %s.\n\n",
            !strcmp(system->cache, "direct")    ? "bypassed, with direct I/O"
            : !strcmp(system->cache, "dropped") ? "written data is synced (which counts) and dropped before reading"
            : !strcmp(system->cache, "twice-memory") ? "files are twice as large as the memory"
                                                     : "could not be avoided");
}

static int print_points(const struct system *system, FILE *out) {
    static const struct table_column columns[] = {
        {"OP", TABLE_TEXT},      {"REQUEST", TABLE_UNIT}, {"MODE", TABLE_TEXT},      {"NP", TABLE_NUMBER},
        {"FILE", TABLE_TEXT},    {"CACHE", TABLE_TEXT},   {"BANDWIDTH", TABLE_UNIT}, {"95 % INTERVAL", TABLE_NUMBER},
        {"LATENCY", TABLE_UNIT}, {"99 %", TABLE_UNIT},    {"", TABLE_TEXT},          {0}};
    struct table table = table_begin(out, columns);
    for (size_t i = 0; i < system->points; i++) {
        const struct system_point *point = &system->point[i];
        table_text(&table, point->write ? "write" : "read");
        table_bytes(&table, point->size);
        table_text(&table, system_mode_name(point->mode));
        table_number(&table, point->np);
        table_text(&table, point->collective ? "coll." : point->shared ? "shared" : "unique");
        table_text(&table, point->warm ? "warm" : "cold");
        table_bandwidth(&table, point->bandwidth);
        table_printf(&table, "%s - %s", human_bytes((uint64_t)point->low).text,
                     human_bytes((uint64_t)point->high).text);
        table_text(&table, human_time(point->latency_p50).text);
        table_text(&table, human_time(point->latency_p99).text);
        table_text(&table, point->stable ? "" : "not stable");
        table_row(&table);
    }
    return table_end(&table);
}

static void print_line(const struct system_line *line, const char *where, FILE *out) {
    if (line->start > 0 || line->per_byte > 0)
        fprintf(out, ", %s + %s per MiB %s", human_time(line->start).text, human_time(line->per_byte * (1 << 20)).text,
                where);
}

// Bandwidths on the storage, and what the calls cost besides it.
static void print_mpiio(const struct system_mpiio *mpiio, FILE *out) {
    static const char *const ops[] = {"read", "write"};
    fprintf(out, "\nMPI-IO of %s (%s), %u processes", mpiio->name,
            *mpiio->library ? mpiio->library : "not measured in memory", mpiio->np);
    if (mpiio->nodes > 1) fprintf(out, " on %u nodes", mpiio->nodes);
    print_line(&mpiio->within, "within a node", out);
    print_line(&mpiio->between, "between nodes", out);
    fputc('\n', out);
    for (unsigned i = 0; i < 2; i++) {
        const struct system_collective *costs = &mpiio->collective[i];
        fprintf(out, "  %s: %s in order, %s random (%s)\n", ops[i], human_bandwidth(mpiio->sequential[i]).text,
                human_bandwidth(mpiio->random[i]).text, human_bytes(mpiio->random_size).text);
        if (!*mpiio->library) continue;
        fprintf(out, "    collective: %s per call, %s per round, %s per MiB, %s per piece (error %s)\n",
                human_time(costs->per_call).text, human_time(costs->per_round).text,
                human_time(costs->per_byte * (1 << 20)).text, human_time(costs->per_piece).text,
                human_percent(costs->error).text);
        fprintf(out, "    independent, with a file view: %s per call, %s per piece\n",
                human_time(mpiio->per_call[i]).text, human_time(mpiio->per_piece[i]).text);
    }
}

static int print_table(const struct system *system, FILE *out) {
    const struct system_metadata *names = &system->metadata;
    const struct system_messages *messages = &system->messages;
    print_storage(system, out);
    FORWARD(print_points(system, out));
    fprintf(out, "\nPeak: %s reading, %s writing", human_bandwidth(system->peak_read).text,
            human_bandwidth(system->peak_write).text);
    if (system->nodes) fprintf(out, ", the sum of %s", human_count(system->nodes, "server").text);
    fprintf(out, "\nNames, %u process%s: %.0f created, %.0f looked up, %.0f opened, %.0f removed per second\n",
            names->np, names->np == 1 ? "" : "es", names->create, names->stat, names->open, names->unlink);
    if (messages->latency > 0)
        fprintf(out, "%s: %s per message, %s\n", messages->name, human_time(messages->latency).text,
                human_bandwidth(messages->bandwidth).text);
    for (size_t i = 0; i < system->mpiios; i++) print_mpiio(&system->mpiio[i], out);
    return 0;
}

static enum status write_output(const struct system *system, const char *path, bool as_json) {
    struct output output;
    enum status status = output_open(&output, "measure", path);
    if (status != STATUS_OK) return status;
    return output_end(&output, "memory", as_json ? system_write(system, output.out) : print_table(system, output.out));
}

enum { SIZES_MOST = 32 };
static const uint64_t LARGEST_SIZE = UINT64_C(1) << 30;

// The sizes of --sizes; direct I/O needs multiples of 512.
static enum status parse_sizes(uint64_t size[SIZES_MOST], size_t *count) {
    for (const char *at = options.sizes; at && *at;) {
        char word[32];
        size_t length = strcspn(at, ",");
        if (*count == SIZES_MOST || length >= sizeof word) return cli_usage("measure", at, "the list is too long");
        memcpy(word, at, length);
        word[length] = 0;
        if (options_size(word, &size[*count]) < 0 || !size[*count] || size[*count] > LARGEST_SIZE) {
            return cli_usage("measure", word, "must be a size from 512 bytes to 1 GiB");
        }
        if (size[(*count)++] % 512) return cli_usage("measure", word, "must be a multiple of 512 bytes");
        at += length + (at[length] == ',');
    }
    return STATUS_OK;
}

// Reads the profiles of --node: once before the measurement, with NULL, to find errors early; and once to add them to
// the result.
static enum status add_nodes(struct system *result) {
    enum status status = STATUS_OK;
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

static void show_progress(const struct measure_progress *at) {
    bool on_terminal = isatty(STDERR_FILENO);
    if (on_terminal) fputs("\r\033[K", stderr);
    if (at->step == MEASURE_FIRST_LOOK && on_terminal) fprintf(stderr, "measure: first round, %zu points", at->points);
    if (at->step == MEASURE_ESTIMATE && !options.quick)
        fprintf(stderr, "measure: %zu points, %.0f to %.0f minutes\n", at->points, ceil(at->least / 60),
                ceil(at->most / 60));
    if (at->step == MEASURE_ROUND && on_terminal)
        fprintf(stderr, "measure: round %u, %zu of %zu points left", at->round, at->uncertain, at->points);
}

static enum status measure_verb(int argc, char **argv) {
    uint64_t size[SIZES_MOST];
    size_t sizes = 0;
    if (argc != 2) return cli_usage("measure", "DIR", argc < 2 ? "is missing" : "give only one");
    if (options.np > 4096) return cli_usage("measure", "--np", "too many processes");
    enum status status = parse_sizes(size, &sizes);
    if (status == STATUS_OK) status = add_nodes(NULL);
    if (status == STATUS_OK) status = output_check("measure", options.output);
    if (status != STATUS_OK) return status;
    struct measure_settings settings = {.directory = argv[1],
                                        .size = size,
                                        .sizes = sizes,
                                        .launcher = options.launcher,
                                        .stall = options.stall,
                                        .np = (uint32_t)options.np,
                                        .seconds = options.seconds,
                                        .quick = options.quick,
                                        .twice_memory = options.twice_memory,
                                        .progress = options.quiet ? NULL : show_progress};
    struct system system;
    struct problem problem = {0};
    int code = measure_system(&system, &settings, &problem);
    if (code < 0) status = cli_problem("measure", argv[1], &problem, code);
    if (status == STATUS_OK) status = add_nodes(&system);
    if (status == STATUS_OK && options.output) status = write_output(&system, options.output, true);
    if (status == STATUS_OK && (!options.output || !options.quiet)) {
        status = write_output(&system, NULL, options.json && !options.output);
    }
    system_free(&system);
    return status;
}

const struct verb verb_measure = {
    .name = "measure",
    .summary = "measure the speed of storage",
    .usage = "[OPTION]... DIR",
    .about =
        "Measures the storage under DIR without any application: bandwidth and latency by request size, access mode,\n"
        "number of processes, shared and separate files, collective I/O, with and without the page cache; the rate of\n"
        "metadata calls; MPI messages; what calls of MPI-IO cost besides the storage. Uses a folder of its own in DIR "
        "and removes it.",
    .options = rows,
    .run = measure_verb,
};
