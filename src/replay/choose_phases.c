#include "replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "model/phase_list.h"

// What MPI-IO does to a set of files in the chosen phases.
struct mpi_use {
    bool opens;
    bool uses;
};

static void note_mpi_use(const struct op_kind *kind, void *context)
{
    struct mpi_use *use = context; // by set
    if (kind->layer != LAYER_MPIIO || kind->set == OP_NO_SET || kind->error) return;
    *(kind->class == CLASS_OPEN ? &use[kind->set].opens : &use[kind->set].uses) = true;
}

// The processes open a file of MPI-IO together and with their views: a phase cannot do without that open.
static int check_mpi_files(const struct model *model, uint32_t program, const char *phases, const char *option,
                           struct problem *problem)
{
    struct mpi_use *use = calloc(model->files + 1, sizeof *use);
    int code = use ? phase_kinds(model, program, phases, note_mpi_use, use) : -ENOMEM;
    for (size_t i = 0; i < model->files && !code; i++) {
        if (!use[i].uses || use[i].opens) continue;
        code = problem_set(problem, ERR_USAGE, option,
                           "they go on with %s, which a phase before them opens: add that phase",
                           model->file[i].set->pattern);
    }
    free(use);
    return code;
}

int replay_check_phases(const struct model *model, uint32_t program, const char *phases, struct problem *problem)
{
    const char *at = phases;
    char option[256];
    size_t first, last, lowest = model->program[program].first + 1, highest = model->program[program].end;
    if (!phases) return 0;
    snprintf(option, sizeof option, "--phases %s", phases);
    int found = *at ? 1 : ERR_USAGE;
    while (found == 1 && (found = phase_list_next(&at, &first, &last)) == 1) {
        if (first >= lowest && last <= highest) continue;
        return problem_set(problem, ERR_USAGE, option, "there is no phase %zu in the program, which has %zu-%zu",
                           first < lowest || first > highest ? first : last, lowest, highest);
    }
    if (found < 0) return problem_set(problem, ERR_USAGE, option, "not a list as in 1,3-5");
    return check_mpi_files(model, program, phases, option, problem);
}
