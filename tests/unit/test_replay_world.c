// Processes without MPI gather more than fits their shared memory at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/runner/world.h"

enum { PROCESSES = 3, BYTES = (5 << 20) / 2 + 7 };

static void test_gather(void **state) {
    (void)state;
    assert_int_equal(world_start(NULL, NULL, PROCESSES, 1), 0);
    unsigned char *mine = malloc(BYTES), *all = world.rank ? NULL : malloc((size_t)PROCESSES * BYTES);
    memset(mine, 'a' + world.rank, BYTES);
    mine[BYTES - 1] = (unsigned char)('0' + world.rank);
    world_gather(mine, BYTES, all);
    if (world.rank) _exit(world_end(0));
    for (int rank = 0; rank < PROCESSES; rank++) {
        for (int i = 0; i < BYTES - 1; i++) assert_int_equal(all[rank * BYTES + i], 'a' + rank);
        assert_int_equal(all[(rank + 1) * BYTES - 1], '0' + rank);
    }
    free(mine);
    free(all);
    assert_int_equal(world_end(0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gather)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
