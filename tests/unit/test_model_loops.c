#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "model/loops.h"
#include "test_model_maker.h"

enum { MOST_OPS = 1 << 18, UNIT = 1000 };

static struct op ops[MOST_OPS];
static size_t count;

// --- making operations

static void add(char letter, int64_t offset, int64_t size) {
    assert_true(count < MOST_OPS);
    ops[count++] = (struct op){.kind = (uint32_t)letter, .at = {[AT_OFFSET] = offset, [AT_SIZE] = size}};
}

// Words like `r3`: a kind and an offset in units of the request; `r3:2000` has another size, `r3/1` another file.
static void add_words(const char *words) {
    for (const char *at = words; *at;) {
        char letter = *at;
        char *end;
        int64_t offset = strtoll(at + 1, &end, 10), size = UNIT, member = 0;
        if (*end == ':') size = strtoll(end + 1, &end, 10);
        if (*end == '/') member = strtoll(end + 1, &end, 10);
        add(letter, offset * UNIT, size);
        ops[count - 1].at[AT_MEMBER] = member;
        for (at = end; *at == ' ';) at++;
    }
}

static uint64_t seed;

static uint64_t random_below(uint64_t limit) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % limit;
}

// --- folding, and the result as text

static struct arena arena;
static struct loops_seq folded;
static char text[1 << 16];

struct replay {
    size_t next;
    size_t last_leaf;
};

static int take_op(const struct op *op, size_t leaf, void *context) {
    struct replay *replay = context;
    const struct op *expected = &ops[replay->next++];
    replay->last_leaf = leaf;
    return replay->next > count || op->kind != expected->kind || memcmp(op->at, expected->at, sizeof op->at) != 0;
}

static uint64_t ops_of(const struct loops *item) {
    uint64_t sum = 0;
    for (uint32_t i = 0; item->type == LOOPS_LOOP && i < item->length; i++) sum += ops_of(&item->body[i]);
    return item->type == LOOPS_LOOP ? sum * item->count : item->count;
}

// Folds, and checks that every operation comes back.
static void fold(void) {
    struct replay replay = {0};
    uint64_t sum = 0;
    assert_int_equal(loops_fold(&arena, ops, count, &folded), 0);
    assert_int_equal(loops_walk(&folded, take_op, &replay), 0);
    assert_int_equal(replay.next, count);
    for (size_t i = 0; i < folded.count; i++) {
        assert_int_equal(folded.item[i].ops, ops_of(&folded.item[i]));
        sum += folded.item[i].ops;
    }
    assert_int_equal(sum, count);
}

static int start(void **state) {
    (void)state;
    count = 0;
    seed = 1;
    return 0;
}

static int end(void **state) {
    (void)state;
    arena_free(&arena);
    return 0;
}

#define assert_folds(expected)                                                                                         \
    do {                                                                                                               \
        fold();                                                                                                        \
        maker_print(text, sizeof text, folded.item, folded.count);                                                     \
        assert_string_equal(text, expected);                                                                           \
    } while (0)

#define assert_words(words, expected)                                                                                  \
    do {                                                                                                               \
        count = 0;                                                                                                     \
        add_words(words);                                                                                              \
        assert_folds(expected);                                                                                        \
    } while (0)

// --- known answers

static void nothing_folds_to_nothing(void **state) {
    (void)state;
    assert_folds("");
    assert_int_equal(folded.count, 0);
}

static void single_operations_stay(void **state) {
    (void)state;
    assert_words("r7", "r");
    assert_words("r7 w7", "r w");
    assert_words("r7 w7 s0", "r w s");
    assert_words("r0 r5:2000", "r r");
}

static void equal_steps_are_runs(void **state) {
    (void)state;
    assert_words("r0 r1 r2 r3", "r4");
    assert_int_equal(folded.item->body->step->at[AT_OFFSET], UNIT);
    assert_words("r0 r7 r14", "r3");
    assert_int_equal(folded.item->body->step->at[AT_OFFSET], 7 * UNIT);
    assert_words("r9 r9 r9 r9 r9", "r5");
    assert_words("r30 r20 r10 r0", "r4");
    assert_int_equal(folded.item->body->step->at[AT_OFFSET], -10 * UNIT);
    assert_words("r0/0 r0/1 r0/2 r0/3", "r4");
    assert_int_equal(folded.item->body->step->at[AT_MEMBER], 1);
}

static void sizes_change_in_loops(void **state) {
    (void)state;
    assert_words("r0:1000 r1:2000 r3:3000 r6:4000", "r r r r"); // the offsets do not grow by a constant step
    assert_words("r0:1000 r5:2000 r10:3000 r15:4000 r20:5000", "r5");
    assert_int_equal(folded.item->body->step->at[AT_SIZE], 1000);
    assert_words("w0:10 r0:50 w9:20 r1:50 w18:30 r2:50 w27:40 r3:50", "(w r)4");
}

static void two_operations_are_a_loop_where_they_belong_together(void **state) {
    (void)state;
    assert_words("r0 r1", "r2");
    assert_words("r1 r0", "r2");
    assert_words("r4 r4", "r2");
    assert_words("r0 r9", "r2");           // the only two
    assert_words("w0 r0 r9 w3", "w r2 w"); // of their kind in a row
    assert_words("r0 r9:2000", "r r");
    assert_words("r0 r1 r5", "r2 r");
}

static void the_madbench_pattern_is_read_from_left_to_right(void **state) {
    (void)state;
    assert_words("r0 r1 w0 r2 w1 r3 w2 r4 w3 r5 w4 r6 w5 r7 w6 w7", "r2 (w r)6 w2");
    assert_words("w0 w1 w2 w3 w4 w5 w6 w7 r0 r1 w0 r2 w1 r3 w2 r4 w3 r5 w4 r6 w5 r7 w6 w7 "
                 "r0 r1 r2 r3 r4 r5 r6 r7",
                 "w8 r2 (w r)6 w2 r8");
    assert_words("w0 w1 w2 w3 r0 r1 w0 r2 w1 r3 w2 w3 r0 r1 r2 r3", "w4 r2 (w r)2 w2 r4");
    assert_words("r0 r16 w0 r32 w16 r48 w32 r64 w48 r80 w64 w80", "r2 (w r)4 w2"); // strided
}

static void the_longest_run_takes_the_operation_between(void **state) {
    (void)state;
    assert_words("r0 r10 r20 r21 r22 r23 r24 r25", "r2 r6");
    assert_words("w0 r0 w1 r1 w2 r2 w3 r3 r9 r9", "(w r)4 r2");
}

static void strides_nest(void **state) {
    (void)state;
    for (int64_t y = 0; y < 5; y++) {
        for (int64_t x = 0; x < 4; x++) add('w', y * 100 + x * 10, 10);
    }
    assert_folds("(w4)5");
    const struct loops *leaf = folded.item->body->body;
    assert_int_equal(leaf->steps, 2);
    assert_int_equal(leaf->step[0].at[AT_OFFSET], 10);
    assert_int_equal(leaf->step[1].at[AT_OFFSET], 100);
    count = 0;
    for (int64_t z = 0; z < 3; z++) {
        for (int64_t y = 0; y < 5; y++) {
            for (int64_t x = 0; x < 4; x++) add('w', z * 10000 + y * 100 + x * 10, 10);
        }
    }
    assert_folds("((w4)5)3");
    count = 0;
    for (int64_t y = 0; y < 50; y++) {
        for (int64_t x = 0; x < 2; x++) add('w', y * 100 + x * 20, 10);
    }
    assert_folds("(w w)50");
    count = 0;
    for (int64_t z = 0; z < 2; z++) {
        for (int64_t y = 0; y < 2; y++) {
            for (int64_t x = 0; x < 2; x++) add('w', z * 10000 + y * 100 + x * 10, 10);
        }
    }
    assert_folds("((w2)2)2");
    count = 0;
    for (int64_t y = 9; y >= 0; y--) {
        for (int64_t x = 3; x >= 0; x--) add('r', y * 100 + x * 10, 10);
    }
    assert_folds("(r4)10");
}

static void loops_lie_inside_loops_with_more(void **state) {
    (void)state;
    for (int64_t dump = 0; dump < 6; dump++) {
        add('h', dump * 5000, 96);
        for (int64_t x = 0; x < 7; x++) add('w', dump * 5000 + 96 + x * 512, 512);
        add('h', dump * 5000 + 4000, 32);
    }
    assert_folds("(h w7 h)6");
    count = 0;
    for (int64_t dump = 0; dump < 4; dump++) {
        for (int64_t x = 0; x < 5; x++) {
            add('r', dump * 100 + x, 1);
            add('w', dump * 300 + 2 * x, 2);
        }
        add('s', 0, 0);
    }
    assert_folds("((r w)5 s)4");
}

static void a_few_sizes_that_come_again_are_a_loop(void **state) {
    (void)state;
    assert_words("w0:1100 w11:300 w14:100 w15:100 w0:1100/1 w11:300/1 w14:100/1 w15:100/1", "(w w w w)2");
    assert_words("w0:1100 w11:300 w14:100 w15:100 w16:1100 w27:300 w30:100 w31:100", "(w w w w)2");
}

static void interleaved_files_are_one_loop(void **state) {
    (void)state;
    static const int64_t sizes[] = {100, 700, 200, 500, 300, 900, 1100, 450, 320, 800, 650, 120};
    for (int64_t i = 0; i < 20; i++) {
        for (int64_t file = 0; file < 5; file++) {
            add('w', i * 100, 100);
            ops[count - 1].at[AT_MEMBER] = file;
        }
    }
    assert_folds("(w5)20");
    count = 0;
    for (int64_t i = 0; i < 20;
         i++) { // twelve of different sizes: more than the periods that are tried without evidence
        for (int64_t file = 0; file < 12; file++) {
            add('w', i * sizes[file], sizes[file]);
            ops[count - 1].at[AT_MEMBER] = file;
        }
    }
    assert_folds("(w w w w w w w w w w w w)20");
}

// A body of many operations, of one kind or several, at places that follow no rule.
static void add_long_body(int64_t length, int64_t times, bool one_kind) {
    for (int64_t i = 0; i < times; i++) {
        seed = 7;
        for (int64_t k = 0; k < length; k++) {
            char letter = one_kind ? 'w' : "rwshm"[random_below(5)];
            int64_t offset = (int64_t)random_below(1000000);
            add(letter, offset + i * 5000000, 100 + (int64_t)(one_kind ? 0 : random_below(50)));
        }
    }
}

static void long_bodies_are_found(void **state) {
    (void)state;
    const int64_t times[] = {2, 3, 50};
    for (unsigned i = 0; i < 6; i++) {
        count = 0;
        add_long_body(100, times[i / 2], i % 2);
        fold();
        assert_int_equal(folded.count, 1);
        assert_int_equal(folded.item->count, times[i / 2]);
        assert_int_equal(folded.item->length, 100);
    }
    count = 0;
    add_long_body(4000, 3, true);
    fold();
    assert_int_equal(folded.count, 1);
    assert_int_equal(folded.item->length, 4000);
}

static void long_bodies_in_the_middle_are_found(void **state) {
    (void)state;
    for (int64_t i = 0; i < 40; i++) add('r', i * 100, 100);
    add_long_body(100, 5, true);
    for (int64_t i = 0; i < 40; i++) add('r', i * 300, 100);
    fold();
    assert_int_equal(folded.count, 3);
    assert_int_equal(folded.item[1].count, 5);
}

static void what_follows_no_rule_is_a_list(void **state) {
    (void)state;
    for (int i = 0; i < 500; i++) add('r', (int64_t)random_below(100000) * 512, 512);
    assert_folds("[500]");
    count = 0;
    for (int i = 0; i < 500; i++) add(random_below(10) < 7 ? 'r' : 'w', (int64_t)random_below(100000) * 512, 512);
    assert_folds("[500]");
    count = 0;
    for (int i = 0; i < 2000; i++) add('r', (int64_t)random_below(4) * 512, 512); // chance makes many loops
    assert_folds("[2000]");
}

// Blocks of a file in some order, as a shuffle leaves them.
static void add_shuffled(char letter, int64_t blocks) {
    size_t first = count;
    for (int64_t i = 0; i < blocks; i++) add(letter, i * UNIT, UNIT);
    for (int64_t i = blocks - 1; i > 0; i--) {
        size_t other = first + random_below((uint64_t)i + 1);
        struct op kept = ops[first + (size_t)i];
        ops[first + (size_t)i] = ops[other];
        ops[other] = kept;
    }
}

static void lists_of_different_kinds_stay_apart(void **state) {
    (void)state;
    unsigned others = 0;
    for (int64_t blocks = 8; blocks < 40; blocks++) {
        for (int again = 0; again < 50; again++) {
            count = 0;
            add_shuffled('w', blocks);
            add_shuffled('r', blocks);
            fold();
            others += folded.count != 2 || folded.item[0].type != LOOPS_LIST || folded.item[1].type != LOOPS_LIST;
        }
    }
    print_message("# %u of 1600 pairs of shuffles are not two lists\n", others);
    assert_true(others < 16); // a shuffle may leave things in order
}

static void loops_beside_lists_stay_loops(void **state) {
    (void)state;
    for (int i = 0; i < 500; i++) add('r', (int64_t)random_below(100000) * 512, 512);
    for (int i = 0; i < 100; i++) add('r', i * 512, 512);
    for (int i = 0; i < 500; i++) add('r', (int64_t)random_below(100000) * 512, 512);
    assert_folds("[500] r100 [500]");
    count = 0;
    for (int i = 0; i < 500; i++) add('r', (int64_t)random_below(100000) * 512, 512);
    add_words("r3 r4 r5 r6");
    for (int i = 0; i < 500; i++) add('r', (int64_t)random_below(100000) * 512, 512);
    assert_folds("[1004]");
}

static void blocks_at_random_places_stay_alike(void **state) {
    (void)state;
    for (int block = 0; block < 6; block++) {
        int64_t first = (int64_t)random_below(1000) * 64;
        for (int64_t i = 0; i < 8; i++) add('w', (first + i) * UNIT, UNIT);
    }
    assert_folds("w8 w8 w8 w8 w8 w8");
}

static void loops_deeper_than_the_limit_are_cut(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 1 << 12; i++) { // twelve loops of two would be 4096
        int64_t offset = 0;
        for (unsigned bit = 0; bit < 12; bit++) offset += (int64_t)(i >> bit & 1) << (3 * bit);
        add('w', offset * 10, 10);
    }
    fold();
    for (size_t i = 0; i < folded.count; i++) assert_true(folded.item[i].depth <= LOOPS_MAX_DEPTH);
    assert_true(folded.count <= 16);
}

static void numbers_wrap_without_harm(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) add('w', i % 2 ? INT64_MAX : INT64_MIN, i % 3 ? INT64_MAX : 0);
    fold();
    count = 0;
    for (uint64_t i = 0; i < 100; i++) add('w', (int64_t)(i * (UINT64_MAX / 7)), 1);
    fold();
    assert_int_equal(folded.count, 1);
}

// --- random loops come back

struct generated {
    size_t nodes; // loops and operations
    char letters[4];
};

static void add_random_op(const int64_t *place, char letter) {
    add(letter, place[0], place[1]);
    ops[count - 1].at[AT_MEMBER] = place[2];
}

// Writes `times` repetitions of what lies from `first` on, each operation moved by its step.
static void repeat(size_t first, uint64_t times, bool alike) {
    size_t length = count - first;
    int64_t common = (int64_t)random_below(1000) * 64;
    for (size_t k = 0; k < length; k++) {
        int64_t own = alike ? common : (int64_t)random_below(1000) * 64;
        for (uint64_t i = 1; i < times; i++) {
            struct op *to = &ops[first + i * length + k];
            *to = ops[first + k];
            to->at[AT_OFFSET] += own * (int64_t)i;
        }
    }
    count = first + length * times;
}

static void add_nest(struct generated *g, unsigned depth) {
    size_t items = 1 + random_below(4);
    for (size_t i = 0; i < items; i++) {
        g->nodes++;
        size_t first = count;
        if (depth == 0 || random_below(3) == 0) {
            int64_t place[3] = {(int64_t)random_below(1 << 20), 64 << random_below(4), (int64_t)random_below(2)};
            add_random_op(place, g->letters[random_below(3)]);
        } else {
            add_nest(g, depth - 1);
            bool own = depth == 1 && random_below(4) == 0; // steps of their own, of single operations
            repeat(first, (own ? 3 : 2) + random_below(6), !own);
        }
    }
}

static size_t count_nodes(const struct loops *item, size_t items) {
    size_t nodes = items;
    for (size_t i = 0; i < items; i++) {
        if (item[i].type == LOOPS_LOOP) nodes += count_nodes(item[i].body, item[i].length);
    }
    return nodes;
}

static void random_nests_come_back(void **state) {
    (void)state;
    size_t given = 0, found = 0, larger = 0;
    enum { NESTS = 3000 };
    for (uint64_t nest = 0; nest < NESTS; nest++) {
        struct generated g = {.letters = "rwm"};
        count = 0;
        seed = nest * 77 + 1;
        add_nest(&g, 1 + (unsigned)random_below(4));
        fold();
        size_t nodes = count_nodes(folded.item, folded.count);
        given += g.nodes;
        found += nodes;
        larger += nodes > 2 * g.nodes + 4;
        arena_free(&arena);
    }
    print_message("# %zu loops and operations given, %zu found; %zu of %d nests came out much larger\n", given, found,
                  larger, NESTS);
    assert_true(found < given * 2);
    assert_true(larger < NESTS / 50);
}

static void noise_comes_back_too(void **state) {
    (void)state;
    for (uint64_t nest = 0; nest < 500; nest++) {
        struct generated g = {.letters = "rwm"};
        count = 0;
        seed = nest + 5000;
        add_nest(&g, 3);
        for (size_t i = 0; i < 1 + count / 20; i++) {
            ops[random_below(count)].at[random_below(AT_COUNT)] += (int64_t)random_below(100);
        }
        fold();
        arena_free(&arena);
    }
}

// --- time

static double fold_seconds(void) {
    clock_t begun = clock();
    assert_int_equal(loops_fold(&arena, ops, count, &folded), 0);
    double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    arena_free(&arena);
    return seconds;
}

typedef void filler(size_t n);

static void fill_random(size_t n) {
    for (size_t i = 0; i < n; i++) add('r', (int64_t)random_below(1 << 30) * 512, 512);
}

static void fill_few_places(size_t n) {
    for (size_t i = 0; i < n; i++) add('r', (int64_t)random_below(2) * 512, 512);
}

static void fill_mixed(size_t n) {
    for (size_t i = 0; i < n; i++) add("rwmo"[random_below(4)], (int64_t)random_below(64) * 512, 512);
}

// A body of 4000 operations of one kind that comes again and again, but each time with another end.
static void fill_near_misses(size_t n) {
    for (size_t i = 0; i < n; i++) {
        seed = i % 4000;
        int64_t place = (int64_t)random_below(1 << 30) * 512;
        if (i % 4000 == 3999) place = (int64_t)(i * i);
        add('r', place, 512);
    }
}

static void fill_near_misses_of_many_lengths(size_t n) {
    size_t length = 100;
    for (size_t i = 0, k = 0; i < n; i++) {
        seed = k;
        add('r', k + 1 == length ? (int64_t)(i * i) : (int64_t)random_below(1 << 30), 512);
        if (++k == length) {
            k = 0;
            length = length > 4000 ? 100 : length + 1;
        }
    }
}

static void fill_squares(size_t n) {
    for (size_t i = 0; i < n; i++) add('r', (int64_t)(i * i), 512);
}

static void fill_thue_morse(size_t n) {
    for (size_t i = 0; i < n; i++) add(__builtin_parityll(i) ? 'r' : 'w', 0, 512);
}

static void fill_ruler(size_t n) {
    for (size_t i = 0; i < n; i++) add("abcdefghijklmnopqrstuvwxyz"[__builtin_ctzll(i + 1)], 0, 512);
}

static void fill_fibonacci(size_t n) {
    double golden = 1.6180339887498949;
    for (size_t i = 1; i <= n; i++) {
        bool one = (size_t)((double)(i + 1) / golden) == (size_t)((double)i / golden);
        add(one ? 'r' : 'w', 0, 512);
    }
}

static void fill_steps_of_their_own(size_t n) {
    for (size_t i = 0; i < n; i++) {
        seed = i % 3000;
        int64_t own = (int64_t)random_below(1 << 20);
        add('r', own * (int64_t)(1 + i / 3000), 512);
    }
}

static void time_is_near_linear(void **state) {
    (void)state;
    static const struct {
        const char *name;
        filler *fill;
    } cases[] = {{"random places", fill_random},
                 {"two places", fill_few_places},
                 {"kinds and places at random", fill_mixed},
                 {"long bodies with other ends", fill_near_misses},
                 {"so, of many lengths", fill_near_misses_of_many_lengths},
                 {"squares", fill_squares},
                 {"Thue-Morse", fill_thue_morse},
                 {"ruler", fill_ruler},
                 {"Fibonacci", fill_fibonacci},
                 {"long bodies, steps of their own", fill_steps_of_their_own}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double seconds[2];
        for (unsigned large = 0; large < 2; large++) {
            count = 0;
            seed = 1;
            cases[i].fill(large ? MOST_OPS : MOST_OPS / 8);
            seconds[large] = fold_seconds();
        }
        print_message("# %-32s %7.3f s for %d, %7.3f s for %d\n", cases[i].name, seconds[0], MOST_OPS / 8, seconds[1],
                      MOST_OPS);
        assert_true(seconds[1] < 24 * seconds[0] + 0.5); // 8 if it is linear, plus caches and other work
        assert_true(seconds[1] < 20);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(nothing_folds_to_nothing),
        TEST(single_operations_stay),
        TEST(equal_steps_are_runs),
        TEST(sizes_change_in_loops),
        TEST(two_operations_are_a_loop_where_they_belong_together),
        TEST(the_madbench_pattern_is_read_from_left_to_right),
        TEST(the_longest_run_takes_the_operation_between),
        TEST(strides_nest),
        TEST(loops_lie_inside_loops_with_more),
        TEST(a_few_sizes_that_come_again_are_a_loop),
        TEST(interleaved_files_are_one_loop),
        TEST(long_bodies_are_found),
        TEST(long_bodies_in_the_middle_are_found),
        TEST(what_follows_no_rule_is_a_list),
        TEST(lists_of_different_kinds_stay_apart),
        TEST(loops_beside_lists_stay_loops),
        TEST(blocks_at_random_places_stay_alike),
        TEST(loops_deeper_than_the_limit_are_cut),
        TEST(numbers_wrap_without_harm),
        TEST(random_nests_come_back),
        TEST(noise_comes_back_too),
        TEST(time_is_near_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
