// Finds and ends an emulated mount.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate/emulate.h"
#include "target/mount_point.h"

enum { END_MS = 30000 }; // for the server to end after the unmount

static const char source_start[] = "ioseer:";

struct emulate_source emulate_source(pid_t guard) {
    struct emulate_source source;
    snprintf(source.text, sizeof source.text, "%s%d", source_start, (int)guard);
    return source;
}

pid_t emulate_guard_of(const char *mount) {
    struct mount_point_top top;
    size_t start = sizeof source_start - 1;
    bool is_ours =
        mount_point_top(mount, &top) && !strcmp(top.type, "fuse.ioseer") && !strncmp(top.source, source_start, start);
    return is_ours ? (pid_t)atoi(top.source + start) : 0;
}

enum emulate_state emulate_state_of(const char *mount) {
    pid_t guard = emulate_guard_of(mount);
    if (!guard) return EMULATE_NONE;
    int process = guard_open(guard, 0);
    if (process < 0) return EMULATE_DEAD;
    close(process);
    return EMULATE_SERVED;
}

int emulate_stop(const char *mount, bool force) {
    pid_t guard = emulate_guard_of(mount);
    RETURN_IF(!guard, ERR_NOTHING);
    int process = guard_open(guard, 0);
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
