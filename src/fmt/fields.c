#include "fmt/fields.h"

#include <string.h>

#include "base/err.h"
#include "base/varint.h"

static bool has_room(struct fields_out *out, size_t len) {
    if (!out->overflow && (size_t)(out->end - out->at) >= len) return true;
    out->overflow = true;
    return false;
}

static void put_varint(struct fields_out *out, uint64_t value) {
    uint8_t buffer[VARINT_MAX_BYTES];
    size_t len = (size_t)(varint_put(buffer, value) - buffer);
    if (!has_room(out, len)) return;
    memcpy(out->at, buffer, len);
    out->at += len;
}

// Reserves one byte for the length, enough for most records; fields_end() makes room for more.
void fields_begin(struct fields_out *out, unsigned kind) {
    out->record = out->at;
    put_varint(out, kind);
    if (has_room(out, 1)) out->at++;
    out->body = out->at;
}

void fields_number(struct fields_out *out, unsigned key, uint64_t value) {
    put_varint(out, (uint64_t)key << 1);
    put_varint(out, value);
}

void fields_signed(struct fields_out *out, unsigned key, int64_t value) { fields_number(out, key, varint_fold(value)); }

void fields_indexed(struct fields_out *out, unsigned key, const uint64_t *values, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (values[i]) fields_number(out, key, values[i] << 4 | i);
    }
}

uint8_t *fields_open_bytes(struct fields_out *out, unsigned key, size_t len) {
    put_varint(out, (uint64_t)key << 1 | 1);
    put_varint(out, len);
    if (!has_room(out, len)) return NULL;
    uint8_t *at = out->at;
    out->at += len;
    return at;
}

void fields_bytes(struct fields_out *out, unsigned key, const void *data, size_t len) {
    uint8_t *at = fields_open_bytes(out, key, len);
    if (at && len) memcpy(at, data, len);
}

void fields_string(struct fields_out *out, unsigned key, const char *text) {
    fields_bytes(out, key, text, strlen(text));
}

void fields_end(struct fields_out *out) {
    uint8_t length[VARINT_MAX_BYTES];
    size_t body_len = out->overflow ? 0 : (size_t)(out->at - out->body);
    size_t length_len = (size_t)(varint_put(length, body_len) - length);
    if (!has_room(out, length_len - 1)) {
        out->at = out->record;
        return;
    }
    if (length_len > 1) memmove(out->body + length_len - 1, out->body, body_len);
    memcpy(out->body - 1, length, length_len);
    out->at += length_len - 1;
}

// Reads a varint length and checks that as many bytes follow.
static const uint8_t *get_length(const uint8_t *at, const uint8_t *end, size_t *len) {
    uint64_t value;
    at = varint_get(at, end, &value);
    if (!at || value > (uint64_t)(end - at)) return NULL;
    *len = (size_t)value;
    return at;
}

int fields_next_record(struct fields_in *in, unsigned *kind, struct fields_in *body) {
    if (in->at == in->end) return 0;
    uint64_t number;
    size_t len;
    const uint8_t *at = varint_get(in->at, in->end, &number);
    RETURN_IF(!at || number > UINT32_MAX, ERR_FORMAT);
    at = get_length(at, in->end, &len);
    RETURN_IF(!at, ERR_FORMAT);
    *kind = (unsigned)number;
    *body = (struct fields_in){.at = at, .end = at + len};
    in->at = at + len;
    return 1;
}

int fields_next(struct fields_in *body, struct field *field) {
    if (body->at == body->end) return 0;
    uint64_t tag;
    const uint8_t *at = varint_get(body->at, body->end, &tag);
    RETURN_IF(!at || tag >> 1 > UINT32_MAX, ERR_FORMAT);
    *field = (struct field){.key = (unsigned)(tag >> 1), .is_bytes = tag & 1};
    if (field->is_bytes) {
        at = get_length(at, body->end, &field->len);
        RETURN_IF(!at, ERR_FORMAT);
        field->data = at;
        at += field->len;
    } else {
        at = varint_get(at, body->end, &field->number);
        RETURN_IF(!at, ERR_FORMAT);
    }
    body->at = at;
    return 1;
}

int fields_by_key(struct fields_in body, struct field *by_key, unsigned keys) {
    struct field field;
    int more;
    memset(by_key, 0, keys * sizeof *by_key);
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key < keys) by_key[field.key] = field;
    }
    return more;
}

void fields_copy(struct fields_out *out, struct fields_in body) {
    struct field field;
    while (fields_next(&body, &field) > 0) {
        if (field.is_bytes) {
            fields_bytes(out, field.key, field.data, field.len);
        } else {
            fields_number(out, field.key, field.number);
        }
    }
}
