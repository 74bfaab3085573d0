#include "findings/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/err.h"

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
    facts->run_ns = log_run_ns(log);
    facts->processes = log_process_count(log);
    facts->files = log_file_count(log);
    facts->process = calloc(facts->processes + 1, sizeof *facts->process);
    facts->file = calloc(facts->files + 1, sizeof *facts->file);
    facts->is_stat = calloc((size_t)log_call_ids(log) + 1, sizeof *facts->is_stat);
    RETURN_IF(!facts->process || !facts->file || !facts->is_stat, -ENOMEM);
    FORWARD(log_images_find(&facts->images, log));
    FORWARD(meetings_init(&facts->meetings, log));
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
        extents_free(&facts->file[i]->unread);
        free(facts->file[i]);
    }
    for (size_t i = 0; facts->process && i < facts->processes; i++) {
        free(facts->process[i].comm_waits.wait);
        free(facts->process[i].io_waits.wait);
    }
    for (size_t i = 0; i < facts->uses; i++) extents_free(&facts->use[i].read);
    free(facts->file);
    free(facts->process);
    free(facts->use);
    free(facts->grain);
    free(facts->cell);
    free(facts->trail);
    free(facts->is_stat);
    log_images_free(&facts->images);
    lookup_free(&facts->users);
    for (unsigned i = 0; i < FACTS_DIRECTIONS; i++) lookup_free(&facts->movers[i]);
    lookup_free(&facts->use_of);
    lookup_free(&facts->grain_of);
    lookup_free(&facts->cell_of);
    lookup_free(&facts->trail_of);
    meetings_free(&facts->meetings);
    wall_free(&facts->wall);
}

// --- the file and the line of an event

static uint32_t storage_of(struct facts *facts, const struct log_file *file) {
    size_t at = 0;
    while (at < facts->storages && facts->storage[at] != file->device) at++;
    if (at == FACTS_STORAGES) return FACTS_STORAGES - 1;
    if (at == facts->storages) facts->storage[facts->storages++] = file->device;
    return (uint32_t)at;
}

// Files beyond the recorder's caps have the name of their directory, and files without a name one common name, which
// does not begin with a slash: that several calls have this name does not mean that they are about the same file.
static int lookup_file(struct facts *facts, const struct log_file *file, struct facts_file **out) {
    *out = NULL;
    if (!file || file->is_aggregate || file->name[0] != '/') return 0;
    struct facts_file **place = &facts->file[log_file_index(facts->log, file)];
    if (!*place) {
        *place = calloc(1, sizeof **place);
        RETURN_IF(!*place, -ENOMEM);
        (*place)->file = file;
        (*place)->storage = storage_of(facts, file);
    }
    *out = *place;
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

static enum facts_order order_of(const struct facts_trail *trail, unsigned direction, uint64_t start) {
    enum { A_LITTLE = 1 << 20 };
    if (!trail->begun[direction] || start == trail->end[direction]) return FACTS_NEXT;
    if ((int64_t)(start - trail->start[direction]) == trail->displacement[direction]) return FACTS_STRIDED;
    return start > trail->end[direction] && start - trail->end[direction] < A_LITTLE ? FACTS_STRIDED : FACTS_RANDOM;
}

// A write of what was just read, or a read after such a write.
static bool is_rewrite(const struct facts_trail *trail, unsigned direction, uint64_t start, uint64_t end) {
    if (direction == FACTS_READ) return trail->rewriting;
    return trail->last == FACTS_READ + 1 && trail->start[FACTS_READ] == start && trail->end[FACTS_READ] == end;
}

static void move_on(struct facts_trail *trail, unsigned direction, uint64_t start, uint64_t end) {
    trail->rewriting = direction == FACTS_WRITE && is_rewrite(trail, direction, start, end);
    if (trail->begun[direction]) trail->displacement[direction] = (int64_t)(start - trail->start[direction]);
    trail->begun[direction] = true;
    trail->start[direction] = start;
    trail->end[direction] = end;
    trail->last = (uint8_t)(direction + 1);
}

static int trail_of(struct facts *facts, struct facts_use *use, uint32_t thread, struct facts_trail **trail) {
    *trail = &use->trail;
    if (!use->thread) use->thread = thread + 1;
    if (use->thread == thread + 1) return 0;
    if (!use->has_threads) use->all = use->trail;
    use->has_threads = true;
    uint64_t key = lookup_pair((uint32_t)(use - facts->use), thread);
    uint32_t at = lookup_find(&facts->trail_of, key);
    if (at == LOOKUP_NONE) {
        *trail = &use->all;
        if (facts->trails == FACTS_MOST_USES) return 0;
        FORWARD(array_room(facts->trail, facts->trails));
        FORWARD(lookup_set(&facts->trail_of, key, (uint32_t)facts->trails));
        at = (uint32_t)facts->trails++;
        facts->trail[at] = (struct facts_trail){0};
    }
    *trail = &facts->trail[at];
    return 0;
}

static int add_order(struct facts *facts, const struct log_event *event, struct facts_use *use,
                     struct facts_traits *traits) {
    unsigned direction = traits->kind;
    uint64_t start = event->raw.offset, end = start + log_event_bytes(event);
    struct facts_trail *trail;
    FORWARD(trail_of(facts, use, event->thread, &trail));
    traits->order = order_of(trail, direction, start);
    if (use->has_threads && order_of(&use->all, direction, start) < traits->order)
        traits->order = order_of(&use->all, direction, start);
    // Reads that MPI-IO makes around the pieces of a write do not show the program's pattern.
    if (traits->sieving) return 0;
    traits->switched = trail->last && trail->last != direction + 1;
    traits->rewrite = is_rewrite(trail, direction, start, end);
    move_on(trail, direction, start, end);
    if (use->has_threads && trail != &use->all) move_on(&use->all, direction, start, end);
    return 0;
}

static void end_together(struct facts_together *together) {
    const struct facts_sum sum = {together->calls, together->bytes, together->until_ns - together->start_ns};
    facts_sum_join(&together->sum[together->several], &sum);
    if (sum.ns > 0) facts_spread_add(&together->rate[together->several], (double)sum.bytes / (double)sum.ns);
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

// What was read is no longer unread.
static int add_read(struct facts_file *file, uint64_t offset, uint64_t bytes, int64_t ns, struct facts_traits *traits) {
    uint64_t before = extents_overlap(&file->extents[FACTS_READ], offset, bytes);
    traits->again = before == bytes;
    traits->warm = traits->again || extents_overlap(&file->extents[FACTS_WRITE], offset, bytes) == bytes;
    if (traits->warm && ns <= facts_memory_ns(bytes) && !is_memory(file->file)) file->remembered += bytes;
    FORWARD(extents_remove(&file->unread, offset, bytes));
    FORWARD(extents_add(&file->extents[FACTS_READ], offset, bytes, &before));
    file->again[FACTS_READ] += before;
    return 0;
}

static int add_write(struct facts_file *file, uint64_t offset, uint64_t bytes, struct facts_traits *traits) {
    uint64_t before;
    FORWARD(extents_add(&file->unread, offset, bytes, &before));
    traits->again = before == bytes;
    file->for_nothing += before;
    FORWARD(extents_add(&file->extents[FACTS_WRITE], offset, bytes, &before));
    file->again[FACTS_WRITE] += before;
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

static bool is_unaligned(const struct log_event *event) {
    uint64_t block = event->file->block_size ? event->file->block_size : 4096,
             both = event->raw.offset | event->raw.size;
    if (!(block & (block - 1))) return both & (block - 1); // saves the divisions
    return event->raw.offset % block || event->raw.size % block;
}

static uint64_t period_of(const struct facts *facts, int64_t ns) {
    int64_t part = facts->run_ns > 0 ? (int64_t)((double)ns / (double)facts->run_ns * 64) : 0;
    return UINT64_C(1) << (part < 0 ? 0 : part > 63 ? 63 : part);
}

static void sum_request(struct facts *facts, const struct log_event *event, struct facts_file *file,
                        const struct facts_traits *traits) {
    unsigned direction = traits->kind;
    uint64_t bytes = log_event_bytes(event);
    int64_t ns = event->duration_ns;
    facts_sum_add(&file->request[direction], bytes, ns);
    if (traits->size < FACTS_SMALL_SIZE) facts_sum_add(&file->small[direction], bytes, ns);
    if (traits->unaligned) facts_sum_add(&file->unaligned[direction], bytes, ns);
    if (traits->switched) facts_sum_add(&file->switched[direction], bytes, ns);
    file->periods[direction] |= period_of(facts, event->start_ns);
}

static int add_request(struct facts *facts, const struct log_event *event, struct facts_file *file,
                       struct facts_use *use, struct facts_traits *traits) {
    unsigned direction = traits->kind;
    uint64_t offset = event->raw.offset, bytes = log_event_bytes(event);
    if (!use->moved[direction]) {
        int is_new = log_images_add_user(&facts->images, &facts->movers[direction], event->process, use->file);
        FORWARD(is_new);
        file->processes[direction] += (unsigned)is_new;
    }
    use->moved[direction] = true;
    traits->size = facts_size(event->raw.size) & 15;
    traits->unaligned = is_unaligned(event);
    traits->uncached = use->uncached;
    FORWARD(add_order(facts, event, use, traits));
    if (!traits->sieving) { // nor do these show the program's data
        add_together(&file->together[direction], event, use->process);
        FORWARD(direction == FACTS_READ ? add_read(file, offset, bytes, event->duration_ns, traits)
                                        : add_write(file, offset, bytes, traits));
        if (direction == FACTS_READ) FORWARD(add_own_extent(facts, file, use, event));
    }
    sum_request(facts, event, file, traits);
    return 0;
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

// Whether the call with this id needs other processes.
static bool is_collective(const struct facts *facts, const struct log_process *process, const struct log_call *call,
                          uint64_t id) {
    const struct facts_process *own = &facts->process[log_process_index(facts->log, process)];
    return call->traits & CALL_COLLECTIVE && !(own->has_alone && own->alone == id);
}

static int add_mpi(struct facts *facts, const struct log_event *event, struct facts_use *use, bool collective) {
    struct facts_process *process = &facts->process[use->process];
    if (event->raw.error) return 0;
    if (event->filetype) return add_view(facts, event, use);
    if (!log_class_moves(event->call->class)) return 0;
    unsigned direction = event->call->class == CLASS_WRITE;
    uint64_t bytes = log_event_bytes(event), pieces = 1;
    if (use->view_bytes) pieces = (uint64_t)((double)bytes / (double)use->view_bytes * (double)use->view_pieces);
    facts_sum_add(&process->mpi[direction][collective], bytes, log_event_busy_ns(event));
    process->pieces[direction][collective] += pieces ? pieces : 1;
    return 0;
}

static int meet(struct facts *facts, const struct log_event *event, struct wall_call *call) {
    struct meeting_turn turn;
    if (event->call->layer != LAYER_MPIIO || !(event->call->traits & CALL_COLLECTIVE)) return 0;
    FORWARD(meetings_enter(&facts->meetings, event, &turn));
    if (turn.size == 1) {
        facts->process[call->process].has_alone = true;
        facts->process[call->process].alone = event->id;
    }
    if (turn.size < 2) return 0;
    while (facts->wall.meetings <= turn.meeting)
        FORWARD(array_push(facts->wall.meeting, facts->wall.meetings, (struct wall_meeting){0}));
    call->meeting = turn.meeting + 1;
    call->round = turn.turn;
    return 0;
}

// --- the traits of an event

static unsigned kind_of(const struct facts *facts, const struct log_event *event) {
    const struct log_call *call = event->call;
    if (call->layer == LAYER_MPIIO) {
        return call->class == CLASS_READ ? KIND_MPI_READ : call->class == CLASS_WRITE ? KIND_MPI_WRITE : KIND_MPI_OTHER;
    }
    bool is_request = call->layer == LAYER_POSIX && event->raw.has_offset && log_event_bytes(event);
    switch (call->class) {
    case CLASS_READ: return is_request ? KIND_READ : KIND_REST;
    case CLASS_WRITE: return is_request ? KIND_WRITE : KIND_REST;
    case CLASS_OPEN: return KIND_OPEN;
    case CLASS_CLOSE: return KIND_CLOSE;
    case CLASS_SYNC: return call->layer == LAYER_POSIX ? KIND_SYNC : KIND_REST;
    case CLASS_META: return call->id < log_call_ids(facts->log) && facts->is_stat[call->id] ? KIND_STAT : KIND_META;
    default: return KIND_REST;
    }
}

// Whether the call was made by a transfer of MPI-IO.
static bool is_below_mpi(const struct log_event *event) {
    return event->has_parent && event->around && event->around->layer == LAYER_MPIIO &&
           log_class_moves(event->around->class);
}

static unsigned library_of(const struct log_call *call) {
    switch (log_call_class_inside(call)) {
    case CLASS_READ: return IN_LIBRARY_READ;
    case CLASS_WRITE: return IN_LIBRARY_WRITE;
    case CLASS_OPEN: return IN_LIBRARY_OPEN;
    case CLASS_CLOSE:
    case CLASS_SYNC: return IN_LIBRARY_CLOSE;
    default: return IN_LIBRARY_OTHER;
    }
}

// In which call above MPI-IO the event is, directly or through MPI-IO.
static unsigned find_library(struct facts_process *process, const struct log_event *event) {
    if (!event->in_above)
        return event->has_parent && event->parent == process->mpi_call ? process->mpi_library : IN_NO_LIBRARY;
    unsigned library = event->around ? library_of(event->around) : IN_NO_LIBRARY;
    if (event->call->layer == LAYER_MPIIO) {
        process->mpi_call = event->id;
        process->mpi_library = library;
    }
    return library;
}

// Errors that lose data or time. Others are answers: a file that does not exist, a call that is not supported.
static bool is_trouble(int error) {
    static const int errors[] = {ENOSPC, EDQUOT, EIO, EFBIG, EROFS, ESTALE, EINTR, ETIMEDOUT, ENODEV, ENXIO};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (error == errors[i]) return true;
    return false;
}

static bool is_half(const struct log_event *event) { return call_table[event->call->build_id].form == FORM_HALF; }

// Also notes the error. A write to a file should take all bytes.
static bool is_failed(struct facts *facts, const struct log_event *event) {
    unsigned class = event->call->class;
    bool moves = log_class_moves(class) || class == CLASS_SYNC || class == CLASS_CLOSE;
    bool is_short = class == CLASS_WRITE && event->call->layer == LAYER_POSIX && !event->raw.error &&
                    log_event_bytes(event) && log_event_bytes(event) < event->raw.size && !is_half(event);
    // If a copy fails and both files are known, both halves say so.
    if (event->raw.error && class == CLASS_READ && event->has_parent && is_half(event)) return false;
    if (!event->file || (event->file->type && event->file->type != S_IFREG) || event->call->layer == LAYER_MPIIO ||
        !(is_short || (moves && is_trouble(event->raw.error))))
        return false;
    size_t at = 0;
    while (at < facts->errors && (facts->error[at].error != event->raw.error || facts->error[at].class != class)) at++;
    if (at == facts->errors && at < FACTS_ERRORS)
        facts->error[facts->errors++] = (struct facts_error){event->raw.error, class, 0};
    if (at < FACTS_ERRORS) facts->error[at].calls++;
    return true;
}

static int add_traits(struct facts *facts, const struct log_event *event, struct facts_file *file,
                      struct facts_use *use, struct facts_traits *traits) {
    traits->kind = kind_of(facts, event) & 15;
    if (!file && traits->kind <= KIND_WRITE) traits->kind = KIND_REST; // nothing to compare with
    traits->failed = is_failed(facts, event);
    bool is_mpi = event->call->layer == LAYER_MPIIO;
    traits->collective = is_mpi && is_collective(facts, event->process, event->call, event->id);
    if (is_below_mpi(event)) {
        bool is_below = is_collective(facts, event->process, event->around, event->parent);
        traits->below = is_below ? BELOW_COLLECTIVE : BELOW_INDEPENDENT;
        traits->sieving = traits->kind == KIND_READ && event->around->class == CLASS_WRITE;
    }
    if (!use || !file || (event->raw.error && traits->kind != KIND_STAT)) return 0;
    if (is_mpi) return add_mpi(facts, event, use, traits->collective);
    if (traits->kind <= KIND_WRITE) return add_request(facts, event, file, use, traits);
    traits->repeated = use->count[traits->kind]++ > 0;
    if (traits->kind == KIND_OPEN && event->call->layer == LAYER_POSIX &&
        log_event_attribute(event, ATTRIBUTE_FLAGS) & (O_DIRECT | O_DSYNC))
        use->uncached = true;
    return 0;
}

// --- events

static void end_call(struct facts *facts, const struct wall_call *call) {
    struct facts_process *process = &facts->process[call->process];
    if (call->is_own && !--process->in_progress) process->idle_since_ns = facts->wall.any_ns;
    if (call->grain == WALL_NO_GRAIN) return;
    facts->grain[call->grain].wall_ns += call->part_ns;
    facts->grain[call->grain].late_ns += call->late_ns;
}

static void end_calls(struct facts *facts, int64_t to_ns) {
    struct wall_call ended;
    while (wall_next_end(&facts->wall, to_ns, &ended)) end_call(facts, &ended);
}

// The process was in no call, but others were.
static int add_idle(struct facts *facts, struct facts_process *process, int64_t until_ns) {
    enum { LEAST_NS = 20000 };
    double ns = facts->wall.any_ns - process->idle_since_ns;
    struct facts_waits *waits = &process->io_waits;
    if (!process->process->has_rank || process->in_progress || ns < LEAST_NS || facts->waits == FACTS_MOST_WAITS)
        return 0;
    facts->waits++;
    return array_push(waits->wait, waits->count, (struct facts_wait){until_ns, ns});
}

static void add_own_time(struct facts_process *process, const struct log_event *event) {
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (end_ns <= process->busy_until_ns) return;
    process->io_ns += end_ns - (event->start_ns < process->busy_until_ns ? process->busy_until_ns : event->start_ns);
    process->busy_until_ns = end_ns;
}

// Bytes that no request shows.
static void add_other_bytes(struct facts_file *file, const struct log_event *event) {
    if (!log_class_moves(event->call->class)) return;
    if (event->call->layer == LAYER_STDIO) file->stdio_bytes += log_event_bytes(event);
    if (event->call->layer == LAYER_POSIX && event->call->traits & CALL_ASYNC)
        file->async_bytes += log_event_bytes(event);
}

int facts_add(struct facts *facts, const struct log_event *event) {
    uint32_t number = (uint32_t)log_process_index(facts->log, event->process), storage = 0;
    struct facts_process *process = &facts->process[number];
    struct wall_call call = {.end_ns = event->start_ns + event->duration_ns,
                             .grain = WALL_NO_GRAIN,
                             .process = number,
                             .is_mpi = event->call->layer >= LAYER_MPIIO,
                             .is_own = !event->has_parent,
                             .is_rank = event->process->has_rank};
    struct facts_file *file;
    struct facts_use *use;
    if (event->process->is_launcher) return 0;
    end_calls(facts, event->start_ns);
    if (call.is_own) add_line(facts, event);
    if (event->moves)
        facts_sum_add(&process->own[event->call->class == CLASS_WRITE], log_event_bytes(event),
                      log_event_busy_ns(event));
    FORWARD(lookup_file(facts, event->file, &file));
    if (file) add_other_bytes(file, event);
    if (event->call->traits & CALL_ASYNC) return 0;
    FORWARD(facts_use_of(facts, event, file, &use));
    struct facts_traits traits = {0};
    traits.library = find_library(process, event) & 7;
    FORWARD(meet(facts, event, &call));
    FORWARD(add_traits(facts, event, file, use, &traits));
    if (file) storage = file->storage + 1;
    if (use) FORWARD(facts_grain_of(facts, use, traits, storage, &call.grain));
    if (call.grain != WALL_NO_GRAIN) facts_grain_add(facts, call.grain, log_event_bytes(event), event->duration_ns);
    if (call.is_own) {
        FORWARD(add_idle(facts, process, event->start_ns));
        process->in_progress++;
        add_own_time(process, event);
    }
    return wall_begin(&facts->wall, &call);
}

// --- communication

static int begin(void *context, const struct log_process *process, void **state) {
    struct facts *facts = context;
    *state = &facts->process[log_process_index(facts->log, process)];
    return 0;
}

static int add_comm(void *state, const struct log_comm *comm, size_t count) {
    enum { LEAST_NS = 20000, MOST = FACTS_MOST_WAITS / 64 };
    struct facts_process *process = state;
    struct facts_waits *waits = &process->comm_waits;
    for (size_t i = 0; i < count; i++) {
        const struct facts_sum sum = {comm[i].count, comm[i].bytes, comm[i].time_ns};
        facts_sum_join(&process->comm, &sum);
        int64_t until_ns = comm[i].has_event ? comm[i].start_ns : INT64_MAX;
        if (waits->count && waits->wait[waits->count - 1].until_ns == until_ns) {
            waits->wait[waits->count - 1].ns += (double)comm[i].time_ns;
        } else if (comm[i].time_ns >= LEAST_NS && waits->count < MOST) {
            FORWARD(array_push(waits->wait, waits->count, (struct facts_wait){until_ns, (double)comm[i].time_ns}));
        }
    }
    return 0;
}

struct log_consumer facts_consumer(struct facts *facts) {
    return (struct log_consumer){.context = facts, .begin = begin, .comm = facts->ranks ? add_comm : NULL};
}

int facts_finish(struct facts *facts) {
    end_calls(facts, INT64_MAX);
    for (size_t i = 0; i < facts->processes; i++) FORWARD(add_idle(facts, &facts->process[i], INT64_MAX));
    for (size_t i = 0; i < facts->grains; i++) facts->grain[i].left_ns = facts->grain[i].wall_ns;
    for (size_t i = 0; i < facts->files; i++) {
        struct facts_file *file = facts->file[i];
        for (unsigned direction = 0; file && direction < FACTS_DIRECTIONS; direction++) {
            if (file->together[direction].process) end_together(&file->together[direction]);
        }
    }
    return 0;
}
