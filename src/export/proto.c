#include "export/proto.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

// Lengths of messages that are not known yet are written in four bytes, as readers allow it.
enum { LENGTH_BYTES = 4 };

static void keep(struct proto *p, int code) {
    if (code < 0 && !p->error) p->error = code;
}

static void put_varint(struct proto *p, uint64_t value) { keep(p, bytes_append_varint(&p->bytes, value)); }

static void put_tag(struct proto *p, unsigned field, enum wire wire) { put_varint(p, field << 3 | wire); }

static size_t varint_len(uint64_t value) {
    size_t len = 1;
    for (; value >= 0x80; value >>= 7) len++;
    return len;
}

void proto_number(struct proto *p, unsigned field, uint64_t value) {
    put_tag(p, field, WIRE_VARINT);
    put_varint(p, value);
}

void proto_fixed(struct proto *p, unsigned field, uint64_t value) {
    put_tag(p, field, WIRE_FIXED64);
    keep(p, bytes_append(&p->bytes, &value, sizeof value));
}

void proto_double(struct proto *p, unsigned field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    proto_fixed(p, field, bits);
}

void proto_text(struct proto *p, unsigned field, const char *text) {
    size_t place = proto_open(p, field);
    keep(p, utf8_append(&p->bytes, text, strlen(text)));
    proto_close(p, place);
}

void proto_pair(struct proto *p, unsigned field, unsigned first, uint64_t one, unsigned second, uint64_t two) {
    put_tag(p, field, WIRE_BYTES);
    put_varint(p, varint_len(first << 3) + varint_len(one) + varint_len(second << 3) + varint_len(two));
    proto_number(p, first, one);
    proto_number(p, second, two);
}

size_t proto_open(struct proto *p, unsigned field) {
    put_tag(p, field, WIRE_BYTES);
    size_t place = p->bytes.len;
    keep(p, bytes_append(&p->bytes, (uint8_t[LENGTH_BYTES]){0}, LENGTH_BYTES));
    return place;
}

static void set_length(struct proto *p, size_t place, size_t len) {
    if (p->error) return;
    uint8_t *at = p->bytes.data + place;
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        at[i] = (uint8_t)((len >> 7 * i & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

void proto_close(struct proto *p, size_t place) { set_length(p, place, p->bytes.len - place - LENGTH_BYTES); }

void proto_lengthen(struct proto *p, size_t place, size_t more) {
    if (p->error) return;
    size_t len = 0;
    for (size_t i = 0; i < LENGTH_BYTES; i++) len |= (size_t)(p->bytes.data[place + i] & 0x7f) << 7 * i;
    set_length(p, place, len + more);
}
