// `ioseer diff`: what changed from one log or model to another, phase by phase.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "model/compare/diff.h"
#include "model/compare/limit.h"

static struct {
    bool json;
    bool quiet;
    const char *layer;
    double gap_seconds;
    const char *output;
    struct option_list limits;
} options;

static const struct option_row rows[] = {
    {"fail-if", 0, OPTION_LIST, &options.limits, "LIMIT",
     "exit with 1 where it holds, such as 'time>+10%'; may be given several times"},
    {"layer", 0, OPTION_TEXT, &options.layer, "LAYER",
     "of logs: look at mpiio, posix or stdio (default: the highest that moved the bytes)"},
    {"gap", 0, OPTION_DURATION, &options.gap_seconds, "TIME",
     "of logs without MPI: a pause this long parts phases (default 200ms)"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print one JSON object"},
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "say nothing about parts that cannot be read"},
    {0},
};

struct comparison {
    struct diff diff;
    struct diff_values total[2];
    struct diff_limit *limit;
    struct diff_finding *finding;
    size_t limits;
};

// --- JSON

static void key_id(struct json_out *json, const char *key, uint32_t place)
{
    json_key(json, key);
    if (place == DIFF_NONE)
        json_null(json);
    else
        json_unsigned(json, (uint64_t)place + 1);
}

static void key_pair(struct json_out *json, enum diff_quantity quantity, const struct diff_values *a,
                     const struct diff_values *b)
{
    const struct diff_values *values[] = {a, b};
    for (unsigned side = 0; side < 2; side++) {
        char key[32];
        snprintf(key, sizeof key, "%s_%c", diff_quantity_name(quantity), 'a' + (int)side);
        json_key(json, key);
        if (values[side])
            json_double(json, values[side]->of[quantity]);
        else
            json_null(json);
    }
}

static void print_note_json(struct json_out *json, const struct diff_note *note)
{
    json_object(json);
    key_text(json, "what", note->what);
    key_text(json, "op", note->op);
    for (unsigned side = 0; side < 2; side++) {
        json_key(json, side ? "b" : "a");
        if (note->unit == DIFF_COUNT || note->unit == DIFF_BYTES)
            json_signed(json, side ? note->b : note->a);
        else
            json_text(json, side ? note->b_text : note->a_text);
    }
    json_close(json);
}

static void print_row_json(struct json_out *json, const struct diff *diff, const struct diff_row *row)
{
    struct diff_values a = diff_phase_values(diff->a, &diff->in_a, row->a),
                       b = diff_phase_values(diff->b, &diff->in_b, row->b);
    const struct diff_values *in_a = row->a == DIFF_NONE ? NULL : &a, *in_b = row->b == DIFF_NONE ? NULL : &b;
    json_object(json);
    key_id(json, "a", row->a);
    key_id(json, "b", row->b);
    key_text(json, "change", diff_change_name(row->change));
    json_key(json, "differences");
    json_array(json);
    for (size_t i = 0; i < row->notes; i++) print_note_json(json, &row->note[i]);
    json_close(json);
    for (unsigned q = QUANTITY_TIME; q < QUANTITY_PHASES; q++) key_pair(json, q, in_a, in_b);
    json_close(json);
}

static void print_program_json(struct json_out *json, const struct diff *diff, const struct diff_program *pair)
{
    const struct model_program *side[] = {pair->a == DIFF_NONE ? NULL : &diff->a->program[pair->a],
                                          pair->b == DIFF_NONE ? NULL : &diff->b->program[pair->b]};
    static const char *const keys[][4] = {{"a", "name_a", "np_a", "mpi_a"}, {"b", "name_b", "np_b", "mpi_b"}};
    json_object(json);
    for (unsigned i = 0; i < 2; i++) {
        json_key(json, keys[i][0]);
        if (side[i])
            json_unsigned(json, i ? pair->b : pair->a);
        else
            json_null(json);
        key_text(json, keys[i][1], side[i] ? side[i]->name : NULL);
        json_key(json, keys[i][2]);
        if (side[i])
            json_unsigned(json, side[i]->np);
        else
            json_null(json);
        json_key(json, keys[i][3]);
        if (side[i])
            json_bool(json, side[i]->is_mpi);
        else
            json_null(json);
    }
    json_close(json);
}

static void print_finding_json(struct json_out *json, const struct comparison *c, size_t i)
{
    const struct diff_finding *finding = &c->finding[i];
    const struct diff_row *row = finding->row == DIFF_NONE ? NULL : &c->diff.row[finding->row];
    bool has_values = finding->condition->quantity != QUANTITY_STRUCTURE;
    json_object(json);
    key_text(json, "limit", c->limit[i].text);
    key_id(json, "phase_a", row ? row->a : DIFF_NONE);
    key_id(json, "phase_b", row ? row->b : DIFF_NONE);
    key_double(json, "a", has_values ? finding->a : NAN);
    key_double(json, "b", has_values ? finding->b : NAN);
    json_close(json);
}

static void begin_list(struct json_out *json, const char *key)
{
    json_key(json, key);
    json_array(json);
}

static int print_json(const struct comparison *c, struct output *output)
{
    const struct diff *diff = &c->diff;
    struct json_out *json = json_out_begin(output->out, 3);
    RETURN_IF(!json, -ENOMEM);
    json_object(json);
    key_bool(json, "equal", diff->equal);
    begin_list(json, "programs");
    for (size_t i = 0; i < diff->programs; i++) print_program_json(json, diff, &diff->program[i]);
    json_close(json);
    begin_list(json, "phases");
    for (size_t i = 0; i < diff->rows; i++) print_row_json(json, diff, &diff->row[i]);
    json_close(json);
    json_key(json, "total");
    json_object(json);
    for (unsigned q = QUANTITY_TIME; q < QUANTITY_COUNT; q++) key_pair(json, q, &c->total[0], &c->total[1]);
    json_close(json);
    begin_list(json, "failed");
    for (size_t i = 0; i < c->limits; i++) {
        if (c->finding[i].holds) print_finding_json(json, c, i);
    }
    json_close(json);
    json_close(json);
    output->error = json_out_end(json);
    return 0;
}

// --- text

static struct human human_change(double a, double b)
{
    struct human words = {"-"};
    double percent = diff_percent(a, b);
    if (!isfinite(percent)) return words;
    if (percent < 900)
        snprintf(words.text, sizeof words.text, "%+.1f %%", percent);
    else
        snprintf(words.text, sizeof words.text, "x %.0f", b / a);
    return words;
}

static struct human human_quantity(enum diff_quantity quantity, double value)
{
    struct human words = {"-"};
    if (isnan(value)) return words;
    if (quantity == QUANTITY_TIME || quantity == QUANTITY_OTHER) return human_seconds((int64_t)llround(value * 1e9));
    if (quantity == QUANTITY_WEIGHT) return human_bytes((uint64_t)value);
    if (quantity == QUANTITY_BANDWIDTH) {
        snprintf(words.text, sizeof words.text, "%.80s/s", human_bytes((uint64_t)value).text);
        return words;
    }
    return human_count((uint64_t)value, "");
}

static void print_note_value(FILE *out, const struct diff_note *note, bool in_b)
{
    int64_t value = in_b ? note->b : note->a;
    const char *text = in_b ? note->b_text : note->a_text;
    if (note->unit == DIFF_COUNT) {
        fprintf(out, "%" PRId64, value);
    } else if (note->unit == DIFF_TEXT) {
        fputs(text ? text : "none", out);
    } else if (value < 0) {
        fprintf(out, "-%s", human_bytes((uint64_t)-value).text);
    } else {
        fputs(human_bytes((uint64_t)value).text, out);
    }
}

static void print_notes(FILE *out, const struct diff_row *row)
{
    for (size_t i = 0; i < row->notes; i++) {
        const struct diff_note *note = &row->note[i];
        fputs(i ? ", " : "  ", out);
        if (note->op) fprintf(out, "%s ", note->op);
        fputs(note->what, out);
        if (note->unit == DIFF_NO_VALUES) continue;
        fputc(' ', out);
        print_note_value(out, note, false);
        fputs(" -> ", out);
        print_note_value(out, note, true);
    }
    fputc('\n', out);
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same_notes(const struct diff_row *x, const struct diff_row *y)
{
    if (x->notes != y->notes) return false;
    for (size_t i = 0; i < x->notes; i++) {
        const struct diff_note *p = &x->note[i], *q = &y->note[i];
        if (strcmp(p->what, q->what) || !same_text(p->op, q->op) || p->unit != q->unit || p->a != q->a ||
            p->b != q->b || !same_text(p->a_text, q->a_text) || !same_text(p->b_text, q->b_text)) {
            return false;
        }
    }
    return true;
}

static bool follows(const struct model *model, uint32_t phase, uint32_t next)
{
    if (phase == DIFF_NONE || next == DIFF_NONE) return phase == next;
    return next == phase + 1 && model->phase[phase].family == model->phase[next].family;
}

// Rows of one family on either side that say the same are one line.
static size_t block_end(const struct diff *diff, size_t first)
{
    size_t end = first + 1;
    for (; end < diff->rows; end++) {
        const struct diff_row *row = &diff->row[end - 1], *next = &diff->row[end];
        if (!follows(diff->a, row->a, next->a) || !follows(diff->b, row->b, next->b) || row->change != next->change ||
            !same_notes(row, next)) {
            break;
        }
    }
    return end;
}

static struct human human_range(uint32_t first, uint32_t last)
{
    struct human words = {"-"};
    if (first == DIFF_NONE) return words;
    if (first == last)
        snprintf(words.text, sizeof words.text, "%" PRIu32, first + 1);
    else
        snprintf(words.text, sizeof words.text, "%" PRIu32 "-%" PRIu32, first + 1, last + 1);
    return words;
}

static const char *operations_of(const struct phase_digest *phase)
{
    bool reads = phase->look.classes & 1u << CLASS_READ, writes = phase->look.classes & 1u << CLASS_WRITE;
    return reads && writes ? "read, write" : reads ? "read" : writes ? "write" : "no transfers";
}

static void print_block(FILE *out, const struct diff *diff, size_t first, size_t end)
{
    const struct diff_row *row = &diff->row[first], *last = &diff->row[end - 1];
    const struct phase_digest *phase = row->a != DIFF_NONE ? &diff->in_a.phase[row->a] : &diff->in_b.phase[row->b];
    double sum[2][QUANTITY_COUNT] = {{0}};
    for (size_t i = first; i < end; i++) {
        struct diff_values a = diff_phase_values(diff->a, &diff->in_a, diff->row[i].a),
                           b = diff_phase_values(diff->b, &diff->in_b, diff->row[i].b);
        for (unsigned q = 0; q < QUANTITY_COUNT; q++) {
            sum[0][q] += a.of[q];
            sum[1][q] += b.of[q];
        }
    }
    fprintf(out, "%-9s %-9s %-8s %-12s", human_range(row->a, last->a).text, human_range(row->b, last->b).text,
            diff_change_name(row->change), operations_of(phase));
    for (unsigned q = QUANTITY_TIME; q <= QUANTITY_WEIGHT; q++) {
        if (q == QUANTITY_OTHER) continue;
        for (unsigned side = 0; side < 2; side++) {
            bool missing = (side ? row->b : row->a) == DIFF_NONE;
            fprintf(out, " %10s", missing ? "-" : human_quantity(q, sum[side][q]).text);
        }
        bool is_last = q == QUANTITY_WEIGHT && !row->notes;
        bool same = sum[0][q] == sum[1][q];
        if (!same || !is_last) fprintf(out, " %9s", same ? "" : human_change(sum[0][q], sum[1][q]).text);
    }
    print_notes(out, row);
}

static void print_summary(FILE *out, const struct comparison *c)
{
    const struct diff *diff = &c->diff;
    size_t count[DIFF_REMOVED + 1] = {0};
    for (size_t i = 0; i < diff->rows; i++) count[diff->row[i].change]++;
    if (diff->equal) {
        fputs("Equal structures; ", out);
    } else {
        fputs("Different structures", out);
        unsigned parts = 0;
        for (unsigned change = DIFF_SAME; change <= DIFF_REMOVED; change++) {
            if (!count[change]) continue;
            fprintf(out, "%s%s %s", parts++ ? ", " : ": ", human_count(count[change], "phase").text,
                    change == DIFF_NP ? "the same but for the number of processes" : diff_change_name(change));
        }
        fputs("; ", out);
    }
    double a = c->total[0].of[QUANTITY_TIME], b = c->total[1].of[QUANTITY_TIME];
    if (isnan(a) || isnan(b)) {
        fputs("a model without times was given\n", out);
        return;
    }
    fprintf(out, "I/O took %s in A and %s in B (%s)\n", human_quantity(QUANTITY_TIME, a).text,
            human_quantity(QUANTITY_TIME, b).text, human_change(a, b).text);
}

static void print_text(const struct comparison *c, FILE *out)
{
    fprintf(out, "%-9s %-9s %-8s %-12s %10s %10s %9s %10s %10s %9s  %s\n", "PHASE A", "PHASE B", "CHANGE", "OPERATIONS",
            "TIME A", "TIME B", "", "WEIGHT A", "WEIGHT B", "", "WHAT CHANGED");
    for (size_t first = 0, end; first < c->diff.rows; first = end) {
        end = block_end(&c->diff, first);
        print_block(out, &c->diff, first, end);
    }
    fputc('\n', out);
    print_summary(out, c);
}

// --- limits

static int parse_limits(struct comparison *c)
{
    c->limits = options.limits.count;
    c->limit = calloc(c->limits + 1, sizeof *c->limit);
    c->finding = calloc(c->limits + 1, sizeof *c->finding);
    if (!c->limit || !c->finding) return cli_fail("diff", "memory", -ENOMEM);
    for (size_t i = 0; i < c->limits; i++) {
        const char *why;
        if (diff_limit_parse(&c->limit[i], options.limits.item[i], &why)) {
            char what[128];
            snprintf(what, sizeof what, "--fail-if %.100s", options.limits.item[i]);
            return cli_usage("diff", what, why);
        }
    }
    return STATUS_OK;
}

static void print_finding(const struct comparison *c, size_t i)
{
    const struct diff_finding *finding = &c->finding[i];
    enum diff_quantity quantity = finding->condition->quantity;
    fprintf(stderr, "ioseer diff: %s: ", c->limit[i].text);
    if (quantity == QUANTITY_STRUCTURE) {
        fputs("the structures are different\n", stderr);
        return;
    }
    if (finding->row == DIFF_NONE) {
        fputs("in all", stderr);
    } else {
        const struct diff_row *row = &c->diff.row[finding->row];
        fprintf(stderr, "phase %s of A and %s of B", row->a == DIFF_NONE ? "none" : human_range(row->a, row->a).text,
                row->b == DIFF_NONE ? "none" : human_range(row->b, row->b).text);
    }
    fprintf(stderr, ": %s %s in A, %s in B (%s)", diff_quantity_name(quantity),
            human_quantity(quantity, finding->a).text, human_quantity(quantity, finding->b).text,
            human_change(finding->a, finding->b).text);
    if (finding->rows > 1) fprintf(stderr, "; so too %s", human_count(finding->rows - 1, "other phase").text);
    fputc('\n', stderr);
}

static int check_limits(const struct comparison *c)
{
    int status = STATUS_OK;
    for (size_t i = 0; i < c->limits; i++) {
        const struct diff_finding *finding = &c->finding[i];
        if (finding->unknown) fprintf(stderr, "ioseer diff: %s: a model without times was given\n", c->limit[i].text);
        if (finding->holds) print_finding(c, i);
        if (finding->unknown || finding->holds) status = STATUS_FAILURE;
    }
    return status;
}

// --- the verb

static int print(struct comparison *c, struct output *output)
{
    if (!options.json) {
        print_text(c, output->out);
        return output_close(output, false);
    }
    int code = print_json(c, output);
    if (code) cli_fail("diff", "cannot print", code);
    return output_close(output, code != 0);
}

static int compare(struct comparison *c, const struct model_argument *a, const struct model_argument *b)
{
    struct output output;
    struct diff *diff = &c->diff;
    int status = log_argument_spare(&a->log, options.output);
    if (status == STATUS_OK) status = model_argument_output(b, &output, options.output);
    if (status != STATUS_OK) return status;
    int code = diff_make(diff, &a->model, &b->model);
    if (code) {
        cli_fail("diff", b->log.path, code);
        return output_close(&output, true);
    }
    c->total[0] = diff_total(diff->a, &diff->in_a);
    c->total[1] = diff_total(diff->b, &diff->in_b);
    for (size_t i = 0; i < c->limits; i++) c->finding[i] = diff_limit_check(&c->limit[i], diff);
    status = print(c, &output);
    if (status == STATUS_OK) status = check_limits(c);
    diff_free(diff);
    return status;
}

static int open_and_compare(struct comparison *c, char **words, const struct model_options *how)
{
    struct model_argument a, b;
    int status = model_argument_open(&a, "diff", words[0], how);
    if (status != STATUS_OK) return status;
    status = model_argument_open(&b, "diff", words[1], how);
    if (status == STATUS_OK) {
        status = compare(c, &a, &b);
        if (status == STATUS_OK && !options.quiet) {
            model_argument_warn(&a);
            model_argument_warn(&b);
        }
        model_argument_close(&b);
    }
    model_argument_close(&a);
    return status;
}

static int diff_run(int argc, char **argv)
{
    if (argc < 3) return cli_usage("diff", argc < 2 ? "A" : "B", "is missing: two logs or models are compared");
    if (argc > 3) return cli_usage("diff", argv[3], "two logs or models are enough");
    struct model_options how;
    struct comparison c = {0};
    int status = model_argument_options(&how, "diff", options.layer, options.gap_seconds);
    if (status == STATUS_OK) status = parse_limits(&c);
    if (status == STATUS_OK) status = open_and_compare(&c, argv + 1, &how);
    free(c.limit);
    free(c.finding);
    return status;
}

const struct verb verb_diff = {
    .name = "diff",
    .summary = "compare two logs or models phase by phase",
    .usage = "[OPTION]... A B",
    .about =
        "Says whether two programs have the same I/O structure, and compares them phase by phase: what changed, how\n"
        "many bytes are moved, how long that took. Names of files, machines and times are no part of the structure.\n"
        "With --fail-if it can fail a build: time>+10%, phase.bandwidth<-20%, weight!=0%, structure.",
    .options = rows,
    .run = diff_run,
};
