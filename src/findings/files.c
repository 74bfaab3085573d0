// Files that are slower than others, or slower when several processes use them.
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "findings/find.h"

enum { ENOUGH = 4, PEERS = 4 };

// --- a file that is slower than its peers

static double byte_ns(const struct facts_sum *sum) { return sum->bytes ? (double)sum->ns / (double)sum->bytes : 0; }

// The median time per byte of files with requests of this size; 0 if there are too few of them.
static double peers_ns(const struct facts *facts, unsigned direction, unsigned size, double *cost) {
    size_t count = 0;
    for (size_t i = 0; i < facts->files; i++) {
        const struct facts_file *file = facts->file[i];
        if (!file || file->request[direction].calls < ENOUGH) continue;
        if (facts_size(find_mean(&file->request[direction])) == size)
            cost[count++] = byte_ns(&file->request[direction]);
    }
    if (count < PEERS) return 0;
    qsort(cost, count, sizeof *cost, order_double);
    return cost[count / 2];
}

struct slow {
    const struct facts_file *file;
    unsigned direction;
    double peers_ns; // per byte
    double stake_ns;
};

static void look_for_slow(const struct facts *facts, unsigned direction, double *cost, struct slow *slow) {
    double peers[FACTS_SIZES];
    for (unsigned size = 0; size < FACTS_SIZES; size++) peers[size] = peers_ns(facts, direction, size, cost);
    for (size_t i = 0; i < facts->files; i++) {
        const struct facts_file *file = facts->file[i];
        if (!file || file->request[direction].calls < ENOUGH) continue;
        const struct facts_sum *sum = &file->request[direction];
        double peer = peers[facts_size(find_mean(sum))];
        if (!peer || byte_ns(sum) < 2 * peer || facts_at_memory_speed(sum)) continue;
        double stake = ((double)sum->ns - peer * (double)sum->bytes) /
                       (file->processes[direction] ? file->processes[direction] : 1);
        if (stake > slow->stake_ns) *slow = (struct slow){file, direction, peer, stake};
    }
}

int find_slow_file(struct findings *findings, struct finding *finding) {
    struct slow slow = {0};
    double *cost = malloc((findings->facts->files + 1) * sizeof *cost);
    RETURN_IF(!cost, -ENOMEM);
    for (unsigned direction = 0; direction < FACTS_DIRECTIONS; direction++)
        look_for_slow(findings->facts, direction, cost, &slow);
    free(cost);
    if (!slow.file) return 0;
    const struct facts_sum *sum = &slow.file->request[slow.direction];
    finding->ns = (int64_t)slow.stake_ns;
    finding->title = find_text(findings, "%ss of one file are %.1f times slower than those of similar files",
                               slow.direction ? "Write" : "Read", byte_ns(sum) / slow.peers_ns);
    find_evidence(findings, finding,
                  (struct find_place){.file = slow.file, .phase = find_phase(findings, slow.direction)},
                  "%s in %s; at the speed of the other files it would be %s", human_bytes(sum->bytes).text,
                  human_seconds(sum->ns).text, human_seconds((int64_t)(slow.peers_ns * (double)sum->bytes)).text);
    return 1;
}

// --- a file that several processes use at once

struct shared {
    const struct facts_file *file;
    unsigned direction;
    double stake_ns;
    double alone; // bytes per ns
    double together;
};

static double rate(const struct facts_sum *sum) { return sum->ns > 0 ? (double)sum->bytes / (double)sum->ns : 0; }

static void look_at_shared(const struct facts_file *file, unsigned direction, struct shared *shared) {
    const struct facts_sum *alone = &file->together[direction].sum[0], *together = &file->together[direction].sum[1];
    if (alone->calls < ENOUGH || together->calls < ENOUGH || facts_at_memory_speed(&file->request[direction])) return;
    // Requests of different sizes cannot be compared.
    if (facts_size(find_mean(alone)) != facts_size(find_mean(together))) return;
    if (rate(together) * 1.25 >= rate(alone)) return;
    double stake = (double)together->ns - (double)together->bytes / rate(alone);
    if (stake > shared->stake_ns) *shared = (struct shared){file, direction, stake, rate(alone), rate(together)};
}

int find_contention(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    struct shared shared = {0};
    for (size_t i = 0; i < facts->files; i++) {
        for (unsigned direction = 0; facts->file[i] && direction < FACTS_DIRECTIONS; direction++)
            look_at_shared(facts->file[i], direction, &shared);
    }
    if (!shared.file) return 0;
    const struct facts_sum *together = &shared.file->together[shared.direction].sum[1];
    finding->ns = (int64_t)shared.stake_ns;
    finding->title = find_text(findings,
                               "Processes that %s one file at the same time are %.1f times slower together than one "
                               "alone",
                               find_verb(shared.direction), shared.alone / shared.together);
    find_evidence(findings, finding,
                  (struct find_place){.file = shared.file, .phase = find_phase(findings, shared.direction)},
                  "%s at %s/s together, at %s/s when one of %s is alone", human_bytes(together->bytes).text,
                  human_bytes((uint64_t)(shared.together * 1e9)).text, human_bytes((uint64_t)(shared.alone * 1e9)).text,
                  human_count(shared.file->processes[shared.direction], "process").text);
    return 1;
}
