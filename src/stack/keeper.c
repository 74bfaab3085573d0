// The processes behind a stack: the keeper starts the storage of the bricks, the servers and the clients, and stays
// until a client ends, the mount is gone or a signal comes. All of them end with the keeper.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "stack/private.h"
#include "target/emulate/emulate.h"
#include "target/guard.h"
#include "target/mount_point.h"
#include "target/throttle/throttle.h"

enum {
    START_MS = 20000,   // for servers to listen and for a mount to answer, on a busy machine
    STORAGE_MS = 60000, // for a file system to be made
    END_MS = 5000,
    SAVE_MS = 40000, // to get records from other hosts
    RETRY_MS = 5,
    FIRST_BEAT_MS = 180000, // until all servers and clients have started
    SWEEP_MS = 1000,        // how soon the probes of a killed recording stop
    DIRTY_BYTES = 64 << 20,
    REASON_BYTES = 512,
};

struct keeper {
    struct stack *stack;
    const struct stack_programs *programs;
    struct stack_link link[STACK_SERVERS_MOST]; // to servers on other hosts
    int storage_report[STACK_SERVERS_MOST];     // where they say whether they work; 0: none
    bool is_lost[STACK_SERVERS_MOST];           // their hosts may have something left
    pid_t storage[STACK_SERVERS_MOST];          // guards of emulated or throttled bricks; 0: none
    int port[STACK_SERVERS_MOST];               // sockets that hold the servers' ports
    int ending;                                 // a signalfd of the signals that end the stack
    struct problem problem;
};

// --- children

// In a child: it ends with the keeper, and its signals are as at the start of a program.
static void become_child(pid_t keeper, int end_signal) {
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, end_signal);
    if (getppid() != keeper) _exit(1);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void be_program(char *const *words) {
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && null >= 0; fd++) dup2(null, fd);
    execv(words[0], words);
    _exit(127);
}

// Does not take the status of a child that ended: others want to see it.
static bool has_ended(pid_t child) {
    siginfo_t about = {0};
    return waitid(P_PID, (id_t)child, &about, WEXITED | WNOHANG | WNOWAIT) < 0 || about.si_pid;
}

// First all get the signal, then all are waited for: they end at the same time. 0 stands for a child that there is not.
static void end_children(const pid_t *child, unsigned count, int number) {
    int64_t until_ns = clock_now_ns() + END_MS * INT64_C(1000000);
    for (unsigned i = 0; i < count; i++) {
        if (child[i] > 0) kill(child[i], number);
    }
    for (unsigned i = 0; i < count; i++) {
        while (child[i] > 0 && waitpid(child[i], NULL, WNOHANG) == 0 && clock_now_ns() < until_ns)
            clock_sleep_until(clock_now_ns() + RETRY_MS * INT64_C(1000000));
    }
}

// The first error in a log of GlusterFS: "[time] E [MSGID: …] [file.c:…] 0-posix-0: the message". A mount that fails
// begins with "ret = -1", which says nothing.
static bool read_log(const char *path, char reason[REASON_BYTES]) {
    char *line = NULL, *message = NULL;
    size_t room = 0;
    FILE *log = fopen(path, "re");
    while (log && !message && getline(&line, &room, log) > 0) {
        const char *volume = strstr(line, "] E [") ? strstr(line, "] 0-") : NULL;
        message = volume && !strstr(volume, ": ret = ") ? strstr(volume, ": ") : NULL;
    }
    if (message) snprintf(reason, REASON_BYTES, "%.*s", (int)strcspn(message + 2, "\n"), message + 2);
    free(line);
    if (log) fclose(log);
    return message;
}

static int program_failed(struct keeper *k, const char *kind, unsigned number, const char *why) {
    char what[64], reason[REASON_BYTES] = "it ended; see GlusterFS's log";
    snprintf(what, sizeof what, "%s %u", kind, number);
    if (!why) read_log(stack_path(k->stack, "%s-%u.log", kind, number).text, reason);
    return problem_set(&k->problem, -EIO, what, "%s", why ? why : reason);
}

static int cancelled(struct keeper *k) { return problem_set(&k->problem, -ECANCELED, "", "ended before it was ready"); }

// Waits for a moment, or until there is something to read. Fails if the stack shall end already.
static int pause_start(struct keeper *k, int fd, int timeout_ms) {
    struct pollfd events[] = {{.fd = k->ending, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int ready = poll(events, 2, timeout_ms);
    return ready > 0 && events[0].revents ? cancelled(k) : ready > 0;
}

// --- storage of the bricks

static int report_storage(const struct target_outcome *outcome, void *context) {
    return write(*(const int *)context, outcome, sizeof *outcome) < 0 ? -EPIPE : 0;
}

static int serve_storage(const struct stack_server *server, int report) {
#ifdef IOSEER_WITH_FUSE
    struct emulate_options emulated = {.backing = server->backing, .mount = server->brick, .speed = server->speed};
    if (server->kind == STORAGE_EMULATED) return emulate_serve(&emulated, report_storage, &report);
#endif
    struct throttle_options throttled = {.folder = server->backing,
                                         .mount = server->brick,
                                         .size_bytes = server->block_bytes,
                                         .type = "xfs",
                                         .read_bandwidth = server->speed.read_bandwidth,
                                         .write_bandwidth = server->speed.write_bandwidth,
                                         .dirty_bytes = DIRTY_BYTES};
    return throttle_serve(&throttled, report_storage, &report);
}

static int start_storage(struct keeper *k, unsigned number) {
    const struct stack_server *server = &k->stack->server[number];
    int ends[2];
    if (mkdir(server->brick, 0755) < 0 && errno != EEXIST) return problem_code(&k->problem, -errno, server->brick);
    if (pipe2(ends, O_CLOEXEC) < 0) return problem_code(&k->problem, -errno, server->brick);
    pid_t keeper = getpid(), child = fork();
    if (child == 0) {
        become_child(keeper, SIGTERM);
        _exit(serve_storage(server, ends[1]) < 0);
    }
    close(ends[1]);
    k->storage[number] = child < 0 ? 0 : child;
    k->storage_report[number] = ends[0];
    return 0;
}

// A child that could not be started, or was killed, reports nothing.
static int await_storage(struct keeper *k, unsigned number) {
    const struct stack_server *server = &k->stack->server[number];
    struct target_outcome outcome;
    int report = k->storage_report[number];
    int ready = pause_start(k, report, STORAGE_MS);
    if (ready <= 0 || read(report, &outcome, sizeof outcome) != sizeof outcome) outcome = target_killed;
    close(report);
    RETURN_IF(ready < 0 || outcome.code == 0, ready < 0 ? ready : 0);
    return problem_set(&k->problem, outcome.code, server->backing, "%s",
                       outcome.why[0] ? outcome.why : err_text(outcome.code));
}

static int prepare_bricks(struct keeper *k) {
    struct stack *stack = k->stack;
    struct stack_path own = stack_path(stack, "bricks");
    int code = mkdir(own.text, 0700) < 0 ? problem_code(&k->problem, -errno, own.text) : 0;
    for (unsigned i = 0; i < stack->servers && code == 0; i++) {
        if (!stack_is_here(stack, i)) continue;
        code = stack_claim_brick(stack, i, &k->problem);
        if (code == 0 && stack->server[i].kind != STORAGE_PLAIN) code = start_storage(k, i);
    }
    for (unsigned i = 0; i < stack->servers; i++) {
        int one = k->storage_report[i] ? await_storage(k, i) : 0;
        if (code == 0) code = one;
        if (code == 0 && stack_is_here(stack, i)) code = stack_prepare_exports(stack, i, &k->problem);
    }
    return code;
}

// --- servers

static int start_server(struct keeper *k, unsigned number) {
    struct stack_server *server = &k->stack->server[number];
    struct stack_path volume = stack_path(k->stack, "server-%u.vol", number),
                      log = stack_path(k->stack, "server-%u.log", number);
    char *words[] = {(char *)k->programs->server, "-N", "-f", volume.text, "-l", log.text, "-L", "WARNING", NULL};
    pid_t keeper = getpid();
    server->pid = fork();
    if (server->pid < 0) return problem_code(&k->problem, -errno, words[0]);
    if (server->pid == 0) {
        become_child(keeper, SIGKILL);
        if (server->kind == STORAGE_THROTTLED) throttle_enter(server->brick);
        be_program(words);
    }
    server->start_ticks = process_start_ticks(server->pid);
    return 0;
}

// GlusterFS tries again for some seconds before it gives up.
static int check_port(struct keeper *k, unsigned number) {
    const struct stack_server *server = &k->stack->server[number];
    char reason[REASON_BYTES], what[sizeof server->address + 32];
    bool is_taken = read_log(stack_path(k->stack, "server-%u.log", number).text, reason) &&
                    strstr(reason, "Address already in use");
    snprintf(what, sizeof what, "%s port %u", server->address, server->port);
    return is_taken ? problem_code(&k->problem, -EADDRINUSE, what) : 0;
}

static int await_server(struct keeper *k, unsigned number, int64_t until_ns) {
    const struct stack_server *server = &k->stack->server[number];
    while (!stack_server_listens(server)) {
        FORWARD(check_port(k, number));
        if (has_ended(server->pid)) return program_failed(k, "server", number, NULL);
        if (clock_now_ns() > until_ns) return program_failed(k, "server", number, "does not listen on its port");
        FORWARD(pause_start(k, -1, RETRY_MS));
    }
    stack_close_port(k->port[number]);
    return 0;
}

static int start_servers(struct keeper *k) {
    int64_t until_ns = clock_now_ns() + START_MS * INT64_C(1000000);
    for (unsigned i = 0; i < k->stack->servers; i++) {
        if (stack_is_here(k->stack, i)) FORWARD(start_server(k, i));
    }
    for (unsigned i = 0; i < k->stack->servers; i++) {
        if (stack_is_here(k->stack, i)) FORWARD(await_server(k, i, until_ns));
    }
    return 0;
}

// --- servers on other hosts

static int await_elsewhere(struct keeper *k, unsigned number) {
    struct stack_server *server = &k->stack->server[number], before = *server;
    FORWARD(stack_link_answer(&k->link[number], server, &k->problem));
    memcpy(server->host, before.host, sizeof server->host);
    memcpy(server->address, before.address, sizeof server->address);
    server->link = k->link[number].pid;
    server->link_ticks = process_start_ticks(server->link);
    return stack_link_check(server, &k->problem);
}

static int await_link(struct keeper *k, unsigned number) {
    const struct stack_link *link = &k->link[number];
    int64_t left_ns = link->until_ns - clock_now_ns();
    return pause_start(k, link->fd, left_ns > 0 ? (int)(left_ns / 1000000) : 0);
}

static int start_elsewhere(struct keeper *k) {
    unsigned count = k->stack->remote[0] && !k->stack->only ? k->stack->servers : 0;
    for (unsigned i = 0; i < count; i++) {
        int code = stack_link_open(&k->link[i], k->stack, i);
        if (code < 0) return problem_code(&k->problem, code, k->stack->server[i].host);
    }
    for (unsigned i = 0; i < count; i++) {
        FORWARD(await_link(k, i));
        struct stack_request request = {.kind = ORDER_SERVE, .server = i};
        FORWARD(stack_link_order(&k->link[i], k->stack, &request, &k->problem));
    }
    for (unsigned i = 0; i < count; i++) {
        FORWARD(await_link(k, i));
        FORWARD(await_elsewhere(k, i));
    }
    return 0;
}

// --- clients

static int start_client(struct keeper *k, unsigned number) {
    struct stack_client *client = &k->stack->client[number];
    struct stack_path volume = stack_path(k->stack, "client-%u.vol", number),
                      log = stack_path(k->stack, "client-%u.log", number);
    char id[sizeof(struct stack_source) + 16];
    snprintf(id, sizeof id, "--volfile-id=%s", stack_source(k->stack).text);
    bool cache = k->stack->kernel_cache;
    char *words[] = {(char *)k->programs->client, "-N", "-f", volume.text, "-l", log.text, "-L", "WARNING", id,
                     // Its .meta shows the servers' password to everybody. No name has a slash: nobody finds it.
                     "--xlator-option=meta-autoload.meta-dir-name=/", "--fuse-mountopts=nosuid,nodev",
                     cache ? "--direct-io-mode=disable" : "--direct-io-mode=enable",
                     // Copies in the kernel read through the page cache: what is there goes with the next open.
                     cache ? "--fopen-keep-cache=yes" : "--fopen-keep-cache=no",
                     cache ? "--attribute-timeout=1" : "--attribute-timeout=0",
                     cache ? "--entry-timeout=1" : "--entry-timeout=0", client->mount, NULL};
    pid_t keeper = getpid();
    client->pid = fork();
    if (client->pid < 0) return problem_code(&k->problem, -errno, words[0]);
    if (client->pid == 0) {
        become_child(keeper, SIGKILL);
        be_program(words);
    }
    return 0;
}

// Returns -errno if the file system there does not work. It may hang.
int stack_try_mount(const void *mount) {
    struct statfs file_system;
    struct stat root;
    return statfs(mount, &file_system) < 0 || stat(mount, &root) < 0 ? -errno : 0;
}

static int await_client(struct keeper *k, unsigned number) {
    const struct stack_client *client = &k->stack->client[number];
    int64_t until_ns = clock_now_ns() + START_MS * INT64_C(1000000);
    while (!stack_is_mounted(k->stack, client)) {
        if (has_ended(client->pid)) return program_failed(k, "client", number, NULL);
        if (clock_now_ns() > until_ns) return program_failed(k, "client", number, "does not mount");
        FORWARD(pause_start(k, -1, RETRY_MS));
    }
    int code = stack_bounded(stack_try_mount, client->mount, START_MS);
    if (code < 0 && has_ended(client->pid)) return program_failed(k, "client", number, NULL);
    for (unsigned i = 0; i < k->stack->servers && code < 0; i++) {
        if (stack_is_here(k->stack, i) && has_ended(k->stack->server[i].pid))
            return program_failed(k, "server", i, NULL);
    }
    return code < 0 ? problem_code(&k->problem, code, client->mount) : 0;
}

static int make_directory(const void *path) { return mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0; }

static int start_clients(struct keeper *k) {
    for (unsigned i = 0; i < k->stack->clients && !k->stack->only; i++) {
        int code = i ? stack_bounded(make_directory, k->stack->client[i].mount, START_MS) : 0;
        if (code < 0) return problem_code(&k->problem, code, k->stack->client[i].mount);
        FORWARD(start_client(k, i));
        FORWARD(await_client(k, i));
    }
    return 0;
}

// --- the keeper

// On the host of a server, that is all there is.
static bool is_complete(const struct stack *stack) {
    if (stack->only) return !has_ended(stack->server[stack->only - 1].pid);
    if (stack->owner && !stack_process_runs(stack->owner, stack->owner_ticks)) return false;
    for (unsigned i = 0; i < stack->clients; i++) {
        if (has_ended(stack->client[i].pid) || !stack_is_mounted(stack, &stack->client[i])) return false;
    }
    return true;
}

static int start(struct keeper *k) {
    struct stack *stack = k->stack;
    const char *mount = stack->client[0].mount;
    FORWARD(stack_hold_ports(stack, k->port, &k->problem));
    if (stack->made_mount && !stack->only && mkdir(mount, 0755) < 0) return problem_code(&k->problem, -errno, mount);
    FORWARD(prepare_bricks(k));
    FORWARD(start_elsewhere(k));
    int code = stack_write_volumes(stack, k->programs);
    if (code < 0) return problem_code(&k->problem, code, stack->folder);
    code = stack_control_create(stack->probes);
    if (code < 0) return problem_code(&k->problem, code, stack->probes);
    FORWARD(start_servers(k));
    FORWARD(start_clients(k));
    code = stack_state_write(stack);
    if (code < 0) return problem_code(&k->problem, code, stack->folder);
    return is_complete(stack) ? pause_start(k, -1, 0) : cancelled(k);
}

// Recordings on other hosts have no process there that could be seen to end: these are told.
static void sweep(struct keeper *k) {
    struct stack_control control;
    char order = STACK_SOMEBODY_RECORDS;
    if (k->stack->only) return;
    bool is_locked = stack_control_try(&control, k->stack->probes) == 0;
    if (is_locked && !stack_control_sweep(&control)) order = STACK_NOBODY_RECORDS;
    for (unsigned i = 0; i < k->stack->servers; i++) {
        if (k->link[i].pid && !stack_link_beat(&k->link[i], order)) k->is_lost[i] = !stack_link_close(&k->link[i], 0);
    }
    if (is_locked) stack_control_unlock(&control);
}

// The kernel reports changes of the mount list as POLLPRI.
static void await_end(struct keeper *k, const sigset_t *signals) {
    const struct stack *stack = k->stack;
    sigset_t all = *signals;
    struct signalfd_siginfo about;
    sigaddset(&all, SIGCHLD);
    sigprocmask(SIG_BLOCK, &all, NULL);
    int list = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC), got = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd events[] = {{.fd = got, .events = POLLIN},
                              {.fd = list, .events = POLLPRI},
                              {.fd = stack->only ? STDIN_FILENO : -1, .events = POLLIN}};
    int64_t swept_ns = clock_now_ns(), heard_ns = swept_ns + FIRST_BEAT_MS * INT64_C(1000000);
    sweep(k);
    while (is_complete(stack)) {
        poll(events, 3, SWEEP_MS);
        int64_t now_ns = clock_now_ns();
        if (now_ns - swept_ns >= SWEEP_MS * INT64_C(1000000)) {
            sweep(k);
            swept_ns = now_ns;
        }
        if (events[2].revents && !stack_remote_obey(stack)) break;
        if (events[2].revents) heard_ns = now_ns;
        if (stack->only && now_ns - heard_ns > STACK_SILENT_MS * INT64_C(1000000)) break;
        if (read(got, &about, sizeof about) == sizeof about && about.ssi_signo != SIGCHLD) break;
    }
    close(list);
    close(got);
}

// Another stack may have the name by now.
static void tear_down_own(const struct stack *stack) {
    struct stack noted;
    int code = stack_state_read(&noted, stack->folder);
    bool is_other = code == 0 && (noted.guard != stack->guard || noted.guard_ticks != stack->guard_ticks);
    if (code != ERR_NOTHING && !is_other) stack_tear_down(stack);
    if (code == 0) stack_forget(&noted);
}

// The hosts of the servers are told meanwhile that they are still needed.
static void save_recordings(struct keeper *k) {
    int64_t until_ns = clock_now_ns() + SAVE_MS * INT64_C(1000000);
    pid_t child = fork();
    if (child == 0) {
        stack_save_recordings(k->stack->probes);
        _exit(0);
    }
    for (unsigned i = 0; child > 0 && !has_ended(child) && clock_now_ns() < until_ns; i++) {
        if (i % (SWEEP_MS / RETRY_MS) == 0) sweep(k);
        clock_sleep_until(clock_now_ns() + RETRY_MS * INT64_C(1000000));
    }
    end_children(&child, 1, SIGKILL);
}

// For stack_down(), which has the file open. On a lost host, the end of the beats is the end of all.
static void note_left(const struct keeper *k) {
    int fd = open(stack_path(k->stack, STACK_LEFT).text, O_WRONLY | O_APPEND | O_CLOEXEC);
    const char *between = "";
    for (unsigned i = 0; i < k->stack->servers && fd >= 0; i++) {
        if (!k->is_lost[i]) continue;
        dprintf(fd, "%s%s", between, k->stack->server[i].host);
        between = ", ";
    }
    if (fd >= 0) close(fd);
}

// Clients first, so that data in the page cache reaches the servers; whoever still uses the mount then gets errors.
static void end(struct keeper *k) {
    struct stack *stack = k->stack;
    for (unsigned i = stack->only ? 0 : stack->clients; i-- > 0;) {
        if (stack_is_mounted(stack, &stack->client[i])) stack_unmount(&stack->client[i], END_MS);
        end_children(&stack->client[i].pid, 1, SIGKILL);
    }
    if (!stack->only) save_recordings(k);
    pid_t server[STACK_SERVERS_MOST] = {0};
    for (unsigned i = 0; i < stack->servers; i++) {
        if (stack_is_here(stack, i)) server[i] = stack->server[i].pid;
        if (k->link[i].pid) shutdown(k->link[i].fd, SHUT_WR);
    }
    end_children(server, stack->servers, SIGKILL);
    end_children(k->storage, stack->servers, SIGTERM);
    int64_t until_ns = clock_now_ns() + END_MS * INT64_C(1000000);
    for (unsigned i = 0; i < stack->servers; i++) {
        if (!stack_link_close(&k->link[i], until_ns)) k->is_lost[i] = true;
    }
    note_left(k);
    tear_down_own(stack);
}

struct target {
    struct stack *stack;
    const struct stack_programs *programs;
};

static int keep(void *context, const sigset_t *signals, int outcome_pipe) {
    const struct target *target = context;
    struct keeper *k = calloc(1, sizeof *k);
    RETURN_IF(!k, -ENOMEM);
    k->stack = target->stack;
    k->programs = target->programs;
    k->ending = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
    k->stack->keeper = getpid();
    k->stack->keeper_ticks = process_start_ticks(getpid());
    int code = stack_state_write(k->stack);
    if (code < 0) problem_code(&k->problem, code, k->stack->folder);
    if (code == 0) code = start(k);
    if (code == 0) {
        guard_tell(outcome_pipe, 0, "");
        await_end(k, signals);
    }
    end(k);
    char why[sizeof k->problem.what + sizeof k->problem.why + 2];
    snprintf(why, sizeof why, "%s%s%s", k->problem.what, *k->problem.what ? ": " : "", k->problem.why);
    if (code < 0) guard_tell(outcome_pipe, code, why);
    free(k);
    return code;
}

// --- the guard

static int stop(void *context) {
    (void)context;
    return ERR_NOTHING; // the keeper gets the signal
}

static void clean_up(void *context) {
    const struct target *target = context;
    tear_down_own(target->stack);
}

int stack_serve(struct stack *stack, const struct stack_programs *programs, target_ready *ready, void *context) {
    struct target target = {stack, programs};
    struct guard_work work = {.keep = keep, .stop = stop, .clean_up = clean_up, .context = &target};
    return guard_run(&work, ready, context);
}
