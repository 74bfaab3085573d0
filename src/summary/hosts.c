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

static int count_processes(struct summary *summary, const char *name, uint64_t processes, struct lookup *places) {
    uint64_t key = hash_bytes(0, name, strlen(name));
    uint32_t place = lookup_find(places, key);
    if (place != LOOKUP_NONE) {
        summary->hosts[place].processes += processes;
        return 0;
    }
    char *own = arena_text(&summary->arena, name);
    RETURN_IF(!own, -ENOMEM);
    FORWARD(lookup_set(places, key, (uint32_t)summary->host_count));
    return array_push(summary->hosts, summary->host_count, (struct summary_host){.name = own, .processes = processes});
}

static int count_group(struct summary *summary, const struct log_group *group, struct lookup *places) {
    struct bytes name = {0};
    int code = 0;
    for (size_t i = 0; i < group->host_count && code == 0; i++) {
        const struct group_hosts *hosts = &group->hosts[i];
        char *at = (char *)bytes_reserve(&name, hosts->len + 1);
        if (!at) code = -ENOMEM;
        for (uint64_t k = 0; k < hosts->hosts && hosts->len && code == 0; k++) {
            group_host_name(hosts, k, at);
            at[hosts->len] = 0;
            code = count_processes(summary, at, hosts->each, places);
        }
    }
    bytes_free(&name);
    return code;
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
        const struct log_process *process = summary->rows[i].process;
        if (process->group)
            code = count_group(summary, process->group, &places);
        else if (process->host)
            code = count_processes(summary, process->host, 1, &places);
    }
    for (size_t i = 0; i < log_host_count(summary->log) && code == 0; i++)
        add_clock(summary, log_host_at(summary->log, i), &places);
    lookup_free(&places);
    for (size_t i = 0; i < summary->host_count; i++)
        summary->hosts[i].is_reference |= own && !strcmp(own, summary->hosts[i].name);
    if (summary->host_count) qsort(summary->hosts, summary->host_count, sizeof *summary->hosts, by_name);
    return code;
}
