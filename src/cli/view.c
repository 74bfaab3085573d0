// `ioseer view`: serves logs to a browser.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/option_rows.h"
#include "cli/systems.h"
#include "cli/verb.h"
#include "cli/whose_jobs.h"
#include "report/page.h"
#include "view/http.h"

static struct {
    uint64_t port;
    const char *address, *db;
    struct option_list systems;
    bool lab, quiet;
} options;

static const struct option_row rows[] = {
    {"port", 'p', OPTION_NUMBER, &options.port, "PORT", "listen on this port (default: any free port)"},
    {"address", 0, OPTION_TEXT, &options.address, "IPv4",
     "listen on this address; anybody with the printed address can then read the logs (default: 127.0.0.1)"},
    {"lab", 0, OPTION_FLAG, &options.lab, NULL, "also set up, run and watch programs in the browser"},
    ROW_SYSTEMS(&options.systems),
    ROW_DB(&options.db),
    ROW_QUIET(&options.quiet, "print only the address"),
    {0},
};

// Prints what is wrong; returns an exit status.
static enum status add_logs(struct view_logs *logs, char **paths, size_t count) {
    signal(SIGXFSZ, SIG_IGN); // packing a directory may exceed the file size limit, which must be an error
    for (size_t i = 0; i < count; i++) {
        struct problem problem = {0};
        int code = view_logs_add(logs, paths[i], &problem);
        if (code < 0) return cli_problem("view", paths[i], &problem, code);
    }
    return STATUS_OK;
}

static int add_made_log(void *context, const char *path) {
    struct problem problem = {0};
    return view_logs_add(context, path, &problem);
}

static int start_lab(struct view_http *http, const struct lab_guard *guard) {
    const struct lab_options lab = {".", guard, add_made_log, http->logs};
    return options.lab ? lab_new(&http->lab, &lab) : 0;
}

// The page of a catalogue: of jobs that the user may see.
static enum status open_site(struct view_http *http) {
    static struct site_viewer viewer;
    struct catalogue catalogue;
    struct problem problem = {0};
    int code = catalogue_open(&catalogue, options.db, STORE_READS, &problem);
    if (code == 0) {
        code = whose_jobs(&catalogue, &viewer, &problem);
        catalogue_close(&catalogue);
        if (code == 0) code = view_site_new(&http->site, options.db, whose_owner(&viewer), &problem);
    }
    if (code == ERR_NOTHING && !options.db) return cli_usage("view", "LOG", "is missing, and there is no catalogue");
    if (code < 0) return cli_problem("view", options.db ? options.db : "the catalogue", &problem, code);
    if (!viewer.sees_all && !options.quiet) printf("The page shows the jobs of %s.\n", viewer.name);
    return STATUS_OK;
}

static void say_address(const struct view_http *http) {
    printf("http://%s:%u/%s/\n", http->address, http->port, http->token);
    if (!options.quiet) printf("Open this address in a browser on this machine; Ctrl-C ends the server.\n");
    if (!options.quiet && options.lab)
        printf("Who has the address can run programs as you. Ctrl-C also ends what runs.\n");
    fflush(stdout);
}

// Serves until a signal comes.
static enum status serve(struct view_http *http, const sigset_t *signals, const struct lab_guard *guard) {
    int signal_number, code = start_lab(http, guard);
    if (code == 0) code = view_http_start(http);
    if (code == 0) {
        say_address(http);
        sigwait(signals, &signal_number);
        view_http_stop(http);
    }
    if (http->lab) lab_end(http->lab);
    if (code == ERR_NOTHING) return cli_usage("view", "LOG", "libmicrohttpd is missing; ioseer report writes a file");
    return code < 0 ? cli_fail("view", http->address, code) : STATUS_OK;
}

// All signals are blocked before any thread starts, so that only the one that serves gets them.
static enum status serve_logs(struct view_http *http, const struct finding_profiles *profiles, char **paths,
                              size_t count) {
    struct lab_guard guard = {.fd = -1};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    if (options.lab && lab_guard_start(&guard)) return STATUS_OK; // in the guard, which has done its work
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    int code = view_logs_start(&http->logs, profiles);
    if (code < 0) return cli_fail("view", http->address, code);
    bool has_site = options.db || (!count && !options.lab);
    enum status status = has_site ? open_site(http) : add_logs(http->logs, paths, count);
    return status == STATUS_OK ? serve(http, &signals, &guard) : status;
}

static enum status view_run(int argc, char **argv) {
    struct view_http http = {.port = (uint16_t)options.port};
    const char *address = options.address ? options.address : "127.0.0.1";
    if (options.db && (argc > 1 || options.lab))
        return cli_usage("view", argc > 1 ? argv[1] : "--lab", "not together with --db");
    if (options.lab && options.address) return cli_usage("view", "--lab", "not together with --address");
    if (options.db && options.systems.count) return cli_usage("view", "--system", "not together with --db");
    if (options.port > UINT16_MAX) return cli_usage("view", "--port", "is at most 65535");
    if (strlen(address) >= sizeof http.address) return cli_usage("view", address, "not a numeric IPv4 address");
    if (!page_has_template()) return cli_usage("view", "LOG", PAGE_MISSING);
    static struct finding_profiles profiles; // as long as the thread that reads
    enum status status = systems_read("view", &options.systems, &profiles);
    if (status != STATUS_OK) return status;
    strcpy(http.address, address);
    return serve_logs(&http, &profiles, argv + 1, (size_t)argc - 1);
}

const struct verb verb_view = {
    .name = "view",
    .summary = "show logs in a browser",
    .usage = "[OPTION]... LOG...\n"
             "[OPTION]... [--db DB]\n"
             "[OPTION]... --lab [LOG]...",
    .about = "Serves the page of `ioseer report` directly from the logs, which can have any size. Shows several logs "
             "side by\n"
             "side. Only this machine can reach the page, and only with the printed address, which contains a secret.\n"
             "Without LOG it shows all jobs of a catalogue that `ioseer index` keeps, and the report of each by a "
             "click.\n"
             "With --lab the page has a form in which a program is set up, recorded and watched while it runs.",
    .options = rows,
    .run = view_run,
};
