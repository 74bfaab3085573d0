// FUSE requests about names, attributes and directories. They go to the backing directory.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/hash.h"
#include "target/emulate/server.h"

// One call of a program becomes several requests: look-ups of names, checks of permissions, then the operation itself.
// Only one of these requests may take the time of the call:
// - A look-up that finds the name is free: the kernel asks for the attributes next, or changes the file. A look-up that
//   finds nothing takes the time: the kernel creates the file next, which then is free, or does nothing.
// - A request for a file's attributes takes the time; what always follows it, such as opening the file, is free. For
//   directories it is free: the kernel sends it on the way to something else.
// With the kernel's cache every look-up takes the time instead; the kernel then knows the name.

// How long the kernel may rely on a reply. With the page cache, forever: only this mount changes the files. Without it
// every call should reach the storage, but remembering names for a short time saves look-ups.
static const double for_good_seconds = 86400, for_a_while_seconds = 1;

static double names_last(const struct emulate *emulate) {
    return emulate->kernel_cache ? for_good_seconds : for_a_while_seconds;
}

static double attributes_last(const struct emulate *emulate, const struct stat *about) {
    return emulate->kernel_cache ? for_good_seconds : S_ISDIR(about->st_mode) ? for_a_while_seconds : 0;
}

// --- nodes

static struct node **bucket_of(struct emulate *emulate, dev_t device, ino_t inode) {
    uint64_t hash = hash_add(device, inode);
    return &emulate->bucket[hash & (NODE_BUCKETS - 1)];
}

struct node *emulate_node(fuse_req_t request, fuse_ino_t number) {
    return number == FUSE_ROOT_ID ? &emulate_of(request)->root : (struct node *)(uintptr_t)number;
}

struct node_path emulate_path(const struct node *node) {
    struct node_path path;
    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", node->fd);
    return path;
}

// Takes over the descriptor. Returns NULL without memory.
static struct node *node_for(struct emulate *emulate, int fd, const struct stat *about) {
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

int emulate_look_up(struct emulate *emulate, struct node *parent, const char *name, struct fuse_entry_param *entry) {
    *entry = (struct fuse_entry_param){.entry_timeout = names_last(emulate)};
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
    entry->attr_timeout = attributes_last(emulate, &entry->attr);
    entry->ino = (fuse_ino_t)(uintptr_t)node;
    return 0;
}

void emulate_forget(struct emulate *emulate, fuse_ino_t number, uint64_t lookups) {
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

void emulate_forget_all(struct emulate *emulate) {
    for (size_t i = 0; i < NODE_BUCKETS; i++) {
        for (struct node *node = emulate->bucket[i], *next; node; node = next) {
            next = node->next;
            close(node->fd);
            free(node);
        }
    }
}

static void on_forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups) {
    emulate_forget(emulate_of(request), number, lookups);
    fuse_reply_none(request);
}

static void on_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets) {
    for (size_t i = 0; i < count; i++) emulate_forget(emulate_of(request), forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(request);
}

// --- entries

static void reply_entry(fuse_req_t request, int error, const struct fuse_entry_param *entry) {
    struct emulate *emulate = emulate_of(request); // the reply frees the request
    if (error) {
        fuse_reply_err(request, error);
    } else if (fuse_reply_entry(request, entry) == -ENOENT) {
        emulate_forget(emulate, entry->ino, 1);
    }
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
    struct emulate *emulate = emulate_of(request);
    struct fuse_entry_param entry;
    int error = emulate_look_up(emulate, emulate_node(request, parent), name, &entry);
    if (error || emulate->kernel_cache) emulate_wait_meta(request);
    reply_entry(request, error, &entry);
}

int emulate_give_to_caller(fuse_req_t request, int directory, const char *name) {
    const struct fuse_ctx *caller = fuse_req_ctx(request);
    if (geteuid() != 0 || (caller->uid == 0 && caller->gid == 0)) return 0;
    struct stat about;
    bool inherits = fstatat(directory, "", &about, AT_EMPTY_PATH) == 0 && about.st_mode & S_ISGID;
    gid_t group = inherits ? (gid_t)-1 : caller->gid;
    return fchownat(directory, name, caller->uid, group, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
}

static void reply_new_name(fuse_req_t request, struct node *parent, const char *name, int error) {
    struct fuse_entry_param entry;
    if (!error) error = emulate_look_up(emulate_of(request), parent, name, &entry);
    reply_entry(request, error, &entry);
}

static void reply_made(fuse_req_t request, struct node *parent, const char *name, int made) {
    int error = made < 0 ? errno : emulate_give_to_caller(request, parent->fd, name);
    reply_new_name(request, parent, name, error);
}

static void on_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device) {
    struct node *node = emulate_node(request, parent);
    reply_made(request, node, name, mknodat(node->fd, name, mode, device));
}

static void on_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode) {
    struct node *node = emulate_node(request, parent);
    reply_made(request, node, name, mkdirat(node->fd, name, mode));
}

static void on_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name) {
    struct node *node = emulate_node(request, parent);
    reply_made(request, node, name, symlinkat(target, node->fd, name));
}

static void on_link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char *name) {
    struct node *directory = emulate_node(request, parent);
    struct node_path path = emulate_path(emulate_node(request, number));
    int made = linkat(AT_FDCWD, path.text, directory->fd, name, AT_SYMLINK_FOLLOW);
    reply_new_name(request, directory, name, made < 0 ? errno : 0);
}

static void reply_done(fuse_req_t request, int result, bool takes_time) {
    int error = result < 0 ? errno : 0;
    if (takes_time) emulate_wait_meta(request);
    fuse_reply_err(request, error);
}

static void on_unlink(fuse_req_t request, fuse_ino_t parent, const char *name) {
    reply_done(request, unlinkat(emulate_node(request, parent)->fd, name, 0), true);
}

static void on_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name) {
    reply_done(request, unlinkat(emulate_node(request, parent)->fd, name, AT_REMOVEDIR), true);
}

// If the new name did not exist, the look-up that found nothing has taken the time.
static void on_rename(fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned flags) {
    int from = emulate_node(request, parent)->fd, to = emulate_node(request, new_parent)->fd;
    struct stat about;
    bool is_new = fstatat(to, new_name, &about, AT_SYMLINK_NOFOLLOW) < 0;
    reply_done(request, renameat2(from, name, to, new_name, flags), !is_new);
}

static void on_readlink(fuse_req_t request, fuse_ino_t number) {
    char target[PATH_MAX + 1];
    emulate_wait_meta(request);
    ssize_t length = readlinkat(emulate_node(request, number)->fd, "", target, PATH_MAX);
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    target[length] = 0;
    fuse_reply_readlink(request, target);
}

// --- attributes

static void reply_attributes(fuse_req_t request, struct node *node) {
    struct stat about;
    int code = fstatat(node->fd, "", &about, AT_EMPTY_PATH);
    double valid_seconds = code < 0 ? 0 : attributes_last(emulate_of(request), &about);
    code < 0 ? fuse_reply_err(request, errno) : fuse_reply_attr(request, &about, valid_seconds);
}

static void on_getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    struct node *node = emulate_node(request, number);
    struct stat about;
    (void)file;
    if (fstatat(node->fd, "", &about, AT_EMPTY_PATH) == 0 && !S_ISDIR(about.st_mode)) emulate_wait_meta(request);
    reply_attributes(request, node);
}

static struct timespec time_to_set(int which, int set, int set_now, const struct timespec *time) {
    if (which & set_now) return (struct timespec){.tv_nsec = UTIME_NOW};
    return which & set ? *time : (struct timespec){.tv_nsec = UTIME_OMIT};
}

static int set_attributes(struct node *node, const struct stat *to, int which, const struct fuse_file_info *file) {
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

// The kernel writes back the times that its cache keeps; no program made that call.
static bool are_times_of_cache(int which) { return which == (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_CTIME); }

static void on_setattr(fuse_req_t request, fuse_ino_t number, struct stat *to, int which, struct fuse_file_info *file) {
    struct node *node = emulate_node(request, number);
    bool checked = which & FUSE_SET_ATTR_SIZE && !file && !emulate_of(request)->kernel_cache;
    int error = set_attributes(node, to, which, file);
    if (!checked && !are_times_of_cache(which)) emulate_wait_meta(request);
    if (error) {
        fuse_reply_err(request, error);
    } else {
        reply_attributes(request, node);
    }
}

static void on_statfs(fuse_req_t request, fuse_ino_t number) {
    struct statvfs about;
    (void)number;
    int64_t measured_ns = emulate_of(request)->overhead->asked_wait_ns;
    if (measured_ns) {
        emulate_wait(request, emulate_arrival_ns(request) + measured_ns, 0);
    } else {
        emulate_wait_meta(request);
    }
    int code = fstatvfs(emulate_of(request)->root.fd, &about);
    code < 0 ? fuse_reply_err(request, errno) : fuse_reply_statfs(request, &about);
}

// --- extended attributes

static void on_setxattr(fuse_req_t request, fuse_ino_t number, const char *name, const char *value, size_t size,
                        int flags) {
    int result = setxattr(emulate_path(emulate_node(request, number)).text, name, value, size, flags);
    reply_done(request, result, emulate_of(request)->kernel_cache);
}

static void on_removexattr(fuse_req_t request, fuse_ino_t number, const char *name) {
    int result = removexattr(emulate_path(emulate_node(request, number)).text, name);
    reply_done(request, result, emulate_of(request)->kernel_cache);
}

// Without a name: the list of names. The kernel asks for the length first, with size 0.
static void on_getxattr(fuse_req_t request, fuse_ino_t number, const char *name, size_t size) {
    struct node_path path = emulate_path(emulate_node(request, number));
    char *value = size ? malloc(size) : NULL;
    if (!value) size = 0;
    ssize_t length = name ? getxattr(path.text, name, value, size) : listxattr(path.text, value, size);
    if (length < 0) {
        fuse_reply_err(request, errno);
    } else if (size == 0) {
        fuse_reply_xattr(request, (size_t)length);
    } else {
        fuse_reply_buf(request, value, (size_t)length);
    }
    free(value);
}

static void on_listxattr(fuse_req_t request, fuse_ino_t number, size_t size) {
    on_getxattr(request, number, NULL, size);
}

// --- directories

struct listing {
    DIR *directory;
    const struct dirent *next; // already read, but did not fit into the last reply
    off_t at;                  // position of the directory
};

static void on_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    int fd = openat(emulate_node(request, number)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct listing *listing = fd < 0 ? NULL : calloc(1, sizeof *listing);
    int error = errno;
    emulate_wait_meta(request);
    if (listing && (listing->directory = fdopendir(fd))) {
        file->fh = (uint64_t)(uintptr_t)listing;
        if (fuse_reply_open(request, file) != -ENOENT) return;
        closedir(listing->directory);
    } else {
        if (fd >= 0) close(fd);
        fuse_reply_err(request, error ? error : ENOMEM);
    }
    free(listing);
}

static const struct dirent *listing_next(struct listing *listing, off_t offset) {
    if (offset != listing->at) {
        seekdir(listing->directory, offset);
        listing->at = offset;
        listing->next = NULL;
    }
    errno = 0;
    if (!listing->next) listing->next = readdir(listing->directory);
    return listing->next;
}

static void on_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *file) {
    struct listing *listing = (struct listing *)(uintptr_t)file->fh;
    char *buffer = malloc(size);
    size_t used = 0;
    const struct dirent *entry;
    (void)number;
    if (!buffer) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    while ((entry = listing_next(listing, offset))) {
        struct stat about = {.st_ino = entry->d_ino, .st_mode = (mode_t)DTTOIF(entry->d_type)};
        size_t needed = fuse_add_direntry(request, buffer + used, size - used, entry->d_name, &about, entry->d_off);
        if (needed > size - used) break;
        used += needed;
        offset = listing->at = entry->d_off;
        listing->next = NULL;
    }
    int error = !entry && !used ? errno : 0;
    error ? fuse_reply_err(request, error) : fuse_reply_buf(request, buffer, used);
    free(buffer);
}

static void on_releasedir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    struct listing *listing = (struct listing *)(uintptr_t)file->fh;
    (void)number;
    closedir(listing->directory);
    free(listing);
    fuse_reply_err(request, 0);
}

// As for files, syncs nothing.
static void on_fsyncdir(fuse_req_t request, fuse_ino_t number, int data_only, struct fuse_file_info *file) {
    (void)number, (void)data_only, (void)file;
    reply_done(request, 0, true);
}

void emulate_metadata_operations(struct fuse_lowlevel_ops *operations) {
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
