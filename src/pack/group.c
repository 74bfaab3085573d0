// Ranks of a large MPI program that are alike get one record together: their numbers are random digits that no
// compression takes away, and nobody reads thousands of them. Alike are ranks that have the same program, arguments and
// end, whose counters were all added up, and that have no other records; and the images that became them, such as
// those of a launcher.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "fmt/group.h"
#include "pack/private.h"

const struct pack_group *pack_group_of(const struct pack *pack, const struct pack_process *process) {
    const struct pack_group *group = process->group ? &pack->groups[process->group - 1] : NULL;
    return group && group->members > pack->options->most_ranks ? group : NULL;
}

uint32_t pack_record_id(const struct pack *pack, const struct pack_process *process) {
    const struct pack_group *group = pack_group_of(pack, process);
    return group ? pack->process[group->first].id : process->id;
}

// --- who is alike

struct search {
    struct lookup parents; // pack_process_key of those with children in the log
    struct lookup last;    // pack_process_key -> place of the last image
    struct lookup alike;   // hash -> place in the groups
};

static uint64_t key_of(const struct pack *pack, const struct pack_process *process) {
    return pack_process_key(pack, process->host, process->spill.header.pid);
}

static uint64_t parent_key(const struct pack *pack, const struct pack_process *process) {
    return pack_process_key(pack, process->host, process->spill.header.ppid);
}

// Whether nothing in the log is about this process alone, but its record.
static bool has_one_record(const struct pack *pack, const struct search *search, const struct pack_process *process) {
    const struct spill_header *header = &process->spill.header;
    uint64_t others = process->files.len + process->communicators.len + process->mapped.len + process->aggregates.len +
                      process->sites.len + process->damaged_bytes + process->spill.damaged_bytes + header->raw_rings;
    for (unsigned i = 0; i < PACK_UNIQUE; i++) others += process->unique[i].len;
    for (unsigned reason = 1; reason < SPILL_LOSSES; reason++) others += header->lost[reason];
    for (size_t i = 0; i < process->spill.count; i++) {
        const struct spill_piece *piece = &process->spill.piece[i];
        bool is_record = piece->chunk.kind == CHUNK_RECORDS || pack_is_handed(pack, process, piece);
        if (piece->chunk.used && !is_record) others++;
    }
    return !others && !header->counts_all && header->trace_ended && process->id != pack->began &&
           lookup_find(&search->parents, key_of(pack, process)) == LOOKUP_NONE;
}

// Whether its parent is in the log and did not end before it.
static bool is_reaped(const struct pack *pack, const struct search *search, const struct pack_process *process) {
    uint32_t place = process->spill.header.ppid ? lookup_find(&search->last, parent_key(pack, process)) : LOOKUP_NONE;
    while (place != LOOKUP_NONE) {
        const struct pack_process *parent = &pack->process[place];
        if (!parent->end_known || (process->end_known && parent->end_mono_ns >= process->end_mono_ns)) return true;
        place = parent->same_pid;
    }
    return false;
}

static bool is_own(unsigned key) { return key == PROCESS_HOST || key == PROCESS_RANK || key == PROCESS_LOCAL_RANK; }

static uint64_t hash_of(const struct pack *pack, const struct search *search, const struct pack_process *process,
                        uint64_t seed) {
    const struct spill_header *header = &process->spill.header;
    const uint64_t facts[] = {seed,
                              header->part,
                              header->uid,
                              header->trace_ended,
                              header->cpu_wait_known,
                              header->chars_known & 1,
                              process->chars_known,
                              process->exit,
                              process->exit_value,
                              process->end_known,
                              process->is_joined,
                              is_reaped(pack, search, process)};
    uint64_t hash = hash_bytes(0, facts, sizeof facts);
    struct fields_in in = fields_of(&process->about);
    struct field field;
    for (const uint8_t *from = in.at; fields_next(&in, &field) > 0; from = in.at) {
        if (!is_own(field.key)) hash = hash_bytes(hash, from, (size_t)(in.at - from));
    }
    return hash;
}

static int add_to_group(struct pack *pack, struct search *search, struct pack_process *process, uint64_t seed) {
    uint64_t hash = hash_of(pack, search, process, seed);
    uint32_t place = lookup_find(&search->alike, hash);
    if (place == LOOKUP_NONE) {
        place = (uint32_t)pack->group_count;
        FORWARD(lookup_set(&search->alike, hash, place));
        struct pack_group group = {.first = process->id - 1, .is_reaped = is_reaped(pack, search, process)};
        FORWARD(array_push(pack->groups, pack->group_count, group));
    }
    pack->groups[place].members++;
    process->group = place + 1;
    return 0;
}

// The images that became a rank, from the last one back, as far as they are alike.
static int add_images(struct pack *pack, struct search *search, const struct pack_process *rank) {
    uint64_t depth = 0;
    for (uint32_t place = rank->same_pid; place != LOOKUP_NONE; place = pack->process[place].same_pid) {
        struct pack_process *image = &pack->process[place];
        if (image->exit != EXIT_EXEC || image->rank || !has_one_record(pack, search, image)) return 0;
        FORWARD(add_to_group(pack, search, image, lookup_pair(rank->group, (uint32_t)++depth)));
    }
    return 0;
}

static int find_groups(struct pack *pack, struct search *search) {
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct pack_process *process = &pack->process[i];
        FORWARD(lookup_set(&search->last, key_of(pack, process), (uint32_t)i));
        if (process->spill.header.ppid) FORWARD(lookup_set(&search->parents, parent_key(pack, process), 1));
    }
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        if (process->rank && pack_has_handed(pack, process) && has_one_record(pack, search, process))
            FORWARD(add_to_group(pack, search, process, 0));
    }
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct pack_process *process = &pack->process[i];
        if (process->rank && pack_group_of(pack, process)) FORWARD(add_images(pack, search, process));
    }
    return 0;
}

int pack_find_groups(struct pack *pack) {
    struct search search = {0};
    if (!pack->options || !pack->options->most_ranks || pack->stack || !pack->part_count) return 0;
    int code = find_groups(pack, &search);
    for (size_t i = pack->group_count; i > 0; i--) {
        const struct pack_process *first = &pack->process[pack->groups[i - 1].first];
        struct pack_part *part = first->rank ? pack_part_of(pack, first) : NULL;
        if (part && pack_group_of(pack, first)) part->group = first->id;
    }
    lookup_free(&search.parents);
    lookup_free(&search.last);
    lookup_free(&search.alike);
    return code;
}

uint32_t pack_group_with(const struct pack *pack, const struct pack_process *process) {
    const struct pack_part *part = process->rank ? pack_part_of(pack, process) : NULL;
    return part && part->group != pack_record_id(pack, process) ? part->group : 0;
}

// --- what they have together

struct host_count {
    const char *name;
    uint64_t processes;
};

struct joined {
    const struct pack_process *first;
    struct pack_process sum; // its clock has nanoseconds
    struct group_spread spread[GROUP_TIMES];
    double mean[GROUP_TIMES], squares[GROUP_TIMES]; // of differences from the mean
    uint64_t members;
    uint64_t start_ns, end_ns;
    uint64_t *rank;
    size_t ranks;
    struct host_count *host;
    size_t hosts;
    struct lookup host_of;
};

static void add_time(struct joined *joined, enum group_time time, uint64_t rank, uint64_t ns) {
    struct group_spread *spread = &joined->spread[time];
    int64_t value = ns < INT64_MAX / 4 ? (int64_t)ns : INT64_MAX / 4;
    if (!spread->is_known || value < spread->least) {
        spread->least = value;
        spread->rank_least = rank;
    }
    if (!spread->is_known || value > spread->most) {
        spread->most = value;
        spread->rank_most = rank;
    }
    spread->is_known = true;
    if (time != GROUP_START && time != GROUP_END) spread->sum += (uint64_t)value;
    double difference = (double)value - joined->mean[time];
    joined->mean[time] += difference / (double)joined->members;
    joined->squares[time] += difference * ((double)value - joined->mean[time]);
}

static void add_times(struct joined *joined, const struct pack *pack, const struct pack_process *process) {
    const struct spill_tally *tally = &process->spill.tally;
    uint64_t start_ns = pack_start_ns(pack, process), end_ns = pack_end_ns(pack, process), comm_ns = 0;
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) comm_ns += pack_span_ns(process, tally->comm[kind].units);
    add_time(joined, GROUP_START, process->rank, start_ns);
    if (process->end_known) {
        add_time(joined, GROUP_END, process->rank, end_ns);
        add_time(joined, GROUP_RUN, process->rank, end_ns > start_ns ? end_ns - start_ns : 0);
    }
    add_time(joined, GROUP_IO, process->rank, pack_span_ns(process, tally->io_units));
    add_time(joined, GROUP_COMM, process->rank, comm_ns);
    if (process->spill.header.cpu_wait_known)
        add_time(joined, GROUP_WAIT, process->rank, process->spill.header.cpu_wait_ns);
}

static void add_sums(struct joined *joined, const struct pack_process *process) {
    struct pack_process *sum = &joined->sum;
    struct spill_tally *to = &sum->spill.tally;
    const struct spill_tally *tally = &process->spill.tally;
    for (unsigned i = 0; i < 2; i++) {
        sum->chars[i] += process->chars[i];
        sum->load_chars[i] += process->load_chars[i];
        to->stdio_kernel[i] += tally->stdio_kernel[i];
        for (unsigned reason = 0; reason < LEFT_OUT_COUNT; reason++)
            to->left_out[i][reason] += tally->left_out[i][reason];
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++)
            sum->spill.header.handed_bytes[i][layer] += process->spill.header.handed_bytes[i][layer];
    }
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        to->comm[kind].count += tally->comm[kind].count;
        to->comm[kind].bytes += tally->comm[kind].bytes;
        to->comm[kind].units += pack_span_ns(process, tally->comm[kind].units);
    }
    to->left_out_calls += tally->left_out_calls;
    to->io_units += pack_span_ns(process, tally->io_units);
    sum->spill.header.exit_stdio_bytes += process->spill.header.exit_stdio_bytes;
    sum->spill.header.cpu_wait_ns += process->spill.header.cpu_wait_ns;
}

static int add_member(struct joined *joined, const struct pack *pack, const struct pack_process *process) {
    uint32_t place;
    struct host_count fresh = {.name = process->host};
    uint64_t key = hash_bytes(0, process->host, strlen(process->host));
    FORWARD(lookup_intern(&joined->host_of, key, place, joined->host, joined->hosts, fresh));
    joined->host[place].processes++;
    if (process->rank) FORWARD(array_push(joined->rank, joined->ranks, process->rank - 1));
    joined->members++;
    add_times(joined, pack, process);
    add_sums(joined, process);
    return 0;
}

// Numbers at the end of names come in their order.
static int by_name(const void *a, const void *b) {
    const struct host_count *left = a, *right = b;
    size_t left_len = strlen(left->name), right_len = strlen(right->name);
    if (left_len != right_len) return left_len < right_len ? -1 : 1;
    return strcmp(left->name, right->name);
}

static int by_number(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

// --- writing

static int put_list(struct bytes *out, unsigned key, struct bytes *list) {
    FORWARD(bytes_append_varint(out, (uint64_t)key << 1 | 1));
    FORWARD(bytes_append_varint(out, list->len));
    int code = bytes_append(out, list->data, list->len);
    list->len = 0;
    return code;
}

static int put_hosts(const struct joined *joined, struct bytes *out, struct bytes *list) {
    qsort(joined->host, joined->hosts, sizeof *joined->host, by_name);
    for (size_t i = 0; i < joined->hosts;) {
        const struct host_count *host = &joined->host[i];
        struct group_hosts range = {1, host->processes, host->name, strlen(host->name)};
        while (++i < joined->hosts && joined->host[i].processes == range.each &&
               group_host_follows(&range, joined->host[i].name, strlen(joined->host[i].name)))
            range.hosts++;
        FORWARD(group_hosts_put(list, &range));
        FORWARD(put_list(out, PROCESS_HOSTS, list));
    }
    return 0;
}

static int put_ranks(const struct joined *joined, struct bytes *out, struct bytes *list) {
    uint64_t behind = 0;
    if (!joined->ranks) return 0;
    qsort(joined->rank, joined->ranks, sizeof *joined->rank, by_number);
    for (size_t i = 0; i < joined->ranks;) {
        struct group_ranks range = {joined->rank[i], 1};
        while (++i < joined->ranks && joined->rank[i] == range.first + range.count) range.count++;
        FORWARD(group_ranks_put(list, &range, behind));
        behind = range.first + range.count;
    }
    return put_list(out, PROCESS_RANKS, list);
}

static int put_spreads(struct joined *joined, struct bytes *out, struct bytes *list) {
    for (enum group_time time = 0; time < GROUP_TIMES; time++) {
        struct group_spread *spread = &joined->spread[time];
        if (!spread->is_known) continue;
        spread->deviation = (uint64_t)llround(sqrt(joined->squares[time] / (double)joined->members));
        FORWARD(group_spread_put(list, time, spread));
        FORWARD(put_list(out, PROCESS_SPREAD, list));
    }
    return 0;
}

static int put_about(const struct bytes *about, struct bytes *out) {
    struct fields_in in = fields_of(about);
    struct field field;
    for (const uint8_t *from = in.at; fields_next(&in, &field) > 0; from = in.at) {
        if (!is_own(field.key)) FORWARD(bytes_append(out, from, (size_t)(in.at - from)));
    }
    return 0;
}

static int put_group(struct joined *joined, struct bytes *out) {
    struct bytes list = {0};
    int code = put_about(&joined->first->about, out);
    if (code == 0) code = put_hosts(joined, out, &list);
    if (code == 0) code = put_ranks(joined, out, &list);
    if (code == 0) code = put_spreads(joined, out, &list);
    bytes_free(&list);
    return code;
}

// What is equal in all, and the clock of the sums.
static struct pack_process sum_of(const struct pack_process *first) {
    struct pack_process sum = {.id = first->id,
                               .chars_known = first->chars_known,
                               .clock = {.span_units = 1, .span_ns = 1},
                               .exit = first->exit,
                               .exit_value = first->exit_value,
                               .end_known = first->end_known};
    const struct spill_header *header = &first->spill.header;
    sum.spill.header.part = header->part;
    sum.spill.header.uid = header->uid;
    sum.spill.header.chars_known = header->chars_known;
    sum.spill.header.trace_ended = header->trace_ended;
    sum.spill.header.cpu_wait_known = header->cpu_wait_known;
    return sum;
}

static int join_members(struct joined *joined, const struct pack *pack) {
    for (size_t i = 0; i < pack->process_count; i++) {
        if (pack->process[i].group == joined->first->group) FORWARD(add_member(joined, pack, &pack->process[i]));
    }
    return 0;
}

int pack_write_group(struct pack *pack, const struct pack_process *first) {
    struct joined joined = {.first = first, .sum = sum_of(first)};
    int code = join_members(&joined, pack);
    if (code == 0) code = put_group(&joined, &joined.sum.about);
    if (code == 0) {
        const struct pack_shared shared = {.members = joined.members,
                                           .start_ns = (uint64_t)joined.spread[GROUP_START].least,
                                           .end_ns = (uint64_t)joined.spread[GROUP_END].most,
                                           .is_reaped = pack->groups[first->group - 1].is_reaped};
        pack_write_shared(pack, &joined.sum, &shared);
    }
    bytes_free(&joined.sum.about);
    free(joined.rank);
    free(joined.host);
    lookup_free(&joined.host_of);
    return code;
}
