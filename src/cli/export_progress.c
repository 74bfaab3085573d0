#include "cli/export_progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static volatile sig_atomic_t caught;

static void catch_signal(int number) { caught = number; }

void export_progress_begin(struct export_progress *progress, struct problem *problem, uint64_t all, bool is_quiet) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    *progress = (struct export_progress){problem, all, .start = clock_seconds()};
    progress->is_visible = !is_quiet && isatty(STDERR_FILENO);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &(struct sigaction){.sa_handler = catch_signal, .sa_flags = (int)SA_RESETHAND}, NULL);
}

int export_progress_watch(void *context, uint64_t events) {
    const double patience_seconds = 2, interval_seconds = 0.2;
    struct export_progress *progress = context;
    progress->problem->signal = caught;
    if (caught) return -EINTR;
    double now = progress->is_visible ? clock_seconds() : 0;
    if (!events || now - progress->start < patience_seconds || now - progress->shown < interval_seconds) return 0;
    progress->shown = now;
    fprintf(stderr, "\rioseer: exporting, %.0f %%", 100 * (double)events / (double)progress->all);
    return 0;
}

void export_progress_end(const struct export_progress *progress) {
    if (progress->shown > 0) fprintf(stderr, "\r\033[K");
}
