#include "live/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "fmt/fields.h"
#include "live/jobs.h"
#include "pack/pack.h"
#include "pack/spill_read.h"

enum {
    MOST_JOB_BYTES = 64 << 20,
    MOST_PROCESSES = 1 << 16,
    MOST_ENDED = 1024,         // that are kept one by one
    MOST_LOOK_BYTES = 64 << 20 // that one look reads
};

// --- the job

static int read_job(struct live *live, struct fields_in body) {
    struct field field;
    while (fields_next(&body, &field) > 0) {
        if (field.key == JOB_COMMAND && field.is_bytes)
            FORWARD(text_list_add(&live->command, "%.*s", (int)field.len, (const char *)field.data));
        if (field.key == JOB_START_NS) live->start_ns = field.number;
        if (field.key == JOB_HOST && field.is_bytes && field.len < sizeof live->host)
            memcpy(live->host, field.data, field.len);
    }
    return 0;
}

static int load_job(struct live *live) {
    struct bytes data = {0};
    struct fields_in body;
    unsigned kind;
    int fd = openat(live->dir_fd, PACK_JOB_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    RETURN_IF(fd < 0, errno == ENOENT ? ERR_NOTHING : -errno);
    int code = io_read_all(fd, &data, MOST_JOB_BYTES);
    close(fd);
    struct fields_in records = fields_of(&data);
    while (code >= 0 && fields_next_record(&records, &kind, &body) > 0) {
        if (kind == RECORD_JOB) code = read_job(live, body);
    }
    bytes_free(&data);
    return code < 0 ? code : 0;
}

// A process has one descriptor while it is followed.
static void allow_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int live_open(struct live *live, const char *directory, struct problem *problem) {
    *live = (struct live){.dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (live->dir_fd < 0) return problem_code(problem, -errno, directory);
    int code = load_job(live);
    if (code == ERR_NOTHING) return problem_set(problem, code, directory, "not the spill directory of a job");
    if (code < 0) return problem_code(problem, code, directory);
    gethostname(live->here, sizeof live->here - 1);
    allow_descriptors();
    live->directory = strdup(directory);
    struct live_file others = {.name = strdup("(other files)")};
    if (!live->directory || !others.name || array_push(live->file, live->files, others) < 0)
        return problem_code(problem, -ENOMEM, directory);
    return 0;
}

void live_close(struct live *live) {
    for (size_t i = 0; i < live->processes; i++) {
        live_forget_process(&live->process[i]);
        free(live->process[i].program);
    }
    for (size_t i = 0; i < live->files; i++) free(live->file[i].name);
    free(live->process);
    free(live->file);
    free(live->directory);
    text_list_free(&live->command);
    lookup_free(&live->names);
    lookup_free(&live->by_name);
    lookup_free(&live->seen);
    bytes_free(&live->payload);
    if (live->dir_fd >= 0) close(live->dir_fd);
}

// --- its processes

static bool ends_in(const char *name, const char *suffix) {
    size_t len = strlen(name), suffix_len = strlen(suffix);
    return len > suffix_len && !strcmp(name + len - suffix_len, suffix);
}

// Names of spills begin with the host.
static bool begins_with(const char *name, const char *host) {
    size_t len = strlen(host);
    return !strncmp(name, host, len) && name[len] == '.';
}

// Others may be able to write into the directory: only regular files count, and opening never blocks.
static int open_spill(const struct live *live, const char *name, struct spill_header *header) {
    struct stat status;
    int fd = openat(live->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return fd;
    bool is_good = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                   pread(fd, header, sizeof *header, 0) == sizeof *header && header->magic == SPILL_MAGIC &&
                   header->version == SPILL_VERSION && header->unit_shift < 64;
    if (is_good) return fd;
    close(fd);
    return -1;
}

// A file that is empty so far is looked at again.
static int add_spill(struct live *live, const char *name) {
    uint64_t key = hash_text(0, name);
    if (lookup_find(&live->names, key) != LOOKUP_NONE || live->processes >= MOST_PROCESSES) return 0;
    struct live_process process = {.walked = SPILL_HEADER_BYTES, .is_local = begins_with(name, live->here)};
    process.fd = open_spill(live, name, &process.header);
    if (process.fd < 0) return 0;
    int code = lookup_set(&live->names, key, 1);
    if (code == 0) code = array_push(live->process, live->processes, process);
    if (code < 0) close(process.fd);
    live->running += code == 0;
    return code;
}

static int find_spills(struct live *live) {
    int code = 0, fd = openat(live->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    if (!dir && fd >= 0) close(fd);
    live->unseen = 0;
    while (dir && code == 0 && (entry = readdir(dir))) {
        if (ends_in(entry->d_name, SPILL_SUFFIX)) code = add_spill(live, entry->d_name);
        live->unseen += ends_in(entry->d_name, SPILL_LOST_SUFFIX) || ends_in(entry->d_name, SPILL_UNFOLLOWED_SUFFIX);
    }
    if (dir) closedir(dir);
    return code;
}

// A process that calls exec goes on in another spill; if that fails, in the same one.
static bool is_replaced(const struct live *live, const struct live_process *process) {
    for (size_t i = 0; i < live->processes; i++) {
        const struct spill_header *other = &live->process[i].header;
        if (other->pid == process->header.pid && other->start.mono_ns > process->header.start.mono_ns &&
            !strcmp(live->process[i].host, process->host))
            return true;
    }
    return false;
}

static bool has_ended(const struct live *live, const struct live_process *process) {
    uint32_t how = process->header.exit;
    if (how == EXIT_EXEC && is_replaced(live, process)) return true;
    return process->is_local ? !spill_is_running(&process->header) : how != EXIT_UNKNOWN && how != EXIT_EXEC;
}

// Whether it has ended is asked before its last bytes are read.
static int follow_processes(struct live *live) {
    for (size_t i = 0; i < live->processes; i++) {
        struct live_process *process = &live->process[i];
        if (process->fd < 0) continue;
        process->has_ended = has_ended(live, process);
        bool was_behind = live->is_behind;
        live->is_behind = false;
        FORWARD(live_follow_process(live, process));
        if (process->has_ended && !live->is_behind) {
            live_forget_process(process);
            live->running--;
            live->ended++;
        }
        live->is_behind = live->is_behind || was_behind;
    }
    return 0;
}

// Of a job with many short processes, the first ones that ended are left to the totals.
static void drop_ended(struct live *live) {
    size_t kept = 0, ended = 0;
    for (size_t i = 0; i < live->processes; i++) ended += live->process[i].fd < 0;
    size_t excess = ended > MOST_ENDED ? ended - MOST_ENDED : 0;
    for (size_t i = 0; i < live->processes; i++) {
        struct live_process *process = &live->process[i];
        if (process->fd < 0 && excess) {
            free(process->program);
            excess--;
        } else {
            live->process[kept++] = *process;
        }
    }
    live->processes = kept;
}

static void count_losses(struct live *live) {
    uint64_t lost = 0;
    for (size_t i = 0; i < live->processes; i++) {
        for (unsigned reason = 0; reason < LOSS_REASONS; reason++) {
            if (loss_is_of_events(reason)) lost += live->process[i].header.lost[reason];
        }
    }
    if (lost > live->lost_events) live->lost_events = lost;
}

// `record` removes the directory when the log is made. It stays if `record` is killed, or told to keep it: then a job
// is over when nothing of it runs any more.
static bool is_over(const struct live *live, bool is_gone) {
    if (is_gone) return true;
    if (live->running || live->is_behind) return false;
    return strcmp(live->host, live->here) ? live->ended > 0 : !live_jobs_has(live->directory);
}

int live_look(struct live *live) {
    struct stat status;
    bool is_known = fstat(live->dir_fd, &status) == 0, is_gone = is_known && status.st_nlink == 0;
    bool is_changed = !is_known || status.st_mtim.tv_sec != live->changed.tv_sec ||
                      status.st_mtim.tv_nsec != live->changed.tv_nsec || live->running == 0;
    live->is_behind = false;
    live->left = MOST_LOOK_BYTES;
    if (is_changed && !is_gone) FORWARD(find_spills(live));
    if (is_known) live->changed = status.st_mtim;
    FORWARD(follow_processes(live));
    count_losses(live);
    drop_ended(live);
    if (!live->has_ended) live->has_ended = !live->is_behind && is_over(live, is_gone);
    live->is_incomplete = live->has_ended && is_gone;
    return 0;
}

// --- rates

static void mark_flow(struct live_flow *flow, double seconds) {
    const struct live_sums *sums = &flow->sums, *before = &flow->marked;
    for (unsigned i = 0; i < 2; i++) flow->rate.bytes[i] = (double)(sums->bytes[i] - before->bytes[i]) / seconds;
    flow->rate.calls = (double)(sums->calls - before->calls) / seconds;
    flow->rate.metadata = (double)(sums->metadata - before->metadata) / seconds;
    flow->marked = *sums;
}

static void mark_process(struct live_process *process, double seconds) {
    unsigned threads = process->header.streams ? process->header.streams : 1;
    int64_t busy_ns = live_ns(&process->header, process->io_units - process->io_marked);
    double share = (double)busy_ns / 1e9 / seconds / threads;
    process->io_share = share < 1 ? share : 1;
    process->io_marked = process->io_units;
    mark_flow(&process->flow, seconds);
}

void live_mark(struct live *live) {
    int64_t now_ns = clock_now_ns();
    double seconds = (double)(now_ns - live->marked_ns) / 1e9;
    bool is_first = !live->marked_ns;
    live->marked_ns = now_ns;
    mark_flow(&live->total, seconds);
    for (size_t i = 0; i < live->processes; i++) mark_process(&live->process[i], seconds);
    for (size_t i = 0; i < live->files; i++) mark_flow(&live->file[i].flow, seconds);
    if (is_first) return;
    live->history[live->moments++ % LIVE_HISTORY] = (struct live_moment){seconds, live->total.rate};
}
