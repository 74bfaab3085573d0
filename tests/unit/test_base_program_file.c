#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/program_file.h"

static char path[] = "/tmp/ioseer-program-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(path) ? chdir(path) : -1;
}

static int remove_folder(void **state) {
    (void)state;
    unlink("file");
    unlink("other");
    return rmdir(path);
}

static void write_file(const char *name, const void *data, size_t len) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    fclose(file);
}

static void check(const void *data, size_t len, enum program_kind kind) {
    struct program_file file;
    write_file("file", data, len);
    assert_int_equal(program_file_look(&file, "file"), 0);
    assert_int_equal(file.kind, kind);
    assert_true(file.bytes_read >= len || len > PROGRAM_HEAD_BYTES);
}

static void test_files(void **state) {
    (void)state;
    struct program_file file;
    Elf64_Ehdr head;
    check("", 0, PROGRAM_OTHER);
    check("text", 4, PROGRAM_OTHER);
    check("#!/bin/sh -e\n", 13, PROGRAM_SCRIPT);
    check(ELFMAG, SELFMAG, PROGRAM_NOT_64_BIT);
    assert_int_equal(program_file_look(&file, "/proc/self/exe"), 0);
    assert_int_equal(file.kind, PROGRAM_DYNAMIC);
    memcpy(&head, file.head, sizeof head);
    // The table of segments lies behind the end: without it there is no loader.
    check(&head, sizeof head, PROGRAM_STATIC);
    head.e_phoff = UINT64_MAX;
    check(&head, sizeof head, PROGRAM_STATIC);
    head.e_machine = EM_S390;
    check(&head, sizeof head, PROGRAM_OF_OTHER_MACHINE);
    head.e_ident[EI_CLASS] = ELFCLASS32;
    check(&head, sizeof head, PROGRAM_NOT_64_BIT);
    assert_int_equal(program_file_look(&file, "missing"), -ENOENT);
}

static void test_interpreters(void **state) {
    (void)state;
    struct program_file file;
    write_file("file", "#! /bin/sh -e\n", 14);
    assert_int_equal(program_file_look_through(&file, "file"), 0);
    assert_int_equal(file.kind, PROGRAM_DYNAMIC);
    write_file("other", "#!file", 6);
    assert_int_equal(program_file_look_through(&file, "other"), 0);
    assert_int_equal(file.kind, PROGRAM_DYNAMIC);
    write_file("file", "#!other\n", 8);
    assert_int_equal(program_file_look_through(&file, "other"), 0);
    assert_int_equal(file.kind, PROGRAM_OTHER);
    write_file("file", "#!\n", 3);
    assert_true(program_file_look_through(&file, "file") < 0);
}

static void test_rights(void **state) {
    (void)state;
    write_file("file", "", 0);
    assert_int_equal(chmod("file", 0755), 0);
    assert_false(program_file_gains_rights("file"));
    assert_int_equal(chmod("file", 04755), 0); // its owner gains nothing
    assert_false(program_file_gains_rights("file"));
    assert_false(program_file_gains_rights("missing"));
    if (geteuid() == 0 && chown("file", 1, (gid_t)-1) == 0 && chmod("file", 04755) == 0)
        assert_true(program_file_gains_rights("file"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_interpreters),
        cmocka_unit_test(test_rights),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
