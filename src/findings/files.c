// Files that are slower than others, or slower when several processes use them.
#include <errno.h>
#include <stdlib.h>

#include "findings/find.h"

enum { PEERS = 4 };

// From the file's requests of this direction; with `alike`, from those with the same traits only.
static int claim_of(struct findings *findings, const struct facts_file *file, unsigned direction,
                    const struct facts_traits *alike, double wanted_ns) {
    const struct facts *facts = findings->facts;
    bool *mark = calloc(facts->grains + 1, sizeof *mark);
    RETURN_IF(!mark, -ENOMEM);
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        mark[i] = find_is_request(grain) && grain->traits.kind == direction && find_file(findings, grain) == file &&
                  (!alike || facts_are_alike(grain->traits, *alike));
    }
    int code = find_claim_spread(findings, mark, wanted_ns);
    free(mark);
    return code;
}

// --- a file that is slower than its peers

// Times of the requests of a file, of one direction; NULL file: none.
struct file_times {
    const struct facts_file *file;
    struct facts_sum sum;
    struct facts_spread spread;
    double wall_ns;
};

static int by_mean(const void *a, const void *b) {
    const struct file_times *left = a, *right = b;
    double mean = left->spread.sum / left->spread.count, other = right->spread.sum / right->spread.count;
    return mean < other ? -1 : mean > other;
}

// Only requests of the same size, order and so on can be compared. Returns the number of files with such requests; the
// slowest one is last.
static size_t collect_peers(const struct findings *findings, struct facts_traits alike, struct file_times *times) {
    const struct facts *facts = findings->facts;
    size_t count = 0;
    for (size_t i = 0; i <= facts->files; i++) times[i] = (struct file_times){0};
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        struct file_times *own = &times[find_use(findings, grain)->file];
        if (!find_is_request(grain) || !facts_are_alike(grain->traits, alike)) continue;
        own->file = find_file(findings, grain);
        facts_sum_join(&own->sum, &grain->sum);
        facts_spread_join(&own->spread, &grain->spread);
        own->wall_ns += grain->wall_ns;
    }
    for (size_t i = 0; i < facts->files; i++)
        if (times[i].file && times[i].spread.count >= LIMIT_COMPARED_CALLS) times[count++] = times[i];
    qsort(times, count, sizeof *times, by_mean);
    return count;
}

// The slowest file must be slower than the one that comes next, in several parts of the run, and far from the speed of
// memory, where a file is slow because of its page cache.
static bool is_slow(const struct file_times *slowest, const struct file_times *next) {
    uint64_t periods = slowest->file->periods[FACTS_READ] | slowest->file->periods[FACTS_WRITE];
    return __builtin_popcountll(periods) >= LIMIT_PERIODS &&
           slowest->sum.ns / (int64_t)slowest->sum.calls > 4 * facts_memory_ns(find_mean(&slowest->sum)) &&
           facts_factor(&slowest->spread, &next->spread) > LIMIT_SLOWER;
}

static int say_slow_file(struct findings *findings, struct finding *finding, struct facts_traits alike,
                         const struct file_times *slowest, const struct file_times *middle) {
    unsigned direction = alike.kind;
    double factor = facts_factor(&slowest->spread, &middle->spread);
    FORWARD(claim_of(findings, slowest->file, direction, &alike, slowest->wall_ns * (1 - 1 / factor)));
    finding->class = direction ? CLASS_WRITE : CLASS_READ;
    finding->title = find_text(findings, "%ss of one file are %.1f times slower than those of similar files",
                               direction ? "Write" : "Read", factor);
    find_evidence(
        findings, finding, (struct find_place){.file = slowest->file, .phase = find_phase(findings, direction)},
        "%s of %s, %s; similar requests of the median file take %s",
        human_count(slowest->sum.calls, find_verb(direction)).text, human_bytes(find_mean(&slowest->sum)).text,
        find_each(&slowest->sum).text, find_each(&middle->sum).text);
    if (slowest->file->storage != middle->file->storage) {
        finding->reason = "The file is on another storage than the others, and that storage is slower.";
        finding->advice = "Put the file where the others are, if there is room.";
    }
    return findings->claims > 0;
}

// Whether this is a cell of requests, and the first one with these traits: other storages may have one, too.
static bool is_first(const struct facts *facts, size_t cell) {
    if (facts->cell[cell].traits.kind > KIND_WRITE) return false;
    size_t at = 0;
    while (!facts_are_alike(facts->cell[at].traits, facts->cell[cell].traits)) at++;
    return at == cell;
}

int find_slow_file(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    int found = 0;
    struct file_times *times = malloc((facts->files + 1) * sizeof *times);
    RETURN_IF(!times, -ENOMEM);
    for (size_t i = 0; !found && i < facts->cells; i++) {
        if (!is_first(facts, i)) continue;
        struct facts_traits alike = facts->cell[i].traits;
        size_t count = collect_peers(findings, alike, times);
        if (count < PEERS || !is_slow(&times[count - 1], &times[count - 2])) continue;
        found = say_slow_file(findings, finding, alike, &times[count - 1], &times[(count - 1) / 2]);
    }
    free(times);
    return found;
}

// --- a file that several processes use at once

struct shared {
    const struct facts_file *file;
    unsigned direction;
    double factor;
    double stake_ns;
};

static void look_at_shared(const struct facts_file *file, unsigned direction, struct shared *shared) {
    const struct facts_together *together = &file->together[direction];
    const struct facts_sum *one = &together->sum[0], *several = &together->sum[1];
    if (!one->calls || !several->calls || several->ns / (int64_t)several->calls <= facts_memory_ns(find_mean(several)))
        return;
    // Requests of different sizes cannot be compared.
    if (facts_size(find_mean(one)) != facts_size(find_mean(several))) return;
    double factor = facts_factor(&together->rate[0], &together->rate[1]);
    double stake = (double)several->ns * (1 - 1 / factor);
    if (factor > LIMIT_SLOWER && stake > shared->stake_ns) *shared = (struct shared){file, direction, factor, stake};
}

int find_contention(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    struct shared shared = {0};
    for (size_t i = 0; i < facts->files; i++) {
        for (unsigned direction = 0; facts->file[i] && direction < FACTS_DIRECTIONS; direction++)
            look_at_shared(facts->file[i], direction, &shared);
    }
    if (!shared.file) return 0;
    FORWARD(claim_of(findings, shared.file, shared.direction, NULL, shared.stake_ns));
    const struct facts_sum *sum = shared.file->together[shared.direction].sum;
    finding->class = shared.direction ? CLASS_WRITE : CLASS_READ;
    finding->title = find_text(findings,
                               "Processes that %s one file at the same time are %.1f times slower together than one "
                               "alone",
                               find_verb(shared.direction), shared.factor);
    find_evidence(findings, finding,
                  (struct find_place){.file = shared.file, .phase = find_phase(findings, shared.direction)},
                  "%s in %s together, %s in %s when one of %s is alone", human_bytes(sum[1].bytes).text,
                  human_seconds(sum[1].ns).text, human_bytes(sum[0].bytes).text, human_seconds(sum[0].ns).text,
                  human_count(shared.file->processes[shared.direction], "process").text);
    finding->is_waiting = true;
    return findings->claims > 0;
}
