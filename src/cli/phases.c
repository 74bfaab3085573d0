// `ioseer phases`: the application's I/O phases as a table or as JSON.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "model/model.h"
#include "report/phases_json.h"

static struct {
    bool json;
    bool quiet;
    const char *layer;
    double gap_seconds;
    const char *output;
} options;

static const struct option_row rows[] = {
    {"layer", 0, OPTION_TEXT, &options.layer, "LAYER",
     "look at mpiio, posix or stdio (default: the highest that moved the bytes)"},
    {"gap", 0, OPTION_DURATION, &options.gap_seconds, "TIME",
     "without MPI: a pause this long parts phases (default 200ms)"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print one JSON object"},
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "say nothing about parts that cannot be read"},
    {0},
};

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static double bandwidth(uint64_t bytes, int64_t ns)
{
    return ns > 0 ? (double)bytes / seconds(ns) : 0;
}

// --- text

static void print_rank_list(FILE *out, const uint32_t *rank, size_t count)
{
    fputs("  ranks ", out);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && rank[end] == rank[end - 1] + 1;) end++;
        fprintf(out, i ? ",%" PRIu32 : "%" PRIu32, rank[i]);
        if (end - i > 1) fprintf(out, "-%" PRIu32, rank[end - 1]);
    }
}

static const char *offset_text(const struct model_row *row)
{
    const struct model_value *value = &row->item->at[AT_OFFSET];
    if (row->item->type == LOOPS_LIST) return row->mode;
    if (!row->kind->has_offset) return "-";
    if (row->item->logical.text) return row->item->logical.text;
    return value->text ? value->text : "(table)";
}

static void print_row_text(FILE *out, const char *label, const struct model_row *row)
{
    char operations[64];
    snprintf(operations, sizeof operations, "%zu %s%s", row->part->ranks, row->kind->collective ? "collective " : "",
             call_class_name(row->class));
    fprintf(out, "%-9s %-22s %-36s %6" PRIu64 " %10s %10s", label, operations, offset_text(row), row->rep,
            row->has_size ? human_bytes(model_row_size(row)).text : "varies", human_bytes(row->bytes).text);
}

// Phases of one family that follow each other are one block of lines.
static void print_block(FILE *out, const struct model *model, size_t first, size_t last, const struct model_row *row,
                        size_t row_count, const struct family_use *use, int64_t total_ns)
{
    const struct model_family *family = &model->family[model->phase[first].family];
    char label[48];
    int64_t duration_ns = 0;
    for (size_t i = first; i <= last; i++) duration_ns += model->phase[i].duration_ns;
    snprintf(label, sizeof label, first == last ? "%zu" : "%zu-%zu", first + 1, last + 1);
    for (size_t i = 0; i < row_count; i++) {
        print_row_text(out, i ? "" : label, &row[i]);
        if (!i) {
            double rate = bandwidth(family->weight * (last - first + 1), duration_ns);
            fprintf(out, " %10s %8s/s %7s", human_seconds(duration_ns).text, human_bytes((uint64_t)rate).text,
                    human_percent(total_ns > 0 ? (double)duration_ns / (double)total_ns : 0).text);
            fputs("  ", out);
            if (use->main_file != OP_NO_SET) human_print_name(out, model->file[use->main_file].set->pattern);
            if (use->files.files > 1) fprintf(out, " (%" PRIu64 " files)", use->files.files);
        }
        if (row[i].part->ranks < model->program[family->program].np && (!i || row[i].part != row[i - 1].part)) {
            print_rank_list(out, row[i].part->rank, row[i].part->ranks);
        }
        fputc('\n', out);
    }
    if (row_count) return;
    fprintf(out, "%-9s %zu without transfers\n", label, use->ranks);
}

static void print_periods(FILE *out, const struct model *model)
{
    for (size_t i = 0; i < model->families; i++) {
        const struct model_family *family = &model->family[i];
        if (!family->has_period) continue;
        size_t first = 0;
        while (model->phase[first].family != i) first++;
        fprintf(out, "\nPhase %zu repeats %" PRIu32 " times, every %s (variation %s)\n", first + 1, family->count,
                human_seconds(family->period_ns).text, human_percent(family->irregularity).text);
    }
}

static void print_unphased(FILE *out, uint64_t bytes, const char *why)
{
    if (bytes) fprintf(out, "\n%s in no phase: %s\n", human_bytes(bytes).text, why);
}

// --- the verb

struct printing {
    const struct model *model;
    FILE *out;
    int64_t total_ns;
};

static int print_phases(const struct printing *p)
{
    const struct model *model = p->model;
    for (size_t first = 0, end; first < model->phases; first = end) {
        const struct model_family *family = &model->family[model->phase[first].family];
        struct model_row *row;
        size_t row_count;
        struct family_use use;
        end = phases_family_end(model, first);
        FORWARD(model_rows(model, family, &row, &row_count));
        int code = family_use_init(&use, model, family, row, row_count);
        if (!code) print_block(p->out, model, first, end - 1, row, row_count, &use, p->total_ns);
        family_use_free(&use);
        free(row);
        FORWARD(code);
    }
    return 0;
}

static int print_json(const struct model *model, struct output *output)
{
    struct json_out *json = json_out_begin(output->out, 4);
    RETURN_IF(!json, -ENOMEM);
    int code = phases_json(model, json, SIZE_MAX);
    output->error = json_out_end(json);
    return code;
}

static void print_rule(FILE *out, const struct model *model)
{
    bool has_mpi = false, has_others = false;
    for (size_t i = 0; i < model->programs; i++) {
        if (model->program[i].first == model->program[i].end) continue;
        has_mpi = has_mpi || model->program[i].is_mpi;
        has_others = has_others || !model->program[i].is_mpi;
    }
    if (has_others) {
        fprintf(
            out,
            "\n%s: phases are parted by changes of the pattern and by pauses of %s and more, not by communication\n",
            has_mpi ? "Processes without MPI" : "Without MPI", human_seconds(model->gap_ns).text);
    }
}

static int print_text(struct printing *p)
{
    fprintf(p->out, "%-9s %-22s %-36s %6s %10s %10s %10s %10s %7s  %s\n", "PHASE", "OPERATIONS", "INITIAL OFFSET",
            "REP", "REQUEST", "WEIGHT", "TIME", "BANDWIDTH", "SHARE", "FILE");
    FORWARD(print_phases(p));
    print_periods(p->out, p->model);
    print_rule(p->out, p->model);
    print_unphased(p->out, p->model->unphased_launchers, "moved by the launcher");
    print_unphased(p->out, p->model->unphased_unnamed, "from or to no file");
    print_unphased(p->out, p->model->unphased_untraced, "the trace ended before them");
    return 0;
}

static int print_model(const struct model *model, struct output *output)
{
    if (options.json) return print_json(model, output);
    struct printing p = {.model = model, .out = output->out};
    for (size_t i = 0; i < model->phases; i++) p.total_ns += model->phase[i].duration_ns;
    return print_text(&p);
}

static int phases_run(int argc, char **argv)
{
    struct model_options how;
    struct model_argument argument;
    struct output output;
    if (argc < 2) return cli_usage("phases", "LOG or MODEL", "is missing");
    if (argc > 2) return cli_usage("phases", argv[2], "one LOG or MODEL is enough");
    int status = model_argument_options(&how, "phases", options.layer, options.gap_seconds);
    if (status == STATUS_OK) status = model_argument_open(&argument, "phases", argv[1], &how);
    if (status != STATUS_OK) return status;
    status = model_argument_output(&argument, &output, options.output);
    if (status == STATUS_OK) {
        int code = print_model(&argument.model, &output);
        bool failed = code < 0 && !output.error;
        if (failed) cli_fail("phases", argv[1], code);
        status = output_close(&output, failed);
        if (status == STATUS_OK && !options.quiet) model_argument_warn(&argument);
    }
    model_argument_close(&argument);
    return status;
}

const struct verb verb_phases = {
    .name = "phases",
    .summary = "print the program's I/O phases",
    .usage = "[OPTION]... LOG|MODEL",
    .about =
        "Prints the phases of the program's I/O: which processes do which operations, how often, where each\n"
        "begins (as an expression of the rank idP, the request size rs, the number of processes np and the number\n"
        "ph of a phase among those that repeat), how many bytes they move, and how long that took.",
    .options = rows,
    .run = phases_run,
};
