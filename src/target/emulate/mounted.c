#include "target/emulate/mounted.h"

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate/emulate.h"
#include "target/unmount.h"

enum { END_MS = 30000 }; // for a server without a mount to end

static const char source_start[] = "ioseer:";

struct emulate_source emulate_source(pid_t guard)
{
    struct emulate_source source;
    snprintf(source.text, sizeof source.text, "%s%d", source_start, (int)guard);
    return source;
}

pid_t emulate_guard_of(const char *mount)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    if (!mounts) return 0;
    pid_t guard = 0;
    struct mntent entry;
    char text[3 * PATH_MAX];
    size_t start = sizeof source_start - 1;
    while (getmntent_r(mounts, &entry, text, sizeof text)) {
        if (strcmp(entry.mnt_dir, mount)) continue;
        bool ours = !strcmp(entry.mnt_type, "fuse.ioseer") && !strncmp(entry.mnt_fsname, source_start, start);
        guard = ours ? (pid_t)atoi(entry.mnt_fsname + start) : 0;
    }
    endmntent(mounts);
    return guard;
}

enum emulate_state emulate_state_of(const char *mount)
{
    pid_t guard = emulate_guard_of(mount);
    if (!guard) return EMULATE_NONE;
    int process = guard_open(guard);
    if (process < 0) return EMULATE_DEAD;
    close(process);
    return EMULATE_SERVED;
}

int emulate_stop(const char *mount, bool force)
{
    pid_t guard = emulate_guard_of(mount);
    RETURN_IF(!guard, ERR_NOTHING);
    int process = guard_open(guard);
    if (process < 0) return unmount(mount, true);
    int code = unmount_patiently(mount);
    if (code == -EBUSY && force) {
        code = unmount(mount, true);
        kill(guard, SIGTERM);
    }
    if (code == 0 && !guard_ends_within(process, END_MS)) code = -ETIMEDOUT;
    close(process);
    return code;
}
