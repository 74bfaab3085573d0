#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "model/variant_calls.h"

// --- text

static void texts(void **state) {
    static const char *const texts[] = {"as-recorded",
                                        "collective",
                                        "independent",
                                        "posix",
                                        "collective,cb_nodes=2,cb_buffer_size=4MiB",
                                        "independent,sieving=off",
                                        "sieving=on",
                                        "request=64KiB",
                                        "request*=0.5",
                                        "posix,request*=3,align=4KiB",
                                        "own-files",
                                        "nonblocking,np=16",
                                        "cb_buffer_size=1000",
                                        "request=1025GiB"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct variant variant;
        char text[VARIANT_TEXT_BYTES];
        assert_int_equal(variant_parse(&variant, texts[i]), 0);
        variant_text(&variant, text);
        assert_string_equal(text, texts[i]);
    }
}

static void parts(void **state) {
    struct variant variant;
    (void)state;
    assert_int_equal(variant_parse(&variant, "np=3,align=1k,collective,cb_nodes=2,request=100MB,own-files"), 0);
    assert_int_equal(variant.interface, VARIANT_COLLECTIVE);
    assert_int_equal(variant.np, 3);
    assert_int_equal(variant.alignment, 1024);
    assert_int_equal(variant.cb_nodes, 2);
    assert_int_equal(variant.request, 100000000);
    assert_true(variant.own_files && !variant.nonblocking);
}

static void longest(void **state) {
    char text[VARIANT_TEXT_BYTES];
    struct variant variant = {.interface = VARIANT_INDEPENDENT,
                              .sieving = SIEVING_OFF,
                              .cb_nodes = UINT32_MAX,
                              .cb_buffer = UINT64_MAX,
                              .request = UINT64_MAX,
                              .alignment = UINT64_MAX,
                              .own_files = true,
                              .nonblocking = true,
                              .np = UINT32_MAX};
    (void)state;
    variant_text(&variant, text);
    assert_string_equal(text + strlen(text) - 14, ",np=4294967295");
}

static void no_variants(void **state) {
    static const char *const texts[] = {"",
                                        "both",
                                        "collective,",
                                        ",posix",
                                        "posix,independent",
                                        "cb_nodes=0",
                                        "cb_nodes=-1",
                                        "cb_nodes",
                                        "cb_nodes=",
                                        "cb_nodes=1,cb_nodes=2",
                                        "request=0",
                                        "request=1,request*=2",
                                        "request*=0",
                                        "request*=nan",
                                        "request*=1e9",
                                        "request=9999999999GiB",
                                        "sieving=maybe",
                                        "sieving",
                                        "align=x",
                                        "np=9999999",
                                        "as-recorded,posix",
                                        "own-files,own-files",
                                        "nonblocking=1",
                                        "collective posix"};
    struct variant variant = {.np = 7};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(variant_parse(&variant, texts[i]), ERR_USAGE);
        assert_int_equal(variant.np, 7);
    }
}

static void hints(void **state) {
    struct variant_hint hint[VARIANT_HINTS];
    struct variant variant;
    (void)state;
    assert_int_equal(variant_parse(&variant, "independent,request=1M"), 0);
    assert_int_equal(variant_hints(&variant, hint), 0);
    assert_int_equal(variant_parse(&variant, "collective,cb_nodes=2,cb_buffer_size=1MiB,sieving=off"), 0);
    assert_int_equal(variant_hints(&variant, hint), 7);
    assert_string_equal(hint[0].name, "romio_cb_write");
    assert_string_equal(hint[0].value, "enable");
    assert_string_equal(hint[2].name, "cb_nodes");
    assert_string_equal(hint[2].value, "2");
    assert_string_equal(hint[3].name, "cb_config_list");
    assert_string_equal(hint[3].value, "*:2");
    assert_string_equal(hint[4].name, "cb_buffer_size");
    assert_string_equal(hint[4].value, "1048576");
    assert_string_equal(hint[6].name, "romio_ds_read");
    assert_string_equal(hint[6].value, "disable");
    variant.cb_nodes = 5;
    variant.nodes = 2;
    assert_int_equal(variant_hints(&variant, hint), 7);
    assert_string_equal(hint[3].value, "*:3");
}

// --- sizes of calls

struct calls {
    char text[256];
    size_t len;
};

static int note(int64_t at, uint64_t bytes, void *context) {
    struct calls *calls = context;
    calls->len += (size_t)snprintf(calls->text + calls->len, sizeof calls->text - calls->len, " %ld+%lu", (long)at,
                                   (unsigned long)bytes);
    return 0;
}

// The calls that a variant makes of transfers of these sizes, one after the other from `at` on.
static const char *resized(struct calls *calls, const char *text, int64_t at, const uint64_t *size, size_t count,
                           uint64_t unit) {
    static const struct op_kind kind = {.class = CLASS_WRITE};
    struct variant_stream stream = {0};
    struct variant variant;
    *calls = (struct calls){0};
    assert_int_equal(variant_parse(&variant, text), 0);
    for (size_t i = 0; i < count; at += (int64_t)size[i++]) {
        assert_true(!stream.kind || variant_stream_joins(&stream, &kind, 0, at));
        assert_int_equal(variant_stream_add(&stream, &variant, &kind, 0, at, size[i], unit, note, calls), 0);
    }
    calls->len += (size_t)snprintf(calls->text + calls->len, sizeof calls->text - calls->len, " |");
    assert_int_equal(variant_stream_end(&stream, &variant, note, calls), 0);
    return calls->text;
}

static void sizes(void **state) {
    static const uint64_t equal[] = {100, 100, 100, 100, 100}, single[] = {1000};
    struct calls calls;
    (void)state;
    assert_string_equal(resized(&calls, "request=200", 0, equal, 5, 0), " 0+200 200+200 | 400+100");
    assert_string_equal(resized(&calls, "request=150", 7, equal, 3, 0), " 7+150 157+150 |");
    assert_string_equal(resized(&calls, "request*=2", 0, equal, 4, 0), " 0+200 200+200 |");
    assert_string_equal(resized(&calls, "request*=0.5", 0, equal, 1, 0), " 0+50 50+50 |");
    assert_string_equal(resized(&calls, "request=400", 8, single, 1, 0), " 8+400 408+400 | 808+200");
    assert_string_equal(resized(&calls, "request=150", 0, equal, 3, 40), " 0+120 120+120 | 240+60");
    assert_string_equal(resized(&calls, "request=1", 0, single, 0, 0), " |");
}

// Calls begin at multiples of the alignment, except the first; positions in a view are not those in the file.
static void alignment(void **state) {
    static const uint64_t equal[] = {1000, 1000, 1000};
    struct calls calls;
    (void)state;
    assert_string_equal(resized(&calls, "align=512", 100, equal, 3, 0), " 100+924 1024+1024 2048+1024 | 3072+28");
    assert_string_equal(resized(&calls, "request=2000,align=1000", 500, equal, 3, 0), " 500+1500 | 2000+1500");
    assert_string_equal(resized(&calls, "align=512", 100, equal, 2, 1), " 100+1000 1100+1000 |");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts), cmocka_unit_test(parts), cmocka_unit_test(longest),   cmocka_unit_test(no_variants),
        cmocka_unit_test(hints), cmocka_unit_test(sizes), cmocka_unit_test(alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
