// Finds the ranks that ran together. No record contains this, and one log may hold several MPI jobs.
//
// The rule: ranks, in the order of their starts, join the first world that has their size and MPI library, does not
// have their rank yet, and has the same launcher on their host: the nearest ancestor that is one (mpiexec, or its
// process on each host). Consecutive jobs differ in their ranks, simultaneous jobs in their launchers. The worlds of
// MPI_Comm_spawn differ in one of the two. Many ranks that have one record together are a world, and others of theirs
// say so.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "log/private.h"

enum { MOST_ANCESTORS = 64 }; // more mean a cycle, and that the log is damaged

struct member { // the launcher of a world on one host
    uint32_t world;
    const struct log_process *launcher;
};

struct search {
    struct log *log;
    struct log_process **by_pid;   // all processes, by pid, then start
    struct log_process **by_start; // processes with a rank
    size_t ranks;
    struct lookup taken; // key: world, rank
    struct table members;
};

static struct log_process *process_at(const struct search *search, size_t i) {
    return (struct log_process *)search->log->processes.item + i;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

bool log_process_same_host(const struct log_process *a, const struct log_process *b) {
    return same_text(a->host, b->host);
}

bool log_process_goes_on(const struct log_process *process, const struct log_process *as) {
    if (process->exit != EXIT_EXEC || process->pid != as->pid) return false;
    if (process->group || as->group)
        return process->group && as->group && process->group->members == as->group->members;
    return log_process_same_host(process, as);
}

size_t log_launcher_prefix(const char *name) {
    static const char *const starts[] = {"mpiexec", "mpirun", "hydra_", "orte", "prte", "srun", "slurmstepd"};
    static const char *const names[] = {"orted", "prted", "prun"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) return strlen(names[i]);
    }
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) return strlen(starts[i]);
    }
    return 0;
}

static bool is_launcher(const struct log_process *process) {
    const char *name = process->exe ? process->exe : process->args.count ? process->args.word[0] : "";
    const char *slash = strrchr(name, '/');
    return log_launcher_prefix(slash ? slash + 1 : name) > 0;
}

static int compare_pids(const void *a, const void *b) {
    const struct log_process *left = *(struct log_process *const *)a, *right = *(struct log_process *const *)b;
    if (left->pid != right->pid) return left->pid < right->pid ? -1 : 1;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

static int compare_starts(const void *a, const void *b) {
    const struct log_process *left = *(struct log_process *const *)a, *right = *(struct log_process *const *)b;
    if (!left->group != !right->group) return left->group ? -1 : 1; // see is_taken
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

// The kernel reuses process ids, and an exec makes a new image with the same id: the parent is the latest image that
// existed when the child began.
static const struct log_process *lookup_parent(const struct search *search, const struct log_process *child) {
    const struct log_process *parent = NULL;
    if (!child->ppid) return NULL; // not known
    size_t low = 0, high = search->log->processes.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (search->by_pid[middle]->pid < child->ppid)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < search->log->processes.count && search->by_pid[low]->pid == child->ppid; low++) {
        const struct log_process *image = search->by_pid[low];
        if (image->start_ns <= child->start_ns && log_process_same_host(image, child)) parent = image;
    }
    return parent;
}

static const struct log_process *nearest_launcher(const struct search *search, const struct log_process *process) {
    const struct log_process *ancestor = lookup_parent(search, process);
    for (unsigned i = 0; ancestor && i < MOST_ANCESTORS; i++) {
        if (ancestor->is_launcher) return ancestor;
        ancestor = lookup_parent(search, ancestor);
    }
    return NULL;
}

// Whether the world has another launcher on that host. `known`: it has this one.
static bool has_other_launcher(const struct search *search, uint32_t world, const struct log_process *launcher,
                               bool *known) {
    const struct member *members = search->members.item;
    *known = false;
    for (size_t i = 0; launcher && i < search->members.count; i++) {
        if (members[i].world != world || !log_process_same_host(members[i].launcher, launcher)) continue;
        *known = members[i].launcher == launcher;
        return !*known;
    }
    return false;
}

// Ranks that have one record are all of one world, and those that say that they belong to them.
static int join_group(struct search *search, struct log_process *process) {
    struct log *log = search->log;
    const struct log_process *known = log_process_find(log, process->with);
    if (known && known->group && known->world != LOG_NO_WORLD) {
        process->world = known->world;
    } else if (process->group) {
        struct log_world *world = table_add(&log->worlds, sizeof *world);
        RETURN_IF(!world, -ENOMEM);
        *world = (struct log_world){.size = process->mpi_size, .mpi = process->mpi};
        process->world = (uint32_t)log->worlds.count - 1;
    }
    if (process->world == LOG_NO_WORLD) return 0;
    ((struct log_world *)log->worlds.item)[process->world].ranks += log_process_members(process);
    if (process->group) return 0;
    return lookup_set(&search->taken, lookup_pair(process->world, (uint32_t)process->rank), process->world);
}

static bool is_taken(const struct search *search, uint32_t world, int64_t rank) {
    if (lookup_find(&search->taken, lookup_pair(world, (uint32_t)rank)) != LOOKUP_NONE) return true;
    for (size_t i = 0; i < search->ranks; i++) { // groups come first
        const struct log_process *process = search->by_start[i];
        if (!process->group) break;
        if (process->world == world && log_process_has_rank(process, rank)) return true;
    }
    return false;
}

static int join(struct search *search, struct log_process *process) {
    struct log *log = search->log;
    if (process->world != LOG_NO_WORLD) return 0;
    const struct log_process *launcher = nearest_launcher(search, process);
    uint32_t number = 0;
    bool known = false;
    for (; number < log->worlds.count; number++) {
        const struct log_world *world = log_world_at(log, number);
        if (world->size == process->mpi_size && same_text(world->mpi, process->mpi) &&
            !is_taken(search, number, process->rank) && !has_other_launcher(search, number, launcher, &known))
            break;
    }
    if (number == log->worlds.count) {
        struct log_world *world = table_add(&log->worlds, sizeof *world);
        RETURN_IF(!world, -ENOMEM);
        *world = (struct log_world){.size = process->mpi_size, .mpi = process->mpi};
        known = false;
    }
    if (launcher && !known) {
        struct member *member = table_add(&search->members, sizeof *member);
        RETURN_IF(!member, -ENOMEM);
        *member = (struct member){number, launcher};
    }
    process->world = number;
    ((struct log_world *)log->worlds.item)[number].ranks++;
    return lookup_set(&search->taken, lookup_pair(number, (uint32_t)process->rank), number);
}

static int assign_worlds(struct search *search) {
    size_t count = search->log->processes.count;
    search->by_pid = malloc((count + 1) * sizeof *search->by_pid);
    search->by_start = malloc((count + 1) * sizeof *search->by_start);
    RETURN_IF(!search->by_pid || !search->by_start, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        struct log_process *process = process_at(search, i);
        process->world = LOG_NO_WORLD;
        process->is_launcher = !process->has_rank && is_launcher(process);
        search->by_pid[i] = process;
        if (process->has_rank) search->by_start[search->ranks++] = process;
    }
    qsort(search->by_pid, count, sizeof *search->by_pid, compare_pids);
    qsort(search->by_start, search->ranks, sizeof *search->by_start, compare_starts);
    for (unsigned pass = 0; pass < 2; pass++) { // first those that others belong to
        for (size_t i = 0; i < search->ranks; i++) {
            struct log_process *process = search->by_start[i];
            bool is_first = process->group && !process->with;
            if (pass == 0 ? is_first : !is_first && process->with) FORWARD(join_group(search, process));
        }
    }
    for (size_t i = 0; i < search->ranks; i++) FORWARD(join(search, search->by_start[i]));
    struct log_world *world = search->log->worlds.item;
    for (size_t i = 0; i < search->log->worlds.count; i++) {
        if (!world[i].size) world[i].size = world[i].ranks;
    }
    return 0;
}

int log_assign_worlds(struct log *log) {
    struct search search = {.log = log};
    int code = assign_worlds(&search);
    free(search.by_pid);
    free(search.by_start);
    lookup_free(&search.taken);
    free(search.members.item);
    return code;
}
