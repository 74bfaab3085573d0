#include "findings/wall.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

static void move(struct wall *wall, int64_t to_ns) {
    double ns = to_ns > wall->now_ns ? (double)(to_ns - wall->now_ns) : 0;
    if (ns <= 0) return;
    wall->now_ns = to_ns;
    if (!wall->requests && !wall->mpi) return;
    wall->any_ns += ns;
    if (wall->of_ranks) wall->any_rank_ns += ns;
    if (wall->requests) {
        wall->request_ns += ns / (double)wall->requests;
    } else {
        wall->mpi_ns += ns / (double)wall->mpi;
    }
}

static int take_place(struct wall *wall, uint32_t *place) {
    if (wall->unused_count) {
        *place = wall->unused[--wall->unused_count];
        return 0;
    }
    // Room for all places, so that giving one back cannot fail.
    size_t was = wall->calls;
    FORWARD(array_room(wall->call, was));
    FORWARD(array_room(wall->unused, was));
    *place = (uint32_t)wall->calls++;
    return 0;
}

int wall_begin(struct wall *wall, const struct wall_call *call) {
    uint32_t place;
    FORWARD(take_place(wall, &place));
    struct wall_call *own = &wall->call[place];
    *own = *call;
    own->part_ns = call->is_mpi ? wall->mpi_ns : wall->request_ns;
    wall->requests += !call->is_mpi;
    wall->mpi += call->is_mpi;
    wall->of_ranks += call->is_rank;
    if (call->meeting) {
        struct wall_meeting *meeting = &wall->meeting[call->meeting - 1];
        meeting->last[call->round % WALL_ROUNDS].round = call->round;
        meeting->last[call->round % WALL_ROUNDS].came_ns = wall->mpi_ns;
    }
    return log_heap_push(&wall->ends, (struct log_turn){call->end_ns, place, NULL});
}

static double late_ns(const struct wall *wall, const struct wall_call *call) {
    if (!call->meeting) return 0;
    const struct wall_meeting *meeting = &wall->meeting[call->meeting - 1];
    size_t at = call->round % WALL_ROUNDS;
    return meeting->last[at].round == call->round ? meeting->last[at].came_ns - call->part_ns : 0;
}

bool wall_next_end(struct wall *wall, int64_t to_ns, struct wall_call *ended) {
    if (!wall->ends.count || wall->ends.turn[0].start_ns > to_ns) {
        if (wall->ends.count || to_ns < INT64_MAX) move(wall, to_ns);
        return false;
    }
    uint32_t place = (uint32_t)wall->ends.turn[0].id;
    log_heap_pop(&wall->ends);
    *ended = wall->call[place];
    move(wall, ended->end_ns);
    wall->unused[wall->unused_count++] = place;
    ended->late_ns = late_ns(wall, ended);
    ended->part_ns = (ended->is_mpi ? wall->mpi_ns : wall->request_ns) - ended->part_ns;
    wall->requests -= !ended->is_mpi;
    wall->mpi -= ended->is_mpi;
    wall->of_ranks -= ended->is_rank;
    return true;
}

void wall_free(struct wall *wall) {
    free(wall->ends.turn);
    free(wall->meeting);
    free(wall->call);
    free(wall->unused);
}
