#include "cli/dump_devices.h"

#include <errno.h>
#include <inttypes.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "log/describe.h"

struct printer {
    const struct log_filter *filter;
    struct output *output;
    struct json_out *json; // NULL for text
};

static uint64_t bytes_of(const struct device_sample *sample, enum device_counter counter)
{
    return sample->count[counter] * DEVICE_SECTOR_BYTES;
}

static void json_sample(struct json_out *json, const struct log_device *device, int64_t start_ns,
                        const struct device_sample *sample)
{
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"reads", sample->count[DEVICE_READS]},
                  {"writes", sample->count[DEVICE_WRITES]},
                  {"bytes_read", bytes_of(sample, DEVICE_SECTORS_READ)},
                  {"bytes_written", bytes_of(sample, DEVICE_SECTORS_WRITTEN)}};
    json_object(json);
    key_seconds(json, "start", start_ns);
    key_seconds(json, "duration", (int64_t)sample->span_ns);
    key_text(json, "host", device->host);
    key_text(json, "device", device->name);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) key_number(json, counts[i].key, counts[i].value);
    key_double(json, "utilisation", device_utilisation(sample));
    key_double(json, "queue", device_queue(sample));
    json_close(json);
}

static void text_sample(FILE *out, const struct log_device *device, int64_t start_ns,
                        const struct device_sample *sample)
{
    fprintf(out, "%16.9f %13.9f %8" PRIu64 " %8" PRIu64 " %14" PRIu64 " %14" PRIu64 " %8s %8.2f  ",
            (double)start_ns / 1e9, (double)sample->span_ns / 1e9, sample->count[DEVICE_READS],
            sample->count[DEVICE_WRITES], bytes_of(sample, DEVICE_SECTORS_READ),
            bytes_of(sample, DEVICE_SECTORS_WRITTEN), human_percent(device_utilisation(sample)).text,
            device_queue(sample));
    human_print_name(out, device->name);
    if (device->host) {
        fputs(" on ", out);
        human_print_name(out, device->host);
    }
    fputc('\n', out);
}

static bool is_wanted(const struct log_filter *filter, int64_t start_ns)
{
    return !(filter->has_from && start_ns < filter->from_ns) && !(filter->has_to && start_ns > filter->to_ns);
}

static void print_device(const struct printer *printer, const struct log_device *device)
{
    struct device_samples_in samples = device->samples;
    struct device_sample sample;
    int64_t start_ns = device->start_ns;
    for (; device_samples_next(&samples, &sample) > 0; start_ns += (int64_t)sample.span_ns) {
        if (!is_wanted(printer->filter, start_ns)) continue;
        if (printer->json)
            json_sample(printer->json, device, start_ns, &sample);
        else
            text_sample(printer->output->out, device, start_ns, &sample);
    }
}

static void print_devices(const struct printer *printer, const struct log *log)
{
    for (size_t i = 0; i < log_device_count(log); i++) print_device(printer, log_device_at(log, i));
}

int dump_devices(const struct log *log, const struct log_filter *filter, bool as_json, struct output *output)
{
    struct printer printer = {.filter = filter, .output = output};
    if (!as_json) {
        fprintf(output->out, "%16s %13s %8s %8s %14s %14s %8s %8s  %s\n", "START", "DURATION", "READS", "WRITES",
                "BYTES READ", "BYTES WRITTEN", "BUSY", "QUEUE", "DEVICE");
        print_devices(&printer, log);
        output_failed(output);
        return 0;
    }
    printer.json = json_out_begin(output->out, 1);
    RETURN_IF(!printer.json, -ENOMEM);
    json_array(printer.json);
    print_devices(&printer, log);
    json_close(printer.json);
    output->error = json_out_end(printer.json);
    return 0;
}
