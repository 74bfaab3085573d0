// The report as text for a terminal.
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/human.h"
#include "base/json_in.h"
#include "base/order.h"
#include "base/scoped.h"
#include "base/table.h"
#include "base/terminal.h"
#include "log/describe.h"
#include "log/import.h"
#include "report/page.h"
#include "report/phases_json.h"
#include "report/phases_note.h"
#include "summary/libraries.h"

enum { MOST_BARS = 64, LEAST_BARS = 20, BESIDE_BARS = 34, SHOWN = 10 };

static void heading(FILE *out, const char *text) {
    fprintf(out, "\n%s%s%s\n", terminal_style(out, STYLE_HEAD), text, terminal_style(out, STYLE_NONE));
    for (size_t i = 0; i < strlen(text); i++) fputc('-', out);
    fputc('\n', out);
}

static void print_evidence(FILE *out, const struct finding_evidence *evidence) {
    human_paragraph(out, "     - ", evidence->text);
    if (evidence->file) {
        fputs("       file ", out);
        human_print_name(out, evidence->file->name);
        fputc('\n', out);
    }
    if (evidence->phase || evidence->line || evidence->ranks) fputs("      ", out);
    if (evidence->phase) fprintf(out, " phase %" PRIu32, evidence->phase);
    for (size_t i = 0; i < evidence->ranks; i++) fprintf(out, "%s%" PRId64, i ? "," : " rank ", evidence->rank[i]);
    if (evidence->line) {
        fputs(" at ", out);
        human_print_name(out, evidence->line);
    }
    if (evidence->phase || evidence->line || evidence->ranks) fputc('\n', out);
}

static const enum terminal_style severity_style[] = {
    [FINDING_LOW] = STYLE_HEAD, [FINDING_MEDIUM] = STYLE_WARNING, [FINDING_HIGH] = STYLE_BAD};

// Without a trace there is nothing to find patterns in.
static const char *nothing_found(const struct page *page) {
    const struct log *log = page->source.log;
    return !log_has_trace(log) ? "Not known: findings come from a trace, and this log has none."
                               : "None: this log shows no known pattern that costs time.";
}

static void print_findings(const struct page *page, FILE *out) {
    heading(out, "Findings, the most severe first");
    if (!page->findings.count) fprintf(out, "%s\n", nothing_found(page));
    for (size_t i = 0; i < page->findings.count; i++) {
        const struct finding *finding = &page->findings.finding[i];
        fprintf(out, "%s%s%zu. ", i ? "\n" : "", terminal_style(out, severity_style[finding->severity]), i + 1);
        human_paragraph(out, "", finding->title);
        fputs(terminal_style(out, STYLE_NONE), out);
        // Some findings are about the run and not about a time.
        if (finding->ns) {
            fprintf(out, "     %s at stake, %s of the run time (%s)\n", human_seconds(finding->ns).text,
                    human_percent(finding->share).text, finding_severity_name(finding->severity));
            human_paragraph(out, "     measured: ", finding->basis);
        }
        for (size_t k = 0; k < finding->evidences; k++) print_evidence(out, &finding->evidence[k]);
        human_paragraph(out, "     why:      ", finding->reason);
        human_paragraph(out, "     do:       ", finding->advice);
        if (finding->gain_text) human_paragraph(out, "     gain:     ", finding->gain_text);
        fprintf(out, "     check:    %s\n", finding->command); // for copying: not broken into lines
    }
}

static struct table begin_table(FILE *out, const struct table_column *columns) {
    struct table table = table_begin(out, columns);
    table.indent = 2;
    return table;
}

// --- bytes and calls over time

static unsigned bars_of(FILE *out) {
    unsigned width = terminal_width(out);
    if (!width || width >= MOST_BARS + BESIDE_BARS) return MOST_BARS;
    return width > LEAST_BARS + BESIDE_BARS ? width - BESIDE_BARS : LEAST_BARS;
}

// Returns the most of a column.
static double print_bar(FILE *out, unsigned bars, const char *label, const double *bin) {
    static const char level[] = " .:-=+*#%@";
    double sum[MOST_BARS] = {0}, most = 0;
    for (size_t i = 0; i < TIMELINE_BINS; i++) sum[i * bars / TIMELINE_BINS] += bin[i];
    for (size_t i = 0; i < bars; i++) most = sum[i] > most ? sum[i] : most;
    fprintf(out, "  %-6s |", label);
    for (size_t i = 0; i < bars; i++) {
        size_t at = most > 0 ? (size_t)(sum[i] / most * (sizeof level - 2) + 0.999) : 0;
        fputc(level[at < sizeof level - 1 ? at : sizeof level - 2], out);
    }
    fputs("| at most ", out);
    return most;
}

static void print_timeline(const struct page *page, FILE *out) {
    const struct timeline *timeline = &page->collect.timeline;
    static const char *const label[] = {"read", "write"};
    int64_t span_ns = timeline->to_ns - timeline->from_ns;
    unsigned bars = bars_of(out);
    double seconds = (double)span_ns / 1e9 / bars; // of a column; a timeline is never empty
    bool has_others = timeline->source == TIMELINE_EVENTS;
    if (timeline->source == TIMELINE_NOTHING) return;
    heading(out, has_others ? "Bytes, and calls that move none, over time" : "Bytes over time");
    for (unsigned i = 0; i < 2; i++)
        fprintf(out, "%s\n", human_bandwidth(print_bar(out, bars, label[i], timeline->bytes[i]) / seconds).text);
    if (has_others) {
        double calls = print_bar(out, bars, "other", timeline->others) / seconds;
        fprintf(out, "%s/s\n", human_count((uint64_t)(calls + 0.5), "call").text);
    }
    fprintf(out, "          0%*s%s, %s per column\n", (int)bars - 10, "", human_seconds(span_ns).text,
            human_seconds(span_ns / bars).text);
}

// --- phases

// Each kind of operation once. Returns the number of operations in one phase, of all processes.
static uint64_t add_operations(struct table *table, const struct phase_run *run) {
    uint64_t count = 0;
    table_text(table, "");
    for (size_t i = 0; i < run->ops; i++) {
        size_t first = 0;
        while (strcmp(run->op[first].name, run->op[i].name) != 0) first++;
        if (first == i) table_append(table, "%s%s", i ? ", " : "", run->op[i].name);
        count += run->op[i].count;
    }
    return count;
}

// The size of all transfers.
static const char *request_text(const struct phase_run *run, struct human *size) {
    const struct op_summary *some = NULL;
    for (size_t i = 0; i < run->ops; i++) {
        const struct op_summary *op = &run->op[i];
        if (!op->moves) continue;
        if (!op->has_size || (some && op_summary_size(op) != op_summary_size(some))) return "varies";
        some = op;
    }
    if (some) *size = human_bytes(op_summary_size(some));
    return some ? size->text : NULL;
}

// Count, bytes and time are of all operations of all these phases.
static void add_phases(struct table *table, const struct phase_run *run, int64_t all_ns) {
    uint64_t phases = run->end - run->first;
    struct human size;
    if (!run->ops) return;
    table_printf(table, phases > 1 ? "%zu-%zu" : "%zu", run->first + 1, run->end);
    uint64_t count = add_operations(table, run);
    table_count(table, count * phases);
    table_text(table, request_text(run, &size));
    table_text(table, run->moves ? human_bytes(run->family->weight * phases).text : NULL);
    table_duration(table, run->ns);
    table_percent(table, all_ns > 0 ? (double)run->ns / (double)all_ns : 0);
    table_text(table, run->name ? run->name : "");
    if (run->files.files > 1) table_append(table, " (%s)", human_count(run->files.files, "file").text);
    table_row(table);
}

// Phases that repeat in a row count together.
static int order_runs(const struct model *model, struct order **order, size_t *count) {
    struct phase_run run = {.model = model};
    int code;
    while ((code = phase_run_next(&run)) > 0 && !(code = array_push(*order, *count, (struct order){run.ns, run.first})))
        continue;
    phase_run_free(&run);
    order_sort(*order, *count);
    return code;
}

static int print_phases(const struct page *page, FILE *out) {
    static const struct table_column columns[] = {
        {"PHASE", TABLE_TEXT},   {"OPERATIONS", TABLE_TEXT}, {"COUNT", TABLE_NUMBER},
        {"REQUEST", TABLE_UNIT}, {"BYTES", TABLE_UNIT},      {"TIME", TABLE_UNIT},
        {"SHARE", TABLE_UNIT},   {"FILE", TABLE_NAME},       {0}};
    const struct model *model = &page->model;
    int64_t all_ns = 0;
    size_t count = 0;
    if (!page->has_model || !model->phases) return 0;
    heading(out, "Phases with the most time (ioseer phases prints the whole table)");
    for (size_t i = 0; i < model->phases; i++) all_ns += model->phase[i].duration_ns;
    SCOPED_FREE struct order *order = NULL;
    FORWARD(order_runs(model, &order, &count));
    struct table table = begin_table(out, columns);
    int code = 0;
    for (size_t i = 0; i < count && i < SHOWN && code >= 0; i++) {
        struct phase_run run = {.model = model, .end = order[i].index};
        code = phase_run_next(&run);
        if (code > 0) add_phases(&table, &run, all_ns);
        phase_run_free(&run);
    }
    int ended = table_end(&table);
    FORWARD(code < 0 ? code : ended);
    return phases_note(model, out, "  ");
}

// --- processes, layers and files

static int print_processes(const struct page *page, FILE *out) {
    static const struct table_column columns[] = {
        {"PROCESS", TABLE_NUMBER}, {"RUN", TABLE_UNIT},     {"I/O", TABLE_UNIT},     {"SHARE", TABLE_UNIT},
        {"READ", TABLE_UNIT},      {"WRITTEN", TABLE_UNIT}, {"PROGRAM", TABLE_NAME}, {0}};
    const struct summary *summary = &page->summary;
    size_t shown = 0, more = 0;
    if (summary->row_count < 2) return 0;
    heading(out, "Processes with the most time in I/O; shares are of their own run time");
    struct table table = begin_table(out, columns);
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        const struct log_process *process = row->process;
        if (process->is_launcher) continue;
        if (shown++ >= SHOWN) {
            more++;
            continue;
        }
        if (process->group)
            table_printf(&table, "ranks %s", describe_ranks(process).text);
        else
            table_printf(&table, process->has_rank ? "rank %" PRId64 : "%" PRId64,
                         process->has_rank ? process->rank : (int64_t)process->pid);
        table_duration(&table, row->run_ns);
        table_text(&table, row->io_known ? human_seconds(row->io_ns).text : "unknown");
        table_text(&table, row->io_known ? human_percent(summary_row_share(row)).text : "unknown");
        for (unsigned k = 0; k < DIRECTION_COUNT; k++)
            table_text(&table, row->bytes_known ? human_bytes(row->bytes[k]).text : "unknown");
        table_text(&table, summary_program(process));
        table_row(&table);
    }
    FORWARD(table_end(&table));
    if (more) fprintf(out, "  ... and %s\n", human_count(more, "other").text);
    return 0;
}

static int print_layers(const struct page *page, FILE *out) {
    static const struct table_column columns[] = {
        {"LAYER", TABLE_TEXT}, {"INCLUSIVE", TABLE_UNIT}, {"EXCLUSIVE", TABLE_UNIT}, {"CALLS", TABLE_NUMBER}, {0}};
    const struct layers *layers = &page->collect.layers;
    struct layer_time sum[LAYER_COUNT] = {0};
    const struct log_images *images = &page->summary.images;
    uint32_t last = UINT32_MAX;
    int64_t processes = 0;
    for (size_t i = 0; i < log_process_count(layers->log); i++) {
        uint32_t index = images->image[i]->index;
        bool used = false;
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
            const struct layer_time *time = &layers->process[index].of[layer];
            sum[layer].inclusive_ns += time->inclusive_ns;
            sum[layer].exclusive_ns += time->exclusive_ns;
            sum[layer].calls += time->calls;
            used = used || time->calls;
        }
        processes += used && images->first[index] != last; // images of one process are adjacent
        if (used) last = images->first[index];
    }
    if (!processes) return 0;
    heading(out, "Layers (times are means of the processes, calls are those of all)");
    struct table table = begin_table(out, columns);
    for (unsigned layer = LAYER_COUNT - 1; layer > LAYER_NONE; layer--) {
        if (!sum[layer].calls) continue;
        table_text(&table, call_layer_name(layer));
        table_duration(&table, sum[layer].inclusive_ns / processes);
        table_duration(&table, sum[layer].exclusive_ns / processes);
        table_count(&table, sum[layer].calls);
        table_row(&table);
    }
    return table_end(&table);
}

static int print_libraries(const struct page *page, FILE *out) {
    if (!library_next(&page->summary.tree, LAYER_COUNT)) return 0;
    heading(out, "Libraries: what they were asked for and what reached the files (times of all processes)");
    return libraries_text(&page->summary.tree, out);
}

static int print_files(const struct page *page, FILE *out) {
    static const struct table_column columns[] = {{"READ", TABLE_UNIT}, {"WRITTEN", TABLE_UNIT},
                                                  {"TIME", TABLE_UNIT}, {"PROCESSES", TABLE_NUMBER},
                                                  {"FILE", TABLE_NAME}, {0}};
    const struct files *files = &page->collect.files;
    if (!files->rows) return 0;
    heading(out, "Files with the most time, summed over all processes");
    struct table table = begin_table(out, columns);
    for (size_t i = 0; i < files->rows && i < SHOWN; i++) {
        const struct files_row *row = &files->row[i];
        table_bytes(&table, row->bytes[0]);
        table_bytes(&table, row->bytes[1]);
        table_duration(&table, files_time_ns(files, log_file_index(files->log, row->file)));
        table_count(&table, row->processes);
        table_text(&table, row->file->name);
        table_row(&table);
    }
    FORWARD(table_end(&table));
    uint64_t more = files->left_out + (files->rows > SHOWN ? files->rows - SHOWN : 0);
    if (more) fprintf(out, "  ... and %s\n", human_count(more, "other").text);
    return 0;
}

static int print_collectives(const struct page *page, FILE *out) {
    const struct collectives *collectives = &page->summary.collectives;
    if (!collectives_has(collectives)) return 0;
    heading(out, "Inside the collective calls of MPI-IO");
    return collectives_text(collectives, &page->summary.mpi_files, SHOWN, out);
}

// --- predictions

// Another program may have written the document: values that are missing or have another type are not printed.
static const char *text_at(const struct json_value *object, const char *key) {
    const char *text;
    return json_in_text(json_in_member(object, key), &text, NULL) < 0 ? NULL : text;
}

static struct human time_at(const struct json_value *object, const char *key) {
    double seconds;
    bool known = json_in_double(json_in_member(object, key), &seconds) == 0 && seconds >= 0 && seconds < 1e9;
    return known ? human_time(seconds) : (struct human){"unknown"};
}

static void add_target(struct table *table, const struct json_value *target, const char *best) {
    const char *name = text_at(target, "name"), *method = text_at(target, "method");
    const char *reason = text_at(target, "reason");
    table_text(table, time_at(target, "total").text);
    table_printf(table, "%s - %s", time_at(target, "low").text, time_at(target, "high").text);
    table_text(table, name ? name : "a target without a name");
    if (method) table_append(table, ", %s", method);
    if (best && name && !strcmp(best, name)) table_append(table, ": the fastest");
    if (reason) table_append(table, " (%s)", reason);
    table_row(table);
}

static void add_prediction(struct table *table, const char *text) {
    struct json_in in;
    struct json_in_error error;
    int code = json_in_parse(&in, text, strlen(text), &error);
    if (code < 0) {
        table->error = code;
        return;
    }
    const struct json_value *targets = json_in_member(in.root, "targets");
    for (size_t i = 0; i < json_in_length(targets); i++)
        add_target(table, json_in_at(targets, i), text_at(in.root, "best"));
    if (json_in_type(json_in_member(in.root, "recorded")) != JSON_NULL) {
        table_text(table, time_at(in.root, "recorded").text);
        table_text(table, "");
        table_text(table, "as recorded");
        table_row(table);
    }
    json_in_free(&in);
}

static int print_predictions(const struct page *page, FILE *out) {
    static const struct table_column columns[] = {
        {"I/O TIME", TABLE_UNIT}, {"95 % INTERVAL", TABLE_NUMBER}, {"TARGET", TABLE_TEXT}, {0}};
    if (!page->predictions.count) return 0;
    heading(out, "Predictions: the time in I/O on other storage");
    struct table table = begin_table(out, columns);
    for (size_t i = 0; i < page->predictions.count; i++) add_prediction(&table, page->predictions.text[i]);
    return table_end(&table);
}

int page_text(struct page *page, FILE *out) {
    for (size_t i = 0; i < page->sentences.count; i++) human_paragraph(out, "", page->sentences.text[i]);
    for (size_t i = 0; i < page->not_captured.count; i++) human_paragraph(out, "", page->not_captured.text[i]);
    print_findings(page, out);
    print_timeline(page, out);
    FORWARD(print_phases(page, out));
    FORWARD(print_processes(page, out));
    FORWARD(print_layers(page, out));
    FORWARD(print_collectives(page, out));
    FORWARD(print_libraries(page, out));
    FORWARD(print_files(page, out));
    return print_predictions(page, out);
}
