#include "cli/export_catalogue.h"

#include <errno.h>

#include "base/err.h"
#include "base/io.h"
#include "catalogue/anonymous.h"
#include "cli/export_progress.h"
#include "cli/whose_jobs.h"

struct work {
    struct catalogue_copy copy;
    struct problem problem;
};

static int make_catalogue(void *context, const char *path) {
    struct work *work = context;
    return catalogue_write_anonymous(&work->copy, path, &work->problem);
}

// The copy has the jobs of all users.
static int check_viewer(const struct catalogue *catalogue, const char *name, struct problem *problem) {
    struct site_viewer viewer;
    FORWARD(whose_jobs(catalogue, &viewer, problem));
    if (viewer.sees_all) return 0;
    return problem_set(problem, -EACCES, name,
                       "it has jobs of other users: who made it, root and members of `support_group` can export it");
}

enum status export_catalogue(const struct export_catalogue *order) {
    struct catalogue catalogue;
    struct anonymous_key key;
    struct export_progress progress;
    struct work work = {.copy = {&catalogue, &key, export_progress_watch, &progress}};
    const char *name = order->db ? order->db : "the catalogue";
    int code = catalogue_open(&catalogue, order->db, STORE_READS, &work.problem);
    if (code < 0) return cli_problem("export", name, &work.problem, code);
    code = check_viewer(&catalogue, name, &work.problem);
    if (code == 0) code = order->key ? anonymous_key_file(&key, order->key, &work.problem) : anonymous_key_make(&key);
    if (code == 0) {
        export_progress_begin(&progress, &work.problem, CATALOGUE_COPY_ALL, order->quiet);
        code = io_make_beside(order->output, make_catalogue, &work);
        export_progress_end(&progress);
    }
    catalogue_close(&catalogue);
    return code < 0 ? cli_problem("export", order->output, &work.problem, code) : STATUS_OK;
}
