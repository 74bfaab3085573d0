#include "target/monitor/diskstats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/err.h"

// "8 0 sda reads merged sectors ms writes merged sectors ms in-flight busy-ms queue-ms …"
static bool parse_line(const char *line, struct diskstats_row *row)
{
    unsigned major_number, minor_number;
    uint64_t *count = row->count;
    int parsed = sscanf(
        line, "%u %u %31s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64,
        &major_number, &minor_number, row->name, &count[DEVICE_READS], &count[DEVICE_SECTORS_READ],
        &count[DEVICE_WRITES], &count[DEVICE_SECTORS_WRITTEN], &count[DEVICE_BUSY_MS], &count[DEVICE_QUEUE_MS]);
    if (parsed != 3 + DEVICE_COUNTERS) return false;
    row->device = makedev(major_number, minor_number);
    return true;
}

int diskstats_read(struct diskstats *stats, const char *path)
{
    stats->count = 0;
    FILE *file = fopen(path, "re");
    RETURN_IF(!file, -errno);
    char line[512];
    int code = 0;
    while (code == 0 && fgets(line, sizeof line, file)) {
        code = array_room(stats->row, stats->count);
        if (code == 0 && parse_line(line, &stats->row[stats->count])) stats->count++;
    }
    fclose(file);
    return code;
}

void diskstats_free(struct diskstats *stats)
{
    free(stats->row);
    *stats = (struct diskstats){0};
}
