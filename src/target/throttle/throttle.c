#include "target/throttle/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "target/throttle/limits.h"
#include "target/throttle/parts.h"
#include "target/unmount.h"

enum { END_MS = 30000 }; // for guard and keeper to clean up

struct mission {
    const struct block_options *options;
    struct block_note note;
};

// --- the keeper

// Until it is unmounted or a signal comes. The kernel tells of changes to the list of mounts by an error.
static void await_end(const struct block_note *note, const sigset_t *signals)
{
    int list = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC), ending = signalfd(-1, signals, SFD_CLOEXEC);
    struct pollfd events[] = {{.fd = ending, .events = POLLIN}, {.fd = list, .events = POLLPRI}};
    while (!events[0].revents && block_loop_at(note->mount) == note->loop) {
        if (poll(events, 2, -1) < 0 && errno != EINTR) break;
    }
    close(list);
    close(ending);
}

static int keep(void *context, const sigset_t *signals, int outcome)
{
    struct mission *mission = context;
    char why[sizeof((struct target_outcome *)0)->why] = "";
    mission->note.keeper = getpid();
    int device = -1, code = block_note_begin(&mission->note);
    if (code < 0) {
        snprintf(why, sizeof why, "note in /run/ioseer: %s", err_text(code));
    } else {
        code = block_make(mission->options, &mission->note, &device, why, sizeof why);
        if (code == 0) {
            guard_tell(outcome, 0, "");
            await_end(&mission->note, signals);
        }
        block_remove(&mission->note);
        if (device >= 0) close(device);
    }
    if (code < 0) guard_tell(outcome, code, why);
    return code;
}

// --- the guard

// The keeper's memory is not this process's, only its note is.
static bool read_own_note(const struct mission *mission, struct block_note *note)
{
    return block_note_read(note, mission->options->mount) == 0 && note->guard == getpid();
}

static int end(void *context)
{
    const struct mission *mission = context;
    struct block_note note;
    bool is_there = read_own_note(mission, &note) && note.loop >= 0 && block_loop_at(note.mount) == note.loop;
    return is_there ? unmount(note.mount, false) : ERR_NOTHING;
}

static void clean(void *context)
{
    struct block_note note;
    if (read_own_note(context, &note)) block_remove(&note);
}

// Without its guard a keeper removes all of it, which would meet with a new target at the same place.
static void remove_dead(const struct block_note *note)
{
    struct block_note now;
    int guard = guard_open(note->guard), keeper = guard < 0 ? guard_open(note->keeper) : -1;
    if (keeper >= 0) guard_ends_within(keeper, END_MS);
    bool is_left = block_note_read(&now, note->mount) == 0 && now.guard == note->guard;
    if (guard < 0 && is_left) block_remove(&now);
    if (guard >= 0) close(guard);
    if (keeper >= 0) close(keeper);
}

void block_remove_dead(void)
{
    block_note_each(remove_dead);
}

int block_serve(const struct block_options *options, target_ready *ready, void *context)
{
    struct mission mission = {options, block_note_for(options->mount)};
    struct guard_work work = {keep, NULL, end, clean, &mission};
    return guard_run(&work, ready, context);
}

// --- the others

bool block_is_at(const char *mount)
{
    struct block_note note;
    return block_note_read(&note, mount) == 0;
}

int block_stop(const char *mount, bool force)
{
    struct block_note note;
    FORWARD(block_note_read(&note, mount));
    bool is_there = note.loop >= 0 && block_loop_at(mount) == note.loop;
    int code = is_there ? unmount_patiently(mount) : 0;
    if (code == -EBUSY && force) code = unmount(mount, true);
    RETURN_IF(code < 0, code);
    int process = guard_open(note.guard);
    if (process < 0) {
        remove_dead(&note);
        return 0;
    }
    if (!is_there) kill(note.guard, SIGTERM); // it is still being made
    bool ended = guard_ends_within(process, END_MS);
    close(process);
    return ended ? 0 : -ETIMEDOUT;
}

bool block_limits_runs_only(void)
{
    struct limits bounds;
    limits_find(&bounds, "/proc/self/mounts", "/sys");
    return limits_are_of_group(&bounds);
}

int block_enter(const char *mount)
{
    struct block_note note;
    struct limits bounds;
    FORWARD(block_note_read(&note, mount));
    limits_find(&bounds, "/proc/self/mounts", "/sys");
    return limits_enter_group(&bounds, note.name);
}
