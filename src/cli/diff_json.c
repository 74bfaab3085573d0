// What `ioseer diff --json` prints.
#include <math.h>

#include "base/json_keys.h"
#include "cli/diff.h"

static void key_id(struct json_out *json, const char *key, uint32_t place)
{
    key_number_if(json, key, place != DIFF_NONE, (uint64_t)place + 1);
}

static void key_pair(struct json_out *json, enum diff_quantity quantity, const struct diff_values *a,
                     const struct diff_values *b)
{
    const struct diff_values *values[] = {a, b};
    for (unsigned side = 0; side < 2; side++) {
        char key[32];
        snprintf(key, sizeof key, "%s_%c", diff_quantity_name(quantity), 'a' + (int)side);
        key_double(json, key, values[side] ? values[side]->of[quantity] : NAN);
    }
}

static void print_note(struct json_out *json, const struct diff_note *note)
{
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

static void print_row(struct json_out *json, const struct diff *diff, const struct diff_row *row)
{
    struct diff_values a = diff_phase_values(diff->a, &diff->in_a, row->a),
                       b = diff_phase_values(diff->b, &diff->in_b, row->b);
    const struct diff_values *in_a = row->a == DIFF_NONE ? NULL : &a, *in_b = row->b == DIFF_NONE ? NULL : &b;
    json_object(json);
    key_id(json, "a", row->a);
    key_id(json, "b", row->b);
    key_text(json, "change", diff_change_name(row->change));
    key_array(json, "differences");
    for (size_t i = 0; i < row->notes; i++) print_note(json, &row->note[i]);
    json_close(json);
    for (unsigned q = QUANTITY_TIME; q < QUANTITY_PHASES; q++) key_pair(json, q, in_a, in_b);
    json_close(json);
}

static void print_program(struct json_out *json, const struct diff *diff, const struct diff_program *pair)
{
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

static void print_finding(struct json_out *json, const struct comparison *c, size_t i)
{
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

void diff_json(const struct comparison *c, struct json_out *json)
{
    const struct diff *diff = &c->diff;
    json_object(json);
    key_bool(json, "equal", diff->equal);
    key_array(json, "programs");
    for (size_t i = 0; i < diff->programs; i++) print_program(json, diff, &diff->program[i]);
    json_close(json);
    key_array(json, "phases");
    for (size_t i = 0; i < diff->rows; i++) print_row(json, diff, &diff->row[i]);
    json_close(json);
    key_object(json, "total");
    for (unsigned q = QUANTITY_TIME; q < QUANTITY_COUNT; q++) key_pair(json, q, &c->total[0], &c->total[1]);
    json_close(json);
    key_array(json, "failed");
    for (size_t i = 0; i < c->limits; i++) {
        if (c->finding[i].holds) print_finding(json, c, i);
    }
    json_close(json);
    json_close(json);
}
