// `ioseer phases`: the application's I/O phases as a table or as JSON.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/phases.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "model/file/keywords.h"
#include "model/model.h"

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

// --- ranks and files of a family

struct used {
    uint32_t *rank; // ascending
    size_t ranks;
    struct model_use use;
    uint32_t main_file; // the one with the most bytes; OP_NO_SET without
};

static int compare_ranks(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static int add_ranks(struct used *used, const struct model_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *more = realloc(used->rank, (used->ranks + parts[i].ranks) * sizeof *more);
        RETURN_IF(!more, -ENOMEM);
        used->rank = more;
        memcpy(more + used->ranks, parts[i].rank, parts[i].ranks * sizeof *more);
        used->ranks += parts[i].ranks;
    }
    if (used->ranks) qsort(used->rank, used->ranks, sizeof *used->rank, compare_ranks);
    size_t kept = 0;
    for (size_t i = 0; i < used->ranks; i++) {
        if (!kept || used->rank[kept - 1] != used->rank[i]) used->rank[kept++] = used->rank[i];
    }
    used->ranks = kept;
    return 0;
}

static int find_used(const struct model *model, const struct model_family *family, const struct model_row *row,
                     size_t row_count, struct used *used)
{
    *used = (struct used){.main_file = OP_NO_SET};
    FORWARD(family->parts ? add_ranks(used, family->part, family->parts)
                          : add_ranks(used, family->other, family->others));
    uint64_t most = 0;
    for (size_t i = 0; i < row_count; i++) {
        if (row[i].kind->set == OP_NO_SET || (row[i].bytes <= most && used->main_file != OP_NO_SET)) continue;
        most = row[i].bytes;
        used->main_file = row[i].kind->set;
    }
    return model_files_used(model, family, &used->use);
}

// --- JSON

static void key_value(struct json_out *json, const char *key, const struct model_value *value)
{
    key_text(json, key, value->text);
}

// Of one phase of the family: where no expression says it.
static void print_table(struct json_out *json, const struct model_row *row, const struct model_value *value,
                        uint32_t ph, size_t most)
{
    size_t place = model_place(row->part->ph, row->part->phs, ph);
    if (value->text || !value->table || place == SIZE_MAX) return;
    json_key(json, "offset_table");
    json_array(json);
    for (size_t i = 0; i < row->part->ranks && i < most; i++)
        json_signed(json, value->table[place * row->part->ranks + i]);
    json_close(json);
}

static void print_ranks(struct json_out *json, const uint32_t *rank, size_t count, size_t most)
{
    json_key(json, "ranks");
    json_array(json);
    for (size_t i = 0; i < count && i < most; i++) json_unsigned(json, rank[i]);
    json_close(json);
}

static void print_sizes(struct json_out *json, const struct model_row *row)
{
    json_key(json, "size");
    if (row->has_size)
        json_unsigned(json, row->size);
    else
        json_null(json);
    if (row->has_size || row->has_more || !row->item->at[AT_SIZE].text) return;
    key_value(json, "size_expr", &row->item->at[AT_SIZE]);
}

static void print_row(struct json_out *json, const struct model_row *row, const struct used *used, uint32_t ph,
                      size_t most)
{
    const struct model_item *item = row->item;
    bool is_op = item->type == LOOPS_OP;
    json_object(json);
    key_text(json, "op", call_class_name(row->class));
    key_text(json, "call", row->kind->call);
    if (row->part->ranks < used->ranks) print_ranks(json, row->part->rank, row->part->ranks, most);
    key_number(json, "rep", row->rep);
    print_sizes(json, row);
    json_key(json, "disp");
    if (row->has_disp)
        json_signed(json, row->disp);
    else
        json_null(json);
    key_text(json, "offset_expr", is_op && row->kind->has_offset ? item->at[AT_OFFSET].text : NULL);
    if (is_op) print_table(json, row, &item->at[AT_OFFSET], ph, most);
    key_text(json, "view_expr", is_op && row->kind->has_view ? item->at[AT_SECOND].text : NULL);
    key_value(json, "logical_expr", &item->logical);
    key_bool(json, "collective", row->kind->collective);
    key_number(json, "count", row->count);
    key_number(json, "bytes", row->bytes);
    key_bool(json, "blocking", !row->kind->nonblocking);
    key_text(json, "pointer", model_pointer_name(row->kind));
    key_text(json, "mode", row->mode);
    key_number(json, "alignment", row->bits & (0 - row->bits));
    key_signed(json, "low", row->low);
    key_signed(json, "high", row->high);
    key_number(json, "thread", row->part->thread);
    json_close(json);
}

static void print_others(struct json_out *json, const struct model *model, const struct model_family *family,
                         uint32_t ph)
{
    json_key(json, "others");
    json_object(json);
    uint64_t count[CLASS_COUNT] = {0};
    model_count_others(model, family, ph, count);
    for (unsigned class = CLASS_OPEN; class < CLASS_COUNT; class ++) {
        if (count[class]) key_number(json, call_class_name(class), count[class]);
    }
    if (count[CLASS_NONE]) key_number(json, "barrier", count[CLASS_NONE]);
    json_close(json);
}

static void print_phase(struct json_out *json, const struct model *model, size_t id, const struct model_row *row,
                        size_t row_count, const struct used *used, size_t most)
{
    const struct model_phase *phase = &model->phase[id];
    const struct model_family *family = &model->family[phase->family];
    json_object(json);
    key_number(json, "id", id + 1);
    key_text(json, "file", used->main_file == OP_NO_SET ? NULL : model->file[used->main_file].set->pattern);
    key_number(json, "files", used->use.files);
    key_text(json, "access", used->use.files ? used->use.shared ? "shared" : "unique" : NULL);
    key_number(json, "np", used->ranks);
    print_ranks(json, used->rank, used->ranks, most);
    json_key(json, "ops");
    json_array(json);
    for (size_t i = 0; i < row_count && i < most; i++) print_row(json, &row[i], used, phase->ph, most);
    json_close(json);
    print_others(json, model, family, phase->ph);
    key_number(json, "weight", family->weight);
    key_number(json, "tick", phase->tick);
    key_seconds(json, "start", phase->start_ns);
    key_seconds(json, "span", phase->span_ns);
    key_seconds(json, "duration", phase->duration_ns);
    json_key(json, "bandwidth");
    if (phase->duration_ns > 0)
        json_double(json, bandwidth(family->weight, phase->duration_ns));
    else
        json_null(json);
    json_key(json, "family");
    if (family->count > 1)
        json_unsigned(json, phase->family + 1);
    else
        json_null(json);
    key_number(json, "ph", phase->ph);
    key_text(json, "separator", model_cut_name(family->cut));
    key_number(json, "program", family->program);
    json_close(json);
}

static void print_family(struct json_out *json, const struct model *model, size_t id)
{
    const struct model_family *family = &model->family[id];
    json_object(json);
    key_number(json, "family", id + 1);
    key_number(json, "count", family->count);
    json_key(json, "period");
    if (family->has_period)
        json_seconds(json, family->period_ns);
    else
        json_null(json);
    json_key(json, "ticks");
    if (family->has_period) {
        json_unsigned(json, family->period_ticks);
    } else {
        json_null(json);
    }
    json_key(json, "irregularity");
    if (family->has_period)
        json_double(json, family->irregularity);
    else
        json_null(json);
    json_close(json);
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
                        size_t row_count, const struct used *used, int64_t total_ns)
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
            if (used->main_file != OP_NO_SET) human_print_name(out, model->file[used->main_file].set->pattern);
            if (used->use.files > 1) fprintf(out, " (%" PRIu64 " files)", used->use.files);
        }
        if (row[i].part->ranks < model->program[family->program].np && (!i || row[i].part != row[i - 1].part)) {
            print_rank_list(out, row[i].part->rank, row[i].part->ranks);
        }
        fputc('\n', out);
    }
    if (row_count) return;
    fprintf(out, "%-9s %zu without transfers\n", label, used->ranks);
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
    struct json_out *json;
    int64_t total_ns;
    size_t most; // members of any list in JSON
};

static int print_phases(const struct printing *p)
{
    const struct model *model = p->model;
    for (size_t first = 0, last; first < model->phases; first = last + 1) {
        const struct model_family *family = &model->family[model->phase[first].family];
        for (last = first; last + 1 < model->phases && model->phase[last + 1].family == model->phase[first].family;)
            last++;
        struct model_row *row;
        size_t row_count;
        struct used used;
        FORWARD(model_rows(model, family, &row, &row_count));
        int code = find_used(model, family, row, row_count, &used);
        for (size_t i = first; p->json && i <= last && i < p->most && !code; i++)
            print_phase(p->json, model, i, row, row_count, &used, p->most);
        if (!p->json && !code) print_block(p->out, model, first, last, row, row_count, &used, p->total_ns);
        free(used.rank);
        free(row);
        FORWARD(code);
    }
    return 0;
}

int phases_json(const struct model *model, struct json_out *json, size_t most)
{
    const struct printing printing = {.model = model, .json = json, .most = most}, *p = &printing;
    json_object(json);
    json_key(json, "phases");
    json_array(json);
    int code = print_phases(p);
    json_close(json);
    json_key(json, "families");
    json_array(json);
    for (size_t i = 0, shown = 0; i < p->model->families && shown < most; i++) {
        if (p->model->family[i].count < 2) continue;
        print_family(json, p->model, i);
        shown++;
    }
    json_close(json);
    key_seconds(json, "gap", p->model->gap_ns);
    key_number(json, "bytes", p->model->bytes);
    key_number(json, "unphased_bytes", p->model->unphased);
    json_key(json, "unphased");
    json_object(json);
    key_number(json, "launchers", p->model->unphased_launchers);
    key_number(json, "unnamed", p->model->unphased_unnamed);
    key_number(json, "untraced", p->model->unphased_untraced);
    json_close(json);
    json_close(json);
    return code;
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
