#include "record/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"

#define ARRIVED "arrived."
#define DONE "done."
#define UNFINISHED "ending."
#define PACKER "packer"

// The first variable that is a number; 0 without one.
static int variable_number(const char *const *names) {
    for (; *names; names++) {
        const char *text = getenv(*names);
        if (text && *text >= '0' && *text <= '9') return atoi(text);
    }
    return 0;
}

// MPICH's launcher gives a launch no name. But all ranks descend from proxies, one per host, and all proxies report to
// the same port.
static const char *port_of_proxy(pid_t pid, char *words, size_t room) {
    static const char option[] = "--control-port";
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(words, 1, room - 1, file) : 0;
    words[len] = 0;
    if (file) fclose(file);
    for (const char *at = words; at < words + len; at += strlen(at) + 1) {
        const char *next = at + strlen(at) + 1;
        if (strcmp(at, option) == 0 && next < words + len) return next;
    }
    return NULL;
}

static void name_by_ancestors(char launch[64]) {
    enum { GENERATIONS = 32 };
    char words[4096];
    struct process_stat stat = {.parent = getppid()};
    snprintf(launch, 64, "%d", (int)stat.parent); // correct on one host, if there is no shell in between
    for (int i = 0; i < GENERATIONS && stat.parent > 1; i++) {
        pid_t pid = stat.parent;
        const char *port = port_of_proxy(pid, words, sizeof words);
        if (port) {
            snprintf(launch, 64, "%s", port);
            return;
        }
        if (!process_stat(pid, &stat)) return;
    }
}

static void name_launch(char launch[64]) {
    const char *name = getenv("PMIX_NAMESPACE");
    const char *step = getenv("SLURM_STEP_ID");
    const char *job = getenv("SLURM_JOB_ID");
    if (name && *name) {
        snprintf(launch, 64, "%s", name);
    } else if (step && job) {
        snprintf(launch, 64, "%s.%s", job, step);
    } else {
        name_by_ancestors(launch);
    }
    for (char *at = launch; *at; at++) {
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-", *at)) *at = '-';
    }
}

struct record_ranks record_ranks_find(void) {
    static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", NULL};
    static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
    struct record_ranks ranks = {.rank = variable_number(rank_names), .size = variable_number(size_names)};
    name_launch(ranks.launch);
    gethostname(ranks.host, sizeof ranks.host - 1);
    return ranks;
}

static char *mark_path(const char *dir, const char *kind, int rank) {
    char *path = NULL;
    return asprintf(&path, "%s/%s%d", dir, kind, rank) < 0 ? NULL : path;
}

static FILE *open_mark(const char *dir, const char *kind, int rank, const char *mode) {
    char *path = mark_path(dir, kind, rank);
    FILE *file = path ? fopen(path, mode) : NULL;
    free(path);
    return file;
}

int record_ranks_arrive(const struct record_ranks *ranks, const char *spill_dir) {
    struct spill_moment now = record_run_now();
    FILE *file = open_mark(spill_dir, ARRIVED, ranks->rank, "we");
    RETURN_IF(!file, -errno);
    fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", now.epoch_ns, now.mono_ns, now.units, ranks->host);
    return fclose(file) ? -errno : 0;
}

// --- what the packing rank reads in the marks of its own host; other hosts have other pids and clocks

static void read_arrival(FILE *file, const struct record_ranks *ranks, struct record_run *run) {
    struct spill_moment start;
    char host[sizeof ranks->host];
    bool read = fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %63s", &start.epoch_ns, &start.mono_ns, &start.units,
                       host) == 4;
    if (!read || strcmp(host, ranks->host) != 0) return;
    if (run->start.mono_ns == 0 || start.mono_ns < run->start.mono_ns) run->start = start;
}

static void write_children(FILE *file, const struct record_ranks *ranks, const struct record_run *run) {
    for (size_t i = 0; i < run->child_count; i++) {
        const struct pack_child *child = &run->children[i];
        fprintf(file, "%" PRIu32 " %d %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %s\n", child->pid, child->status,
                child->mono_ns, child->chars_known, child->chars[0], child->chars[1], ranks->host);
    }
}

static int read_children(FILE *file, const struct record_ranks *ranks, struct record_run *run) {
    struct pack_child child;
    int chars_known;
    char host[sizeof ranks->host];
    while (fscanf(file, "%" SCNu32 " %d %" SCNu64 " %d %" SCNu64 " %" SCNu64 " %63s", &child.pid, &child.status,
                  &child.mono_ns, &chars_known, &child.chars[0], &child.chars[1], host) == 7) {
        child.chars_known = chars_known != 0;
        if (strcmp(host, ranks->host) == 0) FORWARD(record_run_add_child(run, &child));
    }
    return 0;
}

int record_ranks_gather(const struct record_ranks *ranks, const char *spill_dir, struct record_run *run) {
    int code = 0;
    run->child_count = 0; // its mark contains its own children too
    for (int rank = 0; rank < ranks->size && code == 0; rank++) {
        FILE *arrived = open_mark(spill_dir, ARRIVED, rank, "re");
        FILE *done = open_mark(spill_dir, DONE, rank, "re");
        if (arrived) read_arrival(arrived, ranks, run);
        if (done) code = read_children(done, ranks, run);
        if (arrived) fclose(arrived);
        if (done) fclose(done);
    }
    return code;
}

// The mark appears complete. A guard knows less: it does not replace the mark of its `record`.
static void leave_done(const struct record_ranks *ranks, const char *spill_dir, const struct record_run *run) {
    char *path = mark_path(spill_dir, DONE, ranks->rank);
    char *unfinished = mark_path(spill_dir, UNFINISHED, ranks->rank);
    bool missing = path && unfinished && access(path, F_OK) != 0;
    FILE *file = missing ? fopen(unfinished, "we") : NULL;
    if (file) {
        write_children(file, ranks, run);
        if (fclose(file) == 0) rename(unfinished, path);
    }
    free(path);
    free(unfinished);
}

// --- which rank packs

static void count_marks(const char *dir, int *arrived, int *done) {
    *arrived = *done = 0;
    DIR *entries = opendir(dir);
    if (!entries) return;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        *arrived += strncmp(entry->d_name, ARRIVED, strlen(ARRIVED)) == 0;
        *done += strncmp(entry->d_name, DONE, strlen(DONE)) == 0;
    }
    closedir(entries);
}

// One rank becomes the packer. It stays the packer if its `record` is killed and its guard asks again. The claim is a
// symbolic link, because that appears together with its text.
static bool become_packer(const char *dir, int rank) {
    char *path = NULL;
    char own[32], packer[32] = "";
    snprintf(own, sizeof own, "%d", rank);
    if (asprintf(&path, "%s/%s", dir, PACKER) < 0) return false;
    bool is_packer =
        symlink(own, path) == 0 || (readlink(path, packer, sizeof packer - 1) > 0 && strcmp(packer, own) == 0);
    free(path);
    return is_packer;
}

bool record_ranks_finish(const struct record_ranks *ranks, const char *spill_dir, const struct record_run *run,
                         double wait_seconds) {
    const struct timespec pause = {0, 20 * 1000 * 1000};
    double deadline = clock_seconds() + wait_seconds;
    leave_done(ranks, spill_dir, run);
    for (;;) {
        int arrived, done;
        count_marks(spill_dir, &arrived, &done);
        bool waited = arrived >= ranks->size || clock_seconds() >= deadline;
        if (waited) return done >= arrived && done > 0 && become_packer(spill_dir, ranks->rank);
        nanosleep(&pause, NULL);
    }
}
