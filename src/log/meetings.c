#include "log/meetings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scoped.h"
#include "log/private.h"

#define NO_MEETING UINT32_MAX

struct open_file {
    uint32_t handle;
    struct meeting_turn next;
};

// The files that a process has open, by handle. Handles are numbered by open: a new one comes last.
struct meetings_process {
    struct open_file *file;
    size_t files;
    int64_t last_ns; // end of its last event; INT64_MIN: it has none
};

struct meeting {
    uint64_t processes; // of a communicator: those in the log
    int64_t until_ns;
    uint32_t unused; // of a communicator: the first meeting of a file that all have closed, or NO_MEETING
    uint32_t next_unused;
    uint32_t comm;      // of a file: the meeting of its opens
    uint32_t turn;      // of a file: its first one
    uint32_t last_turn; // the one after its close
    uint64_t closed;    // by so many processes
    bool is_uneven;     // after different numbers of turns
};

static int new_meeting(struct meetings *meetings, struct lookup *known, uint64_t key, uint32_t *number) {
    RETURN_IF(meetings->count == NO_MEETING, ERR_LIMIT);
    *number = (uint32_t)meetings->count;
    FORWARD(
        array_push(meetings->meeting, meetings->count, (struct meeting){.until_ns = INT64_MAX, .unused = NO_MEETING}));
    return lookup_set(known, key, *number);
}

static int find_meeting(struct meetings *meetings, struct lookup *known, uint64_t key, uint32_t *number) {
    *number = lookup_find(known, key);
    return *number == LOOKUP_NONE ? new_meeting(meetings, known, key, number) : 0;
}

static void join(struct meetings *meetings, uint32_t number, const struct log_process *process) {
    struct meeting *meeting = &meetings->meeting[number];
    int64_t last_ns = meetings->process[process->index].last_ns;
    meeting->processes++;
    if (last_ns < meeting->until_ns) meeting->until_ns = last_ns;
}

static int64_t until_ns(const struct meetings *meetings, const struct meeting_turn *turn) {
    const struct meeting *meeting = &meetings->meeting[turn->meeting];
    return meeting->processes < turn->size ? INT64_MIN : meeting->until_ns;
}

// --- communicators

static int by_process(const void *a, const void *b) {
    const struct communicator *left = *(const struct communicator *const *)a,
                              *right = *(const struct communicator *const *)b;
    if (left->process != right->process) return left->process < right->process ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static uint64_t hash_members(const struct communicator *comm, uint32_t world) {
    const struct members_in *members = &comm->local.members;
    size_t len = (size_t)(members->end - members->at);
    uint64_t hash = hash_add(hash_add(hash_add(world, comm->origin), comm->local.size), comm->local.hash);
    return len ? hash_bytes(hash, members->at, len) : hash;
}

// The n-th communicator of a process with these members is the n-th one of each of them.
static int join_communicators(struct meetings *meetings, const struct communicator **comm, size_t count) {
    SCOPED(lookup_free) struct lookup nth_of = {0}, same = {0};
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = log_process_find(meetings->log, comm[i]->process);
        if (!process) continue;
        uint64_t members = hash_members(comm[i], process->world), own = hash_add(members, comm[i]->process);
        uint32_t nth = lookup_find(&nth_of, own), number;
        nth = nth == LOOKUP_NONE ? 0 : nth + 1;
        FORWARD(lookup_set(&nth_of, own, nth));
        FORWARD(find_meeting(meetings, &same, hash_add(members, nth), &number));
        join(meetings, number, process);
        FORWARD(lookup_set(&meetings->comm_of, lookup_pair(comm[i]->process, comm[i]->number), number));
    }
    return 0;
}

static void find_last_event(const struct log *log, size_t process, int64_t *last_ns) {
    const struct log_place *const *place;
    size_t count = log_event_places(log, log_process_at(log, process), &place);
    *last_ns = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        if (!place[i]->below && (int64_t)place[i]->end_ns > *last_ns) *last_ns = (int64_t)place[i]->end_ns;
    }
}

int meetings_init(struct meetings *meetings, const struct log *log) {
    *meetings = (struct meetings){.log = log};
    meetings->process = calloc(log_process_count(log) + 1, sizeof *meetings->process);
    size_t count = log_communicator_count(log);
    SCOPED_FREE const struct communicator **comm = malloc((count + 1) * sizeof *comm);
    RETURN_IF(!meetings->process || !comm, -ENOMEM);
    for (size_t i = 0; i < log_process_count(log); i++) find_last_event(log, i, &meetings->process[i].last_ns);
    for (size_t i = 0; i < count; i++) comm[i] = log_communicator_at(log, i);
    qsort(comm, count, sizeof *comm, by_process);
    return join_communicators(meetings, comm, count);
}

void meetings_free(struct meetings *meetings) {
    for (size_t i = 0; meetings->process && i < log_process_count(meetings->log); i++) free(meetings->process[i].file);
    free(meetings->process);
    free(meetings->meeting);
    lookup_free(&meetings->comm_of);
    lookup_free(&meetings->world_of);
    lookup_free(&meetings->opens);
    lookup_free(&meetings->file_of);
}

// --- calls

static int find_world(struct meetings *meetings, uint32_t world, uint32_t *number) {
    *number = lookup_find(&meetings->world_of, world);
    if (*number != LOOKUP_NONE) return 0;
    FORWARD(new_meeting(meetings, &meetings->world_of, world, number));
    for (size_t i = 0; i < log_process_count(meetings->log); i++) {
        const struct log_process *process = log_process_at(meetings->log, i);
        if (process->has_rank && process->world == world) join(meetings, *number, process);
    }
    return 0;
}

// The communicator of an open. Logs of early versions know only its size: if it is that of the world, it is the world.
static int find_communicator(struct meetings *meetings, const struct log_event *event, struct meeting_turn *turn) {
    const struct communicator *comm = event->comm;
    if (comm) {
        turn->meeting = lookup_find(&meetings->comm_of, lookup_pair(comm->process, comm->number));
        turn->size = turn->meeting == LOOKUP_NONE || comm->is_inter ? 0 : comm->local.size;
        return 0;
    }
    uint64_t size = log_event_attribute(event, ATTRIBUTE_COMM_SIZE);
    if (size != 1 && (!event->process->has_rank || size != event->process->mpi_size)) return 0;
    turn->size = size;
    return size > 1 ? find_world(meetings, event->process->world, &turn->meeting) : 0;
}

// The meeting of the file that an open opens: a new one, or one that is over.
static int find_file(struct meetings *meetings, const struct meeting_turn *open, struct meeting_turn *first) {
    uint64_t key = lookup_pair(open->meeting, open->turn);
    uint32_t number = lookup_find(&meetings->file_of, key), unused = meetings->meeting[open->meeting].unused;
    if (number == LOOKUP_NONE && unused == NO_MEETING) {
        FORWARD(new_meeting(meetings, &meetings->file_of, key, &number));
        meetings->meeting[number].comm = open->meeting;
    } else if (number == LOOKUP_NONE) {
        FORWARD(lookup_set(&meetings->file_of, key, number = unused));
        struct meeting *meeting = &meetings->meeting[number];
        meetings->meeting[open->meeting].unused = meeting->next_unused;
        meeting->turn = meeting->last_turn;
        meeting->closed = 0;
    }
    first->meeting = number;
    first->turn = meetings->meeting[number].turn;
    return 0;
}

static void close_file(struct meetings *meetings, const struct meeting_turn *close) {
    struct meeting *meeting = &meetings->meeting[close->meeting];
    if (!meeting->closed) meeting->last_turn = close->turn + 1;
    meeting->is_uneven = meeting->is_uneven || meeting->last_turn != close->turn + 1;
    if (++meeting->closed < close->size || meeting->is_uneven) return;
    meeting->next_unused = meetings->meeting[meeting->comm].unused;
    meetings->meeting[meeting->comm].unused = close->meeting;
}

// The place of the first file with this handle or a higher one.
static size_t find_handle(const struct meetings_process *process, uint32_t handle) {
    size_t from = 0, to = process->files;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (process->file[middle].handle < handle)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static int open_file(struct meetings *meetings, const struct log_event *event, struct meeting_turn *turn) {
    struct meetings_process *process = &meetings->process[event->process->index];
    FORWARD(find_communicator(meetings, event, turn));
    struct meeting_turn first = {.size = turn->size};
    if (turn->size > 1) {
        uint64_t key = lookup_pair(event->process->index, turn->meeting);
        uint32_t opens = lookup_find(&meetings->opens, key);
        turn->turn = opens == LOOKUP_NONE ? 0 : opens;
        first.until_ns = turn->until_ns = until_ns(meetings, turn);
        FORWARD(lookup_set(&meetings->opens, key, turn->turn + 1));
        if (!event->raw.error) FORWARD(find_file(meetings, turn, &first));
    }
    if (event->raw.error || !turn->size) return 0;
    size_t at = find_handle(process, event->raw.handle);
    FORWARD(array_room(process->file, process->files));
    memmove(process->file + at + 1, process->file + at, (process->files++ - at) * sizeof *process->file);
    process->file[at] = (struct open_file){event->raw.handle, first};
    return 0;
}

int meetings_enter(struct meetings *meetings, const struct log_event *event, struct meeting_turn *turn) {
    *turn = (struct meeting_turn){0};
    if (event->call->class == CLASS_OPEN) return open_file(meetings, event, turn);
    struct meetings_process *process = &meetings->process[event->process->index];
    size_t at = find_handle(process, event->raw.handle);
    struct open_file *file = process->file + at;
    if (at == process->files || file->handle != event->raw.handle) return 0;
    *turn = file->next;
    file->next.turn++;
    if (event->call->class != CLASS_CLOSE || event->raw.error) return 0;
    if (turn->size > 1) close_file(meetings, turn);
    memmove(file, file + 1, (--process->files - at) * sizeof *file);
    return 0;
}
