// The table of block devices, with the sums over the run. They are of all programs of the machine.
#include <errno.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "sql/table.h"

enum device_column {
    DEVICE_ROW_NAME,
    DEVICE_ROW_HOST,
    DEVICE_ROW_NUMBER,
    DEVICE_ROW_READS,
    DEVICE_ROW_WRITES,
    DEVICE_ROW_BYTES_READ,
    DEVICE_ROW_BYTES_WRITTEN,
    DEVICE_ROW_UTILISATION,
    DEVICE_ROW_QUEUE,
    DEVICE_ROW_START,
    DEVICE_ROW_SPAN,
    DEVICE_ROW_SAMPLES,
};

static const struct sql_column columns[] = {
    [DEVICE_ROW_NAME] = {"name", SQL_TEXT, "sda, nvme0n1 ..."},
    [DEVICE_ROW_HOST] = {"host", SQL_TEXT, "where it is"},
    [DEVICE_ROW_NUMBER] = {"number", SQL_TEXT, "major:minor"},
    [DEVICE_ROW_READS] = {"reads", SQL_INTEGER, "requests"},
    [DEVICE_ROW_WRITES] = {"writes", SQL_INTEGER, "requests"},
    [DEVICE_ROW_BYTES_READ] = {"bytes_read", SQL_INTEGER, "bytes"},
    [DEVICE_ROW_BYTES_WRITTEN] = {"bytes_written", SQL_INTEGER, "bytes"},
    [DEVICE_ROW_UTILISATION] = {"utilisation", SQL_REAL, "part of the time with a request under way, 0 to 1"},
    [DEVICE_ROW_QUEUE] = {"queue", SQL_REAL, "requests under way, on average"},
    [DEVICE_ROW_START] = {"start", SQL_REAL, "seconds since the job's start: of the first sample"},
    [DEVICE_ROW_SPAN] = {"span", SQL_REAL, "seconds that the samples cover"},
    [DEVICE_ROW_SAMPLES] = {"samples", SQL_INTEGER, "how many there are (dump --devices)"},
    {0},
};

static int gather(struct sql_bound *bound, uint64_t set) {
    const struct log *log = sql_log(bound->sql);
    struct arena *arena = sql_arena(bound->sql);
    const char **number;
    size_t count = log_device_count(log);
    (void)set;
    FORWARD(arena_array(arena, number, count));
    for (size_t i = 0; i < count; i++) {
        char text[32];
        uint64_t device = log_device_at(log, i)->number;
        snprintf(text, sizeof text, "%u:%u", major(device), minor(device));
        number[i] = arena_text(arena, text);
        RETURN_IF(!number[i], -ENOMEM);
    }
    bound->data = number;
    bound->count = count;
    return 0;
}

static struct sql_value value_of(const struct log_device *device, enum device_column column) {
    const struct device_sample *sum = &device->sum;
    switch (column) {
    case DEVICE_ROW_NAME: return sql_text(device->name);
    case DEVICE_ROW_HOST: return sql_text(device->host);
    case DEVICE_ROW_READS: return sql_number(sum->count[DEVICE_READS]);
    case DEVICE_ROW_WRITES: return sql_number(sum->count[DEVICE_WRITES]);
    case DEVICE_ROW_BYTES_READ: return sql_number(sum->count[DEVICE_SECTORS_READ] * DEVICE_SECTOR_BYTES);
    case DEVICE_ROW_BYTES_WRITTEN: return sql_number(sum->count[DEVICE_SECTORS_WRITTEN] * DEVICE_SECTOR_BYTES);
    case DEVICE_ROW_UTILISATION: return sql_real(device_utilisation(sum));
    case DEVICE_ROW_QUEUE: return sql_real(device_queue(sum));
    case DEVICE_ROW_START: return sql_seconds(device->start_ns);
    case DEVICE_ROW_SPAN: return sql_seconds((int64_t)sum->span_ns);
    default: return sql_number(device->sample_count);
    }
}

static void value(const struct sql_bound *bound, size_t row, unsigned column, struct sql_value *out) {
    const char *const *number = bound->data;
    *out = column == DEVICE_ROW_NUMBER ? sql_text(number[row])
                                       : value_of(log_device_at(sql_log(bound->sql), row), (enum device_column)column);
}

const struct sql_table sql_table_devices = {
    .about = {"devices", "each block device with files of the job; what it did for all programs", columns},
    .gather = gather,
    .value = value,
};
