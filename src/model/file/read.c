#include "model/file/read.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/file/keywords.h"
#include "model/file/packed.h"
#include "model/file/read_private.h"

int read_charge(struct reading *r, const struct json_value *value, uint64_t numbers) {
    if (numbers > r->numbers_left) {
        json_in_fail(r->error, value, "too many ranks and phases");
        return ERR_LIMIT;
    }
    r->numbers_left -= numbers;
    return 0;
}

// --- members

int read_count(struct reading *r, const struct json_value *object, const char *key, uint64_t least, uint64_t most,
               uint64_t *out) {
    FORWARD(json_in_need_uint64(object, key, out, r->error));
    if (*out >= least && *out <= most) return 0;
    return json_in_fail(r->error, json_in_member(object, key),
                        "\"%s\" is %" PRIu64 ", which is not from %" PRIu64 " to %" PRIu64, key, *out, least, most);
}

// Whether there is a value to read; null is none.
static bool is_there(const struct json_value *object, const char *key) {
    return json_in_type(json_in_member(object, key)) != JSON_NULL;
}

int read_optional_count(struct reading *r, const struct json_value *object, const char *key, uint64_t least,
                        uint64_t most, uint64_t *out) {
    return is_there(object, key) ? read_count(r, object, key, least, most, out) : 0;
}

int read_optional_text(struct reading *r, const struct json_value *object, const char *key, const char **out) {
    return is_there(object, key) ? json_in_need_text(object, key, out, NULL, r->error) : 0;
}

int read_optional_bool(struct reading *r, const struct json_value *object, const char *key, bool *out) {
    return is_there(object, key) ? json_in_need_bool(object, key, out, r->error) : 0;
}

int read_optional_array(struct reading *r, const struct json_value *object, const char *key,
                        const struct json_value **out) {
    return is_there(object, key) ? json_in_need_array(object, key, out, r->error) : 0;
}

int read_ns(struct reading *r, const struct json_value *value, const char *what, int64_t *out) {
    const double most_seconds = 9e9; // fits 64 bits of nanoseconds
    double seconds;
    if (json_in_double(value, &seconds) || fabs(seconds) > most_seconds) {
        return json_in_fail(r->error, value, "\"%s\" is not a time in seconds", what);
    }
    *out = (int64_t)llroundl((long double)seconds * 1e9L);
    return 0;
}

int read_optional_ns(struct reading *r, const struct json_value *object, const char *key, int64_t *out) {
    return is_there(object, key) ? read_ns(r, json_in_member(object, key), key, out) : 0;
}

// --- rows of numbers

static int unpack_numbers(struct reading *r, const struct json_value *value, const char *what, uint64_t count,
                          int64_t *out) {
    const char *key = json_in_member(value, "zstd") ? "zstd" : "base64", *text;
    size_t len;
    SCOPED(bytes_free) struct bytes columns = {0};
    FORWARD(json_in_need_text(value, key, &text, &len, r->error));
    int code = packed_columns(text, len, key, &columns);
    const uint8_t *at = columns.data, *end = columns.data + columns.len;
    if (!code) code = packed_get(&at, end, out, sizeof *out, count);
    if (!code && at != end) code = ERR_FORMAT;
    if (!code || code == -ENOMEM) return code;
    json_in_fail(r->error, value, "\"%s\" does not hold %" PRIu64 " packed numbers", what, count);
    return code;
}

int read_numbers(struct reading *r, const struct json_value *value, const char *what, uint64_t count, int64_t *out) {
    if (json_in_type(value) == JSON_OBJECT) return unpack_numbers(r, value, what, count, out);
    if (json_in_type(value) != JSON_ARRAY || json_in_length(value) != count) {
        return json_in_fail(r->error, value, "\"%s\" is not an array of %" PRIu64 " integers", what, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (json_in_int64(json_in_at(value, i), &out[i])) {
            return json_in_fail(r->error, json_in_at(value, i), "\"%s\" contains something other than integers", what);
        }
    }
    return 0;
}

// --- ranges

struct range {
    uint32_t first, last, step;
};

static bool parse_number(const char **at, uint32_t *number) {
    char *end;
    if (**at < '0' || **at > '9') return false;
    errno = 0;
    unsigned long value = strtoul(*at, &end, 10);
    *at = end;
    *number = (uint32_t)value;
    return !errno && value <= UINT32_MAX;
}

// One range, and the comma after it.
static bool parse_range(const char **at, struct range *range) {
    range->step = 1;
    if (!parse_number(at, &range->first)) return false;
    range->last = range->first;
    if (**at == '-') {
        ++*at;
        if (!parse_number(at, &range->last) || range->last < range->first) return false;
    }
    if (**at == ':') {
        ++*at;
        if (!parse_number(at, &range->step) || !range->step) return false;
    }
    if (**at == ',') return *++*at != '\0';
    return **at == '\0';
}

// Adds up how many numbers the text stands for.
static int count_ranges(struct reading *r, const struct json_value *value, const char *what, struct read_limits limits,
                        size_t *count) {
    int64_t last = -1;
    const char *text;
    *count = 0;
    if (json_in_text(value, &text, NULL)) text = "";
    do {
        struct range range;
        if (!parse_range(&text, &range)) {
            return json_in_fail(r->error, value, "\"%s\" is not a list of ranges such as 0-15,20", what);
        }
        if (range.first < limits.least || range.last > limits.most) {
            return json_in_fail(r->error, value, "\"%s\" goes beyond %" PRIu32 " to %" PRIu32, what, limits.least,
                                limits.most);
        }
        if ((int64_t)range.first <= last) return json_in_fail(r->error, value, "\"%s\" does not ascend", what);
        last = range.last;
        *count += (range.last - range.first) / range.step + 1;
    } while (*text);
    return 0;
}

int read_ranges(struct reading *r, const struct json_value *value, const char *what, struct read_limits limits,
                uint32_t **numbers, size_t *count) {
    const char *text;
    FORWARD(count_ranges(r, value, what, limits, count));
    json_in_text(value, &text, NULL);
    FORWARD(read_charge(r, value, *count));
    FORWARD(arena_array(&r->model->arena, *numbers, *count));
    uint32_t *to = *numbers;
    while (*text) {
        struct range range;
        parse_range(&text, &range);
        for (uint64_t n = range.first; n <= range.last; n += range.step) *to++ = (uint32_t)n;
    }
    return 0;
}

// --- programs

static int read_programs(struct reading *r) {
    const struct json_value *programs;
    FORWARD(json_in_need_array(r->structure, "programs", &programs, r->error));
    for (size_t i = 0; i < json_in_length(programs); i++) {
        const struct json_value *value = json_in_at(programs, i);
        bool is_mpi;
        uint64_t np;
        FORWARD(json_in_need_bool(value, "mpi", &is_mpi, r->error));
        FORWARD(read_count(r, value, "np", 1, INT32_MAX, &np));
        FORWARD(builder_add_program(&r->b, is_mpi, (uint32_t)np));
    }
    return 0;
}

// --- files

static int read_file_number(struct reading *r, const struct json_value *value, struct file_set_number *number) {
    const uint64_t most_value = UINT64_C(999999999999999999); // of FILE_SET_MAX_DIGITS digits
    uint64_t width = 1;
    *number = (struct file_set_number){.every = 1};
    FORWARD(read_count(r, value, "count", 1, UINT32_MAX, &number->count));
    FORWARD(read_optional_count(r, value, "every", 1, UINT32_MAX, &number->every));
    FORWARD(read_optional_count(r, value, "width", 1, FILE_SET_MAX_DIGITS, &width));
    number->width = (unsigned)width;
    const struct json_value *values = json_in_member(value, "values");
    if (!values) {
        FORWARD(read_count(r, value, "first", 0, most_value, &number->first));
        return json_in_need_int64(value, "step", &number->step, r->error);
    }
    FORWARD(read_charge(r, values, 2 * number->count));
    number->value = calloc(number->count, sizeof *number->value);
    RETURN_IF(!number->value, -ENOMEM);
    FORWARD(read_numbers(r, values, "values", number->count, (int64_t *)number->value));
    for (uint64_t i = 0; i < number->count; i++) {
        if (number->value[i] > most_value)
            return json_in_fail(r->error, values, "a number in a name is negative or has more than 18 digits");
    }
    return 0;
}

static int read_file_numbers(struct reading *r, const struct json_value *value, struct file_set *set) {
    const struct json_value *numbers = NULL;
    uint64_t members = 1;
    FORWARD(read_optional_count(r, value, "members", 1, UINT32_MAX, &members));
    FORWARD(read_optional_array(r, value, "numbers", &numbers));
    set->member_count = members;
    size_t count = json_in_length(numbers);
    if (!count) return 0;
    set->number = calloc(count, sizeof *set->number);
    RETURN_IF(!set->number, -ENOMEM);
    set->number_count = count;
    for (size_t i = 0; i < count; i++) FORWARD(read_file_number(r, json_in_at(numbers, i), &set->number[i]));
    return 0;
}

// The folder that the file had in the recorded run; a file that was not observed has none.
static int read_directories(struct reading *r, const char **directory) {
    const struct json_value *files = NULL;
    FORWARD(read_optional_array(r, r->observed, "files", &files));
    for (size_t i = 0; i < json_in_length(files); i++) {
        const struct json_value *value = json_in_at(files, i);
        const char *name;
        FORWARD(json_in_need_text(value, "file", &name, NULL, r->error));
        uint32_t id = string_table_find(&r->files, name);
        if (id == LOOKUP_NONE) return json_in_fail(r->error, value, "there is no file \"%s\"", name);
        FORWARD(read_optional_text(r, value, "directory", &directory[id]));
    }
    return 0;
}

static int name_files(struct reading *r, const struct json_value *files) {
    for (size_t i = 0; i < json_in_length(files); i++) {
        const struct json_value *value = json_in_at(files, i);
        const char *name;
        FORWARD(json_in_need_text(value, "file", &name, NULL, r->error));
        int code = string_table_add(&r->files, name);
        if (code == ERR_EXISTS) return json_in_fail(r->error, value, "a second file \"%s\"", name);
        FORWARD(code);
    }
    return 0;
}

static int read_file(struct reading *r, const struct json_value *value, const char *directory, const char *id,
                     struct file_set *set) {
    const char *name = id;
    FORWARD(read_optional_text(r, value, "name", &name));
    RETURN_IF(asprintf(&set->pattern, "%s%s", directory ? directory : "", name) < 0, -ENOMEM);
    FORWARD(read_file_numbers(r, value, set));
    if (!*name || file_set_check(set)) {
        return json_in_fail(r->error, value, "the file \"%s\" has no proper name, members or numbers", id);
    }
    return 0;
}

static int read_files(struct reading *r) {
    struct model *model = r->model;
    const struct json_value *files;
    FORWARD(json_in_need_array(r->structure, "files", &files, r->error));
    FORWARD(name_files(r, files));
    size_t count = json_in_length(files);
    const char **directory = arena_alloc(&r->scratch, (count + 1) * sizeof *directory);
    model->sets.set = calloc(count + 1, sizeof *model->sets.set);
    RETURN_IF(!directory || !model->sets.set, -ENOMEM);
    FORWARD(read_directories(r, directory));
    model->sets.set_count = count;
    for (size_t i = 0; i < count; i++) {
        FORWARD(builder_add_file(&r->b, &model->sets.set[i]));
        FORWARD(read_file(r, json_in_at(files, i), directory[i], r->files.text[i], &model->sets.set[i]));
    }
    return 0;
}

// --- kinds

static int read_file_of_kind(struct reading *r, const struct json_value *value, const char *key, uint32_t *file) {
    const char *name = NULL;
    *file = OP_NO_SET;
    FORWARD(read_optional_text(r, value, key, &name));
    if (!name) return 0;
    *file = string_table_find(&r->files, name);
    if (*file != LOOKUP_NONE) return 0;
    return json_in_fail(r->error, value, "there is no file \"%s\"", name);
}

static int read_class(struct reading *r, const struct json_value *value, struct op_kind *kind) {
    const char *layer = NULL, *class = NULL;
    FORWARD(read_optional_text(r, value, "layer", &layer));
    FORWARD(read_optional_text(r, value, "class", &class));
    if (!class) return 0; // a synchronisation
    int found = call_class_find(class), layer_found = layer ? call_layer_find(layer) : ERR_NOTHING;
    if (found < 0) return json_in_fail(r->error, value, "there is no class \"%s\"", class);
    if (layer_found < 0) return json_in_fail(r->error, value, "there is no layer \"%s\"", layer ? layer : "");
    kind->class = (uint8_t)found;
    kind->layer = (uint8_t)layer_found;
    return 0;
}

// A word, or a number if there is none for it.
static int read_word(struct reading *r, const struct json_value *value, const char *key, int find(const char *name),
                     int64_t most, int64_t *out) {
    const struct json_value *member = json_in_member(value, key);
    const char *word;
    *out = 0;
    if (!member) return 0;
    if (json_in_text(member, &word, NULL) == 0) {
        *out = find(word);
    } else if (json_in_int64(member, out)) {
        *out = -1;
    }
    if (*out >= 0 && *out <= most) return 0;
    return json_in_fail(r->error, member, "\"%s\" is unknown", key);
}

static int read_constants(struct reading *r, const struct json_value *value, struct op_kind *kind) {
    const char *flags = NULL;
    int64_t whence, error;
    FORWARD(read_optional_text(r, value, "flags", &flags));
    if (flags && model_flags_parse(kind->layer, flags, &kind->flags)) {
        return json_in_fail(r->error, json_in_member(value, "flags"), "unknown flags of an open");
    }
    FORWARD(read_word(r, value, "whence", model_whence_find, UINT32_MAX, &whence));
    FORWARD(read_word(r, value, "error", model_error_find, INT32_MAX, &error));
    kind->whence = (uint32_t)whence;
    kind->error = (int)error;
    return 0;
}

// A place in a table of the model that has `count` entries; 0 if there is none, else the place + 1.
static int read_place(struct reading *r, const struct json_value *value, const char *key, size_t count, uint32_t *out) {
    uint64_t place = UINT64_MAX;
    if (!json_in_member(value, key)) return 0;
    if (!count) return json_in_fail(r->error, value, "\"%s\", and there are none", key);
    FORWARD(read_optional_count(r, value, key, 0, count - 1, &place));
    *out = (uint32_t)place + 1;
    return 0;
}

static int read_communicator_of_kind(struct reading *r, const struct json_value *value, struct op_kind *kind) {
    const char *name = NULL;
    FORWARD(read_optional_text(r, value, "communicator", &name));
    if (!name) return 0;
    uint32_t place = string_table_find(&r->communicators, name);
    if (place == LOOKUP_NONE) return json_in_fail(r->error, value, "there is no communicator \"%s\"", name);
    kind->communicator = place + 1;
    return 0;
}

static int read_mpi(struct reading *r, const struct json_value *value, struct op_kind *kind) {
    uint64_t etype_bytes = 0, handle = 0;
    FORWARD(read_optional_count(r, value, "etype_bytes", 1, UINT32_MAX, &etype_bytes));
    kind->etype_bytes = (uint32_t)etype_bytes;
    FORWARD(read_optional_count(r, value, "handle", 0, OP_MOST_HANDLES - 1, &handle));
    kind->handle = (uint8_t)handle;
    FORWARD(read_communicator_of_kind(r, value, kind));
    FORWARD(read_place(r, value, "memory", r->model->types.count, &kind->memory));
    return read_place(r, value, "hints", r->model->hints_count, &kind->hints);
}

static int read_kind(struct reading *r, const struct json_value *value) {
    struct op_kind found = {0}, *kind = &found;
    const char *id;
    FORWARD(json_in_need_text(value, "kind", &id, NULL, r->error));
    int code = string_table_add(&r->kinds, id);
    if (code == ERR_EXISTS) return json_in_fail(r->error, value, "a second kind \"%s\"", id);
    FORWARD(code);
    kind->call = id;
    FORWARD(read_optional_text(r, value, "call", &kind->call));
    FORWARD(read_class(r, value, kind));
    FORWARD(read_file_of_kind(r, value, "file", &kind->set));
    FORWARD(read_file_of_kind(r, value, "file2", &kind->set2));
    FORWARD(read_optional_bool(r, value, "has_offset", &kind->has_offset));
    FORWARD(read_optional_bool(r, value, "view", &kind->has_view));
    FORWARD(read_optional_bool(r, value, "collective", &kind->collective));
    FORWARD(read_optional_bool(r, value, "nonblocking", &kind->nonblocking));
    FORWARD(read_mpi(r, value, kind));
    FORWARD(read_constants(r, value, kind));
    return read_reason(r, value, builder_add_kind(&r->b, kind));
}

static int read_kinds(struct reading *r) {
    const struct json_value *kinds;
    FORWARD(json_in_need_array(r->structure, "kinds", &kinds, r->error));
    for (size_t i = 0; i < json_in_length(kinds); i++) FORWARD(read_kind(r, json_in_at(kinds, i)));
    return 0;
}

// --- the whole

static int check_version(struct reading *r, const struct json_value *root) {
    uint64_t version;
    if (json_in_type(root) != JSON_OBJECT || !json_in_member(root, "ioseer_model")) {
        return json_in_fail(r->error, root, "not a model: there is no \"ioseer_model\"");
    }
    FORWARD(read_count(r, root, "ioseer_model", 1, UINT64_MAX, &version));
    if (version == MODEL_VERSION) return 0;
    json_in_fail(r->error, json_in_member(root, "ioseer_model"), "written by a newer ioseer");
    return ERR_VERSION;
}

static int read_root(struct reading *r, const struct json_value *root) {
    FORWARD(check_version(r, root));
    FORWARD(json_in_need_object(root, "structure", &r->structure, r->error));
    if (json_in_type(json_in_member(root, "observed")) != JSON_NULL) {
        FORWARD(json_in_need_object(root, "observed", &r->observed, r->error));
    }
    FORWARD(read_programs(r));
    FORWARD(read_communicators(r));
    FORWARD(read_files(r));
    FORWARD(read_types(r));
    FORWARD(read_hints(r));
    FORWARD(read_kinds(r));
    FORWARD(read_families(r));
    FORWARD(read_order(r));
    return read_observed(r);
}

static int read_tree(struct model *model, struct json_in *in, struct json_in_error *error) {
    struct reading r = {.model = model, .error = error, .numbers_left = MODEL_READ_NUMBERS};
    *model = (struct model){.gap_ns = MODEL_GAP_NS};
    r.files.arena = r.kinds.arena = r.communicators.arena = &r.scratch;
    builder_begin(&r.b, model);
    *error = (struct json_in_error){0};
    int code = read_root(&r, in->root);
    if (code && !error->message[0]) snprintf(error->message, sizeof error->message, "%s", err_text(code));
    string_table_free(&r.files);
    string_table_free(&r.kinds);
    string_table_free(&r.communicators);
    builder_end(&r.b);
    arena_free(&r.scratch);
    json_in_free(in);
    if (code) model_free(model);
    return code;
}

int model_parse(struct model *model, const char *text, size_t len, struct json_in_error *error) {
    struct json_in in;
    FORWARD(json_in_parse(&in, text, len, error));
    return read_tree(model, &in, error);
}

int model_read(struct model *model, const char *path, struct json_in_error *error) {
    struct json_in in;
    FORWARD(json_in_read(&in, path, error));
    return read_tree(model, &in, error);
}
