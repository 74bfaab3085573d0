#include "cli/model_argument.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/human.h"
#include "cli/verb.h"
#include "model/file/read.h"

enum status model_argument_options(struct model_options *options, const char *verb, const struct model_choice *rows)
{
    int layer = rows->layer ? call_layer_find(rows->layer) : LAYER_NONE;
    if (layer < 0) return cli_usage(verb, rows->layer, "not a layer: mpiio, posix or stdio");
    *options = (struct model_options){.layer = (unsigned)layer, .gap_ns = (int64_t)(rows->gap_seconds * 1e9)};
    return STATUS_OK;
}

// JSON begins with a brace, and no log does.
static bool is_model(const char *path)
{
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return false;
    FILE *file = fopen(path, "re");
    if (!file) return false;
    int first = fgetc(file);
    while (first == ' ' || first == '\n' || first == '\r' || first == '\t') first = fgetc(file);
    fclose(file);
    return first == '{';
}

static enum status open_model(struct model_argument *argument, const char *verb, const char *path)
{
    struct json_in_error error;
    argument->log = (struct log_argument){.verb = verb, .path = path};
    int code = model_read(&argument->model, path, &error);
    return code == 0 ? STATUS_OK : cli_fail_json(verb, path, code, &error);
}

enum status model_argument_open(struct model_argument *argument, const char *verb, char *word,
                                const struct model_options *options)
{
    char *words[] = {(char *)verb, word, NULL};
    *argument = (struct model_argument){0};
    if (is_model(word)) return open_model(argument, verb, word);
    enum status status = log_argument_open(&argument->log, verb, 2, words);
    if (status != STATUS_OK) return status;
    int code = model_from_log(&argument->model, argument->log.log, options);
    if (code == 0) return STATUS_OK;
    log_argument_close(&argument->log);
    return cli_fail(verb, word, code);
}

void model_argument_close(struct model_argument *argument)
{
    model_free(&argument->model);
    if (argument->log.log) log_argument_close(&argument->log);
}

enum status model_argument_output(const struct model_argument *argument, struct output *output, const char *path)
{
    return log_argument_output(&argument->log, output, path);
}

void model_argument_warn(const struct model_argument *argument)
{
    if (argument->log.log) log_argument_warn(&argument->log);
}

void model_argument_print_program(FILE *out, const struct model *model, uint32_t program, const char *done)
{
    const struct model_program *chosen = &model->program[program];
    const char *name = chosen->name ? chosen->name : "one of them", *base = strrchr(name, '/');
    if (model->programs < 2) return;
    fprintf(out, "Of %s in the log, ", human_count(model->programs, "program").text);
    human_print_name(out, base ? base + 1 : name);
    if (chosen->end - chosen->first == 1)
        fprintf(out, " (phase %zu)", chosen->end);
    else
        fprintf(out, " (phases %zu-%zu)", chosen->first + 1, chosen->end);
    fprintf(out, " moved the most bytes and is %s.\n\n", done);
}

enum status model_argument_print(const char *verb, int argc, char **argv, const struct print_options *options,
                                 const struct model_choice *rows,
                                 int (*print)(const struct model *model, struct output *output))
{
    struct model_options how;
    struct model_argument argument;
    struct output output;
    if (argc < 2) return cli_usage(verb, "LOG or MODEL", "is missing");
    if (argc > 2) return cli_usage(verb, argv[2], "one LOG or MODEL is enough");
    enum status status = model_argument_options(&how, verb, rows);
    if (status == STATUS_OK) status = model_argument_open(&argument, verb, argv[1], &how);
    if (status != STATUS_OK) return status;
    status = model_argument_output(&argument, &output, options->output);
    if (status == STATUS_OK) {
        status = output_end(&output, argv[1], print(&argument.model, &output));
        if (status == STATUS_OK && !options->quiet) model_argument_warn(&argument);
    }
    model_argument_close(&argument);
    return status;
}
