// `ioseer dump`: the events, one by one, as the log is read.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/dump_devices.h"
#include "cli/log_argument.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "log/comm.h"
#include "log/describe.h"
#include "log/iter.h"
#include "summary/mpi_text.h"

static struct {
    bool json;
    bool quiet;
    bool comm;
    bool devices;
    const char *layer;
    const char *class;
    uint64_t rank;
    uint64_t pid;
    const char *file;
    double from;
    double to;
    const char *output;
} options = {.rank = UINT64_MAX, .pid = UINT64_MAX, .from = -1, .to = -1};

static const struct option_row rows[] = {
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print a JSON array of objects"},
    {"layer", 0, OPTION_TEXT, &options.layer, "LAYER", "only this layer: posix, stdio, ..."},
    {"class", 0, OPTION_TEXT, &options.class, "CLASS", "only this class: read, write, open, close, sync, seek, meta"},
    {"rank", 0, OPTION_NUMBER, &options.rank, "RANK", "only this rank of MPI_COMM_WORLD"},
    {"pid", 0, OPTION_NUMBER, &options.pid, "PID", "only this process"},
    {"file", 0, OPTION_TEXT, &options.file, "GLOB", "only files whose whole name matches; * matches / too"},
    {"from", 0, OPTION_DURATION, &options.from, "T", "only what began at T or later, since the job's start"},
    {"to", 0, OPTION_DURATION, &options.to, "T", "only what began at T or earlier"},
    {"comm", 0, OPTION_FLAG, &options.comm, NULL, "print the communication between events instead"},
    {"devices", 0, OPTION_FLAG, &options.devices, NULL, "print what the devices under the files did instead"},
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "say nothing about parts that cannot be read"},
    {0},
};

static int filter_make(struct log_filter *filter)
{
    *filter = (struct log_filter){0};
    if (options.layer) {
        int layer = call_layer_find(options.layer);
        if (layer < 0) return cli_usage("dump", options.layer, "no such layer");
        filter->layers = 1u << layer;
    }
    if (options.class) {
        int class = call_class_find(options.class);
        if (class < 0) return cli_usage("dump", options.class, "no such class");
        filter->classes = 1u << class;
    }
    filter->has_rank = options.rank != UINT64_MAX;
    filter->rank = (int64_t)options.rank;
    filter->has_pid = options.pid != UINT64_MAX;
    if (filter->has_pid && options.pid > UINT32_MAX) return cli_usage("dump", "--pid", "too large");
    filter->pid = (uint32_t)options.pid;
    filter->file_glob = options.file;
    filter->has_from = options.from >= 0;
    filter->has_to = options.to >= 0;
    // Far past any job's end either way, so that the sum fits.
    filter->from_ns = filter->has_from ? (int64_t)llround(fmin(options.from, 1e9) * 1e9) : 0;
    filter->to_ns = filter->has_to ? (int64_t)llround(fmin(options.to, 1e9) * 1e9) : 0;
    return STATUS_OK;
}

static bool has_attribute(const struct log_event *event, enum event_attribute attribute)
{
    return event->raw.attribute_mask & 1u << attribute;
}

static void json_attributes(struct json_out *json, const struct log_event *event)
{
    static const struct {
        enum event_attribute attribute;
        const char *key;
    } shown[] = {
        {ATTRIBUTE_FLAGS, "flags"},
        {ATTRIBUTE_MODE, "mode"},
        {ATTRIBUTE_FD, "fd"},
        {ATTRIBUTE_FILE_SIZE, "file_size"},
        {ATTRIBUTE_WHENCE, "whence"},
        {ATTRIBUTE_PIECES, "pieces"},
        {ATTRIBUTE_VIEW_OFFSET, "view_offset"},
        {ATTRIBUTE_COMM_SIZE, "comm_size"},
        {ATTRIBUTE_ETYPE_BYTES, "etype_bytes"},
        {ATTRIBUTE_FILETYPE_BYTES, "filetype_bytes"},
        {ATTRIBUTE_FILETYPE_EXTENT, "filetype_extent"},
    };
    for (size_t i = 0; event->raw.attribute_mask && i < sizeof shown / sizeof shown[0]; i++) {
        if (!has_attribute(event, shown[i].attribute)) continue;
        key_number(json, shown[i].key, event->raw.attribute[shown[i].attribute]);
    }
    if (event->file2) key_text(json, "file2", event->file2->name);
    if (event->call->traits & CALL_ASYNC) key_seconds(json, "call_time", event->call_time_ns);
}

// What only calls of MPI-IO have.
static void json_mpi(struct json_out *json, struct log *log, const struct log_event *event)
{
    bool asked = has_attribute(event, ATTRIBUTE_HINTS);
    if (event->call->class == CLASS_OPEN && has_attribute(event, ATTRIBUTE_FLAGS)) {
        key_text(json, "amode", mpi_text_amode(event->raw.attribute[ATTRIBUTE_FLAGS]).text);
    }
    if (asked || event->hints) {
        json_key(json, "hints");
        mpi_json_hints(json, event->hints, asked);
    }
    if (event->etype || event->filetype) {
        json_key(json, "view");
        mpi_json_view(json, log, event->raw.offset, event->etype, event->filetype);
    }
    if (event->datatype) {
        json_key(json, "datatype");
        mpi_json_datatype(json, log, event->datatype);
    }
}

static void json_unsigned_or_null(struct json_out *json, const char *key, bool known, uint64_t value)
{
    json_key(json, key);
    if (known) {
        json_unsigned(json, value);
    } else {
        json_null(json);
    }
}

static void json_who(struct json_out *json, const struct log_event *event)
{
    const struct log_process *process = event->process;
    json_key(json, "rank");
    if (process->has_rank) {
        json_signed(json, process->rank);
    } else {
        json_null(json);
    }
    key_number(json, "pid", process->pid);
    key_number(json, "tid", event->raw.tid);
    key_text(json, "host", process->host);
}

static void json_event(struct json_out *json, struct log *log, const struct log_event *event)
{
    const struct log_event_raw *raw = &event->raw;
    const struct log_call *call = event->call;
    json_object(json);
    key_number(json, "id", event->id);
    json_unsigned_or_null(json, "parent", event->has_parent, event->parent);
    json_who(json, event);
    key_text(json, "layer", call_layer_name(call->layer));
    key_text(json, "op", call->name);
    key_text(json, "class", call_class_name(call->class));
    key_text(json, "file", event->file ? event->file->name : NULL);
    json_unsigned_or_null(json, "offset", raw->has_offset, raw->offset);
    json_unsigned_or_null(json, "size", call->traits & CALL_HAS_SIZE, raw->size);
    json_key(json, "result");
    if (raw->has_result) {
        json_signed(json, raw->result);
    } else {
        json_null(json);
    }
    key_signed(json, "errno", raw->error);
    key_number(json, "tick", raw->tick);
    key_seconds(json, "start", event->start_ns);
    key_seconds(json, "duration", event->duration_ns);
    key_bool(json, "collective", call->traits & CALL_COLLECTIVE);
    key_text(json, "line", event->line);
    if (raw->handle) key_number(json, "handle", raw->handle);
    json_attributes(json, event);
    if (raw->attribute_mask && call->layer == LAYER_MPIIO) json_mpi(json, log, event);
    json_close(json);
}

static int dump_json(struct log *log, struct log_iter *iter, struct output *output)
{
    struct json_out *json = json_out_begin(output->out, 1);
    RETURN_IF(!json, -ENOMEM);
    json_array(json);
    const struct log_event *event;
    int code = 0;
    while (!json->error && (code = log_iter_next(iter, &event)) > 0) json_event(json, log, event);
    json_close(json);
    output->error = json_out_end(json);
    return code;
}

static void text_number(FILE *out, int width, bool known, uint64_t value)
{
    if (known) {
        fprintf(out, " %*" PRIu64, width, value);
    } else {
        fprintf(out, " %*s", width, "-");
    }
}

// Bytes moved or the value returned; of failed calls the error's name.
static void text_result(FILE *out, const struct log_event_raw *raw)
{
    if (raw->error) {
        const char *name = strerrorname_np(raw->error);
        fprintf(out, " %12s", name ? name : "error");
    } else if (raw->has_result) {
        fprintf(out, " %12" PRId64, raw->result);
    } else {
        fprintf(out, " %12s", "-");
    }
}

static void text_event(FILE *out, struct log *log, const struct log_event *event)
{
    const struct log_event_raw *raw = &event->raw;
    fprintf(out, "%16.9f %13.9f %7" PRIu32 " %7" PRIu32 " %-6s %-22s", (double)event->start_ns / 1e9,
            (double)event->duration_ns / 1e9, event->process->pid, raw->tid, call_layer_name(event->call->layer),
            event->call->name);
    text_number(out, 14, raw->has_offset, raw->offset);
    text_number(out, 11, event->call->traits & CALL_HAS_SIZE, raw->size);
    text_result(out, raw);
    fputs("  ", out);
    human_print_name(out, event->file ? event->file->name : "-");
    if (event->file2) {
        fputs(" -> ", out);
        human_print_name(out, event->file2->name);
    }
    if (event->etype || event->filetype) {
        fputs("  view of ", out);
        human_print_name(out, mpi_text_datatype(log, event->etype).text);
        fputs(": ", out);
        human_print_name(out, mpi_text_datatype(log, event->filetype).text);
    }
    if (event->datatype) {
        fputs("  memory: ", out);
        human_print_name(out, mpi_text_datatype(log, event->datatype).text);
    }
    if (event->line) fprintf(out, "  [%s]", event->line);
    putc('\n', out);
}

static int dump_text(struct log *log, struct log_iter *iter, struct output *output)
{
    const struct log_event *event;
    int code = 0;
    fprintf(output->out, "%16s %13s %7s %7s %-6s %-22s %14s %11s %12s  %s\n", "START", "DURATION", "PID", "TID",
            "LAYER", "OP", "OFFSET", "SIZE", "RESULT", "FILE");
    while (!output_failed(output) && (code = log_iter_next(iter, &event)) > 0) {
        text_event(output->out, log, event);
    }
    return code;
}

static const char *comm_kind_name(enum stream_comm_kind kind)
{
    switch (kind) {
    case COMM_SYNCHRONISING: return "synchronising";
    case COMM_MOVING: return "moving";
    case COMM_COMPLETING: return "completing";
    default: return NULL;
    }
}

struct comm_printer {
    struct output *output;
    struct json_out *json;
};

static int take_comm_json(const struct log_comm *comm, void *context)
{
    struct comm_printer *printer = context;
    struct json_out *json = printer->json;
    json_object(json);
    json_unsigned_or_null(json, "rank", comm->process->has_rank, (uint64_t)comm->process->rank);
    json_unsigned_or_null(json, "pid", true, comm->process->pid);
    json_unsigned_or_null(json, "tid", comm->has_thread, comm->tid);
    json_unsigned_or_null(json, "tick", comm->has_thread, comm->tick);
    json_unsigned_or_null(json, "before", comm->has_event, comm->event);
    key_text(json, "kind", comm_kind_name(comm->kind));
    json_unsigned_or_null(json, "count", true, comm->count);
    json_unsigned_or_null(json, "bytes", true, comm->bytes);
    key_seconds(json, "time", comm->time_ns);
    json_close(json);
    return json->error ? ERR_LIMIT : 0;
}

static int take_comm_text(const struct log_comm *comm, void *context)
{
    const struct comm_printer *printer = context;
    FILE *out = printer->output->out;
    text_number(out, 5, comm->process->has_rank, (uint64_t)comm->process->rank);
    fprintf(out, " %7" PRIu32, comm->process->pid);
    text_number(out, 7, comm->has_thread, comm->tid);
    text_number(out, 8, comm->has_thread, comm->tick);
    text_number(out, 20, comm->has_event, comm->event);
    fprintf(out, " %-13s %8" PRIu64 " %14" PRIu64 " %13.9f\n", comm_kind_name(comm->kind), comm->count, comm->bytes,
            (double)comm->time_ns / 1e9);
    return output_failed(printer->output) ? ERR_LIMIT : 0;
}

static int comm_json(struct log *log, const struct log_filter *filter, struct output *output)
{
    struct comm_printer printer = {.output = output, .json = json_out_begin(output->out, 1)};
    RETURN_IF(!printer.json, -ENOMEM);
    json_array(printer.json);
    int code = log_comm(log, filter, take_comm_json, &printer);
    json_close(printer.json);
    output->error = json_out_end(printer.json);
    return output->error ? 0 : code;
}

static int comm_text(struct log *log, const struct log_filter *filter, struct output *output)
{
    struct comm_printer printer = {.output = output};
    fprintf(output->out, " %5s %7s %7s %8s %20s %-13s %8s %14s %13s\n", "RANK", "PID", "TID", "TICK", "BEFORE", "KIND",
            "COUNT", "BYTES", "TIME");
    int code = log_comm(log, filter, take_comm_text, &printer);
    return output->error ? 0 : code;
}

static int dump_comm(struct log *log, const struct log_filter *filter, struct output *output)
{
    return options.json ? comm_json(log, filter, output) : comm_text(log, filter, output);
}

static int dump_events(struct log *log, const struct log_filter *filter, struct output *output)
{
    struct log_iter *iter;
    FORWARD(log_iter_open(&iter, log, filter));
    int code = options.json ? dump_json(log, iter, output) : dump_text(log, iter, output);
    log_iter_close(iter);
    return code;
}

static int dump_what(struct log *log, const struct log_filter *filter, struct output *output)
{
    if (options.devices) return dump_devices(log, filter, options.json, output);
    return options.comm ? dump_comm(log, filter, output) : dump_events(log, filter, output);
}

static int dump_log(struct log_argument *argument, const struct log_filter *filter)
{
    struct output output;
    int status = log_argument_output(argument, &output, options.output);
    if (status == STATUS_OK) {
        int code = dump_what(argument->log, filter, &output);
        if (code < 0) cli_fail("dump", argument->path, code);
        status = output_close(&output, code < 0);
        if (status == STATUS_OK && !options.quiet) log_argument_warn(argument);
    }
    return status;
}

static int dump_run(int argc, char **argv)
{
    struct log_filter filter;
    struct log_argument argument;
    if (options.comm && options.devices) return cli_usage("dump", "--comm", "not with --devices");
    int status = filter_make(&filter);
    if (status == STATUS_OK) status = log_argument_open(&argument, "dump", argc, argv);
    if (status != STATUS_OK) return status;
    status = dump_log(&argument, &filter);
    log_argument_close(&argument);
    return status;
}

const struct verb verb_dump = {
    .name = "dump",
    .summary = "print the events of a log, one by one",
    .usage = "[OPTION]... LOG",
    .about = "Prints one line (or JSON object) for each recorded call, in the order in which the calls began.\n"
             "LOG may be the directory of a running or killed job's spill files.",
    .options = rows,
    .run = dump_run,
};
