// Watches the machine's block devices while the command runs. Of several `record`s on a host, one for each rank, the
// first does.
#pragma once

struct monitor;

struct record_devices {
    struct monitor *monitor; // NULL: nothing is watched
    int fd;                  // of the file in the spill directory that the packer will read
};

// Without a directory (NULL), or where the kernel does not tell, nothing is watched; that is no reason to complain.
void record_devices_start(struct record_devices *devices, const char *spill_dir, const char *host);
void record_devices_stop(struct record_devices *devices, const char *host);
