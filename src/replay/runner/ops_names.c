// Calls about names and attributes. What the log does not say is chosen so that it does no harm: rights stay the
// owner's, times are now, attributes are one of ours.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "replay/runner/runner.h"

static const char attribute[] = "user.ioseer";

// A call by name on a path, and on a second one where there is any: 0 or more, or -1 with errno.
typedef int name_call(const char *path, const char *second);

static int do_stat(const char *path, const char *second)
{
    struct stat about;
    (void)second;
    return stat(path, &about);
}

static int do_lstat(const char *path, const char *second)
{
    struct stat about;
    (void)second;
    return lstat(path, &about);
}

static int do_fstatat(const char *path, const char *second)
{
    struct stat about;
    (void)second;
    return fstatat(AT_FDCWD, path, &about, 0);
}

static int do_statx(const char *path, const char *second)
{
    struct statx about;
    (void)second;
    return statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &about);
}

static int do_statfs(const char *path, const char *second)
{
    struct statfs about;
    (void)second;
    return statfs(path, &about);
}

static int do_statvfs(const char *path, const char *second)
{
    struct statvfs about;
    (void)second;
    return statvfs(path, &about);
}

static int do_access(const char *path, const char *second)
{
    (void)second;
    return access(path, F_OK);
}

static int do_eaccess(const char *path, const char *second)
{
    (void)second;
    return eaccess(path, F_OK);
}

static int do_faccessat(const char *path, const char *second)
{
    (void)second;
    return faccessat(AT_FDCWD, path, F_OK, 0);
}

static int do_readlink(const char *path, const char *second)
{
    char target[256];
    (void)second;
    return (int)readlink(path, target, sizeof target);
}

static int do_readlinkat(const char *path, const char *second)
{
    char target[256];
    (void)second;
    return (int)readlinkat(AT_FDCWD, path, target, sizeof target);
}

static int do_unlink(const char *path, const char *second)
{
    (void)second;
    return unlink(path);
}

static int do_remove(const char *path, const char *second)
{
    (void)second;
    return remove(path);
}

static int do_mkdir(const char *path, const char *second)
{
    (void)second;
    return mkdir(path, 0700);
}

static int do_mkdirat(const char *path, const char *second)
{
    (void)second;
    return mkdirat(AT_FDCWD, path, 0700);
}

static int do_rmdir(const char *path, const char *second)
{
    (void)second;
    return rmdir(path);
}

static int do_mkfifo(const char *path, const char *second)
{
    (void)second;
    return mkfifo(path, 0600);
}

static int do_chmod(const char *path, const char *second)
{
    (void)second;
    return chmod(path, 0700);
}

static int do_fchmodat(const char *path, const char *second)
{
    (void)second;
    return fchmodat(AT_FDCWD, path, 0700, 0);
}

static int do_chown(const char *path, const char *second)
{
    (void)second;
    return chown(path, (uid_t)-1, (gid_t)-1);
}

static int do_lchown(const char *path, const char *second)
{
    (void)second;
    return lchown(path, (uid_t)-1, (gid_t)-1);
}

static int do_fchownat(const char *path, const char *second)
{
    (void)second;
    return fchownat(AT_FDCWD, path, (uid_t)-1, (gid_t)-1, 0);
}

static int do_utime(const char *path, const char *second)
{
    (void)second;
    return utime(path, NULL);
}

static int do_utimes(const char *path, const char *second)
{
    (void)second;
    return utimes(path, NULL);
}

static int do_utimensat(const char *path, const char *second)
{
    (void)second;
    return utimensat(AT_FDCWD, path, NULL, 0);
}

static int do_setxattr(const char *path, const char *second)
{
    (void)second;
    return setxattr(path, attribute, "replay", 6, 0);
}

static int do_getxattr(const char *path, const char *second)
{
    char value[16];
    (void)second;
    return (int)getxattr(path, attribute, value, sizeof value);
}

static int do_listxattr(const char *path, const char *second)
{
    char list[256];
    (void)second;
    return (int)listxattr(path, list, sizeof list);
}

static int do_lsetxattr(const char *path, const char *second)
{
    (void)second;
    return lsetxattr(path, attribute, "replay", 6, 0);
}

static int do_lgetxattr(const char *path, const char *second)
{
    char value[16];
    (void)second;
    return (int)lgetxattr(path, attribute, value, sizeof value);
}

static int do_llistxattr(const char *path, const char *second)
{
    char list[256];
    (void)second;
    return (int)llistxattr(path, list, sizeof list);
}

static int do_removexattr(const char *path, const char *second)
{
    (void)second;
    return removexattr(path, attribute);
}

static int do_chdir(const char *path, const char *second)
{
    (void)second;
    return chdir(path);
}

static int do_scandir(const char *path, const char *second)
{
    struct dirent **list;
    (void)second;
    int count = scandir(path, &list, NULL, NULL);
    for (int i = 0; i < count; i++) free(list[i]);
    if (count >= 0) free(list);
    return count;
}

static int do_rename(const char *path, const char *second)
{
    return rename(path, second);
}

static int do_renameat(const char *path, const char *second)
{
    return renameat(AT_FDCWD, path, AT_FDCWD, second);
}

static int do_renameat2(const char *path, const char *second)
{
    return renameat2(AT_FDCWD, path, AT_FDCWD, second, 0);
}

static int do_link(const char *path, const char *second)
{
    return link(path, second);
}

static int do_linkat(const char *path, const char *second)
{
    return linkat(AT_FDCWD, path, AT_FDCWD, second, 0);
}

// What it points to is not in the log: a file that is there.
static int do_symlink(const char *path, const char *second)
{
    return symlink(second, path);
}

static int do_symlinkat(const char *path, const char *second)
{
    return symlinkat(second, AT_FDCWD, path);
}

static const struct {
    const char *call;
    name_call *run;
    bool needs_second;
} name_calls[] = {
    {"stat", do_stat, false},           {"lstat", do_lstat, false},           {"fstatat", do_fstatat, false},
    {"statx", do_statx, false},         {"statfs", do_statfs, false},         {"statvfs", do_statvfs, false},
    {"access", do_access, false},       {"eaccess", do_eaccess, false},       {"faccessat", do_faccessat, false},
    {"readlink", do_readlink, false},   {"readlinkat", do_readlinkat, false}, {"unlink", do_unlink, false},

    {"remove", do_remove, false},       {"mkdir", do_mkdir, false},           {"mkdirat", do_mkdirat, false},
    {"mkdtemp", do_mkdir, false},       {"rmdir", do_rmdir, false},           {"mkfifo", do_mkfifo, false},
    {"chmod", do_chmod, false},         {"fchmodat", do_fchmodat, false},     {"chown", do_chown, false},
    {"lchown", do_lchown, false},       {"fchownat", do_fchownat, false},     {"utime", do_utime, false},
    {"utimes", do_utimes, false},       {"utimensat", do_utimensat, false},   {"setxattr", do_setxattr, false},
    {"getxattr", do_getxattr, false},   {"listxattr", do_listxattr, false},   {"lsetxattr", do_lsetxattr, false},
    {"lgetxattr", do_lgetxattr, false}, {"llistxattr", do_llistxattr, false}, {"removexattr", do_removexattr, false},
    {"chdir", do_chdir, false},         {"scandir", do_scandir, false},       {"rename", do_rename, true},
    {"renameat", do_renameat, true},    {"renameat2", do_renameat2, true},    {"link", do_link, true},
    {"linkat", do_linkat, true},        {"symlink", do_symlink, false},       {"symlinkat", do_symlinkat, false},
};

int64_t names_call(struct lane_run *lane, const struct replay_file *file, const struct model_step *step, bool *known)
{
    struct runner *runner = lane->runner;
    const char *call = step->kind->call, *second = runner->link_target;
    if (!strcmp(call, "truncate")) {
        *known = true;
        return truncate(file->path, step->op->at[AT_SIZE]) < 0 ? -errno : 0;
    }
    if (!strcmp(call, "unlinkat")) { // its flags are not in the log
        *known = true;
        bool is_directory = paths_has_files(&runner->paths, file->set, file->member);
        return unlinkat(AT_FDCWD, file->path, is_directory ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
    }
    for (size_t i = 0; i < sizeof name_calls / sizeof *name_calls; i++) {
        if (strcmp(name_calls[i].call, call)) continue;
        if (name_calls[i].needs_second) {
            if (step->kind->set2 == OP_NO_SET) break;
            const struct replay_file *to = runner_file(runner, step->kind->set2, (uint32_t)step->op->at[AT_SECOND]);
            if (!to) return -ENOMEM;
            second = to->path;
        }
        *known = true;
        return name_calls[i].run(file->path, second) < 0 ? -errno : 0;
    }
    *known = false;
    return 0;
}
