#include "replay/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/process.h"

enum { POLL_US = 20000, POLITE_POLLS = 25, ALL_POLLS = 250, MOST_WORDS = 16 << 20 };

static const char folder_prefix[] = "ioseer-replay.";
static const char lock_name[] = "ioseer-replay-in-use"; // locked while the replay runs
static const char lock_text[] = "A replay's folder; the next one removes it if this one could not.\n";
static const char *const file_names[WORKSPACE_FILES] = {"model.json", "job.json", "result.json", "replay.ioseer",
                                                        "error",      "phase",    "slots"};

// --- processes

static bool list_has_word(pid_t pid, const char *list, const char *word) {
    char name[64];
    struct bytes words = {0};
    snprintf(name, sizeof name, "/proc/%d/%s", (int)pid, list);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool found = io_read_all(fd, &words, MOST_WORDS) == 0 && memmem(words.data, words.len, word, strlen(word));
    close(fd);
    bytes_free(&words);
    return found;
}

// Processes of a replay have the word in their command line, and those of a program that runs here in TMPDIR.
static bool has_word(pid_t pid, const char *word) {
    return list_has_word(pid, "cmdline", word) || list_has_word(pid, "environ", word);
}

static unsigned signal_all(const char *word, int signal) {
    unsigned found = 0;
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    while (processes && (entry = readdir(processes))) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 1 || pid == getpid() || !has_word(pid, word)) continue;
        found++;
        kill(pid, signal);
    }
    if (processes) closedir(processes);
    return found;
}

// Launchers clean up after SIGTERM; processes that still run after half a second get SIGKILL.
static void end_processes(const char *work) {
    for (unsigned i = 0; i < ALL_POLLS; i++) {
        int signal = i == 0 ? SIGTERM : i < POLITE_POLLS ? 0 : SIGKILL;
        if (!signal_all(work, signal)) return;
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        usleep(POLL_US);
    }
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *where) {
    (void)about, (void)type, (void)where;
    remove(path);
    return 0;
}

static void remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

void workspace_end_processes(const struct workspace *workspace) { end_processes(workspace->work); }

// --- the guard

// Starts the guard, which cleans up if this process is killed. Returns the descriptor that keeps the guard waiting.
static int start_guard(const char *folder, const char *work) {
    char word;
    int fd;
    ssize_t got;
    if (!process_start_guard(&fd)) return fd;
    signal(SIGINT, SIG_IGN);
    while ((got = read(fd, &word, 1)) < 0 && errno == EINTR) continue;
    if (got == 1) _exit(0);
    end_processes(work);
    remove_tree(folder);
    remove_tree(work);
    _exit(0);
}

static void dismiss_guard(int fd) {
    process_tell_guard(fd, "", 1);
    if (fd >= 0) close(fd);
}

// --- folders

static bool join(char path[PATH_MAX], const char *folder, const char *name) {
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

// Whether the folder belongs to a replay that is gone: it has our lock file, and no process holds the lock.
static bool is_stale(const char *folder) {
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

static bool is_left_behind(const char *name, const char *path) {
    size_t length = sizeof folder_prefix - 1;
    return !strncmp(name, folder_prefix, length) && strlen(name) == length + 6 && is_stale(path);
}

static bool is_of_last_run(const char *name, const char *path) {
    (void)path;
    return *name != '.' && strcmp(name, lock_name);
}

static void remove_entries(const char *folder, bool (*is_chosen)(const char *name, const char *path)) {
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char path[PATH_MAX];
        if (join(path, folder, entry->d_name) && is_chosen(entry->d_name, path)) remove_tree(path);
    }
    if (directory) closedir(directory);
}

void workspace_empty(const struct workspace *workspace) { remove_entries(workspace->folder, is_of_last_run); }

// The lock file gets its name after it is locked, so that no other process finds it without the lock.
static int lock_folder(const char *folder, int *lock) {
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

static int make_folder(const char *in, char **folder, int *lock) {
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

int workspace_make(struct workspace *workspace, const char *target, const char *log) {
    const char *temporary = getenv("TMPDIR");
    char path[PATH_MAX];
    *workspace = (struct workspace){.folder_lock = -1, .work_lock = -1, .guard = -1};
    RETURN_IF(!realpath(target, path), -errno); // the runner may change its directory
    if (!temporary || !*temporary) temporary = "/tmp";
    remove_entries(path, is_left_behind);
    remove_entries(temporary, is_left_behind);
    FORWARD(make_folder(path, &workspace->folder, &workspace->folder_lock));
    FORWARD(make_folder(temporary, &workspace->work, &workspace->work_lock));
    workspace->guard = start_guard(workspace->folder, workspace->work);
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

void workspace_remove(struct workspace *workspace, bool keep_files) {
    char lock[PATH_MAX];
    if (workspace->work) end_processes(workspace->work);
    // A folder without the lock file is the user's: no later replay removes it.
    if (workspace->folder && keep_files && join(lock, workspace->folder, lock_name)) unlink(lock);
    // Some network file systems keep the name of a file that is removed while it is open.
    if (workspace->folder_lock >= 0) close(workspace->folder_lock);
    if (workspace->work_lock >= 0) close(workspace->work_lock);
    if (workspace->folder && !keep_files) remove_tree(workspace->folder);
    if (workspace->work) remove_tree(workspace->work);
    dismiss_guard(workspace->guard);
    for (unsigned i = 0; i < WORKSPACE_FILES; i++) free(workspace->file[i]);
    free(workspace->folder);
    free(workspace->work);
    *workspace = (struct workspace){.folder_lock = -1, .work_lock = -1, .guard = -1};
}
