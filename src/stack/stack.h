// A stack: a GlusterFS of its own with ioseer's probes in it, made of static volume files and apart from any other
// GlusterFS of the machine. For root.
//
// A guard and a keeper (target/guard.h) stand behind it. The keeper starts the servers, the clients and the storage of
// the bricks; they end with it. A server that ends leaves the stack running: that is for the program to see. A client
// that ends takes the stack with it. What a stack consists of is noted in its folder before it is made; if guard and
// keeper were killed at once, the next command removes what is left.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/problem.h"
#include "target/emulate/speed.h"

#define STACK_DEFAULT_NAME "default"

enum {
    STACK_NAME_MOST = 63, // bytes
    STACK_FOLDER_BYTES = 128,
    STACK_SERVERS_MOST = 64,
    STACK_CLIENTS_MOST = 32,
    STACK_SHARD_LEAST = 4 << 20, // GlusterFS allows no smaller blocks
};

enum stack_layout { LAYOUT_DISTRIBUTE, LAYOUT_SHARD, LAYOUT_DISPERSE, LAYOUT_COUNT };
extern const char *const stack_layout_names[LAYOUT_COUNT];

enum stack_storage { STORAGE_PLAIN, STORAGE_EMULATED, STORAGE_THROTTLED };

struct stack_server {
    char host[256];    // its name
    char address[256]; // that the client connects to
    unsigned port;
    char brick[PATH_MAX];   // what it exports
    char backing[PATH_MAX]; // where the data is; the brick itself, unless the storage is emulated or throttled
    bool is_given;          // the user chose where the data is: it stays
    char storage[128];      // what the brick lies on, in words
    pid_t pid;
    uint64_t start_ticks;
    pid_t link; // on another host: our process that keeps the connection, 0: none
    uint64_t link_ticks;
    char probes[STACK_FOLDER_BYTES + 128]; // on another host: as in struct stack
    char missing[128];                     // in the description of a recording: why it has no records of this server
    bool is_made;                          // its directory did not exist; not noted
    // How the storage is made; not noted.
    enum stack_storage kind;
    struct speed_settings speed;
    uint64_t block_bytes;
};

// The first client is mounted at the stack's mount point, with all servers. Others are mounted on directories in it and
// have only some of the servers; each server has a brick of its own for each client.
struct stack_client {
    char mount[PATH_MAX];
    uint64_t servers; // one bit each
    pid_t pid;
};

struct stack {
    char name[STACK_NAME_MOST + 5];  // on the host of a server: NAME@SERVER
    char folder[STACK_FOLDER_BYTES]; // of this stack: its notes, logs, volume files and, unless given, mount point and
                                     // bricks
    char probes[STACK_FOLDER_BYTES + 128]; // folder of the control page and the probes' files
    bool made_mount;                       // the mount point did not exist
    enum stack_layout layout;
    uint64_t shard_bytes;
    unsigned redundancy; // of disperse: servers that may be lost
    unsigned layers;     // that have probes: a bit for each enum call_layer; 0: none
    bool kernel_cache;
    char version[32];      // of GlusterFS
    unsigned char id[16];  // marks its bricks
    char password[40];     // of the servers; not noted
    char remote[4096];     // command that runs ioseer on the servers' hosts; empty: all servers are here
    char ioseer[PATH_MAX]; // path of ioseer there
    unsigned only;         // on the host of a server: its number + 1, all else is elsewhere
    pid_t owner;           // a process that the stack ends with; 0: none. Not noted
    uint64_t owner_ticks;
    pid_t guard, keeper;
    uint64_t guard_ticks, keeper_ticks; // when they began; 0: not noted
    struct stack_server *server;
    unsigned servers;
    struct stack_client client[STACK_CLIENTS_MOST];
    unsigned clients;
    // In the description of a recording: the process that records, and when the stack ended; 0: not yet.
    pid_t recorder;
    uint64_t recorder_ticks, gone_ns;
    char spill[PATH_MAX]; // its directory
};

void stack_forget(struct stack *stack);

// Starts a stack that stack_from_options() described in the background and returns when its mount can be used.
int stack_up(struct stack *stack, struct problem *problem);

// Reads what is noted about a running stack. ERR_NOTHING if there is none of this name.
int stack_find(struct stack *stack, const char *name, struct problem *problem);

// Calls `visit` for every running stack, by name, until it returns a negative code.
int stack_each(int (*visit)(const struct stack *stack, void *context), void *context);

// Ends it and removes everything that was made for it. Fails if the mount is in use, unless by `force`. On success,
// `problem` may say what is left on other hosts.
int stack_down(const char *name, bool force, struct problem *problem);

// Removes what is left of stacks whose guard and keeper were killed.
void stack_remove_dead(void);

// Does what another ioseer asks for on standard input (remote.c).
int stack_remote_run(void);

struct stack_status {
    bool mount_ok;       // the file system at the mount point answers
    unsigned recordings; // under way
};
void stack_status(const struct stack *stack, struct stack_status *status);
bool stack_server_is_alive(const struct stack_server *server);
