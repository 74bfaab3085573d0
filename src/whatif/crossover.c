#include "whatif/crossover.h"

#include <math.h>

#include "base/json_keys.h"
#include "whatif/extended.h"
#include "whatif/published.h"

// --- curves

// Between the two points around it, on the lines between them.
static void find_crossing(struct crossover_curve *curve) {
    curve->is_known = true;
    curve->crossing = NAN;
    curve->wins_below = curve->collective[0] < curve->independent[0];
    for (size_t i = 1; i < CROSSOVER_POINTS; i++) {
        double before = curve->collective[i - 1] - curve->independent[i - 1];
        double after = curve->collective[i] - curve->independent[i];
        if ((before < 0) == (after < 0)) continue;
        curve->crossing = curve->x[i - 1] + (curve->x[i] - curve->x[i - 1]) * before / (before - after);
        return;
    }
}

static double between(double low, double high, size_t i) {
    return low * pow(high / low, (double)i / (CROSSOVER_POINTS - 1));
}

// Faster storage shortens the time of the requests only.
static void make_bandwidth(struct crossover_curve *curve, const struct extended *collective,
                           const struct extended *independent, double bandwidth) {
    enum { TIMES = 32 };
    for (size_t i = 0; i < CROSSOVER_POINTS; i++) {
        double x = curve->x[i] = between(bandwidth / TIMES, bandwidth * TIMES, i), slower = bandwidth / x;
        curve->collective[i] = collective->seconds.middle + collective->storage * (slower - 1);
        curve->independent[i] = independent->seconds.middle + independent->storage * (slower - 1);
    }
    find_crossing(curve);
}

// The share that is not exchanged is moved individually.
static void make_tau(struct crossover_curve *curve, struct published p) {
    for (size_t i = 0; i < CROSSOVER_POINTS; i++) {
        p.tau = curve->x[i] = (double)i / (CROSSOVER_POINTS - 1);
        curve->independent[i] = published_individual(&p);
        curve->collective[i] = published_collective(&p) + (1 - p.tau) * curve->independent[i];
    }
    find_crossing(curve);
}

static void make_message(struct crossover_curve *curve, struct published p) {
    for (size_t i = 0; i < CROSSOVER_POINTS; i++) {
        p.message = p.bytes = curve->x[i] = between(4 << 10, 64 << 20, i);
        p.tau = 1;
        curve->collective[i] = published_communication(&p);
        curve->independent[i] = published_individual(&p) - published_collective_io(&p);
    }
    find_crossing(curve);
}

void crossover_make(struct crossover *crossover, const struct extended *collective, const struct extended *independent,
                    double bandwidth, const struct published *published) {
    *crossover = (struct crossover){0};
    if (collective && independent && bandwidth > 0)
        make_bandwidth(&crossover->bandwidth, collective, independent, bandwidth);
    if (!published) return;
    make_tau(&crossover->tau, *published);
    make_message(&crossover->message, *published);
}

// --- JSON

static void write_curve(const struct crossover_curve *curve, const char *key, const char *x, const char *const names[2],
                        struct json_out *json) {
    json_key(json, key);
    if (!curve->is_known) {
        json_null(json);
        return;
    }
    json_object(json);
    json_members(json, m_double("crossing", curve->crossing), m_bool("collective_below", curve->wins_below));
    key_array(json, "points");
    for (size_t i = 0; i < CROSSOVER_POINTS; i++) {
        json_object_of(json, m_double(x, curve->x[i]), m_double(names[0], curve->collective[i]),
                       m_double(names[1], curve->independent[i]));
    }
    json_close(json);
    json_close(json);
}

void crossover_write(const struct crossover *crossover, struct json_out *json) {
    static const char *const times[] = {"collective", "independent"}, *const parts[] = {"cost", "gain"};
    key_object(json, "crossover");
    write_curve(&crossover->bandwidth, "bandwidth", "bandwidth", times, json);
    write_curve(&crossover->tau, "tau", "tau", times, json);
    write_curve(&crossover->message, "message", "bytes", parts, json);
    json_close(json);
}
