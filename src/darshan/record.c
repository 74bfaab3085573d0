#include "darshan/record.h"

#include <string.h>

const struct darshan_mount *darshan_mount_of(const struct darshan_job *job, const char *name) {
    for (size_t i = 0; name && i < job->mount_count; i++) {
        if (!strncmp(name, job->mounts[i].point, strlen(job->mounts[i].point))) return &job->mounts[i];
    }
    return NULL;
}

double darshan_run_seconds(const struct darshan_job *job, bool is_old) {
    if (!job->end_s || job->end_s < job->start_s) return 0;
    double seconds = (double)job->end_s - (double)job->start_s;
    return is_old ? seconds + 1 : seconds + ((double)job->end_ns - (double)job->start_ns) / 1e9;
}
