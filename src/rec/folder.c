#include "rec/folder.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cpu.h"
#include "fmt/spill.h"
#include "rec/fixed_text.h"

bool folder_is_safe(const char *path, bool own) {
    struct stat status;
    uid_t user = (uid_t)cpu_syscall(SYS_geteuid, 0);
    if (cpu_syscall(SYS_newfstatat, AT_FDCWD, path, &status, own ? AT_SYMLINK_NOFOLLOW : 0) < 0) return false;
    bool is_open = status.st_mode & (S_IWGRP | S_IWOTH) && (own || !(status.st_mode & S_ISVTX));
    return S_ISDIR(status.st_mode) && !is_open && (status.st_uid == user || (!own && status.st_uid == 0));
}

bool folder_of_user(char path[PATH_MAX], const char *parent) {
    struct fixed_text text = {path, PATH_MAX, 0};
    fixed_text_add(&text, parent);
    if (path[0] != '/' || text.len > PATH_MAX / 2 || !folder_is_safe(path, false)) return false;
    fixed_text_add(&text, SPILL_USER_FOLDER);
    fixed_text_number(&text, (uint64_t)cpu_syscall(SYS_geteuid, 0), 10);
    if (!folder_is_safe(path, true)) cpu_syscall(SYS_mkdirat, AT_FDCWD, path, 0700);
    return folder_is_safe(path, true);
}
