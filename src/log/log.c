#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "log/import.h"
#include "log/private.h"

void *table_add(struct table *table, size_t item_bytes) {
    if (array_grow(&table->item, table->count, item_bytes)) return NULL;
    void *added = (uint8_t *)table->item + table->count++ * item_bytes;
    memset(added, 0, item_bytes);
    return added;
}

int log_read_at(const struct log *log, void *out, size_t len, uint64_t offset) {
    RETURN_IF(offset > log->size || len > log->size - offset, ERR_TRUNCATED);
    uint8_t *at = out;
    while (len > 0) {
        ssize_t got = pread(log->fd, at, len, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        RETURN_IF(got < 0, -errno);
        RETURN_IF(got == 0, ERR_TRUNCATED);
        at += got;
        len -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

int log_read_block_header(const struct log *log, uint64_t end, uint64_t offset, struct log_block *block) {
    uint8_t header[LOG_BLOCK_HEADER_BYTES];
    RETURN_IF(offset > end, ERR_TRUNCATED);
    size_t len = end - offset < sizeof header ? (size_t)(end - offset) : sizeof header;
    FORWARD(log_read_at(log, header, len, offset));
    FORWARD(log_block_get(header, len, block));
    return block->stored_len > end - offset - block->header_bytes ? ERR_TRUNCATED : 0;
}

int log_read_block_at(const struct log *log, uint64_t offset, struct log_block *block, struct bytes *stored,
                      struct bytes *raw) {
    FORWARD(log_read_block_header(log, log->size, offset, block));
    stored->len = 0;
    uint8_t *bytes = bytes_reserve(stored, block->stored_len);
    RETURN_IF(!bytes && block->stored_len, -ENOMEM);
    FORWARD(log_read_at(log, bytes, block->stored_len, offset + block->header_bytes));
    return log_block_load(block, bytes, raw);
}

static void note_gap(struct log *log, const struct log_process *process, int64_t from_ns) {
    struct log_process *own = (struct log_process *)log->processes.item + process->index;
    if (from_ns < own->whole_until_ns) __atomic_store_n(&own->whole_until_ns, from_ns, __ATOMIC_RELAXED);
}

static void note_damage(struct log *log, const struct log_place *place, uint64_t bytes, uint64_t events,
                        int64_t from_ns) {
    struct log_place *own = (struct log_place *)log->places.item + (place - log_place_at(log, 0));
    pthread_mutex_lock(&log->damage);
    if (!own->damaged) {
        own->damaged = true;
        log->health.blocks_damaged++;
        log->health.bytes_skipped += bytes;
        *(place->below ? &log->health.below_damaged : &log->health.events_damaged) += events;
        if (!place->below) log->events_unread += events;
        if (place->process && !place->below) note_gap(log, place->process, from_ns);
    }
    pthread_mutex_unlock(&log->damage);
}

void log_note_damage(struct log *log, const struct log_place *place, uint64_t events_left, int64_t from_ns) {
    note_damage(log, place, 0, events_left, from_ns);
}

static int read_block(struct log *log, const struct log_place *place, struct log_block *block, struct bytes *stored,
                      struct bytes *raw) {
    int code = log_read_block_at(log, place->offset, block, stored, raw);
    if (code == 0 && (block->type != place->type || block->stream != place->stream)) code = ERR_FORMAT;
    if (log_is_damage(code)) note_damage(log, place, place->stored_len, place->events, (int64_t)place->start_ns);
    return code;
}

int log_read_block(struct log *log, const struct log_place *place, struct log_block *block, struct bytes *raw) {
    struct bytes stored = {0};
    int code = read_block(log, place, block, &stored, raw);
    bytes_free(&stored);
    return code;
}

int log_read_events(struct log *log, const struct log_place *place, struct log_block *block, struct bytes *stored,
                    struct bytes *raw, struct stream_decoder *decoder) {
    __atomic_fetch_add(&log->blocks_read, 1, __ATOMIC_RELAXED);
    FORWARD(read_block(log, place, block, stored, raw));
    const struct stream_start start = {
        .stream = block->stream,
        .tid = block->tid,
        .first_number = block->first_number,
        .base = block->base,
        .tick = block->tick,
        .traits = log->traits,
        .traits_len = log->call_ids,
    };
    stream_decoder_init(decoder, &start, raw->data, raw->len);
    return 0;
}

// A header with a wrong checksum is ignored: each block has everything that is needed to read it.
static int read_header(struct log *log) {
    uint8_t header[LOG_HEADER_BYTES] = {0};
    bool is_short = log->size < sizeof header;
    FORWARD(log_read_at(log, header, is_short ? log->size : sizeof header, 0));
    int code = log_header_get(header, &log->header);
    RETURN_IF(is_short, code == ERR_FORMAT
                            ? code
                            : ERR_TRUNCATED); // a file that is not a log at all is not a truncated log either
    log->health.header_damaged = code == ERR_CHECKSUM;
    return code == ERR_CHECKSUM ? 0 : code;
}

static int read_records(struct log *log) {
    struct bytes raw = {0};
    int code = 0;
    for (size_t i = 0; i < log->places.count && code == 0; i++) {
        const struct log_place *place = (struct log_place *)log->places.item + i;
        if (place->type != BLOCK_RECORDS) continue;
        struct log_block block;
        code = log_read_block(log, place, &block, &raw);
        if (code == 0) code = log_parse_records(log, &raw);
        if (log_is_damage(code)) code = 0;
    }
    bytes_free(&raw);
    return code;
}

static int open_file(struct log *log, const char *path) {
    struct stat status;
    log->fd =
        open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); // O_NONBLOCK: do not wait for the writer of a pipe
    RETURN_IF(log->fd < 0, -errno);
    RETURN_IF(fstat(log->fd, &status) != 0, -errno);
    RETURN_IF(S_ISDIR(status.st_mode), -EISDIR);
    RETURN_IF(!S_ISREG(status.st_mode), ERR_FORMAT);
    log->size = (uint64_t)status.st_size;
    return 0;
}

static int read_log(struct log *log, const char *path) {
    FORWARD(open_file(log, path));
    FORWARD(read_header(log));
    FORWARD(log_find_blocks(log));
    FORWARD(read_records(log));
    return log_link(log);
}

int log_open(struct log **out, const char *path) {
    struct log *log = calloc(1, sizeof *log);
    RETURN_IF(!log, -ENOMEM);
    log->fd = -1;
    pthread_mutex_init(&log->damage, NULL);
    int code = read_log(log, path);
    if (code < 0) {
        log_close(log);
        log = NULL;
    }
    *out = log;
    return code;
}

void log_close(struct log *log) {
    if (!log) return;
    struct table *tables[] = {&log->processes,
                              &log->worlds,
                              &log->files,
                              &log->calls,
                              &log->losses,
                              &log->loss_processes,
                              &log->settings,
                              &log->places,
                              &log->streams,
                              &log->callsites,
                              &log->counters,
                              &log->communicators,
                              &log->datatypes,
                              &log->hints,
                              &log->process_files,
                              &log->process_datatypes,
                              &log->process_hints,
                              &log->devices,
                              &log->mounts,
                              &log->hosts,
                              &log->selections,
                              &log->datasets,
                              &log->process_selections,
                              &log->process_datasets,
                              &log->reductions,
                              &log->mapped,
                              &log->aggregates,
                              &log->servers,
                              &log->below,
                              &log->imported};
    struct lookup *lookups[] = {
        &log->process_by_id,    &log->file_by_id,        &log->stream_by_id,           &log->stream_by_local,
        &log->file_by_local,    &log->callsite_by_id,    &log->communicator_by_number, &log->datatype_by_id,
        &log->hints_by_id,      &log->datatype_by_local, &log->hints_by_local,         &log->device_by_id,
        &log->mount_by_id,      &log->selection_by_id,   &log->dataset_by_id,          &log->selection_by_local,
        &log->dataset_by_local, &log->server_by_id};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) free(tables[i]->item);
    for (size_t i = 0; i < sizeof lookups / sizeof *lookups; i++) lookup_free(lookups[i]);
    datatype_free(&log->scratch);
    free(log->event_places);
    free(log->process_places);
    free(log->call_by_id);
    free(log->traits);
    free(log->call_seen);
    pthread_mutex_destroy(&log->damage);
    arena_free(&log->arena);
    if (log->fd >= 0) close(log->fd);
    free(log);
}

const struct log_header *log_header(const struct log *log) { return &log->header; }

const struct log_job *log_job(const struct log *log) { return &log->job; }

int64_t log_run_ns(const struct log *log) {
    const struct log_job *job = log_job(log);
    int64_t run_ns = job->end_ns > job->start_ns ? (int64_t)(job->end_ns - job->start_ns) : 0;
    if (job->complete && run_ns) return run_ns;
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        if (process->has_end && process->end_ns > run_ns) run_ns = process->end_ns;
    }
    for (size_t i = 0; i < log_place_count(log); i++) {
        const struct log_place *place = log_place_at(log, i);
        bool counts = place->type == BLOCK_EVENTS && !place->damaged && place->end_ns < INT64_MAX;
        if (counts && (int64_t)place->end_ns > run_ns) run_ns = (int64_t)place->end_ns;
    }
    return run_ns;
}

const struct log_health *log_health(const struct log *log) { return &log->health; }

uint64_t log_blocks_read(const struct log *log) { return __atomic_load_n(&log->blocks_read, __ATOMIC_RELAXED); }

uint64_t log_size_bytes(const struct log *log) { return log->size; }

uint64_t log_events(const struct log *log) {
    const struct log_place *places = log->places.item;
    uint64_t sum = 0;
    for (size_t i = 0; i < log->places.count; i++) {
        if (places[i].type == BLOCK_EVENTS && !places[i].below) sum += places[i].events;
    }
    return sum - (log->events_unread < sum ? log->events_unread : sum);
}

// A program without I/O has no events either.
bool log_has_trace(const struct log *log) {
    if (log_events(log)) return true;
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        if (process->trace_ended || process->counts_all) return false;
    }
    return !log_import(log);
}

uint64_t log_events_below(const struct log *log) {
    const struct log_place *places = log->places.item;
    uint64_t sum = 0;
    for (size_t i = 0; i < log->places.count; i++) {
        if (places[i].below && !places[i].damaged) sum += places[i].events;
    }
    return sum;
}

size_t log_process_count(const struct log *log) { return log->processes.count; }

const struct log_process *log_process_at(const struct log *log, size_t i) {
    return (const struct log_process *)log->processes.item + i;
}

size_t log_world_count(const struct log *log) { return log->worlds.count; }

const struct log_world *log_world_at(const struct log *log, size_t i) {
    return (const struct log_world *)log->worlds.item + i;
}

const struct log_world *log_largest_world(const struct log *log) {
    const struct log_world *largest = NULL;
    for (size_t i = 0; i < log->worlds.count; i++) {
        const struct log_world *world = log_world_at(log, i);
        if (!largest || world->size > largest->size) largest = world;
    }
    return largest;
}

size_t log_file_count(const struct log *log) { return log->files.count; }

const struct log_file *log_file_at(const struct log *log, size_t i) {
    return (const struct log_file *)log->files.item + i;
}

size_t log_mapped_count(const struct log *log) { return log->mapped.count; }

const struct log_mapped *log_mapped_at(const struct log *log, size_t i) {
    return &((const struct mapped_row *)log->mapped.item)[i].mapped;
}

size_t log_communicator_count(const struct log *log) { return log->communicators.count; }

const struct communicator *log_communicator_at(const struct log *log, size_t i) {
    return (const struct communicator *)log->communicators.item + i;
}

const struct communicator *log_process_communicator(const struct log *log, const struct log_process *process,
                                                    uint64_t number) {
    uint64_t key = lookup_pair(process->id, (uint32_t)number);
    uint32_t at = number > UINT32_MAX ? LOOKUP_NONE : lookup_find(&log->communicator_by_number, key);
    return at == LOOKUP_NONE ? NULL : log_communicator_at(log, at);
}

size_t log_datatype_count(const struct log *log) { return log->datatypes.count; }

const struct log_datatype *log_datatype_at(const struct log *log, size_t i) {
    return (const struct log_datatype *)log->datatypes.item + i;
}

size_t log_hints_count(const struct log *log) { return log->hints.count; }

const struct log_hints *log_hints_at(const struct log *log, size_t i) {
    return (const struct log_hints *)log->hints.item + i;
}

size_t log_device_count(const struct log *log) { return log->devices.count; }

const struct log_device *log_device_at(const struct log *log, size_t i) {
    return (const struct log_device *)log->devices.item + i;
}

size_t log_mount_count(const struct log *log) { return log->mounts.count; }

const struct log_mount *log_mount_at(const struct log *log, size_t i) {
    return (const struct log_mount *)log->mounts.item + i;
}

const struct stripe *log_file_stripe(const struct log_file *file) {
    size_t last = file->stripe_count;
    while (last > 1 && !file->stripes[last - 1].count) last--;
    return last ? &file->stripes[last - 1] : NULL;
}

size_t log_host_count(const struct log *log) { return log->hosts.count; }

const struct log_host *log_host_at(const struct log *log, size_t i) {
    return (const struct log_host *)log->hosts.item + i;
}

size_t log_loss_count(const struct log *log) { return log->losses.count; }

const struct log_loss *log_loss_at(const struct log *log, size_t i) {
    return (const struct log_loss *)log->losses.item + i;
}

const struct log_stack *log_stack(const struct log *log) { return log->has_stack ? &log->stack : NULL; }

size_t log_server_count(const struct log *log) { return log->servers.count; }

const struct log_server *log_server_at(const struct log *log, size_t i) {
    return (const struct log_server *)log->servers.item + i;
}

size_t log_below_count(const struct log *log) { return log->below.count; }

const struct log_below *log_below_at(const struct log *log, size_t i) {
    return (const struct log_below *)log->below.item + i;
}

size_t log_setting_count(const struct log *log) { return log->settings.count; }

const struct log_setting *log_setting_at(const struct log *log, size_t i) {
    return (const struct log_setting *)log->settings.item + i;
}

size_t log_place_count(const struct log *log) { return log->places.count; }

const struct log_place *log_place_at(const struct log *log, size_t i) {
    return (const struct log_place *)log->places.item + i;
}

const struct log_process *log_process_find(const struct log *log, uint32_t id) {
    uint32_t at = lookup_find(&log->process_by_id, id);
    return at == LOOKUP_NONE ? NULL : log_process_at(log, at);
}

const struct log_process *log_event_process(const struct log *log, uint64_t id) {
    uint32_t at = lookup_find(&log->stream_by_id, id >> 32);
    return at == LOOKUP_NONE ? NULL : log_process_find(log, ((const struct stream_row *)log->streams.item)[at].process);
}

const struct log_file *log_file_find(const struct log *log, uint32_t id) {
    uint32_t at = lookup_find(&log->file_by_id, id);
    return at == LOOKUP_NONE ? NULL : log_file_at(log, at);
}

const struct log_file *log_process_file(const struct log *log, const struct log_process *process, uint32_t local) {
    if (local == 0) return NULL;
    uint32_t at = lookup_find(&log->file_by_local, lookup_pair(process->id, local));
    return at == LOOKUP_NONE ? NULL : log_file_at(log, at);
}

size_t log_event_places(const struct log *log, const struct log_process *process,
                        const struct log_place *const **places) {
    size_t first = process ? log_process_index(log, process) : 0;
    size_t after = process ? first + 1 : log->processes.count;
    *places = log->event_places + log->process_places[first];
    return log->process_places[after] - log->process_places[first];
}

const struct log_call *log_call_of(const struct log *log, uint32_t id) {
    return id < log->call_ids ? log->call_by_id[id] : &log->unknown_call;
}

const struct log_call *log_call_find(const struct log *log, uint32_t id) {
    const struct log_call *call = log_call_of(log, id);
    return call == &log->unknown_call ? NULL : call;
}

const struct log_call *log_call_seen(const struct log *log, uint32_t id) {
    return id < log->call_ids && log->call_seen[id] ? log_call_of(log, id) : NULL;
}

uint32_t log_call_ids(const struct log *log) { return log->call_ids; }

const char *log_callsite(const struct log *log, const struct log_process *process, uint32_t id) {
    if (id == 0) return NULL;
    uint32_t at = lookup_find(&log->callsite_by_id, lookup_pair(process->id, id));
    return at == LOOKUP_NONE ? NULL : ((const struct callsite_row *)log->callsites.item)[at].line;
}

int log_process_compare(const struct log_process *left, const struct log_process *right) {
    if (left->world != right->world) return left->world < right->world ? -1 : 1;
    return left->has_rank ? (left->rank > right->rank) - (left->rank < right->rank) : 0;
}

bool log_is_joined(const struct log *log) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        if (log_process_at(log, i)->is_joined) return true;
    }
    return false;
}
