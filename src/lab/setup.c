#include "lab/setup.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"

int lab_refuse(struct lab_refusal *refusal, int code, const char *field, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    refusal->field = field;
    vsnprintf(refusal->why, sizeof refusal->why, format, arguments);
    va_end(arguments);
    return code;
}

// --- the fields

enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_BOOL };

static const struct field_row {
    const char *key;
    enum field_kind kind;
    size_t offset;
    const char *text; // at the beginning
    uint64_t number;
} fields[] = {
    {"program", FIELD_TEXT, offsetof(struct lab_setup, program), "", 0},
    {"arguments", FIELD_TEXT, offsetof(struct lab_setup, arguments), "", 0},
    {"folder", FIELD_TEXT, offsetof(struct lab_setup, folder), NULL, 0},
    {"mpi", FIELD_TEXT, offsetof(struct lab_setup, mpi), "none", 0},
    {"processes", FIELD_NUMBER, offsetof(struct lab_setup, processes), NULL, 4},
    {"include", FIELD_TEXT, offsetof(struct lab_setup, include), "", 0},
    {"exclude", FIELD_TEXT, offsetof(struct lab_setup, exclude), "", 0},
    {"calls_of", FIELD_TEXT, offsetof(struct lab_setup, calls_of), LAB_ALL_LAYERS, 0},
    {"classes", FIELD_TEXT, offsetof(struct lab_setup, classes), LAB_ALL_CLASSES, 0},
    {"callsites", FIELD_BOOL, offsetof(struct lab_setup, callsites), NULL, 0},
    {"counters_only", FIELD_BOOL, offsetof(struct lab_setup, counters_only), NULL, 0},
    {"follow", FIELD_BOOL, offsetof(struct lab_setup, follow), NULL, 0},
    {"storage", FIELD_TEXT, offsetof(struct lab_setup, storage), "folder", 0},
    {"preset", FIELD_TEXT, offsetof(struct lab_setup, preset), "none", 0},
    {"stack", FIELD_TEXT, offsetof(struct lab_setup, stack), "", 0},
    {"servers", FIELD_NUMBER, offsetof(struct lab_setup, servers), NULL, 4},
    {"layout", FIELD_TEXT, offsetof(struct lab_setup, layout), "distribute", 0},
    {"layers", FIELD_TEXT, offsetof(struct lab_setup, layers), "client,net,server,disk", 0},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static void *value_at(struct lab_setup *setup, const struct field_row *row) { return (char *)setup + row->offset; }

int lab_setup_init(struct lab_setup *setup, const char *folder) {
    *setup = (struct lab_setup){0};
    for (size_t i = 0; i < FIELDS; i++) {
        void *value = value_at(setup, &fields[i]);
        if (fields[i].kind == FIELD_NUMBER) *(uint64_t *)value = fields[i].number;
        if (fields[i].kind != FIELD_TEXT) continue;
        *(char **)value = strdup(fields[i].text ? fields[i].text : folder);
        RETURN_IF(!*(char **)value, -ENOMEM);
    }
    return 0;
}

void lab_setup_free(struct lab_setup *setup) {
    for (size_t i = 0; i < FIELDS; i++) {
        if (fields[i].kind == FIELD_TEXT) free(*(char **)value_at(setup, &fields[i]));
    }
    *setup = (struct lab_setup){0};
}

static const struct field_row *find_field(const char *key) {
    for (size_t i = 0; i < FIELDS; i++) {
        if (!strcmp(fields[i].key, key)) return &fields[i];
    }
    return NULL;
}

static int read_field(struct lab_setup *setup, const struct field_row *row, const struct json_value *value,
                      struct lab_refusal *refusal) {
    void *target = value_at(setup, row);
    const char *text;
    int code = row->kind == FIELD_NUMBER ? json_in_uint64(value, target)
               : row->kind == FIELD_BOOL ? json_in_bool(value, target)
                                         : json_in_text(value, &text, NULL);
    if (code < 0) return lab_refuse(refusal, ERR_USAGE, row->key, "a value of another type is expected");
    if (row->kind != FIELD_TEXT) return 0;
    char *copy = strdup(text);
    RETURN_IF(!copy, -ENOMEM);
    free(*(char **)target);
    *(char **)target = copy;
    return 0;
}

static int copy_setup(struct lab_setup *copy, const struct lab_setup *setup) {
    *copy = *setup;
    int code = 0;
    for (size_t i = 0; i < FIELDS; i++) {
        if (fields[i].kind != FIELD_TEXT) continue;
        char **text = value_at(copy, &fields[i]);
        *text = strdup(*text);
        if (!*text) code = -ENOMEM;
    }
    return code;
}

int lab_setup_read(struct lab_setup *setup, const struct json_value *object, struct lab_refusal *refusal) {
    struct lab_setup read;
    if (json_in_type(object) != JSON_OBJECT) return lab_refuse(refusal, ERR_USAGE, NULL, "an object is expected");
    int code = copy_setup(&read, setup);
    for (size_t i = 0; i < json_in_length(object) && code == 0; i++) {
        const struct field_row *row = find_field(json_in_key(object, i));
        code = row ? read_field(&read, row, json_in_at(object, i), refusal)
                   : lab_refuse(refusal, ERR_USAGE, NULL, "the form has no field '%.40s'", json_in_key(object, i));
    }
    struct lab_setup unused = code == 0 ? *setup : read;
    if (code == 0) *setup = read;
    lab_setup_free(&unused);
    return code;
}

void lab_setup_json(const struct lab_setup *setup, struct json_out *json) {
    json_object(json);
    for (size_t i = 0; i < FIELDS; i++) {
        const void *value = (const char *)setup + fields[i].offset;
        switch (fields[i].kind) {
        case FIELD_TEXT: key_text(json, fields[i].key, *(char *const *)value); break;
        case FIELD_NUMBER: key_number(json, fields[i].key, *(const uint64_t *)value); break;
        case FIELD_BOOL: key_bool(json, fields[i].key, *(const bool *)value); break;
        }
    }
    json_close(json);
}
