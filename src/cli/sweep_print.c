#include "cli/sweep_print.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/table.h"
#include "report/page.h"

// Columns of lists with one element say nothing.
struct shown {
    bool cache, np, interface;
};

static struct shown shown_of(const struct sweep_grid *grid) {
    return (struct shown){grid->caches > 1 || grid->cache[0], grid->nps > 1 || grid->np[0], grid->interfaces > 1};
}

static struct table begin(const struct shown *shown, struct table_column column[9], FILE *out) {
    size_t count = 0;
    column[count++] = (struct table_column){"TARGET", TABLE_NAME};
    if (shown->cache) column[count++] = (struct table_column){"MEMORY", TABLE_UNIT};
    if (shown->np) column[count++] = (struct table_column){"NP", TABLE_NUMBER};
    if (shown->interface) column[count++] = (struct table_column){"INTERFACE", TABLE_TEXT};
    column[count++] = (struct table_column){"I/O TIME", TABLE_UNIT};
    column[count++] = (struct table_column){"95 % INTERVAL", TABLE_NUMBER};
    column[count++] = (struct table_column){"RUNS", TABLE_NUMBER};
    column[count++] = (struct table_column){"", TABLE_TEXT};
    column[count] = (struct table_column){0};
    return table_begin(out, column);
}

static void print_note(const struct sweep *sweep, const struct sweep_point *point, struct table *table) {
    const struct sweep_grid *grid = &sweep->grid;
    bool limited = grid->cache[point->cache] != 0;
    if (point->killed)
        table_text(table, "killed: it needs more memory");
    else if (point->failed)
        table_printf(table, "failed: %s", point->failed);
    else if (!point->runs)
        table_text(table, "not run yet");
    else if (!sweep_is_precise(sweep, point))
        table_printf(table, point->runs < 2 ? "1 run only" : "known within %s only",
                     human_percent(statistics_uncertainty(point->io, point->runs)).text);
    else if (limited && !grid->target[point->target].is_cached)
        table_text(table, "direct I/O: no page cache");
}

static int print_points(const struct sweep *sweep, FILE *out) {
    const struct sweep_grid *grid = &sweep->grid;
    struct shown shown = shown_of(grid);
    struct table_column column[9];
    struct table table = begin(&shown, column, out);
    for (size_t i = 0; i < sweep->points; i++) {
        const struct sweep_point *point = &sweep->point[i];
        struct interval time;
        bool known = sweep_time(point, &time);
        table_text(&table, grid->target[point->target].name);
        if (shown.cache && !grid->cache[point->cache]) table_text(&table, "none");
        if (shown.cache && grid->cache[point->cache]) table_bytes(&table, grid->cache[point->cache]);
        if (shown.np) table_number(&table, grid->np[point->np]);
        if (shown.interface) table_text(&table, grid->interface[point->interface]);
        table_text(&table, known ? human_time(time.middle).text : NULL);
        table_printf(&table, known && point->runs > 1 ? "%s - %s" : "", human_time(time.low).text,
                     human_time(time.high).text);
        table_number(&table, point->runs);
        print_note(sweep, point, &table);
        table_row(&table);
    }
    return table_end(&table);
}

int sweep_print(const struct sweep *sweep, FILE *out) {
    uint64_t touched = sweep_working_set(sweep);
    size_t killed = 0;
    FORWARD(print_points(sweep, out));
    for (size_t i = 0; i < sweep->points; i++) killed += sweep->point[i].killed;
    if (touched) fprintf(out, "\nThe program touches %s of its files (working set).\n", human_bytes(touched).text);
    if (killed)
        fprintf(out,
                "%zu of %zu points were killed for memory: the limit holds for the program's own memory and the page "
                "cache together.\n",
                killed, sweep->points);
    if (sweep->end == SWEEP_TIME) fputs("The time was over; the same command with -o continues.\n", out);
    return 0;
}

// --- the page

static int write_data(void *context, struct json_out *json) {
    json_object(json);
    key_number(json, "version", 1);
    json_key(json, "sweep");
    sweep_write(context, json);
    json_close(json);
    return json->error;
}

int sweep_print_chart(const struct sweep *sweep, FILE *out) {
    char *text = NULL;
    size_t len;
    int code = json_out_memory(&text, &len, write_data, (void *)sweep);
    if (code == 0) code = page_fill_template(text, "null", out);
    free(text);
    return code;
}
