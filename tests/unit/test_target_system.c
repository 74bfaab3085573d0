// A SYSTEM profile's MPI-IO: what is written is read again, older profiles have none, and wrong ones are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/system/system.h"

static char path[] = "/tmp/ioseer-system-XXXXXX";

static int make_file(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static void put(const char *text) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void written_and_read(void **state) {
    struct system_mpiio mpiio[] = {{.name = "MPICH",
                                    .library = "romio",
                                    .np = 4,
                                    .nodes = 2,
                                    .within = {1e-6, 2e-10},
                                    .between = {3e-5, 4e-9},
                                    .sequential = {5e8, 6e8},
                                    .random = {7e7, 8e7},
                                    .random_size = 65536,
                                    .collective = {{1e-5, 2e-5, 3e-9, 4e-8, 0.05}, {6e-5, 7e-5, 8e-9, 9e-8, 0.1}},
                                    .per_piece = {1e-7, 2e-7},
                                    .per_call = {3e-6, 4e-6}},
                                   {.np = 8, .nodes = 1}};
    struct system system = {.storage.rotational = -1, .mpiio = mpiio, .mpiios = 2}, read;
    struct json_in_error error;
    (void)state;
    FILE *out = fopen(path, "w");
    assert_int_equal(system_write(&system, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(system_read(&read, path, &error), 0);
    assert_int_equal(read.mpiios, 2);
    assert_memory_equal(read.mpiio, mpiio, sizeof mpiio);
    system_free(&read);
}

static void older_profile(void **state) {
    struct system read;
    struct json_in_error error;
    (void)state;
    put("{\"ioseer_system\": 1, \"points\": [], \"peak\": {\"read\": 1, \"write\": 2}}");
    assert_int_equal(system_read(&read, path, &error), 0);
    assert_int_equal(read.mpiios, 0);
    system_free(&read);
}

static void refused(void **state) {
    static const struct {
        const char *mpiio, *why;
    } wrong[] = {{"{}", "np"},
                 {"{\"np\": 0}", "\"np\" or \"nodes\" is out of range"},
                 {"{\"np\": 4294967296}", "\"np\" or \"nodes\" is out of range"},
                 {"{\"np\": 2, \"nodes\": 3}", "\"np\" or \"nodes\" is out of range"},
                 {"{\"np\": 2, \"within\": {\"start\": -1}}", "\"start\" is negative"},
                 {"{\"np\": 2, \"collective\": {\"write\": {\"per_round\": -1e-9}}}", "\"per_round\" is negative"}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct system read;
        struct json_in_error error;
        char text[512];
        snprintf(text, sizeof text, "{\"ioseer_system\": 1, \"points\": [], \"peak\": {}, \"mpiio\": [%s]}",
                 wrong[i].mpiio);
        put(text);
        assert_true(system_read(&read, path, &error) < 0);
        assert_non_null(strstr(error.message, wrong[i].why));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(written_and_read), cmocka_unit_test(older_profile),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
