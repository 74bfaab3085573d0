#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "anonymous/name.h"
#include "anonymous/record.h"
#include "base/err.h"
#include "base/siphash.h"
#include "fmt/counters.h"
#include "test_log_maker.h"

static const struct anonymous_key key = {{1, 2}}, other_key = {{1, 3}};

static void test_siphash(void **state) {
    (void)state;
    // The example of those who made it: key 00 01 … 0f, text 00 01 … 0e.
    const uint64_t words[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint8_t text[15];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)i;
    assert_true(siphash(words, text, sizeof text) == UINT64_C(0xa129ca6149be45e5));
}

static const char *name_of(const struct anonymous_key *with, const char *text) {
    static char names[4][256];
    static unsigned next;
    char *name = names[next++ % 4];
    struct bytes out = {0};
    assert_int_equal(anonymous_name(with, 0, text, strlen(text), &out), 0);
    assert_true(out.len < sizeof names[0]);
    memcpy(name, out.data, out.len);
    name[out.len] = 0;
    bytes_free(&out);
    return name;
}

static const char *words_of(const char *text) {
    static char words[256];
    struct bytes out = {0};
    assert_int_equal(anonymous_words(&key, text, strlen(text), &out), 0);
    memcpy(words, out.data, out.len);
    words[out.len] = 0;
    bytes_free(&out);
    return words;
}

static void test_names(void **state) {
    (void)state;
    const char *deep = name_of(&key, "/home/u1234/x/job/run.7/out-0012.chk5");
    assert_string_equal(deep, name_of(&key, "/home/u1234/x/job/run.7/out-0012.chk5"));
    assert_string_not_equal(deep, name_of(&other_key, "/home/u1234/x/job/run.7/out-0012.chk5"));
    assert_non_null(strstr(deep, "-0012.chk5"));
    assert_non_null(strstr(deep, "-7/"));
    assert_null(strstr(deep, "1234"));
    assert_null(strstr(deep, "job"));
    // Names that differ in numbers only, deep down.
    const char *one = name_of(&key, "/a/b/c/out-0012"), *two = name_of(&key, "/a/b/c/out-0013");
    assert_memory_equal(one, two, strlen(one) - 1);
    // A long number may be a date or a person.
    assert_null(strstr(name_of(&key, "/a/b/c/out-20261119"), "2026"));
    // At the top, only common extensions stay.
    assert_null(strstr(name_of(&key, "/home/john.smith"), "smith"));
    assert_non_null(strstr(name_of(&key, "/tmp/out.dat"), ".dat"));
    assert_string_equal(name_of(&key, "/"), "/");
    assert_string_equal(name_of(&key, "../."), "../.");
    assert_non_null(strstr(name_of(&key, "/a/(other files)"), "/(other files)"));
    assert_memory_equal(name_of(&key, "/usr/bin/mpiexec.secret"), name_of(&key, "/usr/bin/x"), 27);
    assert_non_null(strstr(name_of(&key, "/usr/bin/mpiexec.secret"), "/mpiexec-"));
}

static void test_words(void **state) {
    (void)state;
    assert_string_equal(words_of("Open MPI 4.1.4"), "Open MPI 4.1.4");
    assert_string_equal(words_of("fuse.glusterfs"), "fuse.glusterfs");
    assert_null(strstr(words_of("rw,addr=10.11.12.13"), "10."));
    assert_null(strstr(words_of("rw,user_id=1234"), "1234"));
    assert_non_null(strstr(words_of("rw,rsize=1048576"), "rsize=1048576"));
    assert_null(strstr(words_of("4.0.2 marker"), "marker"));
}

// Keys whose bytes are numbers.
static bool is_packed(unsigned kind, unsigned at) {
    switch (kind) {
    case RECORD_COUNTERS: return at >= COUNTERS_SIZES && at <= COUNTERS_RANKS && at != COUNTERS_SAME;
    case RECORD_PROCESS: return at == PROCESS_RANKS || at == PROCESS_SPREAD;
    case RECORD_DATATYPE: return at == DATATYPE_FORM;
    case RECORD_DEVICE: return at == DEVICE_SAMPLES;
    case RECORD_COMMUNICATOR: return at == COMMUNICATOR_MEMBERS || at == COMMUNICATOR_REMOTE_MEMBERS;
    default: return false;
    }
}

enum { KINDS = 64, KEYS = 300 };

// A text that nobody knows, in every place of every record, of known and of future ones.
static void test_marker(void **state) {
    (void)state;
    static const char *const markers[] = {"quartzmole",       "/quartzmole/quartzmole/quartzmole/quartzmole/quartzmole",
                                          "quartzmole@host",  "cb_nodes\0quartzmole",
                                          "quartzmole\0_1 2", "romio quartzmole=quartzmole,quartzmole"};
    struct anonymous anonymous = {.key = &key};
    struct bytes out = {0};
    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (unsigned at = 1; at < KEYS; at++) {
            for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++) {
                uint8_t buffer[256];
                size_t len = strlen(markers[i]);
                if (i == 3 || i == 4) len += 1 + strlen(markers[i] + len + 1);
                struct fields_out put = {.at = buffer, .end = buffer + sizeof buffer};
                fields_bytes(&put, at, markers[i], len);
                if (is_packed(kind, at)) continue;
                int some = anonymous_record(&anonymous, kind, (struct fields_in){buffer, put.at}, &out);
                assert_true(some >= 0 || some == ERR_FORMAT);
                if (some > 0 && memmem(out.data, out.len, "quartzmole", 10)) fail_msg("kind %u, key %u", kind, at);
            }
        }
    }
    bytes_free(&out);
}

// Numbers of unknown kinds and keys do not stay either, nor those that name users and machines.
static void test_numbers(void **state) {
    (void)state;
    static const struct {
        unsigned kind, key;
        bool stays;
    } cases[] = {{RECORD_JOB, JOB_EXIT_STATUS, true},
                 {RECORD_JOB, JOB_UID, false},
                 {RECORD_JOB, 63, false},
                 {RECORD_JOB, 64, false},
                 {RECORD_FILE, FILE_INODE, false},
                 {RECORD_FILE, FILE_DEVICE, false},
                 {RECORD_COUNTERS, COUNTERS_FIRST + COUNTER_BYTES_READ, true},
                 {RECORD_COUNTERS, COUNTERS_FIRST + COUNTER_COUNT, false},
                 {RECORD_MODULE, MODULE_BASE, false},
                 {RECORD_SERVER, SERVER_PORT, false},
                 {60, 1, false}};
    const uint64_t number = UINT64_C(0x123456789);
    struct anonymous anonymous = {.key = &key};
    struct bytes out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t buffer[64], tag[16];
        struct fields_out put = {.at = buffer, .end = buffer + sizeof buffer},
                          want = {.at = tag, .end = tag + sizeof tag};
        if (cases[i].kind == RECORD_COUNTERS) fields_number(&put, COUNTERS_PROCESS, 1);
        fields_number(&put, cases[i].key, number);
        fields_number(&want, cases[i].key, number);
        assert_true(anonymous_record(&anonymous, cases[i].kind, (struct fields_in){buffer, put.at}, &out) >= 0);
        bool stayed = out.len && memmem(out.data, out.len, tag, (size_t)(want.at - tag));
        if (stayed != cases[i].stays) fail_msg("kind %u, key %u", cases[i].kind, cases[i].key);
    }
    bytes_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_siphash), cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_words), cmocka_unit_test(test_marker),
                                       cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
