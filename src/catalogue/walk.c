#include "catalogue/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scoped.h"
#include "base/text_list.h"
#include "catalogue/names.h"

// Spill files of running jobs are in such folders (site/log_tree.h).
#define SPILL_FOLDER ".ioseer-"

struct known {
    int64_t id;
    struct log_state state;
    char *name;
    bool is_bad; // the last time it could not be read; that may have had a passing reason
    bool is_seen;
};

struct known_folder {
    struct known *log;
    size_t count;
    struct lookup place; // hash of the name -> index
};

struct looking {
    struct walk *walk;
    struct writer *writer;
    struct problem *problem;
    struct text_list todo;       // folders to look at
    struct text_list unreadable; // folders whose contents are not known
    struct lookup seen;          // folders, by the hash of their names
    struct known_folder known;   // logs of the folder under way
    const char *only;            // the only name that counts in the folder under way; or NULL
};

static bool ends_in(const char *name, const char *ending) {
    size_t len = strlen(name), ending_len = strlen(ending);
    return len > ending_len && !strcmp(name + len - ending_len, ending);
}

static bool is_log_name(const char *name) {
    return ends_in(name, ".ioseer") || ends_in(name, ".darshan") || ends_in(name, ".darshan_partial");
}

int walk_add_bad(struct walk *walk, const char *log, const char *reason) {
    struct walk_bad bad = {strdup(log), strdup(reason)};
    return bad.log && bad.reason ? array_push(walk->bad, walk->bad_count, bad) : -ENOMEM;
}

int walk_path(const struct walk *walk, const struct walk_log *log, char path[]) {
    const char *folder = walk->folder[log->folder];
    int len = snprintf(path, PATH_MAX, "%s/%s", strcmp(folder, "/") ? folder : "", log->name);
    return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

// --- what the catalogue has

static int note_known(void *context, const struct store_value *value, size_t count) {
    struct known_folder *known = context;
    struct known log = {.id = store_integer(&value[0]),
                        .state = {store_integer(&value[2]), store_integer(&value[3]), store_integer(&value[4])},
                        .name = strdup(store_text(&value[1])),
                        .is_bad = value[5].kind == STORE_TEXT};
    (void)count;
    RETURN_IF(!log.name, -ENOMEM);
    name_get(log.name);
    FORWARD(lookup_set(&known->place, hash_text(0, log.name), (uint32_t)known->count));
    return array_push(known->log, known->count, log);
}

static void known_free(struct known_folder *known) {
    for (size_t i = 0; i < known->count; i++) free(known->log[i].name);
    free(known->log);
    lookup_free(&known->place);
    *known = (struct known_folder){0};
}

static int read_known(struct looking *looking, const char *folder) {
    struct store *store = looking->writer->store;
    struct store_value id = store_of_integer(0);
    known_free(&looking->known);
    FORWARD(writer_find_folder(looking->writer, folder, &id.integer, looking->problem));
    if (!id.integer) return 0;
    return store_ask(
        store,
        &store_statement("SELECT id, name, size, mtime_ns, inode, reason FROM logs WHERE folder_id = $1", &id, 1),
        note_known, &looking->known, looking->problem);
}

static struct known *find_known(struct known_folder *known, const char *name) {
    uint32_t place = lookup_find(&known->place, hash_text(0, name));
    return place != LOOKUP_NONE && !strcmp(known->log[place].name, name) ? &known->log[place] : NULL;
}

// --- what is there

static int add_log(struct looking *looking, const char *name, const struct stat *status) {
    struct walk *walk = looking->walk;
    struct walk_log log = {(uint32_t)(walk->folders - 1),
                           NULL,
                           {status->st_size, status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec,
                            (int64_t)status->st_ino}};
    struct known *known = find_known(&looking->known, name);
    if (known) known->is_seen = true;
    if (known && !known->is_bad && !memcmp(&known->state, &log.state, sizeof log.state)) {
        walk->same++;
        return 0;
    }
    log.name = strdup(name);
    return log.name ? array_push(walk->changed, walk->changed_count, log) : -ENOMEM;
}

static int add_folder(struct looking *looking, const char *folder, const char *name) {
    if (!strncmp(name, SPILL_FOLDER, strlen(SPILL_FOLDER))) return 0;
    return text_list_add(&looking->todo, "%s/%s", strcmp(folder, "/") ? folder : "", name);
}

static int add_entry(struct looking *looking, int fd, const char *folder, const struct dirent *entry) {
    struct stat status;
    const char *name = entry->d_name;
    if (looking->only ? strcmp(name, looking->only) : !strcmp(name, ".") || !strcmp(name, "..")) return 0;
    if (entry->d_type == DT_DIR && !looking->only) return add_folder(looking, folder, name);
    if (!looking->only && entry->d_type != DT_UNKNOWN && (entry->d_type != DT_REG || !is_log_name(name))) return 0;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW)) return 0; // it has just gone
    if (S_ISDIR(status.st_mode)) return add_folder(looking, folder, name);
    if (!S_ISREG(status.st_mode) || !(looking->only || is_log_name(name))) return 0;
    return add_log(looking, name, &status);
}

static int read_folder(struct looking *looking, const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), code = 0;
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        code = -errno;
        if (fd >= 0) close(fd);
        return code;
    }
    const struct dirent *entry;
    for (errno = 0; code == 0 && (entry = readdir(directory)); errno = 0) code = add_entry(looking, fd, folder, entry);
    if (code == 0 && errno) code = -errno;
    closedir(directory);
    return code;
}

static int remove_unseen(struct looking *looking) {
    struct walk *walk = looking->walk;
    for (size_t i = 0; i < looking->known.count; i++) {
        const struct known *log = &looking->known.log[i];
        if (log->is_seen || (looking->only && strcmp(log->name, looking->only))) continue;
        FORWARD(array_push(walk->removed, walk->removed_count, log->id));
    }
    return 0;
}

// A folder that cannot be read is no failure, and says nothing about what is in it.
static int look_at(struct looking *looking, const char *folder) {
    struct walk *walk = looking->walk;
    char *own = strdup(folder);
    if (lookup_find(&looking->seen, hash_text(0, folder)) != LOOKUP_NONE && !looking->only) {
        free(own);
        return 0;
    }
    RETURN_IF(!own || array_push(walk->folder, walk->folders, own) < 0, -ENOMEM);
    FORWARD(read_known(looking, folder));
    if (!looking->only) FORWARD(lookup_set(&looking->seen, hash_text(0, folder), 1));
    int code = read_folder(looking, folder);
    if (code == -ENOMEM) return code;
    if (code == 0 || code == -ENOENT) return remove_unseen(looking); // or it went while we looked
    FORWARD(text_list_add(&looking->unreadable, "%s", folder));
    return walk_add_bad(walk, folder, err_text(code));
}

// --- folders that are gone

static bool lies_in(const char *folder, const char *root) {
    size_t len = strcmp(root, "/") ? strlen(root) : 0;
    return !strncmp(folder, root, len) && (folder[len] == '/' || !folder[len]);
}

struct gone {
    struct looking *looking;
    const char *root;
    struct text_list folders;
};

static int note_gone(void *context, const struct store_value *value, size_t count) {
    struct gone *gone = context;
    SCOPED_FREE char *folder = strdup(store_text(&value[0]));
    (void)count;
    RETURN_IF(!folder, -ENOMEM);
    name_get(folder);
    if (!lies_in(folder, gone->root) || lookup_find(&gone->looking->seen, hash_text(0, folder)) != LOOKUP_NONE)
        return 0;
    for (size_t i = 0; i < gone->looking->unreadable.count; i++) {
        if (lies_in(folder, gone->looking->unreadable.text[i])) return 0;
    }
    return text_list_add(&gone->folders, "%s", folder);
}

static int remove_folders(struct looking *looking, const char *root) {
    struct store *store = looking->writer->store;
    struct gone gone = {looking, root, {0}};
    int code =
        store_ask(store, &store_statement("SELECT name FROM folders", NULL, 0), note_gone, &gone, looking->problem);
    for (size_t i = 0; i < gone.folders.count && code == 0; i++) {
        code = read_known(looking, gone.folders.text[i]);
        if (code == 0) code = remove_unseen(looking);
    }
    text_list_free(&gone.folders);
    return code;
}

// --- a tree, or a log

static int look_at_log(struct looking *looking, char *path) {
    char *slash = strrchr(path, '/');
    looking->only = slash + 1;
    *slash = 0;
    int code = look_at(looking, *path ? path : "/");
    looking->only = NULL;
    return code;
}

static int look_at_path(struct looking *looking, const char *path) {
    char real[PATH_MAX];
    struct stat status;
    if (!realpath(path, real) || stat(real, &status)) return problem_code(looking->problem, -errno, path);
    if (S_ISREG(status.st_mode)) return look_at_log(looking, real);
    if (!S_ISDIR(status.st_mode)) return problem_set(looking->problem, ERR_USAGE, path, "neither a folder nor a log");
    if (access(real, R_OK | X_OK)) return problem_code(looking->problem, -errno, path);
    FORWARD(text_list_add(&looking->todo, "%s", real));
    while (looking->todo.count) {
        SCOPED_FREE char *folder = looking->todo.text[--looking->todo.count];
        FORWARD(look_at(looking, folder));
    }
    return remove_folders(looking, real);
}

int walk_look(struct walk *walk, struct writer *writer, char *const *path, size_t paths, struct problem *problem) {
    struct looking looking = {.walk = walk, .writer = writer, .problem = problem};
    int code = 0;
    *walk = (struct walk){0};
    for (size_t i = 0; i < paths && code == 0; i++) code = look_at_path(&looking, path[i]);
    text_list_free(&looking.todo);
    text_list_free(&looking.unreadable);
    lookup_free(&looking.seen);
    known_free(&looking.known);
    return code;
}

void walk_free(struct walk *walk) {
    for (size_t i = 0; i < walk->folders; i++) free(walk->folder[i]);
    for (size_t i = 0; i < walk->changed_count; i++) free(walk->changed[i].name);
    for (size_t i = 0; i < walk->bad_count; i++) {
        free(walk->bad[i].log);
        free(walk->bad[i].reason);
    }
    free(walk->folder);
    free(walk->changed);
    free(walk->removed);
    free(walk->bad);
    *walk = (struct walk){0};
}
