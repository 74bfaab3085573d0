// `ioseer index`: keeps a catalogue of the jobs in trees of logs.
#include <inttypes.h>
#include <string.h>

#include "base/human.h"
#include "base/json_keys.h"
#include "base/terminal.h"
#include "catalogue/catalogue.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"

enum { BAD_SHOWN = 20 };

static struct print_options options;
static const char *db;

static const struct option_row rows[] = {
    ROW_DB(&db),
    ROW_JSON(&options.json),
    ROW_OUTPUT(&options.output),
    ROW_QUIET(&options.quiet, "show no progress, and do not list bad logs"),
    {0},
};

static int show_progress(void *context, const struct catalogue_progress *progress) {
    (void)context;
    fprintf(stderr, "\rioseer: indexing, %" PRIu64 " of %" PRIu64 " logs", progress->done, progress->total);
    return 0;
}

static void print_json(const struct catalogue_changes *changes, struct json_out *json) {
    json_object(json);
    json_members(json, m_number("added", changes->added), m_number("updated", changes->updated),
                 m_number("removed", changes->removed), m_number("same", changes->same));
    key_array(json, "bad");
    for (size_t i = 0; i < changes->walk.bad_count; i++)
        json_object_of(json, m_text("log", changes->walk.bad[i].log), m_text("reason", changes->walk.bad[i].reason));
    json_close(json);
    json_close(json);
}

static void print_text(const struct catalogue_changes *changes, FILE *out) {
    const struct walk *walk = &changes->walk;
    fprintf(out, "%s: %" PRIu64 " new, %" PRIu64 " changed, %" PRIu64 " removed, %" PRIu64 " as before",
            human_count(changes->added + changes->updated + changes->same, "log").text, changes->added,
            changes->updated, changes->removed, changes->same);
    fprintf(out, walk->bad_count ? "; %s not readable\n" : "\n", human_count(walk->bad_count, "").text);
    for (size_t i = 0; i < walk->bad_count && i < BAD_SHOWN && !options.quiet; i++) {
        fputs("  ", out);
        human_print_name(out, walk->bad[i].log);
        fputs(": ", out);
        human_print_name(out, walk->bad[i].reason);
        fputc('\n', out);
    }
    if (walk->bad_count > BAD_SHOWN && !options.quiet)
        fprintf(out, "  and %s more (--json lists all)\n", human_count(walk->bad_count - BAD_SHOWN, "").text);
}

static enum status print(const struct catalogue_changes *changes) {
    struct output output;
    enum status status = output_open(&output, "index", options.output);
    if (status != STATUS_OK) return status;
    if (options.json)
        print_json(changes, output_json(&output, 2));
    else
        print_text(changes, output.out);
    return output_close(&output, false);
}

static enum status index_run(int argc, char **argv) {
    struct catalogue catalogue;
    struct catalogue_changes changes;
    struct problem problem = {0};
    bool shows = !options.quiet && terminal_is(stderr);
    const struct catalogue_order order = {argv + 1, (size_t)argc - 1, shows ? show_progress : NULL, NULL};
    if (argc < 2) return cli_usage("index", "DIR", "is missing");
    if (options.output) {
        enum status status = output_check("index", options.output);
        if (status != STATUS_OK) return status;
    }
    int code = catalogue_open(&catalogue, db, STORE_WRITES, &problem);
    if (code < 0) return cli_problem("index", db ? db : "the catalogue", &problem, code);
    code = catalogue_index(&catalogue, &order, &changes, &problem);
    if (shows) fputs("\r\033[K", stderr);
    enum status status = code < 0 ? cli_problem("index", argv[1], &problem, code) : print(&changes);
    catalogue_changes_free(&changes);
    catalogue_close(&catalogue);
    return status;
}

const struct verb verb_index = {
    .name = "index",
    .summary = "keep a catalogue of the jobs in trees of logs",
    .usage = "[OPTION]... DIR...",
    .about =
        "Looks for logs below each DIR and keeps what `ioseer jobs` answers questions from: only logs that are new or\n"
        "have changed are read, and those that are gone are removed. A log that cannot be read is listed, with the\n"
        "reason. DIR can also be a log. Several may run at once.",
    .options = rows,
    .run = index_run,
};
