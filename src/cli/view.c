// `ioseer view`: serves logs to a browser.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/argument.h"
#include "cli/verb.h"
#include "report/page.h"
#include "view/http.h"

static struct {
    uint64_t port;
    const char *address;
    bool quiet;
} options;

static const struct option_row rows[] = {
    {"port", 'p', OPTION_NUMBER, &options.port, "PORT", "listen on this port (default: any free port)"},
    {"address", 0, OPTION_TEXT, &options.address, "IPv4",
     "listen on this address; anybody with the printed address can then read the logs (default: 127.0.0.1)"},
    ROW_QUIET(&options.quiet, "print only the address"),
    {0},
};

static enum status open_source(struct summary_source *source, char *path) {
    struct argument argument;
    enum status status = argument_open_log(&argument, "view", path);
    if (status == STATUS_OK) *source = (struct summary_source){argument.log, argument.path, argument.is_directory};
    return status;
}

// Prints what is wrong; returns an exit status.
static enum status open_sources(struct view_source **sources, char **paths, size_t count) {
    *sources = calloc(count, sizeof **sources);
    if (!*sources) return cli_fail("view", paths[0], -ENOMEM);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = open_source(&(*sources)[i].requests, paths[i]);
        if (status == STATUS_OK) status = open_source(&(*sources)[i].reader, paths[i]);
    }
    return status;
}

// Serves until a signal comes. All signals are blocked before any thread starts, so that only this one gets them.
static enum status serve(struct view_http *http, const struct view_source *sources, size_t count) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    int code = view_logs_start(&http->logs, sources, count);
    if (code == 0) code = view_http_start(http);
    if (code == ERR_NOTHING)
        return cli_usage("view", "LOG", "this ioseer was built without libmicrohttpd; ioseer report writes a file");
    if (code < 0) return cli_fail("view", http->address, code);
    printf("http://%s:%u/%s/\n", http->address, http->port, http->token);
    if (!options.quiet) printf("Open this address in a browser on this machine; Ctrl-C ends the server.\n");
    fflush(stdout);
    int signal_number;
    sigwait(&signals, &signal_number);
    view_http_stop(http);
    return STATUS_OK;
}

static enum status view_run(int argc, char **argv) {
    struct view_http http = {.port = (uint16_t)options.port};
    const char *address = options.address ? options.address : "127.0.0.1";
    if (argc < 2) return cli_usage("view", "LOG", "is missing");
    if (options.port > UINT16_MAX) return cli_usage("view", "--port", "is at most 65535");
    if (strlen(address) >= sizeof http.address) return cli_usage("view", address, "not a numeric IPv4 address");
    strcpy(http.address, address);
    struct view_source *sources;
    size_t count = (size_t)argc - 1;
    enum status status = open_sources(&sources, argv + 1, count);
    if (status == STATUS_OK && !page_has_template()) status = cli_usage("view", "LOG", PAGE_MISSING);
    if (status == STATUS_OK) status = serve(&http, sources, count);
    free(sources); // the thread that reads has copies
    return status;
}

const struct verb verb_view = {
    .name = "view",
    .summary = "show logs in a browser",
    .usage = "[OPTION]... LOG...",
    .about = "Serves the page of `ioseer report` directly from the logs, which can have any size. Shows several logs "
             "side by\n"
             "side. Only this machine can reach the page, and only with the printed address, which contains a secret.",
    .options = rows,
    .run = view_run,
};
