#include "cli/whose_jobs.h"

#include "base/err.h"

int whose_jobs(const struct catalogue *catalogue, struct site_viewer *viewer, struct problem *problem) {
    FORWARD(site_viewer(viewer, problem));
    viewer->sees_all = viewer->sees_all || catalogue->store->operations->is_own(catalogue->store);
    return 0;
}
