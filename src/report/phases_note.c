#include "report/phases_note.h"

#include "base/err.h"
#include "base/human.h"
#include "report/phases_json.h"

// Requests that reach the end of a file, or find less than they ask for, move less than their size.
static bool has_short_requests(const struct phase_run *run) {
    for (size_t i = 0; i < run->ops; i++) {
        const struct op_summary *op = &run->op[i];
        if (op->moves && op->has_size && (double)op_summary_size(op) * (double)op->count > (double)op->bytes)
            return true;
    }
    return false;
}

int phases_note(const struct model *model, FILE *out, const char *indent) {
    struct phase_run run = {.model = model};
    int64_t all_ns = 0, other_ns = 0;
    bool has_short = false;
    int code;
    while ((code = phase_run_next(&run)) > 0) {
        all_ns += run.ns;
        other_ns += run.other_ns;
        has_short = has_short || has_short_requests(&run);
    }
    phase_run_free(&run);
    FORWARD(code);
    if (!model->phases) return 0;
    fprintf(out, "%sTimes are those of the process that takes longest; shares are of the %s of all phases.\n", indent,
            human_seconds(all_ns).text);
    if (other_ns)
        fprintf(out, "%sOpens, closes and other calls around these operations are not in it: %s.\n", indent,
                human_seconds(other_ns).text);
    if (has_short)
        fprintf(out, "%sSome requests moved less than their size, for example at the end of a file.\n", indent);
    return 0;
}
