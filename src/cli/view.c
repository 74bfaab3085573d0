// `ioseer view`: shows logs in a browser, from the logs themselves.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/verb.h"
#include "report/page.h"
#include "view/http.h"

static struct {
    uint64_t port;
    const char *address;
    bool quiet;
} options;

static const struct option_row rows[] = {
    {"port", 'p', OPTION_NUMBER, &options.port, "PORT", "listen there (default: any free port)"},
    {"address", 0, OPTION_TEXT, &options.address, "IPv4",
     "listen on another address than 127.0.0.1: whoever has the token can then read the logs"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "print the address only"},
    {0},
};

// The signals are blocked before any thread begins, so that only this one gets them.
static int wait_for_end(sigset_t *signals)
{
    int signal_number;
    sigwait(signals, &signal_number);
    return STATUS_OK;
}

static int serve(struct view_http *http)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    int code = view_logs_start(http->logs);
    if (code == 0) code = view_http_start(http);
    if (code == ERR_NOTHING)
        return cli_usage("view", "LOG", "this ioseer was built without libmicrohttpd; ioseer report writes a file");
    if (code < 0) return cli_fail("view", http->address, code);
    printf("http://%s:%u/%s/\n", http->address, http->port, http->token);
    if (!options.quiet) printf("Open this address in a browser on this machine; Ctrl-C ends the server.\n");
    fflush(stdout);
    int status = wait_for_end(&signals);
    view_http_stop(http);
    return status;
}

static int view_run(int argc, char **argv)
{
    struct view_http http = {.port = (uint16_t)options.port};
    const char *address = options.address ? options.address : "127.0.0.1";
    if (argc < 2) return cli_usage("view", "LOG", "is missing");
    if (options.port > UINT16_MAX) return cli_usage("view", "--port", "is at most 65535");
    if (strlen(address) >= sizeof http.address) return cli_usage("view", address, "not a numeric IPv4 address");
    strcpy(http.address, address);
    int status = view_logs_open(&http.logs, argc - 1, argv + 1);
    if (status == STATUS_OK && !page_has_template()) return cli_usage("view", "LOG", PAGE_MISSING);
    // The thread that reads may be at it still; what it holds goes with the process.
    return status == STATUS_OK ? serve(&http) : status;
}

const struct verb verb_view = {
    .name = "view",
    .summary = "show logs in a browser",
    .usage = "[OPTION]... LOG...",
    .about =
        "Serves the page of ioseer report from the logs themselves, of any size, and several side by side. Only this\n"
        "machine can reach it, and only with the address that is printed: it has a secret in it.",
    .options = rows,
    .run = view_run,
};
