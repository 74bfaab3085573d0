// Whether all bytes that the program moved were also moved at each layer below, and why not.
//
// Sums per file are compared, not calls: the buffers of libc and the pages of the kernel lie between a call that asks
// for bytes and another one that moves them.
#include "base/array.h"
#include "base/err.h"
#include "summary/stack.h"

static unsigned level_of(unsigned layer) { return call_layer_is_below(layer) ? layer - LAYER_CLIENT + 1 : 0; }

int stack_moved_add(struct summary_stack *stack, const struct log_file *file, const struct log_call *call,
                    uint64_t bytes) {
    uint64_t key = file ? (uint64_t)file->index + 1 : 0;
    uint32_t at = lookup_find(&stack->moved_of, key);
    if (at == LOOKUP_NONE) {
        at = (uint32_t)stack->moved_count;
        FORWARD(lookup_set(&stack->moved_of, key, at));
        FORWARD(array_push(stack->moved, stack->moved_count, (struct stack_moved){.file = file}));
    }
    unsigned direction = call->class == CLASS_READ ? DIRECTION_READ : DIRECTION_WRITE;
    stack->moved[at].bytes[level_of(call->layer)][direction] += bytes;
    return 0;
}

static bool is_probed(const struct summary_stack *stack, unsigned layer) {
    const struct log_stack *about = log_stack(stack->log);
    return about && about->layers ? about->layers >> layer & 1 : stack->layer[layer].calls;
}

static bool is_on_stack(const struct summary_stack *stack, const struct stack_moved *moved) {
    const uint64_t *client = moved->bytes[level_of(LAYER_CLIENT)];
    return client[DIRECTION_READ] || client[DIRECTION_WRITE] || stack_has_file(stack, moved->file);
}

static struct stack_difference compare(const struct summary_stack *stack, unsigned above, unsigned layer,
                                       bool is_more) {
    struct stack_difference sum = {.above = above, .layer = layer, .is_more = is_more};
    for (size_t i = 0; i < stack->moved_count; i++) {
        bool differs = false;
        if (!is_on_stack(stack, &stack->moved[i])) continue;
        for (unsigned d = 0; d < DIRECTION_COUNT; d++) {
            uint64_t upper = stack->moved[i].bytes[level_of(above)][d],
                     lower = stack->moved[i].bytes[level_of(layer)][d];
            if (upper == lower || (lower > upper) != is_more) continue;
            sum.bytes[d] += is_more ? lower - upper : upper - lower;
            differs = true;
        }
        sum.files += differs;
    }
    return sum;
}

static enum stack_cause cause_of(const struct summary_stack *stack, const struct stack_difference *difference) {
    const struct log_stack *about = log_stack(stack->log);
    bool is_more = difference->is_more;
    if (!difference->above) return is_more ? STACK_AHEAD : STACK_CACHED;
    if (difference->above == LAYER_CLIENT && about && about->redundancy) return STACK_CODED;
    if (is_more) return STACK_INTERNAL;
    return difference->above == LAYER_CLIENT ? STACK_HOLES : STACK_UNANSWERED;
}

size_t stack_differences(const struct summary_stack *stack, struct stack_difference found[STACK_DIFFERENCES]) {
    size_t count = 0;
    unsigned above = LAYER_NONE;
    for (unsigned layer = LAYER_CLIENT; layer <= LAYER_DISK; layer++) {
        if (!is_probed(stack, layer)) continue;
        for (int is_more = 0; is_more < 2; is_more++) {
            found[count] = compare(stack, above, layer, is_more);
            found[count].cause = cause_of(stack, &found[count]);
            count += found[count].files > 0;
        }
        above = layer;
    }
    return count;
}

const char *stack_cause_name(enum stack_cause cause) {
    static const char *const names[] = {"cached", "ahead", "coded", "holes", "unanswered", "internal"};
    return names[cause];
}

const char *stack_cause_why(enum stack_cause cause) {
    static const char *const texts[] = {
        [STACK_CACHED] = "in the kernel's page cache or a buffer of libc, or not tied",
        [STACK_AHEAD] = "whole pages and buffers, and read ahead",
        [STACK_CODED] = "coded: each server has a fragment, and some are redundant",
        [STACK_HOLES] = "known without a server: holes, ends of files",
        [STACK_UNANSWERED] = "without an answer, or not tied",
        [STACK_INTERNAL] = "the file system's own",
    };
    return texts[cause];
}
