// What jobs for generators of jobs are about, in comments.
#include <inttypes.h>

#include "model/export/job.h"

static const char *note_text(unsigned bit)
{
    switch (1u << bit) {
    case JOB_SIZES: return "sizes differ from call to call; here they are their mean";
    case JOB_PLACES: return "places follow no simple rule; here they are random";
    case JOB_SHORT: return "more was asked for than was there; here it is what was moved";
    case JOB_VIEW: return "a file view scatters the bytes; here each transfer is in one piece";
    case JOB_COLLECTIVE: return "calls are collective";
    case JOB_NONBLOCKING: return "calls are nonblocking";
    case JOB_MEMORY: return "the memory of transfers is not contiguous; here it is";
    case JOB_STDIO: return "stdio gathers small requests in memory; here each goes to the system";
    case JOB_MPIIO: return "calls are MPI-IO; here they are POSIX";
    case JOB_PLACELESS: return "where transfers were is not known; here they are at the file's beginning";
    case JOB_TURNS: return "transfers of other sizes, files or directions take turns; here one kind follows the other";
    default: return "";
    }
}

// On one line, whatever is in it.
static void write_text(const char *text, FILE *out)
{
    for (; *text; text++) putc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, out);
}

void job_write_title(const struct model *model, const char *tool, FILE *out)
{
    fprintf(out, "# The I/O of this command as load for %s, phase by phase: ", tool);
    write_text(model->command ? model->command : "(not known)", out);
    fputs("\n# Run it in a folder of its own. Not in it: communication, the pauses between phases, and calls that move "
          "no\n"
          "# data (opens, seeks, metadata) but for syncs.\n",
          out);
    if (model->programs > 1) fputs("# Programs that ran beside each other follow each other here.\n", out);
    for (size_t i = 0; i < model->files; i++) {
        char name[MODEL_PLAIN_NAME_BYTES];
        model_plain_name(model, (uint32_t)i, 0, name);
        fprintf(out, "# %s is ", name);
        write_text(model->file[i].set->pattern, out);
        if (model->file[i].set->member_count > 1) fprintf(out, ", the first of %zu", model->file[i].set->member_count);
        putc('\n', out);
    }
}

void job_write_phase(const struct model *model, uint32_t phase, const struct jobs *jobs, FILE *out)
{
    const struct model_phase *about = &model->phase[phase];
    const struct model_family *family = &model->family[about->family];
    fprintf(out, "\n# Phase %u", (unsigned)phase + 1);
    if (family->count > 1) fprintf(out, " (%u of %u of family %u)", about->ph, family->count, about->family + 1);
    fprintf(out, ": %" PRIu64 " bytes read, %" PRIu64 " written, %" PRIu64 " other calls\n", jobs->bytes[0],
            jobs->bytes[1], jobs->others);
    for (unsigned bit = 0; bit < JOB_NOTES; bit++) {
        if (jobs->notes & 1u << bit) fprintf(out, "# not as it was: %s\n", note_text(bit));
    }
}
