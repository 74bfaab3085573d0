// How files are spread over servers: attributes of real files, of a mount that never answers, and in a log.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "log/log.h"
#include "pack/pack.h"
#include "pack/read_attributes.h"
#include "test_pack_image.h"

enum { PATH_ROOM = 128 };

struct place {
    char folder[PATH_ROOM];
    char dead[PATH_ROOM]; // a folder to mount on
    int fuse;             // -1: nothing is mounted
};

static int set_up(void **state) {
    static struct place place;
    place.fuse = -1;
    strcpy(place.folder, "/var/tmp/ioseer-test-XXXXXX");
    if (!mkdtemp(place.folder)) return -1;
    snprintf(place.dead, sizeof place.dead, "%.100s/dead", place.folder);
    *state = &place;
    return mkdir(place.dead, 0700);
}

static int tear_down(void **state) {
    struct place *place = *state;
    char command[PATH_ROOM + 16];
    if (place->fuse >= 0) umount2(place->dead, MNT_DETACH);
    if (place->fuse >= 0) close(place->fuse);
    snprintf(command, sizeof command, "rm -rf %s", place->folder);
    return system(command);
}

static const char *make_file(const struct place *place, const char *name, char path[PATH_ROOM]) {
    snprintf(path, PATH_ROOM, "%.100s/%s", place->folder, name);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    return path;
}

// A file system whose server never takes a request.
static void mount_dead(struct place *place) {
    char options[PATH_ROOM];
    place->fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", place->fuse);
    if (place->fuse >= 0 && mount("dead", place->dead, "fuse", 0, options) == 0) return;
    if (place->fuse >= 0) close(place->fuse);
    place->fuse = -1;
    skip(); // needs root and FUSE
}

struct taken {
    int len[8];
    uint8_t first[8];
    size_t count;
};

static int take(void *context, size_t file, const uint8_t *value, int len) {
    struct taken *taken = context;
    assert_int_equal(file, taken->count);
    taken->first[file] = len > 0 ? value[0] : 0;
    taken->len[taken->count++] = len;
    return 0;
}

static void attributes_of_files(void **state) {
    const struct place *place = *state;
    char path[3][PATH_ROOM];
    static uint8_t large[3000];
    const char *const names[] = {make_file(place, "one", path[0]), make_file(place, "two", path[1]),
                                 make_file(place, "none", path[2]), "/nonexistent"};
    large[0] = 7;
    if (setxattr(names[0], "user.lov", "abc", 3, 0) || setxattr(names[1], "user.more", large, sizeof large, 0)) skip();
    struct taken taken = {0};
    struct attribute_request request = {
        .file = names, .count = 4, .name = {"user.lov", "user.more"}, .patience_ms = 60000, .limit_ms = 60000};
    assert_int_equal(read_attributes(&request, take, &taken), 4);
    assert_int_equal(taken.len[0], 3);
    assert_int_equal(taken.first[0], 'a');
    assert_int_equal(taken.len[1], sizeof large);
    assert_int_equal(taken.first[1], 7);
    assert_int_equal(taken.len[2], -ENODATA);
    assert_int_equal(taken.len[3], -ENOENT);
}

static int refuse(void *context, size_t file, const uint8_t *value, int len) {
    (void)context, (void)file, (void)value, (void)len;
    return -ENOMEM;
}

static void caller_that_wants_no_more(void **state) {
    (void)state;
    const char *const names[] = {"/", "/"};
    struct attribute_request request = {
        .file = names, .count = 2, .name = {"user.lov"}, .patience_ms = 60000, .limit_ms = 60000};
    assert_int_equal(read_attributes(&request, refuse, NULL), -ENOMEM);
}

static void mount_that_never_answers(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM], below[PATH_ROOM + 8];
    mount_dead(place);
    snprintf(below, sizeof below, "%s/file", place->dead);
    const char *const names[] = {make_file(place, "one", path), below, path};
    struct taken taken = {0};
    struct attribute_request request = {
        .file = names, .count = 3, .name = {"user.lov"}, .patience_ms = 300, .limit_ms = 60000};
    int64_t start_ns = clock_now_ns();
    assert_int_equal(read_attributes(&request, take, &taken), 1);
    assert_true(clock_now_ns() - start_ns < INT64_C(20000000000));
    request.patience_ms = 60000;
    request.limit_ms = 300;
    taken.count = 0;
    start_ns = clock_now_ns();
    assert_int_equal(read_attributes(&request, take, &taken), 1);
    assert_true(clock_now_ns() - start_ns < INT64_C(20000000000));
}

// --- in a log

static void save(const char *folder, const char *name, const void *data, size_t len) {
    char path[2 * PATH_ROOM];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

struct job {
    char spills[PATH_ROOM];
    char list[2 * PATH_ROOM];
    char log[2 * PATH_ROOM];
};

// A job of this host that used two files, and a list of mounts that calls the file systems of both Lustre.
static struct job make_job(const struct place *place, const char *file, uint64_t device, const char *point) {
    struct job job;
    char host[65] = "", text[4 * PATH_ROOM];
    snprintf(job.spills, sizeof job.spills, "%.100s/spills", place->folder);
    assert_int_equal(mkdir(job.spills, 0700), 0);
    struct image image = image_new();
    struct spill_chunk *chunk = image_chunk(&image, CHUNK_RECORDS);
    struct fields_out out = image_fields(chunk);
    fields_begin(&out, RECORD_FILE);
    fields_number(&out, FILE_ID, 1);
    fields_string(&out, FILE_NAME, file);
    fields_number(&out, FILE_DEVICE, device);
    fields_number(&out, FILE_TYPE, S_IFREG);
    fields_end(&out);
    chunk->used = (uint32_t)(out.at - image_payload(chunk));
    save(job.spills, "a.spill", image.data, image.len);
    free(image.data);
    gethostname(host, sizeof host - 1);
    uint8_t data[4096];
    out = (struct fields_out){.at = data, .end = data + sizeof data};
    fields_begin(&out, RECORD_JOB);
    fields_string(&out, JOB_HOST, host);
    fields_end(&out);
    save(job.spills, PACK_JOB_FILE, data, (size_t)(out.at - data));
    out = (struct fields_out){.at = data, .end = data + sizeof data};
    fields_begin(&out, RECORD_MOUNT);
    fields_string(&out, MOUNT_POINT, point);
    fields_string(&out, MOUNT_TYPE, "lustre");
    fields_number(&out, MOUNT_DEVICE, device);
    fields_end(&out);
    save(job.spills, "host" PACK_DEVICES_SUFFIX, data, (size_t)(out.at - data));
    snprintf(text, sizeof text, "20 1 %u:%u / %s rw - lustre server:/fs rw\n", major(device), minor(device), point);
    snprintf(job.list, sizeof job.list, "%.100s/list", place->folder);
    save(place->folder, "list", text, strlen(text));
    snprintf(job.log, sizeof job.log, "%.100s/log", place->folder);
    return job;
}

static struct log *pack(const struct job *job) {
    struct pack_options options = {.mountinfo = job->list};
    struct pack_result result;
    struct log *log;
    assert_int_equal(pack_directory(NULL, job->spills, job->log, &options, &result), 0);
    assert_int_equal(log_open(&log, job->log), 0);
    assert_int_equal(log_health(log)->records_damaged, 0);
    return log;
}

static void stripes_in_a_log(void **state) {
    const struct place *place = *state;
    static const uint8_t layout[] = {
        0xd0, 0x0b, 0xd3, 0x0b, 1, 0, 0, 0, 1,   0,   0,   0,   0,   0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
        0,    0,    0x10, 0,    4, 0, 0, 0, 'f', 'l', 'a', 's', 'h', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        1,    0,    0,    0,    0, 0, 0, 0, 2,   0,   0,   0,   0,   0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0,
    };
    char path[PATH_ROOM];
    struct stat status;
    make_file(place, "data", path);
    if (setxattr(path, "trusted.lov", layout, sizeof layout, 0)) skip(); // needs root
    assert_int_equal(stat(path, &status), 0);
    struct job job = make_job(place, path, status.st_dev, "/");
    struct log *log = pack(&job);
    const struct log_file *file = log_file_at(log, 0);
    assert_string_equal(file->fs_name, "lustre");
    assert_int_equal(file->stripe_count, 1);
    assert_int_equal(file->stripes[0].count, 4);
    assert_int_equal(file->stripes[0].size, 1 << 20);
    assert_int_equal(file->stripes[0].first, 10);
    assert_string_equal(file->stripes[0].pool, "flash");
    assert_ptr_equal(log_file_stripe(file), file->stripes);
    assert_int_equal(log_mount_count(log), 1);
    assert_int_equal(log_mount_at(log, 0)->unread, 0);
    log_close(log);
}

static void dead_file_system(void **state) {
    struct place *place = *state;
    char below[PATH_ROOM + 8];
    mount_dead(place);
    snprintf(below, sizeof below, "%s/file", place->dead);
    struct job job = make_job(place, below, 4711, place->dead);
    int64_t start_ns = clock_now_ns();
    struct log *log = pack(&job);
    assert_true(clock_now_ns() - start_ns < INT64_C(20000000000));
    assert_int_equal(log_file_at(log, 0)->stripe_count, 0);
    assert_null(log_file_stripe(log_file_at(log, 0)));
    const struct log_mount *mount = log_mount_at(log, 0);
    assert_string_equal(mount->point, place->dead);
    assert_int_equal(mount->unread, 1);
    assert_string_equal(mount->unread_why, "the file system did not answer in time");
    log_close(log);
}

static void damaged_layout(void **state) {
    const struct place *place = *state;
    char path[PATH_ROOM];
    struct stat status;
    make_file(place, "data", path);
    if (setxattr(path, "trusted.lov", "no layout", 9, 0)) skip();
    assert_int_equal(stat(path, &status), 0);
    struct job job = make_job(place, path, status.st_dev, "/");
    struct log *log = pack(&job);
    assert_int_equal(log_file_at(log, 0)->stripe_count, 0);
    assert_int_equal(log_mount_at(log, 0)->unread, 1);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attributes_of_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(caller_that_wants_no_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mount_that_never_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stripes_in_a_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dead_file_system, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_layout, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
