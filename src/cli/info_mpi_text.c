#include <inttypes.h>
#include <string.h>

#include "base/human.h"
#include "cli/info_text.h"
#include "summary/mpi_text.h"

// As many hints per line as fit.
static void print_hints(FILE *out, const char *title, const struct log_hint_list *list)
{
    enum { WIDTH = 100 };
    size_t column = WIDTH;
    for (size_t i = 0; i < list->count; i++) {
        const struct log_hint *hint = &list->hint[i];
        size_t len = strlen(hint->name) + strlen(hint->value) + sizeof "=, ";
        bool is_new_line = column + len > WIDTH;
        if (is_new_line) fprintf(out, "%s    %-9s", i ? ",\n" : "", i ? "" : title);
        if (!is_new_line) fputs(", ", out);
        human_print_name(out, hint->name);
        fputc('=', out);
        human_print_name(out, hint->value);
        column = is_new_line ? len : column + len;
    }
    if (list->count) fputc('\n', out);
}

// Hints that were `shown` last are not repeated.
static void print_use(FILE *out, struct log *log, const struct mpi_use *use, const struct log_hints **shown)
{
    const struct log_hints *hints = use->first;
    switch (use->kind) {
    case MPI_USE_HINTS:
        if (hints == *shown) {
            fputs("    hints    as above\n", out);
            return;
        }
        print_hints(out, "asked", &hints->asked);
        print_hints(out, "in force", &hints->in_force);
        *shown = hints;
        return;
    case MPI_USE_VIEW:
        fprintf(out, "    view     from %" PRIu64 " of ", use->number);
        human_print_name(out, mpi_text_datatype(log, use->first).text);
        fputs(": ", out);
        human_print_name(out, mpi_text_datatype(log, use->second).text);
        break;
    default:
        fprintf(out, "    opened   %s by %s%s", mpi_text_amode(use->number).text,
                human_count(use->comm_size, "process").text, use->comm_size > 1 ? " together" : "");
    }
    fprintf(out, ", %s\n", human_count(use->count, "call").text);
}

static void print_file(FILE *out, const struct info *info, const struct log_file *file, bool all,
                       const struct log_hints **shown)
{
    enum { SHORT_LIST = 3 };
    static const char *const nouns[] = {"way", "set", "view"};
    fputs("  ", out);
    human_print_name(out, file->name);
    fputc('\n', out);
    for (enum mpi_use_kind kind = 0; kind < MPI_USE_KINDS; kind++) {
        size_t count;
        const struct mpi_use *use = mpi_files_uses(&info->mpi_files, file, kind, &count);
        size_t some = all || count < SHORT_LIST ? count : SHORT_LIST;
        for (size_t i = 0; i < some; i++) print_use(out, info->log, &use[i], shown);
        if (some < count) fprintf(out, "    ... and %s more\n", human_count(count - some, nouns[kind]).text);
    }
}

void info_mpi_text(const struct info *info, bool all, FILE *out)
{
    const struct log_hints *shown_hints = NULL;
    size_t files = 0, shown = 0;
    for (size_t i = 0; i < info->file_count; i++) files += mpi_files_has(&info->mpi_files, info->files[i].file);
    if (files) fprintf(out, "\nMPI files  %s\n", human_count(files, "").text);
    for (size_t i = 0; i < info->file_count && (all || shown < INFO_SHORT_LIST); i++) {
        const struct log_file *file = info->files[i].file;
        if (!mpi_files_has(&info->mpi_files, file)) continue;
        print_file(out, info, file, all, &shown_hints);
        shown++;
    }
    info_print_more(shown, files, out);
}
