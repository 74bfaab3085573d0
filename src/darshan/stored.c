#include "darshan/stored.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/varint.h"
#include "fmt/records.h"

enum { FIXED_ROOM = 16 * (VARINT_MAX_BYTES + 2) };

size_t darshan_stored_room(const struct darshan_record *record, const struct darshan_stored *stored) {
    const struct darshan_module *module = darshan_module(record->module);
    return FIXED_ROOM + stored->name_len + module->reals * sizeof(double) +
           (module->numbers + record->more_count) * VARINT_MAX_BYTES;
}

static void put_numbers(struct fields_out *out, unsigned key, const int64_t *numbers, size_t count) {
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t scratch[VARINT_MAX_BYTES];
        len += (size_t)(varint_put(scratch, varint_fold(numbers[i])) - scratch);
    }
    uint8_t *at = fields_open_bytes(out, key, len);
    for (size_t i = 0; at && i < count; i++) at = varint_put(at, varint_fold(numbers[i]));
}

static void put_reals(struct fields_out *out, const double *reals, size_t count) {
    uint8_t *at = fields_open_bytes(out, IMPORTED_REALS, count * sizeof *reals);
    for (size_t i = 0; at && i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &reals[i], sizeof bits);
        for (unsigned j = 0; j < sizeof bits; j++) *at++ = (uint8_t)(bits >> 8 * j);
    }
}

void darshan_put_stored(struct fields_out *out, const struct darshan_record *record,
                        const struct darshan_stored *stored) {
    const struct darshan_module *module = darshan_module(record->module);
    fields_number(out, IMPORTED_MODULE, record->module);
    fields_number(out, IMPORTED_VERSION, record->version);
    fields_signed(out, IMPORTED_RANK, record->rank);
    fields_number(out, IMPORTED_RECORD, record->id);
    if (stored->file) fields_number(out, IMPORTED_FILE, stored->file);
    if (stored->name) fields_bytes(out, IMPORTED_NAME, stored->name, stored->name_len);
    if (stored->is_nameless) fields_number(out, IMPORTED_NAMELESS, 1);
    put_numbers(out, IMPORTED_NUMBERS, record->number, module->numbers);
    if (module->reals) put_reals(out, record->real, module->reals);
    if (record->file) fields_number(out, IMPORTED_OF_FILE, record->file);
    if (record->more_count) put_numbers(out, IMPORTED_MORE, record->more, record->more_count);
}

// What a log does not have, of a later version of the module, is not known.
static int get_numbers(const struct field *field, int64_t *numbers, size_t count) {
    const uint8_t *at = field->data, *end = field->len ? field->data + field->len : field->data;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = varint_fold(-1);
        if (at < end) at = varint_get(at, end, &value);
        RETURN_IF(!at && field->len, ERR_FORMAT);
        numbers[i] = varint_unfold(value);
    }
    return 0;
}

static void get_reals(const struct field *field, double *reals, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        reals[i] = -1;
        if ((i + 1) * sizeof bits > field->len) continue;
        for (unsigned j = 0; j < sizeof bits; j++) bits |= (uint64_t)field->data[i * sizeof bits + j] << 8 * j;
        memcpy(&reals[i], &bits, sizeof bits);
    }
}

static int get_more(const struct field *field, struct darshan_record *record, struct bytes *words) {
    const uint8_t *at = field->data, *end = field->len ? field->data + field->len : field->data;
    words->len = 0;
    while (at < end) {
        uint64_t value;
        at = varint_get(at, end, &value);
        RETURN_IF(!at, ERR_FORMAT);
        int64_t number = varint_unfold(value);
        FORWARD(bytes_append(words, &number, sizeof number));
    }
    record->more = (int64_t *)(void *)words->data;
    record->more_count = words->len / sizeof *record->more;
    return 0;
}

int darshan_get_stored(struct fields_in body, struct darshan_record *record, struct darshan_stored *stored,
                       struct bytes *words) {
    struct field f[IMPORTED_NAMELESS + 1];
    FORWARD(fields_by_key(body, f, IMPORTED_NAMELESS + 1));
    *record = (struct darshan_record){
        .module = (unsigned)f[IMPORTED_MODULE].number,
        .version = (unsigned)f[IMPORTED_VERSION].number,
        .rank = varint_unfold(f[IMPORTED_RANK].number),
        .id = f[IMPORTED_RECORD].number,
        .file = f[IMPORTED_OF_FILE].number,
    };
    *stored = (struct darshan_stored){
        .file = (uint32_t)f[IMPORTED_FILE].number,
        .name = (const char *)f[IMPORTED_NAME].data,
        .name_len = f[IMPORTED_NAME].len,
        .is_nameless = f[IMPORTED_NAMELESS].number,
    };
    const struct darshan_module *module = darshan_module(record->module);
    RETURN_IF(!module->names, ERR_FORMAT); // of a module of a later version
    FORWARD(get_numbers(&f[IMPORTED_NUMBERS], record->number, module->numbers));
    get_reals(&f[IMPORTED_REALS], record->real, module->reals);
    return get_more(&f[IMPORTED_MORE], record, words);
}

enum { PART_NUMBERS = sizeof(struct darshan_part) / sizeof(uint64_t) };

_Static_assert(PART_NUMBERS *VARINT_MAX_BYTES <= DARSHAN_PART_ROOM, "a part has room");

void darshan_put_part(struct fields_out *out, unsigned key, const struct darshan_part *part) {
    const uint64_t number[PART_NUMBERS] = {part->module,     part->version, part->bytes,   part->state,
                                           part->is_partial, part->records, part->left_out};
    uint8_t data[DARSHAN_PART_ROOM], *at = data;
    for (unsigned i = 0; i < PART_NUMBERS; i++) at = varint_put(at, number[i]);
    fields_bytes(out, key, data, (size_t)(at - data));
}

int darshan_get_part(struct darshan_part *part, const uint8_t *data, size_t len) {
    uint64_t number[PART_NUMBERS] = {0};
    const uint8_t *at = data, *end = data + len;
    for (unsigned i = 0; i < PART_NUMBERS && at < end; i++) {
        at = varint_get(at, end, &number[i]);
        RETURN_IF(!at, ERR_FORMAT);
    }
    *part = (struct darshan_part){number[0], number[1], number[2], number[3], number[4], number[5], number[6]};
    return 0;
}
