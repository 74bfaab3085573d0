// Layouts of Lustre, built byte by byte as its attribute has them, whole, cut off and false.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "pack/lustre_layout.h"

enum { PLAIN = 0x0BD10BD0, POOL = 0x0BD30BD0, COMPOSITE = 0x0BD60BD0, FOREIGN = 0x0BD70BD0 };

struct layout {
    uint8_t data[1 << 16];
    size_t len;
};

static void put(struct layout *layout, unsigned bytes, uint64_t value) {
    for (unsigned i = 0; i < bytes; i++) layout->data[layout->len++] = (uint8_t)(value >> 8 * i);
}

static void put_part(struct layout *layout, uint32_t magic, uint32_t size, unsigned count, unsigned offset) {
    put(layout, 4, magic);
    put(layout, 4, 1);
    put(layout, 8, 77), put(layout, 8, 78);
    put(layout, 4, size);
    put(layout, 2, count);
    put(layout, 2, offset);
}

static void put_pool(struct layout *layout, const char *pool) {
    for (size_t i = 0; i < 16; i++) put(layout, 1, i < strlen(pool) ? (unsigned char)pool[i] : 0);
}

static void put_object(struct layout *layout, uint32_t server) {
    put(layout, 8, 1), put(layout, 8, 2), put(layout, 4, 0), put(layout, 4, server);
}

static void put_entry(struct layout *layout, uint64_t start, uint64_t end, uint32_t offset, uint32_t size) {
    put(layout, 4, 1), put(layout, 4, 0x10);
    put(layout, 8, start), put(layout, 8, end);
    put(layout, 4, offset), put(layout, 4, size);
    put(layout, 8, 0), put(layout, 8, 0);
}

static void put_composite(struct layout *layout, unsigned entries) {
    put(layout, 4, COMPOSITE), put(layout, 4, 0), put(layout, 4, 3), put(layout, 2, 0), put(layout, 2, entries);
    put(layout, 8, 0), put(layout, 8, 0);
}

// As the kernel gives it: nothing lies behind its end that a reader might look at.
static int decode(struct stripe *stripes, const struct layout *layout, size_t len) {
    uint8_t *exact = malloc(len + !len);
    memcpy(exact, layout->data, len);
    int count = lustre_layout_decode(stripes, exact, len);
    free(exact);
    return count;
}

static struct stripe stripes[LUSTRE_LAYOUT_MOST];

static void plain(void **state) {
    (void)state;
    struct layout layout = {0};
    put_part(&layout, PLAIN, 1 << 20, 2, 9);
    put_object(&layout, 5);
    put_object(&layout, 0);
    assert_int_equal(decode(stripes, &layout, layout.len), 1);
    assert_int_equal(stripes[0].start, 0);
    assert_int_equal(stripes[0].end, 0);
    assert_int_equal(stripes[0].count, 2);
    assert_int_equal(stripes[0].size, 1 << 20);
    assert_int_equal(stripes[0].first, 6); // of the first object, not the field, which is a generation now
    assert_int_equal(stripes[0].pattern, 1);
    assert_string_equal(stripes[0].pool, "");
}

static void without_objects(void **state) {
    (void)state;
    struct layout wanted = {0}, any = {0};
    put_part(&wanted, PLAIN, 65536, 4, 3);
    put_part(&any, PLAIN, 65536, 0xffff, 0xffff);
    assert_int_equal(decode(stripes, &wanted, wanted.len), 1);
    assert_int_equal(stripes[0].count, 4);
    assert_int_equal(stripes[0].first, 4);
    assert_int_equal(decode(stripes, &any, any.len), 1);
    assert_int_equal(stripes[0].count, 0);
    assert_int_equal(stripes[0].first, 0);
}

static void pools(void **state) {
    (void)state;
    struct layout layout = {0}, full = {0};
    put_part(&layout, POOL, 4 << 20, 8, 0);
    put_pool(&layout, "flash");
    put_object(&layout, 12);
    assert_int_equal(decode(stripes, &layout, layout.len), 1);
    assert_string_equal(stripes[0].pool, "flash");
    assert_int_equal(stripes[0].first, 13);
    put_part(&full, POOL, 4 << 20, 8, 0);
    put_pool(&full, "sixteen letters!"); // no zero byte ends it
    assert_int_equal(decode(stripes, &full, full.len), 1);
    assert_string_equal(stripes[0].pool, "sixteen letters");
}

static struct layout progressive(void) {
    struct layout layout = {0};
    put_composite(&layout, 2);
    put_entry(&layout, 0, 1 << 20, 32 + 2 * 48, 32 + 24);
    put_entry(&layout, 1 << 20, UINT64_MAX, 32 + 2 * 48 + 32 + 24, 48);
    put_part(&layout, PLAIN, 1 << 20, 1, 0);
    put_object(&layout, 2);
    put_part(&layout, POOL, 4 << 20, 16, 0xffff);
    put_pool(&layout, "disk");
    return layout;
}

static void composite(void **state) {
    (void)state;
    struct layout layout = progressive();
    assert_int_equal(decode(stripes, &layout, layout.len), 2);
    assert_int_equal(stripes[0].end, 1 << 20);
    assert_int_equal(stripes[0].count, 1);
    assert_int_equal(stripes[0].first, 3);
    assert_int_equal(stripes[1].start, 1 << 20);
    assert_int_equal(stripes[1].end, 0);
    assert_int_equal(stripes[1].count, 16);
    assert_int_equal(stripes[1].size, 4 << 20);
    assert_int_equal(stripes[1].first, 0);
    assert_string_equal(stripes[1].pool, "disk");
}

static void cut_off(void **state) {
    (void)state;
    struct layout layout = progressive();
    for (size_t len = 0; len < layout.len; len++) assert_int_equal(decode(stripes, &layout, len), ERR_FORMAT);
}

static void more_components_than_wanted(void **state) {
    (void)state;
    enum { MANY = 2 * LUSTRE_LAYOUT_MOST };
    struct layout layout = {0};
    put_composite(&layout, MANY);
    for (unsigned i = 0; i < MANY; i++) put_entry(&layout, i, i + 1, 32 + MANY * 48, 32);
    put_part(&layout, PLAIN, 1 << 20, 1, 0);
    assert_int_equal(decode(stripes, &layout, layout.len), LUSTRE_LAYOUT_MOST);
    assert_int_equal(stripes[LUSTRE_LAYOUT_MOST - 1].start, LUSTRE_LAYOUT_MOST - 1);
}

static void false_places(void **state) {
    (void)state;
    static const struct {
        uint32_t offset, size;
    } places[] = {{0, 32}, {32, 32}, {80, 33}, {113, 0}, {UINT32_MAX, 32}, {80, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct layout layout = {0};
        put_composite(&layout, 1);
        put_entry(&layout, 0, UINT64_MAX, places[i].offset, places[i].size); // 0: a composite in itself
        put_part(&layout, PLAIN, 1 << 20, 1, 0);
        assert_int_equal(decode(stripes, &layout, layout.len), ERR_FORMAT);
    }
}

static void other_things(void **state) {
    (void)state;
    struct layout none = {0}, foreign = {0}, full = {0};
    put_composite(&none, 0);
    put_part(&foreign, FOREIGN, 1, 1, 1);
    put_composite(&full, 0xffff);
    assert_int_equal(decode(stripes, &none, none.len), ERR_FORMAT);
    assert_int_equal(decode(stripes, &foreign, foreign.len), ERR_FORMAT);
    assert_int_equal(decode(stripes, &full, full.len), ERR_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),        cmocka_unit_test(without_objects),
        cmocka_unit_test(pools),        cmocka_unit_test(composite),
        cmocka_unit_test(cut_off),      cmocka_unit_test(more_components_than_wanted),
        cmocka_unit_test(false_places), cmocka_unit_test(other_things),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
