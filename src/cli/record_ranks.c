#include "cli/record_ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ARRIVED "arrived."
#define DONE "done."
#define PACKER "packer"

static int number_of(const char *const *names, int otherwise)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        if (text && *text >= '0' && *text <= '9') return atoi(text);
    }
    return otherwise;
}

// The launcher's own name for the launch; on one host its process number does as well.
static void name_launch(char launch[64])
{
    const char *name = getenv("PMIX_NAMESPACE");
    const char *step = getenv("SLURM_STEP_ID");
    const char *job = getenv("SLURM_JOB_ID");
    if (name && *name) {
        snprintf(launch, 64, "%s", name);
    } else if (step && job) {
        snprintf(launch, 64, "%s.%s", job, step);
    } else {
        snprintf(launch, 64, "%d", (int)getppid());
    }
    for (char *at = launch; *at; at++) {
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-", *at)) *at = '-';
    }
}

struct record_ranks record_ranks_find(void)
{
    static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", NULL};
    static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
    struct record_ranks ranks = {.rank = number_of(rank_names, 0), .size = number_of(size_names, 0)};
    name_launch(ranks.launch);
    return ranks;
}

static int leave_mark(const char *dir, const char *kind, int rank)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s%d", dir, kind, rank) < 0) return -ENOMEM;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int code = fd < 0 ? -errno : 0;
    if (fd >= 0) close(fd);
    free(path);
    return code;
}

int record_ranks_arrive(const struct record_ranks *ranks, const char *spill_dir)
{
    return leave_mark(spill_dir, ARRIVED, ranks->rank);
}

static void count_marks(const char *dir, int *arrived, int *done)
{
    *arrived = *done = 0;
    DIR *entries = opendir(dir);
    if (!entries) return;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        *arrived += strncmp(entry->d_name, ARRIVED, strlen(ARRIVED)) == 0;
        *done += strncmp(entry->d_name, DONE, strlen(DONE)) == 0;
    }
    closedir(entries);
}

static bool become_packer(const char *dir)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", dir, PACKER) < 0) return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    free(path);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool record_ranks_finish(const struct record_ranks *ranks, const char *spill_dir, double wait_seconds)
{
    const struct timespec pause = {0, 20 * 1000 * 1000};
    double deadline = now_seconds() + wait_seconds;
    leave_mark(spill_dir, DONE, ranks->rank);
    for (;;) {
        int arrived, done;
        count_marks(spill_dir, &arrived, &done);
        bool waited = arrived >= ranks->size || now_seconds() >= deadline;
        if (waited) return done >= arrived && done > 0 && become_packer(spill_dir);
        nanosleep(&pause, NULL);
    }
}
