// Where the parts of a stack will be: mount points and bricks; and whether the machine can have them.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mounts.h"
#include "base/scoped.h"
#include "stack/private.h"
#include "target/mount_point.h"

static int check_path(const char *path, struct problem *problem) {
    if (!strpbrk(path, "\"\\`\n")) return 0;
    return problem_set(problem, ERR_USAGE, path, "GlusterFS does not accept such names");
}

static int check_empty(const char *given, const char *path, struct problem *problem) {
    struct mount_point_top top;
    if (mount_point_top(path, &top)) return problem_set(problem, -EBUSY, given, "something is mounted there already");
    int empty = mount_point_is_empty(path);
    return empty > 0 ? 0 : problem_code(problem, empty < 0 ? empty : -ENOTEMPTY, given);
}

// The absolute name of a directory that need not exist; its parent must. `made`: it does not exist.
static int resolve(const char *given, char path[PATH_MAX], bool *made, struct problem *problem) {
    enum { ANSWER_MS = 3000 };
    char above[PATH_MAX], copy[PATH_MAX];
    if (stack_bounded(stack_try_mount, given, ANSWER_MS) == -ETIMEDOUT)
        return problem_set(problem, -ETIMEDOUT, given, "its file system does not answer");
    *made = access(given, F_OK) < 0 && errno == ENOENT;
    if (!*made) return realpath(given, path) ? 0 : problem_code(problem, -errno, given);
    snprintf(copy, sizeof copy, "%s", given);
    for (size_t length = strlen(copy); length > 1 && copy[length - 1] == '/';) copy[--length] = 0;
    char *slash = strrchr(copy, '/'), *last = slash ? slash + 1 : copy;
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - copy) + 1 : 1, slash ? copy : ".");
    if (!realpath(above, path)) return problem_code(problem, -errno, given);
    size_t length = strlen(path);
    if (length + strlen(last) + 2 > PATH_MAX) return problem_code(problem, -ENAMETOOLONG, given);
    snprintf(path + length, PATH_MAX - length, "%s%s", path[length - 1] == '/' ? "" : "/", last);
    return 0;
}

// The servers must not see each other's data or the mount, nor may either go with the stack's folder.
static int check_apart(const char *path, const char *other, const char *whose, struct problem *problem) {
    if (!strcmp(path, other)) return problem_set(problem, ERR_USAGE, path, "is %s, too", whose);
    if (mount_point_contains(other, path)) return problem_set(problem, ERR_USAGE, path, "lies in %s %s", whose, other);
    if (mount_point_contains(path, other)) return problem_set(problem, ERR_USAGE, path, "contains %s %s", whose, other);
    return 0;
}

int stack_name_mounts(struct stack *stack, struct problem *problem) {
    char given[PATH_MAX];
    struct stack_client *client = &stack->client[0];
    snprintf(given, sizeof given, "%s", client->mount);
    if (given[0]) {
        FORWARD(resolve(given, client->mount, &stack->made_mount, problem));
        FORWARD(check_path(client->mount, problem));
        FORWARD(check_apart(client->mount, stack->folder, "the stack's folder", problem));
        if (!stack->made_mount) FORWARD(check_empty(given, client->mount, problem));
    } else {
        snprintf(client->mount, PATH_MAX, "%s", stack_path(stack, "mount").text);
        stack->made_mount = true;
    }
    for (unsigned i = 1; i < stack->clients; i++) {
        char inside[PATH_MAX];
        snprintf(inside, sizeof inside, "%s", stack->client[i].mount);
        if (snprintf(stack->client[i].mount, PATH_MAX, "%s/%s", client->mount, inside) >= PATH_MAX)
            return problem_code(problem, -ENAMETOOLONG, inside);
    }
    return 0;
}

static int check_brick_apart(const struct stack *stack, unsigned server, struct problem *problem) {
    const char *brick = stack->server[server].backing;
    char whose[32];
    FORWARD(check_apart(brick, stack->folder, "the stack's folder", problem));
    if (!stack->only) FORWARD(check_apart(brick, stack->client[0].mount, "the mount point", problem));
    for (unsigned i = 0; i < server; i++) {
        if (!stack_is_here(stack, i)) continue;
        snprintf(whose, sizeof whose, "the brick of server %u", i);
        FORWARD(check_apart(brick, stack->server[i].backing, whose, problem));
    }
    return 0;
}

static void name_storage(struct stack_server *server, const struct mounts *mounts) {
    char type[32];
    size_t length = strlen(server->storage);
    const struct mount *mount = mounts_find(mounts, 0, server->backing, strlen(server->backing));
    snprintf(type, sizeof type, "%s", mount ? mount->type : "?");
    if (server->kind == STORAGE_PLAIN)
        snprintf(server->storage, sizeof server->storage, "%s", type);
    else
        snprintf(server->storage + length, sizeof server->storage - length, " in %s", type);
}

int stack_name_bricks(struct stack *stack, struct problem *problem) {
    char given[PATH_MAX];
    bool made;
    SCOPED(mounts_free) struct mounts mounts = {0};
    mounts_read(&mounts, "/proc/self/mountinfo");
    for (unsigned i = 0; i < stack->servers; i++) {
        if (!stack_is_here(stack, i)) continue;
        struct stack_server *server = &stack->server[i];
        struct stack_path own = stack_path(stack, "bricks/%u", i), data = stack_path(stack, "bricks/%u.data", i);
        snprintf(given, sizeof given, "%s", server->backing);
        server->is_given = given[0];
        if (server->is_given) {
            FORWARD(resolve(given, server->backing, &made, problem));
            FORWARD(check_path(server->backing, problem));
            FORWARD(check_brick_apart(stack, i, problem));
        }
        bool is_plain = server->kind == STORAGE_PLAIN;
        if (!server->is_given) snprintf(server->backing, PATH_MAX, "%s", is_plain ? own.text : data.text);
        snprintf(server->brick, PATH_MAX, "%s", is_plain ? server->backing : own.text);
        name_storage(server, &mounts);
    }
    return 0;
}

static bool may_administer(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    syscall(SYS_capget, &header, data);
    return data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

int stack_check_machine(const struct stack *stack, struct stack_programs *programs, struct problem *problem) {
    if (geteuid()) return problem_set(problem, -EPERM, stack->name, "only root can start a stack");
    if (!may_administer())
        return problem_set(problem, -EPERM, stack->name,
                           "root may not mount here (CAP_SYS_ADMIN), as in many containers");
    int fuse = stack->only ? 0 : open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0) return problem_set(problem, -errno, "/dev/fuse", "%s: a stack needs FUSE", err_text(-errno));
    if (fuse > 0) close(fuse);
    return stack_find_programs(programs, stack, problem);
}
