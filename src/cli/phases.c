// `ioseer phases`: the application's I/O phases as a table or as JSON.
#include <inttypes.h>

#include "base/err.h"
#include "base/table.h"
#include "cli/argument.h"
#include "cli/verb.h"
#include "log/log.h"
#include "report/phases_json.h"
#include "report/phases_note.h"
#include "summary/objects.h"

static struct {
    struct print_options print;
    struct model_choice model;
} options;

static const struct option_row rows[] = {
    {"layer", 0, OPTION_CHOICE, &options.model.layer, "mpiio|posix|stdio|hdf5|pnetcdf|netcdf",
     "use the calls of this layer; the phases of hdf5 and the like have objects and selections (default: the calls "
     "that "
     "the program itself made)"},
    ROW_GAP(&options.model.gap_seconds),
    ROW_STANDARD_STREAMS(&options.model.standard_streams),
    ROWS_PRINT(options.print),
    {0},
};

static void add_ranks(struct table *table, const uint32_t *rank, size_t count) {
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && rank[end] == rank[end - 1] + 1;) end++;
        table_append(table, "%s%" PRIu32, i ? "," : count > 1 ? "ranks " : "rank ", rank[i]);
        if (end - i > 1) table_append(table, "-%" PRIu32, rank[end - 1]);
    }
}

static const char *offset_text(const struct op_summary *row) {
    const struct model_value *value = &row->item->at[AT_OFFSET];
    if (!row->moves) return "-";
    if (row->item->type == LOOPS_LIST) return row->mode;
    if (!row->kind->has_offset) return "-";
    if (row->item->logical.text) return row->item->logical.text;
    return value->text ? value->text : "(table)";
}

// Of a layer above MPI-IO: what of its object an operation selects, and where.
static int add_selection(struct table *table, const struct op_summary *row, const struct phase_run *run) {
    struct selection_place place;
    int code = model_place_selection(run->model, run->family, row, &place);
    const struct log_selection *selection = place.selection;
    bool is_named = row->kind->set == run->op->kind->set; // in the first line
    const char *object = is_named ? NULL : model_set_object(run->model, row->kind->set);
    table_printf(table, "%s%s", object ? object : "", object ? ": " : "");
    table_append(table, "%s", selection ? objects_text_shape(selection).text : "-");
    for (unsigned i = 0; place.start && i < selection->rank; i++)
        table_append(table, "%s%s", i ? ", " : " at ", place.start[i]);
    for (unsigned i = 0; place.step && i < selection->rank; i++)
        table_append(table, "%s%" PRId64, i ? "," : " step ", place.step[i]);
    if (selection && selection->kind == SELECTION_REGULAR && !place.start)
        table_append(table, " at %s places", row->mode);
    selection_place_free(&place);
    return code;
}

// The weight is that of all phases of the run, as is its time; `rep` and size are those of one.
static int add_row(struct table *table, const struct op_summary *row, const struct phase_run *run) {
    size_t phases = run->end - run->first;
    table_printf(table, "%zu %s%s", row->part->ranks, row->kind->collective ? "collective " : "", row->name);
    if (call_layer_is_above(run->model->layer))
        FORWARD(add_selection(table, row, run));
    else
        table_text(table, offset_text(row));
    table_count(table, row->rep);
    table_text(table, !row->moves ? NULL : row->has_size ? human_bytes(op_summary_size(row)).text : "varies");
    table_text(table, row->moves ? human_bytes(row->bytes * phases).text : NULL);
    return 0;
}

// Prints time, bandwidth, share and file, which are in the first line of a run. Returns whether it named a file.
static bool add_totals(struct table *table, const struct phase_run *run, int64_t all_ns) {
    uint64_t phases = run->end - run->first, weight = run->family->weight * phases;
    double seconds = (double)run->ns / 1e9;
    table_duration(table, run->ns);
    if (run->moves)
        table_bandwidth(table, seconds > 0 ? (double)weight / seconds : 0);
    else if (run->ns <= 0)
        table_text(table, NULL);
    else
        table_printf(table, "%s /s", human_count((uint64_t)((double)(run->names * phases) / seconds + 0.5), "").text);
    table_percent(table, all_ns > 0 ? (double)run->ns / (double)all_ns : 0);
    table_text(table, run->name ? run->name : "");
    if (run->object) table_append(table, ":%s", run->object);
    if (run->files.objects > 1) table_append(table, " (%s)", human_count(run->files.objects, "object").text);
    if (run->files.files > 1) table_append(table, " (%s)", human_count(run->files.files, "file").text);
    uint32_t at_once = 0;
    model_count_turns(run->model, run->family, run->model->phase[run->first].ph, &at_once);
    if (at_once) table_append(table, ", %" PRIu32 " at a time", at_once);
    if (run->other_ns > run->ns) table_append(table, ", other calls %s", human_seconds(run->other_ns).text);
    return run->name;
}

static int add_run(struct table *table, const struct phase_run *run, int64_t all_ns) {
    const struct op_summary *row = run->op;
    uint32_t np = run->model->program[run->family->program].np;
    for (size_t i = 0; i < run->ops || !i; i++) {
        table_printf(table, i ? "" : "%zu", run->first + 1);
        if (!i && run->end - run->first > 1) table_append(table, "-%zu", run->end);
        if (!run->ops) {
            table_printf(table, "%zu without transfers", run->ranks);
            table_row(table);
            return 0;
        }
        FORWARD(add_row(table, &row[i], run));
        bool is_named = !i && add_totals(table, run, all_ns);
        if (row[i].part->ranks < np && (!i || row[i].part != row[i - 1].part)) {
            for (unsigned empty = i ? 4 : 0; empty; empty--) table_text(table, "");
            if (is_named) table_append(table, "  ");
            add_ranks(table, row[i].part->rank, row[i].part->ranks);
        }
        table_row(table);
    }
    return 0;
}

static int add_phases(struct table *table, const struct model *model) {
    struct phase_run run = {.model = model};
    int64_t all_ns = 0;
    int code = 0;
    for (size_t i = 0; i < model->phases; i++) all_ns += model->phase[i].duration_ns;
    while (code == 0 && (code = phase_run_next(&run)) > 0) code = add_run(table, &run, all_ns);
    phase_run_free(&run);
    return code;
}

static void print_periods(FILE *out, const struct model *model) {
    for (size_t i = 0; i < model->families; i++) {
        const struct model_family *family = &model->family[i];
        if (!family->has_period) continue;
        size_t first = 0;
        while (model->phase[first].family != i) first++;
        fprintf(out, "\nPhase %zu repeats %" PRIu32 " times, every %s (variation %s)\n", first + 1, family->count,
                human_seconds(family->period_ns).text, human_percent(family->irregularity).text);
    }
}

static void print_unphased(FILE *out, uint64_t bytes, const char *why) {
    if (bytes) fprintf(out, "\n%s in no phase: %s\n", human_bytes(bytes).text, why);
}

static void print_rule(FILE *out, const struct model *model) {
    bool has_mpi = false, has_others = false;
    for (size_t i = 0; i < model->programs; i++) {
        if (model->program[i].first == model->program[i].end) continue;
        has_mpi = has_mpi || model->program[i].is_mpi;
        has_others = has_others || !model->program[i].is_mpi;
    }
    if (has_others) {
        fprintf(out, "\n%s: pattern changes and pauses of at least %s separate phases; communication does not\n",
                has_mpi ? "Processes without MPI" : "Without MPI", human_seconds(model->gap_ns).text);
    }
}

static int print_text(const struct model *model, FILE *out) {
    bool is_above = call_layer_is_above(model->layer);
    const struct table_column columns[] = {{"PHASE", TABLE_TEXT},
                                           {"OPERATIONS", TABLE_TEXT},
                                           {is_above ? "SELECTION" : "INITIAL OFFSET", TABLE_TEXT},
                                           {"REP", TABLE_NUMBER},
                                           {"REQUEST", TABLE_UNIT},
                                           {"WEIGHT", TABLE_UNIT},
                                           {"TIME", TABLE_UNIT},
                                           {"BANDWIDTH", TABLE_UNIT},
                                           {"SHARE", TABLE_UNIT},
                                           {is_above ? "OBJECT" : "FILE", TABLE_NAME},
                                           {0}};
    struct table table = table_begin(out, columns);
    int code = add_phases(&table, model), ended = table_end(&table);
    FORWARD(code < 0 ? code : ended);
    if (model->phases) fputc('\n', out);
    FORWARD(phases_note(model, out, ""));
    print_periods(out, model);
    print_rule(out, model);
    print_unphased(out, model->unphased_launchers, "moved by the launcher");
    print_unphased(out, model->unphased_inherited,
                   "in files that were open before the job began, such as its standard output (--standard-streams)");
    print_unphased(out, model->unphased_unnamed, "in files without a name");
    print_unphased(out, model->unphased_untraced, "not in the trace");
    return 0;
}

static int print(const struct argument *argument, struct output *output) {
    const struct model *model = &argument->model;
    return options.print.json ? phases_json(model, output_json(output, 4), SIZE_MAX) : print_text(model, output->out);
}

static enum status phases_run(int argc, char **argv) {
    return argument_print("phases", argc, argv, &options.print, &options.model, print);
}

const struct verb verb_phases = {
    .name = "phases",
    .summary = "print the program's I/O phases",
    .usage = "[OPTION]... LOG|MODEL",
    .about =
        "Prints the phases of the program's I/O: which processes do which operations, how often, at which offset, how\n"
        "many bytes they move, and how long that takes. An offset is an expression of the rank idP, the request size\n"
        "rs, the number of processes np and the number ph of a phase among those that repeat.",
    .options = rows,
    .run = phases_run,
};
