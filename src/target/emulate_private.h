// What the parts of the emulator share: emulate.c mounts and serves, emulate_names.c knows files by name,
// emulate_data.c moves data.
#ifndef IOSEER_TARGET_EMULATE_PRIVATE_H
#define IOSEER_TARGET_EMULATE_PRIVATE_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include "target/emulate.h"

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
    bool kernel_cache;
    struct node root;
    pthread_mutex_t lock; // of the nodes
    struct node *bucket[NODE_BUCKETS];
    emulate_ready *ready;
    void *ready_context;
};

int64_t emulate_now_ns(void);
// Waits until then, or until the request is interrupted.
void emulate_wait(fuse_req_t request, int64_t until_ns);
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
void emulate_forget_all(struct emulate *emulate);

void emulate_name_operations(struct fuse_lowlevel_ops *operations);
void emulate_data_operations(struct fuse_lowlevel_ops *operations);

#endif
