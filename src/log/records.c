// Tagged records into the log's tables.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/err.h"
#include "base/varint.h"
#include "fmt/counters.h"
#include "log/private.h"

// A text of its own, ended by a 0 byte.
int log_take_text(struct log *log, const struct field *field, const char **text)
{
    RETURN_IF(!field->is_bytes, ERR_FORMAT);
    char *copy = arena_alloc(&log->arena, field->len + 1);
    RETURN_IF(!copy, -ENOMEM);
    if (field->len) memcpy(copy, field->data, field->len);
    copy[field->len] = 0;
    *text = copy;
    return 0;
}

// The array grows by doubling: it is full when its length is a power of two.
static int take_word(struct log *log, const struct field *field, struct log_strings *words)
{
    if ((words->count & (words->count - 1)) == 0) {
        size_t room = words->count ? words->count * 2 : 1;
        const char **bigger = arena_alloc(&log->arena, room * sizeof *bigger);
        RETURN_IF(!bigger, -ENOMEM);
        if (words->count) memcpy(bigger, words->word, words->count * sizeof *bigger);
        words->word = bigger;
    }
    FORWARD(log_take_text(log, field, &words->word[words->count]));
    words->count++;
    return 0;
}

// Times far out of reach are damage; kept small so that sums of them stay in range.
int64_t log_take_ns(int64_t ns)
{
    const int64_t limit = INT64_MAX / 4;
    if (ns > limit) return limit;
    return ns < -limit ? -limit : ns;
}

static int take_job_field(struct log *log, struct log_job *job, const struct field *field)
{
    switch (field->key) {
    case JOB_COMMAND: return take_word(log, field, &job->command);
    case JOB_START_NS: job->start_ns = field->number; return 0;
    case JOB_END_NS: job->end_ns = field->number; return 0;
    case JOB_HOST: return log_take_text(log, field, &job->host);
    case JOB_CWD: return log_take_text(log, field, &job->cwd);
    case JOB_EXIT_STATUS:
        job->has_exit_status = true;
        job->exit_status = (int)field->number;
        return 0;
    case JOB_VERSION: return log_take_text(log, field, &job->version);
    case JOB_READ_CHARS: job->read_chars = field->number; return 0;
    case JOB_WRITE_CHARS: job->write_chars = field->number; return 0;
    case JOB_CHARS_KNOWN: job->chars_known = field->number == 1; return 0;
    case JOB_UID: job->uid = field->number; return 0;
    case JOB_ID: return log_take_text(log, field, &job->id);
    case JOB_NPROCS: job->nprocs = field->number; return 0;
    case JOB_COMPLETE: job->complete = field->number == 1; return 0;
    default: return 0;
    }
}

static int take_job(struct log *log, struct fields_in body)
{
    struct field field;
    int more;
    log->job.command.count = 0;
    while ((more = fields_next(&body, &field)) > 0) FORWARD(take_job_field(log, &log->job, &field));
    return more;
}

static int take_left_out(uint64_t bytes[LEFT_OUT_COUNT], uint64_t packed)
{
    unsigned reason = packed & 15;
    if (reason < LEFT_OUT_COUNT) bytes[reason] += packed >> 4;
    return 0;
}

// What the coverage of a process is made of.
static int take_bytes_field(struct log_process *process, const struct field *field)
{
    switch (field->key) {
    case PROCESS_READ_CHARS:
        process->chars_known = true;
        process->read_chars = field->number;
        return 0;
    case PROCESS_WRITE_CHARS: process->write_chars = field->number; return 0;
    case PROCESS_LOAD_READ_CHARS: process->load_read_chars = field->number; return 0;
    case PROCESS_LOAD_WRITE_CHARS: process->load_write_chars = field->number; return 0;
    case PROCESS_LEFT_OUT_READ: return take_left_out(process->left_out_read, field->number);
    case PROCESS_LEFT_OUT_WRITE: return take_left_out(process->left_out_write, field->number);
    case PROCESS_LEFT_OUT_CALLS: process->left_out_calls = field->number; return 0;
    case PROCESS_RAW_RINGS: process->raw_rings = field->number; return 0;
    case PROCESS_STDIO_KERNEL_READ: process->stdio_kernel_read = field->number; return 0;
    case PROCESS_STDIO_KERNEL_WRITE: process->stdio_kernel_write = field->number; return 0;
    default: return 0;
    }
}

static int take_comm_field(struct log_process *process, const struct field *field)
{
    unsigned kind = field->number & 15;
    uint64_t value = field->number >> 4;
    if (kind >= STREAM_COMM_KINDS) return 0;
    struct log_comm_sum *comm = &process->comm[kind];
    if (field->key == PROCESS_COMM_CALLS) comm->count = value;
    if (field->key == PROCESS_COMM_BYTES) comm->bytes = value;
    if (field->key == PROCESS_COMM_NS) comm->time_ns = (int64_t)value;
    return 0;
}

static int take_rank_and_time_field(struct log *log, struct log_process *process, const struct field *field)
{
    switch (field->key) {
    case PROCESS_RANK:
        process->has_rank = field->number != 0;
        process->rank = (int64_t)(uint32_t)field->number - 1;
        return 0;
    case PROCESS_LOCAL_RANK: process->local_rank = (int64_t)(uint32_t)field->number - 1; return 0;
    case PROCESS_MPI: return log_take_text(log, field, &process->mpi);
    case PROCESS_MPI_SIZE: process->mpi_size = field->number; return 0;
    case PROCESS_CLOCK_UNITS: process->clock.origin_units = field->number; return 0;
    case PROCESS_CLOCK_NS: process->clock.origin_ns = log_take_ns(varint_unfold(field->number)); return 0;
    case PROCESS_CLOCK_SPAN_UNITS: process->clock.span_units = field->number; return 0;
    case PROCESS_CLOCK_SPAN_NS: process->clock.span_ns = field->number; return 0;
    case PROCESS_COMM_CALLS:
    case PROCESS_COMM_BYTES:
    case PROCESS_COMM_NS: return take_comm_field(process, field);
    case PROCESS_IO_NS:
        process->io_known = true;
        process->io_ns = log_take_ns((int64_t)field->number);
        return 0;
    default: return take_bytes_field(process, field);
    }
}

static int take_process_field(struct log *log, struct log_process *process, const struct field *field)
{
    switch (field->key) {
    case PROCESS_ID: process->id = (uint32_t)field->number; return 0;
    case PROCESS_PID: process->pid = (uint32_t)field->number; return 0;
    case PROCESS_PPID: process->ppid = (uint32_t)field->number; return 0;
    case PROCESS_UID: process->uid = (uint32_t)field->number; return 0;
    case PROCESS_HOST: return log_take_text(log, field, &process->host);
    case PROCESS_EXE: return log_take_text(log, field, &process->exe);
    case PROCESS_ARG: return take_word(log, field, &process->args);
    case PROCESS_CWD: return log_take_text(log, field, &process->cwd);
    case PROCESS_START_NS: process->start_ns = log_take_ns((int64_t)field->number); return 0;
    case PROCESS_END_NS:
        process->has_end = true;
        process->end_ns = log_take_ns((int64_t)field->number);
        return 0;
    case PROCESS_EXIT: process->exit = (unsigned)field->number; return 0;
    case PROCESS_EXIT_VALUE: process->exit_value = (uint32_t)field->number; return 0;
    case PROCESS_TRACE_ENDED: process->trace_ended = (unsigned)field->number; return 0;
    default: return take_rank_and_time_field(log, process, field);
    }
}

int log_put_row(struct table *table, struct lookup *lookup, uint64_t key, const void *row, size_t bytes)
{
    uint32_t at = lookup ? lookup_find(lookup, key) : LOOKUP_NONE;
    if (lookup && at == LOOKUP_NONE) FORWARD(lookup_set(lookup, key, (uint32_t)table->count));
    void *own = at == LOOKUP_NONE ? table_add(table, bytes) : (uint8_t *)table->item + at * bytes;
    RETURN_IF(!own, -ENOMEM);
    memcpy(own, row, bytes);
    return 0;
}

static int take_process(struct log *log, struct fields_in body)
{
    struct log_process process = {.local_rank = -1, .clock = {.span_units = 1, .span_ns = 1}};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) FORWARD(take_process_field(log, &process, &field));
    FORWARD(more);
    if (process.clock.span_units == 0) process.clock.span_units = process.clock.span_ns = 1;
    return log_put_row(&log->processes, &log->process_by_id, process.id, &process, sizeof process);
}

static int take_file_field(struct log *log, struct log_file *file, const struct field *field)
{
    switch (field->key) {
    case FILE_ID: file->id = (uint32_t)field->number; return 0;
    case FILE_NAME: file->record_id = XXH64(field->data, field->len, 0); return log_take_text(log, field, &file->name);
    case FILE_DEVICE: file->device = field->number; return 0;
    case FILE_INODE: file->inode = field->number; return 0;
    case FILE_BLOCK_SIZE: file->block_size = (uint32_t)field->number; return 0;
    case FILE_FS_TYPE: file->fs_type = field->number; return 0;
    case FILE_MOUNT: return log_take_text(log, field, &file->mount);
    case FILE_FS_NAME: return log_take_text(log, field, &file->fs_name);
    case FILE_TYPE: file->type = (uint32_t)field->number; return 0;
    default: return 0;
    }
}

static int take_file(struct log *log, struct fields_in body)
{
    struct log_file file = {.name = ""};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) FORWARD(take_file_field(log, &file, &field));
    FORWARD(more);
    return log_put_row(&log->files, &log->file_by_id, file.id, &file, sizeof file);
}

static int take_call(struct log *log, struct fields_in body)
{
    struct log_call call = {.name = ""};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        switch (field.key) {
        case CALL_ID: call.id = field.number < LOG_MAX_CALL_ID ? (uint32_t)field.number : LOG_MAX_CALL_ID; break;
        case CALL_NAME: FORWARD(log_take_text(log, &field, &call.name)); break;
        // Layers and classes of a later version keep their calls' names, without a layer or class.
        case CALL_LAYER: call.layer = field.number < LAYER_COUNT ? (uint8_t)field.number : LAYER_NONE; break;
        case CALL_CLASS: call.class = field.number < CLASS_COUNT ? (uint8_t)field.number : CLASS_NONE; break;
        case CALL_TRAITS: call.traits = (uint8_t)field.number; break;
        default: break;
        }
    }
    FORWARD(more);
    RETURN_IF(call.id >= LOG_MAX_CALL_ID, ERR_FORMAT);
    call.build_id = call_find(call.name, call.id);
    return log_put_row(&log->calls, NULL, 0, &call, sizeof call);
}

static int take_loss(struct log *log, struct fields_in body)
{
    struct log_loss loss = {0};
    uint32_t process = 0;
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        switch (field.key) {
        case LOSS_PROCESS: process = (uint32_t)field.number + 1; break;
        case LOSS_REASON: loss.reason = (unsigned)field.number; break;
        case LOSS_COUNT: loss.count = field.number; break;
        case LOSS_BYTES: loss.bytes = field.number; break;
        case LOSS_TEXT: FORWARD(log_take_text(log, &field, &loss.text)); break;
        default: break;
        }
    }
    FORWARD(more);
    FORWARD(log_put_row(&log->losses, NULL, 0, &loss, sizeof loss));
    return log_put_row(&log->loss_processes, NULL, 0, &process, sizeof process);
}

static int take_setting(struct log *log, struct fields_in body)
{
    struct log_setting setting = {0};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key == SETTING_NAME) FORWARD(log_take_text(log, &field, &setting.name));
        if (field.key == SETTING_VALUE) FORWARD(log_take_text(log, &field, &setting.value));
    }
    FORWARD(more);
    RETURN_IF(!setting.name, ERR_FORMAT);
    return log_put_row(&log->settings, NULL, 0, &setting, sizeof setting);
}

// Records that are a few small numbers: values[key] for keys up to `last`.
static int take_numbers(struct fields_in body, uint32_t *values, unsigned last)
{
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key <= last && !field.is_bytes) values[field.key] = (uint32_t)field.number;
    }
    return more;
}

static int take_stream(struct log *log, struct fields_in body)
{
    uint32_t values[STREAM_LOCAL + 1] = {0};
    FORWARD(take_numbers(body, values, STREAM_LOCAL));
    struct stream_row row = {values[STREAM_ID], values[STREAM_PROCESS], values[STREAM_LOCAL]};
    return log_put_row(&log->streams, &log->stream_by_id, row.id, &row, sizeof row);
}

static int take_link(struct table *links, struct fields_in body)
{
    uint32_t values[LINK_GLOBAL + 1] = {0};
    FORWARD(take_numbers(body, values, LINK_GLOBAL));
    struct link_row row = {values[LINK_PROCESS], values[LINK_LOCAL], values[LINK_GLOBAL]};
    return log_put_row(links, NULL, 0, &row, sizeof row);
}

static int take_callsite(struct log *log, struct fields_in body)
{
    struct callsite_row callsite = {0};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key == CALLSITE_ID) callsite.id = (uint32_t)field.number;
        if (field.key == CALLSITE_PROCESS) callsite.process = (uint32_t)field.number;
        if (field.key == CALLSITE_LINE) FORWARD(log_take_text(log, &field, &callsite.line));
    }
    FORWARD(more);
    uint64_t key = lookup_pair(callsite.process, callsite.id);
    return log_put_row(&log->callsites, &log->callsite_by_id, key, &callsite, sizeof callsite);
}

static int take_counters(struct log *log, struct fields_in body)
{
    uint32_t values[COUNTERS_PROCESS + 1] = {0};
    size_t len = (size_t)(body.end - body.at);
    FORWARD(take_numbers(body, values, COUNTERS_PROCESS));
    struct counters_row row = {
        .process = values[COUNTERS_PROCESS],
        .number = (uint32_t)log->counters.count,
        .body = arena_copy(&log->arena, body.at, len),
        .len = len,
    };
    RETURN_IF(!row.body, -ENOMEM);
    return log_put_row(&log->counters, NULL, 0, &row, sizeof row);
}

static int take_samples(struct log *log, struct log_device *device, const struct field *field)
{
    const char *copy;
    FORWARD(log_take_text(log, field, &copy));
    device->samples.at = (const uint8_t *)copy;
    device->samples.end = device->samples.at + field->len;
    return device_samples_sum(device->samples, &device->sample_count, &device->sum);
}

static int take_device_field(struct log *log, struct log_device *device, const struct field *field)
{
    switch (field->key) {
    case DEVICE_ID: device->id = (uint32_t)field->number; return 0;
    case DEVICE_NAME: return log_take_text(log, field, &device->name);
    case DEVICE_NUMBER: device->number = field->number; return 0;
    case DEVICE_HOST: return log_take_text(log, field, &device->host);
    case DEVICE_START_NS: device->start_ns = log_take_ns((int64_t)field->number); return 0;
    case DEVICE_SAMPLES: return take_samples(log, device, field);
    default: return 0;
    }
}

static int take_device(struct log *log, struct fields_in body)
{
    struct log_device device = {.name = ""};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) FORWARD(take_device_field(log, &device, &field));
    FORWARD(more);
    return log_put_row(&log->devices, &log->device_by_id, device.id, &device, sizeof device);
}

static int take_record(struct log *log, unsigned kind, struct fields_in body)
{
    switch (kind) {
    case RECORD_JOB: return take_job(log, body);
    case RECORD_PROCESS: return take_process(log, body);
    case RECORD_FILE: return take_file(log, body);
    case RECORD_CALL: return take_call(log, body);
    case RECORD_PROCESS_FILE: return take_link(&log->process_files, body);
    case RECORD_DATATYPE: return log_take_datatype(log, body);
    case RECORD_PROCESS_DATATYPE: return take_link(&log->process_datatypes, body);
    case RECORD_HINTS: return log_take_hints(log, body);
    case RECORD_PROCESS_HINTS: return take_link(&log->process_hints, body);
    case RECORD_DEVICE: return take_device(log, body);
    case RECORD_CALLSITE: return take_callsite(log, body);
    case RECORD_LOSS: return take_loss(log, body);
    case RECORD_COUNTERS: return take_counters(log, body);
    case RECORD_STREAM: return take_stream(log, body);
    case RECORD_SETTING: return take_setting(log, body);
    default: return 0; // of a newer writer
    }
}

int log_take_records(struct log *log, const struct bytes *raw)
{
    struct fields_in in = fields_of(raw);
    struct fields_in body;
    unsigned kind;
    int more;
    log->record_bytes += raw->len;
    RETURN_IF(log->record_bytes > LOG_MAX_RECORD_BYTES, ERR_LIMIT);
    while ((more = fields_next_record(&in, &kind, &body)) > 0) {
        int code = take_record(log, kind, body);
        RETURN_IF(code == -ENOMEM, code);
        log->health.records_damaged += code < 0;
    }
    log->health.records_damaged += more < 0;
    return 0;
}

// By id; what the log does not say is as in this build, because ids never move.
static int link_calls(struct log *log)
{
    struct log_call *calls = log->calls.item;
    log->unknown_call = (struct log_call){.name = "unknown"};
    log->call_ids = call_table_len;
    for (size_t i = 0; i < log->calls.count; i++) {
        if (calls[i].id >= log->call_ids) log->call_ids = calls[i].id + 1;
    }
    log->call_by_id = malloc(log->call_ids * sizeof *log->call_by_id);
    log->traits = calloc(log->call_ids, 1);
    log->call_seen = calloc(log->call_ids, sizeof *log->call_seen);
    struct log_call *own = arena_alloc(&log->arena, call_table_len * sizeof *own);
    RETURN_IF(!log->call_by_id || !log->traits || !log->call_seen || !own, -ENOMEM);
    for (uint32_t id = 0; id < log->call_ids; id++) {
        log->call_by_id[id] = &log->unknown_call;
        if (id >= call_table_len || !call_table[id].name) continue;
        const struct call_info *info = &call_table[id];
        own[id] = (struct log_call){id, id, info->name, info->layer, info->class, info->traits};
        log->call_by_id[id] = &own[id];
        log->traits[id] = info->traits;
    }
    for (size_t i = 0; i < log->calls.count; i++) {
        log->call_by_id[calls[i].id] = &calls[i];
        log->traits[calls[i].id] = calls[i].traits;
    }
    return 0;
}

// From the processes' own numbers of something to its place in the log's table.
static int link_locals(const struct table *links, const struct lookup *by_id, struct lookup *by_local)
{
    const struct link_row *rows = links->item;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t at = lookup_find(by_id, rows[i].global);
        if (at == LOOKUP_NONE) continue;
        FORWARD(lookup_set(by_local, lookup_pair(rows[i].process, rows[i].local), at));
    }
    return 0;
}

static int link_streams(struct log *log)
{
    const struct stream_row *rows = log->streams.item;
    for (size_t i = 0; i < log->streams.count; i++)
        FORWARD(lookup_set(&log->stream_by_local, lookup_pair(rows[i].process, rows[i].local), (uint32_t)i));
    struct log_place *places = log->places.item;
    for (size_t i = 0; i < log->places.count; i++) {
        uint32_t at = places[i].type == BLOCK_EVENTS ? lookup_find(&log->stream_by_id, places[i].stream) : LOOKUP_NONE;
        if (at != LOOKUP_NONE) places[i].process = log_process_find(log, rows[at].process);
        // Without its process nothing is known of an event's time and file.
        if (places[i].type == BLOCK_EVENTS && !places[i].process) log_note_damage(log, &places[i], places[i].events);
    }
    return 0;
}

static bool has_events(const struct log_place *place)
{
    return place->type == BLOCK_EVENTS && place->process;
}

// Who reads process by process should not have to pass over everybody else's blocks each time.
static int sort_places(struct log *log)
{
    const struct log_place *places = log->places.item;
    size_t processes = log->processes.count;
    log->event_places = malloc((log->places.count + 1) * sizeof *log->event_places);
    log->process_places = calloc(processes + 2, sizeof *log->process_places);
    RETURN_IF(!log->event_places || !log->process_places, -ENOMEM);
    // Filling moves the start of each process to its end, which is the next one's start: hence one place further on.
    size_t *start = log->process_places + 1;
    for (size_t i = 0; i < log->places.count; i++) {
        if (has_events(&places[i])) start[log_process_index(log, places[i].process) + 1]++;
    }
    for (size_t i = 1; i <= processes; i++) start[i] += start[i - 1];
    for (size_t i = 0; i < log->places.count; i++) {
        if (!has_events(&places[i])) continue;
        log->event_places[start[log_process_index(log, places[i].process)]++] = &places[i];
    }
    return 0;
}

static int compare_counters(const void *a, const void *b)
{
    const struct counters_row *left = a, *right = b;
    if (left->process != right->process) return left->process < right->process ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

int log_link(struct log *log)
{
    for (size_t i = 0; i < log->processes.count; i++)
        ((struct log_process *)log->processes.item)[i].index = (uint32_t)i;
    for (size_t i = 0; i < log->files.count; i++) ((struct log_file *)log->files.item)[i].index = (uint32_t)i;
    struct log_loss *losses = log->losses.item;
    const uint32_t *loss_processes = log->loss_processes.item;
    for (size_t i = 0; i < log->losses.count; i++)
        losses[i].process = loss_processes[i] ? log_process_find(log, loss_processes[i] - 1) : NULL;
    if (log->counters.count > 1)
        qsort(log->counters.item, log->counters.count, sizeof(struct counters_row), compare_counters);
    FORWARD(link_calls(log));
    FORWARD(link_locals(&log->process_files, &log->file_by_id, &log->file_by_local));
    FORWARD(link_locals(&log->process_datatypes, &log->datatype_by_id, &log->datatype_by_local));
    FORWARD(link_locals(&log->process_hints, &log->hints_by_id, &log->hints_by_local));
    FORWARD(log_find_worlds(log));
    FORWARD(link_streams(log));
    return sort_places(log);
}
