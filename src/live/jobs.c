// A job's processes have its directory in their environment; `record` holds a file in it open. So nothing needs to be
// registered anywhere, and nothing is left behind.
#include "live/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/io.h"
#include "base/settings.h"
#include "base/text_list.h"
#include "fmt/fields.h"
#include "fmt/records.h"
#include "fmt/spill.h"
#include "pack/pack.h"

enum { MOST_BYTES = 1 << 20 };

// Calls `visit` for each spill directory that a process has; it stops the search by returning other than 0.
typedef int visit_directory(void *context, const char *directory);

static int read_small(const char *path, struct bytes *out) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    out->len = 0;
    int code = io_read_all(fd, out, MOST_BYTES);
    close(fd);
    return code < 0 ? code : bytes_append(out, "", 1);
}

static int visit_environment(const char *process, struct bytes *text, visit_directory *visit, void *context) {
    static const char name[] = SETTING_JOB "=";
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/environ", process);
    if (read_small(path, text) < 0) return 0;
    const char *at = (const char *)text->data, *end = at + text->len;
    for (; at < end; at += strlen(at) + 1) {
        if (!strncmp(at, name, sizeof name - 1)) return visit(context, at + sizeof name - 1);
    }
    return 0;
}

static bool is_ioseer(const char *process) {
    char path[64], name[32];
    snprintf(path, sizeof path, "/proc/%.20s/comm", process);
    return io_first_line(path, name, sizeof name) && !strcmp(name, "ioseer");
}

static int visit_descriptors(const char *process, visit_directory *visit, void *context) {
    char path[64], target[PATH_MAX];
    int code = 0;
    snprintf(path, sizeof path, "/proc/%.20s/fd", process);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && code == 0 && (entry = readdir(dir))) {
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        const size_t suffix = sizeof PACK_DEVICES_SUFFIX - 1;
        if (len <= (ssize_t)suffix) continue;
        target[len] = 0;
        char *slash = strrchr(target, '/');
        if (strcmp(target + len - suffix, PACK_DEVICES_SUFFIX) || !slash) continue;
        *slash = 0;
        code = visit(context, target);
    }
    if (dir) closedir(dir);
    return code;
}

static int visit_process(const char *process, struct bytes *text, visit_directory *visit, void *context) {
    if (is_ioseer(process)) return visit_descriptors(process, visit, context);
    return visit_environment(process, text, visit, context);
}

static int visit_processes(visit_directory *visit, void *context) {
    int code = 0;
    struct bytes text = {0};
    DIR *dir = opendir("/proc");
    const struct dirent *entry;
    while (dir && code == 0 && (entry = readdir(dir))) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            code = visit_process(entry->d_name, &text, visit, context);
    }
    if (dir) closedir(dir);
    bytes_free(&text);
    return code;
}

// --- the list

static int describe(struct live_job *job, struct fields_in body) {
    struct field field;
    while (fields_next(&body, &field) > 0) {
        char *text = NULL;
        if (field.key == JOB_START_NS) job->start_ns = field.number;
        if (!field.is_bytes) continue;
        if (field.key == JOB_COMMAND) {
            const char *before = job->command ? job->command : "";
            RETURN_IF(asprintf(&text, "%s%s%.*s", before, *before ? " " : "", (int)field.len, field.data) < 0, -ENOMEM);
            free(job->command);
            job->command = text;
            if (!job->program) job->program = strndup((const char *)field.data, field.len);
        }
        if (field.key == JOB_ID && !job->id) job->id = strndup((const char *)field.data, field.len);
    }
    return 0;
}

static void free_job(struct live_job *job) {
    free(job->directory);
    free(job->name);
    free(job->program);
    free(job->id);
    free(job->command);
}

// "run.ioseer.spill-Ab3dEf" -> "run.ioseer"
static char *name_of(const char *directory) {
    const char *slash = strrchr(directory, '/'), *base = slash ? slash + 1 : directory;
    const char *end = strstr(base, ".spill-");
    return strndup(base, end ? (size_t)(end - base) : strlen(base));
}

static int add_job(void *context, const char *directory) {
    struct live_jobs *jobs = context;
    struct live_job job = {0};
    struct bytes data = {0};
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < jobs->count; i++) {
        if (!strcmp(jobs->job[i].directory, directory)) return 0;
    }
    snprintf(path, sizeof path, "%.4095s/" PACK_JOB_FILE, directory);
    int code = read_small(path, &data);
    if (code < 0) return code == -ENOMEM ? code : 0; // another user's, or gone
    struct fields_in records = {data.data, data.data + data.len - 1}, body;
    unsigned kind;
    while (code >= 0 && fields_next_record(&records, &kind, &body) > 0) {
        if (kind == RECORD_JOB) code = describe(&job, body);
    }
    bytes_free(&data);
    job.directory = strdup(directory);
    job.name = name_of(directory);
    if (code >= 0) code = job.directory && job.name ? array_push(jobs->job, jobs->count, job) : -ENOMEM;
    if (code < 0) free_job(&job);
    return code;
}

static int later_first(const void *a, const void *b) {
    const struct live_job *one = a, *two = b;
    return one->start_ns > two->start_ns ? -1 : one->start_ns < two->start_ns;
}

int live_jobs_find(struct live_jobs *jobs) {
    *jobs = (struct live_jobs){0};
    FORWARD(visit_processes(add_job, jobs));
    if (jobs->count) qsort(jobs->job, jobs->count, sizeof *jobs->job, later_first);
    return 0;
}

void live_jobs_free(struct live_jobs *jobs) {
    for (size_t i = 0; i < jobs->count; i++) free_job(&jobs->job[i]);
    free(jobs->job);
    *jobs = (struct live_jobs){0};
}

// --- one of them

static const char *last_part(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static bool is_called(const struct live_job *job, const char *word) {
    const char *const names[] = {job->name, last_part(job->program), job->id, job->directory};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i] && !strcmp(names[i], word)) return true;
    }
    return false;
}

const char *live_jobs_named(const struct live_jobs *jobs, const char *word, bool *several) {
    const char *found = NULL;
    *several = false;
    for (size_t i = 0; i < jobs->count; i++) {
        if (!is_called(&jobs->job[i], word) && !is_called(&jobs->job[i], last_part(word))) continue;
        *several = found;
        found = jobs->job[i].directory;
    }
    return found;
}

struct search {
    const char *directory;
};

static int is_directory(void *context, const char *directory) {
    return !strcmp(((const struct search *)context)->directory, directory);
}

bool live_jobs_has(const char *directory) {
    char resolved[PATH_MAX];
    struct search search = {realpath(directory, resolved) ? resolved : directory};
    return visit_processes(is_directory, &search) == 1;
}

// Whether a directory has a spill of the process: "HOST.PID.TIME.spill".
static bool has_spill(const char *directory, uint32_t pid) {
    char host[256] = "", begin[300];
    bool found = false;
    gethostname(host, sizeof host - 1);
    snprintf(begin, sizeof begin, "%s.%u.", host, pid);
    DIR *dir = opendir(directory);
    const struct dirent *entry;
    while (dir && !found && (entry = readdir(dir)))
        found = !strncmp(entry->d_name, begin, strlen(begin)) && strstr(entry->d_name, SPILL_SUFFIX);
    if (dir) closedir(dir);
    return found;
}

const char *live_jobs_of_process(const struct live_jobs *jobs, uint32_t pid) {
    char process[16];
    struct bytes text = {0};
    const char *found = NULL;
    snprintf(process, sizeof process, "%u", pid);
    for (size_t i = 0; i < jobs->count && !found; i++) {
        struct search search = {jobs->job[i].directory};
        if (has_spill(search.directory, pid) || visit_process(process, &text, is_directory, &search) == 1)
            found = search.directory;
    }
    bytes_free(&text);
    return found;
}

static int take_directory(void *context, const char *directory) {
    snprintf(context, PATH_MAX, "%s", directory);
    return 1;
}

bool live_jobs_directory(uint32_t record, char directory[PATH_MAX]) {
    char process[16];
    snprintf(process, sizeof process, "%u", record);
    return visit_descriptors(process, take_directory, directory) == 1;
}
