#include "target/throttle/state_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"

static const char folder[] = "/run/ioseer";
static const char name_start[] = "ioseer-";

enum { FOLDER_TRIES = 100 };

// FNV-1a. The name must stay the same from one version of ioseer to the next.
static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

struct throttle_state throttle_state_for(const char *mount) {
    struct throttle_state state = {.guard = getpid(), .loop = -1};
    snprintf(state.name, sizeof state.name, "%s%016" PRIx64, name_start, hash_of(mount));
    snprintf(state.mount, sizeof state.mount, "%s", mount);
    return state;
}

struct state_path {
    char text[128];
};

static struct state_path path_of(const char *name) {
    struct state_path path;
    snprintf(path.text, sizeof path.text, "%s/%.40s", folder, name);
    return path;
}

static int open_new(void) {
    if (mkdir(folder, 0755) < 0 && errno != EEXIST) return -errno;
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    return fd < 0 ? -errno : fd;
}

static int write_and_name(const struct throttle_state *state, int fd) {
    struct state_path unnamed;
    snprintf(unnamed.text, sizeof unnamed.text, "/proc/self/fd/%d", fd);
    int code = dprintf(fd, "guard %d\nkeeper %d\nmount %s\n", (int)state->guard, (int)state->keeper, state->mount);
    RETURN_IF(code < 0, -errno);
    code = linkat(AT_FDCWD, unnamed.text, AT_FDCWD, path_of(state->name).text, AT_SYMLINK_FOLLOW);
    return code < 0 ? -errno : 0;
}

// The process that removes the last other state file removes the directory, too, perhaps just now.
int throttle_state_create(const struct throttle_state *state) {
    RETURN_IF(strchr(state->mount, '\n'), -EINVAL);
    int code = -ENOENT;
    for (unsigned i = 0; i < FOLDER_TRIES && code == -ENOENT; i++) {
        int fd = open_new();
        code = fd < 0 ? fd : write_and_name(state, fd);
        if (fd >= 0) close(fd);
    }
    return code;
}

int throttle_state_set_loop(struct throttle_state *state, int loop) {
    int fd = open(path_of(state->name).text, O_WRONLY | O_APPEND | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = dprintf(fd, "loop %d\n", loop) < 0 ? -errno : 0;
    close(fd);
    if (code == 0) state->loop = loop;
    return code;
}

static int read_named(struct throttle_state *state, const char *name) {
    *state = (struct throttle_state){.loop = -1};
    snprintf(state->name, sizeof state->name, "%s", name);
    FILE *file = fopen(path_of(name).text, "re");
    RETURN_IF(!file, errno == ENOENT ? ERR_NOTHING : -errno);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "guard ", 6)) state->guard = (pid_t)atoi(line + 6);
        if (!strncmp(line, "keeper ", 7)) state->keeper = (pid_t)atoi(line + 7);
        if (!strncmp(line, "loop ", 5)) state->loop = atoi(line + 5);
        if (!strncmp(line, "mount ", 6)) snprintf(state->mount, sizeof state->mount, "%s", line + 6);
    }
    free(line);
    fclose(file);
    return state->mount[0] ? 0 : ERR_FORMAT;
}

int throttle_state_read(struct throttle_state *state, const char *mount) {
    struct throttle_state wanted = throttle_state_for(mount);
    FORWARD(read_named(state, wanted.name));
    return strcmp(state->mount, mount) ? ERR_NOTHING : 0;
}

// Whether the descriptor's file is still the one with this name.
static bool has_name(int fd, const char *path) {
    struct stat held, named;
    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino;
}

int throttle_state_claim(const struct throttle_state *state, int timeout_ms) {
    struct state_path path = path_of(state->name);
    int fd = open(path.text, O_RDONLY | O_CLOEXEC);
    RETURN_IF(fd < 0, errno == ENOENT ? ERR_NOTHING : -errno);
    if (io_lock(fd, timeout_ms) == 0 && has_name(fd, path.text)) return fd;
    close(fd);
    return ERR_NOTHING;
}

void throttle_state_remove(const struct throttle_state *state) {
    unlink(path_of(state->name).text);
    rmdir(folder); // succeeds if it was the last file
}

void throttle_state_each(void (*visit)(const struct throttle_state *state)) {
    DIR *states = opendir(folder);
    if (!states) return;
    const struct dirent *entry;
    struct throttle_state state;
    while ((entry = readdir(states))) {
        bool is_state = !strncmp(entry->d_name, name_start, sizeof name_start - 1);
        if (is_state && read_named(&state, entry->d_name) == 0) visit(&state);
    }
    closedir(states);
}
