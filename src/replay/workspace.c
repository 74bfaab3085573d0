#include "replay/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static const char folder_prefix[] = "ioseer-replay.";
static const char lock_name[] = "ioseer-replay-in-use"; // locked while the replay runs
static const char lock_text[] = "A replay's folder; the next one removes it if this one could not.\n";
static const char *const file_names[WORKSPACE_FILES] = {"model.json",    "job.json", "result.json",
                                                        "replay.ioseer", "error",    "phase"};

static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

// Whether the folder belongs to a replay that is gone: it has our lock file, and no process holds the lock.
static bool is_stale(const char *folder)
{
    char path[PATH_MAX], text[sizeof lock_text] = "";
    struct stat about;
    if (!join(path, folder, lock_name)) return false;
    if (lstat(folder, &about) < 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid()) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool is_ours = read(fd, text, sizeof text) == sizeof lock_text - 1 && !strcmp(text, lock_text);
    bool stale = is_ours && flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return stale;
}

static bool is_left_behind(const char *name, const char *path)
{
    size_t length = sizeof folder_prefix - 1;
    return !strncmp(name, folder_prefix, length) && strlen(name) == length + 6 && is_stale(path);
}

static bool is_of_last_run(const char *name, const char *path)
{
    (void)path;
    return *name != '.' && strcmp(name, lock_name);
}

static void remove_entries(const char *folder, bool (*is_chosen)(const char *name, const char *path))
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char path[PATH_MAX];
        if (join(path, folder, entry->d_name) && is_chosen(entry->d_name, path)) replay_remove_tree(path);
    }
    if (directory) closedir(directory);
}

void workspace_empty(const struct workspace *workspace)
{
    remove_entries(workspace->folder, is_of_last_run);
}

// The lock file gets its name after it is locked, so that no other process finds it without the lock.
static int lock_folder(const char *folder, int *lock)
{
    char path[PATH_MAX], early[PATH_MAX];
    RETURN_IF(!join(path, folder, lock_name), -ENAMETOOLONG);
    RETURN_IF(snprintf(early, sizeof early, "%s/.%s", folder, lock_name) >= (int)sizeof early, -ENAMETOOLONG);
    int fd = open(early, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    RETURN_IF(fd < 0, -errno);
    *lock = fd;
    RETURN_IF(flock(fd, LOCK_EX | LOCK_NB) < 0, -errno);
    RETURN_IF(write(fd, lock_text, sizeof lock_text - 1) != sizeof lock_text - 1, -ENOSPC);
    return rename(early, path) < 0 ? -errno : 0;
}

static int make_folder(const char *in, char **folder, int *lock)
{
    char *path = NULL;
    RETURN_IF(asprintf(&path, "%s/%sXXXXXX", in, folder_prefix) < 0, -ENOMEM);
    if (!mkdtemp(path)) {
        int code = -errno;
        free(path);
        return code;
    }
    *folder = path;
    return lock_folder(path, lock);
}

int workspace_make(struct workspace *workspace, const char *target, const char *log)
{
    const char *temporary = getenv("TMPDIR");
    char path[PATH_MAX];
    *workspace = (struct workspace){.folder_lock = -1, .work_lock = -1, .guard.end = -1};
    RETURN_IF(!realpath(target, path), -errno); // the runner may change its directory
    if (!temporary || !*temporary) temporary = "/tmp";
    remove_entries(path, is_left_behind);
    remove_entries(temporary, is_left_behind);
    FORWARD(make_folder(path, &workspace->folder, &workspace->folder_lock));
    FORWARD(make_folder(temporary, &workspace->work, &workspace->work_lock));
    replay_guard_start(&workspace->guard, workspace->folder, workspace->work);
    for (unsigned i = 0; i < WORKSPACE_FILES; i++) {
        char *name = NULL;
        if (i == WORKSPACE_LOG && log)
            name = strdup(log);
        else if (asprintf(&name, "%s/%s", workspace->work, file_names[i]) < 0)
            name = NULL;
        RETURN_IF(!name, -ENOMEM);
        workspace->file[i] = name;
    }
    return 0;
}

void workspace_remove(struct workspace *workspace, bool keep_files)
{
    char lock[PATH_MAX];
    if (workspace->work) replay_end_processes(workspace->work);
    // A folder without the lock file is the user's: no later replay removes it.
    if (workspace->folder && keep_files && join(lock, workspace->folder, lock_name)) unlink(lock);
    // Some network file systems keep the name of a file that is removed while it is open.
    if (workspace->folder_lock >= 0) close(workspace->folder_lock);
    if (workspace->work_lock >= 0) close(workspace->work_lock);
    if (workspace->folder && !keep_files) replay_remove_tree(workspace->folder);
    if (workspace->work) replay_remove_tree(workspace->work);
    replay_guard_dismiss(&workspace->guard);
    for (unsigned i = 0; i < WORKSPACE_FILES; i++) free(workspace->file[i]);
    free(workspace->folder);
    free(workspace->work);
    *workspace = (struct workspace){.folder_lock = -1, .work_lock = -1, .guard.end = -1};
}
