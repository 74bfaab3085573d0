// Which processes ran together, and how they and their threads are numbered.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "model/build/threads_private.h"

struct finding {
    struct lanes *lanes;
    const struct log *log;
};

// --- processes in the order in which they were begun

enum {
    TOGETHER_NS = 100000000, // processes that begin sooner after each other may have been made in another order
    PIDS_AROUND = 16384,     // numbers that are this far apart have started again from below
};

static int compare_start(const void *a, const void *b)
{
    const struct log_process *left = *(const struct log_process *const *)a,
                             *right = *(const struct log_process *const *)b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

static int compare_pid(const void *a, const void *b)
{
    const struct log_process *left = *(const struct log_process *const *)a,
                             *right = *(const struct log_process *const *)b;
    if (left->pid != right->pid) return left->pid < right->pid ? -1 : 1;
    return compare_start(a, b);
}

static void reverse(const struct log_process **process, size_t count)
{
    for (size_t low = 0, high = count; low + 1 < high; low++, high--) {
        const struct log_process *kept = process[low];
        process[low] = process[high - 1];
        process[high - 1] = kept;
    }
}

static void rotate(const struct log_process **process, size_t first, size_t count)
{
    reverse(process, first);
    reverse(process + first, count - first);
    reverse(process, count);
}

// The system numbers processes in the order in which they are made.
static void sort_by_pid(const struct log_process **process, size_t count)
{
    qsort(process, count, sizeof *process, compare_pid);
    size_t first = 0;
    uint32_t widest = PIDS_AROUND;
    for (size_t i = 1; i < count; i++) {
        uint32_t apart = process[i]->pid - process[i - 1]->pid;
        if (apart <= widest) continue;
        widest = apart;
        first = i;
    }
    if (first) rotate(process, first, count);
}

static void sort_processes(const struct log_process **process, size_t count)
{
    qsort(process, count, sizeof *process, compare_start);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && process[end]->start_ns - process[end - 1]->start_ns < TOGETHER_NS;) end++;
        sort_by_pid(&process[first], end - first);
    }
}

// --- programs

static bool belongs(const struct lane_program *program, const struct log_process *process)
{
    if (process->has_rank || program->is_mpi)
        return program->is_mpi && process->has_rank && program->world == process->world;
    return process->exe && program->name && !strcmp(process->exe, program->name) && process->start_ns < program->end_ns;
}

static int add_program(struct finding *l, const struct log_process *process, uint32_t *id)
{
    struct lanes *lanes = l->lanes;
    FORWARD(array_room(lanes->program, lanes->programs));
    struct lane_program *program = &lanes->program[ *id = (uint32_t)lanes->programs++];
    *program =
        (struct lane_program){.is_mpi = process->has_rank, .world = process->world, .start_ns = process->start_ns};
    if (process->exe) {
        program->name = arena_text(&lanes->arena, process->exe);
        RETURN_IF(!program->name, -ENOMEM);
    }
    if (process->has_rank) program->np = (uint32_t)log_world_at(l->log, process->world)->size;
    return 0;
}

// Programs by their processes' starts. Only the latest few can still take a process in.
static int find_program(struct finding *l, const struct log_process *process, uint32_t *id)
{
    enum { LATEST = 64 };
    size_t count = l->lanes->programs;
    for (size_t i = 0; i < count && (process->has_rank || i < LATEST); i++) {
        *id = (uint32_t)(count - 1 - i);
        if (belongs(&l->lanes->program[*id], process)) return 0;
    }
    return add_program(l, process, id);
}

struct membership {
    uint32_t program;
    uint32_t rank;
};

static int join_programs(struct finding *l, const struct log_process **sorted, size_t count, struct membership *of)
{
    sort_processes(sorted, count);
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = sorted[i];
        struct membership *member = &of[log_process_index(l->log, process)];
        FORWARD(find_program(l, process, &member->program));
        struct lane_program *program = &l->lanes->program[member->program];
        int64_t end_ns = process->has_end ? process->end_ns : INT64_MAX;
        if (end_ns > program->end_ns) program->end_ns = end_ns;
        if (!process->has_rank) {
            member->rank = program->np++;
            continue;
        }
        member->rank = (uint32_t)process->rank;
        if (member->rank >= program->np) program->np = member->rank + 1;
    }
    return 0;
}

// Processes without operations are nobody's rank, and make no program: launchers.
static void drop_empty(struct lanes *lanes)
{
    size_t used = 0;
    for (size_t i = 0; i < lanes->count; i++) {
        if (lanes->lane[i].transfers || lanes->lane[i].others) lanes->lane[used++] = lanes->lane[i];
    }
    lanes->count = used;
}

static int find_programs(struct finding *l)
{
    struct lanes *lanes = l->lanes;
    size_t count = log_process_count(l->log), used = 0;
    struct membership *of = calloc(count + 1, sizeof *of);
    const struct log_process **sorted = calloc(count + 1, sizeof *sorted);
    bool *has_lane = calloc(count + 1, sizeof *has_lane);
    int code = of && sorted && has_lane ? 0 : -ENOMEM;
    for (size_t i = 0; i < lanes->count && !code; i++) {
        size_t at = log_process_index(l->log, lanes->lane[i].process);
        if (!has_lane[at]) sorted[used++] = lanes->lane[i].process;
        has_lane[at] = true;
    }
    if (!code) code = join_programs(l, sorted, used, of);
    for (size_t i = 0; i < lanes->count && !code; i++) {
        const struct membership *member = &of[log_process_index(l->log, lanes->lane[i].process)];
        lanes->lane[i].program = member->program;
        lanes->lane[i].rank = member->rank;
    }
    free(has_lane);
    free(sorted);
    free(of);
    return code;
}

// Threads have no lasting names: they are numbered by where they begin.
static int compare_lanes(const void *a, const void *b, void *context)
{
    const struct lane *x = a, *y = b;
    const struct op_kind *kinds = context;
    if (x->program != y->program) return x->program < y->program ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->process != y->process) return x->process->id < y->process->id ? -1 : 1;
    if (!x->transfers != !y->transfers) return x->transfers ? -1 : 1;
    const struct op *p = x->transfers ? x->transfer : x->other, *q = y->transfers ? y->transfer : y->other;
    if (kinds[p->kind].set != kinds[q->kind].set) return kinds[p->kind].set < kinds[q->kind].set ? -1 : 1;
    for (unsigned c = 0; c < AT_COUNT; c++) {
        if (p->at[c] != q->at[c]) return p->at[c] < q->at[c] ? -1 : 1;
    }
    int names = strcmp(kinds[p->kind].call, kinds[q->kind].call);
    if (names) return names;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void number_threads(struct lanes *lanes)
{
    if (lanes->count) qsort_r(lanes->lane, lanes->count, sizeof *lanes->lane, compare_lanes, lanes->kind);
    for (size_t i = 1; i < lanes->count; i++) {
        struct lane *lane = &lanes->lane[i];
        bool same = lane[-1].program == lane->program && lane[-1].rank == lane->rank;
        lane->thread = same ? lane[-1].thread + 1 : 0;
    }
}

// --- where in the program a lane begins

static struct op_time *first_time(const struct lane *lane)
{
    bool by_other = lane->others && lane->other[0].at[AT_POSITION] == 0;
    return by_other ? lane->other_time : lane->time;
}

// Ranks of MPI begin together. Of other processes, and of threads, one is made by another in the course of its work.
static bool begin_together(const struct lanes *lanes, const struct lane *a, const struct lane *b)
{
    if (a->program != b->program) return false;
    return !lanes->program[a->program].is_mpi || a->rank == b->rank;
}

// The pause before a lane's first operation is the time since the first one of those that it began with.
static void find_beginnings(struct lanes *lanes)
{
    for (size_t first = 0, end; first < lanes->count; first = end) {
        int64_t start_ns = INT64_MAX;
        for (end = first; end < lanes->count && begin_together(lanes, &lanes->lane[first], &lanes->lane[end]); end++) {
            const struct op_time *time = first_time(&lanes->lane[end]);
            if (time->start_ns < start_ns) start_ns = time->start_ns;
        }
        for (size_t i = first; i < end; i++) {
            struct op_time *time = first_time(&lanes->lane[i]);
            time->think_ns = time->start_ns - start_ns;
        }
    }
}

int lanes_find_programs(struct lanes *lanes, const struct log *log)
{
    struct finding l = {lanes, log};
    drop_empty(lanes);
    FORWARD(find_programs(&l));
    number_threads(lanes);
    find_beginnings(lanes);
    return 0;
}
