#include "cli/top_print.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "base/order.h"
#include "base/scoped.h"
#include "base/table.h"

const char *const top_sort_names[TOP_SORTS] = {"bytes", "read", "write", "calls", "metadata", "io", "rank"};

// --- order

static double value_of(const struct live_flow *flow, enum top_sort sort, bool by_sum) {
    const struct live_sums *sums = &flow->sums;
    const struct live_rates *rate = &flow->rate;
    switch (sort) {
    case TOP_READ: return by_sum ? (double)sums->bytes[0] : rate->bytes[0];
    case TOP_WRITE: return by_sum ? (double)sums->bytes[1] : rate->bytes[1];
    case TOP_CALLS: return by_sum ? (double)sums->calls : rate->calls;
    case TOP_METADATA: return by_sum ? (double)sums->metadata : rate->metadata;
    default: return by_sum ? (double)(sums->bytes[0] + sums->bytes[1]) : rate->bytes[0] + rate->bytes[1];
    }
}

static int64_t process_key(const struct live *live, const struct live_process *process, enum top_sort sort) {
    const double most = 1e15, per_share = 1e6;
    double value = value_of(&process->flow, sort, live->has_ended);
    if (sort == TOP_RANK) value = process->has_rank ? most - process->rank : 0;
    if (sort == TOP_IO) value = process->io_share * per_share;
    if (sort == TOP_IO && live->has_ended) value = (double)live_ns(&process->header, process->io_units);
    if (value == 0) value = (double)process->flow.sums.calls / most; // who did anything at all
    if (value > most) value = most;
    return (int64_t)(value * 1000) + (process->has_ended ? 0 : (int64_t)most * 2000);
}

// Running processes come first.
static struct order *order_processes(const struct live *live, enum top_sort sort) {
    struct order *order = calloc(live->processes + 1, sizeof *order);
    for (size_t i = 0; order && i < live->processes; i++)
        order[i] = (struct order){process_key(live, &live->process[i], sort), i};
    if (order) order_sort(order, live->processes);
    return order;
}

// Files with traffic now come before those that had some.
static struct order *order_files(const struct live *live, enum top_sort sort) {
    struct order *order = calloc(live->files + 1, sizeof *order);
    for (size_t i = 0; order && i < live->files; i++) {
        const struct live_flow *flow = &live->file[i].flow;
        double now = live->has_ended ? 0 : value_of(flow, sort, false), sum = value_of(flow, sort, true);
        order[i] = (struct order){(int64_t)(now >= 1 ? 1e16 + now * 100 : sum), i};
    }
    if (order) order_sort(order, live->files);
    return order;
}

// --- text

static void print_command(FILE *out, const struct live *live) {
    for (size_t i = 0; i < live->command.count; i++) {
        if (i) fputc(' ', out);
        human_print_name(out, live->command.text[i]);
    }
    fputc('\n', out);
}

static void print_head(FILE *out, const struct live *live, const struct top_view *view) {
    int64_t run_ns = live_run_ns(live, clock_ns(CLOCK_REALTIME));
    print_command(out, live);
    if (live->has_ended)
        fprintf(out, "Ended");
    else
        fprintf(out, "Running for %s", human_seconds(run_ns).text);
    fprintf(out, ", %s", human_count(live->running + live->ended, "process").text);
    if (!live->has_ended && live->ended) fprintf(out, ", %s of these ended", human_count(live->ended, "").text);
    if (live->unseen) fprintf(out, ", %s unseen", human_count(live->unseen, "program").text);
    if (live->lost_events) fprintf(out, ", %s not traced", human_count(live->lost_events, "call").text);
    if (live->damaged_bytes) fprintf(out, ", %s damaged", human_bytes(live->damaged_bytes).text);
    if (live->is_behind) fprintf(out, ", still reading");
    if (view->is_paused) fprintf(out, ", PAUSED");
    fputc('\n', out);
}

static void print_totals(FILE *out, const struct live *live) {
    const struct live_sums *sums = &live->total.sums;
    const struct live_rates *rate = &live->total.rate;
    if (!live->has_ended)
        fprintf(out, "Now      read %s, write %s, %.0f calls/s, %.0f metadata calls/s\n",
                human_bandwidth(rate->bytes[0]).text, human_bandwidth(rate->bytes[1]).text, rate->calls,
                rate->metadata);
    fprintf(out, "So far   read %s, written %s, %s, %s\n", human_bytes(sums->bytes[0]).text,
            human_bytes(sums->bytes[1]).text, human_count(sums->calls, "call").text,
            human_count(sums->metadata, "metadata call").text);
}

// One character for each moment, the last one at the right.
static void print_graph(FILE *out, const struct live *live, const struct top_view *view, unsigned direction) {
    static const char *const blocks[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const letters[] = {" ", ".", ".", ":", ":", "+", "*", "#", "#"};
    enum { LABELS = 32, LEVELS = 8 };
    uint64_t most = view->width > LABELS + 10 ? view->width - LABELS : 10;
    uint64_t count = live->moments < LIVE_HISTORY ? live->moments : LIVE_HISTORY;
    if (count > most) count = most;
    double peak = 0;
    for (uint64_t i = live->moments - count; i < live->moments; i++) {
        double value = live->history[i % LIVE_HISTORY].rate.bytes[direction];
        if (value > peak) peak = value;
    }
    fprintf(out, "%s", direction ? "Write    " : "Read     ");
    for (uint64_t i = live->moments - count; i < live->moments; i++) {
        double value = live->history[i % LIVE_HISTORY].rate.bytes[direction];
        unsigned level = value > 0 ? 1 + (unsigned)(value / peak * (LEVELS - 1)) : 0;
        fputs((view->has_blocks ? blocks : letters)[level], out);
    }
    fprintf(out, "  up to %s\n", human_bandwidth(peak).text);
}

static void put_who(struct table *table, bool has_rank, uint32_t rank, uint32_t pid) {
    table_number_if(table, has_rank, rank);
    table_number(table, pid);
}

static void put_process(struct table *table, const struct live *live, const struct live_process *process) {
    char call[32], file[PATH_MAX];
    const struct live_rates *rate = &process->flow.rate;
    put_who(table, process->has_rank, process->rank, process->header.pid);
    table_text(table, process->program);
    if (live->has_ended) {
        const struct live_sums *sums = &process->flow.sums;
        table_bytes(table, sums->bytes[0]), table_bytes(table, sums->bytes[1]);
        table_count(table, sums->calls), table_count(table, sums->metadata);
        table_duration(table, live_ns(&process->header, process->io_units));
    } else {
        table_bandwidth(table, rate->bytes[0]), table_bandwidth(table, rate->bytes[1]);
        table_printf(table, "%.0f", rate->calls), table_printf(table, "%.0f", rate->metadata);
        table_percent(table, process->io_share);
        table_text(table, "");
        if (live_now(process, call, file)) table_append(table, "%s%s%s", call, file[0] ? " " : "", file);
    }
    table_row(table);
}

static int print_processes(FILE *out, const struct live *live, const struct top_view *view, size_t most) {
    static const struct table_column now[] = {{"RANK", TABLE_NUMBER},   {"PID", TABLE_NUMBER},
                                              {"PROGRAM", TABLE_TEXT},  {"READ", TABLE_UNIT},
                                              {"WRITE", TABLE_UNIT},    {"CALLS/S", TABLE_NUMBER},
                                              {"META/S", TABLE_NUMBER}, {"IN I/O", TABLE_UNIT},
                                              {"CALL NOW", TABLE_NAME}, {0}};
    static const struct table_column sums[] = {{"RANK", TABLE_NUMBER}, {"PID", TABLE_NUMBER},   {"PROGRAM", TABLE_TEXT},
                                               {"READ", TABLE_UNIT},   {"WRITTEN", TABLE_UNIT}, {"CALLS", TABLE_NUMBER},
                                               {"META", TABLE_NUMBER}, {"IN I/O", TABLE_UNIT},  {0}};
    SCOPED_FREE struct order *order = order_processes(live, view->sort);
    RETURN_IF(!order, -ENOMEM);
    struct table table = table_begin(out, live->has_ended ? sums : now);
    table.terminal_width = view->width;
    size_t shown = 0;
    for (size_t i = 0; i < live->processes && shown < most; i++) {
        const struct live_process *process = &live->process[order[i].index];
        if (process->has_ended && !live->has_ended) continue;
        put_process(&table, live, process);
        shown++;
    }
    return table_end(&table);
}

// Columns are left out where names would have no room.
static bool is_narrow(const struct top_view *view) {
    enum { ENOUGH = 80 };
    return view->width && view->width < ENOUGH;
}

static int print_files(FILE *out, const struct live *live, const struct top_view *view, size_t most) {
    enum { NOW = 2 }; // columns of a job that runs
    static const struct table_column columns[] = {{"READ NOW", TABLE_UNIT},
                                                  {"WRITE NOW", TABLE_UNIT},
                                                  {"READ", TABLE_UNIT},
                                                  {"WRITTEN", TABLE_UNIT},
                                                  {"CALLS", TABLE_NUMBER},
                                                  {"FILE", TABLE_NAME},
                                                  {0}};
    static const struct table_column narrow[] = {
        {"READ NOW", TABLE_UNIT}, {"WRITE NOW", TABLE_UNIT}, {"FILE", TABLE_NAME}, {0}};
    bool has_sums = live->has_ended || !is_narrow(view);
    SCOPED_FREE struct order *order = order_files(live, view->sort);
    RETURN_IF(!order, -ENOMEM);
    struct table table = table_begin(out, !has_sums ? narrow : live->has_ended ? columns + NOW : columns);
    table.terminal_width = view->width;
    for (size_t i = 0; i < live->files && i < most; i++) {
        const struct live_file *file = &live->file[order[i].index];
        if (!file->flow.sums.calls) continue;
        const struct live_rates *rate = &file->flow.rate;
        for (unsigned direction = 0; direction < 2 && !live->has_ended; direction++)
            table_bandwidth(&table, rate->bytes[direction]);
        for (unsigned direction = 0; direction < 2 && has_sums; direction++)
            table_bytes(&table, file->flow.sums.bytes[direction]);
        if (has_sums) table_count(&table, file->flow.sums.calls);
        table_text(&table, file->name);
        table_row(&table);
    }
    return table_end(&table);
}

static int print_slowest(FILE *out, const struct live *live, const struct top_view *view, size_t most) {
    static const struct table_column columns[] = {
        {"SLOWEST", TABLE_UNIT}, {"AT", TABLE_UNIT},    {"CALL", TABLE_TEXT}, {"BYTES", TABLE_UNIT},
        {"RANK", TABLE_NUMBER},  {"PID", TABLE_NUMBER}, {"FILE", TABLE_NAME}, {0}};
    static const struct table_column narrow[] = {{"SLOWEST", TABLE_UNIT}, {"CALL", TABLE_TEXT}, {"RANK", TABLE_NUMBER},
                                                 {"PID", TABLE_NUMBER},   {"FILE", TABLE_NAME}, {0}};
    bool has_all = !is_narrow(view);
    struct table table = table_begin(out, has_all ? columns : narrow);
    table.terminal_width = view->width;
    for (size_t i = 0; i < live->slow_count && i < most; i++) {
        const struct live_call *call = &live->slowest[i];
        table_duration(&table, call->duration_ns);
        if (has_all) table_duration(&table, call->start_ns);
        table_text(&table, call_names[call->call]);
        if (has_all) table_bytes(&table, call->bytes);
        put_who(&table, call->has_rank, call->rank, call->pid);
        table_text(&table, call->file ? live->file[call->file].name : NULL);
        table_row(&table);
    }
    return table_end(&table);
}

int top_text(const struct live *live, const struct top_view *view, FILE *out) {
    enum { ANY = 10, FIXED = 13, LEAST = 2 }; // FIXED: lines that are not rows of tables
    size_t room = view->lines > FIXED ? view->lines - FIXED : 0, rows[3] = {ANY, ANY, LIVE_SLOWEST / 2};
    if (view->lines) {
        size_t shown = live->has_ended ? live->processes : (size_t)live->running;
        rows[2] = room / 4 > LEAST ? room / 4 : LEAST;
        if (rows[2] > live->slow_count) rows[2] = live->slow_count;
        rows[0] = (room - rows[2]) * 3 / 5 > LEAST ? (room - rows[2]) * 3 / 5 : LEAST;
        if (rows[0] > shown) rows[0] = shown;
        rows[1] = room > rows[0] + rows[2] + LEAST ? room - rows[0] - rows[2] : LEAST;
    }
    print_head(out, live, view);
    print_totals(out, live);
    if (view->lines && live->moments)
        for (unsigned direction = 0; direction < 2; direction++) print_graph(out, live, view, direction);
    fputc('\n', out);
    FORWARD(print_processes(out, live, view, rows[0]));
    fputc('\n', out);
    FORWARD(print_files(out, live, view, rows[1]));
    fputc('\n', out);
    return print_slowest(out, live, view, rows[2]);
}

// --- JSON

static void key_sums(struct json_out *json, const struct live_flow *flow) {
    const struct live_sums *sums = &flow->sums;
    const struct live_rates *rate = &flow->rate;
    json_members(json, m_number("bytes_read", sums->bytes[0]), m_number("bytes_written", sums->bytes[1]),
                 m_number("calls", sums->calls), m_number("metadata_calls", sums->metadata),
                 m_double("read_rate", rate->bytes[0]), m_double("write_rate", rate->bytes[1]),
                 m_double("call_rate", rate->calls), m_double("metadata_rate", rate->metadata));
}

static void json_process(struct json_out *json, const struct live_process *process) {
    char call[32], file[PATH_MAX];
    bool is_in_call = live_now(process, call, file);
    json_object(json);
    json_members(
        json, m_number_if("rank", process->has_rank, process->rank), m_number("pid", process->header.pid),
        m_text("host", process->host), m_text("program", process->program), m_bool("running", !process->has_ended),
        m_seconds("io_time", live_ns(&process->header, process->io_units)), m_double("io_share", process->io_share),
        m_text("op", is_in_call ? call : NULL), m_text("file", is_in_call && file[0] ? file : NULL));
    key_sums(json, &process->flow);
    json_close(json);
}

static void key_job(struct json_out *json, const struct live *live) {
    key_object(json, "job");
    key_array(json, "command");
    for (size_t i = 0; i < live->command.count; i++) json_text(json, live->command.text[i]);
    json_close(json);
    json_members(json, m_seconds("start", (int64_t)live->start_ns), m_text("host", live->host),
                 m_text("directory", live->directory), m_bool("running", !live->has_ended),
                 m_seconds("run_time", live_run_ns(live, clock_ns(CLOCK_REALTIME))),
                 m_number("processes", live->running + live->ended), m_number("processes_running", live->running),
                 m_number("unseen", live->unseen));
    json_close(json);
}

static void json_slowest(struct json_out *json, const struct live *live) {
    key_array(json, "slowest");
    for (size_t i = 0; i < live->slow_count; i++) {
        const struct live_call *call = &live->slowest[i];
        json_object_of(json, m_text("op", call_names[call->call]),
                       m_text("file", call->file ? live->file[call->file].name : NULL),
                       m_number_if("rank", call->has_rank, call->rank), m_number("pid", call->pid),
                       m_seconds("start", call->start_ns), m_seconds("duration", call->duration_ns),
                       m_number("bytes", call->bytes));
    }
    json_close(json);
}

void top_json(const struct live *live, enum top_sort sort, struct json_out *json) {
    SCOPED_FREE struct order *processes = order_processes(live, sort);
    SCOPED_FREE struct order *files = order_files(live, sort);
    double interval = live->moments ? live->history[(live->moments - 1) % LIVE_HISTORY].seconds : 0;
    json_object(json);
    key_job(json, live);
    json_members(json, m_double("interval", interval), m_number("lost_events", live->lost_events),
                 m_number("damaged_bytes", live->damaged_bytes));
    key_object(json, "total");
    key_sums(json, &live->total);
    json_close(json);
    key_array(json, "processes");
    for (size_t i = 0; processes && i < live->processes; i++) json_process(json, &live->process[processes[i].index]);
    json_close(json);
    key_array(json, "files");
    for (size_t i = 0; files && i < live->files; i++) {
        const struct live_file *file = &live->file[files[i].index];
        if (!file->flow.sums.calls) continue;
        json_object(json);
        key_text(json, "name", file->name);
        key_sums(json, &file->flow);
        json_close(json);
    }
    json_close(json);
    json_slowest(json, live);
    json_close(json);
}

// --- the list of jobs

int top_list(const struct live_jobs *jobs, FILE *out) {
    static const struct table_column columns[] = {
        {"", TABLE_NUMBER}, {"JOB", TABLE_TEXT}, {"RUNS FOR", TABLE_UNIT}, {"COMMAND", TABLE_NAME}, {0}};
    struct table table = table_begin(out, columns);
    int64_t now_ns = (int64_t)clock_ns(CLOCK_REALTIME);
    for (size_t i = 0; i < jobs->count; i++) {
        table_number(&table, i + 1), table_text(&table, jobs->job[i].name);
        table_duration(&table, now_ns - (int64_t)jobs->job[i].start_ns), table_text(&table, jobs->job[i].command);
        table_row(&table);
    }
    return table_end(&table);
}

void top_list_json(const struct live_jobs *jobs, struct json_out *json) {
    json_object(json);
    key_array(json, "jobs");
    for (size_t i = 0; i < jobs->count; i++)
        json_object_of(json, m_text("name", jobs->job[i].name), m_text("id", jobs->job[i].id),
                       m_text("directory", jobs->job[i].directory), m_text("command", jobs->job[i].command),
                       m_seconds("start", (int64_t)jobs->job[i].start_ns));
    json_close(json);
    json_close(json);
}

char *top_log_name(const struct live *live) {
    const char *end = strstr(live->directory, ".spill-");
    char *name = end ? strndup(live->directory, (size_t)(end - live->directory)) : NULL;
    if (name && access(name, R_OK) == 0) return name;
    free(name);
    return NULL;
}
