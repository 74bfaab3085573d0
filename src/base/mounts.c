#include "base/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/err.h"

static bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

void mounts_unescape(char *text) {
    char *out = text;
    for (const char *in = text; *in; out++) {
        if (in[0] == '\\' && is_octal(in[1]) && is_octal(in[2]) && is_octal(in[3])) {
            *out = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = 0;
}

static void free_mount(struct mount *mount) {
    free(mount->point);
    free(mount->type);
    free(mount->source);
    free(mount->options);
}

// "36 35 98:0 /root /point options optional… - type source options"
static int parse_line(struct mounts *mounts, const char *line) {
    struct mount mount = {0};
    unsigned major_number, minor_number;
    const char *dash = strstr(line, " - ");
    bool good = dash && sscanf(line, "%*u %*u %u:%u %*s %ms", &major_number, &minor_number, &mount.point) == 3 &&
                sscanf(dash + 3, "%ms %ms %ms", &mount.type, &mount.source, &mount.options) >= 2;
    int code = 0;
    if (good) {
        mount.device = makedev(major_number, minor_number);
        mounts_unescape(mount.point);
        mounts_unescape(mount.source);
        code = array_push(mounts->item, mounts->count, mount);
    }
    if (!good || code < 0) free_mount(&mount);
    return code;
}

int mounts_read(struct mounts *mounts, const char *path) {
    *mounts = (struct mounts){0};
    FILE *file = fopen(path, "re");
    RETURN_IF(!file, -errno);
    char *line = NULL;
    size_t room = 0;
    int code = 0;
    while (code == 0 && getline(&line, &room, file) >= 0) code = parse_line(mounts, line);
    free(line);
    fclose(file);
    if (code < 0) mounts_free(mounts);
    return code;
}

void mounts_free(struct mounts *mounts) {
    for (size_t i = 0; i < mounts->count; i++) free_mount(&mounts->item[i]);
    free(mounts->item);
    *mounts = (struct mounts){0};
}

bool mounts_lies_under(const char *name, size_t name_len, const char *point, size_t point_len) {
    if (point_len == 1) return name_len && name[0] == '/';
    return name_len >= point_len && !memcmp(name, point, point_len) &&
           (name_len == point_len || name[point_len] == '/');
}

const struct mount *mounts_find(const struct mounts *mounts, uint64_t device, const char *name, size_t name_len) {
    const struct mount *found = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount *mount = &mounts->item[i];
        size_t len = strlen(mount->point);
        if (device && mount->device != device) continue;
        if (len < longest || !mounts_lies_under(name, name_len, mount->point, len)) continue;
        found = mount;
        longest = len;
    }
    return found;
}

const struct mount *mounts_of_device(const struct mounts *mounts, uint64_t device) {
    for (size_t i = 0; i < mounts->count; i++) {
        if (mounts->item[i].device == device) return &mounts->item[i];
    }
    return NULL;
}
