// `ioseer emulate`: storage of a given speed.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "target/emulate/emulate.h"
#include "target/mount_point.h"
#include "target/place.h"
#include "target/throttle/throttle.h"

enum { DIRTY_BYTES = 64 << 20 };

static struct {
    const char *preset, *cache, *type;
    uint64_t read_bandwidth, write_bandwidth;   // 0: not given
    double latency, meta_latency, seek_latency; // seconds; negative: not given
    uint64_t block;                             // bytes; 0: not a block device
    uint64_t dirty_limit, memory;               // bytes; 0: not given
    bool run, foreground, stop, force, list, json, quiet;
} options = {.latency = -1, .meta_latency = -1, .seek_latency = -1, .cache = "none"};

static const struct option_row rows[] = {
    {"preset", 0, OPTION_CHOICE, &options.preset, "hdd|ssd|nvme|nvm|nfs-1g", "start from the speed of such storage"},
    {"read-bw", 0, OPTION_SIZE, &options.read_bandwidth, "SIZE", "bytes read per second, all clients together"},
    {"write-bw", 0, OPTION_SIZE, &options.write_bandwidth, "SIZE", "bytes written per second, all clients together"},
    {"latency", 0, OPTION_DURATION, &options.latency, "TIME", "minimum time of a data request"},
    {"meta-latency", 0, OPTION_DURATION, &options.meta_latency, "TIME",
     "minimum time of a call on names or attributes"},
    {"seek-latency", 0, OPTION_DURATION, &options.seek_latency, "TIME",
     "extra time of a data request that does not start where the previous one ended"},
    {"cache", 0, OPTION_CHOICE, &options.cache, "none|kernel",
     "none: every request reaches the storage; kernel: use the page cache, which shared mappings need (default: none)"},
    {"block", 0, OPTION_SIZE, &options.block, "SIZE",
     "make a new file system on a throttled block device of SIZE (root only)"},
    {"fs", 0, OPTION_CHOICE, &options.type, "xfs|ext4", "with --block: the file system (default: xfs)"},
    {"dirty-limit", 0, OPTION_SIZE, &options.dirty_limit, "SIZE",
     "with --block: limit of unwritten data in memory (default: 64M)"},
    {"memory", 0, OPTION_SIZE, &options.memory, "SIZE",
     "with --block: memory limit of programs started with --run, including page cache"},
    {"run", 0, OPTION_FLAG, &options.run, NULL, "run COMMAND with the limits of MOUNT"},
    {"foreground", 0, OPTION_FLAG, &options.foreground, NULL,
     "stay in the foreground until interrupted or until the parent process ends"},
    {"stop", 0, OPTION_FLAG, &options.stop, NULL, "unmount MOUNT and remove everything that was made for it"},
    {"force", 0, OPTION_FLAG, &options.force, NULL, "with --stop: stop even if MOUNT is in use"},
    {"presets", 0, OPTION_FLAG, &options.list, NULL, "list the presets"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "with --presets: print JSON"},
    ROW_QUIET(&options.quiet, "suppress ioseer's own messages"),
    {0},
};

static enum status fail(const char *what, const char *why) { return cli_usage("emulate", what, why), STATUS_FAILURE; }

// --- presets

static void preset_json(struct json_out *json, const struct speed_preset *preset) {
    const struct speed_settings *settings = &preset->settings;
    json_object_of(json, m_text("name", preset->name), m_number("read_bw", settings->read_bandwidth),
                   m_number("write_bw", settings->write_bandwidth), m_seconds("latency", settings->latency_ns),
                   m_seconds("meta_latency", settings->meta_latency_ns),
                   m_seconds("seek_latency", settings->seek_latency_ns), m_text("about", preset->about));
}

static enum status list_presets(void) {
    struct output output;
    output_open(&output, "emulate", NULL);
    if (options.json) {
        struct json_out *json = output_json(&output, 2);
        json_object(json);
        key_array(json, "presets");
        for (const struct speed_preset *preset = speed_presets; preset->name; preset++) preset_json(json, preset);
        json_close(json);
        json_close(json);
    }
    for (const struct speed_preset *preset = speed_presets; preset->name && !options.json; preset++) {
        fprintf(output.out, "%-8s %s\n", preset->name, preset->about);
    }
    return output_close(&output, false);
}

// --- starting

static enum status start(const char *given, const char *mount, place_serve *serve, const void *what) {
    struct problem problem = {0};
    int code = place_start(given, mount, serve, what, options.foreground, &problem);
    if (code < 0) return cli_problem("emulate", given, &problem, code);
    if (!options.quiet && !options.foreground)
        printf("%s: mounted; to unmount: ioseer emulate --stop %s\n", mount, given);
    return STATUS_OK;
}

// The names of both directories, resolved.
static enum status resolve(char **given, char backing[PATH_MAX], char mount[PATH_MAX]) {
    if (!realpath(given[0], backing)) return cli_fail("emulate", given[0], -errno);
    int code = place_name(given[1], mount);
    return code < 0 ? cli_fail("emulate", given[1], code) : STATUS_OK;
}

#ifdef IOSEER_WITH_FUSE

static enum status settings_of(struct speed_settings *settings) {
    const struct {
        double seconds;
        int64_t *ns;
    } latencies[] = {{options.latency, &settings->latency_ns},
                     {options.meta_latency, &settings->meta_latency_ns},
                     {options.seek_latency, &settings->seek_latency_ns}};
    if (options.preset) *settings = speed_preset_named(options.preset)->settings;
    if (options.read_bandwidth) settings->read_bandwidth = options.read_bandwidth;
    if (options.write_bandwidth) settings->write_bandwidth = options.write_bandwidth;
    for (unsigned i = 0; i < 3; i++) {
        if (latencies[i].seconds >= 0) *latencies[i].ns = (int64_t)(latencies[i].seconds * 1e9);
    }
    return STATUS_OK;
}

static int serve_mount(const void *what, target_ready *ready, void *context) {
    return emulate_serve(what, ready, context);
}

static enum status start_mount(char **given) {
    char backing[PATH_MAX], mount[PATH_MAX];
    struct emulate_options what = {
        .backing = backing, .mount = mount, .kernel_cache = !strcmp(options.cache, "kernel")};
    enum status status = settings_of(&what.speed);
    if (status == STATUS_OK) status = resolve(given, backing, mount);
    if (status != STATUS_OK) return status;
    if (mount_point_contains(backing, mount))
        return cli_usage("emulate", given[1], "is inside BACKING; choose a directory elsewhere");
    return start(given[1], mount, serve_mount, &what);
}

#else

static enum status start_mount(char **given) { return fail(given[1], "not in this build: libfuse 3.14 was missing"); }

#endif

// --- throttled devices

static int serve_block(const void *what, target_ready *ready, void *context) {
    return throttle_serve(what, ready, context);
}

static enum status check_block_options(void) {
    bool has_latency = options.latency >= 0 || options.meta_latency >= 0 || options.seek_latency >= 0;
    if (options.preset || has_latency || strcmp(options.cache, "none"))
        return cli_usage("emulate", "--block", "cannot be combined with --preset, --cache or latencies");
    return geteuid() ? fail("--block", "only root can make block devices") : STATUS_OK;
}

static enum status start_block(char **given) {
    char backing[PATH_MAX], mount[PATH_MAX];
    struct throttle_options what = {
        .folder = backing,
        .mount = mount,
        .size_bytes = options.block,
        .type = options.type ? options.type : "xfs",
        .read_bandwidth = options.read_bandwidth,
        .write_bandwidth = options.write_bandwidth,
        .dirty_bytes = options.dirty_limit ? options.dirty_limit : DIRTY_BYTES,
        .memory_bytes = options.memory,
    };
    enum status status = check_block_options();
    if (status == STATUS_OK) status = resolve(given, backing, mount);
    if (status == STATUS_OK) status = start(given[1], mount, serve_block, &what);
    const char *limited = throttle_limits_runs_only() ? "bandwidth" : options.memory ? "memory" : NULL;
    if (status == STATUS_OK && limited && !options.quiet && !options.foreground)
        printf("The %s limit applies to: ioseer emulate --run %s -- COMMAND\n", limited, given[1]);
    return status;
}

static enum status run_with_limits(const char *given, char **command) {
    char mount[PATH_MAX];
    int code = place_name(given, mount);
    if (code == 0) code = throttle_enter(mount);
    if (code == ERR_NOTHING) return fail(given, "has no limits for programs (see --memory)");
    if (code < 0) return cli_fail("emulate", given, code);
    execvp(command[0], command);
    return cli_fail("emulate", command[0], -errno);
}

// --- the verb

static enum status stop(const char *given) {
    struct problem problem = {0};
    int code = place_stop(given, options.force, &problem);
    return code < 0 ? cli_problem("emulate", given, &problem, code) : STATUS_OK;
}

static enum status emulate_run(int argc, char **argv) {
    if (options.list) return argc == 1 ? list_presets() : cli_usage("emulate", argv[1], "--presets takes no arguments");
    if (options.stop) return argc == 2 ? stop(argv[1]) : cli_usage("emulate", "--stop", "takes one MOUNT");
    if (options.run && argc < 3) return cli_usage("emulate", "--run", "takes MOUNT and a COMMAND");
    if (options.run) return run_with_limits(argv[1], argv + 2);
    if (argc != 3) return cli_usage("emulate", "BACKING MOUNT", "two directories are needed");
    if (!options.block && (options.type || options.dirty_limit || options.memory))
        return cli_usage("emulate", "--fs, --dirty-limit, --memory", "need --block");
    return options.block ? start_block(argv + 1) : start_mount(argv + 1);
}

const struct verb verb_emulate = {
    .name = "emulate",
    .summary = "mount a directory as storage of a given speed",
    .usage = "[OPTION]... BACKING MOUNT\n"
             "--block SIZE [OPTION]... BACKING MOUNT\n"
             "--run MOUNT -- COMMAND [ARG]...\n"
             "--stop MOUNT",
    .about =
        "Mounts BACKING on MOUNT. There, reads and writes take as long as on storage with the given bandwidths and\n"
        "latencies. Runs in the background until --stop, or until MOUNT is unmounted.\n"
        "With --block, MOUNT is a new file system on a throttled block device instead; BACKING holds its data.",
    .options = rows,
    .run = emulate_run,
};
