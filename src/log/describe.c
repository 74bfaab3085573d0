#include "log/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fmt/records.h"

struct human describe_exit(const struct log_process *process) {
    static const char *const texts[] = {
        [EXIT_UNKNOWN] = "vanished", [EXIT_CLEAN] = "clean",   [EXIT_UNDERSCORE] = "_exit",
        [EXIT_EXEC] = "exec",        [EXIT_SIGNAL] = "signal", [EXIT_RUNNING] = "running"};
    struct human words;
    const char *text = texts[process->exit < sizeof texts / sizeof *texts ? process->exit : EXIT_UNKNOWN];
    if (process->via == VIA_IMPORT && process->exit == EXIT_UNKNOWN) text = "unknown"; // nobody looked
    int len = snprintf(words.text, sizeof words.text, "%s", text);
    if (process->exit == EXIT_SIGNAL)
        snprintf(words.text + len, sizeof words.text - (size_t)len, " %" PRIu32, process->exit_value);
    return words;
}

struct human describe_ranks(const struct log_process *process) {
    struct human words = {""};
    size_t len = 0, room = sizeof words.text - sizeof ",…";
    if (process->has_rank && !process->group) snprintf(words.text, sizeof words.text, "%" PRId64, process->rank);
    for (size_t i = 0; process->group && i < process->group->range_count; i++) {
        const struct group_ranks *range = &process->group->ranges[i];
        char next[48];
        int used = snprintf(next, sizeof next, range->count > 1 ? "%s%" PRIu64 "-%" PRIu64 : "%s%" PRIu64, i ? "," : "",
                            range->first, range->first + range->count - 1);
        if (len + (size_t)used >= room) {
            snprintf(words.text + len, sizeof words.text - len, ",…");
            break;
        }
        memcpy(words.text + len, next, (size_t)used + 1);
        len += (size_t)used;
    }
    return words;
}

const char *describe_loss(unsigned reason) {
    static const char *const texts[] = {
        [LOSS_SIGNAL] = "made by signal handlers while the recorder was writing",
        [LOSS_TRACE_CAP] = "after the trace cap: only in the counters",
        [LOSS_DISK_FULL] = "no room on the disk for the trace: only in the counters",
        [LOSS_FILE_CAP] =
            "that name files past the caps: recorded under the pattern of their names, or their directory",
        [LOSS_DAMAGED] = "in damaged parts that could not be read",
        [LOSS_NO_SPILL] = "could not make a spill file: their I/O is unknown",
        [LOSS_FD_RANGE] = "on descriptor numbers beyond the recorder's table",
        [LOSS_ASYNC] = "asynchronous, completion not seen",
        [LOSS_COUNTERS_FULL] = "no room for a counters record",
        [LOSS_NO_NAME] = "opened files whose name is not known: recorded under one common name",
        [LOSS_SANDBOX] = "entered a sandbox (seccomp) and were not recorded after that",
        [LOSS_MAPPINGS] = "of files beyond the recorder's table: their syncs and unmaps are not recorded",
        [LOSS_TABLE_FULL] = "with a datatype, hints or selection after the cap: recorded without them",
        [LOSS_NO_PLUGIN] = "without a plugin of this build for their MPI: none of its calls are recorded",
        [LOSS_NOT_FOLLOWED] = "into which no recorder can be loaded ran unseen",
        [LOSS_OLD_LIBRARY] = "with an HDF5 before 1.10: none of its calls are recorded",
        [LOSS_PROBE] = "of the stack that its probes had no room for, or whose records could not be read",
        [LOSS_AWAY] = "whose records have not arrived: ioseer pack --left there sends them",
    };
    const char *text = reason < sizeof texts / sizeof *texts ? texts[reason] : NULL;
    return text ? text : "for an unknown reason";
}

const char *describe_via(enum process_via via) {
    static const char *const texts[VIA_COUNT] = {"preload", "ptrace", "link", "import"};
    return via < VIA_COUNT ? texts[via] : NULL;
}

const char *describe_untied(unsigned reason) {
    static const char *const texts[UNTIED_REASONS] = {
        [UNTIED_NONE] = "tied",           [UNTIED_NO_THREAD] = "no-thread",   [UNTIED_OTHER] = "other",
        [UNTIED_AFTER_END] = "after-end", [UNTIED_NO_CALL] = "no-call",       [UNTIED_INTERNAL] = "internal",
        [UNTIED_LATE] = "late",           [UNTIED_UNFINISHED] = "unfinished", [UNTIED_LOST] = "lost",
        [UNTIED_RECORDER] = "recorder",   [UNTIED_CLOCK] = "clock",           [UNTIED_NAMESPACE] = "namespace",
    };
    return reason < UNTIED_REASONS ? texts[reason] : "unknown";
}

const char *describe_untied_why(unsigned reason) {
    static const char *const texts[UNTIED_REASONS] = {
        [UNTIED_NONE] = "tied",
        [UNTIED_NO_THREAD] = "the kernel's own work: readahead, writeback",
        [UNTIED_OTHER] = "of threads that were not recorded on the client's host, on files of the job",
        [UNTIED_AFTER_END] = "after the recorder had ended in their process",
        [UNTIED_NO_CALL] = "outside of recorded calls of their thread",
        [UNTIED_INTERNAL] = "the file system's own work",
        [UNTIED_LATE] = "went on after the call above had returned",
        [UNTIED_UNFINISHED] = "they, or the call above, had not returned at the end",
        [UNTIED_LOST] = "the record of the call above is missing",
        [UNTIED_RECORDER] = "the recorder's own: fstat of files that the program opened",
        [UNTIED_CLOCK] = "of a server whose clock could not be aligned: its times contradict themselves",
        [UNTIED_NAMESPACE] = "of threads in another PID namespace (a container), or that were not recorded",
    };
    return reason < UNTIED_REASONS ? texts[reason] : "for an unknown reason";
}

const char *describe_event_via(const struct log_event *event) {
    return call_layer_is_below(event->call->layer) ? "probe" : describe_via(event->process->via);
}

const char *describe_left_out(unsigned reason) {
    static const char *const texts[LEFT_OUT_COUNT] = {"calls that were not to be recorded",
                                                      "system and excluded files",
                                                      "pipes",
                                                      "sockets",
                                                      "terminals",
                                                      "devices and memory files"};
    return texts[reason < LEFT_OUT_COUNT ? reason : LEFT_OUT_NONE];
}

const char *describe_file_system(const struct log_file *file) {
    if (file->fs_name) return file->fs_name;
    static const struct {
        uint32_t type;
        const char *name;
    } known[] = {
        {0xef53, "ext4"},         {0x58465342, "xfs"},   {0x9123683e, "btrfs"},  {0x01021994, "tmpfs"},
        {0x794c7630, "overlay"},  {0x6969, "nfs"},       {0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"},
        {0x65735546, "fuse"},     {0x858458f6, "ramfs"}, {0x2fc12fc1, "zfs"},    {0x19830326, "beegfs"},
        {0x00c36400, "ceph"},     {0xff534d42, "cifs"},  {0x4d44, "vfat"},       {0x2011bab0, "exfat"},
        {0x9fa0, "proc"},         {0x62656572, "sysfs"}, {0x01021997, "9p"},     {0xf2f52010, "f2fs"},
        {0x73717368, "squashfs"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].type == (uint32_t)file->fs_type) return known[i].name;
    }
    return "UNKNOWN";
}

int describe_health(FILE *out, const struct log_health *health) {
    int parts = 0;
    if (health->truncated) {
        fprintf(out, "its end is missing (cut off, or not finished)");
        parts++;
    } else if (health->index_missing) {
        fprintf(out, "its index, or the header of a block, is damaged");
        parts++;
    }
    if (health->header_damaged) fprintf(out, "%sits header is damaged", parts++ ? ", " : "");
    if (health->blocks_damaged) {
        fprintf(out, "%s%s cannot be read (%s", parts++ ? ", " : "", human_count(health->blocks_damaged, "block").text,
                human_count(health->events_damaged, "event").text);
        if (health->below_damaged)
            fprintf(out, ", %s below the system call", human_count(health->below_damaged, "call").text);
        fputc(')', out);
    }
    if (health->bytes_skipped) {
        fprintf(out, "%s%s belong to no readable block", parts++ ? ", " : "", human_bytes(health->bytes_skipped).text);
    }
    if (health->records_damaged) {
        fprintf(out, "%s%s are invalid", parts++ ? ", " : "", human_count(health->records_damaged, "record").text);
    }
    return parts;
}
