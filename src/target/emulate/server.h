// What the parts of the FUSE server share: server.c mounts and waits, request_threads.c hands requests to threads,
// metadata.c serves names and attributes, data.c moves data.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "target/emulate/clients.h"
#include "target/emulate/emulate.h"
#include "target/emulate/overhead.h"

// A file that the kernel knows. Its inode number for the kernel is this address; that of the root is FUSE_ROOT_ID.
struct node {
    struct node *next; // in its bucket
    int fd;            // O_PATH
    dev_t device;
    ino_t inode;
    uint64_t lookups; // that the kernel has not forgotten
};

enum { NODE_BUCKETS = 1 << 14 };

struct emulate {
    struct speed speed;
    struct clients clients;
    bool kernel_cache;
    struct node root;
    pthread_mutex_t lock; // of the nodes
    struct node *bucket[NODE_BUCKETS];
    struct overhead *overhead;
    int outcome_pipe; // to the guard, -1 after the report
    struct fuse_session *session;
    pthread_key_t arrival;   // int64_t *: when the thread's request arrived
    atomic_flag is_spinning; // a thread waits for the end of its request without sleeping
};

// When the thread's request arrived, before its data was copied.
int64_t emulate_arrival_ns(fuse_req_t request);
// Registers the request with its client. emulate_wait() must follow.
struct client_interval emulate_begin(fuse_req_t request);
// Waits so that the reply reaches the client at `due_ns` if sending it takes `reply_ns`. Returns early if the request
// is interrupted or the server ends.
void emulate_wait(fuse_req_t request, int64_t due_ns, int64_t reply_ns);
// Waits for the time of a request about names or attributes.
void emulate_wait_meta(fuse_req_t request);

struct emulate *emulate_of(fuse_req_t request);
struct node *emulate_node(fuse_req_t request, fuse_ino_t number);

// A path of the node for system calls that take no O_PATH descriptor.
struct node_path {
    char text[32];
};
struct node_path emulate_path(const struct node *node);

// Looks up a name and counts the look-up. Returns 0 or a positive errno.
int emulate_look_up(struct emulate *emulate, struct node *parent, const char *name, struct fuse_entry_param *entry);
// Subtracts look-ups and frees the node after the last one.
void emulate_forget(struct emulate *emulate, fuse_ino_t number, uint64_t lookups);
void emulate_forget_all(struct emulate *emulate);
// Makes the client the owner of a file that the server has just created for it.
int emulate_give_to_caller(fuse_req_t request, int directory, const char *name);

void emulate_metadata_operations(struct fuse_lowlevel_ops *operations);
void emulate_data_operations(struct fuse_lowlevel_ops *operations);

// Serves requests until the mount is gone or one of the signals comes; all threads have blocked them.
int emulate_request_threads(struct emulate *emulate, const sigset_t *signals);
