// `ioseer dump`: the events, one by one, as the log is read.
#include "cli/dump.h"

#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "base/glob.h"
#include "base/human.h"
#include "cli/argument.h"
#include "cli/verb.h"

static struct {
    struct print_options print;
    bool comm, devices, failed;
    const char *layer, *class, *op, *file;
    uint64_t rank, pid, tid, server, slowest, tree;
    double from, to;
    struct log_filter filter;
} options = {.rank = UINT64_MAX,
             .pid = UINT64_MAX,
             .tid = UINT64_MAX,
             .server = UINT64_MAX,
             .tree = DUMP_NO_TREE,
             .from = -1,
             .to = -1};

static const struct option_row rows[] = {
    {"layer", 0, OPTION_CHOICE, &options.layer, "posix|stdio|mpiio|hdf5|pnetcdf|netcdf|client|net|server|disk",
     "only this layer"},
    {"class", 0, OPTION_CHOICE, &options.class, "read|write|open|close|sync|seek|meta", "only this class"},
    {"op", 0, OPTION_TEXT, &options.op, "GLOB", "only calls whose name matches: pwrite, 'MPI_File_*'"},
    {"failed", 0, OPTION_FLAG, &options.failed, NULL, "only calls that failed"},
    {"rank", 0, OPTION_NUMBER, &options.rank, "RANK", "only this rank of MPI_COMM_WORLD"},
    {"pid", 0, OPTION_NUMBER, &options.pid, "PID", "only this process"},
    {"tid", 0, OPTION_NUMBER, &options.tid, "TID", "only this thread"},
    {"server", 0, OPTION_NUMBER, &options.server, "N", "only calls to this server of the stack, and in it"},
    {"file", 0, OPTION_TEXT, &options.file, "GLOB", "only files whose whole name matches; * matches / too"},
    {"from", 0, OPTION_DURATION, &options.from, "T",
     "only events that begin at T or later (time since the job's start)"},
    {"to", 0, OPTION_DURATION, &options.to, "T", "only events that begin at T or earlier (time since the job's start)"},
    {"slowest", 0, OPTION_COUNT, &options.slowest, "N",
     "the N calls of the program that took longest, the longest first"},
    {"tree", 0, OPTION_NUMBER, &options.tree, "ID", "only the event with this id, and all events inside it"},
    {"comm", 0, OPTION_FLAG, &options.comm, NULL, "print the communication between events instead of events"},
    {"devices", 0, OPTION_FLAG, &options.devices, NULL, "print the statistics of the block devices instead of events"},
    ROWS_PRINT(options.print),
    {0},
};

// Past the end of any job, yet its nanoseconds fit in 63 bits.
static int64_t to_ns(double seconds) { return seconds < 0 ? 0 : (int64_t)llround(fmin(seconds, 1e9) * 1e9); }

// --- the filter

static void choose_calls(struct log_filter *filter) {
    if (options.layer) filter->layers = 1u << call_layer_find(options.layer);
    if (options.class) filter->classes = 1u << call_class_find(options.class);
    filter->op_glob = options.op;
    filter->failed = options.failed;
}

// The slowest calls are the program's: else a call and its own parts at each layer would take all places.
static bool asks_below(const struct log_filter *filter) {
    if (filter->has_server || filter->layers & LAYERS_BELOW) return true;
    bool names_below = false;
    for (uint32_t id = 0; options.op && id < call_table_len; id++) {
        if (!call_names[id] || !glob_match(options.op, call_names[id])) continue;
        if (!call_layer_is_below(call_table[id].layer)) return false;
        names_below = true;
    }
    return names_below;
}

static enum status filter_make(struct log_filter *filter) {
    filter->has_rank = options.rank != UINT64_MAX;
    filter->rank = (int64_t)options.rank;
    filter->has_pid = options.pid != UINT64_MAX;
    filter->has_tid = options.tid != UINT64_MAX;
    if (filter->has_pid && options.pid > UINT32_MAX) return cli_usage("dump", "--pid", "too large");
    if (filter->has_tid && options.tid > UINT32_MAX) return cli_usage("dump", "--tid", "too large");
    filter->has_server = options.server != UINT64_MAX;
    if (filter->has_server && options.server >= LOG_NO_SERVER) return cli_usage("dump", "--server", "too large");
    filter->server = (uint32_t)options.server;
    filter->pid = (uint32_t)options.pid;
    filter->tid = (uint32_t)options.tid;
    filter->file_glob = options.file;
    filter->has_from = options.from >= 0;
    filter->from_ns = to_ns(options.from);
    filter->has_to = options.to >= 0;
    filter->to_ns = to_ns(options.to);
    if (filter->has_from && filter->has_to && filter->from_ns > filter->to_ns)
        return cli_usage("dump", "--from", "is later than --to");
    choose_calls(filter);
    filter->below = !options.slowest || asks_below(filter);
    return STATUS_OK;
}

// --- options that no event can pass

static bool has_process(const struct log *log, bool (*is_it)(const struct log_process *process)) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        if (is_it(log_process_at(log, i))) return true;
    }
    return false;
}

static bool is_rank(const struct log_process *process) { return log_process_has_rank(process, options.filter.rank); }

static bool is_pid(const struct log_process *process) { return process->pid == options.filter.pid; }

static bool has_file(const struct log *log) {
    for (size_t i = 0; i < log_file_count(log); i++) {
        if (glob_match(options.file, log_file_at(log, i)->name)) return true;
    }
    return false;
}

static bool has_call(const struct log *log) {
    for (uint32_t id = 0; id < log_call_ids(log); id++) {
        const struct log_call *call = log_call_find(log, id);
        if (call && glob_match(options.op, call->name)) return true;
    }
    return false;
}

static bool has_server(const struct log *log) {
    for (size_t i = 0; i < log_server_count(log); i++) {
        if (log_server_at(log, i)->id == options.server) return true;
    }
    return false;
}

static void warn(const char *option, const char *why) { cli_warn("dump", "%s: %s", option, why); }

// An empty list would leave the user to guess.
static void warn_of_options(const struct log *log) {
    char why[128];
    const struct log_world *world = log_largest_world(log);
    if (options.filter.has_rank && !has_process(log, is_rank)) {
        if (world)
            snprintf(why, sizeof why, "no such rank: the ranks are 0 to %" PRIu64, world->size - 1);
        else
            snprintf(why, sizeof why, "the log has no ranks: the program did not use MPI");
        warn("--rank", why);
    }
    if (options.filter.has_pid && !has_process(log, is_pid)) warn("--pid", "the log has no such process (see info)");
    if (options.filter.has_server && !has_server(log))
        warn("--server", log_stack(log) ? "the stack has no such server (see info)" : "recorded without --stack");
    if (options.file && !has_file(log)) warn("--file", "no file of the log matches (see info --all)");
    if (options.op && !has_call(log)) warn("--op", "no call has such a name (doctor --calls lists all)");
    if (options.filter.has_from && options.filter.from_ns > log_run_ns(log)) {
        snprintf(why, sizeof why, "the job ended before, after %s", human_seconds(log_run_ns(log)).text);
        warn("--from", why);
    }
}

// --- the verb

static int print(const struct argument *argument, struct output *output) {
    struct log *log = argument->log;
    bool json = options.print.json;
    if (!options.print.quiet) warn_of_options(log);
    if (options.devices) return dump_devices(log, &options.filter, json, output);
    if (options.comm) return dump_comm(log, &options.filter, json, output);
    int code = dump_events(log, &options.filter, (struct dump_choice){options.slowest, options.tree}, json, output);
    if (code == ERR_NOTHING && !options.print.quiet)
        warn("--tree", "the log has no such event (see id in dump --json)");
    return code == ERR_NOTHING ? 0 : code;
}

static enum status dump_run(int argc, char **argv) {
    if (options.comm && options.devices) return cli_usage("dump", "--comm", "cannot be combined with --devices");
    if (options.slowest && (options.comm || options.devices))
        return cli_usage("dump", "--slowest", "cannot be combined with --comm or --devices");
    if (options.tree != DUMP_NO_TREE && (options.slowest || options.comm || options.devices))
        return cli_usage("dump", "--tree", "cannot be combined with --slowest, --comm or --devices");
    enum status status = filter_make(&options.filter);
    return status == STATUS_OK ? argument_print("dump", argc, argv, &options.print, NULL, print) : status;
}

const struct verb verb_dump = {
    .name = "dump",
    .summary = "print the events of a log, one by one",
    .usage = "[OPTION]... LOG",
    .about = "Prints one line (or JSON object) per recorded call, in the order in which the calls begin.\n"
             "LOG can also be the spill directory of a running or killed job.",
    .options = rows,
    .run = dump_run,
};
