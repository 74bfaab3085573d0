#include <math.h>

#include "base/json_keys.h"
#include "whatif/whatif.h"

static void write_hints(const struct whatif_option *option, struct json_out *json) {
    key_object(json, "hints");
    for (unsigned i = 0; i < option->hints; i++) key_text(json, option->hint[i].name, option->hint[i].value);
    json_close(json);
}

static void write_parts(const struct extended *parts, struct json_out *json) {
    json_key(json, "parts");
    json_object_of(json, m_double("agreeing", parts->agreeing), m_double("shuffling", parts->shuffling),
                   m_double("calling", parts->calling), m_double("storage", parts->storage),
                   m_double("waiting", parts->waiting));
}

static void write_option(const struct whatif_option *option, struct json_out *json) {
    json_object(json);
    key_text(json, "name", option->name);
    interval_write(json, "time", &option->total);
    json_members(json, m_double("published", option->published), m_double("tau", option->exchanged),
                 m_double("crossing", option->crossing), m_bool("extrapolated", option->parts.extrapolated));
    write_parts(&option->parts, json);
    write_hints(option, json);
    json_key(json, "verified");
    if (option->verified) {
        json_object(json);
        interval_write(json, "time", &option->measured);
        key_number(json, "runs", option->runs);
        json_close(json);
    } else {
        json_null(json);
    }
    if (option->reason) key_text(json, "reason", option->reason);
    json_close(json);
}

static void write_phase(const struct whatif *result, const struct whatif_target *target, size_t place,
                        struct json_out *json) {
    json_object(json);
    key_number(json, "id", result->phase[place]);
    key_array(json, "options");
    for (size_t i = 0; i < target->options; i++) {
        const struct whatif_phase *phase = &target->option[i].phase[place];
        json_object(json);
        key_text(json, "name", target->option[i].name);
        interval_write(json, "time", &phase->extended.seconds);
        key_double(json, "published", phase->published);
        json_close(json);
    }
    json_close(json);
    key_text(json, "best", target->option[target->phase_best[place]].name);
    json_close(json);
}

static void write_target(const struct whatif *result, const struct whatif_target *target, struct json_out *json) {
    key_text(json, "name", target->name);
    key_array(json, "options");
    for (size_t i = 0; i < target->options; i++) write_option(&target->option[i], json);
    json_close(json);
    json_members(json, m_text("best", target->option[target->best].name), m_bool("within_noise", target->within_noise));
    key_array(json, "phases");
    for (size_t i = 0; i < result->phases; i++) write_phase(result, target, i, json);
    json_close(json);
    crossover_write(&target->crossover, json);
}

// With one target its members stand at the top, too.
void whatif_write(const struct whatif *result, struct json_out *json) {
    json_object(json);
    json_members(json, m_number("np", result->np), m_double_if("recorded", result->recorded > 0, result->recorded),
                 m_double("looked_at", result->share));
    if (result->targets == 1) write_target(result, &result->target[0], json);
    key_array(json, "targets");
    for (size_t i = 0; i < result->targets && result->targets > 1; i++) {
        json_object(json);
        write_target(result, &result->target[i], json);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}
