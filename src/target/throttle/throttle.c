#include "target/throttle/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "target/mount_point.h"
#include "target/throttle/limits.h"
#include "target/throttle/setup.h"

enum { END_MS = 30000 }; // for guard and keeper to clean up

struct target {
    const struct throttle_options *options;
    struct throttle_state state;
};

// --- the keeper

// Returns when the target is unmounted or a signal comes. The kernel reports changes of the mount list as POLLPRI.
static void await_end(const struct throttle_state *state, const sigset_t *signals)
{
    int list = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC), ending = signalfd(-1, signals, SFD_CLOEXEC);
    struct pollfd events[] = {{.fd = ending, .events = POLLIN}, {.fd = list, .events = POLLPRI}};
    while (!events[0].revents && throttle_is_mounted(state)) {
        if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    }
    close(list);
    close(ending);
}

static int keep(void *context, const sigset_t *signals, int outcome_pipe)
{
    struct target *target = context;
    struct target_outcome outcome = {0};
    target->state.keeper = getpid();
    outcome.code = throttle_state_create(&target->state);
    if (outcome.code < 0) {
        snprintf(outcome.why, sizeof outcome.why, "note in /run/ioseer: %s", err_text(outcome.code));
    } else {
        int device = throttle_set_up(target->options, &target->state, &outcome);
        if (outcome.code == 0) {
            guard_tell(outcome_pipe, 0, "");
            await_end(&target->state, signals);
        }
        throttle_tear_down(&target->state);
        if (device >= 0) close(device);
    }
    if (outcome.code < 0) guard_tell(outcome_pipe, outcome.code, outcome.why);
    return outcome.code;
}

// --- the guard

// The guard does not share the keeper's memory; the state file tells it what the keeper has made.
static bool read_own_state(const struct target *target, struct throttle_state *state)
{
    return throttle_state_read(state, target->options->mount) == 0 && state->guard == getpid();
}

static int stop(void *context)
{
    struct throttle_state state;
    bool is_mounted = read_own_state(context, &state) && throttle_is_mounted(&state);
    return is_mounted ? unmount(state.mount, false) : ERR_NOTHING;
}

static void clean_up(void *context)
{
    struct throttle_state state;
    if (read_own_state(context, &state)) throttle_tear_down(&state);
}

// A keeper without its guard removes the target itself. Waits for that: it could hit a new target at the same place.
static void remove_dead(const struct throttle_state *state)
{
    struct throttle_state now;
    int guard = guard_open(state->guard), keeper = guard < 0 ? guard_open(state->keeper) : -1;
    if (keeper >= 0) guard_ends_within(keeper, END_MS);
    bool is_left = throttle_state_read(&now, state->mount) == 0 && now.guard == state->guard;
    if (guard < 0 && is_left) throttle_tear_down(&now);
    if (guard >= 0) close(guard);
    if (keeper >= 0) close(keeper);
}

void throttle_remove_dead(void)
{
    throttle_state_each(remove_dead);
}

int throttle_serve(const struct throttle_options *options, target_ready *ready, void *context)
{
    struct target target = {options, throttle_state_for(options->mount)};
    struct guard_work work = {.keep = keep, .stop = stop, .clean_up = clean_up, .context = &target};
    return guard_run(&work, ready, context);
}

// --- other processes

bool throttle_is_at(const char *mount)
{
    struct throttle_state state;
    return throttle_state_read(&state, mount) == 0;
}

int throttle_stop(const char *mount, bool force)
{
    struct throttle_state state;
    FORWARD(throttle_state_read(&state, mount));
    bool is_mounted = throttle_is_mounted(&state);
    int code = is_mounted ? unmount_patiently(mount) : 0;
    if (code == -EBUSY && force) code = unmount(mount, true);
    RETURN_IF(code < 0, code);
    int process = guard_open(state.guard);
    if (process < 0) {
        remove_dead(&state);
        return 0;
    }
    if (!is_mounted) kill(state.guard, SIGTERM); // it is still being set up
    bool ended = guard_ends_within(process, END_MS);
    close(process);
    return ended ? 0 : -ETIMEDOUT;
}

bool throttle_limits_runs_only(void)
{
    struct limits limits;
    limits_find(&limits, "/proc/self/mounts", "/sys");
    return limits_are_of_group(&limits);
}

int throttle_enter(const char *mount)
{
    struct throttle_state state;
    struct limits limits;
    FORWARD(throttle_state_read(&state, mount));
    limits_find(&limits, "/proc/self/mounts", "/sys");
    return limits_enter_group(&limits, state.name);
}
