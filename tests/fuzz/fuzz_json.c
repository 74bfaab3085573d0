// The JSON reader: whatever it accepts, its strings and numbers come back the same through the writer.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "fuzz.h"

static void write_scalars(struct json_out *out, const struct json_value *value) {
    const char *text;
    size_t len;
    switch (json_in_type(value)) {
    case JSON_NULL: json_null(out); break;
    case JSON_BOOL: json_bool(out, value->boolean); break;
    case JSON_INTEGER: json_signed(out, value->integer); break;
    case JSON_UNSIGNED: json_unsigned(out, value->natural); break;
    case JSON_DOUBLE: json_double(out, value->real); break;
    case JSON_STRING:
        json_in_text(value, &text, &len);
        json_bytes(out, text, len);
        break;
    default: break;
    }
    for (size_t i = 0; i < json_in_length(value); i++) {
        const char *key = json_in_key(value, i);
        if (key) json_text(out, key);
        if (key && !json_in_member(value, key)) abort();
        write_scalars(out, json_in_at(value, i));
    }
}

// The strings and numbers in the order of the text, in one array.
static char *flatten(const struct json_value *root, size_t *len) {
    char *text;
    FILE *stream = open_memstream(&text, len);
    if (!stream) abort();
    struct json_out *out = json_out_begin(stream, 0);
    if (!out) abort();
    json_array(out);
    write_scalars(out, root);
    json_close(out);
    json_out_end(out);
    fclose(stream);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct json_in in;
    struct json_in_error error;
    if (json_in_parse(&in, (const char *)data, len, &error) < 0) {
        if (!error.line || !error.message[0] || in.root) abort();
        return 0;
    }
    size_t once_len, twice_len;
    char *once = flatten(in.root, &once_len);
    json_in_free(&in);
    if (json_in_parse(&in, once, once_len, &error) < 0) abort();
    char *twice = flatten(in.root, &twice_len);
    json_in_free(&in);
    if (once_len != twice_len || memcmp(once, twice, once_len) != 0) abort();
    free(once);
    free(twice);
    return 0;
}
