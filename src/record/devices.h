// Watches the machine's block devices while the command runs. Where each rank of a job has its own `record`, the first
// one on each host does so.
#pragma once

struct monitor;

struct record_devices {
    struct monitor *monitor; // NULL: nothing is watched
    int fd;                  // of the file in the spill directory that the packer will read
};

// Watches nothing without a directory (NULL), or where the kernel has no statistics; neither is an error.
void record_devices_start(struct record_devices *devices, const char *spill_dir, const char *host);
void record_devices_stop(struct record_devices *devices, const char *host);
