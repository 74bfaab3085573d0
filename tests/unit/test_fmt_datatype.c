#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/varint.h"
#include "fmt/datatype.h"

// --- brute force: every byte of a type, in order

enum { MOST_BYTES = 3000 };

struct plain {
    size_t count;
    int64_t byte[MOST_BYTES];
};

static uint64_t random_state;

static uint64_t chance(uint64_t below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void plain_add(struct plain *to, const struct plain *body, uint64_t count, int64_t stride, int64_t offset) {
    for (uint64_t round = 0; round < count; round++) {
        for (size_t i = 0; i < body->count; i++) {
            assert_true(to->count < MOST_BYTES);
            to->byte[to->count++] = offset + (int64_t)round * stride + body->byte[i];
        }
    }
}

// The same type in both ways; at most about `room` bytes.
static void make_random(unsigned depth, size_t room, struct datatype *type, struct plain *plain) {
    unsigned parts = 1 + (unsigned)chance(3);
    for (unsigned part = 0; part < parts; part++) {
        int64_t offset = (int64_t)chance(60) - 20;
        if (depth == 0 || room < 8) {
            uint64_t length = chance(5);
            assert_int_equal(datatype_add_piece(type, offset, length), 0);
            for (uint64_t i = 0; i < length; i++) plain->byte[plain->count++] = offset + (int64_t)i;
            continue;
        }
        struct datatype body = {0};
        struct plain *flat = calloc(1, sizeof *flat);
        make_random(depth - 1, room / parts / 2, &body, flat);
        uint64_t most = flat->count ? room / parts / flat->count : 2;
        uint64_t count = chance(most < 6 ? most + 1 : 6);
        int64_t extent = body.high - body.low;
        int64_t strides[] = {extent, extent + (int64_t)chance(9), (int64_t)body.bytes, (int64_t)chance(30) - 10};
        int64_t stride = strides[chance(4)];
        unsigned times = count && flat->count * count * 4 < room / parts ? 1 + (unsigned)chance(4) : 1;
        int64_t apart = (int64_t)chance(50);
        for (unsigned i = 0; i < times; i++) {
            assert_int_equal(datatype_add(type, &body, count, stride, offset + i * apart), 0);
            plain_add(plain, flat, count, stride, offset + i * apart);
        }
        datatype_free(&body);
        free(flat);
    }
    datatype_seal(type);
}

// The bytes that a range of a tiling gives, piece by piece; each piece must be as long as it can be.
static void check_range(const struct datatype_tiling *tiling, const struct plain *plain, uint64_t from,
                        uint64_t bytes) {
    struct datatype_map map;
    struct datatype_piece piece;
    uint64_t at = from;
    int64_t end = INT64_MIN;
    int more = datatype_map_start(&map, tiling, from, bytes);
    assert_int_equal(more, 0);
    while ((more = datatype_map_next(&map, &piece)) > 0) {
        assert_true(piece.bytes > 0 && piece.offset != end);
        for (uint64_t i = 0; i < piece.bytes; i++, at++) {
            int64_t tile = (int64_t)(at / plain->count) * tiling->extent + tiling->displacement;
            assert_int_equal(piece.offset + (int64_t)i, tile + plain->byte[at % plain->count]);
        }
        end = piece.offset + (int64_t)piece.bytes;
    }
    assert_int_equal(more, 0);
    assert_int_equal(at, from + bytes);
}

static void check_same(const struct datatype *type, const struct plain *plain) {
    assert_false(type->cut);
    assert_int_equal(type->bytes, plain->count);
    if (!plain->count) return;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t i = 0; i < plain->count; i++) {
        if (plain->byte[i] < low) low = plain->byte[i];
        if (plain->byte[i] >= high) high = plain->byte[i] + 1;
    }
    assert_int_equal(type->low, low);
    assert_int_equal(type->high, high);
    struct datatype_tiling tiling = {type, type->bytes, high - low + (int64_t)chance(20) - 5, (int64_t)chance(1000)};
    check_range(&tiling, plain, 0, type->bytes);
    for (unsigned i = 0; i < 20; i++) check_range(&tiling, plain, chance(plain->count * 5), chance(plain->count * 3));
}

static void check_written(const struct datatype *type, const struct plain *plain) {
    static uint8_t form[DATATYPE_MAX_ITEMS * 50];
    struct datatype again = {0};
    bool whole;
    size_t len = datatype_put(type, form, sizeof form, &whole);
    assert_true(whole);
    assert_int_equal(datatype_get(&again, form, len), 0);
    assert_int_equal(again.items, type->items);
    check_same(&again, plain);
    datatype_free(&again);
}

static void test_random_types(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 3000; seed++) {
        struct datatype type = {0};
        struct plain *plain = calloc(1, sizeof *plain);
        random_state = seed;
        make_random(1 + seed % 4, MOST_BYTES / 4, &type, plain);
        check_same(&type, plain);
        check_written(&type, plain);
        datatype_free(&type);
        free(plain);
    }
}

// --- forms of known types

static void add_loop_of_piece(struct datatype *type, uint64_t count, int64_t stride, uint64_t length, int64_t offset) {
    struct datatype piece = {0};
    datatype_add_piece(&piece, 0, length);
    datatype_seal(&piece);
    assert_int_equal(datatype_add(type, &piece, count, stride, offset), 0);
    datatype_seal(type);
    datatype_free(&piece);
}

static void test_vector(void **state) {
    (void)state;
    struct datatype vector = {0}, nested = {0};
    add_loop_of_piece(&vector, 4, 32, 8, 16);
    assert_int_equal(vector.items, 2);
    assert_true(vector.item[0].count == 4 && vector.item[0].stride == 32 && vector.item[0].offset == 16);
    assert_true(vector.item[1].bytes == 8 && vector.item[1].offset == 0);
    assert_int_equal(datatype_add(&nested, &vector, 3, 128, 0), 0); // goes on where each ends
    datatype_seal(&nested);
    assert_true(nested.items == 2 && nested.item[0].count == 12 && nested.bytes == 96);
    datatype_free(&nested);
    assert_int_equal(datatype_add(&nested, &vector, 3, 1000, 0), 0);
    datatype_seal(&nested);
    assert_true(nested.items == 3 && nested.item[0].stride == 1000 && nested.item[0].offset == 16);
    assert_true(nested.item[1].offset == 0 && nested.low == 16 && nested.high == 16 + 2000 + 96 + 8);
    datatype_free(&nested);
    datatype_free(&vector);
}

static void test_contiguous(void **state) {
    (void)state;
    struct datatype type = {0};
    add_loop_of_piece(&type, 1000000, 8, 8, 0);
    assert_true(type.items == 1 && type.item[0].bytes == 8000000);
    assert_true(datatype_is_contiguous(&type, 8000000));
    assert_false(datatype_is_contiguous(&type, 8000008));
    datatype_free(&type);
    assert_true(datatype_is_contiguous(&type, 0));
    add_loop_of_piece(&type, 1, 8, 8, 8);
    assert_false(datatype_is_contiguous(&type, 8));
    datatype_free(&type);
    // A gigabyte of one number after the other is one piece, found at once.
    add_loop_of_piece(&type, 1, 8, 8, 0);
    struct datatype_tiling tiling = {&type, 8, 8, 100};
    struct datatype_map map;
    struct datatype_piece piece;
    assert_int_equal(datatype_map_start(&map, &tiling, 5, INT64_C(1) << 40), 0);
    assert_int_equal(datatype_map_next(&map, &piece), 1);
    assert_true(piece.offset == 105 && piece.bytes == UINT64_C(1) << 40);
    assert_int_equal(datatype_map_next(&map, &piece), 0);
    datatype_free(&type);
}

// Regular blocks are one loop, even if the program lists them one by one.
static void test_regular_list(void **state) {
    (void)state;
    struct datatype type = {0};
    for (int64_t i = 0; i < 100000; i++) assert_int_equal(datatype_add_piece(&type, i * 24, 8), 0);
    datatype_seal(&type);
    assert_true(type.items == 2 && type.item[0].count == 100000 && !type.cut);
    datatype_free(&type);
    for (int64_t row = 0; row < 50; row++) add_loop_of_piece(&type, 10, 16, 8, row * 1000);
    assert_true(type.items == 3 && type.item[0].count == 50 && type.item[1].count == 10);
    datatype_free(&type);
}

static void add_irregular(struct datatype *type, int64_t blocks, int64_t last) {
    for (int64_t i = 0; i < blocks; i++) assert_int_equal(datatype_add_piece(type, i * i * 16, 8), 0);
    assert_int_equal(datatype_add_piece(type, blocks * blocks * 16 + last, 8), 0);
    datatype_seal(type);
}

static void test_irregular_is_cut(void **state) {
    (void)state;
    struct datatype type = {0}, other = {0}, nested = {0};
    add_irregular(&type, 100000, 0);
    add_irregular(&other, 100000, 8);
    assert_true(type.cut && type.items <= DATATYPE_MAX_ITEMS && type.items > DATATYPE_MAX_ITEMS - 10);
    assert_true(type.hash != other.hash);
    assert_int_equal(datatype_add(&nested, &type, 10, INT64_C(1) << 40, 0), 0);
    assert_int_equal(datatype_add_piece(&nested, 0, 8), 0);
    datatype_seal(&nested);
    assert_true(nested.cut && nested.items == type.items);

    // The pieces that are there can be used.
    struct datatype_tiling tiling = {&type, 800008, INT64_C(1) << 40, 0};
    struct datatype_map map;
    struct datatype_piece piece;
    assert_int_equal(datatype_map_start(&map, &tiling, 24, 16), 0);
    assert_int_equal(datatype_map_next(&map, &piece), 1);
    assert_true(piece.offset == 9 * 16 && piece.bytes == 8);
    assert_int_equal(datatype_map_next(&map, &piece), 1);
    assert_true(piece.offset == 16 * 16);
    assert_int_equal(datatype_map_next(&map, &piece), 0);
    assert_int_equal(datatype_map_start(&map, &tiling, type.bytes, 8), ERR_LIMIT);
    assert_int_equal(datatype_map_start(&map, &tiling, type.bytes - 8, 16), 0);
    assert_int_equal(datatype_map_next(&map, &piece), 1);
    assert_int_equal(datatype_map_next(&map, &piece), ERR_LIMIT);
    assert_int_equal(datatype_map_next(&map, &piece), ERR_LIMIT);
    datatype_free(&type);
    datatype_free(&other);
    datatype_free(&nested);
}

static void test_small_room(void **state) {
    (void)state;
    struct datatype type = {0}, again = {0};
    uint8_t form[64];
    bool whole;
    add_irregular(&type, 100, 0);
    size_t len = datatype_put(&type, form, sizeof form, &whole);
    assert_false(whole);
    assert_true(len > 0 && len <= sizeof form);
    assert_int_equal(datatype_get(&again, form, len), 0);
    assert_true(again.items > 5 && again.items < 100);
    datatype_free(&type);
    datatype_free(&again);
}

static void test_deep(void **state) {
    (void)state;
    struct datatype type = {0};
    add_loop_of_piece(&type, 2, 3, 1, 0);
    for (int level = 0; level < 2 * DATATYPE_MAX_DEPTH; level++) {
        struct datatype outer = {0};
        assert_int_equal(datatype_add(&outer, &type, 2, type.high * 3, 0), 0);
        datatype_seal(&outer);
        datatype_free(&type);
        type = outer;
    }
    assert_true(type.cut && type.item[0].depth == DATATYPE_MAX_DEPTH);
    datatype_free(&type);
}

static void test_overflow_is_cut(void **state) {
    (void)state;
    static const struct {
        uint64_t count;
        int64_t stride;
        int64_t offset;
    } loops[] = {
        {UINT64_MAX, 16, 0},     {INT64_MAX, 16, 0},          {1 << 20, INT64_MAX, 0},
        {1 << 20, INT64_MIN, 0}, {4, INT64_MAX / 4, 1 << 10}, {4, INT64_MIN / 4, -(1 << 10)},
        {1, 0, INT64_MAX},       {UINT64_MAX, 8, 0},          {INT64_MAX / 2, 0, 0},
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        struct datatype type = {0};
        add_loop_of_piece(&type, loops[i].count, loops[i].stride, 8, loops[i].offset);
        assert_true(type.cut && type.items == 0 && type.bytes == 0);
        datatype_free(&type);
    }
}

// --- untrusted forms

struct form {
    uint8_t byte[400];
    size_t len;
};

static void put(struct form *form, uint64_t value) {
    form->len = (size_t)(varint_put(form->byte + form->len, value) - form->byte);
}

static void put_piece(struct form *form, uint64_t length, int64_t gap) {
    put(form, length << 1);
    put(form, varint_fold(gap));
}

static void put_loop(struct form *form, uint64_t count, int64_t gap, int64_t stride, uint64_t items) {
    put(form, count << 1 | 1);
    put(form, varint_fold(gap));
    put(form, varint_fold(stride));
    put(form, items);
}

static int get(const struct form *form) {
    struct datatype type = {0};
    int code = datatype_get(&type, form->byte, form->len);
    datatype_free(&type);
    return code;
}

static void test_hostile_numbers(void **state) {
    (void)state;
    static const struct {
        uint64_t count;
        int64_t gap;
        int64_t stride;
        uint64_t items;
        uint64_t length;
        int64_t inner_gap;
        int code;
    } forms[] = {
        {4, 0, 32, 1, 8, 0, 0},
        {0, 0, 32, 1, 8, 0, ERR_FORMAT},
        {1, 0, 32, 1, 8, 0, ERR_FORMAT},
        {4, 0, 32, 0, 8, 0, ERR_FORMAT},
        {4, 0, 32, 2, 8, 0, ERR_FORMAT}, // says two, has one
        {4, 0, 32, UINT32_MAX, 8, 0, ERR_FORMAT},
        {4, 0, 32, UINT64_MAX, 8, 0, ERR_FORMAT},
        {4, 0, 32, 1, 0, 0, ERR_FORMAT},
        {4, 0, 8, 1, 8, 0, ERR_FORMAT}, // is one piece
        {INT64_MAX, 0, 1, 1, 8, 0, ERR_FORMAT},
        {INT64_MAX, 0, 0, 1, 2, 0, ERR_FORMAT},
        {4, INT64_MAX, 32, 1, 8, 0, ERR_FORMAT},
        {4, 0, INT64_MAX, 1, 8, 0, ERR_FORMAT},
        {4, 0, INT64_MIN, 1, 8, 0, ERR_FORMAT},
        {2, 0, INT64_MAX / 2, 1, 8, 4, 0},
        {4, 0, 32, 1, INT64_MAX, 0, ERR_FORMAT},
        {4, 0, 32, 1, 8, INT64_MAX, ERR_FORMAT},
        {4, 0, 32, 1, 8, INT64_MIN, 0},
        {4, -1, 32, 1, 8, INT64_MIN, ERR_FORMAT},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct form form = {0};
        put_loop(&form, forms[i].count, forms[i].gap, forms[i].stride, forms[i].items);
        put_piece(&form, forms[i].length, forms[i].inner_gap);
        if (get(&form) != forms[i].code) fail_msg("form %zu: %d", i, get(&form));
    }
}

static void test_hostile_shapes(void **state) {
    (void)state;
    struct form joined = {0};
    put_piece(&joined, 8, 0);
    put_piece(&joined, 8, 0);
    assert_int_equal(get(&joined), ERR_FORMAT);

    struct form deep = {0};
    for (unsigned i = 0; i <= DATATYPE_MAX_DEPTH; i++) put_loop(&deep, 2, 0, 3, DATATYPE_MAX_DEPTH + 1 - i);
    put_piece(&deep, 1, 0);
    assert_int_equal(get(&deep), ERR_LIMIT);

    // A loop that claims more items than the one around it has.
    struct form crossed = {0};
    put_loop(&crossed, 2, 0, 100, 2);
    put_loop(&crossed, 2, 0, 10, 2);
    put_piece(&crossed, 1, 0);
    put_piece(&crossed, 1, 2);
    assert_int_equal(get(&crossed), ERR_FORMAT);

    // The origins of loops may be far out as long as the pieces are not.
    struct form far = {0};
    put_loop(&far, 2, INT64_MAX - 1000, 100, 1);
    put_piece(&far, 8, -(INT64_MAX - 1000));
    assert_int_equal(get(&far), 0);

    size_t many = DATATYPE_MAX_ITEMS + 1;
    uint8_t *form = malloc(many * 2);
    for (size_t i = 0; i < many; i++) {
        form[2 * i] = 2;
        form[2 * i + 1] = 2;
    }
    struct datatype type = {0};
    assert_int_equal(datatype_get(&type, form, many * 2), ERR_LIMIT);
    assert_int_equal(datatype_get(&type, form, many * 2 - 2), 0);
    assert_int_equal(datatype_get(&type, form, many * 2 - 3), ERR_FORMAT);
    assert_int_equal(datatype_get(&type, form, 0), 0);
    datatype_free(&type);
    free(form);
}

static void test_map_limits(void **state) {
    (void)state;
    struct datatype type = {0};
    add_loop_of_piece(&type, 4, 32, 8, 0);
    struct datatype_map map;
    struct datatype_piece piece;
    struct datatype_tiling tiling = {&type, 32, 128, 0};
    assert_int_equal(datatype_map_start(&map, &tiling, UINT64_MAX, 1), ERR_LIMIT);
    tiling.displacement = INT64_MAX - 100;
    assert_int_equal(datatype_map_start(&map, &tiling, 0, 1), ERR_LIMIT);
    tiling.displacement = INT64_MAX - 200;
    assert_int_equal(datatype_map_start(&map, &tiling, 24, 16), 0);
    assert_int_equal(datatype_map_next(&map, &piece), 1);
    assert_int_equal(datatype_map_next(&map, &piece), ERR_LIMIT);
    tiling.bytes = 33;
    assert_int_equal(datatype_map_start(&map, &tiling, 0, 1), ERR_FORMAT);
    struct datatype nothing = {0};
    tiling = (struct datatype_tiling){&nothing, 0, 0, 0};
    assert_int_equal(datatype_map_start(&map, &tiling, 0, 1), ERR_FORMAT);
    assert_int_equal(datatype_map_start(&map, &tiling, 0, 0), 0);
    assert_int_equal(datatype_map_next(&map, &piece), 0);
    datatype_free(&type);
}

// Any bytes: refused, or read and written back as a form that means the same.
static void test_random_bytes(void **state) {
    (void)state;
    unsigned good = 0;
    struct datatype type = {0}, again = {0};
    for (unsigned seed = 0; seed < 200000; seed++) {
        uint8_t form[24], written[400];
        random_state = seed;
        size_t len = 1 + chance(sizeof form);
        for (size_t i = 0; i < len; i++) form[i] = (uint8_t)(chance(4) ? chance(12) : chance(256));
        if (datatype_get(&type, form, len) < 0) continue;
        bool whole;
        good++;
        size_t written_len = datatype_put(&type, written, sizeof written, &whole);
        assert_true(whole);
        assert_int_equal(datatype_get(&again, written, written_len), 0);
        assert_true(again.items == type.items && again.bytes == type.bytes && again.low == type.low);
        struct datatype_tiling tiling = {&type, type.bytes, type.high, 0};
        struct datatype_map map;
        struct datatype_piece piece;
        uint64_t from = chance(type.bytes * 2), sum = 0;
        if (datatype_map_start(&map, &tiling, from, 100) < 0) continue;
        for (unsigned i = 0; i < 100 && datatype_map_next(&map, &piece) > 0; i++) sum += piece.bytes;
        assert_true(sum <= 100);
    }
    assert_true(good > 1000);
    datatype_free(&type);
    datatype_free(&again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_types),
        cmocka_unit_test(test_vector),
        cmocka_unit_test(test_contiguous),
        cmocka_unit_test(test_regular_list),
        cmocka_unit_test(test_irregular_is_cut),
        cmocka_unit_test(test_small_room),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_overflow_is_cut),
        cmocka_unit_test(test_hostile_numbers),
        cmocka_unit_test(test_hostile_shapes),
        cmocka_unit_test(test_map_limits),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
