#include "interference/interference.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "interference/estimate.h"

// A server stands out if its shared requests took this much longer than those of the typical other server.
static const double STANDS_OUT = 1.2;
// And if some program would gain this part of its run time without it.
static const double MATTERS = 0.05;

static double seconds(int64_t ns) { return (double)ns * 1e-9; }

// --- when servers were shared

struct edge {
    int64_t at_ns;
    int step; // +1: a program's requests begin, -1: they end
};

static int by_time(const void *a, const void *b) {
    const struct edge *one = a, *two = b;
    if (one->at_ns != two->at_ns) return one->at_ns < two->at_ns ? -1 : 1;
    return one->step - two->step;
}

static int collect_edges(const struct interference *in, size_t server, struct edge **edge, size_t *edges) {
    for (size_t i = 0; i < in->jobs; i++) {
        const struct load *load = &in->job[i].load;
        if (server >= load->servers) continue;
        for (size_t j = 0; j < load->server[server].spans; j++) {
            struct load_span span = load->server[server].span[j];
            RETURN_IF(array_push(*edge, *edges, (struct edge){span.start_ns, 1}), -ENOMEM);
            RETURN_IF(array_push(*edge, *edges, (struct edge){span.end_ns, -1}), -ENOMEM);
        }
    }
    return 0;
}

static int find_shared_time(const struct interference *in, size_t number, int64_t origin_ns) {
    struct interference_server *server = &in->server[number];
    struct edge *edge = NULL;
    size_t edges = 0;
    int code = collect_edges(in, number, &edge, &edges);
    if (code == 0 && edges) qsort(edge, edges, sizeof *edge, by_time);
    server->used = edges > 0;
    int depth = 0;
    for (size_t i = 0; i + 1 < edges && code == 0; i++) {
        depth += edge[i].step;
        if (depth < 2) continue;
        if (server->shared_seconds == 0) server->first = seconds(edge[i].at_ns - origin_ns);
        server->shared_seconds += seconds(edge[i + 1].at_ns - edge[i].at_ns);
        server->last = seconds(edge[i + 1].at_ns - origin_ns);
    }
    free(edge);
    return code;
}

static void find_shares(const struct interference *in, size_t number) {
    double bytes = 0, requests = 0;
    for (size_t i = 0; i < in->jobs; i++) {
        if (number >= in->job[i].load.servers) continue;
        bytes += (double)in->job[i].load.server[number].bytes;
        requests += (double)in->job[i].load.server[number].requests;
    }
    for (size_t i = 0; i < in->jobs; i++) {
        if (number >= in->job[i].load.servers || requests == 0) continue;
        const struct load_server *server = &in->job[i].load.server[number];
        in->server[number].share[i] = bytes > 0 ? (double)server->bytes / bytes : (double)server->requests / requests;
    }
}

static int find_servers(struct interference *in, int64_t origin_ns) {
    for (size_t i = 0; i < in->jobs; i++)
        if (in->job[i].load.servers > in->servers) in->servers = in->job[i].load.servers;
    size_t known = log_server_count(in->job[0].log);
    if (known > in->servers) in->servers = known;
    in->server = calloc(in->servers, sizeof *in->server);
    RETURN_IF(!in->server, -ENOMEM);
    for (size_t i = 0; i < in->servers; i++) {
        in->server[i].share = calloc(in->jobs, sizeof *in->server[i].share);
        RETURN_IF(!in->server[i].share, -ENOMEM);
        FORWARD(find_shared_time(in, i, origin_ns));
        find_shares(in, i);
    }
    return 0;
}

// --- what sharing cost

// A program whose own requests wait for each other hardly notices a few more: what counts is who is delayed the most.
static void find_overload(const struct interference *in, const struct estimate *estimate) {
    for (size_t i = 0; i < in->servers; i++) {
        struct interference_server *server = &in->server[i];
        server->overload = 1;
        for (size_t j = 0; j < in->jobs; j++) {
            double took = estimate[j].server[i].took, alone = estimate[j].server[i].alone;
            server->lost_seconds += estimate[j].known ? estimate_lost(&estimate[j], (int)i) : 0;
            if (alone <= 0 || took / alone <= server->overload) continue;
            server->overload = took / alone;
            server->victim = j;
        }
    }
}

static void find_losses(struct interference *in, const struct estimate *estimate) {
    for (size_t i = 0; i < in->jobs; i++) {
        struct interference_job *job = &in->job[i];
        job->alone_time = job->alone ? seconds(log_run_ns(job->alone)) : NAN;
        job->lost_seconds = job->alone ? job->run_time - job->alone_time : estimate_lost(&estimate[i], ESTIMATE_ALL);
        double alone = job->run_time - job->lost_seconds;
        job->slowdown = alone > 0 ? job->run_time / alone : NAN;
    }
}

static int ascending(const void *a, const void *b) {
    double one = *(const double *)a, two = *(const double *)b;
    return (one > two) - (one < two);
}

static double typical_of_others(const struct interference *in, size_t but) {
    double *value = malloc(in->servers * sizeof *value), typical = 1;
    size_t count = 0;
    for (size_t i = 0; value && i < in->servers; i++)
        if (i != but && in->server[i].used) value[count++] = in->server[i].overload;
    if (count) {
        qsort(value, count, sizeof *value, ascending);
        typical = value[count / 2];
    }
    free(value);
    return typical;
}

static bool has_several_users(const struct interference *in, size_t server) {
    size_t users = 0;
    for (size_t i = 0; i < in->jobs; i++) users += load_part(&in->job[i].load, server) > 0;
    return users > 1;
}

static bool matters(const struct interference *in, const struct estimate *estimate, size_t server) {
    for (size_t i = 0; i < in->jobs; i++)
        if (estimate_lost(&estimate[i], (int)server) >= MATTERS * in->job[i].run_time) return true;
    return false;
}

// If the programs lose the most at a server that does not stand out, keeping off another one would not help much.
static void find_overloaded(struct interference *in, const struct estimate *estimate) {
    size_t worst = 0;
    for (size_t i = 1; i < in->servers; i++)
        if (in->server[i].lost_seconds > in->server[worst].lost_seconds) worst = i;
    const struct interference_server *server = &in->server[worst];
    bool stands_out = server->overload >= STANDS_OUT * typical_of_others(in, worst);
    in->overloaded = stands_out && has_several_users(in, worst) && matters(in, estimate, worst) ? (int)worst : -1;
}

// --- the cure

static int least_busy_server(const struct interference *in, size_t but) {
    int found = -1;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < in->servers; i++) {
        int64_t busy = 0;
        for (size_t j = 0; j < in->jobs; j++)
            if (i < in->job[j].load.servers) busy += in->job[j].load.server[i].busy_ns;
        if (i == but || busy >= least) continue;
        least = busy;
        found = (int)i;
    }
    return found;
}

// Who has least of its own there moves the least. Who has all of it there can only go to another server as a whole.
static void find_mover(struct interference *in) {
    in->mover = in->target = -1;
    double least = INFINITY;
    for (size_t i = 0; i < in->jobs && in->overloaded >= 0; i++) {
        double part = load_part(&in->job[i].load, (size_t)in->overloaded);
        if (part == 0 || part >= least) continue;
        least = part;
        in->mover = (int)i;
    }
    const double whole = 0.999;
    in->by_pinning = in->mover >= 0 && least >= whole;
    if (in->by_pinning) in->target = least_busy_server(in, (size_t)in->overloaded);
    if (in->by_pinning && in->target < 0) in->mover = -1;
}

// The mover is rid of all others; each of them is rid of the mover, and still shares the server with the rest. At best
// the mover's data costs the servers that get it nothing; at worst it takes as much longer as they have more to do.
static void find_gains(struct interference *in, const struct estimate *estimate) {
    for (size_t i = 0; i < in->jobs; i++) {
        struct interference_job *job = &in->job[i];
        job->gain_low = job->gain_high = NAN;
        if (in->mover < 0) continue;
        const double *share = in->server[in->overloaded].share;
        double lost = estimate_lost(&estimate[i], in->overloaded);
        bool is_mover = (int)i == in->mover;
        double others = 1 - share[i];
        job->gain_high = job->gain_low = is_mover || others <= 0 ? lost : lost * share[in->mover] / others;
        double part = load_part(&job->load, (size_t)in->overloaded);
        if (is_mover) job->gain_low -= in->by_pinning ? lost : estimate[i].alone_seconds * part / (1 - part);
        if (job->gain_low < 0) job->gain_low = 0;
    }
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *advice_without_server(const struct interference *in, const struct estimate *estimate) {
    bool is_known = true, matters = false;
    for (size_t i = 0; i < in->jobs; i++) {
        double lost = estimate_lost(&estimate[i], ESTIMATE_ALL);
        is_known &= isfinite(lost);
        matters |= lost >= MATTERS * in->job[i].run_time;
    }
    if (matters) return "No server stands out. Run the programs one after the other, or give each its own servers.";
    if (!is_known)
        return "Too few requests were undisturbed to say what sharing cost: give logs of the programs alone (--alone).";
    return "The programs hardly got into each other's way at the servers.";
}

static void put_advice(struct interference *in, const struct estimate *estimate) {
    char *out = in->advice;
    size_t room = sizeof in->advice;
    if (in->overloaded < 0) {
        snprintf(out, room, "%s", advice_without_server(in, estimate));
        return;
    }
    if (in->mover < 0) {
        snprintf(out, room, "There is no other server: run the programs one after the other, or use more servers.");
        return;
    }
    const struct interference_job *mover = &in->job[in->mover];
    const char *place = mover->load.place[0] ? mover->load.place : "DIR";
    const char *hint = mover->load.place[0] ? "" : ", with its files in that directory";
    if (in->by_pinning)
        snprintf(out, room,
                 "Put the files of %s on server %d, which has the least to do: `ioseer stack up --pin '%s=%d'`%s.",
                 base_name(mover->name), in->target, place, in->target, hint);
    else
        snprintf(out, room, "Keep the files of %s off server %d: `ioseer stack up --avoid '%s=%d'`%s.",
                 base_name(mover->name), in->overloaded, place, in->overloaded, hint);
}

// ---

static bool is_same(const char *one, const char *two) { return one && two ? strcmp(one, two) == 0 : one == two; }

static bool on_like_stacks(const struct log *one, const struct log *two) {
    return log_server_count(one) == log_server_count(two) && is_same(log_stack(one)->layout, log_stack(two)->layout);
}

static bool on_same_stack(const struct log *one, const struct log *two) {
    if (!on_like_stacks(one, two) || !is_same(log_stack(one)->name, log_stack(two)->name)) return false;
    for (size_t i = 0; i < log_server_count(one); i++) {
        const struct log_server *a = log_server_at(one, i), *b = log_server_at(two, i);
        if (a->port != b->port || a->pid != b->pid || !is_same(a->host, b->host)) return false;
    }
    return true;
}

static bool are_one_run(const struct log *one, const struct log *two) {
    return log_job(one)->start_ns == log_job(two)->start_ns && is_same(log_job(one)->host, log_job(two)->host);
}

static bool ran_at_once(const struct interference_job *one, const struct interference_job *two) {
    double later = seconds(two->load.start_ns - one->load.start_ns);
    return later < one->run_time && -later < two->run_time;
}

static int check_load(const struct load *load, const struct log *log, const char *name, struct problem *problem) {
    if (load->requests) return 0;
    if (log_health(log)->truncated)
        return problem_set(problem, ERR_NOTHING, name, "it is cut off, and no calls of servers are left");
    if (log_stack(log)) return problem_set(problem, ERR_NOTHING, name, "it has no calls of the stack's servers");
    return problem_set(problem, ERR_NOTHING, name,
                       "it has no calls of a file system's servers: record it with --stack");
}

// A run alone may be of an earlier stack of the same kind.
static int check_alone(const struct interference *in, const struct interference_job *job, struct problem *problem) {
    if (!job->alone) return 0;
    FORWARD(check_load(&job->alone_load, job->alone, job->alone_name, problem));
    if (!on_like_stacks(job->log, job->alone))
        return problem_set(problem, ERR_NOTHING, job->alone_name, "its stack is not like that of %s", job->name);
    for (size_t i = 0; i < in->jobs; i++)
        if (are_one_run(in->job[i].log, job->alone))
            return problem_set(problem, ERR_NOTHING, job->alone_name, "it is not a run alone, but that of %s",
                               in->job[i].name);
    return 0;
}

static int check_company(const struct interference *in, size_t number, struct problem *problem) {
    const struct interference_job *job = &in->job[number];
    bool has_company = false;
    for (size_t i = 0; i < in->jobs; i++) {
        if (i == number) continue;
        if (are_one_run(job->log, in->job[i].log))
            return problem_set(problem, ERR_NOTHING, job->name, "it is the same run as %s", in->job[i].name);
        has_company |= ran_at_once(job, &in->job[i]);
    }
    return has_company ? 0 : problem_set(problem, ERR_NOTHING, job->name, "no other program ran at the same time");
}

static int check(const struct interference *in, struct problem *problem) {
    for (size_t i = 0; i < in->jobs; i++) {
        const struct interference_job *job = &in->job[i];
        FORWARD(check_load(&job->load, job->log, job->name, problem));
        if (!on_same_stack(in->job[0].log, job->log))
            return problem_set(problem, ERR_NOTHING, job->name, "it is not from the same stack as %s", in->job[0].name);
        FORWARD(check_alone(in, job, problem));
    }
    for (size_t i = 0; i < in->jobs; i++) FORWARD(check_company(in, i, problem));
    return 0;
}

static int read_loads(struct interference *in, struct problem *problem, int64_t *origin_ns) {
    *origin_ns = INT64_MAX;
    for (size_t i = 0; i < in->jobs; i++) {
        struct interference_job *job = &in->job[i];
        int code = load_read(&job->load, job->log);
        if (code < 0) return problem_code(problem, code, job->name);
        code = job->alone ? load_read(&job->alone_load, job->alone) : 0;
        if (code < 0) return problem_code(problem, code, job->alone_name);
        job->run_time = seconds(log_run_ns(job->log));
        if (job->load.start_ns < *origin_ns) *origin_ns = job->load.start_ns;
    }
    return check(in, problem);
}

int interference_find(struct interference *in, struct problem *problem) {
    int64_t origin_ns;
    FORWARD(read_loads(in, problem, &origin_ns));
    struct estimate *estimate = calloc(in->jobs, sizeof *estimate);
    int code = estimate ? find_servers(in, origin_ns) : -ENOMEM;
    for (size_t i = 0; i < in->jobs && code == 0; i++) code = estimate_make(&estimate[i], in, i);
    if (code == 0) {
        find_overload(in, estimate);
        find_losses(in, estimate);
        find_overloaded(in, estimate);
        find_mover(in);
        find_gains(in, estimate);
        put_advice(in, estimate);
    }
    for (size_t i = 0; i < in->jobs && estimate; i++) estimate_free(&estimate[i]);
    free(estimate);
    return code < 0 ? problem_code(problem, code, "memory") : 0;
}

void interference_free(struct interference *in) {
    for (size_t i = 0; i < in->servers && in->server; i++) free(in->server[i].share);
    for (size_t i = 0; i < in->jobs; i++) load_free(&in->job[i].load), load_free(&in->job[i].alone_load);
    free(in->server);
    in->server = NULL;
    in->servers = 0;
}
