#include "predict/prediction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"

void prediction_free(struct prediction *prediction) {
    for (size_t i = 0; i < prediction->targets; i++) {
        struct predicted_target *target = &prediction->target[i];
        for (size_t k = 0; k < target->phases; k++) free(target->phase[k].points);
        free(target->phase);
        free(target->name);
        free(target->method);
        free(target->reason);
    }
    free(prediction->target);
    free(prediction->program);
    free(prediction->executable);
    *prediction = (struct prediction){0};
}

bool prediction_is_first(const struct prediction *prediction, size_t target) {
    if (!target) return true;
    const struct predicted_target *this = &prediction->target[target], *before = &prediction->target[target - 1];
    return strcmp(this->name, before->name) || !strcmp(this->method, before->method);
}

const struct predicted_target *prediction_best(const struct prediction *prediction) {
    const struct predicted_target *best = NULL;
    size_t rivals = 0;
    for (size_t i = 0; i < prediction->targets; i++) {
        const struct predicted_target *target = &prediction->target[i];
        if (!prediction_is_first(prediction, i)) continue;
        rivals++;
        if (!best || target->total.middle < best->total.middle) best = target;
    }
    for (size_t i = 0; best && i < prediction->targets; i++) {
        const struct predicted_target *target = &prediction->target[i];
        if (target == best || !prediction_is_first(prediction, i)) continue;
        if (target->total.low <= best->total.high) return NULL;
    }
    return rivals > 1 ? best : NULL;
}

const char *predict_end_text(enum predict_end end) {
    static const char *const text[PREDICT_ENDS] = {NULL, "precise", "told apart", "most runs"};
    return text[end];
}

// --- writing

static void write_phase(const struct predicted_phase *phase, struct json_out *json) {
    json_object(json);
    json_members(json, m_number("id", phase->id), m_bool("predicted", phase->predicted));
    interval_write(json, "time", &phase->seconds);
    if (phase->runs) key_number(json, "runs", phase->runs);
    if (phase->points) {
        json_members(json, m_text("points", phase->points), m_bool("extrapolated", phase->extrapolated));
    }
    json_close(json);
}

static void write_target(const struct predicted_target *target, struct json_out *json) {
    json_object(json);
    json_members(json, m_text("name", target->name), m_text("method", target->method),
                 m_bool("predictable", target->predictable), m_text("reason", target->reason));
    interval_write(json, "total", &target->total);
    json_members(json, m_double_if("cv", target->runs > 1, target->variation), m_number("runs", target->runs),
                 m_double_if("precision", target->runs > 1, target->precision));
    if (target->runs)
        json_members(json, m_number("left_out", target->left_out),
                     m_double_if("left_out_error_pct", target->left_out, 100 * target->sample_error));
    key_array(json, "phases");
    for (size_t i = 0; i < target->phases; i++) write_phase(&target->phase[i], json);
    json_close(json);
    json_close(json);
}

void prediction_write(const struct prediction *prediction, struct json_out *json) {
    const struct predicted_target *best = prediction_best(prediction);
    json_object(json);
    json_members(json, m_text("program", prediction->program), m_text("executable", prediction->executable),
                 m_number("programs", prediction->programs),
                 m_double_if("recorded", prediction->recorded > 0, prediction->recorded));
    key_array(json, "targets");
    for (size_t i = 0; i < prediction->targets; i++) write_target(&prediction->target[i], json);
    json_close(json);
    json_members(json, m_text("best", best ? best->name : NULL),
                 m_double_if("precision", prediction->asked > 0, prediction->asked),
                 m_text("ended", predict_end_text(prediction->end)));
    json_close(json);
}

// --- reading

// A text that is not there stays NULL, unless it must be there: then `error` is not NULL.
static int copy_text(const struct json_value *object, const char *key, char **out, struct json_in_error *error) {
    const char *text;
    if (error)
        FORWARD(json_in_need_text(object, key, &text, NULL, error));
    else if (json_in_text(json_in_member(object, key), &text, NULL) < 0)
        return 0;
    *out = strdup(text);
    return *out ? 0 : -ENOMEM;
}

static int read_interval(const struct json_value *object, const char *key, struct interval *out,
                         struct json_in_error *error) {
    FORWARD(json_in_need_double(object, key, &out->middle, error));
    out->low = out->high = out->middle;
    json_in_double(json_in_member(object, "low"), &out->low);
    json_in_double(json_in_member(object, "high"), &out->high);
    return 0;
}

static int read_target(const struct json_value *value, struct predicted_target *target, struct json_in_error *error) {
    const struct json_value *phases;
    FORWARD(copy_text(value, "name", &target->name, error));
    FORWARD(copy_text(value, "method", &target->method, error));
    FORWARD(copy_text(value, "reason", &target->reason, NULL));
    FORWARD(json_in_need_bool(value, "predictable", &target->predictable, error));
    FORWARD(read_interval(value, "total", &target->total, error));
    json_in_double(json_in_member(value, "cv"), &target->variation);
    FORWARD(json_in_need_array(value, "phases", &phases, error));
    target->phase = calloc(json_in_length(phases) + 1, sizeof *target->phase);
    RETURN_IF(!target->phase, -ENOMEM);
    for (; target->phases < json_in_length(phases); target->phases++) {
        const struct json_value *phase = json_in_at(phases, target->phases);
        struct predicted_phase *to = &target->phase[target->phases];
        FORWARD(json_in_need_uint64(phase, "id", &to->id, error));
        FORWARD(read_interval(phase, "time", &to->seconds, error));
    }
    return 0;
}

static int read_all(struct prediction *prediction, const struct json_value *root, struct json_in_error *error) {
    const struct json_value *targets;
    FORWARD(json_in_need_array(root, "targets", &targets, error));
    FORWARD(copy_text(root, "program", &prediction->program, NULL));
    json_in_double(json_in_member(root, "recorded"), &prediction->recorded);
    prediction->target = calloc(json_in_length(targets) + 1, sizeof *prediction->target);
    RETURN_IF(!prediction->target, -ENOMEM);
    while (prediction->targets < json_in_length(targets)) {
        size_t i = prediction->targets++;
        FORWARD(read_target(json_in_at(targets, i), &prediction->target[i], error));
    }
    return 0;
}

int prediction_read(struct prediction *prediction, const char *path, struct json_in_error *error) {
    struct json_in json;
    *prediction = (struct prediction){0};
    FORWARD(json_in_read(&json, path, error));
    int code = read_all(prediction, json.root, error);
    json_in_free(&json);
    if (code < 0) prediction_free(prediction);
    return code;
}
