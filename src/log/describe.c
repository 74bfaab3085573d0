#include "log/describe.h"

#include <inttypes.h>

#include "fmt/records.h"

struct human describe_exit(const struct log_process *process)
{
    struct human words;
    switch (process->exit) {
    case EXIT_CLEAN: snprintf(words.text, sizeof words.text, "clean"); break;
    case EXIT_UNDERSCORE: snprintf(words.text, sizeof words.text, "_exit"); break;
    case EXIT_EXEC: snprintf(words.text, sizeof words.text, "exec"); break;
    case EXIT_SIGNAL: snprintf(words.text, sizeof words.text, "signal %" PRIu32, process->exit_value); break;
    case EXIT_RUNNING: snprintf(words.text, sizeof words.text, "running"); break;
    default: snprintf(words.text, sizeof words.text, "vanished");
    }
    return words;
}

const char *describe_loss(unsigned reason)
{
    switch (reason) {
    case LOSS_SIGNAL: return "made by signal handlers while the recorder was writing";
    case LOSS_TRACE_CAP: return "past the trace cap: in the counters only";
    case LOSS_DISK_FULL: return "no room on the disk for the trace: in the counters only";
    case LOSS_FILE_CAP: return "that name files past the file cap: kept under one name";
    case LOSS_DAMAGED: return "in damaged parts that could not be read";
    case LOSS_NO_SPILL: return "could not make a spill file: nothing is known of what they did";
    case LOSS_FD_RANGE: return "on descriptor numbers past the recorder's table";
    case LOSS_ASYNC: return "asynchronous, completion not seen";
    case LOSS_NO_NAME: return "opened files whose name could not be told: kept under one name";
    case LOSS_SANDBOX: return "shut themselves in (seccomp) and were not recorded from there on";
    case LOSS_MAPPINGS: return "of files past the recorder's table: when they were synced and unmapped is not known";
    case LOSS_COUNTERS_FULL: return "no room for a counters record";
    case LOSS_TABLE_FULL: return "with a datatype or hints past the cap: told without them";
    default: return "for an unknown reason";
    }
}

const char *describe_left_out(unsigned reason)
{
    switch (reason) {
    case LEFT_OUT_EXCLUDED: return "system and excluded files";
    case LEFT_OUT_PIPE: return "pipes";
    case LEFT_OUT_SOCKET: return "sockets";
    case LEFT_OUT_TERMINAL: return "terminals";
    case LEFT_OUT_OTHER: return "devices and memory files";
    default: return "others";
    }
}

const char *describe_file_system(const struct log_file *file)
{
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

int describe_health(FILE *out, const struct log_health *health)
{
    int parts = 0;
    if (health->truncated) {
        fprintf(out, "its end is missing (cut off, or not finished)");
        parts++;
    } else if (health->index_missing) {
        fprintf(out, "its index is damaged");
        parts++;
    }
    if (health->header_damaged) fprintf(out, "%sits header is damaged", parts++ ? ", " : "");
    if (health->blocks_damaged) {
        fprintf(out, "%s%s cannot be read (%s)", parts++ ? ", " : "", human_count(health->blocks_damaged, "block").text,
                human_count(health->events_damaged, "event").text);
    }
    if (health->bytes_skipped) {
        fprintf(out, "%s%s belong to no readable block", parts++ ? ", " : "", human_bytes(health->bytes_skipped).text);
    }
    if (health->records_damaged) {
        fprintf(out, "%s%s made no sense", parts++ ? ", " : "", human_count(health->records_damaged, "record").text);
    }
    return parts;
}
