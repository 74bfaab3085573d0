#include "cli/export_catalogue.h"

#include "base/err.h"
#include "base/io.h"
#include "catalogue/anonymous.h"
#include "cli/export_progress.h"

struct work {
    struct catalogue_copy copy;
    struct problem problem;
};

static int make_catalogue(void *context, const char *path) {
    struct work *work = context;
    return catalogue_write_anonymous(&work->copy, path, &work->problem);
}

enum status export_catalogue(const struct export_catalogue *order) {
    struct catalogue catalogue;
    struct anonymous_key key;
    struct export_progress progress;
    struct work work = {.copy = {&catalogue, &key, export_progress_watch, &progress}};
    const char *name = order->db ? order->db : "the catalogue";
    int code = catalogue_open(&catalogue, order->db, STORE_READS, &work.problem);
    if (code < 0) return cli_problem("export", name, &work.problem, code);
    code = order->key ? anonymous_key_file(&key, order->key, &work.problem) : anonymous_key_make(&key);
    if (code == 0) {
        export_progress_begin(&progress, &work.problem, CATALOGUE_COPY_ALL, order->quiet);
        code = io_make_beside(order->output, make_catalogue, &work);
        export_progress_end(&progress);
    }
    catalogue_close(&catalogue);
    return code < 0 ? cli_problem("export", order->output, &work.problem, code) : STATUS_OK;
}
