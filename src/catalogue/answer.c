// Values of answers as words and as JSON.
#include "catalogue/answer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "catalogue/slower.h"
#include "findings/findings.h"
#include "fmt/call.h"

static const char *const measure_names[SLOWER_MEASURES] = {[SLOWER_RUN] = "run_time", [SLOWER_IO] = "io_seconds"};

bool answer_is_known(const struct answer_column *column, const struct store_value *value) {
    bool has_unknown = column->kind == ANSWER_SHARE || column->kind == ANSWER_NS;
    if (column->kind == ANSWER_START && store_integer(value) == 0) return false; // the beginning of the log is damaged
    return value->kind != STORE_NULL && !(has_unknown && store_real(value) < 0);
}

const char *answer_name(const struct answer_column *column, const struct store_value *value) {
    int64_t number = store_integer(value);
    switch (column->kind) {
    case ANSWER_TEXT: return store_text(value);
    case ANSWER_SEVERITY:
        return number >= 0 && number <= FINDING_HIGH ? finding_severity_name((enum finding_severity)number) : "unknown";
    case ANSWER_MEASURE: return number >= 0 && number < SLOWER_MEASURES ? measure_names[number] : "unknown";
    default: return NULL;
    }
}

struct human answer_date(const struct answer_column *column, const struct store_value *value) {
    struct human text = {""};
    int64_t number = store_integer(value);
    time_t seconds = (time_t)(number * 86400);
    struct tm utc;
    if (column->kind == ANSWER_MONTH)
        snprintf(text.text, sizeof text.text, "%04" PRId64 "-%02" PRId64, number / 100, number % 100);
    else if (gmtime_r(&seconds, &utc))
        strftime(text.text, sizeof text.text, "%Y-%m-%d", &utc);
    return text;
}

void answer_layers(const struct store_value *value, char names[ANSWER_LAYERS_BYTES]) {
    uint64_t layers = (uint64_t)store_integer(value);
    size_t len = 0;
    names[0] = 0;
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (layers >> layer & 1)
            len += (size_t)snprintf(names + len, ANSWER_LAYERS_BYTES - len, "%s%s", len ? " " : "",
                                    call_layer_name(layer));
    }
}

const struct answer_part answer_parts[ANSWER_PARTS] = {
    {BY_LAYER, "layers", "Layers: the jobs that use them", SORT_JOBS, 0},
    {BY_SIZE, "sizes", "Sizes of reads and writes that reach the file system", SORT_NAME, 0},
    {BY_FILE, "worst_files", "Files with the most time", SORT_TIME, 10},
    {BY_SYSTEM, "file_systems", "File systems", SORT_BYTES, 10},
    {BY_FINDING, "findings", "Findings", SORT_FINDINGS, 10},
    {BY_MONTH, "months", "Months (UTC)", SORT_NAME, 0},
};

// --- JSON

static void write_value(struct json_out *json, const struct answer_column *column, const struct store_value *value) {
    uint64_t layers = (uint64_t)store_integer(value);
    json_key(json, column->key);
    if (!answer_is_known(column, value)) {
        json_null(json);
        return;
    }
    switch (column->kind) {
    case ANSWER_COUNT:
    case ANSWER_BYTES:
        json_signed(json, value->kind == STORE_REAL ? (int64_t)llround(value->real) : value->integer);
        break;
    case ANSWER_NS:
    case ANSWER_START:
        if (value->kind == STORE_INTEGER) json_seconds(json, value->integer);
        if (value->kind == STORE_REAL) json_double(json, value->real / 1e9);
        break;
    case ANSWER_SHARE:
    case ANSWER_FACTOR:
    case ANSWER_CHANCE: json_double(json, store_real(value)); break;
    case ANSWER_FLAG: json_bool(json, store_integer(value)); break;
    case ANSWER_MONTH:
    case ANSWER_DAY: json_text(json, answer_date(column, value).text); break;
    case ANSWER_LAYERS:
        json_array(json);
        for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
            if (layers >> layer & 1) json_text(json, call_layer_name(layer));
        }
        json_close(json);
        break;
    default: json_text(json, answer_name(column, value));
    }
}

static void write_row(struct json_out *json, const struct answer_column *column, const struct store_value *value,
                      size_t count) {
    for (size_t i = 0; i < count; i++) write_value(json, &column[i], &value[i]);
}

static int write_object(void *context, const struct answer_column *column, const struct store_value *value,
                        size_t count) {
    struct json_out *json = context;
    json_object(json);
    write_row(json, column, value, count);
    json_close(json);
    return json->error;
}

static int write_line(void *context, const struct answer_column *column, const struct store_value *value,
                      size_t count) {
    json_fold(context);
    return write_object(context, column, value, count);
}

struct writing {
    struct catalogue *catalogue;
    struct json_out *json;
    struct problem *problem;
};

static int write_job(void *context, const struct answer_column *column, const struct store_value *value, size_t count) {
    const struct writing *writing = context;
    struct json_out *json = writing->json;
    json_fold(json);
    json_object(json);
    write_row(json, column, value, count);
    key_array(json, "findings");
    int code = ask_findings(writing->catalogue, store_integer(&value[0]), write_object, json, writing->problem);
    json_close(json);
    json_close(json);
    return code < 0 ? code : json->error;
}

int answer_jobs_json(struct catalogue *catalogue, const struct ask *ask, struct json_out *json,
                     struct problem *problem) {
    struct writing writing = {catalogue, json, problem};
    key_array(json, "jobs");
    int code = ask_jobs(catalogue, ask, write_job, &writing, problem);
    json_close(json);
    return code;
}

static int write_groups(struct catalogue *catalogue, const struct ask *ask, enum ask_by by, const char *key,
                        struct json_out *json, struct problem *problem) {
    key_array(json, key);
    int code = ask_groups(catalogue, ask, by, write_line, json, problem);
    json_close(json);
    return code;
}

int answer_groups_json(struct catalogue *catalogue, const struct ask *ask, enum ask_by by, struct json_out *json,
                       struct problem *problem) {
    key_text(json, "by", ask_by_names[by]);
    return write_groups(catalogue, ask, by, "groups", json, problem);
}

int answer_slower_json(struct catalogue *catalogue, const struct ask *ask, struct json_out *json,
                       struct problem *problem) {
    key_array(json, "slower");
    int code = ask_slower(catalogue, ask, write_line, json, problem);
    json_close(json);
    return code;
}

static int write_members(void *context, const struct answer_column *column, const struct store_value *value,
                         size_t count) {
    write_row(context, column, value, count);
    return 0;
}

int answer_statistics_json(struct catalogue *catalogue, const struct ask *ask, struct json_out *json,
                           struct problem *problem) {
    key_object(json, "statistics");
    int code = ask_statistics(catalogue, ask, write_members, json, problem);
    for (size_t i = 0; i < ANSWER_PARTS && code >= 0; i++) {
        const struct answer_part *part = &answer_parts[i];
        const struct ask own = {ask->filter, part->sort, part->top, 0};
        code = write_groups(catalogue, &own, part->by, part->key, json, problem);
    }
    json_close(json);
    return code;
}
