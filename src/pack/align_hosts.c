// Clocks of several hosts, from the messages that their first ranks exchanged (rec/mpi/clocks.c): each answer was given
// between question and its arrival, which limits the difference of the two clocks from both sides (clock_fit.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "pack/private.h"

// Messages within this time are one moment, which says nothing about the drift.
#define MOMENT_NS 100e6
// By how much two clocks may drift apart if nothing is known: twice what crystals have.
#define DRIFT_MOST 1e-4
// Processes whose system clocks differ by more ran on two machines of the same name, or before and after a boot.
#define SAME_HOST_NS INT64_C(1000000000)

enum { MAX_EXCHANGES = 1 << 16, SAMPLES_MOST = 64, HOST_ROOM = 640, SPAN_BITS = 40 };

int pack_read_clock(struct pack *pack, const struct pack_process *process, struct fields_in body) {
    struct field f[CLOCK_SAMPLES + 1];
    struct pack_exchange exchange = {.process = process->id - 1};
    FORWARD(fields_by_key(body, f, CLOCK_SAMPLES + 1));
    const struct field *host = &f[CLOCK_HOST], *samples = &f[CLOCK_SAMPLES];
    exchange.count = samples->len / sizeof *exchange.sample;
    RETURN_IF(!host->len || host->len >= sizeof exchange.host || !exchange.count || exchange.count > SAMPLES_MOST,
              ERR_FORMAT);
    RETURN_IF(pack->exchange_count >= MAX_EXCHANGES, ERR_LIMIT);
    memcpy(exchange.host, host->data, host->len);
    exchange.pid = (uint32_t)f[CLOCK_PID].number;
    memcpy(exchange.sample, samples->data, exchange.count * sizeof *exchange.sample);
    return array_push(pack->exchange, pack->exchange_count, exchange);
}

// --- hosts

static size_t host_named(const struct pack *pack, const char *name) {
    for (size_t i = 0; i < pack->host_count; i++) {
        if (!strcmp(pack->hosts[i].name, name)) return i;
    }
    return PACK_NO_HOST;
}

static bool has_units_of(const struct pack_process *process, const struct pack_process *other) {
    const struct spill_header *a = &process->spill.header, *b = &other->spill.header;
    return a->clock_is_ns == b->clock_is_ns && a->unit_shift == b->unit_shift;
}

static uint64_t seen_ns(const struct pack_process *process) {
    return process->spill.header.latest.mono_ns - process->spill.header.start.mono_ns;
}

// The clock of a host is that of the process that was seen the longest, among those with the units of the messages.
static int add_host(struct pack *pack, const struct pack_process *speaker, size_t *place) {
    *place = host_named(pack, speaker->host);
    if (*place != PACK_NO_HOST) return 0;
    struct pack_host host = {.name = speaker->host, .process = speaker};
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct pack_process *process = &pack->process[i];
        if (strcmp(process->host, host.name) || !has_units_of(process, speaker)) continue;
        if (seen_ns(process) > seen_ns(host.process)) host.process = process;
    }
    host.clock = host.process->clock;
    *place = pack->host_count;
    return array_push(pack->hosts, pack->host_count, host);
}

static const struct pack_process *find_answering(const struct pack *pack, const struct pack_exchange *exchange) {
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct pack_process *process = &pack->process[i];
        if (process->spill.header.pid == exchange->pid && !strcmp(process->host, exchange->host)) return process;
    }
    return NULL;
}

static int find_hosts(struct pack *pack) {
    for (size_t i = 0; i < pack->exchange_count; i++) {
        struct pack_exchange *exchange = &pack->exchange[i];
        const struct pack_process *answering = find_answering(pack, exchange);
        exchange->answers = PACK_NO_HOST;
        FORWARD(add_host(pack, &pack->process[exchange->process], &exchange->asks));
        if (answering) FORWARD(add_host(pack, answering, &exchange->answers));
    }
    return 0;
}

// --- one host against another

struct pairs {
    struct clock_pair *pair;
    size_t count;
    double first_ns, last_ns; // on the other clock
};

// A question of the reference to the other host, or the other way round: then the limits change sides.
static int add_pair(struct pairs *pairs, const struct clock_sample *sample, const struct clock_map *asks,
                    const struct clock_map *answers, bool is_other_asking) {
    int64_t sent = clock_map_ns(asks, sample->sent), answered = clock_map_ns(asks, sample->answered);
    int64_t received = clock_map_ns(answers, sample->received), replied = clock_map_ns(answers, sample->replied);
    struct clock_pair pair = {received, replied, sent, answered};
    if (is_other_asking) pair = (struct clock_pair){answered, sent, replied, received};
    double ns = (double)pair.start_ns;
    if (!pairs->count || ns < pairs->first_ns) pairs->first_ns = ns;
    if (!pairs->count || ns > pairs->last_ns) pairs->last_ns = ns;
    return array_push(pairs->pair, pairs->count, pair);
}

static int find_pairs(const struct pack *pack, size_t reference, size_t other, struct pairs *pairs) {
    for (size_t i = 0; i < pack->exchange_count; i++) {
        const struct pack_exchange *exchange = &pack->exchange[i];
        bool is_other_asking = exchange->asks == other && exchange->answers == reference;
        if (!is_other_asking && !(exchange->asks == reference && exchange->answers == other)) continue;
        for (size_t j = 0; j < exchange->count; j++)
            FORWARD(add_pair(pairs, &exchange->sample[j], &pack->hosts[exchange->asks].clock,
                             &pack->hosts[exchange->answers].clock, is_other_asking));
    }
    return 0;
}

// What is added to the host's times is one line; the rest of what was fitted counts as error. Beyond the last message
// the error grows with what is not known about the drift.
static void set_line(struct pack_host *host, const struct pack_host *reference, const struct clock_fit *fit,
                     const struct pairs *pairs) {
    double span = pairs->last_ns - pairs->first_ns, middle = pairs->first_ns + span / 2;
    double last = fmax((double)clock_map_ns(&host->clock, host->process->spill.header.latest.units), pairs->last_ns);
    double unknown = fmin(DRIFT_MOST, 2 * fit->error_ns / fmax(span, 1));
    host->has_drift = span >= MOMENT_NS;
    host->drift = host->has_drift ? clock_fit_drift(fit) : 0;
    host->offset_ns = clock_fit_offset(fit, middle) - host->drift * middle;
    double error = fit->error_ns + (last - pairs->last_ns) * unknown;
    for (unsigned i = 0; i < fit->knots; i++) {
        double line = host->offset_ns + host->drift * fit->knot[i].ns;
        error = fmax(error, fit->error_ns + fabs(fit->knot[i].offset_ns - line));
    }
    host->error_ns = reference->error_ns + error;
}

static void move_clock(struct pack_host *host) {
    struct clock_map *clock = &host->clock;
    double rate = clock_map_rate(clock) * (1 + host->drift);
    double ns = (double)clock->origin_ns;
    clock->origin_ns += (int64_t)(host->offset_ns + host->drift * ns);
    clock->span_units = UINT64_C(1) << SPAN_BITS;
    clock->span_ns = (uint64_t)(rate * (double)clock->span_units);
}

static int align(const struct pack *pack, size_t known, size_t other) {
    const struct pack_host *reference = &pack->hosts[known];
    struct pack_host *host = &pack->hosts[other];
    struct pairs pairs = {0};
    struct clock_fit fit;
    int code = find_pairs(pack, known, other, &pairs);
    if (code == 0) code = clock_fit(&fit, pairs.pair, pairs.count);
    if (code == 0) {
        set_line(host, reference, &fit, &pairs);
        move_clock(host);
        host->reference = reference->reference ? reference->reference : reference->name;
        host->is_known = true;
    }
    free(pairs.pair);
    return code == ERR_NOTHING ? 0 : code;
}

// --- all hosts

// The job's host, or else one that no other asked: its clock is the system's.
static struct pack_host *find_first(const struct pack *pack) {
    for (size_t i = 0; i < pack->host_count; i++) {
        if (pack->hosts[i].process->is_local) return &pack->hosts[i];
    }
    for (size_t i = 0, j; i < pack->host_count; i++) {
        for (j = 0; j < pack->exchange_count && pack->exchange[j].answers != i;) j++;
        if (j == pack->exchange_count) return &pack->hosts[i];
    }
    return pack->hosts;
}

// Processes with other units, such as those without the processor's counter, keep their own.
static void set_process(const struct pack_host *host, struct pack_process *process) {
    uint64_t start = process->spill.header.start.units;
    int64_t before = clock_map_ns(&process->clock, start), shared = clock_map_ns(&host->clock, start);
    process->moved_ns = (int64_t)(host->offset_ns + host->drift * (double)before);
    int64_t difference = shared - before - process->moved_ns;
    if (has_units_of(process, host->process) && llabs(difference) < SAME_HOST_NS) {
        process->clock = host->clock;
        process->moved_ns += difference;
    } else {
        process->clock.origin_ns += process->moved_ns;
    }
}

// From the hosts that are known to their neighbours in the tree of messages. Returns whether there were any.
static int align_neighbours(const struct pack *pack) {
    int found = 0;
    for (size_t i = 0; i < pack->exchange_count; i++) {
        size_t asks = pack->exchange[i].asks, answers = pack->exchange[i].answers;
        if (answers == PACK_NO_HOST || pack->hosts[asks].is_known == pack->hosts[answers].is_known) continue;
        bool is_down = pack->hosts[asks].is_known;
        FORWARD(align(pack, is_down ? asks : answers, is_down ? answers : asks));
        found |= pack->hosts[asks].is_known && pack->hosts[answers].is_known;
    }
    return found;
}

int pack_align_hosts(struct pack *pack) {
    int more = 1;
    FORWARD(find_hosts(pack));
    if (!pack->host_count) return 0;
    find_first(pack)->is_known = true;
    while (more) FORWARD(more = align_neighbours(pack));
    for (size_t i = 0; i < pack->process_count; i++) {
        struct pack_process *process = &pack->process[i];
        size_t host = process->is_local ? PACK_NO_HOST : host_named(pack, process->host);
        if (host != PACK_NO_HOST && pack->hosts[host].is_known) set_process(&pack->hosts[host], process);
    }
    return 0;
}

int64_t pack_host_offset_ns(const struct pack *pack, const char *host) {
    size_t place = host_named(pack, host);
    return place == PACK_NO_HOST ? 0 : (int64_t)pack->hosts[place].offset_ns;
}

void pack_write_hosts(struct pack *pack) {
    for (size_t i = 0; i < pack->host_count; i++) {
        const struct pack_host *host = &pack->hosts[i];
        if (!host->reference) continue;
        struct fields_out *out = log_writer_begin(&pack->writer, RECORD_HOST, HOST_ROOM);
        fields_string(out, HOST_NAME, host->name);
        fields_signed(out, HOST_CLOCK_OFFSET_NS, (int64_t)host->offset_ns);
        if (host->has_drift) fields_signed(out, HOST_CLOCK_DRIFT, (int64_t)(host->drift * 1e9));
        fields_number(out, HOST_CLOCK_ERROR_NS, (uint64_t)ceil(host->error_ns));
        fields_string(out, HOST_CLOCK_REFERENCE, host->reference);
        log_writer_end(&pack->writer);
    }
}
