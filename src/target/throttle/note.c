#include "target/throttle/note.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static const char folder[] = "/run/ioseer";
static const char name_start[] = "ioseer-";

enum { FOLDER_TRIES = 100 };

// FNV-1a: a name for any path, the same each time.
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

struct block_note block_note_for(const char *mount)
{
    struct block_note note = {.guard = getpid(), .loop = -1};
    snprintf(note.name, sizeof note.name, "%s%016" PRIx64, name_start, hash_of(mount));
    snprintf(note.mount, sizeof note.mount, "%s", mount);
    return note;
}

struct note_path {
    char text[128];
};

static struct note_path path_of(const char *name)
{
    struct note_path path;
    snprintf(path.text, sizeof path.text, "%s/%.40s", folder, name);
    return path;
}

static int open_new(void)
{
    if (mkdir(folder, 0755) < 0 && errno != EEXIST) return -errno;
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    return fd < 0 ? -errno : fd;
}

static int write_and_name(const struct block_note *note, int fd)
{
    struct note_path unnamed;
    snprintf(unnamed.text, sizeof unnamed.text, "/proc/self/fd/%d", fd);
    int code = dprintf(fd, "guard %d\nkeeper %d\nmount %s\n", (int)note->guard, (int)note->keeper, note->mount);
    RETURN_IF(code < 0, -errno);
    code = linkat(AT_FDCWD, unnamed.text, AT_FDCWD, path_of(note->name).text, AT_SYMLINK_FOLLOW);
    return code < 0 ? -errno : 0;
}

// Who removes the last other note removes the folder, too, perhaps just now.
int block_note_begin(const struct block_note *note)
{
    RETURN_IF(strchr(note->mount, '\n'), -EINVAL);
    int code = -ENOENT;
    for (unsigned i = 0; i < FOLDER_TRIES && code == -ENOENT; i++) {
        int fd = open_new();
        code = fd < 0 ? fd : write_and_name(note, fd);
        if (fd >= 0) close(fd);
    }
    return code;
}

int block_note_loop(struct block_note *note, int loop)
{
    int fd = open(path_of(note->name).text, O_WRONLY | O_APPEND | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = dprintf(fd, "loop %d\n", loop) < 0 ? -errno : 0;
    close(fd);
    if (code == 0) note->loop = loop;
    return code;
}

static int read_named(struct block_note *note, const char *name)
{
    *note = (struct block_note){.loop = -1};
    snprintf(note->name, sizeof note->name, "%s", name);
    FILE *file = fopen(path_of(name).text, "re");
    RETURN_IF(!file, errno == ENOENT ? ERR_NOTHING : -errno);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "guard ", 6)) note->guard = (pid_t)atoi(line + 6);
        if (!strncmp(line, "keeper ", 7)) note->keeper = (pid_t)atoi(line + 7);
        if (!strncmp(line, "loop ", 5)) note->loop = atoi(line + 5);
        if (!strncmp(line, "mount ", 6)) snprintf(note->mount, sizeof note->mount, "%s", line + 6);
    }
    free(line);
    fclose(file);
    return note->mount[0] ? 0 : ERR_FORMAT;
}

int block_note_read(struct block_note *note, const char *mount)
{
    struct block_note wanted = block_note_for(mount);
    FORWARD(read_named(note, wanted.name));
    return strcmp(note->mount, mount) ? ERR_NOTHING : 0;
}

void block_note_remove(const struct block_note *note)
{
    unlink(path_of(note->name).text);
    rmdir(folder); // where it was the last one
}

void block_note_each(void (*visit)(const struct block_note *note))
{
    DIR *notes = opendir(folder);
    if (!notes) return;
    const struct dirent *entry;
    struct block_note note;
    while ((entry = readdir(notes))) {
        bool is_note = !strncmp(entry->d_name, name_start, sizeof name_start - 1);
        if (is_note && read_named(&note, entry->d_name) == 0) visit(&note);
    }
    closedir(notes);
}
