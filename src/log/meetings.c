#include "log/meetings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scoped.h"

struct open_file {
    uint32_t handle;
    struct meeting_turn next;
};

struct meetings_process {
    struct open_file *file;
    size_t files;
};

static int number_of(struct meetings *meetings, struct lookup *known, uint64_t key, uint32_t *number) {
    *number = lookup_find(known, key);
    if (*number != LOOKUP_NONE) return 0;
    RETURN_IF(meetings->count == LOOKUP_NONE, ERR_LIMIT);
    *number = meetings->count++;
    return lookup_set(known, key, *number);
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
        FORWARD(number_of(meetings, &same, hash_add(members, nth), &number));
        FORWARD(lookup_set(&meetings->comm_of, lookup_pair(comm[i]->process, comm[i]->number), number));
    }
    return 0;
}

int meetings_init(struct meetings *meetings, const struct log *log) {
    *meetings = (struct meetings){.log = log};
    meetings->process = calloc(log_process_count(log) + 1, sizeof *meetings->process);
    size_t count = log_communicator_count(log);
    SCOPED_FREE const struct communicator **comm = malloc((count + 1) * sizeof *comm);
    RETURN_IF(!meetings->process || !comm, -ENOMEM);
    for (size_t i = 0; i < count; i++) comm[i] = log_communicator_at(log, i);
    qsort(comm, count, sizeof *comm, by_process);
    return join_communicators(meetings, comm, count);
}

void meetings_free(struct meetings *meetings) {
    for (size_t i = 0; meetings->process && i < log_process_count(meetings->log); i++) free(meetings->process[i].file);
    free(meetings->process);
    lookup_free(&meetings->comm_of);
    lookup_free(&meetings->world_of);
    lookup_free(&meetings->opens);
    lookup_free(&meetings->file_of);
}

// --- calls

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
    return number_of(meetings, &meetings->world_of, event->process->world, &turn->meeting);
}

static int open_file(struct meetings *meetings, const struct log_event *event, struct meeting_turn *turn) {
    struct meetings_process *process = &meetings->process[event->process->index];
    FORWARD(find_communicator(meetings, event, turn));
    struct open_file file = {.handle = event->raw.handle, .next.size = turn->size};
    if (turn->size > 1) {
        uint64_t key = lookup_pair(event->process->index, turn->meeting);
        uint32_t opens = lookup_find(&meetings->opens, key);
        turn->turn = opens == LOOKUP_NONE ? 0 : opens;
        FORWARD(lookup_set(&meetings->opens, key, turn->turn + 1));
        FORWARD(number_of(meetings, &meetings->file_of, lookup_pair(turn->meeting, turn->turn), &file.next.meeting));
    }
    return event->raw.error || !turn->size ? 0 : array_push(process->file, process->files, file);
}

int meetings_enter(struct meetings *meetings, const struct log_event *event, struct meeting_turn *turn) {
    *turn = (struct meeting_turn){0};
    if (event->call->class == CLASS_OPEN) return open_file(meetings, event, turn);
    struct meetings_process *process = &meetings->process[event->process->index];
    size_t at = process->files;
    while (at > 0 && process->file[at - 1].handle != event->raw.handle) at--;
    if (!at) return 0;
    struct open_file *file = &process->file[at - 1];
    *turn = file->next;
    file->next.turn++;
    if (event->call->class == CLASS_CLOSE && !event->raw.error) *file = process->file[--process->files];
    return 0;
}
