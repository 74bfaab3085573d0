// Copies the statistics of the devices under the job's files into the log. The monitors left them in files in the spill
// directory.
#include <errno.h>
#include <stdio.h>

#include "fmt/device_samples.h"
#include "pack/private.h"

enum { MAX_NAME_BYTES = 255 };

static size_t whole_records(const struct bytes *file) {
    struct fields_in records = fields_of(file);
    struct fields_in body;
    unsigned kind;
    while (fields_next_record(&records, &kind, &body) > 0) continue;
    return (size_t)(records.at - file->data);
}

int pack_load_records(struct pack *pack, const char *name, struct bytes *records) {
    struct bytes file = {0};
    int code = pack_read_file(pack, name, &file);
    if (code == 0 && file.len) code = bytes_append(records, file.data, whole_records(&file));
    bytes_free(&file);
    return code == -ENOMEM ? code : 0;
}

static bool is_good(const struct field *field) {
    size_t count;
    struct device_sample sum;
    if (!field->is_bytes) return true;
    struct device_samples_in samples = {field->data, field->data + field->len};
    if (field->key == DEVICE_SAMPLES) return device_samples_sum(samples, &count, &sum) == 0;
    if (field->key == DEVICE_NAME && field->len == 0) return false;
    return field->len <= MAX_NAME_BYTES || (field->key != DEVICE_NAME && field->key != DEVICE_HOST);
}

// Copies the fields that readers know; the moment of the first sample becomes the time since the job's start. False if
// the record is bad, or no file of the job lies on the device.
static bool put_device(struct fields_out *out, const struct pack *pack, struct fields_in body) {
    struct field field;
    struct spill_moment start = {0};
    char host[MAX_NAME_BYTES + 1] = "";
    bool has_name = false, has_files = false;
    int more;
    while ((more = fields_next(&body, &field)) > 0 && is_good(&field)) {
        bool is_name = field.key == DEVICE_NAME && field.len > 0, is_host = field.key == DEVICE_HOST && field.len > 0;
        bool is_under =
            field.key == DEVICE_UNDER && !field.is_bytes && file_table_has_device(&pack->files, field.number);
        if (field.key == DEVICE_MONO_NS) start.mono_ns = field.number;
        if (field.key == DEVICE_EPOCH_NS) start.epoch_ns = field.number;
        if (is_host) snprintf(host, sizeof host, "%.*s", (int)field.len, (const char *)field.data);
        if (is_name || is_host || (field.key == DEVICE_SAMPLES && field.is_bytes)) {
            fields_bytes(out, field.key, field.data, field.len);
        } else if (is_under || (field.key == DEVICE_NUMBER && !field.is_bytes)) {
            fields_number(out, field.key, field.number);
        }
        has_name |= is_name;
        has_files |= is_under;
    }
    fields_number(out, DEVICE_START_NS,
                  pack_since_start(pack, pack_is_local(pack, host, &start), pack_host_offset_ns(pack, host), &start));
    return more == 0 && has_name && has_files;
}

void pack_write_kind(struct pack *pack, unsigned kind, pack_put_record *put) {
    enum { ID = 1, ROOM = 160, MAX_RECORD_BYTES = 1 << 20 };
    struct fields_in records = fields_of(&pack->devices);
    struct fields_in body;
    unsigned found;
    uint32_t id = 0;
    while (pack->devices.len && fields_next_record(&records, &found, &body) > 0) {
        size_t len = (size_t)(body.end - body.at);
        if (found != kind || len > MAX_RECORD_BYTES) continue;
        struct fields_out *out = log_writer_begin(&pack->writer, kind, ROOM + len);
        fields_number(out, ID, id + 1);
        if (!put(out, pack, body)) continue; // a record without an end is not written
        log_writer_end(&pack->writer);
        id++;
    }
}

void pack_write_devices(struct pack *pack) { pack_write_kind(pack, RECORD_DEVICE, put_device); }
