// The hosts of a job's processes, and how their clocks were aligned.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"
#include "summary/summary.h"

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct summary_host *)a)->name, ((const struct summary_host *)b)->name);
}

static int count_process(struct summary *summary, const char *name, struct lookup *places) {
    uint64_t key = hash_bytes(0, name, strlen(name));
    uint32_t place = lookup_find(places, key);
    if (place != LOOKUP_NONE) {
        summary->hosts[place].processes++;
        return 0;
    }
    FORWARD(lookup_set(places, key, (uint32_t)summary->host_count));
    return array_push(summary->hosts, summary->host_count, (struct summary_host){.name = name, .processes = 1});
}

static void add_clock(const struct summary *summary, const struct log_host *clock, const struct lookup *places) {
    uint32_t place = lookup_find(places, hash_bytes(0, clock->name, strlen(clock->name)));
    uint32_t reference = lookup_find(places, hash_bytes(0, clock->reference, strlen(clock->reference)));
    if (place != LOOKUP_NONE) summary->hosts[place].clock = clock;
    if (reference != LOOKUP_NONE) summary->hosts[reference].is_reference = true;
}

int summary_hosts_find(struct summary *summary) {
    const char *own = log_job(summary->log)->host;
    struct lookup places = {0};
    int code = 0;
    for (size_t i = 0; i < summary->row_count && code == 0; i++) {
        const char *name = summary->rows[i].process->host;
        if (name) code = count_process(summary, name, &places);
    }
    for (size_t i = 0; i < log_host_count(summary->log) && code == 0; i++)
        add_clock(summary, log_host_at(summary->log, i), &places);
    lookup_free(&places);
    for (size_t i = 0; i < summary->host_count; i++)
        summary->hosts[i].is_reference |= own && !strcmp(own, summary->hosts[i].name);
    if (summary->host_count) qsort(summary->hosts, summary->host_count, sizeof *summary->hosts, by_name);
    return code;
}
