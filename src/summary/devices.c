#include <inttypes.h>
#include <sys/sysmacros.h>

#include "base/json_keys.h"
#include "cli/info.h"
#include "log/describe.h"

static void print_device(const struct log_device *device, FILE *out)
{
    const struct device_sample *sum = &device->sum;
    fprintf(out, "  %10s  %10s", human_bytes(sum->count[DEVICE_SECTORS_READ] * DEVICE_SECTOR_BYTES).text,
            human_bytes(sum->count[DEVICE_SECTORS_WRITTEN] * DEVICE_SECTOR_BYTES).text);
    fprintf(out, "  %7s  %7.2f  %7s in %-10s  ", human_percent(device_utilisation(sum)).text, device_queue(sum),
            human_count(device->sample_count, "").text, human_seconds((int64_t)sum->span_ns).text);
    human_print_name(out, device->name);
    if (device->host) {
        fputs(" on ", out);
        human_print_name(out, device->host);
    }
    fputc('\n', out);
}

void info_devices_text(const struct log *log, FILE *out)
{
    size_t count = log_device_count(log);
    if (!count) return;
    fprintf(out, "\nDevices    %s under these files, with all that the machine did on them\n",
            human_count(count, "").text);
    fprintf(out, "  %10s  %10s  %7s  %7s  %-21s  %s\n", "READ", "WRITTEN", "BUSY", "QUEUE", "SAMPLES", "DEVICE");
    for (size_t i = 0; i < count; i++) print_device(log_device_at(log, i), out);
}

static void json_device(struct json_out *json, const struct log_device *device)
{
    const struct device_sample *sum = &device->sum;
    char number[32];
    snprintf(number, sizeof number, "%u:%u", major(device->number), minor(device->number));
    json_object(json);
    key_text(json, "name", device->name);
    key_text(json, "host", device->host);
    key_text(json, "number", number);
    key_number(json, "reads", sum->count[DEVICE_READS]);
    key_number(json, "writes", sum->count[DEVICE_WRITES]);
    key_number(json, "bytes_read", sum->count[DEVICE_SECTORS_READ] * DEVICE_SECTOR_BYTES);
    key_number(json, "bytes_written", sum->count[DEVICE_SECTORS_WRITTEN] * DEVICE_SECTOR_BYTES);
    key_double(json, "utilisation", device_utilisation(sum));
    key_double(json, "queue", device_queue(sum));
    key_seconds(json, "start", device->start_ns);
    key_seconds(json, "span", (int64_t)sum->span_ns);
    key_number(json, "samples", device->sample_count);
    json_close(json);
}

void info_devices_json(const struct log *log, struct json_out *json)
{
    json_key(json, "devices");
    json_array(json);
    for (size_t i = 0; i < log_device_count(log); i++) json_device(json, log_device_at(log, i));
    json_close(json);
}
