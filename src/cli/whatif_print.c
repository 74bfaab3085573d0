#include "cli/whatif_print.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "cli/argument.h"

// --- tables

static void add_measured(struct table *table, const struct whatif_option *option) {
    if (!option->verified) {
        table_text(table, option->reason ? option->reason : "");
        return;
    }
    double off = option->measured.middle > 0 ? option->total.middle / option->measured.middle - 1 : 0;
    table_printf(table, "%s (%+.1f %%)", human_time(option->measured.middle).text, 100 * off);
}

static bool is_verified(const struct whatif_target *target) {
    for (size_t i = 0; i < target->options; i++) {
        if (target->option[i].verified || target->option[i].reason) return true;
    }
    return false;
}

static int print_options(const struct whatif_target *target, FILE *out) {
    bool verified = is_verified(target);
    const struct table_column columns[] = {{"", TABLE_TEXT},
                                           {"WAY", TABLE_NAME},
                                           {"I/O TIME", TABLE_UNIT},
                                           {"INTERVAL", TABLE_NUMBER},
                                           {"PUBLISHED", TABLE_UNIT},
                                           {"EXCHANGED", TABLE_UNIT},
                                           {"STORAGE", TABLE_UNIT},
                                           {verified ? "MEASURED (ERROR)" : NULL, TABLE_NUMBER},
                                           {0}};
    struct table table = table_begin(out, columns);
    for (size_t i = 0; i < target->options; i++) {
        const struct whatif_option *option = &target->option[i];
        table_text(&table, i == target->best ? "*" : "");
        table_text(&table, option->name);
        table_text(&table, human_time(option->total.middle).text);
        table_printf(&table, "%s - %s", human_time(option->total.low).text, human_time(option->total.high).text);
        table_text(&table, isfinite(option->published) ? human_time(option->published).text : NULL);
        table_text(&table, option->exchanged > 0 ? human_percent(option->crossing).text : "");
        table_text(&table, human_time(option->parts.storage).text);
        if (verified) add_measured(&table, option);
        table_row(&table);
    }
    return table_end(&table);
}

// The phases where the best way is not that of the whole program.
static int print_phases(const struct whatif *result, const struct whatif_target *target, FILE *out) {
    static const struct table_column columns[] = {
        {"PHASE", TABLE_NUMBER}, {"BEST", TABLE_NAME}, {"I/O TIME", TABLE_UNIT}, {"AS RECORDED", TABLE_UNIT}, {0}};
    struct table table = table_begin(out, columns);
    for (size_t i = 0; i < result->phases; i++) {
        const struct whatif_option *best = &target->option[target->phase_best[i]];
        table_number(&table, result->phase[i]);
        table_text(&table, best->name);
        table_text(&table, human_time(best->phase[i].extended.seconds.middle).text);
        table_text(&table, human_time(target->option[0].phase[i].extended.seconds.middle).text);
        table_row(&table);
    }
    return table_end(&table);
}

// --- what to set

static void print_info_lines(const struct whatif_option *best, FILE *out) {
    fprintf(out, "  a file for the variable ROMIO_HINTS (--hints FILE writes it):\n");
    for (unsigned i = 0; i < best->hints; i++) fprintf(out, "    %s %s\n", best->hint[i].name, best->hint[i].value);
    for (unsigned i = 0; i < best->hints; i++) {
        if (best->overruled >> i & 1)
            fprintf(
                out,
                "    (The program itself asks for another %s, which comes before that of the file: change it there.)\n",
                best->hint[i].name);
    }
    fprintf(out, "  C, before MPI_File_open:\n");
    for (unsigned i = 0; i < best->hints; i++)
        fprintf(out, "    MPI_Info_set(info, \"%s\", \"%s\");\n", best->hint[i].name, best->hint[i].value);
    fprintf(out, "  Fortran:\n");
    for (unsigned i = 0; i < best->hints; i++)
        fprintf(out, "    call MPI_Info_set(info, '%s', '%s', ierror)\n", best->hint[i].name, best->hint[i].value);
}

// OMPIO has parameters in place of hints.
static void print_parameters(const struct variant *variant, FILE *out) {
    fprintf(out, "  Open MPI: mpiexec --mca io romio321 with these hints, or with OMPIO:");
    if (variant->interface == VARIANT_INDEPENDENT) fprintf(out, " --mca fcoll individual");
    if (variant->cb_nodes) fprintf(out, " --mca io_ompio_num_aggregators %u", variant->cb_nodes);
    if (variant->cb_buffer) fprintf(out, " --mca io_ompio_bytes_per_agg %llu", (unsigned long long)variant->cb_buffer);
    fputc('\n', out);
}

static void print_changes(const struct variant *variant, FILE *out) {
    static const char *const calls[][2] = {
        [VARIANT_SAME] = {NULL, "nonblocking ones"},
        [VARIANT_COLLECTIVE] = {"collective ones (MPI_File_write_at_all ...), with the hints below",
                                "nonblocking collective ones (MPI_File_iwrite_at_all ...), with the hints below"},
        [VARIANT_INDEPENDENT] = {"independent ones (MPI_File_write_at ...), or collective ones with the hints below",
                                 "nonblocking independent ones (MPI_File_iwrite_at ...)"},
        [VARIANT_POSIX] = {"pread and pwrite, one for each contiguous piece",
                           "aio_read and aio_write, one for each contiguous piece"}};
    const char *call = calls[variant->interface][variant->nonblocking];
    if (call)
        fprintf(out, "  calls: %s%s\n", call,
                variant->nonblocking ? "; they end when the program needs their data" : "");
    if (variant->own_files) fprintf(out, "  files: one for each process\n");
    if (variant->request) fprintf(out, "  requests: of %s\n", human_bytes(variant->request).text);
    if (variant->request_factor > 0) fprintf(out, "  requests: %g times as large\n", variant->request_factor);
    if (variant->alignment) fprintf(out, "  requests: at multiples of %s\n", human_bytes(variant->alignment).text);
    if (variant->np) fprintf(out, "  processes: %u\n", variant->np);
}

static void print_best(const struct whatif_target *target, FILE *out) {
    const struct whatif_option *best = &target->option[target->best], *recorded = &target->option[0];
    if (!target->best) {
        fprintf(out, "\nAs it is, the program does its I/O in the best of these ways.\n");
        return;
    }
    fprintf(out, "\nBest: %s, %s instead of %s%s.\n", best->name, human_time(best->total.middle).text,
            human_time(recorded->total.middle).text,
            target->within_noise ? "; that is within the uncertainty of these times" : "");
    fprintf(out, "\nWhat to set:\n");
    print_changes(&best->variant, out);
    if (best->hints) {
        print_info_lines(best, out);
        print_parameters(&best->variant, out);
    }
}

// --- crossovers

static void print_crossover(const struct crossover *crossover, FILE *out) {
    const struct crossover_curve *bandwidth = &crossover->bandwidth, *tau = &crossover->tau;
    if (bandwidth->is_known) {
        const char *where = bandwidth->wins_below ? "below" : "above";
        fputc('\n', out);
        if (isfinite(bandwidth->crossing))
            fprintf(out, "Collective I/O wins where the storage does %s %s.\n", where,
                    human_bandwidth(bandwidth->crossing).text);
        else
            fprintf(out, "%s I/O wins at any bandwidth near this one (%s to %s).\n",
                    bandwidth->wins_below ? "Collective" : "Independent", human_bandwidth(bandwidth->x[0]).text,
                    human_bandwidth(bandwidth->x[CROSSOVER_POINTS - 1]).text);
    }
    if (tau->is_known && isfinite(tau->crossing))
        fprintf(out, "By the published model collective I/O wins if %s %s of the data is exchanged.\n",
                tau->wins_below ? "less than" : "more than", human_percent(tau->crossing).text);
}

// --- all

static int print_target(const struct whatif *result, const struct whatif_target *target, FILE *out) {
    fprintf(out, "On %s, %u process%s:\n\n", target->name, result->np, result->np == 1 ? "" : "es");
    FORWARD(print_options(target, out));
    if (target->mpiio && !strcmp(target->mpiio->library, "ompio"))
        fprintf(out,
                "\nThe times of OMPIO's collective calls have not been checked against programs: `--verify` does.\n");
    if (result->phases > 1) {
        fputc('\n', out);
        FORWARD(print_phases(result, target, out));
    }
    print_best(target, out);
    print_crossover(&target->crossover, out);
    return 0;
}

int whatif_print(const struct model *model, const struct whatif *result, FILE *out) {
    argument_print_program(out, model, result->program, "looked at");
    for (size_t i = 0; i < result->targets; i++) {
        if (i) fputc('\n', out);
        FORWARD(print_target(result, &result->target[i], out));
    }
    if (result->recorded > 0)
        fprintf(out, "\nIn the recorded run the I/O took %s.\n", human_time(result->recorded).text);
    if (result->share < 1)
        fprintf(out, "Only the first %s of the bytes were looked at; the others are taken to be like them.\n",
                human_percent(result->share).text);
    return 0;
}
