// The directories with the servers' data.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "stack/private.h"

// GlusterFS marks the bricks of its own volumes with it.
static const char mark[] = "trusted.glusterfs.volume-id";

// What GlusterFS has written begins with its own folder. All else would appear in the mount, or be changed by it.
static int check_content(const char *path, struct problem *problem) {
    DIR *listing = opendir(path);
    const struct dirent *entry;
    bool is_brick = false, is_foreign = false;
    if (!listing) return problem_code(problem, -errno, path);
    while ((entry = readdir(listing))) {
        const char *name = entry->d_name;
        is_brick |= !strcmp(name, ".glusterfs");
        is_foreign |= strcmp(name, ".") && strcmp(name, "..") && strcmp(name, "lost+found");
    }
    closedir(listing);
    if (!is_foreign || is_brick) return 0;
    return problem_set(problem, -ENOTEMPTY, path, "has files that are not GlusterFS's; a brick begins empty");
}

int stack_claim_brick(struct stack *stack, unsigned server, struct problem *problem) {
    struct statvfs about;
    struct stat kind;
    const char *path = stack->server[server].backing;
    stack->server[server].is_made = mkdir(path, 0755) == 0;
    if (!stack->server[server].is_made && errno != EEXIST) return problem_code(problem, -errno, path);
    if (stat(path, &kind) < 0) return problem_code(problem, -errno, path);
    if (!S_ISDIR(kind.st_mode)) return problem_code(problem, -ENOTDIR, path);
    if (statvfs(path, &about) < 0) return problem_code(problem, -errno, path);
    if ((about.f_blocks && !about.f_bfree) || (about.f_files && !about.f_ffree))
        return problem_code(problem, -ENOSPC, path);
    if (stack->server[server].kind != STORAGE_THROTTLED) FORWARD(check_content(path, problem));
    if (setxattr(path, mark, stack->id, sizeof stack->id, XATTR_CREATE) == 0) return 0;
    if (errno == EEXIST) return problem_set(problem, -EBUSY, path, "is a brick of another stack or GlusterFS volume");
    if (errno == ENOTSUP || errno == EPERM)
        return problem_set(problem, -errno, path, "this file system has no attributes for GlusterFS (trusted.*)");
    return problem_code(problem, -errno, path);
}

void stack_release_brick(const struct stack *stack, unsigned server) {
    unsigned char found[sizeof stack->id];
    const char *path = stack->server[server].backing;
    bool is_ours = getxattr(path, mark, found, sizeof found) == sizeof found && !memcmp(found, stack->id, sizeof found);
    if (is_ours) removexattr(path, mark);
    if (stack->server[server].is_made) rmdir(path); // if its server never wrote to it
}

int stack_prepare_exports(const struct stack *stack, unsigned server, struct problem *problem) {
    for (unsigned i = 1; i < stack->clients; i++) {
        if (!stack_has_server(&stack->client[i], server)) continue;
        struct stack_export path = stack_export(stack, i, server), above;
        snprintf(above.text, sizeof above.text, "%s/.glusterfs", stack->server[server].brick);
        if (mkdir(above.text, 0700) < 0 && errno != EEXIST) return problem_code(problem, -errno, above.text);
        if (mkdir(path.text, 0755) < 0 && errno != EEXIST) return problem_code(problem, -errno, path.text);
    }
    return 0;
}
