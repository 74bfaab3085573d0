#include "replay/choose_phases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "cli/verb.h"
#include "model/phase_content.h"
#include "model/phase_list.h"

// What MPI-IO does in the phases that were chosen, by set of files.
struct mpi_use {
    bool opens;
    bool goes_on; // does something else
};

static void take_mpi_use(const struct op_kind *kind, void *context)
{
    struct mpi_use *use = context;
    if (kind->layer != LAYER_MPIIO || kind->set == OP_NO_SET || kind->error) return;
    *(kind->class == CLASS_OPEN ? &use[kind->set].opens : &use[kind->set].goes_on) = true;
}

// All processes open a file of MPI's together, with what they see of it: that cannot be made up for later.
static int check_mpi_files(const struct model *model, uint32_t program, const char *phases)
{
    struct mpi_use *use = calloc(model->files + 1, sizeof *use);
    int code = use ? model_used_kinds(model, program, phases, take_mpi_use, use) : -ENOMEM;
    int status = code ? cli_fail("replay", "memory", code) : STATUS_OK;
    for (size_t i = 0; i < model->files && status == STATUS_OK; i++) {
        if (!use[i].goes_on || use[i].opens) continue;
        fprintf(stderr,
                "ioseer replay: --phases %s: they go on with %s, which a phase before them opens: take it too\n",
                phases, model->file[i].set->pattern);
        status = STATUS_USAGE;
    }
    free(use);
    return status;
}

int replay_check_phases(const struct model *model, uint32_t program, const char *phases)
{
    const char *at = phases;
    size_t first, last, lowest = model->program[program].first + 1, highest = model->program[program].end;
    int found = at && !*at ? ERR_USAGE : 1;
    while (at && found == 1 && (found = phase_list_next(&at, &first, &last)) == 1) {
        if (first >= lowest && last <= highest) continue;
        fprintf(stderr, "ioseer replay: --phases %s: there is no phase %zu in the program, which has %zu-%zu\n", phases,
                first < lowest || first > highest ? first : last, lowest, highest);
        return STATUS_USAGE;
    }
    if (found < 0) {
        fprintf(stderr, "ioseer replay: --phases %s: not a list as in 1,3-5\n", phases);
        return STATUS_USAGE;
    }
    return phases ? check_mpi_files(model, program, phases) : STATUS_OK;
}
