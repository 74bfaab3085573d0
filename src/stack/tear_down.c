// Removes what a stack consists of, as far as it exists.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mounts.h"
#include "base/scoped.h"
#include "stack/private.h"
#include "target/emulate/emulate.h"
#include "target/mount_point.h"
#include "target/throttle/throttle.h"

enum { OPEN_DIRECTORIES = 32 };

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *place) {
    (void)about, (void)type, (void)place;
    remove(path);
    return 0;
}

// Nobody else can replace it or what is in it, not even in /dev/shm, where everybody may make folders.
bool stack_is_own_folder(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() && !(about.st_mode & 022);
}

void stack_remove_folder(const char *path) {
    if (!stack_is_own_folder(path)) return;
    nftw(path, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

struct stack_source stack_source(const struct stack *stack) {
    struct stack_source source;
    snprintf(source.text, sizeof source.text, "ioseer-%s-%d", stack->name, (int)stack->guard);
    return source;
}

bool stack_is_mounted(const struct stack *stack, const struct stack_client *client) {
    struct mount_point_top top;
    const char *colon;
    return mount_point_top(client->mount, &top) && (colon = strchr(top.source, ':')) &&
           !strcmp(colon + 1, stack_source(stack).text);
}

static void end_storage(const struct stack_server *server) {
    if (!strcmp(server->brick, server->backing)) return;
    if (emulate_state_of(server->brick) != EMULATE_NONE) emulate_stop(server->brick, true);
    if (throttle_is_at(server->brick)) throttle_stop(server->brick, true);
}

static bool is_mounted_below(const char *folder) {
    SCOPED(mounts_free) struct mounts mounts = {0};
    mounts_read(&mounts, "/proc/self/mountinfo");
    for (size_t i = 0; i < mounts.count; i++) RETURN_IF(mount_point_contains(folder, mounts.item[i].point), true);
    return false;
}

static bool has_only_our_files(const char *folder) {
    static const char *const patterns[] = {".",        "..",    "stack",  "stack.new",
                                           STACK_LEFT, "mount", "bricks", "[cs]*-[0-9]*.[vl]o[lg]"};
    DIR *listing = opendir(folder);
    const struct dirent *entry;
    bool is_ours = listing;
    while (is_ours && (entry = readdir(listing))) {
        size_t i = 0, count = sizeof patterns / sizeof *patterns;
        while (i < count && fnmatch(patterns[i], entry->d_name, 0)) i++;
        is_ours = i < count;
    }
    if (listing) closedir(listing);
    return is_ours;
}

int stack_remove_unreadable(const struct stack *stack, struct problem *problem) {
    char users[200];
    struct stack noted;
    int code = stack_state_read(&noted, stack->folder);
    if (code == 0) stack_forget(&noted);
    if (code == 0 || code == ERR_NOTHING) return 0;
    mount_point_users(stack->folder, users, sizeof users);
    if (users[0]) return problem_set(problem, code, stack->folder, "its notes cannot be read; end %s first", users);
    if (is_mounted_below(stack->folder))
        return problem_set(problem, code, stack->folder,
                           "its notes cannot be read; unmount what is mounted in it first");
    if (!stack_is_own_folder(stack->folder) || !has_only_our_files(stack->folder))
        return problem_set(problem, code, stack->folder, "is not a stack's; it is in the way of one of that name");
    stack_state_remove(stack);
    return 1;
}

// Recordings that are under way still need the records.
static void leave_probes(const char *probes) {
    char path[STACK_FOLDER_BYTES + 160];
    if (!stack_is_recorded(probes)) {
        stack_remove_folder(probes);
        return;
    }
    snprintf(path, sizeof path, "%s/" STACK_GONE, probes);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

void stack_tear_down(const struct stack *stack) {
    for (unsigned i = stack->only ? 0 : stack->clients; i-- > 0;) {
        if (stack_is_mounted(stack, &stack->client[i])) unmount(stack->client[i].mount, true);
    }
    for (unsigned i = 0; i < stack->servers; i++) {
        if (!stack_is_here(stack, i)) continue;
        end_storage(&stack->server[i]);
        if (stack->server[i].is_given) stack_release_brick(stack, i);
    }
    if (stack->made_mount && !stack->only) rmdir(stack->client[0].mount);
    leave_probes(stack->probes);
    stack_state_remove(stack);
}
