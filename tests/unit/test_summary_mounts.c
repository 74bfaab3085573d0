// Mounts and stripes of a log, as people and programs get them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "summary/mounts.h"
#include "test_log_maker.h"

static const struct nfs_operation reads = {"READ", {20, 22, 1, 2000, 4096, 3, 40, 50}};

static void put_operation(struct fields_out *out, const struct nfs_operation *operation, size_t less) {
    uint8_t room[NFS_OPERATION_MAX_BYTES];
    size_t len = (size_t)(nfs_operation_put(room, operation) - room);
    fields_bytes(out, MOUNT_NFS_OPERATION, room, len - less);
}

static void put_stripe(struct fields_out *out, const struct stripe *stripe, size_t less) {
    uint8_t room[STRIPE_MAX_BYTES];
    size_t len = (size_t)(stripe_put(room, stripe) - room);
    fields_bytes(out, FILE_STRIPE, room, len - less);
}

static struct fields_out *begin_file(struct log_maker *maker, uint64_t id) {
    fields_begin(&maker->records, RECORD_FILE);
    fields_number(&maker->records, FILE_ID, id);
    fields_string(&maker->records, FILE_NAME, "/lustre/data");
    return &maker->records;
}

static void put_home(struct fields_out *out, uint64_t id, const char *host, const char *options) {
    fields_begin(out, RECORD_MOUNT);
    fields_number(out, MOUNT_ID, id);
    fields_string(out, MOUNT_POINT, "/home");
    fields_string(out, MOUNT_TYPE, "nfs4");
    fields_string(out, MOUNT_SOURCE, "server:/home");
    fields_string(out, MOUNT_OPTIONS, options);
    fields_string(out, MOUNT_HOST, host);
    fields_number(out, MOUNT_DEVICE, makedev(0, 50));
    fields_indexed(out, MOUNT_NFS_BYTES, (uint64_t[NFS_BYTES]){10, 20, 0, 0, 50, 60}, NFS_BYTES);
    put_operation(out, &reads, 0);
    fields_end(out);
}

static struct log *make_log(void) {
    static const struct stripe parts[] = {
        {.end = 1 << 20, .count = 1, .size = 1 << 20, .first = 1, .pattern = 0x100},
        {.start = 1 << 20, .end = 1 << 30, .count = 4, .size = 4 << 20, .first = 8, .pattern = 1, .pool = "flash"},
        {.start = 1 << 30, .size = 4 << 20, .pattern = 1}};
    struct log_maker *maker = maker_new();
    struct fields_out *out = &maker->records;
    put_home(out, 1, "node1", "rw,hard");
    fields_begin(out, RECORD_MOUNT);
    fields_number(out, MOUNT_ID, 2);
    fields_string(out, MOUNT_POINT, "/lustre");
    fields_number(out, MOUNT_UNREAD, 3);
    fields_string(out, MOUNT_UNREAD_WHY, "no answer");
    fields_end(out);
    out = begin_file(maker, 1);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) put_stripe(out, &parts[i], 0);
    fields_end(out);
    begin_file(maker, 2);
    fields_end(out);
    maker_flush_records(maker);
    return maker_close(maker);
}

static int write_all(void *context, struct json_out *json) {
    const struct log *log = context;
    json_object(json);
    mounts_json(log, json, SIZE_MAX);
    for (size_t i = 0; i < log_file_count(log); i++) mounts_json_stripe(log_file_at(log, i), json);
    json_close(json);
    return 0;
}

static void as_json(void **state) {
    (void)state;
    struct log *log = make_log();
    char *text;
    size_t len;
    assert_int_equal(log_health(log)->records_damaged, 0);
    assert_int_equal(json_out_memory(&text, &len, write_all, log), 0);
    assert_string_equal(
        text, "{\"mounts\":[{\"point\":\"/home\",\"type\":\"nfs4\",\"source\":\"server:/home\",\"options\":\"rw,hard\","
              "\"host\":\"node1\",\"number\":\"0:50\",\"nfs\":{\"bytes_read\":10,\"bytes_written\":20,"
              "\"direct_read\":0,\"direct_written\":0,\"server_read\":50,\"server_written\":60,\"operations\":["
              "{\"name\":\"READ\",\"requests\":20,\"transmissions\":22,\"timeouts\":1,\"bytes_sent\":2000,"
              "\"bytes_received\":4096,\"queue\":0.003,\"server\":0.04,\"time\":0.05}]},\"unread\":0,"
              "\"unread_reason\":null},"
              "{\"point\":\"/lustre\",\"type\":null,\"source\":null,\"options\":null,\"host\":null,\"number\":\"0:0\","
              "\"nfs\":null,\"unread\":3,\"unread_reason\":\"no answer\"}],"
              "\"stripe\":{\"count\":4,\"size\":4194304,\"offset\":7,\"pool\":\"flash\",\"pattern\":\"raid0\","
              "\"parts\":[{\"start\":0,\"end\":1048576,\"count\":1,\"size\":1048576,\"offset\":0,\"pool\":null,"
              "\"pattern\":\"mdt\"},{\"start\":1048576,\"end\":1073741824,\"count\":4,\"size\":4194304,\"offset\":7,"
              "\"pool\":\"flash\",\"pattern\":\"raid0\"},{\"start\":1073741824,\"end\":null,\"count\":null,"
              "\"size\":4194304,\"offset\":null,\"pool\":null,\"pattern\":\"raid0\"}]},\"stripe\":null}\n");
    free(text);
    log_close(log);
}

static void as_text(void **state) {
    (void)state;
    struct log *log = make_log();
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(mounts_text(log, out), 0);
    fclose(out);
    assert_string_equal(text,
                        "  TYPE  MOUNT    SOURCE        OPTIONS\n"
                        "  nfs4  /home    server:/home  rw,hard\n"
                        "  -     /lustre  -             -\n"
                        "  NFS   REQUESTS  SENT AGAIN  TIMEOUTS     SENT  RECEIVED    QUEUE   SERVER     TIME  MOUNT\n"
                        "  READ        20           2         1  2.0 KiB   4.0 KiB  3.00 ms  40.0 ms  50.0 ms  /home\n"
                        "  /lustre: the stripes of 3 files are not known: no answer\n");
    free(text);
    log_close(log);
}

static void hosts_with_the_same_mount(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    char *text = NULL;
    size_t len;
    put_home(&maker->records, 1, "node1", "rw,clientaddr=1");
    put_home(&maker->records, 2, "node2", "rw,clientaddr=2");
    maker_flush_records(maker);
    struct log *log = maker_close(maker);
    assert_int_equal(log_mount_count(log), 2);
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(mounts_text(log, out), 0);
    fclose(out);
    assert_non_null(strstr(text, "rw,clientaddr=1\n  NFS "));
    assert_non_null(strstr(text, "\n  READ        40           4         2  3.9 KiB   8.0 KiB  6.00 ms"));
    free(text);
    log_close(log);
}

static void damaged_records(void **state) {
    (void)state;
    struct nfs_operation slow = reads;
    struct log_maker *maker = maker_new();
    struct fields_out *out = &maker->records;
    slow.count[NFS_ALL_MS] = UINT64_MAX;
    for (unsigned i = 0; i < 2; i++) {
        fields_begin(out, RECORD_MOUNT);
        fields_number(out, MOUNT_ID, i + 1);
        put_operation(out, i ? &slow : &reads, !i);
        fields_end(out);
    }
    maker_numbers(maker, RECORD_MOUNT, MOUNT_ID, UINT64_C(3), MOUNT_POINT, UINT64_C(5), 0); // a number, not bytes
    out = begin_file(maker, 1);
    put_stripe(out, &(struct stripe){.count = 1}, 1);
    fields_end(out);
    out = begin_file(maker, 2);
    fields_bytes(out, FILE_STRIPE, "\0\0\0\0\0\0a name that is too long for a pool", 41);
    fields_end(out);
    maker_flush_records(maker);
    struct log *log = maker_close(maker);
    assert_int_equal(log_health(log)->records_damaged, 5);
    assert_int_equal(log_mount_count(log), 0);
    assert_int_equal(log_file_count(log), 0);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_json),
        cmocka_unit_test(as_text),
        cmocka_unit_test(hosts_with_the_same_mount),
        cmocka_unit_test(damaged_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
