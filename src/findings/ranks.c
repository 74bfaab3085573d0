// Work that is not distributed over the processes.
#include <errno.h>
#include <stdlib.h>

#include "findings/find.h"

static int64_t request_ns(const struct facts_process *process) {
    return process->request[FACTS_READ].ns + process->request[FACTS_WRITE].ns;
}

static uint64_t own_bytes(const struct facts_process *process) {
    return process->own[FACTS_READ].bytes + process->own[FACTS_WRITE].bytes;
}

int find_one_rank(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    const struct facts_process *most = NULL;
    uint64_t all = 0;
    if (facts->ranks < 2) return 0;
    for (size_t i = 0; i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        if (!process->process->has_rank) continue;
        all += own_bytes(process);
        if (!most || own_bytes(process) > own_bytes(most)) most = process;
    }
    if (!most || !all || own_bytes(most) < all / 10 * 9) return 0;
    double ranks = (double)facts->ranks, share = (double)own_bytes(most) / (double)all;
    int64_t ns = most->own[FACTS_READ].ns + most->own[FACTS_WRITE].ns;
    struct find_place place = find_transfers(findings, most->own[FACTS_WRITE].ns >= most->own[FACTS_READ].ns);
    place.process = most;
    finding->ns = (int64_t)((double)ns * (1 - 1 / ranks));
    finding->title =
        find_text(findings, "Rank %lld does the I/O of all %s: %s of the bytes", (long long)most->process->rank,
                  human_count(facts->ranks, "rank").text, human_percent(share).text);
    find_evidence(findings, finding, place, "it moved %s of %s in %s", human_bytes(own_bytes(most)).text,
                  human_bytes(all).text, human_seconds(ns).text);
    return 1;
}

// --- a rank that is slower than others with as many bytes

struct rank_time {
    const struct facts_process *process;
    int64_t ns;
    uint64_t bytes;
};

static int compare_times(const void *a, const void *b) {
    const struct rank_time *left = a, *right = b;
    return left->ns < right->ns ? -1 : left->ns > right->ns;
}

// Ranks with requests, sorted by their time.
static struct rank_time *ranks_by_time(const struct facts *facts, size_t *count) {
    struct rank_time *time = malloc((facts->processes + 1) * sizeof *time);
    *count = 0;
    for (size_t i = 0; time && i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        uint64_t bytes = process->request[FACTS_READ].bytes + process->request[FACTS_WRITE].bytes;
        if (bytes && (process->process->has_rank || !facts->ranks))
            time[(*count)++] = (struct rank_time){process, request_ns(process), bytes};
    }
    if (time && *count > 1) qsort(time, *count, sizeof *time, compare_times);
    return time;
}

static int say_slow_rank(struct findings *findings, struct finding *finding, const struct rank_time *slowest,
                         const struct rank_time *middle) {
    const struct log_process *process = slowest->process->process;
    finding->ns = slowest->ns - middle->ns;
    double times = (double)slowest->ns / (double)middle->ns;
    finding->title =
        process->has_rank
            ? find_text(findings, "Rank %lld is %.1f times slower than the others", (long long)process->rank, times)
            : find_text(findings, "Process %u is %.1f times slower than the others", process->pid, times);
    find_evidence(findings, finding, (struct find_place){.process = slowest->process},
                  "%s for %s; the median process needs %s for %s", human_seconds(slowest->ns).text,
                  human_bytes(slowest->bytes).text, human_seconds(middle->ns).text, human_bytes(middle->bytes).text);
    return 1;
}

int find_slow_rank(struct findings *findings, struct finding *finding) {
    size_t count;
    struct rank_time *time = ranks_by_time(findings->facts, &count);
    RETURN_IF(!time, -ENOMEM);
    int found = 0;
    if (count >= 4) {
        const struct rank_time *slowest = &time[count - 1], *middle = &time[count / 2];
        struct facts_sum requests = middle->process->request[FACTS_READ];
        facts_sum_join(&requests, &middle->process->request[FACTS_WRITE]);
        if (!facts_at_memory_speed(&requests) && slowest->ns > middle->ns + middle->ns / 2 &&
            slowest->bytes <= middle->bytes + middle->bytes / 4)
            found = say_slow_rank(findings, finding, slowest, middle);
    }
    free(time);
    return found;
}

// --- waiting

int find_waiting(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    const struct facts_process *busiest = NULL, *waits = NULL;
    double wait_ns = 0, io_ns = 0, ranks = 0;
    for (size_t i = 0; i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        if (!process->process->has_rank) continue;
        ranks++;
        wait_ns += (double)process->comm[COMM_SYNCHRONISING].ns;
        io_ns += (double)request_ns(process);
        if (!busiest || request_ns(process) > request_ns(busiest)) busiest = process;
        if (!waits || process->comm[COMM_SYNCHRONISING].ns > waits->comm[COMM_SYNCHRONISING].ns) waits = process;
    }
    if (ranks < 2 || !request_ns(busiest)) return 0;
    // Ranks wait for I/O at most as long as the I/O time of one rank exceeds that of the others.
    double uneven_ns = (double)request_ns(busiest) - io_ns / ranks, mean_ns = wait_ns / ranks;
    double stake = uneven_ns < mean_ns ? uneven_ns : mean_ns;
    if (stake <= 0 || uneven_ns < 0.1 * (double)request_ns(busiest)) return 0;
    finding->ns = (int64_t)stake;
    const struct facts_sum *waited = &waits->comm[COMM_SYNCHRONISING];
    finding->title = find_text(findings, "Ranks wait %s on average while rank %lld has more I/O than they",
                               human_seconds((int64_t)mean_ns).text, (long long)busiest->process->rank);
    find_evidence(findings, finding, (struct find_place){.process = busiest},
                  "this rank's requests take %s, the mean of all is %s", human_seconds(request_ns(busiest)).text,
                  human_seconds((int64_t)(io_ns / ranks)).text);
    find_evidence(findings, finding, (struct find_place){.process = waits}, "this rank waits most: %s in %s",
                  human_seconds(waited->ns).text, human_count(waited->calls, "barrier").text);
    return 1;
}
