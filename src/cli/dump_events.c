#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/lookup.h"
#include "cli/dump.h"
#include "cli/dump_inside.h"
#include "log/describe.h"
#include "log/slowest.h"
#include "model/file/keywords.h"
#include "summary/mpi_text.h"
#include "summary/objects.h"

// --- JSON

static bool has_attribute(const struct log_event *event, enum event_attribute attribute) {
    return event->raw.attribute_mask & 1u << attribute;
}

static void json_attributes(struct json_out *json, const struct log_event *event) {
    static const struct {
        enum event_attribute attribute;
        const char *key;
    } shown[] = {
        {ATTRIBUTE_SERVER, "server"},
        {ATTRIBUTE_FLAGS, "flags"},
        {ATTRIBUTE_MODE, "mode"},
        {ATTRIBUTE_FD, "fd"},
        {ATTRIBUTE_FILE_SIZE, "file_size"},
        {ATTRIBUTE_MAPPED_READ, "mapped_read"},
        {ATTRIBUTE_MAPPED_DIRTY, "mapped_dirty"},
        {ATTRIBUTE_MAPPED_COPIED, "mapped_copied"},
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

static void json_event(struct json_out *json, struct log *log, const struct log_event *event,
                       const struct collective_call *inside) {
    const struct log_event_raw *raw = &event->raw;
    const struct log_process *process = event->process;
    const struct log_call *call = event->call;
    json_object(json);
    json_members(json, m_number("id", event->id), m_number_if("parent", event->has_parent, event->parent),
                 m_signed_if("rank", process->has_rank, process->rank), m_number_if("pid", process->pid, process->pid),
                 m_number_if("tid", raw->tid, raw->tid), m_text("host", process->host),
                 m_text("layer", call_layer_name(call->layer)), m_text("op", call->name),
                 m_text("class", call_class_name(call->class)), m_text("file", event->file ? event->file->name : NULL),
                 m_number_if("offset", raw->has_offset, raw->offset),
                 m_number_if("size", call->traits & CALL_HAS_SIZE, raw->size),
                 m_signed_if("result", raw->has_result, raw->result), m_signed("errno", log_event_errno(event)),
                 m_number_if("tick", log_event_has_tick(event), raw->tick), m_seconds("start", event->start_ns),
                 m_seconds("duration", event->duration_ns),
                 m_bool_if("collective", log_event_knows_collective(event), log_event_is_collective(event)),
                 m_text("line", event->line), m_text("object", event->file ? event->file->object : NULL),
                 m_text("via", describe_event_via(event)));
    json_key(json, "selection");
    objects_json_selection(json, event);
    if (raw->handle) key_number(json, "handle", raw->handle);
    if (raw->error) key_text(json, "error", describe_error(event));
    json_attributes(json, event);
    if (inside) dump_inside_json(json, inside);
    if (raw->attribute_mask && call->layer == LAYER_MPIIO) json_mpi(json, log, event);
    if (event->dataset) {
        json_key(json, "dataset");
        objects_json_dataset(json, event->dataset);
    }
    json_close(json);
}

// --- text

static void append_flags(struct table *table, const struct log_event *event) {
    char text[MODEL_FLAGS_BYTES];
    if (event->call->class != CLASS_OPEN || !has_attribute(event, ATTRIBUTE_FLAGS)) return;
    model_flags_text(event->call->layer, (uint32_t)event->raw.attribute[ATTRIBUTE_FLAGS], text);
    table_append(table, "  %s", text);
}

static void text_event(struct table *table, struct log *log, const struct log_event *event,
                       const struct collective_call *inside) {
    const struct log_event_raw *raw = &event->raw;
    table_seconds(table, event->start_ns);
    table_seconds(table, event->duration_ns);
    if (log_world_count(log)) table_number_if(table, event->process->has_rank, (uint64_t)event->process->rank);
    table_number_if(table, event->process->pid, event->process->pid);
    table_number_if(table, raw->tid, raw->tid);
    table_text(table, call_layer_name(event->call->layer));
    table_text(table, event->call->name);
    table_number_if(table, raw->has_offset, raw->offset);
    table_number_if(table, event->call->traits & CALL_HAS_SIZE, raw->size);
    const char *error = describe_error(event);
    dump_result(table, raw->error && !error ? "error" : error, raw->has_result, raw->result);
    table_text(table, event->file ? event->file->name : NULL);
    if (event->file && event->file->object) table_append(table, ":%s", event->file->object);
    if (event->file2) table_append(table, " -> %s", event->file2->name);
    append_flags(table, event);
    if (has_attribute(event, ATTRIBUTE_SERVER))
        table_append(table, "  server %" PRIu64, event->raw.attribute[ATTRIBUTE_SERVER]);
    if (event->etype || event->filetype) {
        table_append(table, "  view of %s: %s", mpi_text_datatype(log, event->etype).text,
                     mpi_text_datatype(log, event->filetype).text);
    }
    if (event->datatype) table_append(table, "  memory: %s", mpi_text_datatype(log, event->datatype).text);
    if (event->selection) table_append(table, "  %s", objects_text_selection(event).text);
    if (event->dataset) table_append(table, "  %s", objects_text_dataset(event->dataset).text);
    if (inside) dump_inside_text(table, inside);
    if (event->line) table_append(table, "  [%s]", event->line);
    table_row(table);
}

struct printer {
    struct log *log;
    struct output *output;
    struct json_out *json; // NULL: text
    struct table table;
    struct dump_inside inside;
    uint64_t tree;      // only this event and those inside it; DUMP_NO_TREE: all
    struct lookup seen; // of the tree
};

static int print_event(struct printer *printer, const struct log_event *event) {
    struct collective_call inside;
    int has_inside = dump_inside_take(&printer->inside, event, &inside);
    FORWARD(has_inside);
    if (printer->json)
        json_event(printer->json, printer->log, event, has_inside ? &inside : NULL);
    else
        text_event(&printer->table, printer->log, event, has_inside ? &inside : NULL);
    return 0;
}

static struct table begin_table(const struct log *log, FILE *out) {
    static const struct table_column columns[] = {
        {"START", TABLE_NUMBER}, {"DURATION", TABLE_NUMBER}, {"RANK", TABLE_NUMBER}, {"PID", TABLE_NUMBER},
        {"TID", TABLE_NUMBER},   {"LAYER", TABLE_TEXT},      {"OP", TABLE_TEXT},     {"OFFSET", TABLE_NUMBER},
        {"SIZE", TABLE_NUMBER},  {"RESULT", TABLE_NUMBER},   {"FILE", TABLE_NAME},   {0}};
    static const unsigned widths[] = {16, 13, 5, 7, 7, 6, 22, 14, 11, 12, 0};
    enum { RANK = 2, COUNT = sizeof columns / sizeof *columns };
    static struct table_column shown[COUNT];
    static unsigned width[COUNT];
    size_t used = 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (i == RANK && !log_world_count(log)) continue;
        shown[used] = columns[i];
        if (i < COUNT - 1) width[used] = widths[i];
        used++;
    }
    return table_begin_stream(out, shown, width);
}

// --- all events, or the slowest

// Calls come before the calls inside them. Returns 1, 0 or a negative code.
static int is_wanted(struct printer *printer, const struct log_event *event) {
    if (printer->tree == DUMP_NO_TREE) return 1;
    if (event->id != printer->tree && (!event->has_parent || lookup_find(&printer->seen, event->parent) == LOOKUP_NONE))
        return 0;
    FORWARD(lookup_set(&printer->seen, event->id, 1));
    return 1;
}

static int each_event(struct log *log, const struct log_filter *filter, struct printer *printer) {
    struct log_iter *iter;
    const struct log_event *event;
    FORWARD(log_iter_open(&iter, log, filter));
    int code = 0;
    while (code >= 0 && !output_failed(printer->output) && (code = log_iter_next(iter, &event)) > 0) {
        code = is_wanted(printer, event);
        if (code > 0) code = print_event(printer, event);
    }
    log_iter_close(iter);
    return code < 0 || printer->tree == DUMP_NO_TREE || printer->seen.count ? code : ERR_NOTHING;
}

static int each_slowest(struct log *log, const struct log_filter *filter, uint64_t most, struct printer *printer) {
    struct log_slowest slowest;
    FORWARD(log_slowest(&slowest, log, filter, most));
    int code = 0;
    for (size_t i = 0; i < slowest.count && !code; i++) code = print_event(printer, &slowest.event[i]);
    log_slowest_free(&slowest);
    return code;
}

int dump_events(struct log *log, const struct log_filter *filter, struct dump_choice choice, bool as_json,
                struct output *output) {
    struct printer printer = {.log = log, .output = output, .tree = choice.tree};
    int code = dump_inside_open(&printer.inside, log, filter);
    if (as_json)
        json_array(printer.json = output_json(output, 1));
    else
        printer.table = begin_table(log, output->out);
    if (!code)
        code = choice.slowest ? each_slowest(log, filter, choice.slowest, &printer) : each_event(log, filter, &printer);
    if (as_json) json_close(printer.json);
    int ended = as_json ? 0 : table_end(&printer.table);
    dump_inside_close(&printer.inside);
    lookup_free(&printer.seen);
    return code < 0 ? code : ended;
}
