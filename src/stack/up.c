// Starting, finding and ending stacks.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/process.h"
#include "stack/private.h"
#include "target/guard.h"
#include "target/mount_point.h"
#include "target/place.h"

enum {
    END_MS = 60000,     // for guard and keeper to clean up, and to get records from other hosts
    REMOVE_MS = 600000, // for the data of the bricks: many files, on a disk that others use too
    UNMOUNT_MS = 60000, // data in the page cache may have to be written
    ANSWER_MS = 3000,   // of a mount that works
    PORT_TRIES = 4,     // another program may listen on a port just before the server does
};

// --- what is left of killed stacks

// Several processes may find a dead stack; one at a time may remove it.
static int lock_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = io_lock(fd, END_MS);
    if (code < 0) close(fd);
    return code < 0 ? code : fd;
}

bool stack_guard_runs(pid_t guard, uint64_t start_ticks) {
    int process = guard_open(guard, start_ticks);
    if (process >= 0) close(process);
    return process >= 0;
}

// Where its records go may be a file system that hangs.
static int save_recordings(const void *probes) {
    stack_save_recordings(probes);
    return 0;
}

static void remove_killed(const struct stack *stack) {
    stack_bounded(save_recordings, stack->probes, END_MS);
    stack_tear_down(stack);
}

static void remove_noted(const char *folder) {
    struct stack stack;
    if (stack_state_read(&stack, folder) < 0) return;
    bool is_dead = !stack_guard_runs(stack.guard, stack.guard_ticks);
    if (is_dead) guard_await_keeper(stack.keeper, stack.keeper_ticks, END_MS);
    stack_forget(&stack);
    int lock = is_dead ? lock_folder(folder) : -1;
    if (lock < 0) return;
    if (stack_state_read(&stack, folder) == 0) {
        if (!stack_guard_runs(stack.guard, stack.guard_ticks)) remove_killed(&stack);
        stack_forget(&stack);
    }
    close(lock);
}

static void remove_if_dead(const char *folder, void *context) {
    (void)context;
    const char *name = strrchr(folder, '/') + 1, *guard = strrchr(folder, '.');
    if (name[0] != '.')
        remove_noted(folder);
    else if (!stack_guard_runs((pid_t)atoi(guard + 1), 0))
        stack_remove_folder(folder);
}

// The records of a stack that ended during a recording, if nobody will collect them any more.
static void remove_probes(void) {
    DIR *listing = opendir(STACK_MEMORY);
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        char path[sizeof STACK_MEMORY + sizeof entry->d_name];
        const char *guard = strrchr(entry->d_name, '-');
        snprintf(path, sizeof path, STACK_MEMORY "/%s", entry->d_name);
        bool is_ours = !strncmp(entry->d_name, STACK_PROBES, strlen(STACK_PROBES));
        if (is_ours && !stack_guard_runs((pid_t)atoi(guard + 1), 0) && !stack_is_recorded(path))
            stack_remove_folder(path);
    }
    if (listing) closedir(listing);
}

void stack_remove_dead(void) {
    if (geteuid()) return;
    stack_state_each(remove_if_dead, NULL);
    remove_probes();
}

// --- finding

static int set_name(struct stack *stack, const char *name, struct problem *problem) {
    *stack = (struct stack){0};
    return stack_state_name(stack, name) == 0
               ? 0
               : problem_set(problem, ERR_USAGE, *name ? name : "NAME", "cannot be the name of a stack");
}

int stack_find(struct stack *stack, const char *name, struct problem *problem) {
    struct stack named;
    FORWARD(set_name(&named, name, problem));
    stack_remove_dead();
    int code = stack_state_read(stack, named.folder);
    if (code == 0 && !stack_guard_runs(stack->guard, stack->guard_ticks)) {
        stack_forget(stack);
        code = ERR_NOTHING;
    }
    if (code == ERR_NOTHING)
        return problem_set(problem, code, name, "no such stack is up (ioseer stack list shows those that are)");
    return code < 0 ? problem_set(problem, code, name, "its notes cannot be read; ioseer stack down removes it") : 0;
}

struct visit {
    int (*call)(const struct stack *stack, void *context);
    void *context;
    int code;
};

static void visit_one(const char *folder, void *context) {
    struct visit *visit = context;
    struct stack stack;
    if (visit->code < 0 || strrchr(folder, '/')[1] == '.' || stack_state_read(&stack, folder) < 0) return;
    if (!stack.only && stack_guard_runs(stack.guard, stack.guard_ticks))
        visit->code = visit->call(&stack, visit->context);
    stack_forget(&stack);
}

int stack_each(int (*call)(const struct stack *stack, void *context), void *context) {
    struct visit visit = {call, context, 0};
    stack_remove_dead();
    stack_state_each(visit_one, &visit);
    return visit.code;
}

bool stack_process_runs(pid_t pid, uint64_t start_ticks) {
    struct process_stat stat;
    return process_stat(pid, &stat) && stat.state != 'Z' && stat.start_ticks == start_ticks;
}

bool stack_server_is_alive(const struct stack_server *server) {
    return server->link ? stack_process_runs(server->link, server->link_ticks)
                        : stack_process_runs(server->pid, server->start_ticks);
}

void stack_status(const struct stack *stack, struct stack_status *status) {
    *status = (struct stack_status){.mount_ok = true};
    for (unsigned i = 0; i < stack->clients && status->mount_ok; i++) {
        status->mount_ok = stack_is_mounted(stack, &stack->client[i]) &&
                           stack_bounded(stack_try_mount, stack->client[i].mount, ANSWER_MS) == 0;
    }
    struct stack_control control;
    if (stack_control_lock(&control, stack->probes) < 0) return;
    status->recordings = stack_control_sweep(&control);
    stack_control_unlock(&control);
}

// --- starting

struct start {
    struct stack *stack;
    const struct stack_programs *programs;
};

// In the process that becomes the guard.
static int serve(const void *what, target_ready *ready, void *context) {
    const struct start *start = what;
    struct stack *stack = start->stack;
    stack->guard = getpid();
    stack->guard_ticks = process_start_ticks(getpid());
    stack_state_locate(stack);
    int code = stack_state_create(stack);
    if (code == 0) return stack_serve(stack, start->programs, ready, context);
    struct target_outcome outcome = {.code = code};
    if (code == -EEXIST)
        snprintf(outcome.why, sizeof outcome.why, "is up already; ioseer stack down %s ends it", stack->name);
    ready(&outcome, context);
    return code;
}

static int make_secrets(struct stack *stack, struct problem *problem) {
    uint64_t random[2];
    if (getrandom(stack->id, sizeof stack->id, 0) != sizeof stack->id ||
        getrandom(random, sizeof random, 0) != sizeof random)
        return problem_code(problem, -errno, stack->name);
    snprintf(stack->password, sizeof stack->password, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
    return 0;
}

int stack_up(struct stack *stack, struct problem *problem) {
    struct stack_programs programs;
    struct target_outcome outcome = {0};
    struct stack other;
    struct start start = {stack, &programs};
    FORWARD(stack_check_machine(stack, &programs, problem));
    snprintf(stack->version, sizeof stack->version, "%s", programs.version);
    stack_remove_dead();
    FORWARD(stack_remove_unreadable(stack, problem));
    if (stack_state_read(&other, stack->folder) == 0) {
        stack_forget(&other);
        return problem_set(problem, -EEXIST, stack->name, "is up already; ioseer stack down %s ends it", stack->name);
    }
    FORWARD(stack_name_mounts(stack, problem));
    FORWARD(stack_name_bricks(stack, problem));
    FORWARD(stack_find_addresses(stack, problem));
    FORWARD(make_secrets(stack, problem));
    int code = -EADDRINUSE;
    bool is_given = stack->server[0].port; // the guard and the keeper have their own copy
    for (unsigned i = 0; code == -EADDRINUSE && i < (is_given ? 1 : PORT_TRIES); i++)
        code = place_in_background(serve, &start, &outcome);
    if (code == 0) return 0;
    // The reason begins with its subject, unless it is about the stack itself.
    const char *what = strstr(outcome.why, ": ") ? "" : stack->name;
    return problem_set(problem, code, what, "%s", outcome.why[0] ? outcome.why : err_text(code));
}

int stack_start_here(struct stack *stack, target_ready *ready, struct problem *problem) {
    struct stack_programs programs;
    struct start start = {stack, &programs};
    stack_state_locate(stack);
    FORWARD(stack_check_machine(stack, &programs, problem));
    stack_remove_dead();
    FORWARD(stack_name_bricks(stack, problem));
    return serve(&start, ready, stack);
}

// --- ending

static int unmount_work(const void *mount) { return unmount_patiently(mount); }

int stack_unmount(const struct stack_client *client, int timeout_ms) {
    return stack_bounded(unmount_work, client->mount, timeout_ms);
}

static int unmount_all(const struct stack *stack) {
    for (unsigned i = stack->clients; i-- > 0;) {
        if (stack_is_mounted(stack, &stack->client[i])) FORWARD(stack_unmount(&stack->client[i], UNMOUNT_MS));
    }
    return 0;
}

// The keeper notes which hosts it could not reach in a file that only we still have.
static int end_guard(const struct stack *stack, int guard, struct problem *problem) {
    char hosts[512] = "";
    int left = open(stack_path(stack, STACK_LEFT).text, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
    syscall(SYS_pidfd_send_signal, guard, SIGTERM, NULL, 0);
    int code = guard_ends_within(guard, END_MS) ? 0 : -ETIME;
    // Everything has ended once the folder has another name; to remove what is in it may take long.
    if (code == -ETIME && access(stack->folder, F_OK) < 0) code = guard_ends_within(guard, REMOVE_MS) ? 0 : -EAGAIN;
    if (code == 0 && left >= 0 && read(left, hosts, sizeof hosts - 1) > 0)
        problem_set(problem, 0, hosts, "not reached: ioseer there removes all of it within %d s",
                    STACK_SILENT_MS / 1000);
    if (left >= 0) close(left);
    return code;
}

static int end(const struct stack *stack, bool force, struct problem *problem) {
    char users[200] = "";
    const char *mount = stack->client[0].mount;
    int guard = guard_open(stack->guard, stack->guard_ticks);
    RETURN_IF(guard < 0, 0);        // it ended by itself
    force |= !stack->server[0].pid; // not ready yet: nobody uses it
    // Directories with a client of their own are unmounted first: not if the rest cannot be.
    if (!force && stack->clients > 1) mount_point_users(mount, users, sizeof users);
    int code = force ? 0 : users[0] ? -EBUSY : unmount_all(stack);
    if (code == 0) code = end_guard(stack, guard, problem);
    close(guard);
    if (code == -EBUSY && !users[0]) mount_point_users(mount, users, sizeof users);
    // Whoever asks a mount for which there is no answer uses it.
    if (code == -EBUSY && !users[0] && stack_bounded(stack_try_mount, mount, ANSWER_MS) == -ETIMEDOUT)
        code = -ETIMEDOUT;
    if (code == -EBUSY) return mount_point_in_use(mount, mount, problem);
    if (code == -ETIMEDOUT) return problem_set(problem, code, mount, "does not answer; add --force");
    if (code == -ETIME) return problem_set(problem, code, stack->name, "its processes do not end");
    if (code == -EAGAIN) return problem_set(problem, code, stack->name, "has ended; its data is still being removed");
    return code < 0 ? problem_code(problem, code, mount) : 0;
}

int stack_down(const char *name, bool force, struct problem *problem) {
    struct stack stack;
    FORWARD(set_name(&stack, name, problem));
    int code = geteuid() ? 0 : stack_remove_unreadable(&stack, problem);
    RETURN_IF(code, code < 0 ? code : 0);
    FORWARD(stack_find(&stack, name, problem));
    code = geteuid() ? problem_set(problem, -EPERM, name, "only root can end a stack") : end(&stack, force, problem);
    stack_forget(&stack);
    stack_remove_dead(); // a guard that had just begun may have left something
    return code;
}
