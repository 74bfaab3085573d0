// The servers of a stack: what each did and when, and which of them others had to wait for.
//
// A server is overloaded if it costs the job more time than it would need. It is either
//
//   slow      its requests take more than twice as long as requests of the same kind and size at the other servers, and
//             for most of the time that they take there are such requests
//   crowded   for most of the time in which it had requests, several waited for it while no other server had any
//
// Both compare servers of one run, so they need no idea of how fast a server should be.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "summary/stack.h"

int stack_servers_room(struct summary_stack *stack, size_t count) {
    while (stack->servers < count) FORWARD(array_push(stack->server, stack->servers, (struct stack_server){0}));
    return 0;
}

// --- time in calls of the disk

// Distributes a time over the bins. Before the job's start and after its end there are none.
static void add_bins(struct stack_server *server, int64_t run_ns, int64_t start_ns, int64_t end_ns) {
    double bin_ns = (double)run_ns / STACK_BINS;
    if (start_ns < 0) start_ns = 0;
    if (end_ns > run_ns) end_ns = run_ns;
    for (int64_t at_ns = start_ns; at_ns < end_ns;) {
        unsigned bin = (unsigned)((double)at_ns / bin_ns);
        int64_t next_ns = (int64_t)ceil((bin + 1) * bin_ns);
        if (bin >= STACK_BINS) bin = STACK_BINS - 1, next_ns = end_ns;
        if (next_ns <= at_ns) next_ns = at_ns + 1;
        if (next_ns > end_ns) next_ns = end_ns;
        server->bin[bin].busy_ns += next_ns - at_ns;
        at_ns = next_ns;
    }
}

int stack_server_add(struct summary_stack *stack, const struct log_event *event, unsigned number) {
    struct stack_server *server = &stack->server[number];
    int64_t start_ns = event->start_ns, end_ns = start_ns + event->duration_ns;
    server->calls++;
    server->ns += event->duration_ns;
    if (event->duration_ns > server->longest_ns) server->longest_ns = event->duration_ns;
    if (log_class_moves(event->call->class) && !event->raw.error) {
        uint64_t bytes = log_event_bytes(event);
        server->bytes[event->call->class == CLASS_READ ? DIRECTION_READ : DIRECTION_WRITE] += bytes;
        double at = (double)start_ns / (double)stack->run_ns * STACK_BINS; // may be rounded up to the end
        if (start_ns >= 0 && start_ns < stack->run_ns) server->bin[(size_t)fmin(at, STACK_BINS - 1)].bytes += bytes;
    }
    if (server->calls > 1 && start_ns < server->busy_until_ns) start_ns = server->busy_until_ns;
    if (end_ns <= start_ns) return 0;
    server->busy_ns += end_ns - start_ns;
    server->busy_until_ns = end_ns;
    if (stack->run_ns > 0) add_bins(server, stack->run_ns, start_ns, end_ns);
    return 0;
}

double stack_energy(const struct summary_stack *stack, const struct stack_server *server) {
    double busy = (double)server->busy_ns / 1e9, run = (double)stack->run_ns / 1e9;
    return stack->watts.active * busy + stack->watts.inactive * (run > busy ? run - busy : 0);
}

// --- requests on their way

void stack_requests_until(struct summary_stack *stack, int64_t now_ns) {
    int64_t ns = now_ns - stack->now_ns;
    stack->now_ns = now_ns;
    if (!stack->requests || ns <= 0) return;
    for (size_t i = 0; i < stack->servers; i++) {
        struct stack_server *server = &stack->server[i];
        if (!server->depth) continue;
        server->any_ns += ns;
        server->wall_ns += (double)ns * server->depth / stack->requests;
        if (server->depth < 2 || stack->asked > 1) continue;
        uint64_t together = server->depth < stack->servers ? server->depth : stack->servers;
        server->crowded_ns += ns;
        server->spread_ns += (double)ns * (1 - 1 / (double)together);
    }
}

static int likes_of(struct summary_stack *stack, const struct log_event *event, struct stack_likes **likes) {
    uint64_t size = log_class_moves(event->call->class) ? event->raw.size : 0;
    uint64_t key = lookup_pair(event->call->id, size ? 64 - (uint32_t)__builtin_clzll(size) : 0);
    uint32_t place = lookup_find(&stack->likes_of, key);
    if (place == LOOKUP_NONE) {
        place = (uint32_t)stack->likes_count;
        FORWARD(array_room(stack->likes, stack->likes_count));
        memset(&stack->likes[place], 0, sizeof *stack->likes);
        FORWARD(lookup_set(&stack->likes_of, key, place));
        stack->likes_count++;
    }
    *likes = &stack->likes[place];
    return 0;
}

int stack_request_begin(struct summary_stack *stack, const struct log_event *event, unsigned number) {
    struct stack_server *server = &stack->server[number];
    struct stack_likes *likes;
    FORWARD(likes_of(stack, event, &likes));
    likes->of[number].calls++;
    likes->of[number].log_ns += log((double)event->duration_ns + 1);
    stack_requests_until(stack, event->start_ns);
    stack->asked += !server->depth++;
    stack->requests++;
    server->requests++;
    return 0;
}

void stack_request_end(struct summary_stack *stack, unsigned number) {
    stack->asked -= !--stack->server[number].depth;
    stack->requests--;
}

// --- comparison

// How many times longer its requests take than like ones at all the others together; 0 if there are too few. `part` is
// how much of the time of its requests that is about.
static double slower_than_others(const struct summary_stack *stack, size_t number, double *part) {
    enum { FEW = 8 }; // requests of one kind: the times of fewer say little
    double all_ns = 0, actual_ns = 0, expected_ns = 0;
    for (size_t i = 0; i < stack->likes_count; i++) {
        const struct stack_likes *likes = &stack->likes[i];
        double own = likes->of[number].calls, calls = 0, log_ns = 0;
        for (size_t k = 0; k < stack->servers; k++) {
            if (k == number) continue;
            calls += likes->of[k].calls;
            log_ns += likes->of[k].log_ns;
        }
        double own_ns = own > 0 ? own * exp(likes->of[number].log_ns / own) : 0;
        all_ns += own_ns;
        if (own < FEW || calls < FEW) continue;
        actual_ns += own_ns;
        expected_ns += own * exp(log_ns / calls);
    }
    *part = all_ns > 0 ? actual_ns / all_ns : 0;
    return expected_ns > 0 ? actual_ns / expected_ns : 0;
}

void stack_compare_servers(struct summary_stack *stack) {
    for (size_t i = 0; i < stack->servers && stack->servers > 1; i++) {
        struct stack_server *server = &stack->server[i];
        double part;
        server->slower = slower_than_others(stack, i, &part);
        double slow_ns = server->slower > 2 && part > 0.5 ? server->wall_ns * part * (1 - 1 / server->slower) : 0;
        double crowded_ns = 2 * server->crowded_ns > server->any_ns ? server->spread_ns : 0;
        if (slow_ns <= 0 && crowded_ns <= 0) continue;
        server->overload = slow_ns >= crowded_ns ? OVERLOAD_SLOW : OVERLOAD_CROWDED;
        server->lost_ns = (int64_t)(slow_ns >= crowded_ns ? slow_ns : crowded_ns);
    }
}

const char *stack_overload_name(enum stack_overload overload) {
    static const char *const names[] = {[OVERLOAD_SLOW] = "slow", [OVERLOAD_CROWDED] = "crowded"};
    return names[overload];
}
