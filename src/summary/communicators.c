#include "summary/communicators.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"

struct known {
    const struct communicator *comm;
    const struct log_process *process;
    const struct comm_group *group[2]; // those of an inter-communicator in an order that both sides agree on
};

static int compare_numbers(uint64_t left, uint64_t right) { return left < right ? -1 : left > right; }

static int compare_groups(const struct comm_group *left, const struct comm_group *right) {
    size_t left_len = (size_t)(left->members.end - left->members.at),
           right_len = (size_t)(right->members.end - right->members.at);
    int order = compare_numbers(left->size, right->size);
    if (!order) order = compare_numbers(left->hash, right->hash);
    if (!order) order = compare_numbers(left_len, right_len);
    return order || !left_len ? order : memcmp(left->members.at, right->members.at, left_len);
}

static int compare_kinds(const struct known *left, const struct known *right) {
    int order = compare_numbers(left->process->world, right->process->world);
    if (!order) order = compare_numbers(left->comm->origin, right->comm->origin);
    if (!order) order = compare_groups(left->group[0], right->group[0]);
    return order ? order : compare_groups(left->group[1], right->group[1]);
}

static int compare(const void *a, const void *b) {
    const struct known *left = a, *right = b;
    int order = compare_kinds(left, right);
    if (!order) order = compare_numbers(left->process->index, right->process->index);
    return order ? order : compare_numbers(left->comm->number, right->comm->number);
}

static int compare_results(const void *a, const void *b) {
    const struct summary_comm *left = a, *right = b;
    int order = compare_numbers(left->world, right->world);
    if (!order) order = compare_numbers(left->first->number, right->first->number);
    return order ? order : compare_numbers(left->first->process, right->first->process);
}

static int collect(const struct log *log, struct known **known, size_t *count) {
    for (size_t i = 0; i < log_communicator_count(log); i++) {
        const struct communicator *comm = log_communicator_at(log, i);
        const struct log_process *process = log_process_find(log, comm->process);
        if (!process || !process->has_rank || comm->origin == ORIGIN_SELF) continue;
        bool swap = comm->is_inter && compare_groups(&comm->local, &comm->remote) > 0;
        FORWARD(array_push(
            *known, *count,
            (struct known){.comm = comm,
                           .process = process,
                           .group = {swap ? &comm->remote : &comm->local, swap ? &comm->local : &comm->remote}}));
    }
    return 0;
}

// The n-th one of each process is the same communicator: there are as many as the process with the most has.
static int join(struct summary_comms *comms, const struct known *known, size_t count) {
    uint64_t of_process = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_same = i && !compare_kinds(&known[i], &known[i - 1]);
        if (!is_same) {
            FORWARD(array_push(comms->comm, comms->count,
                               (struct summary_comm){.first = known[i].comm, .world = known[i].process->world}));
        }
        struct summary_comm *comm = &comms->comm[comms->count - 1];
        bool is_new_process = !is_same || known[i].process != known[i - 1].process;
        of_process = is_new_process ? 1 : of_process + 1;
        comm->processes += is_new_process;
        if (of_process > comm->communicators) comm->communicators = of_process;
    }
    return 0;
}

int summary_comms_find(struct summary_comms *comms, const struct log *log) {
    struct known *known = NULL;
    size_t count = 0;
    int code = collect(log, &known, &count);
    if (code == 0 && count) {
        qsort(known, count, sizeof *known, compare);
        code = join(comms, known, count);
    }
    if (code == 0 && comms->count) qsort(comms->comm, comms->count, sizeof *comms->comm, compare_results);
    free(known);
    return code;
}

static void put_run(struct bytes *text, const struct members_run *run, const char *comma) {
    char one[96];
    int64_t last = run->first + run->step * (int64_t)(run->count - 1);
    int len;
    if (run->first == MEMBERS_UNKNOWN)
        len = snprintf(one, sizeof one, "%s?*%" PRIu64, comma, run->count);
    else if (run->count == 1)
        len = snprintf(one, sizeof one, "%s%" PRId64, comma, run->first);
    else if (run->count == 2 && run->step != 1)
        len = snprintf(one, sizeof one, "%s%" PRId64 ",%" PRId64, comma, run->first, last);
    else if (run->step == 1)
        len = snprintf(one, sizeof one, "%s%" PRId64 "-%" PRId64, comma, run->first, last);
    else
        len = snprintf(one, sizeof one, "%s%" PRId64 "-%" PRId64 ":%" PRId64, comma, run->first, last, run->step);
    bytes_append(text, one, (size_t)len);
}

void summary_comm_members(struct bytes *text, const struct comm_group *group) {
    struct members_in members = group->members;
    struct members_run run;
    const char *comma = "";
    for (; members_next(&members, &run) > 0; comma = ",") put_run(text, &run, comma);
    if (group->cut && *comma) bytes_append(text, ",...", 4);
}

static void key_members(struct json_out *json, const char *key, const struct comm_group *group) {
    struct bytes text = {0};
    summary_comm_members(&text, group);
    json_key(json, key);
    json_bytes(json, text.len ? (const char *)text.data : "", text.len);
    bytes_free(&text);
}

void summary_comms_json(const struct summary_comms *comms, struct json_out *json, size_t most) {
    key_array(json, "communicators");
    for (size_t i = 0; i < comms->count && i < most; i++) {
        const struct summary_comm *comm = &comms->comm[i];
        json_object(json);
        json_members(json, m_number("world", comm->world), m_text("origin", comm_origin_name(comm->first->origin)),
                     m_number("size", comm->first->local.size));
        key_members(json, "members", &comm->first->local);
        if (comm->first->is_inter) {
            key_number(json, "remote_size", comm->first->remote.size);
            key_members(json, "remote_members", &comm->first->remote);
        }
        json_members(json, m_number("communicators", comm->communicators), m_number("processes", comm->processes));
        json_close(json);
    }
    json_close(json);
}
