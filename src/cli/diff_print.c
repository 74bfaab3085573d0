// What `ioseer diff` prints, for people and as JSON.
#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/table.h"
#include "cli/diff.h"
#include "cli/verb.h"

static struct human human_change(double a, double b) {
    struct human words = {"-"};
    double percent = diff_percent(a, b);
    if (!isfinite(percent)) return words;
    if (percent < 900)
        snprintf(words.text, sizeof words.text, "%+.1f %%", percent);
    else
        snprintf(words.text, sizeof words.text, "x %.0f", b / a);
    return words;
}

static struct human human_quantity(enum diff_quantity quantity, double value) {
    struct human words = {"-"};
    if (isnan(value)) return words;
    if (quantity == QUANTITY_TIME || quantity == QUANTITY_OTHER) return human_seconds((int64_t)llround(value * 1e9));
    if (quantity == QUANTITY_WEIGHT) return human_bytes((uint64_t)value);
    if (quantity == QUANTITY_BANDWIDTH) return human_bandwidth(value);
    return human_count((uint64_t)value, "");
}

static struct human human_note_value(const struct diff_note *note, int64_t value) {
    struct human words;
    if (note->unit == DIFF_COUNT)
        snprintf(words.text, sizeof words.text, "%" PRId64, value);
    else
        snprintf(words.text, sizeof words.text, "%s%.90s", value < 0 ? "-" : "",
                 human_bytes(value < 0 ? (uint64_t)-value : (uint64_t)value).text);
    return words;
}

static void add_notes(struct table *table, const struct diff_row *row) {
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

static struct human human_range(uint32_t first, uint32_t last) {
    struct human words = {"-"};
    if (first == DIFF_NONE) return words;
    if (first == last)
        snprintf(words.text, sizeof words.text, "%" PRIu32, first + 1);
    else
        snprintf(words.text, sizeof words.text, "%" PRIu32 "-%" PRIu32, first + 1, last + 1);
    return words;
}

// The first metadata operation of a phase without transfers; NULL: there is none.
static const char *metadata_of(const struct model *model, const struct phase_fingerprint *phase) {
    if (!phase->parts || phase->part[0]->is_other) return NULL;
    struct model_leaves leaves = model_leaves(&phase->part[0]->part->items);
    const char *name = NULL;
    for (const struct model_item *item; !name && (item = model_next_leaf(&leaves));)
        name = op_kind_name(&model->kind[item->type == LOOPS_LIST ? item->list[0][0].kind : item->kind]);
    return name;
}

static const char *operations_of(const struct model *model, const struct phase_fingerprint *phase) {
    bool reads = phase->features.classes & 1u << CLASS_READ, writes = phase->features.classes & 1u << CLASS_WRITE;
    const char *name = reads || writes ? NULL : metadata_of(model, phase);
    return reads && writes ? "read, write" : reads ? "read" : writes ? "write" : name ? name : "no transfers";
}

static void add_block(struct table *table, const struct diff *diff, size_t first, size_t end) {
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
    table_text(table, operations_of(row->a != DIFF_NONE ? diff->a : diff->b, phase));
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

static void print_summary(FILE *out, const struct comparison *c) {
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
                    change == DIFF_NP ? "the same except for the number of processes" : diff_change_name(change));
        }
        fputs("; ", out);
    }
    double a = c->total[0].of[QUANTITY_TIME], b = c->total[1].of[QUANTITY_TIME];
    if (isnan(a) || isnan(b)) {
        fputs("one of the models has no times\n", out);
        return;
    }
    fprintf(out, "I/O took %s in A and %s in B (%s)\n", human_quantity(QUANTITY_TIME, a).text,
            human_quantity(QUANTITY_TIME, b).text, human_change(a, b).text);
}

int diff_text(const struct comparison *c, FILE *out) {
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

void diff_print_finding(const struct comparison *c, size_t i) {
    const struct diff_finding *finding = &c->finding[i];
    enum diff_quantity quantity = finding->condition->quantity;
    cli_prefix("diff");
    fprintf(stderr, "%s: ", c->limit[i].text);
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

// --- JSON

static void key_id(struct json_out *json, const char *key, uint32_t place) {
    key_number_if(json, key, place != DIFF_NONE, (uint64_t)place + 1);
}

static void key_pair(struct json_out *json, enum diff_quantity quantity, const struct diff_values *a,
                     const struct diff_values *b) {
    const struct diff_values *values[] = {a, b};
    for (unsigned side = 0; side < 2; side++) {
        char key[32];
        snprintf(key, sizeof key, "%s_%c", diff_quantity_name(quantity), 'a' + (int)side);
        key_double(json, key, values[side] ? values[side]->of[quantity] : NAN);
    }
}

static void note_json(struct json_out *json, const struct diff_note *note) {
    json_object(json);
    json_members(json, m_text("what", note->what), m_text("op", note->op));
    for (unsigned side = 0; side < 2; side++) {
        json_key(json, side ? "b" : "a");
        if (note->unit == DIFF_COUNT || note->unit == DIFF_BYTES)
            json_signed(json, side ? note->b : note->a);
        else
            json_text(json, side ? note->b_text : note->a_text);
    }
    json_close(json);
}

static void row_json(struct json_out *json, const struct diff *diff, const struct diff_row *row) {
    struct diff_values a = diff_phase_values(diff->a, &diff->in_a, row->a),
                       b = diff_phase_values(diff->b, &diff->in_b, row->b);
    const struct diff_values *in_a = row->a == DIFF_NONE ? NULL : &a, *in_b = row->b == DIFF_NONE ? NULL : &b;
    json_object(json);
    key_id(json, "a", row->a);
    key_id(json, "b", row->b);
    key_text(json, "change", diff_change_name(row->change));
    key_array(json, "differences");
    for (size_t i = 0; i < row->notes; i++) note_json(json, &row->note[i]);
    json_close(json);
    for (unsigned q = QUANTITY_TIME; q < QUANTITY_PHASES; q++) key_pair(json, q, in_a, in_b);
    json_close(json);
}

static void program_json(struct json_out *json, const struct diff *diff, const struct diff_program *pair) {
    static const char *const keys[][4] = {{"a", "name_a", "np_a", "mpi_a"}, {"b", "name_b", "np_b", "mpi_b"}};
    static const struct model_program none;
    json_object(json);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t place = i ? pair->b : pair->a;
        bool known = place != DIFF_NONE;
        const struct model_program *program = known ? &(i ? diff->b : diff->a)->program[place] : &none;
        json_members(json, m_number_if(keys[i][0], known, place), m_text(keys[i][1], program->name),
                     m_number_if(keys[i][2], known, program->np), m_bool_if(keys[i][3], known, program->is_mpi));
    }
    json_close(json);
}

static void finding_json(struct json_out *json, const struct comparison *c, size_t i) {
    const struct diff_finding *finding = &c->finding[i];
    const struct diff_row *row = finding->row == DIFF_NONE ? NULL : &c->diff.row[finding->row];
    bool has_values = finding->condition->quantity != QUANTITY_STRUCTURE;
    json_object(json);
    key_text(json, "limit", c->limit[i].text);
    key_id(json, "phase_a", row ? row->a : DIFF_NONE);
    key_id(json, "phase_b", row ? row->b : DIFF_NONE);
    json_members(json, m_double("a", has_values ? finding->a : NAN), m_double("b", has_values ? finding->b : NAN));
    json_close(json);
}

void diff_json(const struct comparison *c, struct json_out *json) {
    const struct diff *diff = &c->diff;
    json_object(json);
    key_bool(json, "equal", diff->equal);
    key_array(json, "programs");
    for (size_t i = 0; i < diff->programs; i++) program_json(json, diff, &diff->program[i]);
    json_close(json);
    key_array(json, "phases");
    for (size_t i = 0; i < diff->rows; i++) row_json(json, diff, &diff->row[i]);
    json_close(json);
    key_object(json, "total");
    for (unsigned q = QUANTITY_TIME; q < QUANTITY_COUNT; q++) key_pair(json, q, &c->total[0], &c->total[1]);
    json_close(json);
    key_array(json, "failed");
    for (size_t i = 0; i < c->limits; i++) {
        if (c->finding[i].holds) finding_json(json, c, i);
    }
    json_close(json);
    json_close(json);
}
