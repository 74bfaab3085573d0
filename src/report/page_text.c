// The page's story in a terminal.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_in.h"
#include "log/describe.h"
#include "report/page.h"

enum { WIDTH = 100, BARS = 64, SHOWN = 10 };

static void heading(FILE *out, const char *text)
{
    fprintf(out, "\n%s\n", text);
    for (size_t i = 0; i < strlen(text); i++) fputc('-', out);
    fputc('\n', out);
}

// Words in lines of WIDTH, all but the first indented.
static void paragraph(FILE *out, const char *first, const char *text)
{
    size_t indent = strlen(first), column = indent;
    fputs(first, out);
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column > indent && column + 1 + len > WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, len, out);
        column += len;
        text += len;
        while (*text == ' ') text++;
    }
    fputc('\n', out);
}

static void print_evidence(FILE *out, const struct finding_evidence *evidence)
{
    paragraph(out, "     - ", evidence->text);
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

static void print_findings(const struct page *page, FILE *out)
{
    heading(out, "Findings, the most time at stake first");
    if (!page->findings.count) fputs("None: no time is lost in ways that this log shows.\n", out);
    for (size_t i = 0; i < page->findings.count; i++) {
        const struct finding *finding = &page->findings.finding[i];
        fprintf(out, "%s%zu. ", i ? "\n" : "", i + 1);
        paragraph(out, "", finding->title);
        fprintf(out, "     %s at stake, %s of the run time (%s)\n", human_seconds(finding->ns).text,
                human_percent(finding->share).text, finding_severity_name(finding->severity));
        paragraph(out, "     measured: ", finding->basis);
        for (size_t k = 0; k < finding->evidences; k++) print_evidence(out, &finding->evidence[k]);
        paragraph(out, "     why:      ", finding->reason);
        paragraph(out, "     do:       ", finding->advice);
        fprintf(out, "     check:    %s\n", finding->command); // to be copied as it is
    }
}

// --- bandwidth over time

static void print_bar(FILE *out, const char *label, const double *bin, double seconds)
{
    static const char level[] = " .:-=+*#%@";
    double sum[BARS] = {0}, most = 0;
    for (size_t i = 0; i < TIMELINE_BINS; i++) sum[i * BARS / TIMELINE_BINS] += bin[i];
    for (size_t i = 0; i < BARS; i++) most = sum[i] > most ? sum[i] : most;
    fprintf(out, "  %-6s |", label);
    for (size_t i = 0; i < BARS; i++) {
        size_t at = most > 0 ? (size_t)(sum[i] / most * (sizeof level - 2) + 0.999) : 0;
        fputc(level[at < sizeof level - 1 ? at : sizeof level - 2], out);
    }
    fprintf(out, "| at most %s/s\n", human_bytes((uint64_t)(seconds > 0 ? most / seconds : 0)).text);
}

static void print_timeline(const struct page *page, FILE *out)
{
    const struct timeline *timeline = &page->collect.timeline;
    int64_t span_ns = timeline->to_ns - timeline->from_ns;
    heading(out, "Bytes over time");
    print_bar(out, "read", timeline->bytes[0], (double)span_ns / 1e9 / BARS);
    print_bar(out, "write", timeline->bytes[1], (double)span_ns / 1e9 / BARS);
    fprintf(out, "          0%*s%s\n", BARS - 10, "", human_seconds(span_ns).text);
}

// --- phases

static int print_phases(const struct page *page, FILE *out)
{
    const struct model *model = &page->model;
    int64_t all_ns = 0;
    size_t shown = 0;
    if (!page->has_model || !model->phases) return 0;
    heading(out, "Phases (ioseer phases has the whole table)");
    for (size_t i = 0; i < model->phases; i++) all_ns += model->phase[i].duration_ns;
    for (size_t first = 0, end; first < model->phases && shown < SHOWN; first = end, shown++) {
        const struct model_family *family = &model->family[model->phase[first].family];
        int64_t ns = 0;
        for (end = first; end < model->phases && model->phase[end].family == model->phase[first].family; end++)
            ns += model->phase[end].duration_ns;
        struct model_row *row;
        size_t rows;
        FORWARD(model_rows(model, family, &row, &rows));
        if (rows) {
            char label[48];
            snprintf(label, sizeof label, end - first > 1 ? "%zu-%zu" : "%zu", first + 1, end);
            fprintf(out, "  %-9s %-6s %6" PRIu64 " x %10s  %10s  %10s  %7s\n", label, call_class_name(row[0].class),
                    row[0].rep, row[0].has_size ? human_bytes(model_row_size(&row[0])).text : "varies",
                    human_bytes(family->weight * (end - first)).text, human_seconds(ns).text,
                    human_percent(all_ns > 0 ? (double)ns / (double)all_ns : 0).text);
        }
        free(row);
    }
    return 0;
}

// --- layers and files

static void print_layers(const struct page *page, FILE *out)
{
    const struct layers *layers = &page->collect.layers;
    struct layer_time sum[LAYER_COUNT] = {0};
    size_t processes = 0;
    for (size_t i = 0; i < log_process_count(layers->log); i++) {
        bool used = false;
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
            const struct layer_time *time = &layers->process[i].of[layer];
            sum[layer].inclusive_ns += time->inclusive_ns;
            sum[layer].exclusive_ns += time->exclusive_ns;
            sum[layer].calls += time->calls;
            used = used || time->calls;
        }
        processes += used;
    }
    if (!processes) return;
    heading(out, "Layers (means of the processes)");
    fprintf(out, "  %-10s %14s %14s %12s\n", "LAYER", "IN ITS CALLS", "NOT BELOW", "CALLS");
    for (unsigned layer = LAYER_COUNT - 1; layer > LAYER_NONE; layer--) {
        if (!sum[layer].calls) continue;
        fprintf(out, "  %-10s %14s %14s %12" PRIu64 "\n", call_layer_name(layer),
                human_seconds(sum[layer].inclusive_ns / (int64_t)processes).text,
                human_seconds(sum[layer].exclusive_ns / (int64_t)processes).text, sum[layer].calls);
    }
}

static void print_files(const struct page *page, FILE *out)
{
    const struct files *files = &page->collect.files;
    if (!files->rows) return;
    heading(out, "Files with the most time");
    fprintf(out, "  %10s  %10s  %12s  %9s  %s\n", "READ", "WRITTEN", "TIME", "PROCESSES", "FILE");
    for (size_t i = 0; i < files->rows && i < SHOWN; i++) {
        const struct files_row *row = &files->row[i];
        fprintf(out, "  %10s  %10s  %12s  %9" PRIu64 "  ", human_bytes(row->bytes[0]).text,
                human_bytes(row->bytes[1]).text,
                human_seconds(files->own_ns[log_file_index(files->log, row->file)]).text, row->processes);
        human_print_name(out, row->file->name);
        fputc('\n', out);
    }
    uint64_t more = files->left_out + (files->rows > SHOWN ? files->rows - SHOWN : 0);
    if (more) fprintf(out, "  ... and %s\n", human_count(more, "other").text);
}

// --- predictions

// Another program may have written the document: what is not there, or is something else, is not printed.
static const char *text_at(const struct json_value *object, const char *key)
{
    const char *text;
    return json_in_text(json_in_member(object, key), &text, NULL) < 0 ? NULL : text;
}

static struct human time_at(const struct json_value *object, const char *key)
{
    double seconds;
    bool known = json_in_double(json_in_member(object, key), &seconds) == 0 && seconds >= 0 && seconds < 1e9;
    return known ? human_time(seconds) : (struct human){"unknown"};
}

static void print_predicted(const struct json_value *target, const char *best, FILE *out)
{
    const char *name = text_at(target, "name"), *method = text_at(target, "method"),
               *reason = text_at(target, "reason");
    struct human low = time_at(target, "low"), high = time_at(target, "high");
    char range[2 * sizeof(struct human)];
    snprintf(range, sizeof range, "%.40s - %.40s", low.text, high.text);
    fprintf(out, "  %12s  %27s  ", time_at(target, "total").text, range);
    human_print_name(out, name ? name : "a target without a name");
    if (method) fputs(", ", out);
    human_print_name(out, method ? method : "");
    if (best && name && !strcmp(best, name)) fputs(": the fastest", out);
    if (reason) fputs(" (", out);
    human_print_name(out, reason ? reason : "");
    fputs(reason ? ")\n" : "\n", out);
}

static int print_predictions(const struct page *page, FILE *out)
{
    if (page->predictions.count) {
        heading(out, "Predictions: the time in I/O on other storage");
        fprintf(out, "  %12s  %27s  %s\n", "I/O TIME", "95 % INTERVAL", "TARGET");
    }
    for (size_t i = 0; i < page->predictions.count; i++) {
        struct json_in in;
        struct json_in_error error;
        const char *text = page->predictions.text[i];
        FORWARD(json_in_parse(&in, text, strlen(text), &error));
        const struct json_value *targets = json_in_member(in.root, "targets");
        for (size_t k = 0; k < json_in_length(targets); k++)
            print_predicted(json_in_at(targets, k), text_at(in.root, "best"), out);
        if (json_in_type(json_in_member(in.root, "recorded")) != JSON_NULL)
            fprintf(out, "  %12s  %27s  as recorded\n", time_at(in.root, "recorded").text, "");
        json_in_free(&in);
    }
    return 0;
}

int page_text(struct page *page, FILE *out)
{
    for (size_t i = 0; i < page->sentences.count; i++) paragraph(out, "", page->sentences.text[i]);
    for (size_t i = 0; i < page->not_captured.count; i++) paragraph(out, "Not seen: ", page->not_captured.text[i]);
    print_findings(page, out);
    print_timeline(page, out);
    FORWARD(print_phases(page, out));
    print_layers(page, out);
    print_files(page, out);
    return print_predictions(page, out);
}
