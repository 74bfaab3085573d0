// What `ioseer diff` prints for people.
#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "base/table.h"
#include "cli/diff.h"

static struct human human_change(double a, double b)
{
    struct human words = {"-"};
    double percent = diff_percent(a, b);
    if (!isfinite(percent)) return words;
    if (percent < 900)
        snprintf(words.text, sizeof words.text, "%+.1f %%", percent);
    else
        snprintf(words.text, sizeof words.text, "x %.0f", b / a);
    return words;
}

static struct human human_quantity(enum diff_quantity quantity, double value)
{
    struct human words = {"-"};
    if (isnan(value)) return words;
    if (quantity == QUANTITY_TIME || quantity == QUANTITY_OTHER) return human_seconds((int64_t)llround(value * 1e9));
    if (quantity == QUANTITY_WEIGHT) return human_bytes((uint64_t)value);
    if (quantity == QUANTITY_BANDWIDTH) return human_bandwidth(value);
    return human_count((uint64_t)value, "");
}

static struct human human_note_value(const struct diff_note *note, int64_t value)
{
    struct human words;
    if (note->unit == DIFF_COUNT)
        snprintf(words.text, sizeof words.text, "%" PRId64, value);
    else
        snprintf(words.text, sizeof words.text, "%s%.90s", value < 0 ? "-" : "",
                 human_bytes(value < 0 ? (uint64_t)-value : (uint64_t)value).text);
    return words;
}

static void add_notes(struct table *table, const struct diff_row *row)
{
    table_text(table, "");
    for (size_t i = 0; i < row->notes; i++) {
        const struct diff_note *note = &row->note[i];
        table_append(table, "%s%s%s%s", i ? ", " : "", note->op ? note->op : "", note->op ? " " : "", note->what);
        if (note->unit == DIFF_NO_VALUES) continue;
        if (note->unit == DIFF_TEXT)
            table_append(table, " %s -> %s", note->a_text ? note->a_text : "none",
                         note->b_text ? note->b_text : "none");
        else
            table_append(table, " %s -> %s", human_note_value(note, note->a).text,
                         human_note_value(note, note->b).text);
    }
}

static struct human human_range(uint32_t first, uint32_t last)
{
    struct human words = {"-"};
    if (first == DIFF_NONE) return words;
    if (first == last)
        snprintf(words.text, sizeof words.text, "%" PRIu32, first + 1);
    else
        snprintf(words.text, sizeof words.text, "%" PRIu32 "-%" PRIu32, first + 1, last + 1);
    return words;
}

static const char *operations_of(const struct phase_fingerprint *phase)
{
    bool reads = phase->features.classes & 1u << CLASS_READ, writes = phase->features.classes & 1u << CLASS_WRITE;
    return reads && writes ? "read, write" : reads ? "read" : writes ? "write" : "no transfers";
}

static void add_block(struct table *table, const struct diff *diff, size_t first, size_t end)
{
    const struct diff_row *row = &diff->row[first], *last = &diff->row[end - 1];
    const struct phase_fingerprint *phase = row->a != DIFF_NONE ? &diff->in_a.phase[row->a] : &diff->in_b.phase[row->b];
    double sum[2][QUANTITY_COUNT] = {{0}};
    for (size_t i = first; i < end; i++) {
        struct diff_values a = diff_phase_values(diff->a, &diff->in_a, diff->row[i].a),
                           b = diff_phase_values(diff->b, &diff->in_b, diff->row[i].b);
        for (unsigned q = 0; q < QUANTITY_COUNT; q++) {
            sum[0][q] += a.of[q];
            sum[1][q] += b.of[q];
        }
    }
    table_text(table, human_range(row->a, last->a).text);
    table_text(table, human_range(row->b, last->b).text);
    table_text(table, diff_change_name(row->change));
    table_text(table, operations_of(phase));
    static const enum diff_quantity shown[] = {QUANTITY_TIME, QUANTITY_WEIGHT};
    for (unsigned i = 0; i < 2; i++) {
        double a = sum[0][shown[i]], b = sum[1][shown[i]];
        table_text(table, row->a == DIFF_NONE ? NULL : human_quantity(shown[i], a).text);
        table_text(table, row->b == DIFF_NONE ? NULL : human_quantity(shown[i], b).text);
        table_text(table, a == b ? "" : human_change(a, b).text);
    }
    add_notes(table, row);
    table_row(table);
}

static void print_summary(FILE *out, const struct comparison *c)
{
    const struct diff *diff = &c->diff;
    size_t count[DIFF_REMOVED + 1] = {0};
    for (size_t i = 0; i < diff->rows; i++) count[diff->row[i].change]++;
    if (diff->equal) {
        fputs("Equal structures; ", out);
    } else {
        fputs("Different structures", out);
        unsigned parts = 0;
        for (unsigned change = DIFF_SAME; change <= DIFF_REMOVED; change++) {
            if (!count[change]) continue;
            fprintf(out, "%s%s %s", parts++ ? ", " : ": ", human_count(count[change], "phase").text,
                    change == DIFF_NP ? "the same but for the number of processes" : diff_change_name(change));
        }
        fputs("; ", out);
    }
    double a = c->total[0].of[QUANTITY_TIME], b = c->total[1].of[QUANTITY_TIME];
    if (isnan(a) || isnan(b)) {
        fputs("a model without times was given\n", out);
        return;
    }
    fprintf(out, "I/O took %s in A and %s in B (%s)\n", human_quantity(QUANTITY_TIME, a).text,
            human_quantity(QUANTITY_TIME, b).text, human_change(a, b).text);
}

int diff_text(const struct comparison *c, FILE *out)
{
    static const struct table_column columns[] = {
        {"PHASE A", TABLE_TEXT},  {"PHASE B", TABLE_TEXT}, {"CHANGE", TABLE_TEXT},       {"OPERATIONS", TABLE_TEXT},
        {"TIME A", TABLE_UNIT},   {"TIME B", TABLE_UNIT},  {"", TABLE_NUMBER},           {"WEIGHT A", TABLE_UNIT},
        {"WEIGHT B", TABLE_UNIT}, {"", TABLE_NUMBER},      {"WHAT CHANGED", TABLE_TEXT}, {0}};
    struct table table = table_begin(out, columns);
    for (size_t first = 0, end; first < c->diff.rows; first = end) {
        end = diff_block_end(&c->diff, first);
        add_block(&table, &c->diff, first, end);
    }
    FORWARD(table_end(&table));
    fputc('\n', out);
    print_summary(out, c);
    return 0;
}

void diff_print_finding(const struct comparison *c, size_t i)
{
    const struct diff_finding *finding = &c->finding[i];
    enum diff_quantity quantity = finding->condition->quantity;
    fprintf(stderr, "ioseer diff: %s: ", c->limit[i].text);
    if (quantity == QUANTITY_STRUCTURE) {
        fputs("the structures are different\n", stderr);
        return;
    }
    if (finding->row == DIFF_NONE) {
        fputs("in all", stderr);
    } else {
        const struct diff_row *row = &c->diff.row[finding->row];
        fprintf(stderr, "phase %s of A and %s of B", row->a == DIFF_NONE ? "none" : human_range(row->a, row->a).text,
                row->b == DIFF_NONE ? "none" : human_range(row->b, row->b).text);
    }
    fprintf(stderr, ": %s %s in A, %s in B (%s)", diff_quantity_name(quantity),
            human_quantity(quantity, finding->a).text, human_quantity(quantity, finding->b).text,
            human_change(finding->a, finding->b).text);
    if (finding->rows > 1) fprintf(stderr, "; also in %s", human_count(finding->rows - 1, "other phase").text);
    fputc('\n', stderr);
}
