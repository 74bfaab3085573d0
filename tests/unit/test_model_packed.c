// Rows of numbers as text, and texts with numbers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "model/file/packed.h"
#include "model/string_table.h"

static int64_t number_at(size_t i) {
    static const int64_t far[] = {0, -1, 1, INT64_MAX, INT64_MIN, INT64_MAX, 4096, -4096};
    return i < 8 ? far[i] : (int64_t)(i * i * 2654435761u);
}

static void columns_come_back(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    int64_t in[COUNT][2], out[COUNT][2];
    struct bytes columns = {0}, text = {0}, again = {0};
    const char *key;
    for (size_t i = 0; i < COUNT; i++) {
        in[i][0] = number_at(i);
        in[i][1] = (int64_t)i / 3;
    }
    assert_int_equal(packed_add(&columns, &in[0][0], sizeof in[0], COUNT), 0);
    assert_int_equal(packed_add(&columns, &in[0][1], sizeof in[0], COUNT), 0);
    assert_int_equal(packed_text(&columns, &text, &key), 0);
    assert_string_equal(key, "zstd");
    assert_int_equal(packed_columns((char *)text.data, text.len, key, &again), 0);
    const uint8_t *at = again.data, *end = again.data + again.len;
    assert_int_equal(packed_get(&at, end, &out[0][0], sizeof out[0], COUNT), 0);
    assert_int_equal(packed_get(&at, end, &out[0][1], sizeof out[0], COUNT), 0);
    assert_ptr_equal(at, end);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(packed_get(&at, end, &out[0][0], sizeof out[0], 1), ERR_FORMAT);
    bytes_free(&columns);
    bytes_free(&text);
    bytes_free(&again);
}

static void base64_is_the_usual_one(void **state) {
    (void)state;
    static const char *const texts[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
    for (size_t len = 0; len <= 6; len++) {
        struct bytes data = {0};
        assert_int_equal(packed_columns(texts[len], strlen(texts[len]), "base64", &data), 0);
        assert_int_equal(data.len, len);
        assert_memory_equal(data.data, "foobar", len);
        bytes_free(&data);
    }
    static const char *const wrong[] = {"Z", "Zg", "Zg=", "Z===", "Zg=v", "Z\ng=", "Zm9vZg==Zg=="};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct bytes data = {0};
        assert_int_equal(packed_columns(wrong[i], strlen(wrong[i]), "base64", &data), ERR_FORMAT);
        bytes_free(&data);
    }
}

// Columns that would shrink too much are stored uncompressed; a reader refuses them compressed.
static void bombs_are_refused(void **state) {
    (void)state;
    enum { BYTES = 4 << 20 };
    struct bytes columns = {0}, text = {0}, again = {0};
    const char *key;
    memset(bytes_reserve(&columns, BYTES), 0, BYTES);
    columns.len = BYTES;
    assert_int_equal(packed_text(&columns, &text, &key), 0);
    assert_string_equal(key, "base64");
    assert_int_equal(packed_columns((char *)text.data, text.len, key, &again), 0);
    assert_int_equal(again.len, BYTES);
    assert_memory_equal(again.data, columns.data, BYTES);

    static const char bomb[] = // the same, compressed
        "KLUv/aAAAEAATAAACAABAPz/ORACAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIA"
        "EAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAgAQAAIAEAACABAAAwAQAA==";
    again.len = 0;
    assert_int_equal(packed_columns(bomb, sizeof bomb - 1, "zstd", &again), ERR_LIMIT);
    bytes_free(&columns);
    bytes_free(&text);
    bytes_free(&again);
}

static void names_are_unique(void **state) {
    (void)state;
    struct arena arena = {0};
    struct string_table names = {.arena = &arena};
    assert_int_equal(string_table_add_unique(&names, "open"), 0);
    assert_int_equal(string_table_add_unique(&names, "open#2"), 0);
    assert_int_equal(string_table_add_unique(&names, "open"), 0);
    assert_int_equal(string_table_add_unique(&names, "open"), 0);
    assert_int_equal(string_table_add_unique(&names, "open#2"), 0);
    static const char *const expected[] = {"open", "open#2", "open#3", "open#4", "open#2#2"};
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(names.text[i], expected[i]);
        assert_int_equal(string_table_find(&names, expected[i]), i);
    }
    assert_int_equal(string_table_add(&names, "open#4"), ERR_EXISTS);
    assert_int_equal(string_table_find(&names, "close"), LOOKUP_NONE);
    string_table_free(&names);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_back),
        cmocka_unit_test(base64_is_the_usual_one),
        cmocka_unit_test(bombs_are_refused),
        cmocka_unit_test(names_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
