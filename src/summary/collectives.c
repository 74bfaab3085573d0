#include "summary/collectives.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json_keys.h"
#include "summary/mpi_files.h"

// --- while the events are read

static int row_of(struct collectives *all, const struct collective_call *call, uint32_t *at) {
    uint32_t world = call->process->world;
    uint64_t key = hash_add(lookup_pair(call->file ? call->file->index : UINT32_MAX, call->call->id), world);
    *at = lookup_find(&all->row_of, key);
    if (*at != LOOKUP_NONE) return 0;
    *at = (uint32_t)all->rows;
    FORWARD(array_push(all->row, all->rows,
                       (struct collectives_row){.file = call->file, .call = call->call, .world = world}));
    return lookup_set(&all->row_of, key, *at);
}

static int add_aggregator(struct collectives *all, uint32_t row, const struct log_process *process) {
    uint64_t key = lookup_pair(row, process->index);
    uint32_t at = lookup_find(&all->aggregator_of, key);
    if (at == LOOKUP_NONE) {
        at = (uint32_t)all->aggregators;
        FORWARD(array_push(all->aggregator, all->aggregators, (struct collectives_aggregator){row, process, 0}));
        FORWARD(lookup_set(&all->aggregator_of, key, at));
    }
    all->aggregator[at].calls++;
    return 0;
}

static void add_time(struct collectives_part *part, int64_t ns) {
    part->count++;
    part->ns += ns;
    part->squares += (double)ns / 1e9 * ((double)ns / 1e9);
}

static int add_call(const struct collective_call *call, void *context) {
    struct collectives *all = context;
    uint32_t at;
    FORWARD(row_of(all, call, &at));
    struct collectives_row *row = &all->row[at];
    row->calls += call->is_matched;
    row->unmatched += !call->is_matched;
    if (call->is_matched) row->bytes += call->bytes;
    row->two_phase += call->rounds > 0;
    row->rounds += call->rounds;
    if (call->ranks > row->ranks) row->ranks = call->ranks;
    for (unsigned i = 0; call->is_matched && i < INSIDE_PARTS; i++) add_time(&row->part[i], call->ns[i]);
    for (uint32_t k = 0; call->by_round && call->is_aggregator && k < call->rounds; k++) {
        for (unsigned i = 0; i < INSIDE_REST; i++) add_time(&row->round[i], call->by_round[k].ns[i]);
    }
    return call->is_aggregator ? add_aggregator(all, at, call->process) : 0;
}

int collectives_begin(struct collectives *all, struct log *log, struct log_consumer *consumer) {
    FORWARD(log_collectives_init(&all->in, log, add_call, all));
    *consumer = log_collectives_consumer(&all->in);
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        all->ended += process->has_rank && (process->trace_ended || process->counts_all);
    }
    return 0;
}

// --- afterwards

static int by_row(const void *a, const void *b) {
    const struct collectives_aggregator *left = a, *right = b;
    if (left->row != right->row) return left->row < right->row ? -1 : 1;
    int order = log_process_compare(left->process, right->process);
    return order ? order : left->process < right->process ? -1 : left->process > right->process;
}

static int by_time(const void *a, const void *b) {
    const struct collectives_row *left = a, *right = b;
    int64_t left_ns = collectives_time_ns(left), right_ns = collectives_time_ns(right);
    if (!left->calls != !right->calls) return left->calls ? -1 : 1;
    if (left_ns != right_ns) return left_ns > right_ns ? -1 : 1;
    if (left->file != right->file) return left->file < right->file ? -1 : 1;
    if (left->world != right->world) return left->world < right->world ? -1 : 1;
    return left->call->id < right->call->id ? -1 : left->call->id > right->call->id;
}

static int by_lateness(const void *a, const void *b, void *context) {
    const struct log_process *left = *(const struct log_process *const *)a,
                             *right = *(const struct log_process *const *)b;
    const struct collective_process *of = context;
    int64_t left_ns = of[left->index].late_ns, right_ns = of[right->index].late_ns;
    if (left_ns != right_ns) return left_ns > right_ns ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static int find_late(struct collectives *all) {
    for (size_t i = 0; i < log_process_count(all->in.log); i++) {
        if (all->in.process[i].last) FORWARD(array_push(all->late, all->lates, log_process_at(all->in.log, i)));
    }
    if (all->lates) qsort_r(all->late, all->lates, sizeof(void *), by_lateness, all->in.process);
    return 0;
}

int collectives_finish(struct collectives *all) {
    FORWARD(log_collectives_finish(&all->in));
    if (all->aggregators) qsort(all->aggregator, all->aggregators, sizeof *all->aggregator, by_row);
    for (size_t i = all->aggregators; i-- > 0;) {
        struct collectives_row *row = &all->row[all->aggregator[i].row];
        row->first_aggregator = i;
        row->aggregators++;
    }
    if (all->rows) qsort(all->row, all->rows, sizeof *all->row, by_time);
    while (all->divided < all->rows && all->row[all->divided].calls) all->divided++;
    return find_late(all);
}

void collectives_free(struct collectives *all) {
    log_collectives_free(&all->in);
    free(all->row);
    free(all->aggregator);
    free(all->late);
    lookup_free(&all->row_of);
    lookup_free(&all->aggregator_of);
}

double collectives_mean(const struct collectives_part *part) {
    return part->count ? (double)part->ns / 1e9 / (double)part->count : 0;
}

double collectives_variance(const struct collectives_part *part) {
    double mean = collectives_mean(part);
    double variance = part->count ? part->squares / (double)part->count - mean * mean : 0;
    return variance > 0 ? variance : 0;
}

double collectives_deviation(const struct collectives_part *part) { return sqrt(collectives_variance(part)); }

// --- who, and with which hints

// Those in force when the file was last opened, or NULL.
static const struct log_hint_list *hints_of(const struct mpi_files *files, const struct log_file *file) {
    size_t count;
    const struct mpi_use *use = file ? mpi_files_uses(files, file, MPI_USE_HINTS, &count) : NULL;
    for (size_t i = use ? count : 0; i-- > 0;) {
        const struct log_hint_list *list = &((const struct log_hints *)use[i].first)->in_force;
        if (list->count) return list;
    }
    return NULL;
}

const char *collectives_hint(const struct mpi_files *files, const struct log_file *file, const char *name) {
    const struct log_hint_list *list = hints_of(files, file);
    for (size_t i = 0; list && i < list->count; i++) {
        if (!strcmp(list->hint[i].name, name)) return list->hint[i].value;
    }
    return NULL;
}

struct collectives_shuffle collectives_shuffle(int64_t exchange_ns, int64_t io_ns, int64_t all_ns) {
    int64_t moving_ns = exchange_ns + io_ns;
    return (struct collectives_shuffle){.known = moving_ns > 0,
                                        .of_moving = moving_ns > 0 ? (double)exchange_ns / (double)moving_ns : 0,
                                        .of_all = all_ns > 0 ? (double)exchange_ns / (double)all_ns : 0};
}

void collectives_ranks(const struct collectives *all, const struct collectives_row *row, struct bytes *text) {
    const struct collectives_aggregator *of = all->aggregator + row->first_aggregator;
    for (size_t i = 0, end; i < row->aggregators; i = end) {
        char one[64];
        int64_t first = of[i].process->rank;
        for (end = i + 1; end < row->aggregators && of[end].process->rank == first + (int64_t)(end - i);) end++;
        int len = snprintf(one, sizeof one, "%s%" PRId64, i ? "," : "", first);
        if (end - i > 1)
            len += snprintf(one + len, sizeof one - (size_t)len, "%s%" PRId64, end - i > 2 ? "-" : ",",
                            of[end - 1].process->rank);
        bytes_append(text, one, (size_t)len);
    }
}

// --- JSON

static void parts_json(const struct collectives_part *part, unsigned parts, struct json_out *json) {
    for (unsigned i = 0; i < parts; i++) {
        json_key(json, inside_part_names[i]);
        json_object_of(json, m_seconds("seconds", part[i].ns), m_double("mean", collectives_mean(&part[i])),
                       m_double("variance", collectives_variance(&part[i])));
    }
}

static void shuffle_json(int64_t exchange_ns, int64_t io_ns, int64_t all_ns, struct json_out *json) {
    struct collectives_shuffle shuffle = collectives_shuffle(exchange_ns, io_ns, all_ns);
    json_members(json, m_double_if("shuffle_share", shuffle.known, shuffle.of_moving),
                 m_double_if("shuffle_share_of_all", all_ns > 0, shuffle.of_all));
}

static void hints_json(const struct mpi_files *files, const struct log_file *file, struct json_out *json) {
    const struct log_hint_list *list = hints_of(files, file);
    key_object(json, "hints");
    for (size_t i = 0; list && i < list->count; i++) key_text(json, list->hint[i].name, list->hint[i].value);
    json_close(json);
}

static void rounds_json(const struct collectives_row *row, struct json_out *json) {
    bool has_rounds = row->two_phase;
    json_members(json, m_number("two_phase", row->two_phase),
                 m_double_if("rounds", has_rounds, has_rounds ? (double)row->rounds / (double)row->two_phase : 0));
    if (!row->round[0].count) {
        key_null(json, "round");
        return;
    }
    key_object(json, "round");
    key_number(json, "count", row->round[0].count);
    parts_json(row->round, INSIDE_REST, json);
    json_close(json);
}

static void row_json(const struct collectives *all, const struct collectives_row *row, const struct mpi_files *files,
                     struct json_out *json, size_t most) {
    json_object(json);
    json_members(json, m_text("file", row->file ? row->file->name : NULL), m_text("op", row->call->name),
                 m_number_if("world", row->world != LOG_NO_WORLD, row->world), m_number("calls", row->calls),
                 m_number("unmatched", row->unmatched), m_number("ranks", row->ranks), m_number("bytes", row->bytes),
                 m_seconds("seconds", collectives_time_ns(row)));
    parts_json(row->part, INSIDE_PARTS, json);
    shuffle_json(row->part[INSIDE_EXCHANGE].ns, row->part[INSIDE_IO].ns, collectives_time_ns(row), json);
    rounds_json(row, json);
    key_number(json, "aggregator_count", row->aggregators);
    key_array(json, "aggregators");
    for (size_t i = 0; i < row->aggregators && i < most; i++)
        json_signed(json, all->aggregator[row->first_aggregator + i].process->rank);
    json_close(json);
    hints_json(files, row->file, json);
    json_close(json);
}

void collectives_json(const struct collectives *all, const struct mpi_files *files, struct json_out *json,
                      size_t most) {
    const int64_t *ns = all->in.ns;
    json_object(json);
    json_members(json, m_number("calls", all->in.calls), m_seconds("wait", all->in.ns[INSIDE_WAIT]),
                 m_seconds("exchange", all->in.ns[INSIDE_EXCHANGE]), m_seconds("io", all->in.ns[INSIDE_IO]),
                 m_seconds("rest", all->in.ns[INSIDE_REST]), m_number("unmatched", all->in.unmatched),
                 m_number("nonblocking", all->in.nonblocking), m_number("trace_ended", all->ended));
    shuffle_json(ns[INSIDE_EXCHANGE], ns[INSIDE_IO],
                 ns[INSIDE_WAIT] + ns[INSIDE_EXCHANGE] + ns[INSIDE_IO] + ns[INSIDE_REST], json);
    key_array(json, "operations");
    for (size_t i = 0; i < all->rows && i < most; i++) row_json(all, &all->row[i], files, json, most);
    json_close(json);
    key_array(json, "late");
    for (size_t i = 0; i < all->lates && i < most; i++) {
        const struct log_process *process = all->late[i];
        const struct collective_process *own = &all->in.process[process->index];
        json_object_of(json, m_signed_if("rank", process->has_rank, process->rank),
                       m_number_if("world", process->has_rank, process->world),
                       m_number_if("pid", process->pid, process->pid), m_number("calls", own->calls),
                       m_number("last", own->last), m_seconds("seconds", own->late_ns));
    }
    json_close(json);
    json_close(json);
}
