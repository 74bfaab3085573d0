// Makes threads of operations from short texts, for the tests of what the model does with them.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmt/call.h"
#include "model/build/recorded.h"
#include "model/loops.h"

enum { MAKER_KINDS = 128, MAKER_OPS = 4096, MAKER_THREADS = 64, MAKER_UNIT = 1000 };

#define MAKER_PAUSE_NS INT64_C(1000000000)

// Kinds are letters. Small ones are transfers: r, w and their like; R and W are on another file. Large ones from A on
// are what is not a transfer: O an open, C a close, S a sync, B a barrier.
struct ops_maker {
    struct recorded recorded;
    struct op_kind kind[MAKER_KINDS];
    struct recorded_program program[2];
    struct thread_ops thread[MAKER_THREADS];
};

static inline struct op_kind maker_kind(char letter) {
    static const char calls[MAKER_KINDS][2];
    struct op_kind kind = {.call = calls[(unsigned)letter], .layer = LAYER_POSIX, .has_offset = true};
    kind.set = letter == 'R' || letter == 'W' ? 1 : 0;
    switch (letter) {
    case 'r':
    case 'R': kind.class = CLASS_READ; break;
    case 'O': kind.class = CLASS_OPEN; break;
    case 'C': kind.class = CLASS_CLOSE; break;
    case 'S': kind.class = CLASS_SYNC; break;
    case 'B': kind.class = CLASS_NONE; break;
    default: kind.class = CLASS_WRITE;
    }
    return kind;
}

static inline void maker_start(struct ops_maker *maker, bool is_mpi) {
    memset(maker, 0, sizeof *maker);
    for (unsigned i = 0; i < MAKER_KINDS; i++) maker->kind[i] = maker_kind((char)i);
    maker->program[0].is_mpi = maker->program[1].is_mpi = is_mpi;
    maker->recorded = (struct recorded){.thread = maker->thread,
                                        .program = maker->program,
                                        .programs = 1,
                                        .kind = maker->kind,
                                        .kinds = MAKER_KINDS,
                                        .sets.set_count = 2};
}

static inline bool maker_is_other(char letter) {
    return letter == 'O' || letter == 'C' || letter == 'S' || letter == 'B';
}

static inline void maker_alloc(struct thread_ops *thread) {
    thread->transfer = calloc(MAKER_OPS, sizeof *thread->transfer);
    thread->time = calloc(MAKER_OPS, sizeof *thread->time);
    thread->gap = calloc(MAKER_OPS, sizeof *thread->gap);
    thread->tick = calloc(MAKER_OPS, sizeof *thread->tick);
    thread->other = calloc(MAKER_OPS, sizeof *thread->other);
    thread->other_time = calloc(MAKER_OPS, sizeof *thread->other_time);
    thread->other_parted = calloc(MAKER_OPS, sizeof *thread->other_parted);
}

static inline void maker_op(struct thread_ops *thread, const struct op *op, const struct thread_gap *gap, bool parted) {
    if (thread->transfers == MAKER_OPS || thread->others == MAKER_OPS) abort();
    if (maker_is_other((char)op->kind)) {
        thread->other[thread->others] = *op;
        thread->other[thread->others].at[AT_POSITION] = (int64_t)thread->transfers;
        thread->other_parted[thread->others++] = parted;
        return;
    }
    thread->gap[thread->transfers] = *gap;
    thread->transfer[thread->transfers++] = *op;
}

// A thread of the next rank. Words: a kind and an offset in units or bytes, `w3` or `w@3000`; then perhaps `:SIZE` in
// bytes, `-SHORT` bytes that were not moved, `/MEMBER` of the set. `|` between them is data moved by communication, `=`
// a barrier, `_` a pause, `w0*8` eight of them, one after the other.
static inline struct thread_ops *maker_thread(struct ops_maker *maker, const char *words) {
    struct thread_ops *thread = &maker->thread[maker->recorded.count];
    struct thread_gap gap = {0};
    bool parted = false;
    *thread = (struct thread_ops){.rank = (uint32_t)maker->recorded.count++};
    maker->program[0].np = (uint32_t)maker->recorded.count;
    maker_alloc(thread);
    for (const char *at = words; *at;) {
        struct op op = {.kind = (uint32_t)*at, .at[AT_SIZE] = MAKER_UNIT};
        int64_t times = 1;
        char *end = (char *)at + 1;
        if (*at == '|') gap.moving++, parted = true;
        if (*at == '=') gap.synchronising++;
        thread->comm_calls += *at == '|' || *at == '=';
        if (*at == '_') gap.idle_ns += MAKER_PAUSE_NS;
        if (!strchr("|=_ ", *at)) {
            bool in_bytes = *end == '@';
            op.at[AT_OFFSET] = strtoll(end + in_bytes, &end, 10) * (in_bytes ? 1 : MAKER_UNIT);
            if (*end == ':') op.at[AT_SIZE] = strtoll(end + 1, &end, 10);
            if (*end == '-') op.at[AT_SHORT] = strtoll(end + 1, &end, 10);
            if (*end == '/') op.at[AT_MEMBER] = strtoll(end + 1, &end, 10);
            if (*end == '*') times = strtoll(end + 1, &end, 10);
            for (; times > 0; times--) {
                maker_op(thread, &op, &gap, parted);
                if (!maker_is_other(*at)) gap = (struct thread_gap){0};
                parted = false;
                op.at[AT_OFFSET] += op.at[AT_SIZE] - op.at[AT_SHORT];
            }
        }
        at = end;
    }
    return thread;
}

static inline void maker_free(struct ops_maker *maker) {
    for (size_t i = 0; i < maker->recorded.count; i++) thread_ops_free(&maker->thread[i]);
}

// --- loops as text: `w`, `w8`, `(w r)6`, `[32]`

static inline size_t maker_print(char *to, size_t room, const struct loops *item, size_t items) {
    size_t len = 0;
    to[0] = 0;
    for (size_t i = 0; i < items && len + 64 < room; i++, item++) {
        if (i) to[len++] = ' ';
        if (item->type == LOOPS_OP) {
            len += (size_t)snprintf(to + len, room - len, "%c", (char)item->op.kind);
        } else if (item->type == LOOPS_LIST) {
            len += (size_t)snprintf(to + len, room - len, "[%zu]", (size_t)item->count);
        } else {
            bool plain = item->length == 1 && item->body->type == LOOPS_OP;
            if (!plain) to[len++] = '(';
            len += maker_print(to + len, room - len, item->body, item->length);
            len += (size_t)snprintf(to + len, room - len, "%s%zu", plain ? "" : ")", (size_t)item->count);
        }
    }
    to[len] = 0;
    return len;
}
