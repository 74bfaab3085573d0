// Starts an emulated mount: the guard's part.
#include <errno.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/err.h"
#include "target/emulate/server.h"
#include "target/emulate/stop.h"
#include "target/mount_point.h"

struct target {
    const struct emulate_options *options;
    pid_t guard;
    struct overhead *overhead;
};

static int keep(void *context, const sigset_t *signals, int outcome_pipe)
{
    const struct target *target = context;
    return emulate_server(target->options, target->guard, target->overhead, signals, outcome_pipe);
}

static int call_statfs(void *context)
{
    struct statfs about;
    return fstatfs(*(const int *)context, &about);
}

static void ready(void *context)
{
    const struct target *target = context;
    int fd = open(target->options->mount, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    overhead_measure(target->overhead, call_statfs, &fd);
    close(fd);
}

static int unmount_ours(const struct target *target, bool lazily)
{
    bool is_ours = emulate_guard_of(target->options->mount) == target->guard;
    return is_ours ? unmount(target->options->mount, lazily) : ERR_NOTHING;
}

// Unmounts while the server still runs, so that the kernel can write its cached data. Fails while the mount is in use;
// the keeper then ends all the same.
static int stop(void *context)
{
    return unmount_ours(context, false);
}

static void clean_up(void *context)
{
    unmount_ours(context, true);
}

int emulate_serve(const struct emulate_options *options, target_ready *on_ready, void *context)
{
    struct target target = {options, getpid(), overhead_new()};
    struct guard_work work = {keep, ready, stop, clean_up, &target};
    RETURN_IF(!target.overhead, -ENOMEM);
    if (emulate_state_of(options->mount) == EMULATE_DEAD) unmount(options->mount, true);
    int code = guard_run(&work, on_ready, context);
    overhead_free(target.overhead);
    return code;
}
