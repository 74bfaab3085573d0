// With the setting `spill`, each host keeps a job's spill files in a folder of its own (rec/host_folder.h). The last
// process there has them delivered: packed into one file of the job's directory. After a kill somebody does it later.
#pragma once

#include <limits.h>
#include <stdbool.h>

// By its name: whether it is such a folder, and of this host.
bool deliver_is_of_host(const char *folder);
bool deliver_is_here(const char *folder);
// The job's directory, as its processes have named it.
int deliver_find_job(const char *folder, char job[PATH_MAX]);

// Removes the folder when all of it has arrived. -EBUSY: processes use it, or it is being delivered; -ENOENT: another
// process has delivered it; ERR_NOTHING: the job's directory is gone, or nobody knows which it was. `counts_unseen` as
// in pack_is_running.
int deliver_folder(const char *folder, bool counts_unseen);

// What this host has of the job with this directory. ERR_NOTHING: there is nothing, or it is lost.
int deliver_of_job(const char *job, bool counts_unseen);

// The number of hosts whose folders have not been delivered; and how much has arrived, which changes with each of them.
struct deliveries {
    unsigned away, arrived;
};
struct deliveries deliver_count(const char *job);
