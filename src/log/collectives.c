// A sweep over time. A turn is one collective call of all its ranks. It has clocks that start again whenever a rank
// comes: time with any rank in a file access, and time with none, before the first one, between two and after the last
// one so far. A call reads them when it ends; what its parts are is decided when all calls of the turn have ended.
//
// The parts of a round are differences of what they were at its two ends. For these a turn keeps its clocks at the end
// of each round so far, and a call its own file access up to there. When a round ends is not known before all calls
// have: another aggregator may still be in it. So an end moves, and calls follow when their own file access begins or
// ends.
#include "log/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "log/private.h"

const char *const inside_part_names[INSIDE_PARTS] = {"wait", "exchange", "io", "rest"};

enum {
    MOST_HELD = 1 << 18,   // calls in memory; beyond that the oldest turn is given up
    MOST_ROUNDS = 1 << 22, // in memory; the turn that needs more is not divided into rounds
    ROUND_NS = 5000, // transfers of a rank that follow each other faster are one round: no exchange fits in between
};

// In the heap of ends: a call, after its file accesses. These have the number of the round that ends with them, or 0.
static const uint64_t ends_call = UINT64_MAX;

struct clocks {
    int64_t any_ns;                           // some rank is in a file access
    int64_t before_ns, between_ns, behind_ns; // none is: before the first one, between two, since the last one
};

struct collective_inside {
    struct collective_call is;
    struct collective_turn *turn;
    struct collective_inside *next_of_process, *next_of_turn;
    int64_t start_ns, end_ns;
    uint32_t depth;    // calls below in progress
    int64_t access_ns; // start of the file access in progress
    int64_t io_ns;     // in file accesses
    int64_t *round_io; // the same at the end of each round up to known_ns; 0 for rounds behind these
    size_t round_ios;
    int64_t known_ns;
    bool has_ended;
    struct clocks clocks; // of the turn, when it ended
    int64_t came_ns;      // the last arrival by then
    // Of the data: what the rank asked for, and its transfers of the file below.
    uint64_t offset;
    bool has_offset;
    uint64_t below_bytes, below_offset;
    uint32_t transfers, rounds;
    int64_t free_ns; // end of the last call below
};

struct round_end {
    int64_t at_ns;
    struct clocks clocks;
    uint32_t earlier, later; // the rounds that end before and after it, from 1; 0: none
};

struct collective_turn {
    struct collective_turn *older, *newer;
    struct collective_inside *first;
    const struct log_call *call;
    uint32_t meeting, number;
    uint64_t size, arrived, ended;
    bool is_given_up;
    int64_t now_ns;
    int64_t came_ns;    // the last arrival
    uint64_t last_id;   // the call that came last
    int64_t waiting_ns; // before that, since the arrival before: some rank was there and in no file access
    uint64_t accessing; // ranks in file accesses
    bool has_access;
    int64_t access_ns; // start of the last one
    int64_t idle_ns;   // the same as waiting_ns, since the last arrival
    struct clocks clocks;
    struct round_end *round; // by number - 1
    size_t rounds;
    uint32_t latest;    // the round that ends last so far; 0: none
    bool has_no_rounds; // too many for the memory, or only one rank
};

// Those of a meeting that have begun: turns `first` …. NULL: it is over.
struct collective_queue {
    struct collective_turn **turn;
    size_t count, over; // the first ones of them that are over
    uint32_t first;
    bool is_broken; // some ranks lost calls: the numbers of their later ones are wrong
};

// --- time

static void advance(struct collective_turn *turn, int64_t to_ns) {
    struct clocks *clocks = &turn->clocks;
    int64_t *clock = turn->accessing ? &clocks->any_ns : turn->has_access ? &clocks->behind_ns : &clocks->before_ns;
    *clock += to_ns - turn->now_ns;
    if (turn->arrived - turn->ended > turn->accessing) turn->idle_ns += to_ns - turn->now_ns;
    turn->now_ns = to_ns;
}

static int64_t quiet_ns(const struct clocks *clocks) {
    return clocks->before_ns + clocks->between_ns + clocks->behind_ns;
}

static struct round_end *round_end(const struct collective_turn *turn, uint32_t number) {
    return &turn->round[number - 1];
}

// Whether there is room for another round.
static bool hold_round(struct log_collectives *all, struct collective_turn *turn) {
    if (all->rounds_held == MOST_ROUNDS) turn->has_no_rounds = true;
    all->rounds_held += !turn->has_no_rounds;
    return !turn->has_no_rounds;
}

// The round ends now, or later than it seemed.
static int end_round(struct log_collectives *all, struct collective_turn *turn, uint32_t number) {
    while (turn->rounds < number) {
        if (!hold_round(all, turn)) return 0;
        FORWARD(array_push(turn->round, turn->rounds, (struct round_end){0}));
    }
    struct round_end *end = round_end(turn, number);
    end->at_ns = turn->now_ns;
    end->clocks = turn->clocks;
    if (turn->latest == number) return 0;
    if (end->later) round_end(turn, end->later)->earlier = end->earlier;
    if (end->later && end->earlier) round_end(turn, end->earlier)->later = end->later;
    if (turn->latest) round_end(turn, turn->latest)->later = number;
    end->earlier = turn->latest;
    end->later = 0;
    turn->latest = number;
    return 0;
}

// Before its file access begins or ends.
static int follow_rounds(struct log_collectives *all, struct collective_inside *call, int64_t at_ns) {
    struct collective_turn *turn = call->turn;
    const struct round_end *end;
    for (uint32_t i = turn->latest; i && (end = round_end(turn, i))->at_ns >= call->known_ns; i = end->earlier) {
        int64_t io_ns = call->io_ns + (call->depth ? end->at_ns - call->access_ns : 0);
        while (io_ns && call->round_ios < i) {
            if (!hold_round(all, turn)) return 0;
            FORWARD(array_push(call->round_io, call->round_ios, 0));
        }
        if (io_ns) call->round_io[i - 1] = io_ns;
    }
    call->known_ns = at_ns;
    return 0;
}

static int begin_access(struct log_collectives *all, struct collective_inside *call, int64_t at_ns) {
    struct collective_turn *turn = call->turn;
    if (!call->depth) FORWARD(follow_rounds(all, call, at_ns));
    if (call->depth++) return 0;
    advance(turn, at_ns);
    call->access_ns = at_ns;
    if (turn->accessing++) return 0;
    turn->clocks.between_ns += turn->clocks.behind_ns;
    turn->clocks.behind_ns = 0;
    turn->has_access = true;
    turn->access_ns = at_ns;
    return 0;
}

static int end_access(struct log_collectives *all, struct collective_inside *call, int64_t at_ns, uint32_t round) {
    struct collective_turn *turn = call->turn;
    advance(turn, at_ns);
    if (call->depth == 1) {
        FORWARD(follow_rounds(all, call, at_ns));
        turn->accessing--;
        call->io_ns += at_ns - call->access_ns;
    }
    call->depth--;
    return round ? end_round(all, turn, round) : 0;
}

// --- turns

// Whether the rank moved its own data: from its place on, and with data sieving more than it asked for.
static bool is_own(const struct collective_inside *call) {
    if (!call->is.bytes || !call->transfers) return !call->is.bytes && !call->transfers;
    return call->below_bytes >= call->is.bytes && (!call->has_offset || call->below_offset == call->offset);
}

// The number of rounds of two-phase I/O; 0 if each rank moved its own data.
static uint32_t count_phases(const struct collective_turn *turn) {
    bool all_own = true;
    uint32_t most = 0;
    for (const struct collective_inside *call = turn->first; call; call = call->next_of_turn) {
        all_own = all_own && is_own(call);
        if (call->rounds > most) most = call->rounds;
    }
    return all_own || turn->size < 2 ? 0 : most;
}

static struct inside_round whole_call(const struct collective_inside *call) {
    return (struct inside_round){{call->is.ns[INSIDE_WAIT], call->is.ns[INSIDE_EXCHANGE], call->is.ns[INSIDE_IO]}};
}

// What the parts of the call were at the end of a round.
static struct inside_round parts_at(const struct collective_inside *call, uint32_t number) {
    const struct round_end *end = round_end(call->turn, number);
    if (end->at_ns <= call->start_ns) return (struct inside_round){0};
    if (end->at_ns >= call->end_ns) return whole_call(call);
    int64_t io_ns = number <= call->round_ios ? call->round_io[number - 1] : 0;
    if (end->at_ns <= call->came_ns) return (struct inside_round){{end->at_ns - call->start_ns - io_ns, 0, io_ns}};
    return (struct inside_round){
        {call->came_ns - call->start_ns - io_ns + end->clocks.any_ns, quiet_ns(&end->clocks), io_ns}};
}

static int divide_rounds(struct log_collectives *all, struct collective_inside *call, uint32_t rounds) {
    const struct collective_turn *turn = call->turn;
    if (!rounds || turn->has_no_rounds) return 0;
    while (all->by_rounds < rounds) FORWARD(array_push(all->by_round, all->by_rounds, (struct inside_round){0}));
    struct inside_round before = {0};
    for (uint32_t i = 1, latest = 1; i <= rounds; i++) {
        // Where aggregators are not in step, one of them may end a round after another ends the next.
        if (i < rounds && round_end(turn, i)->at_ns > round_end(turn, latest)->at_ns) latest = i;
        struct inside_round now = i < rounds ? parts_at(call, latest) : whole_call(call);
        for (unsigned k = 0; k < INSIDE_REST; k++) all->by_round[i - 1].ns[k] = now.ns[k] - before.ns[k];
        before = now;
    }
    call->is.by_round = all->by_round;
    return 0;
}

static void divide(struct collective_inside *call, uint32_t rounds) {
    const struct collective_turn *turn = call->turn;
    const struct clocks *clocks = &call->clocks;
    int64_t *ns = call->is.ns, all_quiet_ns = quiet_ns(clocks);
    ns[INSIDE_IO] = call->io_ns;
    // Until the last one came, and then while any rank accesses the file, without its own file accesses in both.
    ns[INSIDE_WAIT] = call->came_ns - call->start_ns - call->io_ns + clocks->any_ns;
    if (!rounds)
        ns[INSIDE_REST] = all_quiet_ns;
    else if (call->is.call->class == CLASS_WRITE && turn->access_ns < call->end_ns)
        ns[INSIDE_REST] = clocks->behind_ns;
    ns[INSIDE_EXCHANGE] = all_quiet_ns - ns[INSIDE_REST];
    call->is.rounds = rounds;
    call->is.is_aggregator = rounds && call->transfers;
    call->is.ranks = (uint32_t)turn->size;
    call->is.is_last = turn->size > 1 && call->is.id == turn->last_id;
    if (call->is.is_last) call->is.late_ns = turn->waiting_ns;
}

static int tell(struct log_collectives *all, const struct collective_call *call) {
    struct collective_process *process = &all->process[call->process->index];
    all->calls += call->is_matched;
    all->unmatched += !call->is_matched;
    process->calls += call->ranks > 1;
    process->last += call->is_last;
    process->late_ns += call->late_ns;
    for (unsigned i = 0; i < INSIDE_PARTS; i++) all->ns[i] += call->ns[i];
    return all->callback && call->is_asked ? all->callback(call, all->context) : 0;
}

static void free_call(struct log_collectives *all, struct collective_inside *call) {
    all->held--;
    all->rounds_held -= call->round_ios;
    free(call->round_io);
    free(call);
}

// Tells of the calls that have ended. The others, of a turn that is given up, stay until they end.
static int tell_ended(struct log_collectives *all, struct collective_turn *turn) {
    bool is_matched = !turn->is_given_up;
    uint32_t rounds = is_matched && log_class_moves(turn->call->class) ? count_phases(turn) : 0;
    int code = 0;
    for (struct collective_inside **at = &turn->first, *call; (call = *at);) {
        if (!call->has_ended) {
            at = &call->next_of_turn;
            continue;
        }
        call->is.is_matched = is_matched;
        if (is_matched) divide(call, rounds);
        if (is_matched && !code) code = divide_rounds(all, call, rounds);
        if (!code) code = tell(all, &call->is);
        *at = call->next_of_turn;
        free_call(all, call);
    }
    return code;
}

// Turns mostly end, and are given up, in their order.
static void leave_queue(struct log_collectives *all, const struct collective_turn *turn) {
    if (turn->size < 2) return;
    struct collective_queue *queue = &all->queue[turn->meeting];
    queue->turn[turn->number - queue->first] = NULL;
    while (queue->over < queue->count && !queue->turn[queue->over]) queue->over++;
    if (queue->over * 2 < queue->count) return; // moves each turn once, however many there are
    queue->count -= queue->over;
    queue->first += (uint32_t)queue->over;
    memmove(queue->turn, queue->turn + queue->over, queue->count * sizeof *queue->turn);
    queue->over = 0;
    if (queue->count) return;
    free(queue->turn);
    queue->turn = NULL;
}

static void free_turn(struct log_collectives *all, struct collective_turn *turn) {
    *(turn->older ? &turn->older->newer : &all->oldest) = turn->newer;
    *(turn->newer ? &turn->newer->older : &all->newest) = turn->older;
    all->rounds_held -= turn->rounds;
    free(turn->round);
    free(turn);
}

static int end_turn(struct log_collectives *all, struct collective_turn *turn) {
    int code = tell_ended(all, turn);
    if (!turn->is_given_up) leave_queue(all, turn);
    free_turn(all, turn);
    return code;
}

// Some of its ranks may never come.
static int give_up(struct log_collectives *all, struct collective_turn *turn) {
    leave_queue(all, turn);
    turn->is_given_up = true;
    FORWARD(tell_ended(all, turn));
    if (!turn->first) free_turn(all, turn);
    return 0;
}

static int give_up_oldest(struct log_collectives *all) {
    struct collective_turn *turn = all->oldest;
    while (turn && turn->is_given_up) turn = turn->newer;
    return turn ? give_up(all, turn) : 0;
}

static int break_meeting(struct log_collectives *all, struct collective_queue *queue) {
    queue->is_broken = true;
    while (queue->count) FORWARD(give_up(all, queue->turn[queue->over]));
    return 0;
}

static int new_turn(struct log_collectives *all, const struct meeting_turn *at, struct collective_turn **out) {
    struct collective_turn *turn = calloc(1, sizeof *turn);
    RETURN_IF(!turn, -ENOMEM);
    *turn = (struct collective_turn){.older = all->newest,
                                     .size = at->size,
                                     .meeting = at->meeting,
                                     .number = at->turn,
                                     .has_no_rounds = at->size < 2};
    *(all->newest ? &all->newest->newer : &all->oldest) = turn;
    all->newest = turn;
    *out = turn;
    return 0;
}

// *out is NULL if it was given up, or all its ranks were there, or not all can come.
static int find_turn(struct log_collectives *all, const struct meeting_turn *at, const struct log_event *event,
                     struct collective_turn **out) {
    *out = NULL;
    if (at->size == 1) return new_turn(all, at, out);
    while (all->queues <= at->meeting) FORWARD(array_push(all->queue, all->queues, (struct collective_queue){0}));
    struct collective_queue *queue = &all->queue[at->meeting];
    if (!queue->is_broken && !log_process_is_whole(event->process, event->start_ns)) return break_meeting(all, queue);
    if (queue->is_broken || at->turn < queue->first) return 0;
    if (at->turn - queue->first == queue->count && event->start_ns <= at->until_ns) {
        FORWARD(array_room(queue->turn, queue->count));
        FORWARD(new_turn(all, at, &queue->turn[queue->count]));
        queue->count++;
    }
    if (at->turn - queue->first < queue->count) *out = queue->turn[at->turn - queue->first];
    if (*out && (*out)->arrived == (*out)->size) *out = NULL;
    return 0;
}

// --- calls

static int end_call(struct log_collectives *all, struct collective_inside *call) {
    struct collective_turn *turn = call->turn;
    struct collective_inside **at = &all->open[call->is.process->index];
    while (*at != call) at = &(*at)->next_of_process;
    *at = call->next_of_process;
    FORWARD(follow_rounds(all, call, call->end_ns));
    advance(turn, call->end_ns);
    call->has_ended = true;
    call->clocks = turn->clocks;
    call->came_ns = turn->came_ns;
    if (++turn->ended == turn->size) return end_turn(all, turn);
    if (!turn->is_given_up) return 0;
    FORWARD(tell_ended(all, turn));
    if (!turn->first) free_turn(all, turn);
    return 0;
}

static int go_on(struct log_collectives *all, int64_t to_ns) {
    while (all->ends.count && all->ends.turn[0].start_ns <= to_ns) {
        struct log_turn end = all->ends.turn[0];
        log_heap_pop(&all->ends);
        if (end.id == ends_call)
            FORWARD(end_call(all, end.owner));
        else
            FORWARD(end_access(all, end.owner, end.start_ns, (uint32_t)end.id));
    }
    return 0;
}

static void arrive(struct collective_turn *turn, struct collective_inside *call) {
    if (!turn->arrived) turn->now_ns = call->start_ns;
    if (!turn->arrived) turn->call = call->is.call;
    advance(turn, call->start_ns);
    turn->arrived++;
    turn->waiting_ns = turn->idle_ns;
    turn->idle_ns = 0;
    turn->came_ns = call->start_ns;
    turn->last_id = call->is.id;
    turn->clocks = (struct clocks){0};
    call->next_of_turn = turn->first;
    turn->first = call;
    call->turn = turn;
}

static int add_call(struct log_collectives *all, const struct log_event *event, bool possible) {
    struct collective_call is = {.id = event->id,
                                 .process = event->process,
                                 .call = event->call,
                                 .file = event->file,
                                 .is_asked = !all->filter || log_filter_passes(all->filter, event),
                                 .bytes = log_class_moves(event->call->class) ? log_event_bytes(event) : 0};
    struct meeting_turn at;
    struct collective_turn *turn = NULL;
    FORWARD(meetings_enter(&all->meetings, event, &at));
    if (at.size && possible) FORWARD(find_turn(all, &at, event, &turn));
    if (turn && turn->arrived && turn->call != event->call) {
        FORWARD(break_meeting(all, &all->queue[at.meeting]));
        turn = NULL;
    }
    if (!turn) return tell(all, &is);
    struct collective_inside *call = calloc(1, sizeof *call);
    RETURN_IF(!call, -ENOMEM);
    *call = (struct collective_inside){.is = is,
                                       .start_ns = event->start_ns,
                                       // A split call does its work in its begin.
                                       .end_ns = event->start_ns + log_event_busy_ns(event),
                                       .offset = event->raw.offset,
                                       .has_offset = event->raw.has_offset,
                                       .known_ns = event->start_ns,
                                       .next_of_process = all->open[event->process->index]};
    arrive(turn, call);
    all->open[event->process->index] = call;
    if (++all->held > MOST_HELD) FORWARD(give_up_oldest(all));
    return log_heap_push(&all->ends, (struct log_turn){call->end_ns, ends_call, call});
}

// Returns the round that ends when this transfer does. A round of a write ends with the last transfer in it, one of a
// read when a rank begins the next one: the exchange follows the file access.
static int add_transfer(struct log_collectives *all, struct collective_inside *call, const struct log_event *event,
                        uint32_t *ends_round) {
    struct collective_turn *turn = call->turn;
    bool begins_round = !call->transfers || event->start_ns - call->free_ns > ROUND_NS;
    if (!call->transfers) call->below_offset = event->raw.offset;
    call->rounds += begins_round;
    call->transfers++;
    call->below_bytes += log_event_bytes(event);
    if (event->call->class == CLASS_WRITE) *ends_round = call->rounds;
    if (event->call->class == CLASS_WRITE || call->rounds <= turn->rounds + 1) return 0;
    advance(turn, event->start_ns);
    return end_round(all, turn, call->rounds - 1);
}

static int add_below(struct log_collectives *all, const struct log_event *event) {
    struct collective_inside *call = all->open[event->process->index];
    while (call && call->is.id != event->parent) call = call->next_of_process;
    if (!call || event->start_ns >= call->end_ns) return 0;
    int64_t end_ns = event->start_ns + event->duration_ns;
    uint32_t ends_round = 0;
    if (event->file == call->is.file && event->call->class == call->is.call->class)
        FORWARD(add_transfer(all, call, event, &ends_round));
    int64_t free_ns = event->start_ns + log_event_busy_ns(event); // an asynchronous request is only submitted
    if (free_ns > call->free_ns) call->free_ns = free_ns;
    FORWARD(begin_access(all, call, event->start_ns));
    return log_heap_push(&all->ends,
                         (struct log_turn){end_ns < call->end_ns ? end_ns : call->end_ns, ends_round, call});
}

static bool is_collective(const struct log_call *call) {
    return call->layer == LAYER_MPIIO && call->traits & CALL_COLLECTIVE;
}

bool log_collectives_divide(const struct log_call *call) {
    return is_collective(call) && call_table[call->build_id].form != FORM_NONBLOCKING;
}

int log_collectives_add(struct log_collectives *all, const struct log_event *event) {
    bool possible = log_event_is_possible(event);
    if (possible) FORWARD(go_on(all, event->start_ns));
    if (is_collective(event->call)) {
        if (log_collectives_divide(event->call)) return add_call(all, event, possible);
        all->nonblocking++;
    } else if (possible && event->has_parent && event->call->layer < LAYER_MPIIO) {
        return add_below(all, event);
    }
    return 0;
}

static int add_events(void *context, const struct log_event *const *event, size_t count) {
    for (size_t i = 0; i < count; i++) FORWARD(log_collectives_add(context, event[i]));
    return 0;
}

struct log_consumer log_collectives_consumer(struct log_collectives *all) {
    if (!log_has_collectives(all->log, NULL)) return (struct log_consumer){0};
    return (struct log_consumer){.context = all, .ordered = add_events};
}

// --- begin and end

bool log_has_collectives(const struct log *log, const struct log_filter *filter) {
    const struct log_call *call = log->calls.item;
    for (size_t i = 0; i < log->calls.count; i++) {
        if (is_collective(&call[i]) && (!filter || log_filter_has_call(filter, &call[i]))) return true;
    }
    return false;
}

int log_collectives_init(struct log_collectives *all, struct log *log, log_collective_callback *callback,
                         void *context) {
    *all = (struct log_collectives){.log = log, .callback = callback, .context = context};
    all->process = calloc(log_process_count(log) + 1, sizeof *all->process);
    all->open = calloc(log_process_count(log) + 1, sizeof *all->open);
    RETURN_IF(!all->process || !all->open, -ENOMEM);
    return meetings_init(&all->meetings, log);
}

int log_collectives_finish(struct log_collectives *all) {
    FORWARD(go_on(all, INT64_MAX));
    while (all->oldest) FORWARD(give_up_oldest(all));
    return 0;
}

void log_collectives_free(struct log_collectives *all) {
    for (struct collective_turn *turn = all->oldest, *newer; turn; turn = newer) {
        newer = turn->newer;
        for (struct collective_inside *call = turn->first, *next; call; call = next) {
            next = call->next_of_turn;
            free_call(all, call);
        }
        free_turn(all, turn);
    }
    for (size_t i = 0; i < all->queues; i++) free(all->queue[i].turn);
    free(all->queue);
    free(all->process);
    free(all->open);
    free(all->by_round);
    free(all->ends.turn);
    if (all->log) meetings_free(&all->meetings);
}
