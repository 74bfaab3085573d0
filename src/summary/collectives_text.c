#include <stdlib.h>

#include "base/err.h"
#include "base/table.h"
#include "summary/collectives.h"

static const char *const words[INSIDE_PARTS] = {"waiting", "exchange", "file access", "rest"};

static void print_totals(const struct collectives *all, FILE *out) {
    const struct log_collectives *in = &all->in;
    int64_t all_ns = 0;
    for (unsigned i = 0; i < INSIDE_PARTS; i++) all_ns += in->ns[i];
    fprintf(out, "  %s, %s over all ranks", human_count(in->calls, "call").text, human_seconds(all_ns).text);
    for (unsigned i = 0; all_ns && i < INSIDE_PARTS; i++)
        fprintf(out, "%s%s %s", i ? ", " : ": ", human_percent((double)in->ns[i] / (double)all_ns).text, words[i]);
    fputc('\n', out);
    struct collectives_shuffle shuffle = collectives_shuffle(in->ns[INSIDE_EXCHANGE], in->ns[INSIDE_IO], all_ns);
    if (shuffle.known)
        fprintf(out, "  exchange is %s of exchange and file access together\n", human_percent(shuffle.of_moving).text);
    if (in->unmatched)
        fprintf(out, "  and %s that could not be matched with those of the other ranks: not divided\n",
                human_count(in->unmatched, "call").text);
    if (in->nonblocking) fprintf(out, "  and %s: not divided\n", human_count(in->nonblocking, "nonblocking call").text);
    if (all->ended)
        fprintf(out, "  The trace of %s ended early: later calls are not counted here.\n",
                human_count(all->ended, "process").text);
}

static void add_aggregators(struct table *table, const struct collectives *all, const struct collectives_row *row,
                            const struct mpi_files *files) {
    struct bytes ranks = {0};
    collectives_ranks(all, row, &ranks);
    if (bytes_append(&ranks, "", 1) == 0) table_text(table, row->aggregators ? (const char *)ranks.data : NULL);
    bytes_free(&ranks);
    const char *const names[] = {"cb_nodes", "cb_buffer_size",
                                 row->call->class == CLASS_WRITE ? "romio_ds_write" : "romio_ds_read"};
    const char *before = " (";
    for (size_t i = 0; row->aggregators && i < sizeof names / sizeof *names; i++) {
        const char *value = collectives_hint(files, row->file, names[i]);
        if (!value) continue;
        table_append(table, "%s%s=%s", before, names[i], value);
        before = ", ";
    }
    if (*before == ',') table_append(table, ")");
}

static void add_row(struct table *table, const struct collectives *all, const struct collectives_row *row,
                    const struct mpi_files *files) {
    if (log_world_count(all->in.log) > 1) table_number_if(table, row->world != LOG_NO_WORLD, row->world);
    table_number(table, row->calls);
    table_duration(table, collectives_time_ns(row));
    for (unsigned i = 0; i < INSIDE_PARTS; i++)
        table_printf(table, "%s +- %s", human_time(collectives_mean(&row->part[i])).text,
                     human_time(collectives_deviation(&row->part[i])).text);
    if (row->two_phase)
        table_printf(table, "%.3g", (double)row->rounds / (double)row->two_phase);
    else
        table_text(table, NULL);
    if (row->round[0].count && row->rounds > row->two_phase)
        table_append(table, " (exchange %s, I/O %s)", human_time(collectives_mean(&row->round[INSIDE_EXCHANGE])).text,
                     human_time(collectives_mean(&row->round[INSIDE_IO])).text);
    add_aggregators(table, all, row, files);
    table_text(table, row->call->name);
    table_text(table, row->file ? row->file->name : NULL);
    table_row(table);
}

int collectives_text(const struct collectives *all, const struct mpi_files *files, size_t most, FILE *out) {
    static const struct table_column columns[] = {
        {"WORLD", TABLE_NUMBER},     {"CALLS", TABLE_NUMBER}, {"TIME", TABLE_UNIT},   {"WAIT", TABLE_NUMBER},
        {"EXCHANGE", TABLE_NUMBER},  {"I/O", TABLE_NUMBER},   {"REST", TABLE_NUMBER}, {"ROUNDS", TABLE_NUMBER},
        {"AGGREGATORS", TABLE_TEXT}, {"CALL", TABLE_TEXT},    {"FILE", TABLE_NAME},   {0}};
    print_totals(all, out);
    if (!all->in.calls) return 0;
    fputs("  TIME is the sum; each part is the mean per call and rank +- standard deviation\n", out);
    fputs("  and, beside ROUNDS, the mean per round and aggregator\n", out);
    struct table table = table_begin(out, columns + (log_world_count(all->in.log) < 2));
    table.indent = 2;
    for (size_t i = 0; i < all->divided && i < most; i++) add_row(&table, all, &all->row[i], files);
    return table_end(&table);
}
