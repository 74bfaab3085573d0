// Records that stand for several processes.
#include <errno.h>

#include "base/err.h"
#include "log/private.h"

static int parse_ranks(struct log *log, const struct field *field, struct log_group *group) {
    struct group_ranks range = {0}, *own;
    uint64_t ranks = 0;
    int more;
    for (const uint8_t *at = field->data; (more = group_ranks_next(&at, field->data + field->len, &range)) > 0;) {
        group->range_count++;
        ranks += range.count;
    }
    RETURN_IF(more < 0 || !ranks || ranks != group->members, ERR_FORMAT);
    group->ranges = own = arena_alloc(&log->arena, group->range_count * sizeof *own);
    RETURN_IF(!own, -ENOMEM);
    range = (struct group_ranks){0};
    for (const uint8_t *at = field->data; group_ranks_next(&at, field->data + field->len, &range) > 0;) *own++ = range;
    return 0;
}

static int parse_hosts(struct log *log, struct fields_in body, struct log_group *group) {
    struct field field;
    uint64_t members = 0;
    group->host_count = log_count_fields(body, PROCESS_HOSTS);
    struct group_hosts *hosts = arena_alloc(&log->arena, (group->host_count + 1) * sizeof *hosts);
    RETURN_IF(!hosts, -ENOMEM);
    group->hosts = hosts;
    while (fields_next(&body, &field) > 0) {
        if (field.key != PROCESS_HOSTS || !field.is_bytes) continue;
        FORWARD(group_hosts_get(field.data, field.len, hosts));
        hosts->first = arena_copy(&log->arena, hosts->first, hosts->len);
        RETURN_IF(!hosts->first, -ENOMEM);
        members += hosts->hosts * hosts->each;
        hosts++;
    }
    return members == group->members ? 0 : ERR_FORMAT;
}

int log_parse_group(struct log *log, struct fields_in body, const struct field f[PROCESS_WITH + 1],
                    struct log_process *process) {
    struct field field;
    if (!f[PROCESS_MEMBERS].key) return 0;
    struct log_group *group = arena_alloc(&log->arena, sizeof *group);
    RETURN_IF(!group, -ENOMEM);
    *group = (struct log_group){.members = f[PROCESS_MEMBERS].number, .is_reaped = f[PROCESS_REAPED].number};
    RETURN_IF(!group->members, ERR_FORMAT);
    FORWARD(parse_hosts(log, body, group));
    if (f[PROCESS_RANKS].is_bytes) FORWARD(parse_ranks(log, &f[PROCESS_RANKS], group));
    while (fields_next(&body, &field) > 0) {
        if (field.key == PROCESS_SPREAD && field.is_bytes)
            FORWARD(group_spread_get(field.data, field.len, group->spread));
    }
    if (group->range_count) {
        process->has_rank = true;
        process->rank = (int64_t)group->ranges->first;
    }
    if (log_group_host_count(group) == 1 && group->hosts->len) {
        char *host = arena_alloc(&log->arena, group->hosts->len + 1);
        RETURN_IF(!host, -ENOMEM);
        group_host_name(group->hosts, 0, host);
        host[group->hosts->len] = 0;
        process->host = host;
    }
    process->group = group;
    return 0;
}

uint64_t log_group_host_count(const struct log_group *group) {
    uint64_t count = 0;
    for (size_t i = 0; i < group->host_count; i++) count += group->hosts[i].hosts;
    return count;
}

bool log_process_has_rank(const struct log_process *process, int64_t rank) {
    if (!process->has_rank || !process->group) return process->has_rank && process->rank == rank;
    for (size_t i = 0; i < process->group->range_count; i++) {
        const struct group_ranks *range = &process->group->ranges[i];
        if (rank >= (int64_t)range->first && (uint64_t)rank - range->first < range->count) return true;
    }
    return false;
}

uint64_t log_process_members(const struct log_process *process) { return process->group ? process->group->members : 1; }

int64_t log_process_run_ns(const struct log_process *process, int64_t end_ns) {
    const struct group_spread *run = process->group ? &process->group->spread[GROUP_RUN] : NULL;
    if (run && run->is_known) return (int64_t)run->sum;
    if (process->has_end) end_ns = process->end_ns;
    int64_t run_ns = end_ns > process->start_ns ? end_ns - process->start_ns : 0;
    return run ? run_ns * (int64_t)process->group->members : run_ns;
}
