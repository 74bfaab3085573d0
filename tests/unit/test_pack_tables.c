#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "fmt/records.h"
#include "pack/callsites.h"
#include "pack/file_table.h"

static int add_file(struct file_table *table, uint32_t local, const char *name, uint64_t inode, uint32_t *global) {
    uint8_t buffer[256];
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    fields_begin(&out, RECORD_FILE);
    if (local) fields_number(&out, FILE_ID, local);
    if (name) fields_string(&out, FILE_NAME, name);
    if (inode) fields_number(&out, FILE_INODE, inode);
    fields_end(&out);
    struct fields_in in = {.at = buffer, .end = out.at};
    struct fields_in body;
    unsigned kind;
    uint32_t stated;
    assert_int_equal(fields_next_record(&in, &kind, &body), 1);
    int code = file_table_add(table, body, &stated, global);
    if (code == 0) assert_int_equal(stated, local);
    return code;
}

static void files_of_one_name_are_one(void **state) {
    (void)state;
    struct file_table table = {0};
    uint32_t global;
    char name[32];
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "/data/%u", (unsigned)i % 500);
        assert_int_equal(add_file(&table, i + 1, name, 0, &global), 0);
        assert_int_equal(global, i % 500 + 1);
    }
    assert_int_equal(table.count, 500);
    assert_int_equal(add_file(&table, 1, NULL, 0, &global), ERR_FORMAT);
    assert_int_equal(add_file(&table, 1, "", 0, &global), ERR_FORMAT);
    assert_int_equal(add_file(&table, 0, "/x", 0, &global), ERR_FORMAT);
    assert_int_equal(table.count, 500);
    file_table_free(&table);
}

static void call_sites_have_a_text_whatever_happens(void **state) {
    (void)state;
    struct callsites sites = {0};
    const char *gone = "/nowhere/libgone.so.1";
    int64_t module = callsites_module(&sites, (const uint8_t *)gone, strlen(gone));
    assert_int_equal(module, 0);
    assert_string_equal(callsites_line(&sites, 0, 0x1234), "libgone.so.1+0x1234");
    const char *no_object = "/dev/null";
    assert_int_equal(callsites_module(&sites, (const uint8_t *)no_object, strlen(no_object)), 1);
    assert_string_equal(callsites_line(&sites, 1, 1), "null+0x1");
    assert_string_equal(callsites_line(&sites, 1, 0), "null+0x0");
    assert_int_equal(callsites_module(&sites, (const uint8_t *)gone, strlen(gone)), 0);
    assert_true(callsites_module(&sites, (const uint8_t *)"a\0b", 3) < 0);
    callsites_free(&sites);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_one_name_are_one),
        cmocka_unit_test(call_sites_have_a_text_whatever_happens),
    };
    return cmocka_run_group_tests_name("pack_tables", tests, NULL, NULL);
}
