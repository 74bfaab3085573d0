// on-lustre LOG: makes a log of two ranks with files on Lustre and on many other file systems, which are not where the
// tests run.
#include <fcntl.h>

#include "../unit/test_log_maker.h"
#include "fmt/stripe.h"

static const struct stripe parts[] = {
    {.end = 1 << 20, .count = 1, .size = 1 << 20, .first = 1, .pattern = 0x100},
    {.start = 1 << 20, .end = 1 << 30, .count = 4, .size = 4 << 20, .first = 8, .pattern = 1, .pool = "flash"},
    {.start = 1 << 30, .size = 4 << 20, .pattern = 0x201}};

static struct fields_out *begin_file(struct log_maker *maker, uint64_t id, const char *name, const char *mount,
                                     const char *type) {
    struct fields_out *out = &maker->records;
    fields_begin(out, RECORD_FILE);
    fields_number(out, FILE_ID, id);
    fields_string(out, FILE_NAME, name);
    fields_string(out, FILE_MOUNT, mount);
    fields_string(out, FILE_FS_NAME, type);
    return out;
}

static void put_elsewhere(struct log_maker *maker, uint64_t id, const char *type) {
    char mount[32], name[64];
    snprintf(mount, sizeof mount, "/mnt/%u", (unsigned)id);
    snprintf(name, sizeof name, "%s/data", mount);
    fields_end(begin_file(maker, id, name, mount, type));
}

static void put_file(struct log_maker *maker, uint64_t id, const char *name, const struct stripe *stripe,
                     size_t stripes) {
    struct fields_out *out = begin_file(maker, id, name, "/lustre", "lustre");
    for (size_t i = 0; i < stripes; i++) {
        uint8_t room[STRIPE_MAX_BYTES];
        fields_bytes(out, FILE_STRIPE, room, (size_t)(stripe_put(room, &stripe[i]) - room));
    }
    fields_end(out);
}

static void put_writes(struct log_maker *maker, uint32_t stream, uint32_t files) {
    struct stream_writer *writer = maker_begin(maker, stream, 0, 1000);
    for (uint32_t file = 1; file <= files; file++) {
        stream_put_slot(writer, file, file, CALL_pwrite, file, file, 0, 0);
        stream_put_plain(writer, file, 4096, 100, 1000 + file * 10, 1005 + file * 10);
    }
    maker_end(maker, files, true, 1010, 1005 + files * 10);
}

int main(int argc, char **argv) {
    struct log_maker *maker = maker_new();
    if (argc != 2) return 2;
    fields_begin(&maker->records, RECORD_JOB);
    fields_string(&maker->records, JOB_COMMAND, "program");
    fields_number(&maker->records, JOB_START_NS, 1700000000123456789);
    fields_string(&maker->records, JOB_ID, "4711.cluster");
    fields_end(&maker->records);
    put_file(maker, 1, "/lustre/shared", parts, 3);
    put_file(maker, 2, "/lustre/own", &parts[1], 1);
    put_file(maker, 3, "/lustre/not asked", NULL, 0);
    for (uint64_t id = 4; id < 14; id++) put_elsewhere(maker, id, "nfs4");
    for (uint64_t id = 14; id < 74; id++) put_elsewhere(maker, id, "ext4");
    for (uint64_t process = 1; process <= 2; process++) {
        maker_process(maker, process, 10 + process, process);
        maker_stream(maker, process, process, 1);
        for (uint64_t file = 1; file <= 3; file++)
            maker_numbers(maker, RECORD_PROCESS_FILE, LINK_PROCESS, process, LINK_LOCAL, file, LINK_GLOBAL, file, 0);
    }
    maker_flush_records(maker);
    put_writes(maker, 1, 1);
    put_writes(maker, 2, 3);
    maker_finish(maker);
    int fd = open(argv[1], O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && write(fd, maker->log.data, maker->log.len) == (ssize_t)maker->log.len;
    maker_free(maker);
    return is_written ? 0 : 1;
}
