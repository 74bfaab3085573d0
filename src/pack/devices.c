// Copies what the devices under the job's files did from the monitors' files in the spill directory into the log.
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "fmt/device_samples.h"
#include "pack/private.h"

enum { DEVICE_ROOM = 160, MAX_NAME_BYTES = 255, MAX_RECORD_BYTES = 1 << 20 };

// A device as a monitor describes it; texts point into the record.
struct device {
    const uint8_t *name;
    size_t name_len;
    uint64_t number;
    char host[MAX_NAME_BYTES + 1];
    struct spill_moment start;
    const uint8_t *samples;
    size_t samples_len;
};

static size_t whole_records(const struct bytes *file)
{
    struct fields_in records = fields_of(file);
    struct fields_in body;
    unsigned kind;
    while (fields_next_record(&records, &kind, &body) > 0) continue;
    return (size_t)(records.at - file->data);
}

// Of a file that cannot be read, or whose writer was killed, only its own samples are lost.
int pack_load_devices(struct pack *pack, const char *name)
{
    struct bytes file = {0};
    int code = pack_read_file(pack, name, &file);
    if (code == 0 && file.len) code = bytes_append(&pack->devices, file.data, whole_records(&file));
    bytes_free(&file);
    return code == -ENOMEM ? code : 0;
}

static void read_number(struct device *device, const struct field *field)
{
    if (field->key == DEVICE_NUMBER) device->number = field->number;
    if (field->key == DEVICE_MONO_NS) device->start.mono_ns = field->number;
    if (field->key == DEVICE_EPOCH_NS) device->start.epoch_ns = field->number;
}

static void read_bytes(struct device *device, const struct field *field)
{
    if (field->key == DEVICE_NAME) {
        device->name = field->data;
        device->name_len = field->len;
    } else if (field->key == DEVICE_HOST && field->len <= MAX_NAME_BYTES) {
        memcpy(device->host, field->data, field->len);
        device->host[field->len] = 0;
    } else if (field->key == DEVICE_SAMPLES) {
        device->samples = field->data;
        device->samples_len = field->len;
    }
}

static int read_device(struct fields_in body, struct device *device)
{
    struct field field;
    int more;
    *device = (struct device){0};
    RETURN_IF(body.end - body.at > MAX_RECORD_BYTES, ERR_LIMIT);
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.is_bytes)
            read_bytes(device, &field);
        else
            read_number(device, &field);
    }
    FORWARD(more);
    RETURN_IF(!device->name_len || device->name_len > MAX_NAME_BYTES, ERR_FORMAT);
    size_t count;
    struct device_sample sum;
    struct device_samples_in samples = {device->samples, device->samples + device->samples_len};
    return device_samples_sum(samples, &count, &sum);
}

// Writes which file systems on the device hold files of the job; false where none does.
static bool put_under(struct fields_out *out, const struct pack *pack, struct fields_in body)
{
    struct field field;
    bool any = false;
    while (fields_next(&body, &field) > 0) {
        if (field.is_bytes || field.key != DEVICE_UNDER || !file_table_has_device(&pack->files, field.number)) continue;
        fields_number(out, DEVICE_UNDER, field.number);
        any = true;
    }
    return any;
}

static int write_device(struct pack *pack, struct fields_in body, uint32_t *id)
{
    struct device device;
    struct fields_out out;
    if (read_device(body, &device) < 0) return 0;
    // Numbers take no more bytes here than in the file.
    FORWARD(log_writer_begin(&pack->writer, &out, RECORD_DEVICE, DEVICE_ROOM + (size_t)(body.end - body.at)));
    if (!put_under(&out, pack, body)) return 0; // a record without an end is not written
    fields_number(&out, DEVICE_ID, ++*id);
    fields_bytes(&out, DEVICE_NAME, device.name, device.name_len);
    fields_number(&out, DEVICE_NUMBER, device.number);
    if (device.host[0]) fields_string(&out, DEVICE_HOST, device.host);
    fields_number(&out, DEVICE_START_NS,
                  pack_since_start(pack, pack_is_local(pack, device.host, &device.start), &device.start));
    fields_bytes(&out, DEVICE_SAMPLES, device.samples, device.samples_len);
    return log_writer_end(&pack->writer, &out);
}

int pack_write_devices(struct pack *pack)
{
    struct fields_in records = fields_of(&pack->devices);
    struct fields_in body;
    unsigned kind;
    uint32_t id = 0;
    while (pack->devices.len && fields_next_record(&records, &kind, &body) > 0) {
        if (kind == RECORD_DEVICE) FORWARD(write_device(pack, body, &id));
    }
    return 0;
}
