#include "pack/pack.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "pack/private.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int add_process(struct pack *pack, struct pack_process **process)
{
    RETURN_IF(pack->process_count >= UINT32_MAX - 1, ERR_LIMIT);
    if (pack->process_count == pack->process_capacity) {
        size_t capacity = pack->process_capacity ? pack->process_capacity * 2 : 16;
        struct pack_process *grown = realloc(pack->process, capacity * sizeof *grown);
        RETURN_IF(!grown, -ENOMEM);
        pack->process = grown;
        pack->process_capacity = capacity;
    }
    *process = &pack->process[pack->process_count++];
    **process = (struct pack_process){.spill.fd = -1};
    return 0;
}

static void free_process(struct pack_process *process)
{
    free(process->name);
    free(process->exe);
    spill_free(&process->spill);
    bytes_free(&process->about);
    bytes_free(&process->files);
    bytes_free(&process->datatypes);
    bytes_free(&process->hints);
    bytes_free(&process->sites);
    lookup_free(&process->streams);
}

// The directory may be writable for others: only plain files count, and none is waited for.
static int open_spill(const struct pack *pack, const char *name)
{
    int fd = openat(pack->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) return fd;
    close(fd);
    return ERR_FORMAT;
}

// A spill that cannot be read is a loss, not a reason to give up the others.
static int add_spill(struct pack *pack, const char *name)
{
    int fd = open_spill(pack, name);
    if (fd == ERR_FORMAT || fd == -ELOOP || fd == -ENOENT) return 0;
    RETURN_IF(fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM, fd);
    struct spill spill = {.fd = -1};
    int code = fd < 0 ? fd : spill_read_file(fd, &spill);
    if (fd >= 0) close(fd);
    spill.fd = -1;
    if (code < 0) {
        if (code != ERR_NOTHING && code != -ENOMEM) pack->unreadable_bytes += spill.len ? spill.len : 1;
        spill_free(&spill);
        return code == -ENOMEM ? code : 0;
    }
    struct pack_process *process;
    code = add_process(pack, &process);
    if (code < 0) {
        spill_free(&spill);
        return code;
    }
    process->spill = spill;
    process->name = strdup(name);
    return process->name ? 0 : -ENOMEM;
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);
    return len > suffix_len && !strcmp(name + len - suffix_len, suffix);
}

static int find_spills(struct pack *pack)
{
    int fd = openat(pack->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int code = -errno;
        close(fd);
        return code;
    }
    int code = 0;
    const struct dirent *entry;
    while (code == 0 && (entry = readdir(dir))) {
        if (ends_in(entry->d_name, SPILL_SUFFIX)) code = add_spill(pack, entry->d_name);
        if (ends_in(entry->d_name, SPILL_LOST_SUFFIX)) pack->result.unrecorded++;
        if (ends_in(entry->d_name, PACK_DEVICES_SUFFIX)) code = pack_load_devices(pack, entry->d_name);
    }
    closedir(dir);
    return code;
}

static int by_start(const void *a, const void *b)
{
    const struct pack_process *one = a;
    const struct pack_process *two = b;
    const struct spill_moment *start_one = &one->spill.header.start;
    const struct spill_moment *start_two = &two->spill.header.start;
    if (start_one->epoch_ns != start_two->epoch_ns) return start_one->epoch_ns < start_two->epoch_ns ? -1 : 1;
    if (start_one->mono_ns != start_two->mono_ns) return start_one->mono_ns < start_two->mono_ns ? -1 : 1;
    return one->name && two->name ? strcmp(one->name, two->name) : 0;
}

static void number_processes(struct pack *pack)
{
    if (pack->process_count) qsort(pack->process, pack->process_count, sizeof *pack->process, by_start);
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        process->id = (uint32_t)i + 1;
        for (size_t j = 0; j < process->spill.count; j++) pack->all_bytes += process->spill.piece[j].used;
    }
}

static int with_spill_open(struct pack *pack, struct pack_process *process,
                           int (*work)(struct pack *, struct pack_process *))
{
    if (process->spill.data) return work(pack, process);
    process->spill.fd = open_spill(pack, process->name);
    int code = work(pack, process); // what can no longer be read is counted there
    if (process->spill.fd >= 0) close(process->spill.fd);
    process->spill.fd = -1;
    return code;
}

uint64_t pack_process_key(const struct pack *pack, const char *host, uint32_t pid)
{
    if (!host[0]) host = pack->host;
    return hash_bytes(pid, host, strlen(host));
}

static int count_processes(struct pack *pack)
{
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

// Only this machine's mounts are known, so a job of another one goes without.
static int find_mounts(struct pack *pack)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    if (!host[0] || strcmp(host, pack->host)) return 0;
    struct mounts mounts;
    int code = mounts_read(&mounts, "/proc/self/mountinfo");
    if (code < 0) return code == -ENOMEM ? code : 0;
    code = file_table_set_mounts(&pack->files, &mounts);
    mounts_free(&mounts);
    return code;
}

// Everything that must be known before the first byte is written.
static int gather(struct pack *pack)
{
    number_processes(pack);
    FORWARD(pack_load_job(pack));
    // Any directory could be named by mistake.
    RETURN_IF(!pack->job && !pack->saved_job.len && !pack->process_count, ERR_NOTHING);
    for (size_t i = 0; i < pack->process_count; i++) {
        FORWARD(with_spill_open(pack, &pack->process[i], pack_read_records));
    }
    FORWARD(find_mounts(pack));
    pack_find_start(pack);
    pack_set_clocks(pack);
    FORWARD(pack_find_ends(pack));
    return count_processes(pack);
}

static int write_log(struct pack *pack)
{
    FORWARD(pack_write_job(pack));
    FORWARD(file_table_write(&pack->files, &pack->writer));
    FORWARD(shared_table_write(&pack->datatypes, &pack->writer, RECORD_DATATYPE));
    FORWARD(shared_table_write(&pack->hints, &pack->writer, RECORD_HINTS));
    FORWARD(pack_write_devices(pack));
    for (size_t i = 0; i < pack->process_count; i++) FORWARD(pack_write_process(pack, &pack->process[i]));
    for (size_t i = 0; i < pack->process_count; i++) {
        FORWARD(with_spill_open(pack, &pack->process[i], pack_write_events));
    }
    for (size_t i = 0; i < pack->process_count; i++) {
        FORWARD(with_spill_open(pack, &pack->process[i], pack_write_counters));
    }
    if (pack->result.unrecorded) {
        FORWARD(pack_write_loss(pack, NULL, LOSS_NO_SPILL, pack->result.unrecorded, 0));
    }
    if (pack->unreadable_bytes) {
        pack->result.damaged_bytes += pack->unreadable_bytes;
        FORWARD(pack_write_loss(pack, NULL, LOSS_DAMAGED, 0, pack->unreadable_bytes));
    }
    return 0;
}

static struct log_header new_header(const struct pack *pack)
{
    struct log_header header = {
        .version = LOG_VERSION,
        .min_reader = LOG_MIN_READER,
        .features = FEATURE_NONE,
        .created_ns = clock_ns(CLOCK_REALTIME),
    };
    for (size_t i = 0; i < pack->process_count; i++) {
        if (pack->process[i].has_rank) header.features |= FEATURE_MPI;
    }
    // Early in a machine's life there may be no random numbers; the time of creation then is all that tells logs apart.
    if (getrandom(header.job_id, sizeof header.job_id, GRND_NONBLOCK) < 0) memset(header.job_id, 0, 16);
    return header;
}

static void free_pack(struct pack *pack)
{
    log_writer_abandon(&pack->writer);
    for (size_t i = 0; i < pack->process_count; i++) free_process(&pack->process[i]);
    free(pack->process);
    free(pack->child_end);
    free(pack->call_written);
    file_table_free(&pack->files);
    shared_table_free(&pack->datatypes);
    shared_table_free(&pack->hints);
    callsites_free(&pack->callsites);
    bytes_free(&pack->devices);
    bytes_free(&pack->saved_job);
    bytes_free(&pack->payload);
    if (pack->dir_fd >= 0) close(pack->dir_fd);
}

static int pack_all(struct pack *pack, const char *log_path, int log_fd)
{
    pack->call_written = calloc(call_table_len, sizeof *pack->call_written);
    RETURN_IF(!pack->call_written, -ENOMEM);
    FORWARD(gather(pack));
    struct log_header header = new_header(pack);
    FORWARD(log_path ? log_writer_open(&pack->writer, log_path, &header)
                     : log_writer_open_fd(&pack->writer, log_fd, &header));
    FORWARD(write_log(pack));
    FORWARD(log_writer_publish(&pack->writer, pack->options && pack->options->replace));
    pack->result.log_bytes = pack->writer.offset;
    return 0;
}

int pack_directory(const struct pack_job *job, const char *spill_dir, const char *log_path,
                   const struct pack_options *options, struct pack_result *result)
{
    struct pack pack = {.job = job, .options = options, .writer.fd = -1};
    pack.dir_fd = open(spill_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RETURN_IF(pack.dir_fd < 0, -errno);
    int code = find_spills(&pack);
    if (code == 0) code = pack_all(&pack, log_path, -1);
    *result = pack.result;
    free_pack(&pack);
    return code;
}

int pack_check_name(const char *log_path, bool replace, struct problem *problem)
{
    if (log_writer_may_replace(log_path, replace) != ERR_EXISTS) return 0; // other errors show later, with more to say
    return problem_set(problem, ERR_EXISTS, log_path,
                       replace ? "not a regular file" : "is there already; --force overwrites it");
}

int pack_image(const uint8_t *data, size_t len, int log_fd, struct pack_result *result)
{
    struct pack pack = {.dir_fd = -1, .writer.fd = -1};
    struct pack_process *process;
    FORWARD(add_process(&pack, &process));
    int code = spill_read(data, len, &process->spill);
    if (code == 0) code = pack_all(&pack, NULL, log_fd);
    *result = pack.result;
    free_pack(&pack);
    return code;
}

static void remove_files(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0) close(fd);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(dir))) unlinkat(dir_fd, entry->d_name, 0);
    closedir(dir);
}

int pack_remove_directory(const char *spill_dir)
{
    int dir_fd = open(spill_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    RETURN_IF(dir_fd < 0, -errno);
    // A process that outlives the job may make another file while the first ones go.
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
