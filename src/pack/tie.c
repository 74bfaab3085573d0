// Finds the event of the program that caused a call of the file system's client.
//
// A thread is in one system call at a time, so a call that the client made for a thread belongs to the innermost event
// of that thread around it. Asynchronous transfers are made by other threads, which no event knows (POSIX AIO's
// helpers, workers of io_uring): these are found by file, bytes and time.
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "pack/private.h"

// How far a call may stick out of its event: the clocks of a process and of its host are compared (align_clocks.c).
#define SLACK_NS PACK_SAME_CLOCK_NS

// The recorder ends before its process. Later the number may be that of another thread.
#define LONGEST_EXIT_NS INT64_C(1000000000)

enum { NEAR_IN_TIME = 64, OFFSETS_TRIED = 256 }; // limits for searches in forged or extreme data

// --- the client's calls by thread

static int by_thread(const void *a, const void *b) {
    const struct pack_start *left = a, *right = b;
    if (left->thread != right->thread) return left->thread < right->thread ? -1 : 1;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left->root < right->root ? -1 : left->root > right->root;
}

static int add_owner(struct pack_stack *stack, uint32_t thread, const struct pack_process *process) {
    struct pack_thread *own = &stack->thread[thread];
    for (uint32_t at = own->owner; at; at = stack->owner[at - 1].next) {
        if (stack->owner[at - 1].process == process->id) return 0;
    }
    FORWARD(array_push(stack->owner, stack->owner_count, (struct pack_owner){process->id, own->owner}));
    own->owner = (uint32_t)stack->owner_count;
    return 0;
}

// The thread of a process on the client's host, or LOOKUP_NONE.
static uint32_t find_thread(const struct pack_stack *stack, const struct pack_process *process, uint32_t tid) {
    uint32_t thread = LOOKUP_NONE;
    if (process->is_inside) return thread;
    for (size_t i = 0; i < stack->probe_count && thread == LOOKUP_NONE; i++) {
        const struct pack_probe *probe = &stack->probe[i];
        if (probe->file.header.layer != LAYER_CLIENT) break; // clients come first
        if (pack_same_host(probe, process)) thread = lookup_find(&stack->thread_of, lookup_pair((uint32_t)i, tid));
    }
    return thread;
}

static int group_threads(struct pack_stack *stack) {
    for (size_t i = 0; i < stack->root_count; i++) {
        if (!i || stack->start[i].thread != stack->start[i - 1].thread) {
            FORWARD(lookup_set(&stack->thread_of, stack->start[i].thread, (uint32_t)stack->thread_count));
            FORWARD(array_push(stack->thread, stack->thread_count, (struct pack_thread){.first = i, .hint = i}));
        }
        stack->thread[stack->thread_count - 1].end = i + 1;
    }
    return 0;
}

int pack_sort_roots(struct pack *pack) {
    struct pack_stack *stack = pack->stack;
    stack->start = malloc((stack->root_count + 1) * sizeof *stack->start);
    RETURN_IF(!stack->start, -ENOMEM);
    for (size_t i = 0; i < stack->root_count; i++) {
        const struct pack_root *root = &stack->root[i];
        stack->start[i] = (struct pack_start){lookup_pair(root->host, root->tid), root->start_ns, (uint32_t)i};
    }
    qsort(stack->start, stack->root_count, sizeof *stack->start, by_thread);
    FORWARD(group_threads(stack));
    for (size_t i = 0; i < pack->process_count; i++) {
        uint32_t main_thread = find_thread(stack, &pack->process[i], pack->process[i].spill.header.pid);
        if (main_thread != LOOKUP_NONE) FORWARD(add_owner(stack, main_thread, &pack->process[i]));
    }
    return 0;
}

// --- by thread and time

static unsigned distance_of(unsigned layer) {
    if (layer == LAYER_POSIX || layer == LAYER_STDIO) return 0;
    return layer == LAYER_MPIIO ? 1 : 2;
}

// Events inside each other: the innermost is nearest. Halves of a copy have the same times.
static bool is_nearer(const struct pack_cause *cause, const struct pack_root *root) {
    const struct pack_cause *now = &root->cause;
    if (!now->process) return true;
    if (cause->distance != now->distance) return cause->distance < now->distance;
    uint64_t span = cause->to - cause->from, span_now = now->to - now->from;
    if (span != span_now) return span < span_now;
    return cause->class == root->class || now->class != root->class;
}

static bool is_during(const struct pack_root *root, int64_t start_ns, int64_t end_ns) {
    int64_t middle_ns = root->start_ns + (root->end_ns - root->start_ns) / 2;
    return root->is_over && start_ns <= middle_ns && middle_ns <= end_ns && start_ns - SLACK_NS <= root->start_ns &&
           root->end_ns <= end_ns + SLACK_NS;
}

// The first call of the thread that begins at this time or later. Events come nearly in order.
static size_t seek(const struct pack_stack *stack, struct pack_thread *thread, int64_t start_ns) {
    const struct pack_start *start = stack->start;
    size_t low = thread->first, high = thread->end, hint = thread->hint;
    if ((hint == low || start[hint - 1].start_ns < start_ns) && (hint == high || start[hint].start_ns >= start_ns))
        return hint;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (start[middle].start_ns < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void tie_thread(struct pack_stack *stack, struct pack_thread *thread, const struct pack_cause *cause,
                       int64_t start_ns, int64_t end_ns) {
    size_t at = thread->hint = seek(stack, thread, start_ns - SLACK_NS);
    for (; at < thread->end && stack->start[at].start_ns <= end_ns; at++) {
        struct pack_root *root = &stack->root[stack->start[at].root];
        if (is_during(root, start_ns, end_ns) && is_nearer(cause, root)) root->cause = *cause;
    }
}

static int add_async(struct pack_stack *stack, const struct stream_event *event, const struct pack_cause *cause,
                     int64_t start_ns, int64_t end_ns) {
    uint32_t at = lookup_find(&stack->inode_of, lookup_pair(cause->process, event->file));
    if (at == LOOKUP_NONE || !event->has_offset || event->size > UINT64_MAX - event->offset) return 0;
    struct pack_async async = {.inode = stack->inode[at],
                               .offset = event->offset,
                               .end = event->offset + event->size,
                               .start_ns = start_ns,
                               .end_ns = end_ns,
                               .cause = *cause};
    return array_push(stack->async, stack->async_count, async);
}

int pack_tie_event(struct pack *pack, const struct pack_process *process, const struct stream_event *event) {
    struct pack_stack *stack = pack->stack;
    if (process != stack->last_process || event->tid != stack->last_tid) {
        uint32_t thread = find_thread(stack, process, event->tid);
        stack->last_process = process;
        stack->last_tid = event->tid;
        stack->last_thread = thread == LOOKUP_NONE ? 0 : thread + 1;
        if (thread != LOOKUP_NONE) FORWARD(add_owner(stack, thread, process));
    }
    const struct call_info *call = &call_table[event->call < call_table_len ? event->call : 0];
    bool is_async = call->traits & CALL_ASYNC;
    if ((!stack->last_thread && !is_async) || event->number >= UINT32_MAX) return 0;
    const struct pack_cause cause = {
        .process = process->id,
        .stream = event->stream,
        .number = (uint32_t)event->number,
        .file = event->file,
        .tid = event->tid,
        .distance = (uint8_t)distance_of(call->layer),
        .class = call->class,
        .from = event->start,
        .to = event->start + event->duration,
    };
    int64_t start_ns = clock_map_ns(&process->clock, cause.from), end_ns = clock_map_ns(&process->clock, cause.to);
    if (is_async) return add_async(stack, event, &cause, start_ns, end_ns);
    tie_thread(stack, &stack->thread[stack->last_thread - 1], &cause, start_ns, end_ns);
    return 0;
}

// --- by file, bytes and time

static int compare_async(const struct pack_async *a, const struct pack_async *b) {
    if (a->inode != b->inode) return a->inode < b->inode ? -1 : 1;
    if (a->cause.class != b->cause.class) return a->cause.class < b->cause.class ? -1 : 1;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_offset(const void *a, const void *b) { return compare_async(a, b); }

static void sort_async(struct pack_stack *stack) {
    struct pack_async *async = stack->async;
    if (stack->async_count) qsort(async, stack->async_count, sizeof *async, by_offset);
    for (size_t i = 0; i < stack->async_count; i++) {
        bool is_first = !i || async[i - 1].inode != async[i].inode || async[i - 1].cause.class != async[i].cause.class;
        async[i].reach = is_first || async[i - 1].reach < async[i].end ? async[i].end : async[i - 1].reach;
    }
}

// The first transfer that comes after this key.
static size_t after(const struct pack_stack *stack, struct pack_async key, uint64_t offset, int64_t start_ns) {
    size_t low = 0, high = stack->async_count;
    key.offset = offset;
    key.start_ns = start_ns;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_async(&stack->async[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static unsigned likeness(const struct pack_root *root, const struct pack_async *async) {
    bool has_bytes =
        async->offset <= root->offset && root->offset < async->end && root->size <= async->end - root->offset;
    return has_bytes && is_during(root, async->start_ns, async->end_ns) ? 4u - async->cause.distance : 0;
}

static void tie_async(struct pack_stack *stack, struct pack_root *root) {
    unsigned best = 0, tries = 0;
    uint32_t known = lookup_find(&stack->inodes, root->inode);
    if (known == LOOKUP_NONE) return; // another program may write the same bytes of its own file at the same time
    const struct pack_async key = {.inode = stack->inode[known], .cause.class = root->class};
    size_t end = after(stack, key, root->offset, INT64_MAX);
    while (end && best < 4 && tries++ < OFFSETS_TRIED) {
        const struct pack_async *last = &stack->async[end - 1];
        if (last->inode != key.inode || last->cause.class != root->class || last->reach <= root->offset) return;
        size_t at = after(stack, key, last->offset, root->end_ns);
        size_t first = after(stack, key, last->offset, INT64_MIN);
        for (size_t near = 0; at > first && near < NEAR_IN_TIME; near++) {
            const struct pack_async *async = &stack->async[--at];
            unsigned like = likeness(root, async);
            if (like > best) root->cause = async->cause;
            if (like > best) best = like;
        }
        end = first;
    }
}

// A file that was removed and made again has an inode that the log does not know. A call that a thread of the job made
// on it says which file it is.
static int note_inode(struct pack_stack *stack, const struct pack_root *root) {
    const struct pack_cause *cause = &root->cause;
    if (!cause->process || !root->inode || lookup_find(&stack->inodes, root->inode) != LOOKUP_NONE) return 0;
    uint32_t file = lookup_find(&stack->inode_of, lookup_pair(cause->process, cause->file));
    return file == LOOKUP_NONE ? 0 : lookup_set(&stack->inodes, root->inode, file);
}

static bool is_transfer(const struct pack_root *root) {
    return (root->class == CLASS_READ || root->class == CLASS_WRITE) && root->is_over && root->inode;
}

// --- reasons for the rest

static int64_t recorder_end_ns(const struct pack_process *process) {
    return clock_map_ns(&process->clock, process->spill.header.latest.units);
}

static bool lived(const struct pack *pack, const struct pack_process *process, int64_t ns) {
    int64_t start_ns = clock_map_ns(&process->clock, process->spill.header.start.units);
    if (ns < start_ns - SLACK_NS) return false;
    if (!process->end_known || !process->is_local) return true;
    return ns <= (int64_t)(process->end_mono_ns - pack->start_mono_ns) + LONGEST_EXIT_NS;
}

static enum untied_reason why_untied(const struct pack *pack, const struct pack_root *root) {
    const struct pack_stack *stack = pack->stack;
    bool on_file = root->inode && lookup_find(&stack->inodes, root->inode) != LOOKUP_NONE;
    if (!root->tid) return on_file ? UNTIED_NO_THREAD : UNTIED_NONE;
    uint32_t thread = lookup_find(&stack->thread_of, lookup_pair(root->host, root->tid));
    for (uint32_t at = stack->thread[thread].owner; at; at = stack->owner[at - 1].next) {
        const struct pack_process *process = &pack->process[stack->owner[at - 1].process - 1];
        if (!lived(pack, process, root->start_ns)) continue;
        if (!root->is_over) return UNTIED_UNFINISHED;
        bool is_after = process->spill.header.exit && root->start_ns >= recorder_end_ns(process) - SLACK_NS;
        return is_after ? UNTIED_AFTER_END : UNTIED_NO_CALL;
    }
    if (!on_file) return UNTIED_NONE;
    if (!root->is_over) return UNTIED_UNFINISHED;
    return stack->inside.count ? UNTIED_NAMESPACE : UNTIED_OTHER;
}

int pack_tie_rest(struct pack *pack) {
    struct pack_stack *stack = pack->stack;
    sort_async(stack);
    for (size_t i = 0; stack->async_count && i < stack->root_count; i++) FORWARD(note_inode(stack, &stack->root[i]));
    for (size_t i = 0; i < stack->root_count; i++) {
        struct pack_root *root = &stack->root[i];
        bool is_certain = root->cause.process && root->cause.class == root->class && root->cause.distance == 0;
        if (stack->async_count && is_transfer(root) && !is_certain) tie_async(stack, root);
        if (!root->cause.process) root->reason = (uint8_t)why_untied(pack, root);
    }
    return 0;
}
