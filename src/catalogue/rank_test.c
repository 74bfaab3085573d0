#include "catalogue/rank_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

// Twice the rank, which is whole also where equal values share the mean of their ranks.
static size_t double_rank(const double *sorted, size_t count, double value) {
    size_t below = 0, equal = 0;
    for (size_t i = 0; i < count; i++) {
        below += sorted[i] < value;
        equal += sorted[i] == value;
    }
    return 2 * below + equal + 1;
}

// ways[k][s]: in how many ways k of the values have ranks that add up to s / 2.
double rank_test(const double *above, size_t above_count, const double *below, size_t below_count) {
    enum { MOST_SUM = 2 * RANK_TEST_MOST * RANK_TEST_MOST };
    size_t count = above_count + below_count, most = 2 * count * above_count, sum = 0;
    double all[RANK_TEST_MOST], total = 0, high = 0;
    if (!above_count || !below_count || count > RANK_TEST_MOST) return 1;
    double(*ways)[MOST_SUM + 1] = calloc(above_count + 1, sizeof *ways);
    if (!ways) return 1;
    memcpy(all, above, above_count * sizeof *all);
    memcpy(all + above_count, below, below_count * sizeof *all);
    for (size_t i = 0; i < above_count; i++) sum += double_rank(all, count, above[i]);
    ways[0][0] = 1;
    for (size_t i = 0; i < count; i++) {
        size_t rank = double_rank(all, count, all[i]);
        for (size_t k = above_count < i + 1 ? above_count : i + 1; k > 0; k--) {
            for (size_t s = most; s >= rank; s--) ways[k][s] += ways[k - 1][s - rank];
        }
    }
    for (size_t s = 0; s <= most; s++) {
        total += ways[above_count][s];
        if (s >= sum) high += ways[above_count][s];
    }
    free(ways);
    return high / total;
}

double rank_median(double *value, size_t count) {
    if (!count) return 0;
    qsort(value, count, sizeof *value, order_double);
    return count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

double rank_spread(const double *value, size_t count, double median) {
    double distance[RANK_TEST_MOST];
    if (count > RANK_TEST_MOST) count = RANK_TEST_MOST;
    for (size_t i = 0; i < count; i++) distance[i] = fabs(value[i] - median);
    return 1.4826 * rank_median(distance, count);
}
