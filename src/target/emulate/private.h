// What the parts of the emulator share: emulate.c mounts, emulate_loop.c hands requests out to threads,
// emulate_names.c knows files by name, emulate_data.c moves data.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "target/clock.h"
#include "target/emulate/clients.h"
#include "target/emulate/emulate.h"
#include "target/emulate/overhead.h"

// A file of the directory that the kernel knows. Its address is the kernel's number of it; the root's is FUSE_ROOT_ID.
struct node {
    struct node *next; // in its bucket
    int fd;            // O_PATH
    dev_t device;
    ino_t inode;
    uint64_t lookups; // that the kernel has not taken back
};

enum { NODE_BUCKETS = 1 << 14 };

struct emulate {
    struct device device;
    struct clients clients;
    bool kernel_cache;
    struct node root;
    pthread_mutex_t lock; // of the nodes
    struct node *bucket[NODE_BUCKETS];
    struct overhead *way;
    int outcome; // to be told to the guard, -1 once it was
    struct fuse_session *session;
    pthread_key_t arrival;   // of a thread's request, int64_t *
    atomic_flag is_spinning; // a thread awaits the end of its request without sleeping
};

// When the thread's request came in: before its data was copied.
int64_t emulate_arrival_ns(fuse_req_t request);
// Notes that the client of a request has come. Each that does has to wait.
struct client_round emulate_come(fuse_req_t request);
// Waits so that the client is told at that time, after a reply that takes so long; shorter where the request is
// interrupted or the emulator ends.
void emulate_wait(fuse_req_t request, int64_t due_ns, int64_t reply_ns);
// The time of a request about names or attributes.
void emulate_wait_meta(fuse_req_t request);

struct emulate *emulate_of(fuse_req_t request);
struct node *emulate_node(fuse_req_t request, fuse_ino_t number);

// A path by which system calls that take no O_PATH descriptor reach the node.
struct node_path {
    char text[32];
};
struct node_path emulate_path(const struct node *node);

// Looks a name up and counts the look-up. 0 or a positive errno.
int emulate_look_up(struct emulate *emulate, struct node *parent, const char *name, struct fuse_entry_param *entry);
// Takes look-ups back.
void emulate_forget(struct emulate *emulate, fuse_ino_t number, uint64_t lookups);
void emulate_forget_all(struct emulate *emulate);
// Makes what the caller has just made the caller's own.
int emulate_give_to_caller(fuse_req_t request, int directory, const char *name);

void emulate_name_operations(struct fuse_lowlevel_ops *operations);
void emulate_data_operations(struct fuse_lowlevel_ops *operations);

// Mounts, tells the outcome, serves. The mount is gone afterwards.
int emulate_server(const struct emulate_options *options, pid_t guard, struct overhead *way, const sigset_t *signals,
                   int outcome);

// Serves requests until the mount is gone, or one of the signals comes (which all threads have blocked).
int emulate_loop(struct emulate *emulate, const sigset_t *signals);
