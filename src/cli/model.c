// `ioseer model`: a log's model as a MODEL file or as load for other tools, or every operation again.
#include <stdio.h>
#include <string.h>

#include "cli/expand.h"
#include "cli/model_argument.h"
#include "cli/verb.h"
#include "model/export/job.h"
#include "model/file/write.h"

static struct {
    struct print_options print;
    struct model_choice model;
    bool expand;
    uint64_t rank;
    const char *format;
} options = {.rank = UINT64_MAX};

static const struct option_row rows[] = {
    ROW_OUTPUT(&options.print.output),
    ROWS_MODEL(options.model),
    {"format", 0, OPTION_TEXT, &options.format, "FORMAT",
     "write a model (default), a job file for fio, or command lines for ior"},
    {"expand", 0, OPTION_FLAG, &options.expand, NULL, "print every operation that the model stands for instead"},
    {"rank", 0, OPTION_NUMBER, &options.rank, "RANK", "with --expand: only this process of each program"},
    {"json", 0, OPTION_FLAG, &options.print.json, NULL, "with --expand: print a JSON array (a model is JSON anyway)"},
    ROW_QUIET_LOG(&options.print.quiet),
    {0},
};

static const struct format {
    const char *name;
    int (*write)(const struct model *model, FILE *out);
} formats[] = {{"model", model_write}, {"fio", job_write_fio}, {"ior", job_write_ior}};

static const struct format *find_format(void)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!options.format || !strcmp(options.format, formats[i].name)) return &formats[i];
    }
    return NULL;
}

static int print(const struct model *model, struct output *output)
{
    if (!options.expand) return find_format()->write(model, output->out);
    return expand_print(model, options.print.json, options.rank, output);
}

static int model_run(int argc, char **argv)
{
    if (options.rank != UINT64_MAX && !options.expand) return cli_usage("model", "--rank", "is for --expand only");
    if (!find_format()) return cli_usage("model", options.format, "not model, fio or ior");
    if (options.expand && options.format) return cli_usage("model", "--format", "not with --expand");
    return model_argument_print("model", argc, argv, &options.print, &options.model, print);
}

const struct verb verb_model = {
    .name = "model",
    .summary = "write the model of a program's I/O",
    .usage = "[OPTION]... LOG|MODEL",
    .about = "Writes the model of the program's I/O as JSON: its phases, which say of every operation where and how\n"
             "large it is, free of any machine (structure), and what was seen of this run (observed).\n"
             "With --format it is written as load for fio or IOR, which says in comments what they cannot express.\n"
             "With --expand, every operation is printed again from the model alone.",
    .options = rows,
    .run = model_run,
};
