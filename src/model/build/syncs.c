// Turns the communication between operations into synchronisations among the threads' other operations.
//
// Of the collective calls on a communicator only those matter after which some member goes on with an operation: these
// are its cuts. Between two cuts no member does anything, so all calls between them are one synchronisation. Of the
// messages from one rank to another only those matter that were received before an operation.
//
// The log does not keep the order of calls between two operations. It is found by following all threads through the
// program (sync_order.c); collective I/O makes them wait, too. What cannot happen is left out: then part of the log is
// missing. So a replay that keeps this order always ends.
#include "model/build/syncs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/order.h"
#include "base/scoped.h"
#include "fmt/communicator.h"
#include "model/build/build.h"

// The collective calls of a rank on a communicator at one station. Calls are counted from the program's start.
struct passage {
    uint32_t group;
    uint32_t station;
    uint64_t before, after; // calls
    uint8_t sync;           // enum op_sync: what they are together
    uint32_t root;
};

// Ranks of one communicator.
struct group {
    uint32_t communicator; // joined
    uint32_t expected;     // ranks; 0: not all of them are in the log
    uint32_t ranks;        // that have calls
    uint64_t calls;        // the least of all ranks
    int64_t *cut;
    size_t cuts;
    size_t first_event;
};

// Calls of one rank in one group.
struct group_rank {
    uint32_t group;
    uint64_t calls;
};

// Messages from one rank to another.
struct channel {
    uint32_t from, to; // ranks
    struct sent {
        uint32_t station;
        uint64_t messages; // up to there
    } * sent;
    size_t count;
    uint64_t received;
    uint32_t last; // station of the last send that was waited for
};

struct collecting {
    struct building *b;
    size_t first, end; // threads
    struct syncs syncs;
    struct lookup group_of; // communicator and color -> group
    struct group *group;
    size_t groups;
    struct lookup rank_of; // group and rank -> group_rank
    struct group_rank *rank;
    size_t ranks;
    struct passage *passage;
    size_t passages;
    struct lookup channel_of; // ranks -> channel
    struct channel *channel;
    size_t channels;
};

static const struct thread_ops *thread_at(const struct collecting *c, size_t station) {
    return &c->b->recorded.thread[c->syncs.station[station].thread];
}

static bool is_collective(const struct op_kind *kind) {
    return kind->collective && !kind->nonblocking && kind->communicator;
}

// --- stations

static int add_station(struct collecting *c, struct sync_station station) {
    return array_push(c->syncs.station, c->syncs.stations, station);
}

// The operation after so many transfers and others of a thread.
struct next_op {
    const struct op *op; // NULL: none
    bool is_other;
};

static struct next_op next_op(const struct thread_ops *thread, size_t transfers, size_t others) {
    bool is_other = others < thread->others && thread->other[others].at[AT_POSITION] <= (int64_t)transfers;
    if (is_other) return (struct next_op){&thread->other[others], true};
    return (struct next_op){transfers < thread->transfers ? &thread->transfer[transfers] : NULL, false};
}

// The places of a thread's communication among its operations.
static int add_thread_stations(struct collecting *c, uint32_t number) {
    const struct thread_ops *thread = &c->b->recorded.thread[number];
    for (size_t i = 0, end; i < thread->partners; i = end) {
        const struct thread_partner *at = &thread->partner[i];
        for (end = i; end < thread->partners && thread->partner[end].transfers == at->transfers &&
                      thread->partner[end].others == at->others;)
            end++;
        struct sync_station station = {.thread = number, .transfers = at->transfers, .others = at->others};
        station.goes_on = at->transfers < thread->transfers || at->others < thread->others;
        station.partner_first = i;
        station.partner_end = end;
        FORWARD(add_station(c, station));
    }
    return 0;
}

// --- groups

static int find_group(struct collecting *c, uint32_t communicator, uint32_t rank, uint32_t *group) {
    const struct joined_communicator *joined = &c->b->communicators.joined[communicator];
    int64_t color = joined->color[rank];
    *group = UINT32_MAX;
    if (color < 0) return 0;
    struct group made = {.communicator = communicator, .calls = UINT64_MAX};
    if (joined->whole[color]) made.expected = joined->size[color];
    return lookup_intern(&c->group_of, lookup_pair(communicator, (uint32_t)color), *group, c->group, c->groups, made);
}

// Joins what two calls are: the same, or a barrier.
static void merge_sync(uint8_t *sync, uint32_t *root, uint8_t more, uint32_t more_root) {
    if (*sync == SYNC_NONE) {
        *sync = more;
        *root = more_root;
    } else if (*sync != more || *root != more_root) {
        *sync = SYNC_BARRIER;
        *root = 0;
    }
}

static struct passage *passage_of(struct collecting *c, size_t from, uint32_t group) {
    for (size_t i = from; i < c->passages; i++) {
        if (c->passage[i].group == group) return &c->passage[i];
    }
    return NULL;
}

static int add_passage(struct collecting *c, size_t station, size_t from, const struct thread_partner *partner) {
    const struct thread_ops *thread = thread_at(c, station);
    const struct process_communicator *of =
        communicators_find(&c->b->communicators, thread->process->index, partner->communicator);
    uint32_t group, root = 0;
    uint8_t sync = partner->role == PARTNER_FROM_ROOT ? SYNC_BCAST
                   : partner->role == PARTNER_TO_ROOT ? SYNC_REDUCE
                                                      : SYNC_BARRIER;
    if (!of || of->joined == NO_COMMUNICATOR) return 0;
    FORWARD(find_group(c, of->joined, thread->rank, &group));
    if (group == UINT32_MAX) return 0;
    bool has_root = partner->peer < of->ranks && of->rank[partner->peer] >= 0;
    if (sync != SYNC_BARRIER && has_root)
        root = (uint32_t)of->rank[partner->peer];
    else
        sync = SYNC_BARRIER;
    struct passage *passage = passage_of(c, from, group);
    if (!passage) {
        FORWARD(array_push(c->passage, c->passages, (struct passage){.group = group, .station = (uint32_t)station}));
        passage = &c->passage[c->passages - 1];
    }
    merge_sync(&passage->sync, &passage->root, sync, root);
    passage->after += partner->count;
    return 0;
}

// Counts the calls of each rank from the start.
static int count_calls(struct collecting *c, size_t from) {
    for (size_t i = from; i < c->passages; i++) {
        struct passage *passage = &c->passage[i];
        uint32_t place, rank = thread_at(c, passage->station)->rank;
        FORWARD(lookup_intern(&c->rank_of, lookup_pair(passage->group, rank), place, c->rank, c->ranks,
                              (struct group_rank){.group = passage->group}));
        passage->before = c->rank[place].calls;
        passage->after += passage->before;
        c->rank[place].calls = passage->after;
    }
    return 0;
}

static int collect_passages(struct collecting *c, size_t station) {
    const struct thread_ops *thread = thread_at(c, station);
    size_t from = c->passages;
    for (size_t i = c->syncs.station[station].partner_first; i < c->syncs.station[station].partner_end; i++) {
        if (thread->partner[i].role <= PARTNER_TO_ROOT) FORWARD(add_passage(c, station, from, &thread->partner[i]));
    }
    return count_calls(c, from);
}

// --- cuts

static int find_cuts(struct collecting *c) {
    for (size_t i = 0; i < c->ranks; i++) {
        struct group *group = &c->group[c->rank[i].group];
        group->ranks++;
        if (c->rank[i].calls < group->calls) group->calls = c->rank[i].calls;
    }
    for (size_t i = 0; i < c->passages; i++) {
        const struct passage *passage = &c->passage[i];
        struct group *group = &c->group[passage->group];
        bool counts = c->syncs.station[passage->station].goes_on && passage->after <= group->calls;
        if (group->expected < 2 || group->ranks != group->expected || !counts) continue;
        FORWARD(array_push(group->cut, group->cuts, (int64_t)passage->after));
    }
    for (size_t i = 0; i < c->groups; i++) {
        struct group *group = &c->group[i];
        size_t kept = 0;
        if (group->cuts) qsort(group->cut, group->cuts, sizeof *group->cut, order_int64);
        for (size_t k = 0; k < group->cuts; k++) {
            if (!kept || group->cut[kept - 1] != group->cut[k]) group->cut[kept++] = group->cut[k];
        }
        group->cuts = kept;
        group->first_event = c->syncs.events;
        for (size_t k = 0; k < kept; k++) {
            struct sync_event event = {.communicator = group->communicator, .expected = group->expected};
            FORWARD(array_push(c->syncs.event, c->syncs.events, event));
        }
    }
    return 0;
}

static size_t cuts_until(const struct group *group, uint64_t calls) {
    size_t low = 0, high = group->cuts;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uint64_t)group->cut[middle] <= calls)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_item(struct collecting *c, size_t station, size_t event) {
    return array_push(c->syncs.item, c->syncs.items, (struct sync_item){.station = station, .event = event});
}

// Each passage takes part in the cuts that lie in it. The calls up to the next cut are part of that one.
static int add_collective_items(struct collecting *c) {
    for (size_t i = 0; i < c->passages; i++) {
        const struct passage *passage = &c->passage[i];
        const struct group *group = &c->group[passage->group];
        size_t first = cuts_until(group, passage->before), end = cuts_until(group, passage->after);
        bool ends_at_cut = end > first && (uint64_t)group->cut[end - 1] == passage->after;
        for (size_t k = first; k < end + !ends_at_cut && k < group->cuts; k++) {
            struct sync_event *event = &c->syncs.event[group->first_event + k];
            merge_sync(&event->sync, &event->root, passage->sync, passage->root);
        }
        for (size_t k = first; k < end; k++) FORWARD(add_item(c, passage->station, group->first_event + k));
    }
    return 0;
}

// --- messages

static int find_channel(struct collecting *c, uint32_t from, uint32_t to, uint32_t *place) {
    struct channel made = {.from = from, .to = to, .last = UINT32_MAX};
    return lookup_intern(&c->channel_of, lookup_pair(from, to), *place, c->channel, c->channels, made);
}

// The rank behind a peer; negative: not known, or the rank itself.
static int64_t peer_of(const struct collecting *c, const struct thread_ops *thread,
                       const struct thread_partner *partner) {
    const struct process_communicator *of =
        communicators_find(&c->b->communicators, thread->process->index, partner->communicator);
    int64_t rank = of && partner->peer < of->ranks ? of->rank[partner->peer] : -1;
    return rank == (int64_t)thread->rank ? -1 : rank;
}

static int add_sent(struct collecting *c, size_t station, uint32_t to, uint64_t count) {
    uint32_t place;
    FORWARD(find_channel(c, thread_at(c, station)->rank, to, &place));
    struct channel *channel = &c->channel[place];
    uint64_t before = channel->count ? channel->sent[channel->count - 1].messages : 0;
    return array_push(channel->sent, channel->count, (struct sent){(uint32_t)station, before + count});
}

// The operation after the station waits for the send of the last message that was received.
static int add_received(struct collecting *c, size_t station, uint32_t from, uint64_t count) {
    uint32_t place;
    FORWARD(find_channel(c, from, thread_at(c, station)->rank, &place));
    struct channel *channel = &c->channel[place];
    channel->received += count;
    size_t low = 0, high = channel->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (channel->sent[middle].messages < channel->received)
            low = middle + 1;
        else
            high = middle;
    }
    if (!c->syncs.station[station].goes_on || low == channel->count || channel->sent[low].station == channel->last)
        return 0;
    channel->last = channel->sent[low].station;
    struct sync_event event = {.sync = SYNC_SEND,
                               .root = channel->from,
                               .receiver = channel->to,
                               .communicator = NO_COMMUNICATOR,
                               .expected = 2};
    FORWARD(array_push(c->syncs.event, c->syncs.events, event));
    FORWARD(add_item(c, channel->last, c->syncs.events - 1));
    return add_item(c, station, c->syncs.events - 1);
}

static int collect_messages(struct collecting *c, size_t station, unsigned role) {
    const struct sync_station *at = &c->syncs.station[station];
    const struct thread_ops *thread = thread_at(c, station);
    for (size_t i = at->partner_first; i < at->partner_end; i++) {
        const struct thread_partner *partner = &thread->partner[i];
        int64_t peer = partner->role == role ? peer_of(c, thread, partner) : -1;
        if (peer < 0) continue;
        FORWARD(role == PARTNER_SEND ? add_sent(c, station, (uint32_t)peer, partner->count)
                                     : add_received(c, station, (uint32_t)peer, partner->count));
    }
    return 0;
}

// --- collective operations

static bool needs_order(const struct collecting *c) {
    for (size_t i = 1; i < c->syncs.items; i++) {
        if (c->syncs.item[i].station == c->syncs.item[i - 1].station) return true;
    }
    return false;
}

struct io_events {
    struct lookup event_of; // group and number of the operation -> event
    struct lookup count;    // group and rank -> operations so far
};

static int add_io_item(struct collecting *c, struct io_events *io, size_t station, const struct op_kind *kind) {
    uint32_t rank = thread_at(c, station)->rank, group, place;
    FORWARD(find_group(c, kind->communicator - 1, rank, &group));
    if (group == UINT32_MAX || c->group[group].expected < 2) return 0;
    uint64_t key = lookup_pair(group, rank);
    uint32_t number = lookup_find(&io->count, key);
    if (number == LOOKUP_NONE) number = 0;
    FORWARD(lookup_set(&io->count, key, number + 1));
    struct sync_event event = {
        .sync = SYNC_BARRIER, .communicator = kind->communicator - 1, .expected = c->group[group].expected};
    FORWARD(lookup_intern(&io->event_of, lookup_pair(group, number), place, c->syncs.event, c->syncs.events, event));
    return add_item(c, station, place);
}

// Adds the stations of a thread's collective operations between those that it has.
static int add_io(struct collecting *c, struct io_events *io, const struct sync_station *old, size_t count,
                  uint32_t number, size_t *place) {
    const struct recorded *recorded = &c->b->recorded;
    const struct thread_ops *thread = &recorded->thread[number];
    size_t next = 0, transfers = 0, others = 0;
    for (struct next_op at;; *(at.is_other ? &others : &transfers) += 1) {
        while (next < count && old[next].transfers <= transfers && old[next].others <= others) {
            place[next] = c->syncs.stations;
            FORWARD(add_station(c, old[next++]));
        }
        at = next_op(thread, transfers, others);
        if (!at.op) return 0;
        const struct op_kind *kind = &recorded->kind[at.op->kind];
        if (!is_collective(kind)) continue;
        FORWARD(add_station(
            c, (struct sync_station){.thread = number, .transfers = transfers, .others = others, .is_io = true}));
        FORWARD(add_io_item(c, io, c->syncs.stations - 1, kind));
    }
}

static int add_all_io(struct collecting *c) {
    SCOPED_FREE struct sync_station *old = c->syncs.station;
    size_t count = c->syncs.stations, items = c->syncs.items;
    SCOPED_FREE size_t *place = calloc(count + 1, sizeof *place);
    struct io_events io = {0};
    int code = place ? 0 : -ENOMEM;
    c->syncs.station = NULL;
    c->syncs.stations = 0;
    for (size_t i = c->first, from = 0, end; i < c->end && !code; i++, from = end) {
        for (end = from; end < count && old[end].thread == i;) end++;
        code = add_io(c, &io, old + from, end - from, (uint32_t)i, place + from);
    }
    for (size_t i = 0; i < items && !code; i++) c->syncs.item[i].station = place[c->syncs.item[i].station];
    lookup_free(&io.event_of);
    lookup_free(&io.count);
    return code;
}

// --- the order

static int by_station(const void *a, const void *b) {
    const struct sync_item *x = a, *y = b;
    if (x->station != y->station) return x->station < y->station ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

static int by_order(const void *a, const void *b) {
    const struct sync_item *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void share_items(struct syncs *syncs) {
    if (syncs->items) qsort(syncs->item, syncs->items, sizeof *syncs->item, by_station);
    for (size_t i = 0, next = 0; i < syncs->stations; i++) {
        syncs->station[i].first = next;
        while (next < syncs->items && syncs->item[next].station == i) next++;
        syncs->station[i].end = next;
    }
}

static int put_in_order(struct collecting *c) {
    struct syncs *syncs = &c->syncs;
    share_items(syncs);
    if (!needs_order(c)) return 0;
    FORWARD(add_all_io(c));
    share_items(syncs);
    FORWARD(syncs_order(syncs, &c->b->recorded));
    for (size_t i = 0; i < syncs->stations; i++) {
        const struct sync_station *at = &syncs->station[i];
        if (at->end > at->first + 1) qsort(syncs->item + at->first, at->end - at->first, sizeof *syncs->item, by_order);
    }
    return 0;
}

// --- among the operations

static int sync_kind(struct recorded *recorded, const struct sync_event *event, uint8_t sync, uint32_t *id) {
    struct op_kind kind;
    memset(&kind, 0, sizeof kind); // padding too: kinds are compared as bytes
    kind.call = op_sync_name(sync);
    kind.sync = sync;
    kind.set = kind.set2 = OP_NO_SET;
    if (event->communicator != NO_COMMUNICATOR) kind.communicator = event->communicator + 1;
    for (*id = (uint32_t)recorded->kinds; (*id)-- > 0;) {
        if (!memcmp(&recorded->kind[*id], &kind, sizeof kind)) return 0;
    }
    *id = (uint32_t)recorded->kinds;
    FORWARD(array_room(recorded->kind, recorded->kinds));
    memcpy(&recorded->kind[recorded->kinds++], &kind, sizeof kind);
    return 0;
}

// The synchronisations at a station, as operations; equal ones in a row are one.
static int add_syncs(struct collecting *c, const struct sync_station *at, struct thread_ops *to) {
    size_t first = to->others;
    uint32_t rank = c->b->recorded.thread[at->thread].rank;
    for (size_t i = at->first; i < at->end; i++) {
        const struct sync_event *event = &c->syncs.event[c->syncs.item[i].event];
        if (event->is_cancelled) continue;
        bool receives = event->sync == SYNC_SEND && event->receiver == rank;
        struct op op = {.at = {[AT_POSITION] = (int64_t)at->transfers, [AT_SIZE] = 1}};
        op.at[AT_MEMBER] = event->sync == SYNC_SEND && !receives ? event->receiver : event->root;
        FORWARD(sync_kind(&c->b->recorded, event, receives ? SYNC_RECEIVE : event->sync, &op.kind));
        struct op *last = to->others > first ? &to->other[to->others - 1] : NULL;
        if (last && last->kind == op.kind && last->at[AT_MEMBER] == op.at[AT_MEMBER])
            last->at[AT_SIZE]++;
        else
            FORWARD(thread_ops_add_other(to, &(struct other_op){.op = op}));
    }
    return 0;
}

static int64_t end_of(const struct op_time *time, size_t count) {
    return count ? time[count - 1].start_ns + time[count - 1].duration_ns : INT64_MIN;
}

// It is not known where in the pause before an operation the ranks waited. Usually a process waits for the others when
// its own work is done: the pause comes first.
static void move_pause(struct thread_ops *thread, const struct thread_ops *made, size_t first,
                       const struct sync_station *at) {
    struct op_time *sync = &made->other_time[first], *next = NULL;
    struct next_op after = next_op(thread, at->transfers, at->others);
    int64_t last_ns = end_of(thread->time, at->transfers), other_ns = end_of(thread->other_time, at->others);
    if (after.op) next = after.is_other ? &thread->other_time[at->others] : &thread->time[at->transfers];
    for (size_t i = first; i < made->others; i++)
        made->other_time[i].start_ns = next ? next->start_ns : last_ns > other_ns ? last_ns : other_ns;
    if (!next) return;
    sync->think_ns = next->think_ns;
    next->think_ns = 0;
    if (!after.is_other) return;
    made->other_parted[first] = thread->other_parted[at->others];
    thread->other_parted[at->others] = false;
}

static int insert_syncs(struct collecting *c, struct thread_ops *thread, size_t *station) {
    struct thread_ops made = {0};
    int code = 0;
    for (size_t k = 0; k <= thread->others && !code; k++) {
        for (; !code && *station < c->syncs.stations; ++*station) {
            const struct sync_station *at = &c->syncs.station[*station];
            if (&c->b->recorded.thread[at->thread] != thread || at->others > k) break;
            size_t first = made.others;
            if (at->is_io) continue;
            code = add_syncs(c, at, &made);
            if (made.others > first) move_pause(thread, &made, first, at);
        }
        if (!code && k < thread->others) {
            struct other_op other = thread_ops_other(thread, k);
            code = thread_ops_add_other(&made, &other);
        }
    }
    if (code) {
        thread_ops_free(&made);
        return code;
    }
    thread_ops_take_others(thread, &made);
    return 0;
}

// --- the whole

static int collect(struct collecting *c) {
    struct recorded *recorded = &c->b->recorded;
    for (size_t i = c->first; i < c->end; i++) FORWARD(add_thread_stations(c, (uint32_t)i));
    for (size_t i = 0; i < c->syncs.stations; i++) {
        FORWARD(collect_passages(c, i));
        FORWARD(collect_messages(c, i, PARTNER_SEND));
    }
    FORWARD(find_cuts(c));
    FORWARD(add_collective_items(c));
    for (size_t i = 0; i < c->syncs.stations; i++) FORWARD(collect_messages(c, i, PARTNER_RECEIVE));
    FORWARD(put_in_order(c));
    for (size_t i = c->first, station = 0; i < c->end; i++) FORWARD(insert_syncs(c, &recorded->thread[i], &station));
    return 0;
}

static void collecting_free(struct collecting *c) {
    for (size_t i = 0; i < c->groups; i++) free(c->group[i].cut);
    for (size_t i = 0; i < c->channels; i++) free(c->channel[i].sent);
    lookup_free(&c->group_of);
    lookup_free(&c->rank_of);
    lookup_free(&c->channel_of);
    free(c->group);
    free(c->rank);
    free(c->passage);
    free(c->channel);
    free(c->syncs.event);
    free(c->syncs.item);
    free(c->syncs.station);
}

int build_syncs(struct building *b) {
    struct recorded *recorded = &b->recorded;
    for (size_t first = 0, end; first < recorded->count; first = end) {
        uint32_t program = recorded->thread[first].program;
        for (end = first; end < recorded->count && recorded->thread[end].program == program;) end++;
        SCOPED(collecting_free) struct collecting c = {.b = b, .first = first, .end = end};
        FORWARD(collect(&c));
    }
    return 0;
}
