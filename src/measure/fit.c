#include "measure/fit.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// The least squares of some of the costs, as equations: matrix * cost = right.
struct equations {
    double matrix[FIT_MOST][FIT_MOST], right[FIT_MOST];
    size_t count;
};

// False if the times do not tell the costs apart.
static bool solve(struct equations *e, double *cost) {
    static const double LEAST_PIVOT = 1e-10; // of a matrix with ones on its diagonal
    for (size_t i = 0; i < e->count; i++) {  // the matrix is symmetric and positive: it needs no exchange of rows
        if (!(e->matrix[i][i] > LEAST_PIVOT)) return false;
        for (size_t row = i + 1; row < e->count; row++) {
            double factor = e->matrix[row][i] / e->matrix[i][i];
            for (size_t k = i; k < e->count; k++) e->matrix[row][k] -= factor * e->matrix[i][k];
            e->right[row] -= factor * e->right[i];
        }
    }
    for (size_t i = e->count; i-- > 0;) {
        cost[i] = e->right[i];
        for (size_t k = i + 1; k < e->count; k++) cost[i] -= e->matrix[i][k] * cost[k];
        cost[i] /= e->matrix[i][i];
    }
    return true;
}

// Fits the costs that `chosen` has a bit for; the others are 0. False if that cannot be, or if one is negative.
static bool fit_chosen(const struct fit_time *time, size_t times, size_t costs, unsigned chosen, double *cost) {
    struct equations e = {.count = 0};
    size_t place[FIT_MOST];
    double size[FIT_MOST], found[FIT_MOST];
    for (size_t c = 0; c < costs; c++) {
        cost[c] = 0;
        if (!(chosen >> c & 1)) continue;
        double sum = 0;
        for (size_t i = 0; i < times; i++) sum += pow(time[i].count[c] / time[i].scale, 2);
        size[e.count] = sqrt(sum); // makes the diagonal 1
        if (!(sum > 0)) return false;
        place[e.count++] = c;
    }
    for (size_t i = 0; i < times; i++) {
        for (size_t row = 0; row < e.count; row++) {
            double factor = time[i].count[place[row]] / time[i].scale / size[row];
            e.right[row] += factor * time[i].seconds / time[i].scale;
            for (size_t k = 0; k < e.count; k++)
                e.matrix[row][k] += factor * time[i].count[place[k]] / time[i].scale / size[k];
        }
    }
    if (!solve(&e, found)) return false;
    for (size_t i = 0; i < e.count; i++) {
        if (found[i] < 0) return false;
        cost[place[i]] = found[i] / size[i];
    }
    return true;
}

static double error_of(const struct fit_time *time, size_t costs, const double *cost) {
    double seconds = 0;
    for (size_t c = 0; c < costs; c++) seconds += cost[c] * time->count[c];
    return fabs(seconds - time->seconds) / time->scale;
}

double fit_costs(const struct fit_time *time, size_t times, size_t costs, double cost[FIT_MOST]) {
    double least = INFINITY, mean = INFINITY, trial[FIT_MOST];
    // The best costs are those of one of the few choices of costs that are not 0.
    for (unsigned chosen = 0; chosen < 1u << costs && times; chosen++) {
        if (!fit_chosen(time, times, costs, chosen, trial)) continue;
        double squares = 0, sum = 0;
        for (size_t i = 0; i < times; i++) {
            double error = error_of(&time[i], costs, trial);
            squares += error * error;
            sum += error;
        }
        if (squares >= least) continue;
        least = squares;
        mean = sum / (double)times;
        memcpy(cost, trial, costs * sizeof *cost);
    }
    return mean;
}
