// `ioseer emulate BACKING MOUNT`: a directory mounted as storage of a given speed.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/emulate.h"
#include "cli/verb.h"
#include "target/emulate/emulate.h"

#ifdef IOSEER_WITH_FUSE

static int64_t to_ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static int settings_of(const struct emulate_words *words, struct speed_settings *settings)
{
    *settings = (struct speed_settings){0};
    if (words->preset) {
        const struct speed_preset *preset = speed_preset_named(words->preset);
        if (!preset) return cli_usage("emulate", words->preset, "no such preset (--presets lists them)");
        *settings = preset->settings;
    }
    if (words->read_bandwidth) settings->read_bandwidth = words->read_bandwidth;
    if (words->write_bandwidth) settings->write_bandwidth = words->write_bandwidth;
    if (words->latency >= 0) settings->latency_ns = to_ns(words->latency);
    if (words->meta_latency >= 0) settings->meta_latency_ns = to_ns(words->meta_latency);
    if (words->seek_latency >= 0) settings->seek_latency_ns = to_ns(words->seek_latency);
    return STATUS_OK;
}

static bool lies_inside(const char *inner, const char *outer)
{
    size_t length = strlen(outer);
    return !strncmp(inner, outer, length) && (inner[length] == '/' || !inner[length] || !strcmp(outer, "/"));
}

static int serve(const void *what, target_ready *ready, void *context)
{
    return emulate_serve(what, ready, context);
}

int emulate_start_mount(const struct emulate_words *words, const char *given_backing, const char *given_mount)
{
    char backing[PATH_MAX], mount[PATH_MAX];
    struct emulate_options what = {.backing = backing, .mount = mount, .kernel_cache = !strcmp(words->cache, "kernel")};
    if (!what.kernel_cache && strcmp(words->cache, "none"))
        return cli_usage("emulate", words->cache, "not none or kernel");
    int status = settings_of(words, &what.speed);
    if (status != STATUS_OK) return status;
    if (!realpath(given_backing, backing)) return cli_fail("emulate", given_backing, -errno);
    int code = emulate_mount_name(given_mount, mount);
    if (code < 0) return cli_fail("emulate", given_mount, code);
    if (lies_inside(mount, backing))
        return cli_usage("emulate", given_mount, "lies inside BACKING; mount on a directory elsewhere");
    status = emulate_check_mount(given_mount, mount);
    if (status == STATUS_OK) status = emulate_start_process(words, given_mount, serve, &what);
    if (status == STATUS_OK && !words->quiet && !words->foreground)
        printf("%s: mounted; ends with: ioseer emulate --stop %s\n", mount, given_mount);
    return status;
}

#else

int emulate_start_mount(const struct emulate_words *words, const char *backing, const char *mount)
{
    (void)words, (void)backing;
    return emulate_fail(mount, "left out of this build: libfuse 3.14 was not there");
}

#endif
