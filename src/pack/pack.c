#include "pack/pack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "pack/bundle.h"
#include "pack/private.h"

static void free_process(struct pack_process *process) {
    free(process->name);
    free(process->bundle);
    free(process->exe);
    spill_read_free(&process->spill);
    bytes_free(&process->about);
    bytes_free(&process->files);
    for (unsigned i = 0; i < PACK_UNIQUE; i++) bytes_free(&process->unique[i]);
    bytes_free(&process->communicators);
    bytes_free(&process->mapped);
    bytes_free(&process->aggregates);
    bytes_free(&process->sites);
    lookup_free(&process->streams);
    lookup_free(&process->needed);
    lookup_free(&process->place_of);
    free(process->joined);
}

// Others may be able to write into the directory: only regular files count, and opening never blocks.
int pack_open_file(const struct pack *pack, const char *name) {
    int fd = openat(pack->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) return fd;
    close(fd);
    return ERR_FORMAT;
}

int pack_add_spill(struct pack *pack, int fd, const char *name, const char *bundle, uint64_t bundle_offset) {
    uint64_t key = hash_text(0, name);
    struct pack_process process = {.name = strdup(name), .bundle_offset = bundle_offset, .spill.fd = -1};
    if (bundle) process.bundle = strdup(bundle);
    int code = fd < 0 ? fd : spill_read_file(fd, &process.spill);
    if (fd >= 0) close(fd);
    process.spill.fd = -1;
    if (!process.name || (bundle && !process.bundle)) code = -ENOMEM;
    if (code == 0 && lookup_find(&pack->spill_names, key) != LOOKUP_NONE) code = ERR_NOTHING; // it is there already
    if (code == 0) code = lookup_set(&pack->spill_names, key, 1);
    if (code == 0) code = array_push(pack->process, pack->process_count, process);
    if (code == 0) return 0;
    if (code != ERR_NOTHING && code != -ENOMEM) pack->unreadable_bytes += process.spill.len ? process.spill.len : 1;
    free_process(&process);
    return code == -ENOMEM ? code : 0;
}

static int add_spill(struct pack *pack, const char *name) {
    RETURN_IF(pack->process_count >= UINT32_MAX - 1, ERR_LIMIT);
    int fd = pack_open_file(pack, name);
    if (fd == ERR_FORMAT || fd == -ELOOP || fd == -ENOENT) return 0;
    RETURN_IF(fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM, fd);
    return pack_add_spill(pack, fd, name, NULL, 0);
}

static bool ends_in(const char *name, const char *suffix) {
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);
    return len > suffix_len && !strcmp(name + len - suffix_len, suffix);
}

// The caller's descriptor stays open.
static DIR *open_entries(int dir_fd) {
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0) close(fd);
    return dir;
}

// The mark is a link that points to the reason.
static int add_unfollowed(struct pack *pack, const char *name) {
    struct pack_unfollowed fresh = {.count = 1};
    ssize_t len = readlinkat(pack->dir_fd, name, fresh.why, sizeof fresh.why - 1);
    if (len < 0) return 0;
    pack->result.unfollowed++;
    memcpy(pack->result.unfollowed_why, fresh.why, sizeof fresh.why);
    for (size_t i = 0; i < pack->unfollowed_count; i++) {
        if (strcmp(pack->unfollowed[i].why, fresh.why)) continue;
        pack->unfollowed[i].count++;
        return 0;
    }
    return array_push(pack->unfollowed, pack->unfollowed_count, fresh);
}

static int visit_directory(struct pack *pack, int (*visit)(struct pack *, const char *name)) {
    int code = 0;
    const struct dirent *entry;
    DIR *dir = open_entries(pack->dir_fd);
    RETURN_IF(!dir, -errno);
    while (code == 0 && (entry = readdir(dir))) code = visit(pack, entry->d_name);
    closedir(dir);
    return code;
}

static int find_away(struct pack *pack, const char *name) {
    size_t len = strlen(name), suffix = sizeof SPILL_AWAY_SUFFIX - 1;
    if (!ends_in(name, SPILL_AWAY_SUFFIX)) return 0;
    pack->result.away++;
    return text_list_add(&pack->away, "%.*s", (int)(len - suffix), name);
}

static int load_spill(struct pack *pack, const char *name) {
    return ends_in(name, SPILL_SUFFIX) ? add_spill(pack, name) : 0;
}

static int load_file(struct pack *pack, const char *name) {
    int code = load_spill(pack, name);
    if (ends_in(name, BUNDLE_SUFFIX)) code = pack_load_bundle(pack, name);
    if (ends_in(name, SPILL_LOST_SUFFIX)) pack->result.unrecorded++;
    if (ends_in(name, SPILL_UNFOLLOWED_SUFFIX)) code = add_unfollowed(pack, name);
    if (ends_in(name, PACK_DEVICES_SUFFIX)) code = pack_load_records(pack, name, &pack->devices);
    if (!strncmp(name, PART_INDEX, sizeof PART_INDEX - 1)) code = pack_load_part(pack, name);
    if (ends_in(name, STACK_SUFFIX)) code = pack_load_stack(pack, name);
    if (ends_in(name, PROBE_SUFFIX)) code = pack_load_probe(pack, name);
    return code;
}

// A host takes its mark away after its bundle has arrived. So the bundle of one without a mark is there afterwards.
static int load_directory(struct pack *pack) {
    FORWARD(visit_directory(pack, find_away));
    return visit_directory(pack, load_file);
}

static int by_start(const void *a, const void *b) {
    const struct pack_process *one = a;
    const struct pack_process *two = b;
    const struct spill_moment *start_one = &one->spill.header.start;
    const struct spill_moment *start_two = &two->spill.header.start;
    if (start_one->epoch_ns != start_two->epoch_ns) return start_one->epoch_ns < start_two->epoch_ns ? -1 : 1;
    if (start_one->mono_ns != start_two->mono_ns) return start_one->mono_ns < start_two->mono_ns ? -1 : 1;
    return strcmp(one->name, two->name);
}

static void number_processes(struct pack *pack) {
    if (pack->process_count) qsort(pack->process, pack->process_count, sizeof *pack->process, by_start);
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        process->id = (uint32_t)i + 1;
        for (size_t j = 0; j < process->spill.count; j++) pack->all_bytes += process->spill.piece[j].chunk.used;
    }
}

// Calls a function for each process while its spill is open. If the spill cannot be opened any more, the function
// counts the loss.
static int for_each_spill(struct pack *pack, int (*work)(struct pack *, struct pack_process *)) {
    int code = 0;
    for (size_t i = 0; i < pack->process_count && code == 0; i++) {
        struct spill *spill = &pack->process[i].spill;
        spill->fd = pack_open_spill(pack, &pack->process[i]);
        code = work(pack, &pack->process[i]);
        if (spill->fd >= 0) close(spill->fd);
        spill->fd = -1;
    }
    return code;
}

uint64_t pack_process_key(const struct pack *pack, const char *host, uint32_t pid) {
    if (!host[0]) host = pack->host;
    return hash_bytes(pid, host, strlen(host));
}

static int count_processes(struct pack *pack) {
    struct lookup seen = {0};
    int code = 0;
    for (size_t i = 0; i < pack->process_count && code == 0; i++) {
        const struct pack_process *process = &pack->process[i];
        uint64_t key = pack_process_key(pack, process->host, process->spill.header.pid);
        if (lookup_find(&seen, key) == LOOKUP_NONE) pack->result.processes++;
        code = lookup_set(&seen, key, 1);
        if (process->exit == EXIT_RUNNING) pack->result.running++;
    }
    lookup_free(&seen);
    return code;
}

// Only this machine's mounts are known: a job of another machine gets none.
static int find_mounts(struct pack *pack) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    if (!host[0] || strcmp(host, pack->host)) return 0;
    struct mounts mounts;
    const char *list = pack->options && pack->options->mountinfo ? pack->options->mountinfo : "/proc/self/mountinfo";
    int code = mounts_read(&mounts, list);
    if (code < 0) return code == -ENOMEM ? code : 0;
    code = file_table_set_mounts(&pack->files, &mounts);
    for (size_t i = 0; i < mounts.count && code == 0; i++)
        code = pack_note_mount(pack, mounts.item[i].point, strlen(mounts.item[i].point), mounts.item[i].device);
    mounts_free(&mounts);
    return code;
}

// Reads everything that must be known before the first byte is written.
static int prepare(struct pack *pack) {
    number_processes(pack);
    FORWARD(pack_load_job(pack));
    // The user may have named any directory by mistake.
    RETURN_IF(!pack->job && !pack->job_records.len && !pack->process_count, ERR_NOTHING);
    FORWARD(pack_number_parts(pack));
    FORWARD(for_each_spill(pack, pack_read_records));
    pack_find_job_start(pack);
    FORWARD(find_mounts(pack));
    if (pack->part_count) file_table_number(&pack->files, pack->part_files, pack_part_file, pack);
    FORWARD(pack_read_stripes(pack));
    pack_align_clocks(pack);
    FORWARD(pack_align_hosts(pack));
    FORWARD(pack_find_ends(pack));
    FORWARD(for_each_spill(pack, pack_note_threads));
    FORWARD(pack_find_groups(pack));
    FORWARD(pack_prepare_stack(pack));
    return count_processes(pack);
}

static int write_log(struct pack *pack) {
    FORWARD(pack_copy_part(pack));
    pack_write_job(pack);
    FORWARD(pack_write_reductions(pack));
    file_table_write(&pack->files, &pack->writer);
    for (unsigned i = 0; i < PACK_UNIQUE; i++) pack_write_unique(pack, &pack->unique[i], pack_unique[i].kind);
    pack_write_devices(pack);
    pack_write_mounts(pack);
    pack_write_hosts(pack);
    for (size_t i = 0; i < pack->process_count; i++) FORWARD(pack_write_process(pack, &pack->process[i]));
    FORWARD(for_each_spill(pack, pack_write_events));
    FORWARD(for_each_spill(pack, pack_write_counters));
    FORWARD(pack_write_below(pack));
    pack_write_stack(pack);
    if (pack->result.unrecorded) pack_write_loss(pack, NULL, LOSS_NO_SPILL, pack->result.unrecorded, 0);
    for (size_t i = 0; i < pack->unfollowed_count; i++)
        pack_write_loss_of(pack, LOSS_NOT_FOLLOWED, pack->unfollowed[i].count, pack->unfollowed[i].why);
    for (size_t i = 0; i < pack->away.count; i++) pack_write_loss_of(pack, LOSS_AWAY, 1, pack->away.text[i]);
    if (pack->unreadable_bytes) pack_write_loss(pack, NULL, LOSS_DAMAGED, 0, pack->unreadable_bytes);
    pack->result.damaged_bytes += pack->unreadable_bytes;
    return 0;
}

static struct log_header new_header(const struct pack *pack) {
    struct log_header header = {
        .version = LOG_VERSION,
        .min_reader = LOG_MIN_READER,
        .features = FEATURE_SHORT | FEATURE_STEPS,
        .created_ns = clock_ns(CLOCK_REALTIME),
    };
    for (size_t i = 0; i < pack->process_count; i++) {
        if (pack_group_of(pack, &pack->process[i])) header.features |= FEATURE_GROUPS;
        if (pack->process[i].rank) header.features |= FEATURE_MPI | FEATURE_PARTNERS;
        if (pack->process[i].spill.header.counts_all) header.features |= FEATURE_CHOSEN;
    }
    if (pack->stack) header.features |= FEATURE_BELOW;
    if (pack->part_count) header.features |= FEATURE_REDUCED;
    // Shortly after boot there may be no random numbers; then only the time of creation identifies the log.
    if (getrandom(header.job_id, sizeof header.job_id, GRND_NONBLOCK) < 0) memset(header.job_id, 0, 16);
    return header;
}

static void free_pack(struct pack *pack) {
    log_writer_abandon(&pack->writer);
    pack_free_stack(pack);
    pack_free_parts(pack);
    for (size_t i = 0; i < pack->process_count; i++) free_process(&pack->process[i]);
    free(pack->process);
    free(pack->child_end);
    free(pack->call_written);
    free(pack->unfollowed);
    free(pack->unread);
    free(pack->exchange);
    free(pack->hosts);
    free(pack->groups);
    lookup_free(&pack->spill_names);
    text_list_free(&pack->away);
    file_table_free(&pack->files);
    for (unsigned i = 0; i < PACK_UNIQUE; i++) intern_free(&pack->unique[i]);
    callsites_free(&pack->callsites);
    bytes_free(&pack->devices);
    bytes_free(&pack->job_records);
    bytes_free(&pack->payload);
    if (pack->dir_fd >= 0) close(pack->dir_fd);
}

static int pack_all(struct pack *pack, const char *log_path) {
    pack->call_written = calloc(call_table_len, sizeof *pack->call_written);
    RETURN_IF(!pack->call_written, -ENOMEM);
    FORWARD(prepare(pack));
    struct log_header header = new_header(pack);
    char chosen[4096];
    if (!log_path) {
        FORWARD(pack->options->choose_path(pack->options->choose_context, &pack->name, chosen));
        log_path = chosen;
    }
    FORWARD(log_writer_open(&pack->writer, log_path, &header));
    FORWARD(write_log(pack));
    if (pack->options && pack->options->mode && fchmod(pack->writer.fd, pack->options->mode)) return -errno;
    FORWARD(log_writer_publish(&pack->writer, pack->options && pack->options->replace));
    pack->result.log_bytes = pack->writer.offset;
    return 0;
}

int pack_directory(const struct pack_job *job, const char *spill_dir, const char *log_path,
                   const struct pack_options *options, struct pack_result *result) {
    struct pack pack = {.job = job, .options = options, .writer.fd = -1};
    pack.dir_fd = open(spill_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(pack.dir_fd < 0, -errno);
    int code = load_directory(&pack);
    if (code == 0) code = pack_all(&pack, log_path);
    *result = pack.result;
    free_pack(&pack);
    return code;
}

// A process that became another program runs on, even if that program is not recorded.
static bool has_ended(const struct pack *pack, const struct pack_process *process) {
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct spill_header *other = &pack->process[i].spill.header;
        bool is_final = other->exit != EXIT_UNKNOWN && other->exit != EXIT_EXEC;
        if (is_final && other->pid == process->spill.header.pid &&
            other->start.epoch_ns >= process->spill.header.start.epoch_ns)
            return true;
    }
    return !spill_is_running(&process->spill.header);
}

// Spills of other hosts do not say.
int pack_is_running(const char *spill_dir, bool counts_unseen) {
    struct pack pack = {.writer.fd = -1};
    char host[256] = "";
    int running = 0;
    gethostname(host, sizeof host - 1);
    pack.dir_fd = open(spill_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    RETURN_IF(pack.dir_fd < 0, -errno);
    int code = visit_directory(&pack, load_spill);
    for (size_t i = 0; i < pack.process_count && code == 0 && !running; i++) {
        const struct pack_process *process = &pack.process[i];
        bool is_here = !strncmp(process->name, host, strlen(host)) && process->name[strlen(host)] == '.';
        uint32_t how = process->spill.header.exit;
        running = is_here && (how == EXIT_UNKNOWN || (how == EXIT_EXEC && counts_unseen)) && !has_ended(&pack, process);
    }
    free_pack(&pack);
    return code < 0 ? code : running;
}

int pack_check_name(const char *log_path, bool replace, struct problem *problem) {
    if (log_writer_may_replace(log_path, replace) != ERR_EXISTS)
        return 0; // a later step reports other errors in more detail
    return problem_set(problem, ERR_EXISTS, log_path,
                       replace ? "not a regular file" : "is there already; --force overwrites it");
}

static void remove_files(int dir_fd) {
    const struct dirent *entry;
    DIR *dir = open_entries(dir_fd);
    while (dir && (entry = readdir(dir))) unlinkat(dir_fd, entry->d_name, 0);
    if (dir) closedir(dir);
}

int pack_remove_directory(const char *spill_dir) {
    int dir_fd = open(spill_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    RETURN_IF(dir_fd < 0, -errno);
    // A process that outlives the job may make another file while the first ones are removed.
    enum { ATTEMPTS = 5 };
    int code = -1;
    for (int i = 0; i < ATTEMPTS && code; i++) {
        remove_files(dir_fd);
        code = rmdir(spill_dir);
    }
    int error = code ? -errno : 0;
    close(dir_fd);
    return error;
}
