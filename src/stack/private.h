// What the parts of src/stack share.
#pragma once

#include "base/bytes.h"
#include "fmt/call.h"
#include "fmt/probe.h"
#include "stack/stack.h"
#include "target/guard.h"

// --- state.c: the notes about a stack

// The probes' files are written through mappings: in memory they cost no writing to a disk.
#define STACK_MEMORY "/dev/shm"
#define STACK_PROBES "ioseer-stack-" // the name of their folder: this, the stack's name, '-' and its guard
// Sets the name of a stack, and its folders; -EINVAL if it cannot be one.
int stack_state_name(struct stack *stack, const char *name);
void stack_state_locate(struct stack *stack); // sets its folders, which follow from its name and its guard
// Makes the folder, with the notes in it, or fails with -EEXIST. Later changes replace the notes.
int stack_state_create(const struct stack *stack);
int stack_state_write(const struct stack *stack);
void stack_state_remove(const struct stack *stack);
int stack_state_read(struct stack *stack, const char *folder); // ERR_NOTHING: there is no such folder
int stack_state_get(struct stack *stack, const struct bytes *notes);
// Adds the records that describe the stack.
int stack_state_put(const struct stack *stack, struct bytes *out);
// Calls `visit` with the folder of every stack, also of one that is being made (its name begins with a dot).
void stack_state_each(void (*visit)(const char *folder, void *context), void *context);

struct stack_path {
    char text[STACK_FOLDER_BYTES + 64];
};
// A path in the stack's folder.
struct stack_path stack_path(const struct stack *stack, const char *format, ...) __attribute__((format(printf, 2, 3)));

// --- probes

// Numbers of the probes: the same in the volume files, in the notes and in records.
static inline unsigned stack_probe_number(const struct stack *stack, unsigned client, unsigned layer, unsigned server) {
    unsigned in_client = layer == LAYER_CLIENT ? 0 : 1 + server * 3 + (layer - LAYER_NET);
    return 1 + client * (1 + stack->servers * 3) + in_client;
}
// Whether a server is kept by this process, and not on another host.
static inline bool stack_is_here(const struct stack *stack, unsigned server) {
    return stack->only ? server == stack->only - 1 : !stack->remote[0];
}
static inline bool stack_has_server(const struct stack_client *client, unsigned server) {
    return client->servers >> server & 1;
}

// --- volume.c

struct stack_programs {
    char server[PATH_MAX], client[PATH_MAX];
    char folder[PATH_MAX]; // of its translators
    char version[32];
    char probe[PATH_MAX], uncached[PATH_MAX]; // translators of ours, as a `type` in volume files
};
// Finds GlusterFS and what the stack needs of our translators. `problem` says what is missing, and in which package it
// is.
int stack_find_programs(struct stack_programs *programs, const struct stack *stack, struct problem *problem);

// The directory that a server exports for a client.
struct stack_export {
    char text[PATH_MAX + 64];
};
struct stack_export stack_export(const struct stack *stack, unsigned client, unsigned server);
// Writes client-N.vol and server-N.vol into the stack's folder.
int stack_write_volumes(const struct stack *stack, const struct stack_programs *programs);

// --- places.c

int stack_check_machine(const struct stack *stack, struct stack_programs *programs, struct problem *problem);
int stack_name_mounts(struct stack *stack, struct problem *problem);
int stack_name_bricks(struct stack *stack, struct problem *problem);

// --- ports.c

// Chooses the ports that are 0 and binds to all that are here. The sockets are for as long as the stack.
int stack_hold_ports(struct stack *stack, int held[STACK_SERVERS_MOST], struct problem *problem);
void stack_close_port(int held); // to all but the server, which listens
bool stack_server_listens(const struct stack_server *server);

// --- brick.c

// Makes the directory of a server's data, and marks it as this stack's.
int stack_claim_brick(struct stack *stack, unsigned server, struct problem *problem);
void stack_release_brick(const struct stack *stack, unsigned server);
// Makes a directory in the brick for each client but the first, which has the brick itself.
int stack_prepare_exports(const struct stack *stack, unsigned server, struct problem *problem);

// --- tear_down.c

// Removes the parts that exist; may be called twice. Guard, keeper, servers and clients have ended.
void stack_tear_down(const struct stack *stack);
// Removes the stack's folder if its notes cannot be read and nothing else of it is left. Returns 1 if it did, 0 if
// there is no such folder.
int stack_remove_unreadable(const struct stack *stack, struct problem *problem);
// Whether it is a directory of this user's that nobody else can change.
bool stack_is_own_folder(const char *path);
// Removes a directory of our own with everything in it that is on the same file system.
void stack_remove_folder(const char *path);

// The mounts of a stack are recognised in the list of mounts by their source.
struct stack_source {
    char text[STACK_NAME_MOST + 32];
};
struct stack_source stack_source(const struct stack *stack);
bool stack_is_mounted(const struct stack *stack, const struct stack_client *client);

// --- keeper.c

#define STACK_LEFT "left" // in the stack's folder: hosts that did not say at the end that nothing is left there

// Makes this process the guard of a stack, see guard_run().
int stack_serve(struct stack *stack, const struct stack_programs *programs, target_ready *ready, void *context);
// Returns -errno if the file system at this place does not work. It may hang: for stack_bounded().
int stack_try_mount(const void *mount);

// --- control.c: the page that tells the probes to record

int stack_control_create(const char *probes);
struct stack_control {
    struct probe_control *page;
    int fd;
};
// Nobody else changes the page, begins a recording or ends one between these two.
int stack_control_lock(struct stack_control *control, const char *probes);
int stack_control_try(struct stack_control *control, const char *probes); // does not wait
unsigned stack_control_unlock(struct stack_control *control);             // returns the number of recordings
int stack_control_enter(struct stack_control *control, pid_t pid, uint64_t start_ticks); // ERR_LIMIT: there is no room
void stack_control_leave(struct stack_control *control, pid_t pid, uint64_t start_ticks);
void stack_control_clear(const char *probes); // takes out all
// Takes out recordings whose process has ended. Returns how many are left.
unsigned stack_control_sweep(struct stack_control *control);

// --- recording.c

#define STACK_GONE "gone" // in the folder of probes: its time is that of the stack's end
// Whether a recording that still runs needs the probes' files.
bool stack_is_recorded(const char *probes);

struct stack_place {
    unsigned number, layer, server; // server + 1, 0: the client
    uint64_t first;                 // place in the probe's file
    uint64_t lost;                  // calls that have no record, before that
    uint64_t needed;                // to collect: records from here on are needed by others
};
// Sets `first` and `lost` to where the probes' files stand now.
void stack_find_places(const char *probes, struct stack_place *places, unsigned count);
// Sends a probe's records from a place on: their length, and as many bytes.
int stack_send_probe(int fd, const char *probes, const struct stack_place *place);
// Before the servers end, or if they were killed: collects for recordings that cannot do it afterwards.
void stack_save_recordings(const char *probes);
// Frees records of these probes that nobody needs, if no recording is under way.
void stack_free_unused(const char *probes, const struct stack_place *places, unsigned count);

// --- remote.c

enum stack_order { ORDER_SERVE = 1, ORDER_BEGIN, ORDER_COLLECT };
struct stack_link {
    pid_t pid; // 0: none
    int fd;
    int said;         // what the command says on its standard error
    int64_t until_ns; // for the next answer
    bool is_beating;
};
// Looks up the servers' addresses, as the client sees them.
int stack_find_addresses(struct stack *stack, struct problem *problem);
// First open all that are needed, then give all orders, then read the answers: the hosts work at the same time.
int stack_link_open(struct stack_link *link, const struct stack *stack, unsigned server);
struct stack_request {
    enum stack_order kind;
    unsigned server;
    const struct stack_place *places; // of a recording's probes there
    unsigned count;
};
int stack_link_order(struct stack_link *link, const struct stack *stack, const struct stack_request *request,
                     struct problem *problem);
// With ORDER_SERVE, sets what the server's host knows about it.
int stack_link_answer(struct stack_link *link, struct stack_server *server, struct problem *problem);
// Fails if the client could not connect to the server, whose host says that it is there.
int stack_link_check(const struct stack_server *server, struct problem *problem);
int stack_link_read(int fd, void *data, size_t len);
int stack_link_write(int fd, const void *data, size_t len);
// Kills the process if it does not end by then. Returns false unless it ended by itself, and well: all on its host is
// then removed.
bool stack_link_close(struct stack_link *link, int64_t until_ns);
// Every second, one byte goes to each host that keeps a server, and comes back. Returns false if the connection is
// lost.
enum { STACK_SILENT_MS = 20000 }; // no beat for so long: the other side is gone
enum { STACK_SOMEBODY_RECORDS = '.', STACK_NOBODY_RECORDS = 'x' };
bool stack_link_beat(struct stack_link *link, char order);
// The other side of it, when there is something on standard input.
bool stack_remote_obey(const struct stack *stack);

// --- up.c

// Makes this process the guard of what is on this host.
int stack_start_here(struct stack *stack, target_ready *ready, struct problem *problem);
int stack_unmount(const struct stack_client *client, int timeout_ms);
bool stack_guard_runs(pid_t guard, uint64_t start_ticks); // 0: not known
bool stack_process_runs(pid_t pid, uint64_t start_ticks); // a zombie does not

// --- bounded.c

// Runs `work` in a process of its own, because it may hang. Returns its result, or -ETIMEDOUT.
int stack_bounded(int (*work)(const void *context), const void *context, int timeout_ms);
