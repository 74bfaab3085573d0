// `ioseer dump`: the events, one by one, as the log is read.
#include <math.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/table.h"
#include "cli/argument.h"
#include "cli/dump.h"
#include "cli/verb.h"
#include "log/iter.h"
#include "summary/mpi_text.h"

static struct {
    struct print_options print;
    bool comm, devices;
    const char *layer, *class, *file;
    uint64_t rank, pid;
    double from, to;
    struct log_filter filter;
} options = {.rank = UINT64_MAX, .pid = UINT64_MAX, .from = -1, .to = -1};

static const struct option_row rows[] = {
    {"layer", 0, OPTION_TEXT, &options.layer, "LAYER", "only this layer: posix, stdio, ..."},
    {"class", 0, OPTION_TEXT, &options.class, "CLASS", "only this class: read, write, open, close, sync, seek, meta"},
    {"rank", 0, OPTION_NUMBER, &options.rank, "RANK", "only this rank of MPI_COMM_WORLD"},
    {"pid", 0, OPTION_NUMBER, &options.pid, "PID", "only this process"},
    {"file", 0, OPTION_TEXT, &options.file, "GLOB", "only files whose whole name matches; * matches / too"},
    {"from", 0, OPTION_DURATION, &options.from, "T",
     "only events that begin at T or later (time since the job's start)"},
    {"to", 0, OPTION_DURATION, &options.to, "T", "only events that begin at T or earlier (time since the job's start)"},
    {"comm", 0, OPTION_FLAG, &options.comm, NULL, "print the communication between events instead of events"},
    {"devices", 0, OPTION_FLAG, &options.devices, NULL, "print the statistics of the block devices instead of events"},
    ROWS_PRINT(options.print),
    {0},
};

// Past the end of any job, yet its nanoseconds fit in 63 bits.
static int64_t to_ns(double seconds) { return seconds < 0 ? 0 : (int64_t)llround(fmin(seconds, 1e9) * 1e9); }

static enum status filter_make(struct log_filter *filter) {
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
    filter->from_ns = to_ns(options.from);
    filter->has_to = options.to >= 0;
    filter->to_ns = to_ns(options.to);
    return STATUS_OK;
}

// --- JSON

static bool has_attribute(const struct log_event *event, enum event_attribute attribute) {
    return event->raw.attribute_mask & 1u << attribute;
}

static void json_attributes(struct json_out *json, const struct log_event *event) {
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
        {ATTRIBUTE_COMM, "comm"},
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
    if (event->call->traits & CALL_ASYNC) key_seconds(json, "call_time", log_event_call_ns(event));
}

// Members that only calls of MPI-IO have.
static void json_mpi(struct json_out *json, struct log *log, const struct log_event *event) {
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

static void json_event(struct json_out *json, struct log *log, const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    const struct log_process *process = event->process;
    const struct log_call *call = event->call;
    json_object(json);
    json_members(
        json, m_number("id", event->id), m_number_if("parent", event->has_parent, event->parent),
        m_signed_if("rank", process->has_rank, process->rank), m_number("pid", process->pid), m_number("tid", raw->tid),
        m_text("host", process->host), m_text("layer", call_layer_name(call->layer)), m_text("op", call->name),
        m_text("class", call_class_name(call->class)), m_text("file", event->file ? event->file->name : NULL),
        m_number_if("offset", raw->has_offset, raw->offset),
        m_number_if("size", call->traits & CALL_HAS_SIZE, raw->size),
        m_signed_if("result", raw->has_result, raw->result), m_signed("errno", raw->error), m_number("tick", raw->tick),
        m_seconds("start", event->start_ns), m_seconds("duration", event->duration_ns),
        m_bool("collective", call->traits & CALL_COLLECTIVE), m_text("line", event->line));
    if (raw->handle) key_number(json, "handle", raw->handle);
    json_attributes(json, event);
    if (raw->attribute_mask && call->layer == LAYER_MPIIO) json_mpi(json, log, event);
    json_close(json);
}

static int dump_json(struct log *log, struct log_iter *iter, struct output *output) {
    struct json_out *json = output_json(output, 1);
    json_array(json);
    const struct log_event *event;
    int code = 0;
    while (!json->error && (code = log_iter_next(iter, &event)) > 0) json_event(json, log, event);
    json_close(json);
    return code;
}

// --- text

static void text_event(struct table *table, struct log *log, const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    table_seconds(table, event->start_ns);
    table_seconds(table, event->duration_ns);
    table_number(table, event->process->pid);
    table_number(table, raw->tid);
    table_text(table, call_layer_name(event->call->layer));
    table_text(table, event->call->name);
    table_number_if(table, raw->has_offset, raw->offset);
    table_number_if(table, event->call->traits & CALL_HAS_SIZE, raw->size);
    dump_result(table, raw->error, raw->has_result, raw->result);
    table_text(table, event->file ? event->file->name : NULL);
    if (event->file2) table_append(table, " -> %s", event->file2->name);
    if (event->etype || event->filetype) {
        table_append(table, "  view of %s: %s", mpi_text_datatype(log, event->etype).text,
                     mpi_text_datatype(log, event->filetype).text);
    }
    if (event->datatype) table_append(table, "  memory: %s", mpi_text_datatype(log, event->datatype).text);
    if (event->line) table_append(table, "  [%s]", event->line);
    table_row(table);
}

static int dump_text(struct log *log, struct log_iter *iter, struct output *output) {
    static const struct table_column columns[] = {{"START", TABLE_NUMBER},
                                                  {"DURATION", TABLE_NUMBER},
                                                  {"PID", TABLE_NUMBER},
                                                  {"TID", TABLE_NUMBER},
                                                  {"LAYER", TABLE_TEXT},
                                                  {"OP", TABLE_TEXT},
                                                  {"OFFSET", TABLE_NUMBER},
                                                  {"SIZE", TABLE_NUMBER},
                                                  {"RESULT", TABLE_NUMBER},
                                                  {"FILE", TABLE_NAME},
                                                  {0}};
    static const unsigned width[] = {16, 13, 7, 7, 6, 22, 14, 11, 12, 0};
    struct table table = table_begin_stream(output->out, columns, width);
    const struct log_event *event;
    int code = 0;
    while (!output_failed(output) && (code = log_iter_next(iter, &event)) > 0) text_event(&table, log, event);
    int ended = table_end(&table);
    return code < 0 ? code : ended;
}

// --- the verb

static int dump_events(struct log *log, struct output *output) {
    struct log_iter *iter;
    FORWARD(log_iter_open(&iter, log, &options.filter));
    int code = options.print.json ? dump_json(log, iter, output) : dump_text(log, iter, output);
    log_iter_close(iter);
    return code;
}

static int print(const struct argument *argument, struct output *output) {
    struct log *log = argument->log;
    bool json = options.print.json;
    if (options.devices) return dump_devices(log, &options.filter, json, output);
    return options.comm ? dump_comm(log, &options.filter, json, output) : dump_events(log, output);
}

static enum status dump_run(int argc, char **argv) {
    if (options.comm && options.devices) return cli_usage("dump", "--comm", "cannot be combined with --devices");
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
