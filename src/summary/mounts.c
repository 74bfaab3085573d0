#include "summary/mounts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "base/table.h"

static int64_t ns_of(uint64_t ms) {
    const int64_t ns_per_ms = 1000000, most = INT64_MAX / ns_per_ms;
    return (ms < (uint64_t)most ? (int64_t)ms : most) * ns_per_ms;
}

const char *stripe_pattern_name(uint64_t pattern) {
    enum { RAID0 = 1, MDT = 0x100, OVERSTRIPED = 0x200, FOREIGN = 0x400, RELEASED = 0x80000000 };
    if (pattern & RELEASED) return "released";
    if (pattern & FOREIGN) return "foreign";
    if (pattern & MDT) return "mdt";
    if (pattern & OVERSTRIPED) return "overstriped";
    return pattern & RAID0 ? "raid0" : "unknown";
}

// --- words

static bool is_same_text(const char *one, const char *two) { return one && two ? !strcmp(one, two) : one == two; }

// Hosts of a job mount the same things. Their options may differ in the host's own address.
static bool is_same(const struct log_mount *one, const struct log_mount *two) {
    return is_same_text(one->point, two->point) && is_same_text(one->type, two->type) &&
           is_same_text(one->source, two->source);
}

// Whether no mount before it is the same.
static bool is_first(const struct log *log, size_t number) {
    for (size_t i = 0; i < number; i++) {
        if (is_same(log_mount_at(log, i), log_mount_at(log, number))) return false;
    }
    return true;
}

struct operations {
    struct nfs_operation *item;
    size_t count;
};

static int add_operation(struct operations *sums, const struct nfs_operation *operation) {
    size_t i = 0;
    while (i < sums->count && strcmp(sums->item[i].name, operation->name)) i++;
    if (i == sums->count) return array_push(sums->item, sums->count, *operation);
    for (unsigned k = 0; k < NFS_COUNTS; k++) sums->item[i].count[k] += operation->count[k];
    return 0;
}

static int sum_hosts(const struct log *log, const struct log_mount *mount, struct operations *sums) {
    for (size_t i = 0; i < log_mount_count(log); i++) {
        const struct log_mount *other = log_mount_at(log, i);
        for (size_t k = 0; k < other->operation_count && is_same(other, mount); k++)
            FORWARD(add_operation(sums, &other->operations[k]));
    }
    return 0;
}

static void add_row(struct table *table, const struct nfs_operation *operation, const char *point) {
    const uint64_t *count = operation->count;
    bool again = count[NFS_TRANSMISSIONS] > count[NFS_REQUESTS];
    table_text(table, operation->name);
    table_count(table, count[NFS_REQUESTS]);
    table_count(table, again ? count[NFS_TRANSMISSIONS] - count[NFS_REQUESTS] : 0);
    table_count(table, count[NFS_TIMEOUTS]);
    table_bytes(table, count[NFS_SENT_BYTES]);
    table_bytes(table, count[NFS_RECEIVED_BYTES]);
    for (unsigned i = NFS_QUEUE_MS; i <= NFS_ALL_MS; i++) table_duration(table, ns_of(count[i]));
    table_text(table, point);
    table_row(table);
}

static int print_nfs(const struct log *log, FILE *out) {
    static const struct table_column columns[] = {{"NFS", TABLE_TEXT},
                                                  {"REQUESTS", TABLE_NUMBER},
                                                  {"SENT AGAIN", TABLE_NUMBER},
                                                  {"TIMEOUTS", TABLE_NUMBER},
                                                  {"SENT", TABLE_UNIT},
                                                  {"RECEIVED", TABLE_UNIT},
                                                  {"QUEUE", TABLE_UNIT},
                                                  {"SERVER", TABLE_UNIT},
                                                  {"TIME", TABLE_UNIT},
                                                  {"MOUNT", TABLE_NAME},
                                                  {0}};
    struct table table = table_begin(out, columns);
    table.indent = 2;
    table.has_header = true;
    int code = 0;
    for (size_t i = 0; i < log_mount_count(log) && code == 0; i++) {
        struct operations sums = {0};
        if (is_first(log, i)) code = sum_hosts(log, log_mount_at(log, i), &sums);
        for (size_t k = 0; k < sums.count; k++) add_row(&table, &sums.item[k], log_mount_at(log, i)->point);
        if (sums.count) table.has_header = false;
        free(sums.item);
    }
    int ended = table_end(&table);
    return code < 0 ? code : ended;
}

int mounts_text(const struct log *log, FILE *out) {
    static const struct table_column columns[] = {
        {"TYPE", TABLE_TEXT}, {"MOUNT", TABLE_TEXT}, {"SOURCE", TABLE_TEXT}, {"OPTIONS", TABLE_NAME}, {0}};
    struct table table = table_begin(out, columns);
    table.indent = 2;
    for (size_t i = 0; i < log_mount_count(log); i++) {
        const struct log_mount *mount = log_mount_at(log, i);
        if (!is_first(log, i)) continue;
        table_text(&table, mount->type);
        table_text(&table, mount->point);
        table_text(&table, mount->source);
        table_text(&table, mount->options);
        table_row(&table);
    }
    FORWARD(table_end(&table));
    FORWARD(print_nfs(log, out));
    for (size_t i = 0; i < log_mount_count(log); i++) {
        const struct log_mount *mount = log_mount_at(log, i);
        if (!mount->unread) continue;
        fputs("  ", out);
        human_print_name(out, mount->point);
        fprintf(out, ": the stripes of %s are not known: %s\n", human_count(mount->unread, "file").text,
                mount->unread_why ? mount->unread_why : "they could not be read");
    }
    return 0;
}

// --- JSON

static void operation_json(struct json_out *json, const struct nfs_operation *operation) {
    const uint64_t *count = operation->count;
    json_object_of(json, m_text("name", operation->name), m_number("requests", count[NFS_REQUESTS]),
                   m_number("transmissions", count[NFS_TRANSMISSIONS]), m_number("timeouts", count[NFS_TIMEOUTS]),
                   m_number("bytes_sent", count[NFS_SENT_BYTES]), m_number("bytes_received", count[NFS_RECEIVED_BYTES]),
                   m_seconds("queue", ns_of(count[NFS_QUEUE_MS])), m_seconds("server", ns_of(count[NFS_SERVER_MS])),
                   m_seconds("time", ns_of(count[NFS_ALL_MS])));
}

static void nfs_json(struct json_out *json, const struct log_mount *mount) {
    const uint64_t *bytes = mount->nfs_bytes;
    if (!mount->has_nfs) {
        key_null(json, "nfs");
        return;
    }
    key_object(json, "nfs");
    json_members(json, m_number("bytes_read", bytes[NFS_READ]), m_number("bytes_written", bytes[NFS_WRITTEN]),
                 m_number("direct_read", bytes[NFS_READ_DIRECT]), m_number("direct_written", bytes[NFS_WRITTEN_DIRECT]),
                 m_number("server_read", bytes[NFS_SERVER_READ]),
                 m_number("server_written", bytes[NFS_SERVER_WRITTEN]));
    key_array(json, "operations");
    for (size_t i = 0; i < mount->operation_count; i++) operation_json(json, &mount->operations[i]);
    json_close(json);
    json_close(json);
}

void mounts_json(const struct log *log, struct json_out *json, size_t most) {
    key_array(json, "mounts");
    for (size_t i = 0; i < log_mount_count(log) && i < most; i++) {
        const struct log_mount *mount = log_mount_at(log, i);
        char number[32];
        snprintf(number, sizeof number, "%u:%u", major(mount->device), minor(mount->device));
        json_object(json);
        json_members(json, m_text("point", mount->point), m_text("type", mount->type), m_text("source", mount->source),
                     m_text("options", mount->options), m_text("host", mount->host), m_text("number", number));
        nfs_json(json, mount);
        json_members(json, m_number("unread", mount->unread), m_text("unread_reason", mount->unread_why));
        json_close(json);
    }
    json_close(json);
}

static void key_stripe(struct json_out *json, const struct stripe *stripe) {
    json_members(json, m_number_if("count", stripe->count, stripe->count), m_number("size", stripe->size),
                 m_number_if("offset", stripe->first, stripe->first - 1),
                 m_text("pool", *stripe->pool ? stripe->pool : NULL),
                 m_text("pattern", stripe_pattern_name(stripe->pattern)));
}

void mounts_json_stripe(const struct log_file *file, struct json_out *json) {
    const struct stripe *stripe = log_file_stripe(file);
    if (!stripe) {
        key_null(json, "stripe");
        return;
    }
    key_object(json, "stripe");
    key_stripe(json, stripe);
    key_array(json, "parts");
    for (size_t i = 0; i < file->stripe_count; i++) {
        json_object(json);
        json_members(json, m_number("start", file->stripes[i].start),
                     m_number_if("end", file->stripes[i].end, file->stripes[i].end));
        key_stripe(json, &file->stripes[i]);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}
