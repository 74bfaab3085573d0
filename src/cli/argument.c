#include "cli/argument.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/human.h"
#include "log/describe.h"
#include "log/import.h"
#include "model/file/read.h"
#include "pack/pack.h"

enum status argument_open_log(struct argument *argument, const char *verb, const char *word) {
    struct problem problem = {0};
    *argument = (struct argument){.verb = verb, .path = word};
    signal(SIGXFSZ, SIG_IGN); // packing a directory may exceed the file size limit, which must be an error
    int code = pack_open_log(&argument->log, word, &argument->is_directory, &problem);
    return code < 0 ? cli_problem(verb, word, &problem, code) : STATUS_OK;
}

// JSON begins with a brace, and no log does.
static bool is_model(const char *path) {
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return false;
    FILE *file = fopen(path, "re");
    if (!file) return false;
    int first = fgetc(file);
    while (first == ' ' || first == '\n' || first == '\r' || first == '\t') first = fgetc(file);
    fclose(file);
    return first == '{';
}

static enum status read_model(struct argument *argument, const char *verb, const char *path) {
    struct json_in_error error;
    *argument = (struct argument){.verb = verb, .path = path};
    int code = model_read(&argument->model, path, &error);
    return code == 0 ? STATUS_OK : cli_fail_json(verb, path, code, &error);
}

enum status argument_open_model(struct argument *argument, const char *verb, const char *word,
                                const struct model_choice *choice) {
    struct model_options options = {0};
    int layer = choice && choice->layer ? call_layer_find(choice->layer) : LAYER_NONE;
    if (choice)
        options = (struct model_options){.layer = (unsigned)layer,
                                         .gap_ns = (int64_t)(choice->gap_seconds * 1e9),
                                         .standard_streams = choice->standard_streams};
    if (is_model(word)) return read_model(argument, verb, word);
    enum status status = argument_open_log(argument, verb, word);
    if (status != STATUS_OK) return status;
    if (log_import(argument->log) && !log_has_trace(argument->log)) {
        struct problem problem = {0};
        log_close(argument->log);
        problem_set(&problem, ERR_NOTHING, word, "no trace in a Darshan log without DXT: it has counters only");
        return cli_problem(verb, word, &problem, ERR_NOTHING);
    }
    int code = model_from_log(&argument->model, argument->log, &options);
    if (code == 0) return STATUS_OK;
    log_close(argument->log);
    return cli_fail(verb, word, code);
}

void argument_close(struct argument *argument) {
    model_free(&argument->model);
    log_close(argument->log);
}

enum status argument_count(const char *verb, const char *what, int argc, char **argv) {
    char enough[64];
    if (argc < 2) return cli_usage(verb, what, "is missing");
    snprintf(enough, sizeof enough, "unexpected argument: give only one %s", what);
    return argc > 2 ? cli_usage(verb, argv[2], enough) : STATUS_OK;
}

enum status argument_spare(const struct argument *argument, const char *path) {
    struct stat log, there;
    if (path && stat(argument->path, &log) == 0 && stat(path, &there) == 0 && log.st_dev == there.st_dev &&
        log.st_ino == there.st_ino) {
        return cli_usage(argument->verb, path, "is LOG itself; choose another name for the output");
    }
    return STATUS_OK;
}

enum status argument_output(const struct argument *argument, struct output *output, const char *path) {
    enum status status = argument_spare(argument, path);
    return status == STATUS_OK ? output_open(output, argument->verb, path) : status;
}

// What was damaged in the log that this one was made from.
static int describe_origin(FILE *out, const struct log *log, int parts) {
    for (size_t i = 0; log_import(log) && i < log_loss_count(log); i++) {
        const char *text = log_loss_at(log, i)->text;
        if (!text) continue;
        fputs(parts++ ? ", " : "", out);
        human_print_name(out, text);
    }
    return parts;
}

void argument_warn(const struct argument *argument) {
    char *line = NULL;
    size_t len;
    FILE *out = argument->log ? open_memstream(&line, &len) : NULL;
    if (!out) return;
    int parts = describe_health(out, log_health(argument->log));
    parts = describe_origin(out, argument->log, parts);
    if (fclose(out) == 0 && parts)
        cli_warn(argument->verb, "%s: not all of it could be read: %s", argument->path, line);
    if (log_import(argument->log) && argument->model.phases)
        cli_warn(argument->verb,
                 "%s: a trace of Darshan has reads and writes only: no ticks, no opens and other metadata calls, no "
                 "communication",
                 argument->path);
    free(line);
}

enum status argument_print(const char *verb, int argc, char **argv, const struct print_options *options,
                           const struct model_choice *choice,
                           int (*print)(const struct argument *argument, struct output *output)) {
    struct argument argument;
    struct output output;
    enum status status = argument_count(verb, choice ? "LOG or MODEL" : "LOG", argc, argv);
    if (status == STATUS_OK)
        status = choice ? argument_open_model(&argument, verb, argv[1], choice)
                        : argument_open_log(&argument, verb, argv[1]);
    if (status != STATUS_OK) return status;
    status = argument_output(&argument, &output, options->output);
    if (status == STATUS_OK) {
        status = output_end(&output, argument.path, print(&argument, &output));
        if (status == STATUS_OK && !options->quiet) argument_warn(&argument);
    }
    argument_close(&argument);
    return status;
}

void argument_print_program(FILE *out, const struct model *model, uint32_t program, const char *done) {
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
