// The records of a log: calls, processes and what belongs to each process.
#include <errno.h>

#include "base/err.h"
#include "pack/private.h"

enum { CALL_ROOM = 128, PROCESS_ROOM = 1024, SMALL_ROOM = 64, SITE_ROOM = 1024 };

void pack_write_call(struct pack *pack, uint32_t id) {
    const struct call_info *call = &call_table[id];
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_CALL, CALL_ROOM);
    fields_number(out, CALL_ID, id);
    fields_string(out, CALL_NAME, call_names[id]);
    fields_number(out, CALL_LAYER, call->layer);
    fields_number(out, CALL_CLASS, call->class);
    fields_number(out, CALL_TRAITS, call->traits);
    pack->call_written[id] = true;
    log_writer_end(&pack->writer);
}

void pack_write_loss(struct pack *pack, const struct pack_process *process, enum loss_reason reason, uint64_t count,
                     uint64_t bytes) {
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_LOSS, SMALL_ROOM);
    if (process) fields_number(out, LOSS_PROCESS, process->id);
    fields_number(out, LOSS_REASON, reason);
    if (count) fields_number(out, LOSS_COUNT, count);
    if (bytes) fields_number(out, LOSS_BYTES, bytes);
    log_writer_end(&pack->writer);
}

void pack_write_loss_of(struct pack *pack, enum loss_reason reason, uint64_t count, const char *what) {
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_LOSS, SMALL_ROOM + strlen(what));
    fields_number(out, LOSS_REASON, reason);
    fields_number(out, LOSS_COUNT, count);
    fields_string(out, LOSS_TEXT, what);
    log_writer_end(&pack->writer);
}

void pack_write_unique(struct pack *pack, const struct intern *records, unsigned kind) {
    for (uint32_t number = 1; number <= records->count; number++) {
        const uint8_t *body = intern_data(records, number);
        size_t len = intern_len(records, number);
        struct fields_out *out = log_writer_begin(&pack->writer, kind, SMALL_ROOM + len);
        fields_number(out, 1, number);
        fields_copy(out, (struct fields_in){.at = body, .end = body + len});
        log_writer_end(&pack->writer);
    }
}

uint64_t pack_start_ns(const struct pack *pack, const struct pack_process *process) {
    return pack_since_start(pack, process->is_local, process->moved_ns, &process->spill.header.start);
}

// If the end was seen from outside, only its monotonic time is known.
uint64_t pack_end_ns(const struct pack *pack, const struct pack_process *process) {
    const struct spill_moment *start = &process->spill.header.start;
    const struct spill_moment end = {.mono_ns = process->end_mono_ns,
                                     .epoch_ns = start->epoch_ns + (process->end_mono_ns - start->mono_ns)};
    return pack_since_start(pack, process->is_local, process->moved_ns, &end);
}

static void put_times(struct fields_out *out, const struct pack *pack, const struct pack_process *process) {
    fields_number(out, PROCESS_START_NS, pack_start_ns(pack, process));
    if (process->end_known) fields_number(out, PROCESS_END_NS, pack_end_ns(pack, process));
    fields_number(out, PROCESS_CLOCK_UNITS, process->clock.origin_units);
    fields_signed(out, PROCESS_CLOCK_NS, process->clock.origin_ns);
    fields_number(out, PROCESS_CLOCK_SPAN_UNITS, process->clock.span_units);
    fields_number(out, PROCESS_CLOCK_SPAN_NS, process->clock.span_ns);
}

static void put_chars(struct fields_out *out, const struct pack_process *process) {
    const struct spill_tally *tally = &process->spill.tally;
    if (process->chars_known) {
        fields_number(out, PROCESS_READ_CHARS, process->chars[0]);
        fields_number(out, PROCESS_WRITE_CHARS, process->chars[1]);
    }
    if (process->spill.header.chars_known & 1) {
        fields_number(out, PROCESS_LOAD_READ_CHARS, process->load_chars[0]);
        fields_number(out, PROCESS_LOAD_WRITE_CHARS, process->load_chars[1]);
    }
    fields_indexed(out, PROCESS_LEFT_OUT_READ, tally->left_out[0], LEFT_OUT_COUNT);
    fields_indexed(out, PROCESS_LEFT_OUT_WRITE, tally->left_out[1], LEFT_OUT_COUNT);
    fields_number(out, PROCESS_LEFT_OUT_CALLS, tally->left_out_calls);
    if (process->spill.header.raw_rings) fields_number(out, PROCESS_RAW_RINGS, process->spill.header.raw_rings);
    fields_number(out, PROCESS_STDIO_KERNEL_READ, tally->stdio_kernel[0]);
    fields_number(out, PROCESS_STDIO_KERNEL_WRITE, tally->stdio_kernel[1] + process->spill.header.exit_stdio_bytes);
}

uint64_t pack_span_ns(const struct pack_process *process, uint64_t units) {
    int64_t ns = clock_map_scale(&process->clock, (int64_t)units);
    return ns > 0 ? (uint64_t)ns : 0;
}

// Communication and times that no event covers.
static void put_untraced(struct fields_out *out, const struct pack_process *process) {
    const struct spill_tally *tally = &process->spill.tally;
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        const struct stream_comm *comm = &tally->comm[kind];
        if (!comm->count) continue;
        fields_number(out, PROCESS_COMM_CALLS, comm->count << 4 | kind);
        fields_number(out, PROCESS_COMM_NS, pack_span_ns(process, comm->units) << 4 | kind);
        if (comm->bytes) fields_number(out, PROCESS_COMM_BYTES, comm->bytes << 4 | kind);
    }
    uint32_t trace_ended = process->spill.header.trace_ended;
    if (process->spill.header.counts_all) fields_number(out, PROCESS_COUNTS_ALL, 1);
    if (!trace_ended && !process->spill.header.counts_all) return;
    if (trace_ended) fields_number(out, PROCESS_TRACE_ENDED, trace_ended);
    fields_number(out, PROCESS_IO_NS, pack_span_ns(process, tally->io_units));
}

// How it ended, and what it did.
static void put_sums(struct fields_out *out, const struct pack *pack, const struct pack_process *process) {
    const struct spill_header *header = &process->spill.header;
    fields_number(out, PROCESS_EXIT, process->exit);
    fields_number(out, PROCESS_EXIT_VALUE, process->exit_value);
    put_chars(out, process);
    put_untraced(out, process);
    if (pack_has_handed(pack, process)) {
        fields_indexed(out, PROCESS_REDUCED_READ, header->handed_bytes[0], LAYER_COUNT);
        fields_indexed(out, PROCESS_REDUCED_WRITTEN, header->handed_bytes[1], LAYER_COUNT);
    }
    if (header->cpu_wait_known) fields_number(out, PROCESS_CPU_WAIT_NS, header->cpu_wait_ns);
}

void pack_write_shared(struct pack *pack, const struct pack_process *sum, const struct pack_shared *shared) {
    uint32_t with = pack_group_with(pack, &pack->process[sum->id - 1]);
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_PROCESS, PROCESS_ROOM + sum->about.len * 2);
    fields_number(out, PROCESS_ID, sum->id);
    fields_number(out, PROCESS_UID, sum->spill.header.uid);
    fields_copy(out, fields_of(&sum->about));
    fields_number(out, PROCESS_START_NS, shared->start_ns);
    if (sum->end_known) fields_number(out, PROCESS_END_NS, shared->end_ns);
    put_sums(out, pack, sum);
    fields_number(out, PROCESS_MEMBERS, shared->members);
    if (shared->is_reaped) fields_number(out, PROCESS_REAPED, 1);
    if (with) fields_number(out, PROCESS_WITH, with);
    log_writer_end(&pack->writer);
}

static void write_process_record(struct pack *pack, const struct pack_process *process) {
    const struct spill_header *header = &process->spill.header;
    uint32_t with = pack_group_with(pack, process);
    // Copied fields do not grow: twice their length is more than enough.
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_PROCESS, PROCESS_ROOM + process->about.len * 2);
    fields_number(out, PROCESS_ID, process->id);
    fields_number(out, PROCESS_PID, header->pid);
    fields_number(out, PROCESS_PPID, header->ppid);
    fields_number(out, PROCESS_UID, header->uid);
    const struct bytes *about = &process->about;
    if (about->len) fields_copy(out, fields_of(about));
    put_times(out, pack, process);
    put_sums(out, pack, process);
    if (with) fields_number(out, PROCESS_WITH, with);
    log_writer_end(&pack->writer);
}

static void write_links(struct pack *pack, const struct pack_process *process, unsigned kind,
                        const struct bytes *links) {
    const struct pack_link *link = (const void *)links->data;
    size_t count = links->len / sizeof *link;
    for (size_t i = 0; i < count; i++) {
        struct fields_out *out = log_writer_begin(&pack->writer, kind, SMALL_ROOM);
        fields_number(out, LINK_PROCESS, process->id);
        fields_number(out, LINK_LOCAL, link[i].local);
        bool is_file = kind == RECORD_PROCESS_FILE;
        fields_number(out, LINK_GLOBAL, is_file ? file_table_id(&pack->files, link[i].global) : link[i].global);
        log_writer_end(&pack->writer);
    }
}

static void write_communicators(struct pack *pack, const struct pack_process *process) {
    struct fields_in in = fields_of(&process->communicators), body;
    unsigned kind;
    while (fields_next_record(&in, &kind, &body) > 0) {
        size_t len = (size_t)(body.end - body.at);
        struct fields_out *out = log_writer_begin(&pack->writer, kind, SMALL_ROOM + len * 2);
        fields_copy(out, body);
        fields_number(out, COMMUNICATOR_PROCESS, process->id);
        log_writer_end(&pack->writer);
    }
}

static void write_mapped(struct pack *pack, const struct pack_process *process) {
    const struct pack_mapped *mapped = (const void *)process->mapped.data;
    for (size_t i = 0; i < process->mapped.len / sizeof *mapped; i++) {
        struct fields_out *out = log_writer_begin(&pack->writer, RECORD_MAPPED, SMALL_ROOM);
        fields_number(out, MAPPED_PROCESS, process->id);
        fields_number(out, MAPPED_FILE, mapped[i].file);
        fields_indexed(out, MAPPED_BYTES, mapped[i].bytes, MAPPED_KINDS);
        log_writer_end(&pack->writer);
    }
}

static void write_aggregates(struct pack *pack, const struct pack_process *process) {
    const struct pack_aggregate *aggregate = (const void *)process->aggregates.data;
    for (size_t i = 0; i < process->aggregates.len / sizeof *aggregate; i++) {
        struct fields_out *out = log_writer_begin(&pack->writer, RECORD_AGGREGATE, SMALL_ROOM);
        fields_number(out, AGGREGATE_PROCESS, process->id);
        fields_number(out, AGGREGATE_FILE, aggregate[i].file);
        fields_number(out, AGGREGATE_FILES, aggregate[i].files);
        log_writer_end(&pack->writer);
    }
}

static int write_sites(struct pack *pack, const struct pack_process *process) {
    const struct pack_site *site = (const void *)process->sites.data;
    size_t count = process->sites.len / sizeof *site;
    for (size_t i = 0; i < count; i++) {
        const char *line = callsites_line(&pack->callsites, site[i].module, site[i].address);
        RETURN_IF(!line, -ENOMEM);
        struct fields_out *out = log_writer_begin(&pack->writer, RECORD_CALLSITE, SITE_ROOM);
        fields_number(out, CALLSITE_ID, site[i].id);
        fields_number(out, CALLSITE_PROCESS, process->id);
        fields_string(out, CALLSITE_LINE, line);
        log_writer_end(&pack->writer);
    }
    return 0;
}

int pack_add_stream(struct pack *pack, struct pack_process *process, uint32_t local) {
    if (lookup_find(&process->streams, local) != LOOKUP_NONE) return 0;
    FORWARD(lookup_set(&process->streams, local, ++pack->streams));
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_STREAM, SMALL_ROOM);
    fields_number(out, STREAM_ID, pack->streams);
    fields_number(out, STREAM_PROCESS, process->id);
    fields_number(out, STREAM_LOCAL, local);
    log_writer_end(&pack->writer);
    return 0;
}

static int write_streams(struct pack *pack, struct pack_process *process) {
    for (size_t i = 0; i < process->spill.count; i++) {
        const struct spill_chunk *chunk = &process->spill.piece[i].chunk;
        if (chunk->kind == CHUNK_EVENTS && chunk->used) FORWARD(pack_add_stream(pack, process, chunk->stream));
    }
    return 0;
}

static void write_losses(struct pack *pack, const struct pack_process *process) {
    for (unsigned reason = 1; reason < SPILL_LOSSES; reason++) {
        uint64_t count = process->spill.header.lost[reason];
        if (!count) continue;
        if (loss_is_of_events(reason)) pack->result.lost_events += count;
        pack_write_loss(pack, process, (enum loss_reason)reason, count, 0);
    }
}

int pack_write_process(struct pack *pack, struct pack_process *process) {
    if (pack_group_of(pack, process))
        return pack_record_id(pack, process) == process->id ? pack_write_group(pack, process) : 0;
    write_process_record(pack, process);
    write_links(pack, process, RECORD_PROCESS_FILE, &process->files);
    for (unsigned i = 0; i < PACK_UNIQUE; i++) write_links(pack, process, pack_unique[i].link, &process->unique[i]);
    write_communicators(pack, process);
    write_mapped(pack, process);
    write_aggregates(pack, process);
    FORWARD(write_streams(pack, process));
    FORWARD(write_sites(pack, process));
    write_losses(pack, process);
    return 0;
}
