#include "rec/host_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "fmt/spill.h"
#include "rec/fixed_text.h"
#include "rec/folder.h"
#include "rec/recorder.h"

enum { PRESENCE_BYTES = 4096 }; // of the mapping; nobody touches it

static char folder[PATH_MAX];

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The host is in the name: hosts may have been given one folder.
static bool find_path(void) {
    struct utsname name = {.nodename = "host"};
    if (!recorder.spill_parent || !folder_of_user(folder, recorder.spill_parent)) return false;
    struct fixed_text text = {folder, sizeof folder, strlen(folder)};
    cpu_syscall(SYS_uname, &name);
    fixed_text_add(&text, "/");
    fixed_text_add(&text, last_part(recorder.job));
    fixed_text_add(&text, SPILL_HOST_SUFFIX);
    fixed_text_add(&text, name.nodename);
    return text.len < sizeof folder - NAME_MAX;
}

static void name_inside(char path[PATH_MAX], const char *name) {
    struct fixed_text text = {path, PATH_MAX, 0};
    fixed_text_add(&text, folder);
    fixed_text_add(&text, name);
}

static long open_presence(int flags) {
    char path[PATH_MAX];
    name_inside(path, SPILL_PRESENCE);
    return cpu_syscall(SYS_openat, AT_FDCWD, path, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

// Meanwhile the folder may have been delivered, and made again by another process.
static bool is_still_there(long fd) {
    char path[PATH_MAX];
    struct stat locked, named;
    name_inside(path, SPILL_PRESENCE);
    return cpu_syscall(SYS_fstat, fd, &locked) == 0 &&
           cpu_syscall(SYS_newfstatat, AT_FDCWD, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

// A forked child has neither the mapping nor the lock.
static bool take_lock(void) {
    long fd = open_presence(O_RDWR | O_CREAT), address = -1;
    if (fd < 0) return false;
    if (cpu_syscall(SYS_flock, fd, LOCK_SH | LOCK_NB) == 0 && is_still_there(fd))
        address = cpu_syscall(SYS_mmap, 0, PRESENCE_BYTES, PROT_NONE, MAP_SHARED, fd, 0);
    cpu_syscall(SYS_close, fd);
    if (address < 0 && address >= -4095) return false;
    cpu_syscall(SYS_madvise, address, PRESENCE_BYTES, MADV_DONTFORK);
    recorder.presence = (void *)address;
    return true;
}

// Who makes the log learns by the mark that something is here; whoever delivers the folder finds the job by the link.
static bool leave_marks(void) {
    char path[PATH_MAX];
    struct utsname name = {.nodename = "host"};
    struct fixed_text text = {path, sizeof path, 0};
    cpu_syscall(SYS_uname, &name);
    fixed_text_add(&text, recorder.job);
    fixed_text_add(&text, "/");
    fixed_text_add(&text, name.nodename);
    fixed_text_add(&text, SPILL_AWAY_SUFFIX);
    long code = cpu_syscall(SYS_symlinkat, folder, AT_FDCWD, path);
    if (code < 0 && code != -EEXIST) return false;
    name_inside(path, SPILL_HOST_JOB);
    return cpu_syscall(SYS_symlinkat, recorder.job, AT_FDCWD, path) == 0;
}

// Without marks nobody would find the folder: the job's directory may be gone.
static bool make_folder(void) {
    long code = cpu_syscall(SYS_mkdirat, AT_FDCWD, folder, 0700);
    if (code == -EEXIST) return true;
    if (code < 0 || leave_marks()) return code == 0;
    cpu_syscall(SYS_unlinkat, AT_FDCWD, folder, AT_REMOVEDIR);
    return false;
}

const char *host_folder_enter(void) {
    bool is_there = find_path() && make_folder() && take_lock();
    return recorder.host_folder = is_there ? folder : NULL;
}

const char *host_folder_leave(void) {
    if (!recorder.host_folder) return NULL;
    recorder.host_folder = NULL;
    cpu_syscall(SYS_munmap, recorder.presence, PRESENCE_BYTES);
    long fd = open_presence(O_RDWR);
    bool is_last = fd >= 0 && cpu_syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0) cpu_syscall(SYS_close, fd);
    return is_last ? folder : NULL;
}
