#include "interference/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "log/visit.h"

// Mean times of like requests: by server and kind; the last row is for all servers.
struct baseline {
    struct mean {
        double sum;
        uint64_t count;
    } * cell;
    size_t servers, kinds;
};

struct making {
    struct estimate *estimate;
    const struct interference *in;
    size_t job;
    struct baseline baseline;
    double shared, compared; // seconds of shared requests: of all, and of those with like ones
    double *took, *alone;    // by server, of one fragment
    struct weight {
        double counted_ns;
        int64_t whole_ns;
    } * weight; // by fragment: how much of its time counts
};

static double took(const struct load_request *request) { return (double)(request->end_ns - request->start_ns) * 1e-9; }

static bool is_shared(const struct interference *in, size_t job, const struct load_request *request) {
    for (size_t i = 0; i < in->jobs; i++)
        if (i != job && load_overlap_ns(&in->job[i].load, request->server, request->start_ns, request->end_ns) > 0)
            return true;
    return false;
}

static void add_to_baseline(struct baseline *baseline, const struct load_request *request) {
    size_t row[] = {request->server, baseline->servers};
    for (size_t i = request->server < baseline->servers ? 0 : 1; i < 2; i++) {
        struct mean *mean = &baseline->cell[row[i] * baseline->kinds + request->kind];
        mean->sum += took(request);
        mean->count++;
    }
}

static int make_baseline(struct making *making) {
    const struct interference_job *job = &making->in->job[making->job];
    struct baseline *baseline = &making->baseline;
    const struct load *load = job->alone ? &job->alone_load : &job->load;
    baseline->servers = making->in->servers;
    baseline->kinds = load_kinds();
    baseline->cell = calloc((baseline->servers + 1) * baseline->kinds, sizeof *baseline->cell);
    RETURN_IF(!baseline->cell, -ENOMEM);
    for (size_t i = 0; i < load->requests; i++)
        if (job->alone || !is_shared(making->in, making->job, &load->request[i]))
            add_to_baseline(baseline, &load->request[i]);
    return 0;
}

// Seconds; NAN if no like request was undisturbed.
static double alone(const struct baseline *baseline, const struct load_request *request) {
    const struct mean *mean = &baseline->cell[request->server * baseline->kinds + request->kind];
    if (!mean->count) mean = &baseline->cell[baseline->servers * baseline->kinds + request->kind];
    return mean->count ? mean->sum / (double)mean->count : NAN;
}

static double most(const double *value, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (value[i] > largest) largest = value[i];
    return largest;
}

// --- fragments that go on at the same time

struct moment {
    int64_t at_ns;
    uint32_t process, fragment;
    int step; // +1: it begins, -1: it ends
};

static int by_process_and_time(const void *a, const void *b) {
    const struct moment *one = a, *two = b;
    if (one->process != two->process) return one->process < two->process ? -1 : 1;
    return one->at_ns < two->at_ns ? -1 : one->at_ns > two->at_ns;
}

// A process whose threads have n fragments under way loses a second if each of these takes a second longer: each counts
// 1/n of the time.
static void weigh(struct weight *weight, struct moment *moment, size_t moments) {
    double passed_ns = 0, depth = 0;
    qsort(moment, moments, sizeof *moment, by_process_and_time);
    for (size_t i = 0; i < moments; i++) {
        if (depth > 0) passed_ns += (double)(moment[i].at_ns - moment[i - 1].at_ns) / depth;
        weight[moment[i].fragment].counted_ns -= moment[i].step * passed_ns;
        weight[moment[i].fragment].whole_ns -= moment[i].step * moment[i].at_ns;
        depth += moment[i].step;
    }
}

// `request` is in the order of fragments.
static int weigh_fragments(struct making *making, const struct load_request *request, size_t requests) {
    const struct load *load = &making->in->job[making->job].load;
    struct moment *moment = malloc((2 * load->fragments + 1) * sizeof *moment);
    making->weight = calloc(load->fragments + 1, sizeof *making->weight);
    int code = moment && making->weight ? 0 : -ENOMEM;
    size_t moments = 0;
    for (size_t i = 0, next; i < requests && code == 0; i = next) {
        uint32_t fragment = request[i].fragment, process = load->process[fragment];
        int64_t start_ns = request[i].start_ns, end_ns = request[i].end_ns;
        for (next = i + 1; next < requests && request[next].fragment == fragment; next++) {
            if (request[next].start_ns < start_ns) start_ns = request[next].start_ns;
            if (request[next].end_ns > end_ns) end_ns = request[next].end_ns;
        }
        moment[moments++] = (struct moment){start_ns, process, fragment, 1};
        moment[moments++] = (struct moment){end_ns, process, fragment, -1};
    }
    if (code == 0) weigh(making->weight, moment, moments);
    free(moment);
    return code;
}

// What the fragment lost by each server alone, and by all together.
static void end_fragment(struct making *making, uint32_t fragment, double *alone_seconds) {
    struct estimate *e = making->estimate;
    const struct weight *weight = &making->weight[fragment];
    uint32_t process = making->in->job[making->job].load.process[fragment];
    double longest = most(making->took, e->servers);
    double counts = weight->whole_ns > 0 ? weight->counted_ns / (double)weight->whole_ns : 1;
    double *lost = e->lost + process * (e->servers + 1);
    for (size_t i = 0; i < e->servers; i++) {
        if (making->took[i] == making->alone[i]) continue;
        double kept = making->took[i];
        making->took[i] = making->alone[i];
        lost[i] += counts * (longest - most(making->took, e->servers));
        making->took[i] = kept;
    }
    double best = most(making->alone, e->servers);
    lost[e->servers] += counts * (longest - best);
    alone_seconds[process] += counts * best;
    memset(making->took, 0, e->servers * sizeof *making->took);
    memset(making->alone, 0, e->servers * sizeof *making->alone);
}

static int by_fragment(const void *a, const void *b) {
    const struct load_request *one = a, *two = b;
    return one->fragment < two->fragment ? -1 : one->fragment > two->fragment;
}

static void add_request(struct making *making, const struct load_request *request) {
    struct estimate_server *server = &making->estimate->server[request->server];
    double actual = took(request), expected = actual;
    if (is_shared(making->in, making->job, request)) {
        expected = alone(&making->baseline, request);
        making->shared += actual;
        if (isfinite(expected)) {
            making->compared += actual;
            server->took += actual;
            server->alone += expected;
        } else {
            expected = actual;
        }
    }
    making->took[request->server] += actual;
    making->alone[request->server] += expected;
}

static int add_fragments(struct making *making) {
    const struct load *load = &making->in->job[making->job].load;
    struct estimate *e = making->estimate;
    struct load_request *request = malloc((load->requests + 1) * sizeof *request);
    double *alone_seconds = calloc(e->processes + 1, sizeof *alone_seconds);
    int code = request && alone_seconds ? 0 : -ENOMEM;
    if (code == 0) {
        memcpy(request, load->request, load->requests * sizeof *request);
        qsort(request, load->requests, sizeof *request, by_fragment);
        code = weigh_fragments(making, request, load->requests);
    }
    if (code == 0) {
        for (size_t i = 0; i < load->requests; i++) {
            add_request(making, &request[i]);
            bool is_last = i + 1 == load->requests || request[i + 1].fragment != request[i].fragment;
            if (is_last) end_fragment(making, request[i].fragment, alone_seconds);
        }
        e->alone_seconds = most(alone_seconds, e->processes);
    }
    free(request);
    free(alone_seconds);
    return code;
}

int estimate_make(struct estimate *e, const struct interference *in, size_t job) {
    struct making making = {.estimate = e, .in = in, .job = job};
    e->servers = in->servers;
    e->processes = log_process_count(in->job[job].log);
    e->server = calloc(e->servers, sizeof *e->server);
    e->lost = calloc(e->processes * (e->servers + 1), sizeof *e->lost);
    making.took = calloc(e->servers, sizeof *making.took);
    making.alone = calloc(e->servers, sizeof *making.alone);
    int code = e->server && e->lost && making.took && making.alone ? make_baseline(&making) : -ENOMEM;
    if (code == 0) code = add_fragments(&making);
    e->known = making.compared >= making.shared / 2;
    free(making.baseline.cell);
    free(making.weight);
    free(making.took);
    free(making.alone);
    return code;
}

void estimate_free(struct estimate *e) {
    free(e->server);
    free(e->lost);
}

double estimate_lost(const struct estimate *e, int server) {
    if (!e->known) return NAN;
    double largest = 0;
    size_t column = server == ESTIMATE_ALL ? e->servers : (size_t)server;
    for (size_t i = 0; i < e->processes; i++) {
        double lost = e->lost[i * (e->servers + 1) + column];
        if (lost > largest) largest = lost;
    }
    return largest;
}
