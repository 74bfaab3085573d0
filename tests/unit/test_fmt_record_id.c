#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fmt/record_id.h"

static uint64_t id_of(const char *name) { return record_id(name, strlen(name), NULL, 0); }

static void names_have_the_ids_of_darshan(void **state) {
    (void)state;
    assert_true(id_of("<STDOUT>") == UINT64_C(15920181672442173319));
    assert_true(id_of("heatmap:STDIO") == UINT64_C(3989511027826779520));
    assert_true(id_of("heatmap:POSIX") == UINT64_C(16592106915301738621));
    assert_true(id_of("heatmap:MPIIO") == UINT64_C(3668870418325792824));
    assert_true(id_of("/tmp/mpi-io-test.tmp.dat") == UINT64_C(3413451750298442736));
}

static void any_length_has_an_id(void **state) {
    (void)state;
    static const char name[48] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    assert_true(record_id(name, 0, NULL, 0) == UINT64_C(10211412111675192767));
    assert_true(record_id(name, 16, NULL, 0) == UINT64_C(5695715538602427425));
    assert_true(record_id(name, 23, NULL, 0) == UINT64_C(11377817139690103579));
    assert_true(record_id(name, 24, NULL, 0) == UINT64_C(8681362180469844528));
    assert_true(record_id(name, 47, NULL, 0) == UINT64_C(9582970900316324117));
}

static void objects_follow_a_colon(void **state) {
    (void)state;
    const char *file = "/data/run.h5", *object = "/group/rows";
    assert_true(record_id(file, strlen(file), object, strlen(object)) == id_of("/data/run.h5:/group/rows"));
    assert_true(record_id(file, strlen(file), "", 0) == id_of("/data/run.h5:"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_the_ids_of_darshan),
        cmocka_unit_test(any_length_has_an_id),
        cmocka_unit_test(objects_follow_a_colon),
    };
    return cmocka_run_group_tests_name("fmt_record_id", tests, NULL, NULL);
}
