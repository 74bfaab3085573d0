// Members of communicators: packed and read again, and lists that are impossible.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "fmt/communicator.h"
#include "fmt/records.h"

static size_t pack(uint8_t *buffer, const int *ranks, size_t count, struct members_out *out) {
    members_start(out, buffer);
    for (size_t i = 0; i < count; i++) members_add(out, ranks[i]);
    members_end(out);
    assert_int_equal(out->size, count);
    return (size_t)(out->at - buffer);
}

static void check(const int *ranks, size_t count, size_t runs) {
    uint8_t buffer[MEMBERS_MAX_BYTES];
    struct members_out out;
    struct members_run run;
    size_t len = pack(buffer, ranks, count, &out), at = 0, seen = 0;
    struct members_in in = {buffer, buffer + len};
    assert_int_equal(members_check(in, count, false), 0);
    assert_int_equal(members_check(in, count + 1, false), ERR_FORMAT);
    assert_int_equal(members_check(in, count + 1, true), 0);
    for (; members_next(&in, &run) > 0; seen++) {
        for (uint64_t i = 0; i < run.count; i++) {
            assert_int_equal(run.first == MEMBERS_UNKNOWN ? -1 : run.first + run.step * (int64_t)i, ranks[at++]);
        }
    }
    assert_int_equal(at, count);
    assert_int_equal(seen, runs);
}

#define CHECK(runs, ...) check((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int), runs)

static void members_come_back(void **state) {
    (void)state;
    CHECK(1, 0);
    CHECK(1, 0, 1, 2, 3);
    CHECK(1, 9, 6, 3, 0);
    CHECK(2, 0, 5, 6, 7);
    CHECK(3, 4, -1, -1, -1, 2, 2);
    CHECK(2, -1, 0, 1);
    check(NULL, 0, 0);
}

static void long_lists_are_cut(void **state) {
    (void)state;
    static int ranks[10000];
    uint8_t buffer[MEMBERS_MAX_BYTES];
    struct members_out out, other;
    for (int i = 0; i < 10000; i++) ranks[i] = (int)((unsigned)i * 2654435761u >> 8);
    size_t len = pack(buffer, ranks, 10000, &out);
    assert_true(out.cut && len <= MEMBERS_MAX_BYTES);
    assert_int_equal(members_check((struct members_in){buffer, buffer + len}, 10000, true), 0);
    ranks[9999]++;
    pack(buffer, ranks, 10000, &other);
    assert_true(out.hash != other.hash);
}

static int next_of(const char *bytes, size_t len) {
    struct members_in in = {(const uint8_t *)bytes, (const uint8_t *)bytes + len};
    struct members_run run;
    return members_next(&in, &run);
}

static void damage_is_found(void **state) {
    (void)state;
    assert_int_equal(next_of("\x01\x02\x04", 3), 1);
    assert_int_equal(next_of("\x01\x02", 2), ERR_FORMAT);                     // cut off
    assert_int_equal(next_of("\x01\x02\x00", 3), ERR_FORMAT);                 // nobody
    assert_int_equal(next_of("\x01\x03\x02", 3), ERR_FORMAT);                 // down to rank -2
    assert_int_equal(next_of("\x00\x02\x02", 3), ERR_FORMAT);                 // a step from nowhere
    assert_int_equal(next_of("\xff\xff\xff\xff\x0f\x00\x01", 7), ERR_FORMAT); // a rank over 31 bits
    assert_int_equal(next_of("\x01\xfe\xff\xff\xff\x1f\x01", 7), ERR_FORMAT); // a step over 31 bits
}

static int get(struct communicator *comm, uint64_t number, uint64_t size, const char *members, size_t len) {
    static uint8_t buffer[64];
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    fields_number(&out, COMMUNICATOR_NUMBER, number);
    fields_number(&out, COMMUNICATOR_ORIGIN, ORIGIN_SPLIT);
    fields_number(&out, COMMUNICATOR_PARENT, 1);
    fields_number(&out, COMMUNICATOR_SIZE, size);
    fields_bytes(&out, COMMUNICATOR_MEMBERS, members, len);
    return communicator_get((struct fields_in){buffer, out.at}, comm);
}

static void records_are_checked(void **state) {
    (void)state;
    struct communicator comm;
    assert_int_equal(get(&comm, 3, 2, "\x01\x04\x02", 3), 0);
    assert_true(comm.number == 3 && comm.parent == 1 && comm.origin == ORIGIN_SPLIT && comm.local.size == 2);
    assert_false(comm.is_inter || comm.local.cut);
    assert_int_equal(get(&comm, 0, 2, "\x01\x04\x02", 3), ERR_FORMAT);
    assert_int_equal(get(&comm, UINT64_C(1) << 32, 2, "\x01\x04\x02", 3), ERR_FORMAT);
    assert_int_equal(get(&comm, 3, 3, "\x01\x04\x02", 3), ERR_FORMAT);
    assert_int_equal(get(&comm, 3, UINT64_MAX, "\x01\x04\x02", 3), ERR_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_back),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(records_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
