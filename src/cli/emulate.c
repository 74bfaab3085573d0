// `ioseer emulate`: a directory mounted as storage of a given speed.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/verb.h"
#include "target/emulate.h"

static struct {
    const char *preset;
    uint64_t read_bandwidth, write_bandwidth;
    double latency, meta_latency, seek_latency; // seconds; negative: not given
    const char *cache;
    bool foreground;
    bool stop;
    bool lazy;
    bool list;
    bool quiet;
} options = {.latency = -1, .meta_latency = -1, .seek_latency = -1, .cache = "none"};

static const struct option_row rows[] = {
    {"preset", 0, OPTION_TEXT, &options.preset, "NAME", "hdd, ssd, nvme, nvm or nfs-1g; the options below change it"},
    {"read-bw", 0, OPTION_SIZE, &options.read_bandwidth, "SIZE", "bytes read per second, all clients together"},
    {"write-bw", 0, OPTION_SIZE, &options.write_bandwidth, "SIZE", "bytes written per second, all clients together"},
    {"latency", 0, OPTION_DURATION, &options.latency, "TIME", "least time of a data request"},
    {"meta-latency", 0, OPTION_DURATION, &options.meta_latency, "TIME", "of a request about names or attributes"},
    {"seek-latency", 0, OPTION_DURATION, &options.seek_latency, "TIME",
     "more, where a data request does not begin where the last one ended"},
    {"cache", 0, OPTION_TEXT, &options.cache, "WHICH",
     "none: every request reaches the device; kernel: the page cache lies above it (none)"},
    {"foreground", 0, OPTION_FLAG, &options.foreground, NULL, "serve until interrupted or the parent process ends"},
    {"stop", 0, OPTION_FLAG, &options.stop, NULL, "unmount MOUNT, the only word"},
    {"lazy", 0, OPTION_FLAG, &options.lazy, NULL, "with --stop: also while it is in use"},
    {"presets", 0, OPTION_FLAG, &options.list, NULL, "list the presets"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "print nothing of ioseer's own"},
    {0},
};

#ifdef IOSEER_WITH_FUSE

static int64_t to_ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static int settings_of(struct device_settings *settings)
{
    *settings = (struct device_settings){0};
    if (options.preset) {
        const struct device_preset *preset = device_preset_find(options.preset);
        if (!preset) return cli_usage("emulate", options.preset, "no such preset (--presets lists them)");
        *settings = preset->settings;
    }
    if (options.read_bandwidth) settings->read_bandwidth = options.read_bandwidth;
    if (options.write_bandwidth) settings->write_bandwidth = options.write_bandwidth;
    if (options.latency >= 0) settings->latency_ns = to_ns(options.latency);
    if (options.meta_latency >= 0) settings->meta_latency_ns = to_ns(options.meta_latency);
    if (options.seek_latency >= 0) settings->seek_latency_ns = to_ns(options.seek_latency);
    return STATUS_OK;
}

static int list_presets(void)
{
    for (const struct device_preset *preset = device_presets; preset->name; preset++) {
        printf("%-8s %s\n", preset->name, preset->about);
    }
    return STATUS_OK;
}

static int stop(int argc, char **argv)
{
    if (argc != 2) return cli_usage("emulate", "--stop", "takes one MOUNT");
    int code = emulate_stop(argv[1], options.lazy);
    if (code == ERR_NOTHING) {
        fprintf(stderr, "ioseer emulate: %s: nothing of ioseer's is mounted there\n", argv[1]);
        return STATUS_FAILURE;
    }
    return code < 0 ? cli_fail("emulate", argv[1], code) : STATUS_OK;
}

// --- serving

struct announcement {
    int pipe;
};

static void announce(int code, void *context)
{
    struct announcement *to = context;
    if (to->pipe < 0) return;
    if (write(to->pipe, &code, sizeof code) < 0) _exit(STATUS_FAILURE);
    close(to->pipe);
    to->pipe = -1;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++) dup2(null, fd);
}

static int serve_in_background(const struct emulate_options *what)
{
    int ends[2], code = -EIO;
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    pid_t child = fork();
    RETURN_IF(child < 0, -errno);
    if (!child) {
        struct announcement to = {ends[1]};
        close(ends[0]);
        setsid();
        _exit(emulate_serve(what, announce, &to) < 0 ? STATUS_FAILURE : STATUS_OK);
    }
    close(ends[1]);
    if (read(ends[0], &code, sizeof code) != sizeof code) code = -EIO;
    close(ends[0]);
    if (code) waitpid(child, NULL, 0);
    return code;
}

static void say_nothing(int code, void *context)
{
    (void)code, (void)context;
}

static int serve_in_foreground(const struct emulate_options *what)
{
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) return 0; // it ended in between
    return emulate_serve(what, say_nothing, NULL);
}

// The mount must not hide what it serves.
static int check_directories(const char *backing, const char *mount)
{
    struct stat below, above;
    if (stat(backing, &below) < 0) return cli_fail("emulate", backing, -errno);
    if (!S_ISDIR(below.st_mode)) return cli_fail("emulate", backing, -ENOTDIR);
    if (stat(mount, &above) < 0) return cli_fail("emulate", mount, -errno);
    if (!S_ISDIR(above.st_mode)) return cli_fail("emulate", mount, -ENOTDIR);
    if (below.st_dev == above.st_dev && below.st_ino == above.st_ino) {
        return cli_usage("emulate", mount, "is BACKING itself; mount on another directory");
    }
    return STATUS_OK;
}

static int emulate_run(int argc, char **argv)
{
    if (options.list) return list_presets();
    if (options.stop) return stop(argc, argv);
    if (argc != 3) return cli_usage("emulate", "BACKING MOUNT", "two directories are needed");
    bool kernel_cache = !strcmp(options.cache, "kernel");
    if (!kernel_cache && strcmp(options.cache, "none"))
        return cli_usage("emulate", options.cache, "not none or kernel");
    int status = check_directories(argv[1], argv[2]);
    if (status != STATUS_OK) return status;
    char backing[PATH_MAX], mount[PATH_MAX];
    if (!realpath(argv[1], backing)) return cli_fail("emulate", argv[1], -errno);
    if (!realpath(argv[2], mount)) return cli_fail("emulate", argv[2], -errno);
    struct emulate_options what = {.backing = backing, .mount = mount, .kernel_cache = kernel_cache};
    status = settings_of(&what.device);
    if (status != STATUS_OK) return status;
    int code = options.foreground ? serve_in_foreground(&what) : serve_in_background(&what);
    if (code < 0) return cli_fail("emulate", argv[2], code);
    if (!options.quiet && !options.foreground)
        printf("%s: mounted; ends with: ioseer emulate --stop %s\n", mount, argv[2]);
    return STATUS_OK;
}

#else

static int emulate_run(int argc, char **argv)
{
    (void)argc, (void)argv;
    fprintf(stderr, "ioseer emulate: left out of this build: libfuse 3.14 was not there\n");
    return STATUS_FAILURE;
}

#endif

const struct verb verb_emulate = {
    .name = "emulate",
    .summary = "mount a directory as storage of a given speed",
    .usage = "[OPTION]... BACKING MOUNT | --stop MOUNT",
    .about = "Mounts BACKING on MOUNT, where reading and writing take as long as on storage with the bandwidths and\n"
             "latencies given. It goes to the background and stays until --stop, or until MOUNT is unmounted.",
    .options = rows,
    .run = emulate_run,
};
