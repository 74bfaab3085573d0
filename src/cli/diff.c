// `ioseer diff`: what changed from one log or model to another, phase by phase.
#include <errno.h>
#include <stdlib.h>

#include "cli/argument.h"
#include "cli/diff.h"
#include "cli/verb.h"

static struct {
    struct print_options print;
    struct model_choice model;
    struct option_list limits;
} options;

static const struct option_row rows[] = {
    {"fail-if", 0, OPTION_LIST, &options.limits, "LIMIT",
     "exit with status 1 if LIMIT holds, such as 'time>+10%' (repeatable)"},
    ROWS_MODEL(options.model),
    ROWS_PRINT(options.print),
    {0},
};

static enum status parse_limits(struct comparison *c) {
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

static enum status check_limits(const struct comparison *c) {
    enum status status = STATUS_OK;
    for (size_t i = 0; i < c->limits; i++) {
        const struct diff_finding *finding = &c->finding[i];
        if (finding->unknown) cli_warn("diff", "%s: one of the models has no times", c->limit[i].text);
        if (finding->holds) diff_print_finding(c, i);
        if (finding->unknown || finding->holds) status = STATUS_FAILURE;
    }
    return status;
}

static int print(const struct comparison *c, struct output *output) {
    if (!options.print.json) return diff_text(c, output->out);
    diff_json(c, output_json(output, 3));
    return 0;
}

static enum status compare(struct comparison *c, const struct argument *a, const struct argument *b) {
    struct output output;
    struct diff *diff = &c->diff;
    enum status status = argument_spare(a, options.print.output);
    if (status == STATUS_OK) status = argument_output(b, &output, options.print.output);
    if (status != STATUS_OK) return status;
    int code = diff_make(diff, &a->model, &b->model);
    if (code) {
        cli_fail("diff", b->path, code);
        return output_close(&output, true);
    }
    c->total[0] = diff_total(diff->a, &diff->in_a);
    c->total[1] = diff_total(diff->b, &diff->in_b);
    for (size_t i = 0; i < c->limits; i++) c->finding[i] = diff_limit_check(&c->limit[i], diff);
    status = output_end(&output, b->path, print(c, &output));
    if (status == STATUS_OK) status = check_limits(c);
    diff_free(diff);
    return status;
}

static enum status open_and_compare(struct comparison *c, char **words) {
    struct argument a, b;
    enum status status = argument_open_model(&a, "diff", words[0], &options.model);
    if (status != STATUS_OK) return status;
    status = argument_open_model(&b, "diff", words[1], &options.model);
    if (status == STATUS_OK) {
        status = compare(c, &a, &b);
        if (status == STATUS_OK && !options.print.quiet) {
            argument_warn(&a);
            argument_warn(&b);
        }
        argument_close(&b);
    }
    argument_close(&a);
    return status;
}

static enum status diff_run(int argc, char **argv) {
    if (argc < 3) return cli_usage("diff", argc < 2 ? "A" : "B", "is missing: diff compares two logs or models");
    if (argc > 3) return cli_usage("diff", argv[3], "unexpected argument: diff compares two logs or models");
    struct comparison c = {0};
    enum status status = parse_limits(&c);
    if (status == STATUS_OK) status = open_and_compare(&c, argv + 1);
    free(c.limit);
    free(c.finding);
    return status;
}

const struct verb verb_diff = {
    .name = "diff",
    .summary = "compare two logs or models phase by phase",
    .usage = "[OPTION]... A B",
    .about =
        "Tells whether two programs have the same I/O structure, and compares them phase by phase: what changed, how\n"
        "many bytes each phase moves, how long it takes. File names, machines and times are not part of the "
        "structure.\n"
        "Limits for --fail-if: time>+10%, phase.bandwidth<-20%, weight!=0%, structure.",
    .options = rows,
    .run = diff_run,
};
