#include "findings/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

// --- small computations

unsigned facts_size(uint64_t bytes) {
    unsigned bits = bytes ? 63u - (unsigned)__builtin_clzll(bytes) : 0;
    return bits / 2 < FACTS_SIZES ? bits / 2 : FACTS_SIZES - 1;
}

// Four bins per power of two of nanoseconds.
static unsigned duration_bin(int64_t ns) {
    if (ns < 4) return 0;
    unsigned bits = 63u - (unsigned)__builtin_clzll((uint64_t)ns);
    unsigned bin = bits * 4 + (unsigned)((uint64_t)ns >> (bits - 2) & 3);
    return bin < FACTS_DURATIONS ? bin : FACTS_DURATIONS - 1;
}

void facts_cell_add(struct facts_cell *cell, uint64_t bytes, int64_t ns) {
    unsigned bin = duration_bin(ns);
    facts_sum_add(&cell->sum, bytes, ns);
    cell->duration[bin].calls++;
    cell->duration[bin].ns += ns;
}

int64_t facts_typical_ns(const struct facts_cell *cell) {
    uint64_t wanted = cell->sum.calls - cell->sum.calls / 20, seen = 0;
    double sum_ns = 0;
    for (unsigned bin = 0; bin < FACTS_DURATIONS && seen < wanted; bin++) {
        uint64_t calls = cell->duration[bin].calls, left = wanted - seen;
        if (!calls) continue;
        double mean_ns = (double)cell->duration[bin].ns / (double)calls;
        sum_ns += mean_ns * (double)(calls < left ? calls : left);
        seen += calls < left ? calls : left;
    }
    return seen ? (int64_t)(sum_ns / (double)seen) : 0;
}

int64_t facts_memory_ns(uint64_t bytes) {
    enum { CALL_NS = 5000 };
    return CALL_NS + (int64_t)(bytes < INT64_MAX / 2 ? bytes : INT64_MAX / 2); // one gigabyte per second
}

bool facts_at_memory_speed(const struct facts_sum *sum) {
    return !sum->calls || sum->ns / (int64_t)sum->calls <= facts_memory_ns(sum->bytes / sum->calls);
}

// Whether the file system is in memory.
static bool is_memory(const struct log_file *file) {
    static const char *const names[] = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"};
    for (size_t i = 0; file->fs_name && i < sizeof names / sizeof names[0]; i++) {
        if (!strcmp(file->fs_name, names[i])) return true;
    }
    return file->fs_type == 0x01021994 || file->fs_type == 0x858458f6;
}

// --- set-up

int facts_init(struct facts *facts, struct log *log) {
    memset(facts, 0, sizeof *facts);
    facts->log = log;
    facts->processes = log_process_count(log);
    facts->files = log_file_count(log);
    facts->process = calloc(facts->processes + 1, sizeof *facts->process);
    facts->file = calloc(facts->files + 1, sizeof *facts->file);
    facts->is_stat = calloc((size_t)log_call_ids(log) + 1, sizeof *facts->is_stat);
    RETURN_IF(!facts->process || !facts->file || !facts->is_stat, -ENOMEM);
    for (size_t i = 0; i < facts->processes; i++) facts->process[i].process = log_process_at(log, i);
    for (uint32_t id = 0; id < log_call_ids(log); id++) {
        const struct log_call *call = log_call_find(log, id);
        facts->is_stat[id] = call && call_table[call->build_id].effect == EFFECT_STAT;
    }
    const struct log_world *world = log_largest_world(log);
    if (world) facts->ranks = world->size;
    return 0;
}

void facts_free(struct facts *facts) {
    for (size_t i = 0; facts->file && i < facts->files; i++) {
        if (!facts->file[i]) continue;
        extents_free(&facts->file[i]->extents[FACTS_READ]);
        extents_free(&facts->file[i]->extents[FACTS_WRITE]);
        free(facts->file[i]);
    }
    free(facts->file);
    free(facts->process);
    for (size_t i = 0; i < facts->uses; i++) extents_free(&facts->use[i].read);
    free(facts->use);
    free(facts->is_stat);
    lookup_free(&facts->use_of);
}

// --- the file and process of an event

static int lookup_file(struct facts *facts, const struct log_file *file, struct facts_file **out) {
    struct facts_file **place = &facts->file[log_file_index(facts->log, file)];
    if (!*place) {
        *place = calloc(1, sizeof **place);
        RETURN_IF(!*place, -ENOMEM);
        (*place)->file = file;
    }
    *out = *place;
    return 0;
}

// *out is NULL beyond the limit.
static int lookup_use(struct facts *facts, const struct log_event *event, struct facts_file *file,
                      struct facts_use **out) {
    uint32_t process = (uint32_t)log_process_index(facts->log, event->process);
    uint32_t number = (uint32_t)log_file_index(facts->log, event->file);
    struct facts_process *own = &facts->process[process];
    uint64_t key = lookup_pair(process, number);
    uint32_t at = own->last_file == number + 1 ? own->last_use : lookup_find(&facts->use_of, key);
    *out = NULL;
    if (at == LOOKUP_NONE) {
        if (facts->uses == FACTS_MOST_USES) {
            facts->uses_left_out++;
            return 0;
        }
        FORWARD(array_room(facts->use, facts->uses));
        FORWARD(lookup_set(&facts->use_of, key, (uint32_t)facts->uses));
        at = (uint32_t)facts->uses++;
        facts->use[at] = (struct facts_use){.process = process, .file = number};
        file->users++;
    }
    own->last_file = number + 1;
    own->last_use = at;
    *out = &facts->use[at];
    return 0;
}

static void add_line(struct facts *facts, const struct log_event *event) {
    if (!event->line) return;
    size_t at = ((size_t)event->line >> 3 ^ event->call->class) % FACTS_LINES;
    for (size_t i = 0; i < FACTS_LINES; i++, at = (at + 1) % FACTS_LINES) {
        struct facts_line *line = &facts->line[at];
        if (!line->line) {
            if (facts->lines == FACTS_LINES - 1) return; // one entry stays free, so that searches end
            facts->lines++;
            *line = (struct facts_line){.line = event->line, .class = event->call->class};
        }
        if (line->line != event->line || line->class != event->call->class) continue;
        facts_sum_add(&line->sum, log_event_bytes(event), log_event_busy_ns(event));
        return;
    }
}

// --- requests

static enum facts_order order_of(const struct facts_use *use, unsigned direction, uint64_t start) {
    enum { A_LITTLE = 1 << 20 };
    if (!use->begun[direction] || start == use->end[direction]) return FACTS_NEXT;
    if ((int64_t)(start - use->start[direction]) == use->displacement[direction]) return FACTS_STRIDED;
    return start > use->end[direction] && start - use->end[direction] < A_LITTLE ? FACTS_STRIDED : FACTS_RANDOM;
}

static void move_on(struct facts_use *use, unsigned direction, uint64_t start, uint64_t bytes) {
    if (use->begun[direction]) use->displacement[direction] = (int64_t)(start - use->start[direction]);
    use->begun[direction] = true;
    use->start[direction] = start;
    use->end[direction] = start + bytes;
    use->last = (uint8_t)(direction + 1);
}

static void end_together(struct facts_together *together) {
    const struct facts_sum sum = {together->calls, together->bytes, together->until_ns - together->start_ns};
    facts_sum_join(&together->sum[together->several], &sum);
    together->process = 0;
}

static void add_together(struct facts_together *together, const struct log_event *event, uint32_t process) {
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (together->process && event->start_ns >= together->until_ns) end_together(together);
    if (!together->process) {
        together->process = process + 1;
        together->several = false;
        together->start_ns = event->start_ns;
        together->until_ns = end_ns;
        together->bytes = together->calls = 0;
    }
    together->several = together->several || together->process != process + 1;
    together->bytes += log_event_bytes(event);
    together->calls++;
    if (end_ns > together->until_ns) together->until_ns = end_ns;
}

static int add_extent(struct facts_file *file, unsigned direction, const struct log_event *event) {
    uint64_t bytes = log_event_bytes(event), offset = event->raw.offset, before;
    if (direction == FACTS_READ) {
        bool known = extents_overlap(&file->extents[FACTS_READ], offset, bytes) == bytes ||
                     extents_overlap(&file->extents[FACTS_WRITE], offset, bytes) == bytes;
        bool fast = event->duration_ns <= facts_memory_ns(bytes);
        facts_sum_add(known && fast && !is_memory(file->file) ? &file->remembered : &file->fetched, bytes,
                      event->duration_ns);
    }
    FORWARD(extents_add(&file->extents[direction], offset, bytes, &before));
    file->again[direction] += before;
    return 0;
}

// Records whether a process reads its own bytes again, or bytes that another process has read.
static int add_own_extent(struct facts *facts, struct facts_file *file, struct facts_use *use,
                          const struct log_event *event) {
    uint64_t before;
    size_t room = array_capacity(use->read.count);
    if (facts->use_extents > FACTS_MOST_EXTENTS) use->read.given_up = true;
    FORWARD(extents_add(&use->read, event->raw.offset, log_event_bytes(event), &before));
    facts->use_extents += array_capacity(use->read.count) - room;
    file->read_by_itself += before;
    if (use->read.given_up) file->read_by_unknown = true;
    return 0;
}

// Whether the call was made by a call of MPI-IO.
static bool is_below_mpi(const struct log_event *event) {
    return event->has_parent && event->around && event->around->layer == LAYER_MPIIO &&
           log_class_moves(event->around->class);
}

static bool is_unaligned(const struct log_event *event) {
    uint64_t block = event->file->block_size ? event->file->block_size : 4096,
             both = event->raw.offset | event->raw.size;
    if (!(block & (block - 1))) return both & (block - 1); // saves the divisions
    return event->raw.offset % block || event->raw.size % block;
}

static void sum_request(struct facts *facts, const struct log_event *event, struct facts_file *file,
                        enum facts_order order, bool switched) {
    struct facts_process *process = &facts->process[log_process_index(facts->log, event->process)];
    unsigned direction = event->call->class == CLASS_WRITE, size = facts_size(event->raw.size);
    uint64_t bytes = log_event_bytes(event);
    int64_t ns = event->duration_ns;
    bool unaligned = is_unaligned(event);
    struct facts_cell *cell = &facts->cell[direction][size][order][unaligned][switched];
    facts_cell_add(cell, bytes, ns);
    const struct {
        bool applies;
        struct facts_sum *process, *file;
    } patterns[] = {
        {true, process->request, file->request},
        {size < FACTS_SMALL_SIZE && order != FACTS_RANDOM, process->small, file->small},
        {order == FACTS_RANDOM, process->random, file->random},
        {unaligned, process->unaligned, file->unaligned},
        {switched, process->switched, file->switched},
    };
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (!patterns[i].applies) continue;
        facts_sum_add(&patterns[i].process[direction], bytes, ns);
        facts_sum_add(&patterns[i].file[direction], bytes, ns);
    }
    if (!is_below_mpi(event)) return;
    const struct log_call *around = event->around;
    bool collective = around->traits & CALL_COLLECTIVE;
    facts_sum_add(&process->below[direction][around->class == CLASS_WRITE][collective], bytes, ns);
    facts_sum_add(&file->below[collective], bytes, ns);
}

static int add_request(struct facts *facts, const struct log_event *event, struct facts_file *file) {
    unsigned direction = event->call->class == CLASS_WRITE;
    struct facts_use *use;
    FORWARD(lookup_use(facts, event, file, &use));
    if (!event->raw.has_offset || event->call->traits & CALL_ASYNC || !use) return 0;
    file->processes[direction] += !use->moved[direction];
    use->moved[direction] = true;
    bool switched = use->last && use->last != direction + 1;
    enum facts_order order = order_of(use, direction, event->raw.offset);
    // Reads that MPI-IO makes around the pieces of a write show neither the program's pattern nor its data.
    bool sieving = direction == FACTS_READ && is_below_mpi(event) && event->around->class == CLASS_WRITE;
    sum_request(facts, event, file, order, switched && !sieving);
    if (sieving) return 0;
    move_on(use, direction, event->raw.offset, log_event_bytes(event));
    add_together(&file->together[direction], event, (uint32_t)log_process_index(facts->log, event->process));
    if (direction == FACTS_READ) FORWARD(add_own_extent(facts, file, use, event));
    return add_extent(file, direction, event);
}

// --- MPI-IO

static uint64_t count_pieces(const struct datatype_item *item, uint32_t count) {
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < count; i += item[i].span) {
        uint64_t inside = datatype_is_loop(&item[i]) ? count_pieces(&item[i] + 1, item[i].span - 1) : 1;
        if (item[i].count > UINT32_MAX) return UINT32_MAX;
        pieces += item[i].count * inside;
        if (pieces > UINT32_MAX) return UINT32_MAX;
    }
    return pieces;
}

static int add_view(struct facts *facts, const struct log_event *event, struct facts_use *use) {
    const struct datatype *flat;
    use->view_bytes = use->view_pieces = 0;
    FORWARD(log_datatype_flat(facts->log, event->filetype, &flat));
    if (!flat || datatype_is_contiguous(flat, event->filetype->extent)) return 0;
    use->view_bytes = flat->bytes;
    use->view_pieces = count_pieces(flat->item, flat->items);
    return 0;
}

static int add_mpi(struct facts *facts, const struct log_event *event, struct facts_file *file) {
    struct facts_process *process = &facts->process[log_process_index(facts->log, event->process)];
    struct facts_use *use;
    FORWARD(lookup_use(facts, event, file, &use));
    if (!use) return 0;
    if (event->filetype) return add_view(facts, event, use);
    if (!log_class_moves(event->call->class)) return 0;
    unsigned direction = event->call->class == CLASS_WRITE;
    bool collective = event->call->traits & CALL_COLLECTIVE;
    uint64_t bytes = log_event_bytes(event), pieces = 1;
    if (use->view_bytes) pieces = (uint64_t)((double)bytes / (double)use->view_bytes * (double)use->view_pieces);
    facts_sum_add(&process->mpi[direction][collective], bytes, log_event_busy_ns(event));
    process->pieces[direction][collective] += pieces ? pieces : 1;
    return 0;
}

// --- other calls

static void add_again(struct facts_sum *again, uint32_t *count, int64_t ns) {
    if ((*count)++) facts_sum_add(again, 0, ns);
}

static int add_other(struct facts *facts, const struct log_event *event, struct facts_file *file) {
    const struct log_call *call = event->call;
    struct facts_process *process = &facts->process[log_process_index(facts->log, event->process)];
    int64_t ns = log_event_busy_ns(event);
    struct facts_use *use = NULL;
    if (file) FORWARD(lookup_use(facts, event, file, &use));
    if (call->class == CLASS_SYNC) {
        if (file) facts_sum_add(&file->sync, 0, ns);
        if (use) add_again(&process->sync_again, &use->syncs, ns);
        return 0;
    }
    bool is_stat = call->id < log_call_ids(facts->log) && facts->is_stat[call->id];
    if (call->class != CLASS_OPEN && call->class != CLASS_CLOSE && call->class != CLASS_META) return 0;
    unsigned kind = call->class == CLASS_OPEN    ? FACTS_OPEN
                    : call->class == CLASS_CLOSE ? FACTS_CLOSE
                    : is_stat                    ? FACTS_STAT
                                                 : FACTS_OTHER_META;
    facts_sum_add(&process->meta[kind], 0, ns);
    if (event->raw.error) facts_sum_add(&process->failed, 0, ns);
    if (file) facts_sum_add(&file->meta, 0, ns);
    if (use && kind == FACTS_OPEN && !event->raw.error) add_again(&process->opened_again, &use->opens, ns);
    if (use && kind == FACTS_STAT) add_again(&process->stat_again, &use->stats, ns);
    return 0;
}

int facts_add(struct facts *facts, const struct log_event *event) {
    const struct log_call *call = event->call;
    struct facts_process *process = &facts->process[log_process_index(facts->log, event->process)];
    struct facts_file *file = NULL;
    if (event->process->is_launcher) return 0;
    if (!event->has_parent) add_line(facts, event);
    if (event->moves)
        facts_sum_add(&process->own[call->class == CLASS_WRITE], log_event_bytes(event), log_event_busy_ns(event));
    if (event->file) FORWARD(lookup_file(facts, event->file, &file));
    if (call->layer == LAYER_MPIIO) return file && !event->raw.error ? add_mpi(facts, event, file) : 0;
    if (!log_class_moves(call->class)) return add_other(facts, event, file);
    if (call->layer == LAYER_POSIX && file && !event->raw.error && log_event_bytes(event))
        return add_request(facts, event, file);
    return 0;
}

static int begin(void *context, const struct log_process *process, void **state) {
    struct facts *facts = context;
    *state = &facts->process[log_process_index(facts->log, process)];
    return 0;
}

static int add_comm(void *state, const struct log_comm *comm, size_t count) {
    struct facts_process *process = state;
    for (size_t i = 0; i < count; i++) {
        const struct facts_sum sum = {comm[i].count, comm[i].bytes, comm[i].time_ns};
        facts_sum_join(&process->comm[comm[i].kind], &sum);
    }
    return 0;
}

struct log_consumer facts_consumer(struct facts *facts) {
    return (struct log_consumer){.context = facts, .begin = begin, .comm = facts->ranks ? add_comm : NULL};
}

void facts_finish(struct facts *facts) {
    for (size_t i = 0; i < facts->files; i++) {
        struct facts_file *file = facts->file[i];
        for (unsigned direction = 0; file && direction < FACTS_DIRECTIONS; direction++) {
            if (file->together[direction].process) end_together(&file->together[direction]);
        }
    }
}
