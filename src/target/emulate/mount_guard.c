// The guard of a mount.
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate/mounted.h"
#include "target/emulate/private.h"
#include "target/unmount.h"

struct mission {
    const struct emulate_options *options;
    pid_t guard;
    struct overhead *way;
};

static int keep(void *context, const sigset_t *signals, int outcome)
{
    const struct mission *mission = context;
    return emulate_server(mission->options, mission->guard, mission->way, signals, outcome);
}

static int ask_for_space(void *context)
{
    struct statfs about;
    return fstatfs(*(const int *)context, &about);
}

static void came(void *context)
{
    const struct mission *mission = context;
    int fd = open(mission->options->mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    overhead_measure(mission->way, ask_for_space, &fd);
    close(fd);
}

// Unmounts while the server is there, so that no cached data is lost; those who use the mount do not stop it.
static int end(void *context)
{
    const struct mission *mission = context;
    return emulate_guard_of(mission->options->mount) == mission->guard ? unmount(mission->options->mount, false)
                                                                       : ERR_NOTHING;
}

static void clean(void *context)
{
    const struct mission *mission = context;
    if (emulate_guard_of(mission->options->mount) == mission->guard) unmount(mission->options->mount, true);
}

int emulate_serve(const struct emulate_options *options, target_ready *ready, void *context)
{
    struct mission mission = {options, getpid(), overhead_make()};
    struct guard_work work = {keep, came, end, clean, &mission};
    RETURN_IF(!mission.way, -ENOMEM);
    if (emulate_state_of(options->mount) == EMULATE_DEAD) unmount(options->mount, true);
    int code = guard_run(&work, ready, context);
    overhead_drop(mission.way);
    return code;
}
