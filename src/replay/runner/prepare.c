// Makes what existed before the program: files with their sizes, directories, and links.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "model/phase_list.h"
#include "replay/runner/runner.h"

enum { PREPARE_BYTES = 1 << 20, MPI_CREATE = 1 }; // MPI_MODE_CREATE of both MPIs

// --- what the program does to a set of files

struct set_use {
    bool used;         // by a call that did not fail
    bool creates;      // a call makes its members
    bool is_directory; // a call is for directories
    bool is_link;      // a call is for symbolic links
    bool opens;
    bool reads;
    bool named;  // a call gives its name
    bool misses; // a call did not find a member
};

static void note_kind(const struct op_kind *kind, void *context) {
    struct set_use *use = context; // by set
    const struct call_info *call = &call_table[kind->call_id];
    if (kind->error == ENOENT && kind->set != OP_NO_SET) use[kind->set].misses = true;
    if (kind->error) return;
    if (kind->set2 != OP_NO_SET) use[kind->set2].used = use[kind->set2].creates = true; // renamed or linked
    if (kind->set == OP_NO_SET) return;
    struct set_use *of = &use[kind->set];
    bool is_mpi = kind->layer == LAYER_MPIIO, opens = kind->class == CLASS_OPEN;
    bool makes = opens && (is_mpi ? kind->flags & MPI_CREATE : op_flags_create(kind->flags));
    bool opens_directory = opens && !is_mpi && kind->flags & O_DIRECTORY && !op_flags_nameless(kind->flags);
    of->used = true;
    of->creates |= makes || call->effect == EFFECT_CREATE;
    of->is_directory |= call->subject == SUBJECT_DIRECTORY || opens_directory;
    of->is_link |= call->subject == SUBJECT_LINK;
    of->opens |= kind->class == CLASS_OPEN;
    of->named |= call->by_name;
    of->reads |= kind->class == CLASS_READ;
}

static struct set_use *uses_by_set(const struct runner *runner) {
    const struct replay_job *job = runner->job;
    struct set_use *use = calloc(runner->model.files + 1, sizeof *use);
    if (!use || !phase_kinds(&runner->model, job->program, job->phases, note_kind, use)) return use;
    free(use);
    return NULL;
}

int runner_find_uses(struct runner *runner) {
    struct set_use *use = uses_by_set(runner);
    RETURN_IF(!use, -ENOMEM);
    for (size_t i = 0; i < runner->model.files; i++) {
        runner->opened_somewhere[i] = use[i].opens;
        runner->made_somewhere[i] = use[i].creates;
    }
    free(use);
    return 0;
}

// --- making it

static int fill_file(int fd, uint32_t set, uint32_t member, uint64_t bytes) {
    unsigned char *data = malloc(PREPARE_BYTES);
    int code = data ? 0 : -ENOMEM;
    for (uint64_t offset = 0; offset < bytes && !code;) {
        size_t part = bytes - offset < PREPARE_BYTES ? (size_t)(bytes - offset) : PREPARE_BYTES;
        data_fill(data, set, member, offset, part);
        ssize_t put = pwrite(fd, data, part, (off_t)offset);
        if (put < 0)
            code = -errno;
        else
            offset += (uint64_t)put;
    }
    // Otherwise the kernel would write the data during the replay, and could not drop it from the page cache.
    if (!code && bytes && fsync(fd) < 0) code = -errno;
    free(data);
    return code;
}

static int cool_or_warm(int fd, uint64_t bytes, bool cold) {
    char *data = malloc(PREPARE_BYTES);
    int code = data ? 0 : -ENOMEM;
    if (!code && cold) code = -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    for (uint64_t offset = 0; offset < bytes && !cold && !code; offset += PREPARE_BYTES) {
        if (pread(fd, data, PREPARE_BYTES, (off_t)offset) < 0) code = -errno;
    }
    free(data);
    return code;
}

// As recorded: cold if the program read more of the file from storage than from memory.
static bool is_cold(const struct runner *runner, const struct model_file *file) {
    if (runner->job->cache != CACHE_AS_RECORDED) return runner->job->cache == CACHE_COLD;
    return file->read_cached * 2 < file->read_before;
}

static int prepare_file(const struct runner *runner, uint32_t set, uint32_t member, uint64_t bytes) {
    char *path = paths_of(&runner->paths, set, member);
    RETURN_IF(!path, -ENOMEM);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int code = fd < 0 ? -errno : fill_file(fd, set, member, bytes);
    if (!code && bytes) code = cool_or_warm(fd, bytes, is_cold(runner, &runner->model.file[set]));
    if (fd >= 0) close(fd);
    free(path);
    return code;
}

static int make_directory(char *path) {
    int code = !path ? -ENOMEM : mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
    free(path);
    return code;
}

static int make_link(char *path, const char *target) {
    int code = !path ? -ENOMEM : symlink(target, path) < 0 ? -errno : 0;
    free(path);
    return code;
}

// Files that existed before had directories before, even if the program makes other members of the same set.
static int make_folders_of(const struct runner *runner, uint32_t set, uint32_t member) {
    char *path = paths_of(&runner->paths, set, member);
    RETURN_IF(!path, -ENOMEM);
    int code = 0;
    for (char *slash = path + strlen(runner->job->directory) + 1; !code && (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        if (mkdir(path, 0700) < 0 && errno != EEXIST) code = -errno;
        *slash = '/';
    }
    free(path);
    return code;
}

static int prepare_member(const struct runner *runner, const struct set_use *use, uint32_t set, uint32_t member,
                          uint64_t bytes) {
    const struct paths *paths = &runner->paths;
    watch_tell(runner->job, "the preparation of files", (uint64_t)set << 32 | member, 2 * bytes);
    FORWARD(make_folders_of(runner, set, member));
    if (use->is_directory || paths_has_files(paths, set, member)) return make_directory(paths_of(paths, set, member));
    if (use->is_link && !use->opens) return make_link(paths_of(paths, set, member), paths->link_target);
    return prepare_file(runner, set, member, bytes);
}

// Whether a name is in a folder that the program makes: another program made it there later.
static bool is_late(const struct runner *runner, const struct set_use *use, uint32_t set, uint32_t member) {
    struct paths_known folder = {.set = set, .member = member};
    while (paths_folder(&runner->paths, &folder)) {
        if (use[folder.set].creates && found_bytes(&runner->found, folder.set, folder.member) < 0) return true;
    }
    return false;
}

// Makes the members of a set that existed before. Makes all members if a phase that is left out made them, or another
// program that passed them on open. Models of earlier versions do not say what other programs made.
static int prepare_set(const struct runner *runner, const struct set_use *uses, uint32_t set) {
    const struct model_file *file = &runner->model.file[set];
    const struct set_use *use = &uses[set];
    size_t members = file->set->member_count;
    uint64_t bytes = use->opens || use->reads ? file->size_after
                                              : 0; // a file that a shell opened for the program to write to was empty
    bool is_told = use->named && !runner->job->phases && (runner->model.founds || (use->misses && members == 1));
    for (uint32_t i = 0; use->used && i < members; i++) {
        int64_t found = found_bytes(&runner->found, set, i), ignored;
        bool otherwise = found_by_program(&runner->found, set, i, &ignored);
        if (found < 0 && !otherwise && !is_told && !file->existed && !use->creates) found = (int64_t)(bytes / members);
        if (found < 0 || (otherwise && is_late(runner, uses, set, i))) continue;
        FORWARD(prepare_member(runner, use, set, i, (uint64_t)found));
    }
    return 0;
}

// Directories that the program uses and does not make.
static int prepare_folders(const struct runner *runner, const struct set_use *use) {
    const struct paths *paths = &runner->paths;
    for (uint32_t i = 1; i < paths->outside; i++) FORWARD(make_directory(paths_outside(paths, i)));
    for (size_t i = 0; i < paths->count; i++) {
        const struct paths_known *known = &paths->known[i];
        if (!known->has_files || use[known->set].creates) continue;
        if (is_late(runner, use, known->set, known->member)) continue;
        FORWARD(make_folders_of(runner, known->set, known->member));
        FORWARD(make_directory(paths_of(paths, known->set, known->member)));
    }
    return 0;
}

static int make_link_target(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), code = fd < 0 ? -errno : 0;
    if (fd >= 0) close(fd);
    return code;
}

int runner_prepare(struct runner *runner) {
    struct set_use *use = uses_by_set(runner);
    int code = use ? paths_make(&runner->paths, &runner->model, runner->job->directory) : -ENOMEM;
    if (!code) code = found_make(&runner->found, &runner->model, runner->job->program);
    if (!code) code = make_link_target(runner->paths.link_target);
    if (!code) code = prepare_folders(runner, use);
    for (unsigned files = 0; files < 2; files++) { // directories first
        for (uint32_t set = 0; set < runner->model.files && !code; set++) {
            if (use[set].is_directory != files) code = prepare_set(runner, use, set);
        }
    }
    paths_free(&runner->paths);
    found_free(&runner->found);
    free(use);
    return code;
}
