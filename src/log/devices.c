// What the devices under the job's files did.
#include <errno.h>

#include "base/err.h"
#include "log/private.h"

static int take_samples(struct log *log, struct log_device *device, const struct field *field)
{
    const char *copy;
    FORWARD(log_take_text(log, field, &copy));
    device->samples.at = (const uint8_t *)copy;
    device->samples.end = device->samples.at + field->len;
    return device_samples_sum(device->samples, &device->sample_count, &device->sum);
}

static int take_device_field(struct log *log, struct log_device *device, const struct field *field)
{
    switch (field->key) {
    case DEVICE_ID: device->id = (uint32_t)field->number; return 0;
    case DEVICE_NAME: return log_take_text(log, field, &device->name);
    case DEVICE_NUMBER: device->number = field->number; return 0;
    case DEVICE_HOST: return log_take_text(log, field, &device->host);
    case DEVICE_START_NS: device->start_ns = log_take_ns((int64_t)field->number); return 0;
    case DEVICE_SAMPLES: return take_samples(log, device, field);
    default: return 0;
    }
}

int log_take_device(struct log *log, struct fields_in body)
{
    struct log_device device = {.name = ""};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) FORWARD(take_device_field(log, &device, &field));
    FORWARD(more);
    struct log_device *own = log_find_or_add(&log->devices, sizeof *own, &log->device_by_id, device.id);
    RETURN_IF(!own, -ENOMEM);
    *own = device;
    return 0;
}
