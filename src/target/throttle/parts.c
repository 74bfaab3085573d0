#include "target/throttle/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "target/throttle/limits.h"
#include "target/unmount.h"

enum { LOOP_TRIES = 16, NOT_RUN = 127 };

struct device_path {
    char text[32]; // "/dev/loop3"
};

struct making {
    const struct block_options *options;
    struct block_note *note;
    struct limits bounds;
    struct device_path device;
    int device_fd; // the device lets go of the image when nobody uses it
    char *why;
    size_t why_size;
};

static int failed(struct making *making, const char *what, int code)
{
    if (!making->why[0]) snprintf(making->why, making->why_size, "%s: %s", what, err_text(code));
    return code;
}

static int failed_because(struct making *making, int code, const char *why)
{
    snprintf(making->why, making->why_size, "%s", why);
    return code;
}

// --- image and device

// A file without a name: it is gone when the device lets go of it. Its room is taken at once: a device that finds the
// disk below full later has nothing but I/O errors for its users.
static int make_image(struct making *making)
{
    const struct block_options *options = making->options;
    int fd = open(options->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return failed(making, options->folder, -errno);
    if (fallocate(fd, 0, 0, (off_t)options->size_bytes) == 0) return fd;
    int code = failed(making, options->folder, -errno);
    close(fd);
    return code;
}

static struct device_path device_path(int loop)
{
    struct device_path path;
    snprintf(path.text, sizeof path.text, "/dev/loop%d", loop);
    return path;
}

static int attach_to(struct making *making, int image, int number)
{
    struct loop_config config = {.fd = (uint32_t)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR};
    snprintf((char *)config.info.lo_file_name, sizeof config.info.lo_file_name, "%s", making->note->name);
    making->device = device_path(number);
    int writing = open(making->device.text, O_RDWR | O_CLOEXEC);
    RETURN_IF(writing < 0, -errno);
    // Some kernels do not mount what is open for writing.
    int fd = ioctl(writing, LOOP_CONFIGURE, &config) < 0 ? -1 : open(making->device.text, O_RDONLY | O_CLOEXEC);
    int code = -errno;
    close(writing);
    return fd < 0 ? code : fd;
}

// Another may take the device that was free a moment ago.
static int attach(struct making *making, int image)
{
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = -EBUSY;
    if (control < 0) return failed(making, "/dev/loop-control", -errno);
    int number = -1;
    for (unsigned i = 0; i < LOOP_TRIES && fd == -EBUSY; i++) {
        number = ioctl(control, LOOP_CTL_GET_FREE);
        fd = number < 0 ? -errno : attach_to(making, image, number);
    }
    close(control);
    if (fd < 0) return failed(making, number < 0 ? "/dev/loop-control" : making->device.text, fd);
    making->device_fd = fd;
    int code = block_note_loop(making->note, number);
    return code < 0 ? failed(making, "note in /run/ioseer", code) : 0;
}

static int make_device(struct making *making)
{
    int image = make_image(making);
    RETURN_IF(image < 0, image);
    int code = attach(making, image);
    close(image);
    return code;
}

// --- file system

// mkfs lies where not every shell of root's looks.
static void be_program(int said, char *const words[])
{
    char path[4096];
    const char *given = getenv("PATH");
    snprintf(path, sizeof path, "%s:/usr/sbin:/sbin", given ? given : "/usr/bin:/bin");
    setenv("PATH", path, 1);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    execvp(words[0], words);
    _exit(NOT_RUN);
}

// Runs a program in silence. Where it fails, what it said first is the reason.
static int run(struct making *making, char *const words[], const char *package)
{
    int said = memfd_create("said", MFD_CLOEXEC), status;
    pid_t child = fork();
    if (child < 0) return failed(making, words[0], -errno);
    if (!child) be_program(said, words);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    char text[160] = "";
    ssize_t length = pread(said, text, sizeof text - 1, 0);
    close(said);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    text[length < 0 ? 0 : strcspn(text, "\n")] = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_RUN) {
        snprintf(making->why, making->why_size, "no %s here (package %s)", words[0], package);
    } else {
        snprintf(making->why, making->why_size, "%s: %s", words[0], text[0] ? text : "failed");
    }
    return -EIO;
}

static int make_file_system(struct making *making)
{
    bool is_xfs = !strcmp(making->options->type, "xfs");
    char *device = making->device.text;
    // What was discarded would have no room below any more; what is made lazily would be made during measurements.
    char *xfs[] = {"mkfs.xfs", "-q", "-f", "-K", device, NULL};
    char *ext4[] = {"mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device, NULL};
    return is_xfs ? run(making, xfs, "xfsprogs") : run(making, ext4, "e2fsprogs");
}

static int mount_it(struct making *making)
{
    const struct block_options *options = making->options;
    struct stat place;
    if (stat(options->mount, &place) < 0) return failed(making, options->mount, -errno);
    if (mount(making->device.text, options->mount, options->type, MS_NOSUID | MS_NODEV, NULL) < 0)
        return failed(making, "mount", -errno);
    // It belongs to whom the place belonged.
    if (chown(options->mount, place.st_uid, place.st_gid) < 0 || chmod(options->mount, place.st_mode & 07777) < 0)
        return failed(making, options->mount, -errno);
    return 0;
}

// --- limits

// Its number, 0 where it is gone. Partitions may lie between those of two devices.
static dev_t device_number(int loop)
{
    struct stat about;
    return stat(device_path(loop).text, &about) < 0 ? 0 : about.st_rdev;
}

static int limit(struct making *making)
{
    const struct block_options *options = making->options;
    const char *group = making->note->name;
    dev_t device = device_number(making->note->loop);
    limits_find(&making->bounds, "/proc/self/mounts", "/sys");
    int code = limits_make_group(&making->bounds, group, options->memory_bytes);
    if (code == ERR_NOTHING) return failed_because(making, code, "the kernel has no memory groups (cgroups)");
    if (code < 0) return failed(making, "memory group", code);
    if (options->read_bandwidth || options->write_bandwidth) {
        code = limits_bandwidth(&making->bounds, group, device, options->read_bandwidth, options->write_bandwidth);
    }
    if (code == ERR_NOTHING)
        return failed_because(making, code, "the kernel cannot throttle (no blkio cgroup, no io.max)");
    if (code < 0) return failed(making, "throttle", code);
    if (options->dirty_bytes) code = limits_dirty(&making->bounds, device, options->dirty_bytes);
    if (code == ERR_NOTHING)
        return failed_because(making, code, "the kernel cannot bound dirty pages (before Linux 6.2)");
    return code < 0 ? failed(making, "bound of dirty pages", code) : 0;
}

// --- all of it

int block_make(const struct block_options *options, struct block_note *note, int *device, char *why, size_t why_size)
{
    struct making making = {options, note, .device_fd = -1, .why = why, .why_size = why_size};
    why[0] = 0;
    int code = make_device(&making);
    if (code == 0) code = make_file_system(&making);
    if (code == 0) code = limit(&making);
    if (code == 0) code = mount_it(&making);
    *device = making.device_fd;
    return code;
}

int block_loop_at(const char *mount)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent entry;
    char text[3 * PATH_MAX];
    int number = -1;
    if (!mounts) return -1;
    while (getmntent_r(mounts, &entry, text, sizeof text)) {
        if (!strcmp(entry.mnt_dir, mount) && sscanf(entry.mnt_fsname, "/dev/loop%d", &number) != 1) number = -1;
    }
    endmntent(mounts);
    return number;
}

void block_remove(const struct block_note *note)
{
    struct limits bounds;
    limits_find(&bounds, "/proc/self/mounts", "/sys");
    dev_t device = note->loop < 0 ? 0 : device_number(note->loop);
    if (device) {
        limits_bandwidth(&bounds, note->name, device, 0, 0);
        limits_dirty(&bounds, device, 0);
        if (block_loop_at(note->mount) == note->loop) unmount(note->mount, true);
    }
    limits_drop_group(&bounds, note->name);
    block_note_remove(note);
}
