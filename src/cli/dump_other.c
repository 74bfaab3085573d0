// `ioseer dump --comm` and `ioseer dump --devices`.
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/dump.h"
#include "log/communication.h"
#include "log/describe.h"
#include "summary/communicators.h"

struct printer {
    const struct log *log;
    const struct log_filter *filter;
    struct output *output;
    struct json_out *json; // NULL for text
    struct table table;
};

static void printer_begin(struct printer *printer, bool as_json, const struct table_column *columns,
                          const unsigned *width) {
    if (as_json) {
        printer->json = output_json(printer->output, 1);
        json_array(printer->json);
    } else {
        printer->table = table_begin_stream(printer->output->out, columns, width);
    }
}

static int printer_end(struct printer *printer, int code) {
    int ended = 0;
    if (printer->json)
        json_close(printer->json);
    else
        ended = table_end(&printer->table);
    return code < 0 ? code : ended;
}

void dump_result(struct table *table, const char *error, bool known, int64_t result) {
    if (error) {
        table_text(table, error);
    } else if (known && result < 0) {
        table_printf(table, "%" PRId64, result);
    } else {
        table_number_if(table, known, (uint64_t)result);
    }
}

// --- communication

static const char *comm_kind_name(enum stream_comm_kind kind) {
    switch (kind) {
    case COMM_SYNCHRONISING: return "synchronising";
    case COMM_MOVING: return "moving";
    case COMM_COMPLETING: return "completing";
    default: return NULL;
    }
}

static bool has_peer(const struct stream_partner *partner) {
    return partner->role != PARTNER_ALL && partner->role != PARTNER_MORE;
}

// The ranks in MPI_COMM_WORLD of the communicator, and of the peer if there is one. Numbers of communicators mean
// something only in their process.
struct with {
    const struct communicator *comm; // NULL: not known
    struct bytes members;
    int64_t peer; // or MEMBERS_UNKNOWN
};

static struct with find_partner(const struct log *log, const struct log_process *process,
                                const struct stream_partner *partner) {
    struct with with = {.peer = MEMBERS_UNKNOWN};
    if (partner->role == PARTNER_MORE) return with;
    with.comm = log_process_communicator(log, process, partner->comm);
    if (!with.comm) return with;
    const struct comm_group *peers = with.comm->is_inter ? &with.comm->remote : &with.comm->local;
    summary_comm_members(&with.members, &with.comm->local);
    bytes_append(&with.members, "", 1);
    if (has_peer(partner)) with.peer = members_rank(peers->members, partner->peer);
    return with;
}

static void partner_json(struct json_out *json, const struct log *log, const struct log_process *process,
                         const struct stream_partner *partner) {
    struct with with = find_partner(log, process, partner);
    json_object_of(json, m_number_if("comm", partner->role != PARTNER_MORE, partner->comm),
                   m_text("origin", with.comm ? comm_origin_name(with.comm->origin) : NULL),
                   m_text("members", (const char *)with.members.data), m_text("role", partner_role_name(partner->role)),
                   m_number_if("peer", has_peer(partner), partner->peer),
                   m_number_if("peer_rank", with.peer != MEMBERS_UNKNOWN, (uint64_t)with.peer),
                   m_number("calls", partner->count));
    bytes_free(&with.members);
}

static void comm_json(struct json_out *json, const struct log *log, const struct log_comm *comm) {
    json_object(json);
    const struct log_process *process = comm->process;
    json_members(json, m_number_if("rank", process->has_rank && !process->group, (uint64_t)process->rank),
                 m_number_if("pid", process->pid, process->pid), m_number_if("tid", comm->has_thread, comm->tid),
                 m_number_if("tick", comm->has_thread, comm->tick), m_number_if("before", comm->has_event, comm->event),
                 m_text("kind", comm_kind_name(comm->kind)), m_number("count", comm->count),
                 m_number("bytes", comm->bytes), m_seconds("time", comm->time_ns));
    key_array(json, "partners");
    for (uint32_t i = 0; i < comm->partner_count; i++) {
        partner_json(json, log, comm->process, &comm->partners[i]);
    }
    json_close(json);
    json_close(json);
}

// "all of 0-3 x 2, send to 1"
static void add_partner(struct table *table, const struct log *log, const struct log_process *process,
                        const struct stream_partner *partner) {
    static const char *const words[PARTNER_ROLES] = {"all", "from", "to", "send to", "receive from", "others"};
    struct with with = find_partner(log, process, partner);
    table_append(table, "%s", words[partner->role < PARTNER_ROLES ? partner->role : PARTNER_MORE]);
    if (with.peer != MEMBERS_UNKNOWN)
        table_append(table, " %" PRId64, with.peer);
    else if (has_peer(partner))
        table_append(table, " ?");
    if (with.comm && partner->role != PARTNER_SEND && partner->role != PARTNER_RECEIVE)
        table_append(table, " of %s", (const char *)with.members.data);
    if (partner->count > 1) table_append(table, " x %" PRIu64, partner->count);
    bytes_free(&with.members);
}

static void comm_text(struct table *table, const struct log *log, const struct log_comm *comm) {
    table_text(table, comm->process->has_rank ? describe_ranks(comm->process).text : NULL);
    table_number_if(table, comm->process->pid, comm->process->pid);
    table_number_if(table, comm->has_thread, comm->tid);
    table_number_if(table, comm->has_thread, comm->tick);
    if (comm->has_event)
        table_seconds(table, comm->start_ns);
    else
        table_text(table, "end");
    table_text(table, comm_kind_name(comm->kind));
    table_number(table, comm->count);
    table_number(table, comm->bytes);
    table_seconds(table, comm->time_ns);
    table_text(table, "");
    for (uint32_t i = 0; i < comm->partner_count; i++) {
        if (i) table_append(table, ", ");
        add_partner(table, log, comm->process, &comm->partners[i]);
    }
    table_row(table);
}

static int print_comm(const struct log_comm *comm, void *context) {
    struct printer *printer = context;
    if (printer->json)
        comm_json(printer->json, printer->log, comm);
    else
        comm_text(&printer->table, printer->log, comm);
    return output_failed(printer->output) ? ERR_LIMIT : 0;
}

int dump_comm(struct log *log, const struct log_filter *filter, bool as_json, struct output *output) {
    static const struct table_column columns[] = {{"RANK", TABLE_NUMBER},
                                                  {"PID", TABLE_NUMBER},
                                                  {"TID", TABLE_NUMBER},
                                                  {"TICK", TABLE_NUMBER},
                                                  {"BEFORE", TABLE_NUMBER},
                                                  {"KIND", TABLE_TEXT},
                                                  {"COUNT", TABLE_NUMBER},
                                                  {"BYTES", TABLE_NUMBER},
                                                  {"TIME", TABLE_NUMBER},
                                                  {"WITH", TABLE_TEXT},
                                                  {0}};
    static const unsigned width[] = {5, 7, 7, 8, 13, 13, 8, 14, 13, 0};
    struct printer printer = {.log = log, .output = output};
    printer_begin(&printer, as_json, columns, width);
    return printer_end(&printer, log_comm(log, filter, print_comm, &printer));
}

// --- devices

static uint64_t bytes_of(const struct device_sample *sample, enum device_counter counter) {
    return sample->count[counter] * DEVICE_SECTOR_BYTES;
}

static void sample_json(struct json_out *json, const struct log_device *device, int64_t start_ns,
                        const struct device_sample *sample) {
    json_object_of(json, m_seconds("start", start_ns), m_seconds("duration", (int64_t)sample->span_ns),
                   m_text("host", device->host), m_text("device", device->name),
                   m_number("reads", sample->count[DEVICE_READS]), m_number("writes", sample->count[DEVICE_WRITES]),
                   m_number("bytes_read", bytes_of(sample, DEVICE_SECTORS_READ)),
                   m_number("bytes_written", bytes_of(sample, DEVICE_SECTORS_WRITTEN)),
                   m_double("utilisation", device_utilisation(sample)), m_double("queue", device_queue(sample)));
}

static void sample_text(struct table *table, const struct log_device *device, int64_t start_ns,
                        const struct device_sample *sample) {
    table_seconds(table, start_ns);
    table_seconds(table, (int64_t)sample->span_ns);
    table_number(table, sample->count[DEVICE_READS]);
    table_number(table, sample->count[DEVICE_WRITES]);
    table_number(table, bytes_of(sample, DEVICE_SECTORS_READ));
    table_number(table, bytes_of(sample, DEVICE_SECTORS_WRITTEN));
    table_percent(table, device_utilisation(sample));
    table_printf(table, "%.2f", device_queue(sample));
    table_text(table, device->name);
    if (device->host) table_append(table, " on %s", device->host);
    table_row(table);
}

static bool is_wanted(const struct log_filter *filter, int64_t start_ns) {
    return !(filter->has_from && start_ns < filter->from_ns) && !(filter->has_to && start_ns > filter->to_ns);
}

static void print_device(struct printer *printer, const struct log_device *device) {
    struct device_samples_in samples = device->samples;
    struct device_sample sample;
    int64_t start_ns = device->start_ns;
    for (; device_samples_next(&samples, &sample) > 0; start_ns += (int64_t)sample.span_ns) {
        if (!is_wanted(printer->filter, start_ns)) continue;
        if (printer->json)
            sample_json(printer->json, device, start_ns, &sample);
        else
            sample_text(&printer->table, device, start_ns, &sample);
    }
}

int dump_devices(const struct log *log, const struct log_filter *filter, bool as_json, struct output *output) {
    static const struct table_column columns[] = {{"START", TABLE_NUMBER},      {"DURATION", TABLE_NUMBER},
                                                  {"READS", TABLE_NUMBER},      {"WRITES", TABLE_NUMBER},
                                                  {"BYTES READ", TABLE_NUMBER}, {"BYTES WRITTEN", TABLE_NUMBER},
                                                  {"BUSY", TABLE_NUMBER},       {"QUEUE", TABLE_NUMBER},
                                                  {"DEVICE", TABLE_NAME},       {0}};
    static const unsigned width[] = {16, 13, 8, 8, 14, 14, 8, 8, 0};
    struct printer printer = {.filter = filter, .output = output};
    printer_begin(&printer, as_json, columns, width);
    for (size_t i = 0; i < log_device_count(log); i++) print_device(&printer, log_device_at(log, i));
    return printer_end(&printer, 0);
}
