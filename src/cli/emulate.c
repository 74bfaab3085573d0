// `ioseer emulate`: storage of a given speed.
#include "cli/emulate.h"

#include <errno.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/output.h"
#include "cli/verb.h"

static struct emulate_words words = {
    .latency = -1,
    .meta_latency = -1,
    .seek_latency = -1,
    .cache = "none",
};

static const struct option_row rows[] = {
    {"preset", 0, OPTION_TEXT, &words.preset, "NAME", "hdd, ssd, nvme, nvm or nfs-1g; the options below change it"},
    {"read-bw", 0, OPTION_SIZE, &words.read_bandwidth, "SIZE", "bytes read per second, all clients together"},
    {"write-bw", 0, OPTION_SIZE, &words.write_bandwidth, "SIZE", "bytes written per second, all clients together"},
    {"latency", 0, OPTION_DURATION, &words.latency, "TIME", "least time of a data request"},
    {"meta-latency", 0, OPTION_DURATION, &words.meta_latency, "TIME", "of a request about names or attributes"},
    {"seek-latency", 0, OPTION_DURATION, &words.seek_latency, "TIME",
     "more, where a data request does not begin where the last one ended"},
    {"cache", 0, OPTION_TEXT, &words.cache, "WHICH",
     "none: every request reaches the device; kernel: the page cache lies above it, as shared mappings need (none)"},
    {"block", 0, OPTION_SIZE, &words.block, "SIZE", "a new file system on a throttled device of that size; for root"},
    {"fs", 0, OPTION_TEXT, &words.type, "TYPE", "with --block: xfs or ext4 (xfs)"},
    {"dirty-limit", 0, OPTION_SIZE, &words.dirty_limit, "SIZE", "with --block: data not yet written, at most (64M)"},
    {"memory", 0, OPTION_SIZE, &words.memory, "SIZE", "with --block: of all that --run runs, page cache included"},
    {"run", 0, OPTION_FLAG, &words.run, NULL, "run a COMMAND with the limits of MOUNT: --run MOUNT -- COMMAND"},
    {"foreground", 0, OPTION_FLAG, &words.foreground, NULL, "serve until interrupted or the parent process ends"},
    {"stop", 0, OPTION_FLAG, &words.stop, NULL, "unmount MOUNT, and remove all that was made for it"},
    {"force", 0, OPTION_FLAG, &words.force, NULL, "with --stop: also while it is in use"},
    {"presets", 0, OPTION_FLAG, &words.list, NULL, "list the presets"},
    {"json", 0, OPTION_FLAG, &words.json, NULL, "with --presets: print JSON"},
    {"quiet", 'q', OPTION_FLAG, &words.quiet, NULL, "print nothing of ioseer's own"},
    {0},
};

// --- presets

static void presets_text(FILE *out)
{
    for (const struct speed_preset *preset = speed_presets; preset->name; preset++) {
        fprintf(out, "%-8s %s\n", preset->name, preset->about);
    }
}

static void preset_json(struct json_out *json, const struct speed_preset *preset)
{
    const struct speed_settings *settings = &preset->settings;
    json_object(json);
    key_text(json, "name", preset->name);
    key_number(json, "read_bw", settings->read_bandwidth);
    key_number(json, "write_bw", settings->write_bandwidth);
    key_seconds(json, "latency", settings->latency_ns);
    key_seconds(json, "meta_latency", settings->meta_latency_ns);
    key_seconds(json, "seek_latency", settings->seek_latency_ns);
    key_text(json, "about", preset->about);
    json_close(json);
}

static int presets_json(FILE *out)
{
    struct json_out *json = json_out_begin(out, 2);
    RETURN_IF(!json, -ENOMEM);
    json_object(json);
    json_key(json, "presets");
    json_array(json);
    for (const struct speed_preset *preset = speed_presets; preset->name; preset++) preset_json(json, preset);
    json_close(json);
    json_close(json);
    return json_out_end(json);
}

static int list_presets(void)
{
    struct output output;
    int code = 0;
    output_open(&output, "emulate", NULL);
    if (words.json) {
        code = presets_json(output.out);
    } else {
        presets_text(output.out);
    }
    if (code < 0) output.error = code;
    return output_close(&output, false);
}

static int emulate_run(int argc, char **argv)
{
    if (words.list) return argc == 1 ? list_presets() : cli_usage("emulate", argv[1], "--presets takes no words");
    if (words.stop) return argc == 2 ? emulate_end(&words, argv[1]) : cli_usage("emulate", "--stop", "takes one MOUNT");
    if (words.run && argc < 3) return cli_usage("emulate", "--run", "takes MOUNT and a COMMAND");
    if (words.run) return emulate_run_in_group(argv[1], argv + 2);
    if (argc != 3) return cli_usage("emulate", "BACKING MOUNT", "two directories are needed");
    if (!words.block && (words.type || words.dirty_limit || words.memory))
        return cli_usage("emulate", "--fs, --dirty-limit, --memory", "go with --block");
    return words.block ? emulate_start_block(&words, argv[1], argv[2]) : emulate_start_mount(&words, argv[1], argv[2]);
}

const struct verb verb_emulate = {
    .name = "emulate",
    .summary = "mount a directory as storage of a given speed",
    .usage = "[OPTION]... BACKING MOUNT\n"
             "--block SIZE [OPTION]... BACKING MOUNT\n"
             "--run MOUNT -- COMMAND [ARG]...\n"
             "--stop MOUNT",
    .about = "Mounts BACKING on MOUNT, where reading and writing take as long as on storage with the bandwidths and\n"
             "latencies given. It goes to the background and stays until --stop, or until MOUNT is unmounted.\n"
             "With --block, MOUNT is a new file system on a throttled device instead, whose data lies in BACKING.",
    .options = rows,
    .run = emulate_run,
};
