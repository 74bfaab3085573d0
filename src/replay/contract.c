#include "replay/contract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"

enum field_type { FIELD_END, FIELD_TEXT, FIELD_CHARS, FIELD_BOOL, FIELD_NUMBER32, FIELD_NUMBER, FIELD_SECONDS };

struct field {
    const char *key;
    enum field_type type;
    size_t offset, bytes;
};

#define FIELD(of, type, member)                                                                                        \
    { #member, type, offsetof(struct of, member), sizeof(((struct of *)0)->member) }

static const struct field job_fields[] = {
    FIELD(replay_job, FIELD_TEXT, model),
    FIELD(replay_job, FIELD_TEXT, directory),
    FIELD(replay_job, FIELD_TEXT, result),
    FIELD(replay_job, FIELD_TEXT, progress),
    FIELD(replay_job, FIELD_TEXT, slots),
    FIELD(replay_job, FIELD_TEXT, phases),
    FIELD(replay_job, FIELD_TEXT, variant),
    FIELD(replay_job, FIELD_NUMBER32, task),
    FIELD(replay_job, FIELD_NUMBER32, cache),
    FIELD(replay_job, FIELD_NUMBER32, program),
    FIELD(replay_job, FIELD_NUMBER32, np),
    FIELD(replay_job, FIELD_BOOL, verify),
    FIELD(replay_job, FIELD_BOOL, think),
    FIELD(replay_job, FIELD_BOOL, drop),
    FIELD(replay_job, FIELD_BOOL, durable),
    FIELD(replay_job, FIELD_BOOL, latency),
    FIELD(replay_job, FIELD_BOOL, null),
    FIELD(replay_job, FIELD_NUMBER, delay_ns),
    FIELD(replay_job, FIELD_SECONDS, delay_rate),
    FIELD(replay_job, FIELD_SECONDS, seconds),
    {0},
};

static const struct field phase_fields[] = {
    FIELD(replay_phase, FIELD_SECONDS, time),
    FIELD(replay_phase, FIELD_SECONDS, others),
    FIELD(replay_phase, FIELD_SECONDS, latency_p50),
    FIELD(replay_phase, FIELD_SECONDS, latency_p99),
    {0},
};

static const struct field timing_fields[] = {
    FIELD(replay_timing, FIELD_NUMBER32, kind),  FIELD(replay_timing, FIELD_BOOL, write),
    FIELD(replay_timing, FIELD_NUMBER, bytes),   FIELD(replay_timing, FIELD_NUMBER, rounds),
    FIELD(replay_timing, FIELD_NUMBER, pieces),  FIELD(replay_timing, FIELD_SECONDS, seconds),
    FIELD(replay_timing, FIELD_SECONDS, memory), {0},
};

static const struct field result_fields[] = {
    FIELD(replay_result, FIELD_NUMBER, wrong_bytes),
    FIELD(replay_result, FIELD_NUMBER, failed),
    FIELD(replay_result, FIELD_NUMBER, skipped),
    FIELD(replay_result, FIELD_CHARS, first_failure),
    FIELD(replay_result, FIELD_CHARS, first_skipped),
    FIELD(replay_result, FIELD_SECONDS, create),
    FIELD(replay_result, FIELD_SECONDS, stat),
    FIELD(replay_result, FIELD_SECONDS, open),
    FIELD(replay_result, FIELD_SECONDS, unlink),
    FIELD(replay_result, FIELD_SECONDS, message_latency),
    FIELD(replay_result, FIELD_SECONDS, message_bandwidth),
    FIELD(replay_result, FIELD_CHARS, library),
    FIELD(replay_result, FIELD_NUMBER, nodes),
    {0},
};

// Members of the result that are lists; an empty one is NULL.
struct list {
    const char *key;
    const struct field *field;
    size_t bytes;       // of an item
    size_t item, count; // places in the result
};

enum { LISTS = 2 };
static const struct list result_lists[LISTS] = {
    {"phases", phase_fields, sizeof(struct replay_phase), offsetof(struct replay_result, phase),
     offsetof(struct replay_result, phases)},
    {"timings", timing_fields, sizeof(struct replay_timing), offsetof(struct replay_result, timing),
     offsetof(struct replay_result, timings)},
};

// --- writing

static void write_fields(struct json_out *json, const struct field *field, const void *from) {
    for (; field->key; field++) {
        const void *at = (const char *)from + field->offset;
        switch (field->type) {
        case FIELD_TEXT: key_text(json, field->key, *(const char *const *)at); break;
        case FIELD_CHARS: key_text(json, field->key, at); break;
        case FIELD_BOOL: key_bool(json, field->key, *(const bool *)at); break;
        case FIELD_NUMBER32: key_number(json, field->key, *(const uint32_t *)at); break;
        case FIELD_NUMBER: key_number(json, field->key, *(const uint64_t *)at); break;
        default: key_double(json, field->key, *(const double *)at);
        }
    }
}

static void write_list(struct json_out *json, const struct list *list, const struct replay_result *result) {
    const char *item = *(char *const *)((const char *)result + list->item);
    size_t count = *(const size_t *)((const char *)result + list->count);
    key_array(json, list->key);
    for (size_t i = 0; i < count; i++) {
        json_object(json);
        write_fields(json, list->field, item + i * list->bytes);
        json_close(json);
    }
    json_close(json);
}

// Writes the job or the result; the other is NULL.
static int write_file(const char *path, const struct replay_job *job, const struct replay_result *result) {
    FILE *out = fopen(path, "we");
    RETURN_IF(!out, -errno);
    struct json_out *json = json_out_begin(out, 2);
    int code = json ? 0 : -ENOMEM;
    if (json) {
        json_object(json);
        for (size_t i = 0; result && i < LISTS; i++) write_list(json, &result_lists[i], result);
        write_fields(json, job ? job_fields : result_fields, job ? (const void *)job : result);
        json_close(json);
        code = json_out_end(json);
    }
    if (fclose(out) && !code) code = -errno;
    return code;
}

int contract_write_job(const struct replay_job *job, const char *path) { return write_file(path, job, NULL); }

int contract_write_result(const struct replay_result *result, const char *path) {
    return write_file(path, NULL, result);
}

// --- reading

static int read_text(const struct json_value *value, const struct field *field, void *at, struct json_in_error *error) {
    const char *text = NULL;
    bool is_text = json_in_text(value, &text, NULL) == 0;
    if (!is_text && (!value || json_in_type(value) != JSON_NULL || field->type == FIELD_CHARS))
        return json_in_fail(error, value, "%s is not a text", field->key);
    if (field->type == FIELD_TEXT)
        *(const char **)at = text;
    else if (strlen(text) >= field->bytes)
        return json_in_fail(error, value, "%s is too long", field->key);
    else
        strcpy(at, text);
    return 0;
}

static int read_number32(const struct json_value *object, const char *key, uint32_t *out, struct json_in_error *error) {
    uint64_t number;
    FORWARD(json_in_need_uint64(object, key, &number, error));
    *out = (uint32_t)number;
    return number == *out ? 0 : json_in_fail(error, json_in_member(object, key), "%s is too large", key);
}

static int read_field(const struct json_value *object, const struct field *field, void *at,
                      struct json_in_error *error) {
    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_CHARS: return read_text(json_in_member(object, field->key), field, at, error);
    case FIELD_BOOL: return json_in_need_bool(object, field->key, at, error);
    case FIELD_NUMBER32: return read_number32(object, field->key, at, error);
    case FIELD_NUMBER: return json_in_need_uint64(object, field->key, at, error);
    default: return json_in_need_double(object, field->key, at, error);
    }
}

static bool is_known(const char *key, const struct field *field) {
    while (field->key && strcmp(field->key, key)) field++;
    return field->key;
}

// Lists are for the caller.
static int read_fields(const struct json_value *object, const struct field *field, void *to,
                       struct json_in_error *error) {
    for (size_t i = 0; i < json_in_length(object); i++) {
        const char *key = json_in_key(object, i);
        bool is_list = json_in_type(json_in_at(object, i)) == JSON_ARRAY;
        if (!key || (!is_list && !is_known(key, field)))
            return json_in_fail(error, json_in_at(object, i), "%.40s is an unknown key", key ? key : "a list");
    }
    for (; field->key; field++) FORWARD(read_field(object, field, (char *)to + field->offset, error));
    return 0;
}

int contract_read_job(struct replay_job *job, struct json_in *memory, const char *path, struct json_in_error *error) {
    FORWARD(json_in_read(memory, path, error));
    int code = read_fields(memory->root, job_fields, job, error);
    if (!code && (!job->model || !job->directory || !job->result || !job->np || job->task >= TASK_COUNT ||
                  job->cache >= CACHE_COUNT))
        code = json_in_fail(error, memory->root, "a value is out of range");
    if (code < 0) json_in_free(memory);
    return code;
}

static int read_list(struct replay_result *result, const struct list *list, const struct json_value *root,
                     struct json_in_error *error) {
    const struct json_value *value;
    size_t *count = (size_t *)((char *)result + list->count);
    FORWARD(json_in_need_array(root, list->key, &value, error));
    size_t length = json_in_length(value);
    char *item = length ? calloc(length, list->bytes) : NULL;
    RETURN_IF(length && !item, -ENOMEM);
    *(char **)((char *)result + list->item) = item;
    for (; *count < length; ++*count) {
        FORWARD(read_fields(json_in_at(value, *count), list->field, item + *count * list->bytes, error));
    }
    return 0;
}

int contract_read_result(struct replay_result *result, const char *path, struct json_in_error *error) {
    struct json_in json;
    *result = (struct replay_result){0};
    FORWARD(json_in_read(&json, path, error));
    int code = read_fields(json.root, result_fields, result, error);
    for (size_t i = 0; i < LISTS && !code; i++) code = read_list(result, &result_lists[i], json.root, error);
    for (size_t i = 0; i < result->phases; i++) result->total += result->phase[i].time;
    json_in_free(&json);
    return code;
}
