#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "cli/info_text.h"
#include "summary/mpi_text.h"

// As many hints per line as fit.
static void add_hints(struct table *lines, const char *title, const struct log_hint_list *list)
{
    enum { WIDTH = 100 };
    size_t column = WIDTH;
    for (size_t i = 0; i < list->count; i++) {
        const struct log_hint *hint = &list->hint[i];
        size_t len = strlen(hint->name) + strlen(hint->value) + sizeof "=, ";
        bool is_new_line = column + len > WIDTH;
        column = is_new_line ? len : column + len;
        if (i) table_append(lines, is_new_line ? "," : ", ");
        if (i && is_new_line) table_row(lines);
        if (is_new_line) table_text(lines, i ? "" : title), table_text(lines, "");
        table_append(lines, "%s=%s", hint->name, hint->value);
    }
    if (list->count) table_row(lines);
}

// Hints that were `shown` last are not repeated.
static void add_use(struct table *lines, struct log *log, const struct mpi_use *use, const struct log_hints **shown)
{
    const struct log_hints *hints = use->first;
    switch (use->kind) {
    case MPI_USE_HINTS:
        if (hints == *shown) {
            table_text(lines, "hints"), table_text(lines, "as above"), table_row(lines);
            return;
        }
        add_hints(lines, "asked", &hints->asked);
        add_hints(lines, "in force", &hints->in_force);
        *shown = hints;
        return;
    case MPI_USE_VIEW:
        table_text(lines, "view");
        table_printf(lines, "from %" PRIu64 " of %s: %s", use->number, mpi_text_datatype(log, use->first).text,
                     mpi_text_datatype(log, use->second).text);
        break;
    default:
        table_text(lines, "opened  "); // as wide as the longest label, so that all files are aligned
        table_printf(lines, "%s by %s%s", mpi_text_amode(use->number).text, human_count(use->comm_size, "process").text,
                     use->comm_size > 1 ? " together" : "");
    }
    table_append(lines, ", %s", human_count(use->count, "call").text);
    table_row(lines);
}

static int print_file(FILE *out, const struct summary *summary, const struct log_file *file, bool all,
                      const struct log_hints **shown)
{
    enum { SHORT_LIST = 3 };
    static const char *const nouns[] = {"way", "set", "view"};
    static const struct table_column columns[] = {{"", TABLE_TEXT}, {"", TABLE_TEXT}, {0}};
    struct table lines = table_begin(out, columns);
    lines.has_header = true;
    lines.indent = 4;
    fputs("  ", out);
    human_print_name(out, file->name);
    fputc('\n', out);
    for (enum mpi_use_kind kind = 0; kind < MPI_USE_KINDS; kind++) {
        size_t count;
        const struct mpi_use *use = mpi_files_uses(&summary->mpi_files, file, kind, &count);
        size_t some = all || count < SHORT_LIST ? count : SHORT_LIST;
        for (size_t i = 0; i < some; i++) add_use(&lines, summary->log, &use[i], shown);
        if (some == count) continue;
        table_text(&lines, "");
        table_printf(&lines, "... and %s more", human_count(count - some, nouns[kind]).text);
        table_row(&lines);
    }
    return table_end(&lines);
}

int info_mpi_text(const struct summary *summary, bool all, FILE *out)
{
    const struct log_hints *shown_hints = NULL;
    size_t files = 0, shown = 0;
    for (size_t i = 0; i < summary->file_count; i++)
        files += mpi_files_has(&summary->mpi_files, summary->files[i].file);
    if (files) fprintf(out, "\nMPI files  %s\n", human_count(files, "").text);
    for (size_t i = 0; i < summary->file_count && (all || shown < INFO_SHORT_LIST); i++) {
        const struct log_file *file = summary->files[i].file;
        if (!mpi_files_has(&summary->mpi_files, file)) continue;
        FORWARD(print_file(out, summary, file, all, &shown_hints));
        shown++;
    }
    info_print_more(shown, files, out);
    return 0;
}
