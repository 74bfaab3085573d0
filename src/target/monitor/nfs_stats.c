#include "target/monitor/nfs_stats.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mounts.h"

// Numbers with blanks between them; false if there are fewer.
static bool parse_numbers(const char *text, uint64_t *number, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        char *end;
        while (*text == ' ' || *text == '\t') text++;
        if (!isdigit((unsigned char)*text)) return false;
        number[i] = strtoull(text, &end, 10);
        text = end;
    }
    return true;
}

// "device SOURCE mounted on POINT with fstype nfs4 statvers=1.1"; mounts of other types have nothing more.
static int begin_mount(struct nfs_stats *stats, const char *line) {
    struct nfs_mount mount = {0};
    char type[8] = "";
    if (sscanf(line, "device %*s mounted on %ms with fstype %7s statvers=", &mount.point, type) < 2 ||
        (strcmp(type, "nfs") && strcmp(type, "nfs4"))) {
        free(mount.point);
        return 0;
    }
    mounts_unescape(mount.point);
    int code = array_push(stats->item, stats->count, mount);
    if (code < 0) free(mount.point);
    return code;
}

// "    READ: 5 5 0 980 5242880 1 20 22 0": later kernels add numbers at the end.
static int add_operation(struct nfs_mount *mount, const char *line) {
    struct nfs_operation operation = {0};
    const char *name = line + strspn(line, " \t"), *colon = strchr(name, ':');
    size_t len = colon ? (size_t)(colon - name) : 0;
    if (!len || len >= sizeof operation.name || !parse_numbers(colon + 1, operation.count, NFS_COUNTS)) return 0;
    memcpy(operation.name, name, len);
    return array_push(mount->operation, mount->operations, operation);
}

struct parser {
    struct nfs_stats *stats;
    bool is_nfs;           // the lines are about the last mount
    bool is_in_operations; // and about its requests
};

static int parse_line(struct parser *parser, const char *line) {
    struct nfs_stats *stats = parser->stats;
    const char *word = line + strspn(line, " \t");
    if (!strncmp(line, "device ", 7)) {
        size_t before = stats->count;
        FORWARD(begin_mount(stats, line));
        parser->is_nfs = stats->count > before;
        parser->is_in_operations = false;
    } else if (!parser->is_nfs) {
        return 0;
    } else if (!strncmp(word, "bytes:", 6)) {
        uint64_t bytes[NFS_BYTES];
        if (parse_numbers(word + 6, bytes, NFS_BYTES)) memcpy(stats->item[stats->count - 1].bytes, bytes, sizeof bytes);
    } else if (!strncmp(word, "per-op statistics", 17)) {
        parser->is_in_operations = true;
    } else if (parser->is_in_operations) {
        return add_operation(&stats->item[stats->count - 1], line);
    }
    return 0;
}

int nfs_stats_read(struct nfs_stats *stats, const char *path) {
    *stats = (struct nfs_stats){0};
    FILE *file = fopen(path, "re");
    if (!file) return errno == ENOMEM ? -ENOMEM : 0;
    struct parser parser = {.stats = stats};
    char *line = NULL;
    size_t room = 0;
    int code = 0;
    while (code == 0 && getline(&line, &room, file) >= 0) code = parse_line(&parser, line);
    free(line);
    fclose(file);
    if (code < 0) nfs_stats_free(stats);
    return code;
}

void nfs_stats_free(struct nfs_stats *stats) {
    for (size_t i = 0; i < stats->count; i++) {
        free(stats->item[i].point);
        free(stats->item[i].operation);
    }
    free(stats->item);
    *stats = (struct nfs_stats){0};
}

struct nfs_mount *nfs_stats_find(const struct nfs_stats *stats, const char *point) {
    for (size_t i = stats->count; i-- > 0;) {
        if (!strcmp(stats->item[i].point, point)) return &stats->item[i];
    }
    return NULL;
}

static void subtract(uint64_t *now, const uint64_t *before, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (now[i] < before[i]) return;
    }
    for (unsigned i = 0; i < count; i++) now[i] -= before[i];
}

void nfs_mount_since(struct nfs_mount *mount, const struct nfs_mount *before) {
    if (!before) return;
    subtract(mount->bytes, before->bytes, NFS_BYTES);
    for (size_t i = 0; i < mount->operations; i++) {
        for (size_t j = 0; j < before->operations; j++) {
            if (!strcmp(mount->operation[i].name, before->operation[j].name))
                subtract(mount->operation[i].count, before->operation[j].count, NFS_COUNTS);
        }
    }
}
