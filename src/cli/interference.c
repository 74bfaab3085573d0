// `ioseer interference`: programs that ran at once on one stack, and what they cost each other.
#include "interference/interference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/table.h"
#include "cli/argument.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"

static struct {
    struct option_list alone;
    struct print_options print;
} options;

static const struct option_row rows[] = {
    {"alone", 0, OPTION_WORDS, &options.alone, "LOG...",
     "runs of the same programs alone on the stack, in any order if their commands differ"},
    ROWS_PRINT(options.print),
    {0},
};

// --- output

static void print_json(const struct interference *in, struct json_out *json) {
    json_object(json);
    key_array(json, "jobs");
    for (size_t i = 0; i < in->jobs; i++) {
        const struct interference_job *job = &in->job[i];
        json_object_of(json, m_text("log", job->name), m_double("slowdown", job->slowdown),
                       m_double("lost_seconds", job->lost_seconds), m_double("run_time", job->run_time),
                       m_text("alone", job->alone_name), m_double("alone_time", job->alone_time),
                       m_double("gain_low", job->gain_low), m_double("gain_high", job->gain_high));
    }
    json_close(json);
    key_array(json, "servers");
    for (size_t i = 0; i < in->servers; i++) {
        const struct interference_server *server = &in->server[i];
        json_object(json);
        json_members(json, m_number("id", i), m_double("overload", server->overload),
                     m_double("shared_seconds", server->shared_seconds), m_double("from", server->first),
                     m_double("to", server->last), m_double("lost_seconds", server->lost_seconds));
        key_array(json, "share");
        for (size_t j = 0; j < in->jobs; j++) json_double(json, server->share[j]);
        json_close(json);
        json_close(json);
    }
    json_close(json);
    json_key(json, "overloaded");
    if (in->overloaded >= 0)
        json_signed(json, in->overloaded);
    else
        json_null(json);
    json_members(json, m_text("advice", in->advice));
    json_close(json);
}

static void add_time(struct table *table, double seconds) {
    if (isfinite(seconds))
        table_printf(table, "%s%s", seconds < 0 ? "-" : "", human_time(fabs(seconds)).text);
    else
        table_text(table, NULL);
}

static int print_jobs(const struct interference *in, FILE *out) {
    static const struct table_column columns[] = {{"PROGRAM", TABLE_NAME},  {"RUN TIME", TABLE_UNIT},
                                                  {"ALONE", TABLE_UNIT},    {"LOST", TABLE_UNIT},
                                                  {"SLOWDOWN", TABLE_UNIT}, {0}};
    struct table table = table_begin(out, columns);
    for (size_t i = 0; i < in->jobs; i++) {
        const struct interference_job *job = &in->job[i];
        table_text(&table, job->name);
        add_time(&table, job->run_time);
        add_time(&table, isfinite(job->alone_time) ? job->alone_time : job->run_time - job->lost_seconds);
        add_time(&table, job->lost_seconds);
        if (isfinite(job->slowdown))
            table_printf(&table, "%+.1f %%", (job->slowdown - 1) * 100);
        else
            table_text(&table, NULL);
        table_row(&table);
    }
    return table_end(&table);
}

static int print_servers(const struct interference *in, FILE *out) {
    static const struct table_column columns[] = {
        {"SERVER", TABLE_NUMBER}, {"SHARED", TABLE_UNIT}, {"FROM", TABLE_UNIT},          {"TO", TABLE_UNIT},
        {"OVERLOAD", TABLE_UNIT}, {"LOST", TABLE_UNIT},   {"SHARE OF EACH", TABLE_TEXT}, {0}};
    struct table table = table_begin(out, columns);
    for (size_t i = 0; i < in->servers; i++) {
        const struct interference_server *server = &in->server[i];
        table_number(&table, i);
        add_time(&table, server->shared_seconds);
        add_time(&table, server->shared_seconds > 0 ? server->first : NAN);
        add_time(&table, server->shared_seconds > 0 ? server->last : NAN);
        table_printf(&table, "%.2f x", server->overload);
        add_time(&table, server->lost_seconds);
        table_text(&table, "");
        for (size_t j = 0; j < in->jobs; j++)
            table_append(&table, "%s%s", j ? ", " : "", human_percent(server->share[j]).text);
        table_row(&table);
    }
    return table_end(&table);
}

static void print_gains(const struct interference *in, FILE *out) {
    for (size_t i = 0; i < in->jobs && in->mover >= 0; i++) {
        const struct interference_job *job = &in->job[i];
        if (!isfinite(job->gain_high)) continue;
        fputs("  ", out);
        human_print_name(out, job->name);
        if (job->gain_low < job->gain_high * 0.99)
            fprintf(out, " would gain %s to %s", human_time(job->gain_low).text, human_time(job->gain_high).text);
        else
            fprintf(out, " would gain %s", human_time(job->gain_high).text);
        fprintf(out, " of its %s.\n", human_time(job->run_time).text);
    }
}

static int print_text(const struct interference *in, FILE *out) {
    FORWARD(print_jobs(in, out));
    for (size_t i = 0; i < in->jobs; i++)
        if (!in->job[i].alone) {
            fputs("\nWithout a run alone, a loss is an estimate from requests that nobody disturbed.\n", out);
            break;
        }
    fputc('\n', out);
    FORWARD(print_servers(in, out));
    if (in->overloaded >= 0) {
        const struct interference_server *server = &in->server[in->overloaded];
        fprintf(out, "\nServer %d was overloaded: from %s to %s after the first start, requests of ", in->overloaded,
                human_time(server->first).text, human_time(server->last).text);
        human_print_name(out, in->job[server->victim].name);
        fprintf(out, " took %.2f times as long as they would have alone.\n", server->overload);
    }
    fputc('\n', out);
    human_print_name(out, in->advice);
    fputc('\n', out);
    print_gains(in, out);
    return 0;
}

// --- the verb

static bool same_command(const struct log *one, const struct log *two) {
    const struct log_strings *a = &log_job(one)->command, *b = &log_job(two)->command;
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (strcmp(a->word[i], b->word[i])) return false;
    return a->count == b->count;
}

// Gives each job its run alone: the one with the same command. If some are left, there must be one for each job that
// has none, in the same order.
static bool pair(struct interference *in, struct argument *alone, size_t count) {
    size_t jobs_left = in->jobs, left = count;
    for (int by_order = 0; by_order < 2 && left; by_order++) {
        if (by_order && left != jobs_left) return false;
        for (size_t i = 0; i < in->jobs; i++) {
            for (size_t j = 0; j < count && !in->job[i].alone; j++) {
                if (!alone[j].log || !(by_order || same_command(in->job[i].log, alone[j].log))) continue;
                in->job[i].alone = alone[j].log;
                in->job[i].alone_name = alone[j].path;
                alone[j].log = NULL;
                jobs_left--, left--;
            }
        }
    }
    return true;
}

static enum status find_and_print(struct interference *in, const struct argument *argument) {
    struct problem problem = {0};
    struct output output;
    enum status status = argument_output(&argument[0], &output, options.print.output);
    if (status != STATUS_OK) return status;
    int code = interference_find(in, &problem);
    if (code < 0) {
        cli_problem("interference", argument[0].path, &problem, code);
        return output_close(&output, true);
    }
    if (options.print.json)
        print_json(in, output_json(&output, 2));
    else
        code = print_text(in, output.out);
    return output_end(&output, "memory", code);
}

static enum status open_all(struct argument *argument, const char *const *word, size_t count, size_t *opened) {
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = argument_open_log(&argument[*opened], "interference", word[i]);
        if (status == STATUS_OK) status = argument_spare(&argument[*opened], options.print.output);
        if (argument[*opened].log) ++*opened;
    }
    return status;
}

static enum status interference_verb(int argc, char **argv) {
    size_t jobs = (size_t)argc - 1, alone = options.alone.count, opened = 0;
    if (jobs < 2) return cli_usage("interference", "LOG", "two or more logs of programs that ran at once are needed");
    if (alone > jobs) return cli_usage("interference", "--alone", "has more logs than there are programs");
    struct argument *argument = calloc(jobs + alone, sizeof *argument), *lone = calloc(alone + 1, sizeof *lone);
    struct interference in = {.job = calloc(jobs, sizeof *in.job), .jobs = jobs};
    enum status status = argument && lone && in.job ? STATUS_OK : cli_fail("interference", "memory", -ENOMEM);
    if (status == STATUS_OK) status = open_all(argument, (const char *const *)argv + 1, jobs, &opened);
    if (status == STATUS_OK) status = open_all(argument, options.alone.item, alone, &opened);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < jobs; i++) in.job[i].name = argument[i].path, in.job[i].log = argument[i].log;
        memcpy(lone, argument + jobs, alone * sizeof *lone);
        status = pair(&in, lone, alone)
                     ? find_and_print(&in, argument)
                     : cli_usage("interference", "--alone", "cannot tell whose runs these are: the commands differ");
    }
    for (size_t i = 0; i < opened; i++) {
        if (status == STATUS_OK && !options.print.quiet) argument_warn(&argument[i]);
        argument_close(&argument[i]);
    }
    if (in.job) interference_free(&in);
    free(in.job);
    free(argument);
    free(lone);
    return status;
}

const struct verb verb_interference = {
    .name = "interference",
    .summary = "tell what programs on the same servers cost each other",
    .usage = "[OPTION]... LOG LOG... [--alone LOG...]",
    .about =
        "Takes logs of programs that ran at the same time on one stack (`record --stack`). Tells which servers they\n"
        "shared, which of them was overloaded and when, how much time each program lost, and what it would gain if "
        "one\n"
        "of them kept off that server. Losses are measured against the runs given with --alone; without them, they "
        "are\n"
        "estimated from the requests that nobody disturbed.",
    .options = rows,
    .run = interference_verb,
};
