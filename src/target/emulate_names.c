// Names, attributes and directories: handed through to the directory below.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "target/emulate_private.h"

// Nobody but this mount changes the files: what the kernel knows of them stays true.
static const double keep_seconds = 86400;

// --- nodes

static struct node **bucket_of(struct emulate *emulate, dev_t device, ino_t inode)
{
    uint64_t hash = ((uint64_t)inode ^ (uint64_t)device << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return &emulate->bucket[hash >> 32 & (NODE_BUCKETS - 1)];
}

struct node *emulate_node(fuse_req_t request, fuse_ino_t number)
{
    return number == FUSE_ROOT_ID ? &emulate_of(request)->root : (struct node *)(uintptr_t)number;
}

struct node_path emulate_path(const struct node *node)
{
    struct node_path path;
    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", node->fd);
    return path;
}

// Takes the descriptor over. NULL without memory.
static struct node *node_for(struct emulate *emulate, int fd, const struct stat *about)
{
    pthread_mutex_lock(&emulate->lock);
    struct node **bucket = bucket_of(emulate, about->st_dev, about->st_ino), *node = *bucket;
    while (node && (node->inode != about->st_ino || node->device != about->st_dev)) node = node->next;
    if (node) {
        node->lookups++;
        close(fd);
    } else if ((node = malloc(sizeof *node))) {
        *node = (struct node){*bucket, fd, about->st_dev, about->st_ino, 1};
        *bucket = node;
    }
    pthread_mutex_unlock(&emulate->lock);
    return node;
}

int emulate_look_up(struct emulate *emulate, struct node *parent, const char *name, struct fuse_entry_param *entry)
{
    *entry = (struct fuse_entry_param){.attr_timeout = keep_seconds, .entry_timeout = keep_seconds};
    int fd = openat(parent->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno;
    if (fstatat(fd, "", &entry->attr, AT_EMPTY_PATH) < 0) {
        int error = errno;
        close(fd);
        return error;
    }
    struct node *node = node_for(emulate, fd, &entry->attr);
    if (!node) {
        close(fd);
        return ENOMEM;
    }
    entry->ino = (fuse_ino_t)(uintptr_t)node;
    return 0;
}

static void forget(struct emulate *emulate, fuse_ino_t number, uint64_t lookups)
{
    if (number == FUSE_ROOT_ID) return;
    struct node *node = (struct node *)(uintptr_t)number;
    pthread_mutex_lock(&emulate->lock);
    node->lookups -= lookups;
    if (!node->lookups) {
        struct node **at = bucket_of(emulate, node->device, node->inode);
        while (*at != node) at = &(*at)->next;
        *at = node->next;
        close(node->fd);
        free(node);
    }
    pthread_mutex_unlock(&emulate->lock);
}

void emulate_forget_all(struct emulate *emulate)
{
    for (size_t i = 0; i < NODE_BUCKETS; i++) {
        for (struct node *node = emulate->bucket[i], *next; node; node = next) {
            next = node->next;
            close(node->fd);
            free(node);
        }
    }
}

static void on_forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups)
{
    forget(emulate_of(request), number, lookups);
    fuse_reply_none(request);
}

static void on_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++) forget(emulate_of(request), forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(request);
}

// --- entries

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry;
    emulate_wait_meta(request);
    int error = emulate_look_up(emulate_of(request), emulate_node(request, parent), name, &entry);
    if (error) {
        fuse_reply_err(request, error);
    } else {
        fuse_reply_entry(request, &entry);
    }
}

// What the caller makes belongs to the caller, as it would below.
static void give_to_caller(fuse_req_t request, int directory, const char *name)
{
    const struct fuse_ctx *caller = fuse_req_ctx(request);
    if (geteuid() != 0 || (caller->uid == 0 && caller->gid == 0)) return;
    struct stat about;
    bool inherits = fstatat(directory, "", &about, AT_EMPTY_PATH) == 0 && about.st_mode & S_ISGID;
    if (fchownat(directory, name, caller->uid, inherits ? (gid_t)-1 : caller->gid, AT_SYMLINK_NOFOLLOW) < 0) return;
}

static void reply_made(fuse_req_t request, struct node *parent, const char *name, int made)
{
    struct fuse_entry_param entry;
    int error = made < 0 ? errno : 0;
    if (!error) {
        give_to_caller(request, parent->fd, name);
        error = emulate_look_up(emulate_of(request), parent, name, &entry);
    }
    emulate_wait_meta(request);
    if (error) {
        fuse_reply_err(request, error);
    } else {
        fuse_reply_entry(request, &entry);
    }
}

static void on_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
    struct node *node = emulate_node(request, parent);
    reply_made(request, node, name, mknodat(node->fd, name, mode, device));
}

static void on_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct node *node = emulate_node(request, parent);
    reply_made(request, node, name, mkdirat(node->fd, name, mode));
}

static void on_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
    struct node *node = emulate_node(request, parent);
    reply_made(request, node, name, symlinkat(target, node->fd, name));
}

static void on_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name)
{
    struct node *directory = emulate_node(request, parent);
    struct fuse_entry_param entry;
    int error = 0;
    emulate_wait_meta(request);
    if (linkat(AT_FDCWD, emulate_path(emulate_node(request, number)).text, directory->fd, name, AT_SYMLINK_FOLLOW) <
        0) {
        error = errno;
    }
    if (!error) error = emulate_look_up(emulate_of(request), directory, name, &entry);
    if (error) {
        fuse_reply_err(request, error);
    } else {
        fuse_reply_entry(request, &entry);
    }
}

static void reply_done(fuse_req_t request, int result)
{
    int error = result < 0 ? errno : 0;
    emulate_wait_meta(request);
    fuse_reply_err(request, error);
}

static void on_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    reply_done(request, unlinkat(emulate_node(request, parent)->fd, name, 0));
}

static void on_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    reply_done(request, unlinkat(emulate_node(request, parent)->fd, name, AT_REMOVEDIR));
}

static void on_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned flags)
{
    reply_done(request, renameat2(emulate_node(request, parent)->fd, name, emulate_node(request, new_parent)->fd,
                                  new_name, flags));
}

static void on_readlink(fuse_req_t request, fuse_ino_t number)
{
    char target[PATH_MAX + 1];
    ssize_t length = readlinkat(emulate_node(request, number)->fd, "", target, PATH_MAX);
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    target[length] = 0;
    fuse_reply_readlink(request, target);
}

// --- attributes

static void reply_attributes(fuse_req_t request, struct node *node)
{
    struct stat about;
    if (fstatat(node->fd, "", &about, AT_EMPTY_PATH) < 0) {
        fuse_reply_err(request, errno);
    } else {
        fuse_reply_attr(request, &about, keep_seconds);
    }
}

static void on_getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    (void)file;
    reply_attributes(request, emulate_node(request, number));
}

static struct timespec time_to_set(int which, int set, int set_now, const struct timespec *time)
{
    if (which & set_now) return (struct timespec){.tv_nsec = UTIME_NOW};
    return which & set ? *time : (struct timespec){.tv_nsec = UTIME_OMIT};
}

static int set_attributes(struct node *node, const struct stat *to, int which, const struct fuse_file_info *file)
{
    struct node_path path = emulate_path(node);
    if (which & FUSE_SET_ATTR_MODE && chmod(path.text, to->st_mode) < 0) return errno;
    if (which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
        uid_t uid = which & FUSE_SET_ATTR_UID ? to->st_uid : (uid_t)-1;
        gid_t gid = which & FUSE_SET_ATTR_GID ? to->st_gid : (gid_t)-1;
        if (fchownat(node->fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0) return errno;
    }
    if (which & FUSE_SET_ATTR_SIZE) {
        int result = file ? ftruncate((int)file->fh, to->st_size) : truncate(path.text, to->st_size);
        if (result < 0) return errno;
    }
    if (which & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) {
        struct timespec times[2] = {
            time_to_set(which, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, &to->st_atim),
            time_to_set(which, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, &to->st_mtim),
        };
        int result = file ? futimens((int)file->fh, times) : utimensat(AT_FDCWD, path.text, times, 0);
        if (result < 0) return errno;
    }
    return 0;
}

static void on_setattr(fuse_req_t request, fuse_ino_t number, struct stat *to, int which, struct fuse_file_info *file)
{
    struct node *node = emulate_node(request, number);
    int error = set_attributes(node, to, which, file);
    emulate_wait_meta(request);
    if (error) {
        fuse_reply_err(request, error);
    } else {
        reply_attributes(request, node);
    }
}

static void on_statfs(fuse_req_t request, fuse_ino_t number)
{
    struct statvfs about;
    (void)number;
    if (fstatvfs(emulate_of(request)->root.fd, &about) < 0) {
        fuse_reply_err(request, errno);
    } else {
        fuse_reply_statfs(request, &about);
    }
}

// --- extended attributes

static void on_setxattr(fuse_req_t request, fuse_ino_t number, const char *name, const char *value, size_t size,
                        int flags)
{
    reply_done(request, setxattr(emulate_path(emulate_node(request, number)).text, name, value, size, flags));
}

static void on_removexattr(fuse_req_t request, fuse_ino_t number, const char *name)
{
    reply_done(request, removexattr(emulate_path(emulate_node(request, number)).text, name));
}

static void reply_bytes(fuse_req_t request, ssize_t length, char *value, size_t size)
{
    if (length < 0) {
        fuse_reply_err(request, errno);
    } else if (size == 0) {
        fuse_reply_xattr(request, (size_t)length);
    } else {
        fuse_reply_buf(request, value, (size_t)length);
    }
}

static void on_getxattr(fuse_req_t request, fuse_ino_t number, const char *name, size_t size)
{
    char *value = size ? malloc(size) : NULL;
    ssize_t length = getxattr(emulate_path(emulate_node(request, number)).text, name, value, value ? size : 0);
    reply_bytes(request, length, value, value ? size : 0);
    free(value);
}

static void on_listxattr(fuse_req_t request, fuse_ino_t number, size_t size)
{
    char *value = size ? malloc(size) : NULL;
    ssize_t length = listxattr(emulate_path(emulate_node(request, number)).text, value, value ? size : 0);
    reply_bytes(request, length, value, value ? size : 0);
    free(value);
}

// --- directories

static void on_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    int fd = openat(emulate_node(request, number)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    int error = errno;
    emulate_wait_meta(request);
    if (!directory) {
        if (fd >= 0) close(fd);
        fuse_reply_err(request, error);
        return;
    }
    file->fh = (uint64_t)(uintptr_t)directory;
    if (fuse_reply_open(request, file) == -ENOENT) closedir(directory);
}

static void on_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *file)
{
    DIR *directory = (DIR *)(uintptr_t)file->fh;
    char *buffer = malloc(size);
    size_t used = 0;
    (void)number;
    if (!buffer) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    seekdir(directory, offset);
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry) break;
        struct stat about = {.st_ino = entry->d_ino, .st_mode = (mode_t)DTTOIF(entry->d_type)};
        size_t needed =
            fuse_add_direntry(request, buffer + used, size - used, entry->d_name, &about, telldir(directory));
        if (needed > size - used) break;
        used += needed;
    }
    if (errno && !used) {
        fuse_reply_err(request, errno);
    } else {
        fuse_reply_buf(request, buffer, used);
    }
    free(buffer);
}

static void on_releasedir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    (void)number;
    closedir((DIR *)(uintptr_t)file->fh);
    fuse_reply_err(request, 0);
}

static void on_fsyncdir(fuse_req_t request, fuse_ino_t number, int data_only, struct fuse_file_info *file)
{
    int fd = dirfd((DIR *)(uintptr_t)file->fh);
    (void)number;
    reply_done(request, data_only ? fdatasync(fd) : fsync(fd));
}

void emulate_name_operations(struct fuse_lowlevel_ops *operations)
{
    operations->lookup = on_lookup;
    operations->forget = on_forget;
    operations->forget_multi = on_forget_multi;
    operations->mknod = on_mknod;
    operations->mkdir = on_mkdir;
    operations->symlink = on_symlink;
    operations->link = on_link;
    operations->unlink = on_unlink;
    operations->rmdir = on_rmdir;
    operations->rename = on_rename;
    operations->readlink = on_readlink;
    operations->getattr = on_getattr;
    operations->setattr = on_setattr;
    operations->statfs = on_statfs;
    operations->setxattr = on_setxattr;
    operations->removexattr = on_removexattr;
    operations->getxattr = on_getxattr;
    operations->listxattr = on_listxattr;
    operations->opendir = on_opendir;
    operations->readdir = on_readdir;
    operations->releasedir = on_releasedir;
    operations->fsyncdir = on_fsyncdir;
}
