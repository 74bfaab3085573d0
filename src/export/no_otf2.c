// In a build without OTF2.
#include "base/err.h"
#include "export/export.h"

int export_otf2(struct log *log, const char *path, const struct export_watch *watch, struct problem *problem) {
    (void)log, (void)path, (void)watch;
    return problem_set(problem, ERR_NOTHING, "otf2", "this ioseer was built without OTF2 (libopen-trace-format2-dev)");
}
