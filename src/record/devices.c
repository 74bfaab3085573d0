#include "record/devices.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "pack/pack.h"
#include "target/monitor/monitor.h"

// -1 where another `record` on this host has made the file.
static int claim_file(const char *spill_dir, const char *host)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s" PACK_DEVICES_SUFFIX, spill_dir, host) < 0) return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    free(path);
    return fd;
}

void record_devices_start(struct record_devices *devices, const char *spill_dir, const char *host)
{
    *devices = (struct record_devices){.fd = spill_dir ? claim_file(spill_dir, host) : -1};
    if (devices->fd < 0 || monitor_start(&devices->monitor, NULL) == 0) return;
    close(devices->fd);
    devices->fd = -1;
}

void record_devices_stop(struct record_devices *devices, const char *host)
{
    if (!devices->monitor) return;
    struct bytes records = {0};
    if (monitor_stop(devices->monitor, host, &records) == 0) {
        io_write_all(devices->fd, records.data, records.len); // the packer skips incomplete records
    }
    bytes_free(&records);
    close(devices->fd);
    *devices = (struct record_devices){.fd = -1};
}
