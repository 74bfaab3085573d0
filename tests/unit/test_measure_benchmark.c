// Benchmarks as models: each byte of their files is written once and read once, by the process that owns it.
#include "measure/benchmark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NP = 3, SIZE = 4096, COUNT = 8 };

struct seen {
    unsigned char times[2][NP][NP * COUNT]; // writing or reading, file, block
    unsigned opens, others, out_of_order;
    int64_t last_end;
    bool shared;
};

static int take(const struct model_step *step, void *context) {
    struct seen *seen = context;
    if (step->kind->class != CLASS_READ && step->kind->class != CLASS_WRITE) {
        seen->opens += step->kind->class == CLASS_OPEN;
        seen->others++;
        return 0;
    }
    int64_t offset = step->op->at[AT_OFFSET];
    assert_int_equal(step->op->at[AT_SIZE], SIZE);
    assert_int_equal(offset % SIZE, 0);
    assert_true(offset / SIZE < NP * COUNT);
    assert_int_equal(step->phase % 2, step->kind->class == CLASS_READ);
    seen->times[step->kind->class == CLASS_READ][step->op->at[AT_MEMBER]][offset / SIZE]++;
    seen->out_of_order += offset != seen->last_end;
    seen->last_end = offset + SIZE;
    return 0;
}

static struct seen expand(const struct benchmark *benchmark, bool is_mpi) {
    struct seen seen = {.shared = benchmark->shared};
    struct model model;
    assert_int_equal(benchmark_model(&model, benchmark, 1, NP, is_mpi), 0);
    assert_int_equal(model.phases, 2);
    assert_int_equal(model.family[0].weight, NP * COUNT * SIZE);
    for (uint32_t rank = 0; rank < NP; rank++) {
        seen.last_end = -1;
        assert_int_equal(model_expand(&model, 0, rank, 0, take, &seen), 0);
    }
    model_free(&model);
    return seen;
}

static void assert_complete(const struct seen *seen) {
    for (unsigned op = 0; op < 2; op++) {
        for (unsigned file = 0; file < (seen->shared ? 1 : NP); file++) {
            for (unsigned i = 0; i < (seen->shared ? NP * COUNT : COUNT); i++) {
                assert_int_equal(seen->times[op][file][i], 1);
            }
        }
    }
}

static void all_modes(void **state) {
    (void)state;
    for (unsigned mode = 0; mode < MODE_COUNT; mode++) {
        for (unsigned shared = 0; shared < 2; shared++) {
            struct benchmark benchmark = {.size = SIZE, .count = COUNT, .mode = mode, .shared = shared, .direct = true};
            struct seen seen = expand(&benchmark, false);
            assert_complete(&seen);
            assert_int_equal(seen.opens, 2 * NP);
            if (mode == MODE_SEQUENTIAL) assert_in_range(seen.out_of_order, NP, 2 * NP);
            if (mode != MODE_SEQUENTIAL) assert_true(seen.out_of_order > 3 * NP);
        }
    }
}

static void collective(void **state) {
    (void)state;
    struct benchmark benchmark = {.size = SIZE,
                                  .count = COUNT,
                                  .mode = MODE_STRIDED,
                                  .shared = true,
                                  .collective = true,
                                  .mpiio = true,
                                  .sync = true};
    struct seen seen = expand(&benchmark, true);
    assert_complete(&seen);
    assert_int_equal(seen.opens, 2 * NP);
    assert_int_equal(seen.others, NP * (3 + 3 + 1)); // open, barrier, close, and a sync after writing
}

static void several(void **state) {
    (void)state;
    struct benchmark benchmark[2] = {{.size = SIZE, .count = COUNT}, {.size = 512, .count = 2, .shared = true}};
    struct model model;
    assert_int_equal(benchmark_model(&model, benchmark, 2, NP, true), 0);
    assert_int_equal(model.phases, 4);
    assert_int_equal(model.family[model.phase[2].family].weight, 512 * 2 * NP);
    assert_int_equal(model.bytes, 2 * NP * (SIZE * COUNT + 512 * 2)); // written and read
    model_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_modes),
        cmocka_unit_test(collective),
        cmocka_unit_test(several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
