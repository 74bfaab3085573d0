#include "report/devices.h"

#include "base/json_keys.h"
#include "summary/summary.h"

static void sample_json(int64_t start_ns, const struct device_sample *sample, struct json_out *json)
{
    json_array_of(json, m_seconds(NULL, start_ns), m_seconds(NULL, (int64_t)sample->span_ns),
                  m_number(NULL, sample->count[DEVICE_SECTORS_READ] * DEVICE_SECTOR_BYTES),
                  m_number(NULL, sample->count[DEVICE_SECTORS_WRITTEN] * DEVICE_SECTOR_BYTES),
                  m_number(NULL, sample->count[DEVICE_READS]), m_number(NULL, sample->count[DEVICE_WRITES]),
                  m_double(NULL, device_utilisation(sample)), m_double(NULL, device_queue(sample)));
}

static void samples_json(const struct log_device *device, struct json_out *json, size_t most)
{
    struct device_samples_in in = device->samples;
    struct device_sample sum = {0}, sample;
    size_t together = most ? (device->sample_count + most - 1) / most : 1, held = 0;
    int64_t start_ns = device->start_ns;
    while (most && device_samples_next(&in, &sample) > 0) {
        device_sample_add(&sum, &sample);
        if (++held < together) continue;
        sample_json(start_ns, &sum, json);
        start_ns += (int64_t)sum.span_ns;
        sum = (struct device_sample){0};
        held = 0;
    }
    if (held) sample_json(start_ns, &sum, json);
}

void devices_json(const struct log *log, struct json_out *json, size_t most)
{
    static const char *const column[] = {"start", "span",   "bytes_read",  "bytes_written",
                                         "reads", "writes", "utilisation", "queue"};
    json_array(json);
    for (size_t i = 0; i < log_device_count(log); i++) {
        const struct log_device *device = log_device_at(log, i);
        json_object(json);
        summary_key_device(json, device);
        key_seconds(json, "start", device->start_ns);
        key_texts(json, "columns", column, sizeof column / sizeof column[0]);
        key_array(json, "samples");
        samples_json(device, json, most);
        json_close(json);
        json_close(json);
    }
    json_close(json);
}
