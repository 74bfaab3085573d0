#include "target/unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "target/clock.h"

enum { PATIENCE_NS = 1000000000, LOOK_NS = 10000000 };

static int unmount_by_helper(const char *mount, bool lazily)
{
    pid_t child = fork();
    RETURN_IF(child < 0, -errno);
    if (!child) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        execlp("fusermount3", "fusermount3", "-u", lazily ? "-z" : "-q", "--", mount, (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBUSY;
}

int unmount(const char *mount, bool lazily)
{
    if (umount2(mount, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0) return 0;
    if (errno == EINVAL || errno == ENOENT) return 0; // somebody else was faster
    return errno == EPERM ? unmount_by_helper(mount, lazily) : -errno;
}

int unmount_patiently(const char *mount)
{
    int64_t until_ns = clock_now_ns() + PATIENCE_NS;
    for (;;) {
        int code = unmount(mount, false);
        if (code != -EBUSY || clock_now_ns() > until_ns) return code;
        clock_sleep_until(clock_now_ns() + LOOK_NS);
    }
}
