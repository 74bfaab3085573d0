// `ioseer emulate --block SIZE BACKING MOUNT`: a throttled block device with a file system.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/emulate.h"
#include "cli/verb.h"
#include "target/throttle/throttle.h"

enum { DIRTY_BYTES = 64 << 20 };

static int serve(const void *what, target_ready *ready, void *context)
{
    return throttle_serve(what, ready, context);
}

static int check_words(const struct emulate_words *words)
{
    bool has_latency = words->latency >= 0 || words->meta_latency >= 0 || words->seek_latency >= 0;
    if (words->preset || has_latency || strcmp(words->cache, "none"))
        return cli_usage("emulate", "--block", "knows bandwidths and limits, not --preset, --cache or latencies");
    if (words->type && strcmp(words->type, "xfs") && strcmp(words->type, "ext4"))
        return cli_usage("emulate", words->type, "not xfs or ext4");
    if (geteuid() != 0) return emulate_fail("--block", "only root can make block devices");
    return STATUS_OK;
}

static void say_how(const char *mount, const char *given, const struct emulate_words *words)
{
    printf("%s: mounted; ends with: ioseer emulate --stop %s\n", mount, given);
    const char *limited = throttle_limits_runs_only() ? "Bandwidth" : words->memory ? "Memory" : NULL;
    if (limited) printf("%s is limited for: ioseer emulate --run %s -- COMMAND\n", limited, given);
}

int emulate_start_block(const struct emulate_words *words, const char *given_backing, const char *given_mount)
{
    char backing[PATH_MAX], mount[PATH_MAX];
    struct throttle_options what = {
        .folder = backing,
        .mount = mount,
        .size_bytes = words->block,
        .type = words->type ? words->type : "xfs",
        .read_bandwidth = words->read_bandwidth,
        .write_bandwidth = words->write_bandwidth,
        .dirty_bytes = words->dirty_limit ? words->dirty_limit : DIRTY_BYTES,
        .memory_bytes = words->memory,
    };
    int status = check_words(words);
    if (status != STATUS_OK) return status;
    if (!realpath(given_backing, backing)) return cli_fail("emulate", given_backing, -errno);
    int code = emulate_mount_name(given_mount, mount);
    if (code < 0) return cli_fail("emulate", given_mount, code);
    status = emulate_check_mount(given_mount, mount);
    if (status == STATUS_OK) status = emulate_start_process(words, given_mount, serve, &what);
    if (status == STATUS_OK && !words->quiet && !words->foreground) say_how(mount, given_mount, words);
    return status;
}

int emulate_run_in_group(const char *given, char **command)
{
    char mount[PATH_MAX];
    int code = emulate_mount_name(given, mount);
    if (code == 0) code = throttle_enter(mount);
    if (code == ERR_NOTHING) return emulate_fail(given, "has no limits for programs (see --memory)");
    if (code < 0) return cli_fail("emulate", given, code);
    execvp(command[0], command);
    return cli_fail("emulate", command[0], -errno);
}
