// Which processes ran together, and how they and their threads are numbered.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scoped.h"
#include "model/build/recorded.h"

struct assigning {
    struct recorded *recorded;
    const struct log *log;
};

// --- processes in the order in which they were begun

enum {
    TOGETHER_NS = 100000000, // processes that begin within this time may have been created in another order
    PIDS_AROUND = 16384,     // a larger distance between process ids means that they wrapped around
};

static int compare_start(const void *a, const void *b) {
    const struct log_process *left = *(const struct log_process *const *)a,
                             *right = *(const struct log_process *const *)b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

static int compare_pid(const void *a, const void *b) {
    const struct log_process *left = *(const struct log_process *const *)a,
                             *right = *(const struct log_process *const *)b;
    if (left->pid != right->pid) return left->pid < right->pid ? -1 : 1;
    return compare_start(a, b);
}

static void reverse(const struct log_process **process, size_t count) {
    for (size_t low = 0, high = count; low + 1 < high; low++, high--) {
        const struct log_process *kept = process[low];
        process[low] = process[high - 1];
        process[high - 1] = kept;
    }
}

static void rotate(const struct log_process **process, size_t first, size_t count) {
    reverse(process, first);
    reverse(process + first, count - first);
    reverse(process, count);
}

// The system numbers processes in the order in which they are created.
static void sort_by_pid(const struct log_process **process, size_t count) {
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

// Whether each of the processes, in the order of their starts, is an image that began by exec after its process had
// started others, as the last command of a shell does. Its number says nothing about when it began.
static int find_late(const struct log_process **process, size_t count, bool *late) {
    SCOPED(lookup_free) struct lookup parents = {0};
    for (size_t i = 0; i < count; i++) {
        uint64_t host = hash_text(0, process[i]->host ? process[i]->host : "");
        late[i] = lookup_find(&parents, hash_add(host, process[i]->pid)) != LOOKUP_NONE;
        FORWARD(lookup_set(&parents, hash_add(host, process[i]->ppid), 0));
    }
    return 0;
}

static int sort_processes(const struct log_process **process, size_t count) {
    SCOPED_FREE bool *late = calloc(count + 1, sizeof *late);
    RETURN_IF(!late, -ENOMEM);
    qsort(process, count, sizeof *process, compare_start);
    FORWARD(find_late(process, count, late));
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && !late[end] && process[end]->start_ns - process[end - 1]->start_ns < TOGETHER_NS;)
            end++;
        sort_by_pid(&process[first], end - first);
    }
    return 0;
}

// --- programs

static bool belongs(const struct recorded_program *program, const struct log_process *process) {
    if (process->has_rank || program->is_mpi)
        return program->is_mpi && process->has_rank && program->world == process->world;
    return process->exe && program->name && !strcmp(process->exe, program->name) && process->start_ns < program->end_ns;
}

static int add_program(struct assigning *l, const struct log_process *process, uint32_t *id) {
    struct recorded *recorded = l->recorded;
    FORWARD(array_room(recorded->program, recorded->programs));
    struct recorded_program *program = &recorded->program[ *id = (uint32_t)recorded->programs++];
    *program =
        (struct recorded_program){.is_mpi = process->has_rank, .world = process->world, .start_ns = process->start_ns};
    if (process->exe) {
        program->name = arena_text(&recorded->arena, process->exe);
        RETURN_IF(!program->name, -ENOMEM);
    }
    if (process->has_rank) program->np = (uint32_t)log_world_at(l->log, process->world)->size;
    return 0;
}

// Looks for a program that the process belongs to. Programs are in the order of their starts; only the latest few can
// still get another process.
static int program_of(struct assigning *l, const struct log_process *process, uint32_t *id) {
    enum { LATEST = 64 };
    size_t count = l->recorded->programs;
    for (size_t i = 0; i < count && (process->has_rank || i < LATEST); i++) {
        *id = (uint32_t)(count - 1 - i);
        if (belongs(&l->recorded->program[*id], process)) return 0;
    }
    return add_program(l, process, id);
}

struct membership {
    uint32_t program;
    uint32_t rank;
};

static int join_programs(struct assigning *l, const struct log_process **sorted, size_t count, struct membership *of) {
    FORWARD(sort_processes(sorted, count));
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = sorted[i];
        struct membership *member = &of[log_process_index(l->log, process)];
        FORWARD(program_of(l, process, &member->program));
        struct recorded_program *program = &l->recorded->program[member->program];
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

// Processes without operations, such as launchers, have no rank and make no program.
static void drop_idle(struct recorded *recorded, bool communicating) {
    size_t used = 0;
    for (size_t i = 0; i < recorded->count; i++) {
        struct thread_ops *thread = &recorded->thread[i];
        bool stays = thread->transfers || thread->others || (thread->partners && !communicating);
        if (stays)
            recorded->thread[used++] = *thread;
        else
            thread_ops_free(thread);
    }
    recorded->count = used;
}

void recorded_drop_idle(struct recorded *recorded) { drop_idle(recorded, true); }

static int assign_programs(struct assigning *l) {
    struct recorded *recorded = l->recorded;
    size_t count = log_process_count(l->log), used = 0;
    SCOPED_FREE struct membership *of = calloc(count + 1, sizeof *of);
    SCOPED_FREE const struct log_process **sorted = calloc(count + 1, sizeof *sorted);
    SCOPED_FREE bool *has_thread = calloc(count + 1, sizeof *has_thread);
    RETURN_IF(!of || !sorted || !has_thread, -ENOMEM);
    for (size_t i = 0; i < recorded->count; i++) {
        size_t at = log_process_index(l->log, recorded->thread[i].process);
        if (!has_thread[at]) sorted[used++] = recorded->thread[i].process;
        has_thread[at] = true;
    }
    FORWARD(join_programs(l, sorted, used, of));
    for (size_t i = 0; i < recorded->count; i++) {
        const struct membership *member = &of[log_process_index(l->log, recorded->thread[i].process)];
        recorded->thread[i].program = member->program;
        recorded->thread[i].rank = member->rank;
    }
    return 0;
}

// Threads have no lasting names: they are numbered by where they begin.
static int compare_threads(const void *a, const void *b, void *context) {
    const struct thread_ops *x = a, *y = b;
    const struct op_kind *kinds = context;
    if (x->program != y->program) return x->program < y->program ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->process != y->process) return x->process->id < y->process->id ? -1 : 1;
    if (!x->transfers != !y->transfers) return x->transfers ? -1 : 1;
    if (!x->transfers && !x->others != !y->others) return x->others ? -1 : 1;
    if (!x->transfers && !x->others) return x->tid < y->tid ? -1 : x->tid > y->tid;
    const struct op *p = x->transfers ? x->transfer : x->other, *q = y->transfers ? y->transfer : y->other;
    if (kinds[p->kind].set != kinds[q->kind].set) return kinds[p->kind].set < kinds[q->kind].set ? -1 : 1;
    for (unsigned c = 0; c < AT_COUNT; c++) {
        if (p->at[c] != q->at[c]) return p->at[c] < q->at[c] ? -1 : 1;
    }
    int names = strcmp(kinds[p->kind].call, kinds[q->kind].call);
    if (names) return names;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void number_threads(struct recorded *recorded) {
    if (recorded->count)
        qsort_r(recorded->thread, recorded->count, sizeof *recorded->thread, compare_threads, recorded->kind);
    for (size_t i = 1; i < recorded->count; i++) {
        struct thread_ops *thread = &recorded->thread[i];
        bool same = thread[-1].program == thread->program && thread[-1].rank == thread->rank;
        thread->number = same ? thread[-1].number + 1 : 0;
    }
}

// --- where in the program a thread begins

// Of its first operation; NULL: it has none.
static struct op_time *first_time(const struct thread_ops *thread) {
    bool by_other = thread->others && thread->other[0].at[AT_POSITION] == 0;
    return by_other ? thread->other_time : thread->time;
}

// MPI ranks begin together. Other processes, and threads, are started by another one during its work.
static bool begin_together(const struct recorded *recorded, const struct thread_ops *a, const struct thread_ops *b) {
    if (a->program != b->program) return false;
    return !recorded->program[a->program].is_mpi || a->rank == b->rank;
}

// The pause before the first operation of a thread is the time since the first operation of the threads that it began
// with.
static void set_beginnings(struct recorded *recorded) {
    for (size_t first = 0, end; first < recorded->count; first = end) {
        int64_t start_ns = INT64_MAX;
        for (end = first;
             end < recorded->count && begin_together(recorded, &recorded->thread[first], &recorded->thread[end]);
             end++) {
            const struct op_time *time = first_time(&recorded->thread[end]);
            if (time && time->start_ns < start_ns) start_ns = time->start_ns;
        }
        for (size_t i = first; i < end; i++) {
            struct op_time *time = first_time(&recorded->thread[i]);
            if (time) time->think_ns = time->start_ns - start_ns;
        }
    }
}

int recorded_find_programs(struct recorded *recorded, const struct log *log) {
    struct assigning l = {recorded, log};
    drop_idle(recorded, false);
    FORWARD(assign_programs(&l));
    number_threads(recorded);
    set_beginnings(recorded);
    return 0;
}
