#include "model/build/communicators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/order.h"
#include "base/scoped.h"
#include "fmt/communicator.h"

enum { MOST_REMOTE = 1 << 24 };

struct members {
    int64_t *rank; // in the program, by rank in the communicator; negative: not known
    uint32_t count;
    uint64_t hash;
};

struct joining {
    struct communicators *out;
    const struct recorded *recorded;
    const struct communicator **all; // by process and number
    size_t count;
    struct lookup joined_of;  // what identifies an entry -> entry
    struct lookup color_of;   // entry and members -> color
    struct lookup made;       // of the process: members -> how many it has had with these
    struct lookup members_of; // packed list -> members
    struct members *members;
    size_t lists;
    uint64_t remote_left; // members of other groups that may still be kept: a damaged log may claim any number
};

// --- members

// Ranks that the program does not have are unknown: those of other worlds, and in a damaged log.
static void expand(const struct comm_group *group, uint32_t np, struct members *to) {
    struct members_in in = group->members;
    struct members_run run;
    while (members_next(&in, &run) == 1) {
        for (uint64_t i = 0; i < run.count; i++) {
            int64_t rank = run.first < 0 ? -1 : run.first + (int64_t)i * run.step;
            to->rank[to->count++] = rank < (int64_t)np ? rank : -1;
        }
    }
}

static int make_members(struct joining *j, const struct communicator *from, uint32_t np, struct members *to) {
    FORWARD(arena_array(&j->out->arena, to->rank, from->local.size + from->remote.size));
    expand(&from->local, np, to);
    uint32_t local = to->count;
    expand(&from->remote, np, to);
    SCOPED_FREE int64_t *sorted = malloc((to->count + 1) * sizeof *sorted);
    RETURN_IF(!sorted, -ENOMEM);
    memcpy(sorted, to->rank, to->count * sizeof *sorted);
    if (to->count > local) qsort(sorted, to->count, sizeof *sorted, order_int64);
    to->hash = hash_bytes(to->count, sorted, to->count * sizeof *sorted);
    return 0;
}

static uint64_t hash_packed(uint64_t hash, const struct members_in *packed) {
    size_t len = (size_t)(packed->end - packed->at);
    return len ? hash_bytes(hash_add(hash, len), packed->at, len) : hash_add(hash, 0);
}

// The ranks of the communicator; of an inter-communicator both sides. Their hash is the same in all its processes. Most
// processes have the same lists: each is kept once.
static int find_members(struct joining *j, const struct communicator *from, uint32_t np, struct members *to) {
    bool is_known =
        !from->local.cut && !from->remote.cut && from->local.size <= np && from->remote.size <= j->remote_left;
    *to = (struct members){.hash = hash_add(from->local.hash, from->local.size)};
    if (!is_known) return 0;
    uint64_t key = hash_packed(hash_packed(np, &from->local.members), &from->remote.members);
    uint32_t place = lookup_find(&j->members_of, key);
    if (place == LOOKUP_NONE) {
        j->remote_left -= from->remote.size;
        FORWARD(make_members(j, from, np, to));
        FORWARD(lookup_set(&j->members_of, key, (uint32_t)j->lists));
        return array_push(j->members, j->lists, *to);
    }
    *to = j->members[place];
    return 0;
}

// --- entries

// A call on a parent is made by all its processes; otherwise only the members know of each other.
static uint64_t identify(const struct communicator *from, uint32_t parent, uint64_t members, uint32_t nth) {
    bool by_members = parent == NO_COMMUNICATOR || from->origin == ORIGIN_UNKNOWN || from->origin >= ORIGIN_INTER ||
                      from->origin == ORIGIN_GROUP;
    uint64_t hash = hash_add(1, from->origin);
    return by_members ? hash_add(hash_add(hash, members), nth) : hash_add(hash_add(hash, parent), from->ordinal);
}

static int add_entry(struct joining *j, const struct thread_ops *thread, unsigned origin, uint64_t identity,
                     uint32_t *place) {
    struct communicators *out = j->out;
    uint32_t np = j->recorded->program[thread->program].np;
    *place = lookup_find(&j->joined_of, identity);
    if (*place != LOOKUP_NONE) return 0;
    struct joined_communicator made = {.program = thread->program, .origin = origin};
    FORWARD(arena_array(&out->arena, made.color, np));
    FORWARD(arena_array(&out->arena, made.key, np));
    FORWARD(arena_array(&out->arena, made.size, np));
    FORWARD(arena_array(&out->arena, made.whole, np));
    for (uint32_t i = 0; i < np; i++) made.color[i] = -1;
    *place = (uint32_t)out->count;
    FORWARD(array_push(out->joined, out->count, made));
    return lookup_set(&j->joined_of, identity, *place);
}

// Where the process stands among the members.
static int64_t place_in(const struct process_communicator *of, uint32_t rank) {
    for (uint32_t i = 0; i < of->ranks; i++) {
        if (of->rank[i] == (int64_t)rank) return i;
    }
    return 0;
}

static int enter(struct joining *j, const struct thread_ops *thread, uint64_t members, uint64_t size,
                 const struct process_communicator *of) {
    struct joined_communicator *joined = &j->out->joined[of->joined];
    uint64_t key = hash_add(hash_add(2, of->joined), members);
    uint32_t color = lookup_find(&j->color_of, key);
    if (joined->color[thread->rank] >= 0) return 0; // a second process of the rank
    if (color == LOOKUP_NONE) {
        color = joined->colors++;
        FORWARD(lookup_set(&j->color_of, key, color));
    }
    joined->color[thread->rank] = color;
    joined->key[thread->rank] = place_in(of, thread->rank);
    joined->whole[color] = ++joined->size[color] == size;
    return 0;
}

static int join_one(struct joining *j, const struct thread_ops *thread, const struct communicator *from) {
    struct process_communicator *number = j->out->of_process[thread->process->index], *to = &number[from->number];
    struct members list;
    FORWARD(find_members(j, from, j->recorded->program[thread->program].np, &list));
    to->rank = list.rank;
    to->ranks = list.count;
    uint64_t members = list.hash;
    uint32_t nth = lookup_find(&j->made, hash_add(members, from->origin));
    nth = nth == LOOKUP_NONE ? 0 : nth + 1;
    FORWARD(lookup_set(&j->made, hash_add(members, from->origin), nth));
    bool has_parent = from->parent && from->parent < j->out->numbers[thread->process->index];
    uint32_t parent = has_parent ? number[from->parent].joined : NO_COMMUNICATOR;
    if (from->origin == ORIGIN_WORLD || from->origin == ORIGIN_SELF) parent = thread->program;
    uint64_t identity = hash_add(identify(from, parent, members, nth), thread->program);
    FORWARD(add_entry(j, thread, from->origin, identity, &to->joined));
    return enter(j, thread, members, from->local.size + from->remote.size, to);
}

// A log without communicators: there is the world.
static int join_world(struct joining *j, const struct thread_ops *thread) {
    uint8_t members[MEMBERS_MAX_BYTES];
    uint32_t np = j->recorded->program[thread->program].np;
    struct members_out out;
    members_start(&out, members);
    for (uint32_t i = 0; i < np; i++) members_add(&out, i);
    members_end(&out);
    return join_one(j, thread,
                    &(struct communicator){.number = COMMUNICATORS_WORLD,
                                           .origin = ORIGIN_WORLD,
                                           .local = {.size = np, .members = {members, out.at}}});
}

static int by_process(const void *a, const void *b) {
    const struct communicator *left = *(const struct communicator *const *)a,
                              *right = *(const struct communicator *const *)b;
    if (left->process != right->process) return left->process < right->process ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int list_all(struct joining *j, const struct log *log) {
    j->count = log_communicator_count(log);
    FORWARD(arena_array(&j->out->arena, j->all, j->count));
    for (size_t i = 0; i < j->count; i++) j->all[i] = log_communicator_at(log, i);
    if (j->count) qsort(j->all, j->count, sizeof *j->all, by_process);
    return 0;
}

static int join_process(struct joining *j, const struct thread_ops *thread) {
    const struct log_process *process = thread->process;
    size_t first = 0, end = j->count;
    while (first < end) {
        size_t middle = (first + end) / 2;
        if (j->all[middle]->process < process->id)
            first = middle + 1;
        else
            end = middle;
    }
    while (end < j->count && j->all[end]->process == process->id) end++;
    uint32_t numbers = end > first ? j->all[end - 1]->number + 1 : COMMUNICATORS_WORLD + 1;
    struct process_communicator *number;
    FORWARD(arena_array(&j->out->arena, number, numbers));
    for (uint32_t i = 0; i < numbers; i++) number[i].joined = NO_COMMUNICATOR;
    j->out->of_process[process->index] = number;
    j->out->numbers[process->index] = numbers;
    lookup_clear(&j->made);
    if (first == end) FORWARD(join_world(j, thread));
    for (size_t i = first; i < end; i++) FORWARD(join_one(j, thread, j->all[i]));
    return 0;
}

// Keys that ascend with the ranks say nothing.
static int drop_keys(struct joined_communicator *joined, uint32_t np) {
    SCOPED_FREE int64_t *last = malloc((joined->colors + 1) * sizeof *last); // by color
    RETURN_IF(!last, -ENOMEM);
    for (uint32_t i = 0; i < joined->colors; i++) last[i] = -1;
    for (uint32_t i = 0; i < np; i++) {
        int64_t color = joined->color[i];
        if (color < 0) continue;
        if (joined->key[i] < last[color]) return 0;
        last[color] = joined->key[i];
    }
    joined->key = NULL;
    return 0;
}

int communicators_join(struct communicators *out, const struct recorded *recorded, const struct log *log) {
    struct joining j = {.out = out, .recorded = recorded, .remote_left = MOST_REMOTE};
    size_t processes = log_process_count(log);
    *out = (struct communicators){0};
    FORWARD(list_all(&j, log));
    FORWARD(arena_array(&out->arena, out->of_process, processes));
    FORWARD(arena_array(&out->arena, out->numbers, processes));
    int code = 0;
    for (size_t i = 0; i < recorded->count && !code; i++) {
        const struct thread_ops *thread = &recorded->thread[i];
        bool known = out->of_process[thread->process->index];
        if (recorded->program[thread->program].is_mpi && !known) code = join_process(&j, thread);
    }
    for (size_t i = 0; i < out->count && !code; i++)
        code = drop_keys(&out->joined[i], recorded->program[out->joined[i].program].np);
    lookup_free(&j.joined_of);
    lookup_free(&j.color_of);
    lookup_free(&j.made);
    lookup_free(&j.members_of);
    free(j.members);
    return code;
}

// --- kinds

struct setting {
    const struct communicators *communicators;
    struct recorded *recorded;
    struct lookup kind_of;  // kind and joined communicator -> kind
    struct lookup by_bytes; // hash of a kind -> kind
};

static void free_setting(struct setting *s) {
    lookup_free(&s->kind_of);
    lookup_free(&s->by_bytes);
}

// Kinds that differed only in the numbers of processes become one.
static int set_kind(struct setting *s, uint32_t from, uint32_t joined, uint32_t *to) {
    struct recorded *recorded = s->recorded;
    struct op_kind kind;
    memcpy(&kind, &recorded->kind[from], sizeof kind); // padding too: kinds are compared as bytes
    kind.communicator = joined;
    uint64_t hash = hash_bytes(0, &kind, sizeof kind);
    *to = lookup_find(&s->by_bytes, hash);
    if (*to == LOOKUP_NONE) {
        *to = (uint32_t)recorded->kinds;
        FORWARD(lookup_set(&s->by_bytes, hash, *to));
        FORWARD(array_room(recorded->kind, recorded->kinds));
        memcpy(&recorded->kind[recorded->kinds++], &kind, sizeof kind);
    }
    return lookup_set(&s->kind_of, lookup_pair(from, joined), *to);
}

static int set_ops(struct setting *s, size_t process, struct op *op, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t number = s->recorded->kind[op[i].kind].communicator;
        if (!number) continue;
        const struct process_communicator *of = communicators_find(s->communicators, process, number);
        uint32_t joined = of && of->joined != NO_COMMUNICATOR ? of->joined + 1 : 0;
        uint32_t made = lookup_find(&s->kind_of, lookup_pair(op[i].kind, joined));
        if (made == LOOKUP_NONE) FORWARD(set_kind(s, op[i].kind, joined, &made));
        op[i].kind = made;
    }
    return 0;
}

int communicators_set(const struct communicators *communicators, struct recorded *recorded) {
    SCOPED(free_setting) struct setting s = {.communicators = communicators, .recorded = recorded};
    for (size_t i = 0; i < recorded->count; i++) {
        struct thread_ops *thread = &recorded->thread[i];
        if (!recorded->program[thread->program].is_mpi) continue;
        FORWARD(set_ops(&s, thread->process->index, thread->transfer, thread->transfers));
        FORWARD(set_ops(&s, thread->process->index, thread->other, thread->others));
    }
    return 0;
}

void communicators_free(struct communicators *communicators) {
    free(communicators->joined);
    arena_free(&communicators->arena);
    *communicators = (struct communicators){0};
}

const struct process_communicator *communicators_find(const struct communicators *communicators, size_t process,
                                                      uint32_t number) {
    if (!number || number >= communicators->numbers[process]) return NULL;
    return &communicators->of_process[process][number];
}
