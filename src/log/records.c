// Reads tagged records into the log's tables.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/err.h"
#include "base/varint.h"
#include "fmt/counters.h"
#include "fmt/record_id.h"
#include "log/private.h"

// Makes a copy that ends with a 0 byte. Does not change *text if the record has no such field.
int log_parse_text(struct log *log, const struct field *field, const char **text) {
    if (!field->key) return 0;
    RETURN_IF(!field->is_bytes, ERR_FORMAT);
    char *copy = arena_alloc(&log->arena, field->len + 1);
    RETURN_IF(!copy, -ENOMEM);
    if (field->len) memcpy(copy, field->data, field->len);
    copy[field->len] = 0;
    *text = copy;
    return 0;
}

// The capacity is a power of two: the list is full when its length is one.
static int parse_word(struct log *log, const struct field *field, struct log_strings *words) {
    if ((words->count & (words->count - 1)) == 0) {
        size_t room = words->count ? words->count * 2 : 1;
        const char **bigger = arena_alloc(&log->arena, room * sizeof *bigger);
        RETURN_IF(!bigger, -ENOMEM);
        if (words->count) memcpy(bigger, words->word, words->count * sizeof *bigger);
        words->word = bigger;
    }
    FORWARD(log_parse_text(log, field, &words->word[words->count]));
    words->count++;
    return 0;
}

int log_parse_words(struct log *log, struct fields_in body, unsigned key, struct log_strings *words) {
    struct field field;
    while (fields_next(&body, &field) > 0) {
        if (field.key == key) FORWARD(parse_word(log, &field, words));
    }
    return 0;
}

// Larger times mean damage. The limit keeps sums of times in range.
static int64_t limit_ns(int64_t ns) {
    const int64_t limit = INT64_MAX / 4;
    if (ns > limit) return limit;
    return ns < -limit ? -limit : ns;
}

static int parse_job(struct log *log, struct fields_in body) {
    struct field f[JOB_ONLY + 1];
    FORWARD(fields_by_key(body, f, JOB_ONLY + 1));
    log->job = (struct log_job){
        .start_ns = f[JOB_START_NS].number,
        .end_ns = f[JOB_END_NS].number,
        .has_exit_status = f[JOB_EXIT_STATUS].key,
        .exit_status = (int)f[JOB_EXIT_STATUS].number,
        .chars = {f[JOB_READ_CHARS].number, f[JOB_WRITE_CHARS].number},
        .chars_known = f[JOB_CHARS_KNOWN].number == 1,
        .uid = f[JOB_UID].number,
        .nprocs = f[JOB_NPROCS].number,
        .complete = f[JOB_COMPLETE].number == 1,
    };
    FORWARD(log_parse_text(log, &f[JOB_HOST], &log->job.host));
    FORWARD(log_parse_text(log, &f[JOB_CWD], &log->job.cwd));
    FORWARD(log_parse_text(log, &f[JOB_VERSION], &log->job.version));
    FORWARD(log_parse_text(log, &f[JOB_ID], &log->job.id));
    FORWARD(log_parse_text(log, &f[JOB_ONLY], &log->job.only));
    return log_parse_words(log, body, JOB_COMMAND, &log->job.command);
}

int log_put_row(struct table *table, struct lookup *lookup, uint64_t key, const void *row, size_t bytes) {
    uint32_t at = lookup ? lookup_find(lookup, key) : LOOKUP_NONE;
    if (lookup && at == LOOKUP_NONE) FORWARD(lookup_set(lookup, key, (uint32_t)table->count));
    void *own = at == LOOKUP_NONE ? table_add(table, bytes) : (uint8_t *)table->item + at * bytes;
    RETURN_IF(!own, -ENOMEM);
    memcpy(own, row, bytes);
    return 0;
}

// Numbers whose low four bits say which item of an array they belong to.
static void parse_indexed(struct log_process *process, const struct field *field) {
    unsigned index = field->number & 15;
    uint64_t value = field->number >> 4;
    if (index < LEFT_OUT_COUNT) {
        if (field->key == PROCESS_LEFT_OUT_READ) process->left_out[0][index] += value;
        if (field->key == PROCESS_LEFT_OUT_WRITE) process->left_out[1][index] += value;
    }
    if (index < LAYER_COUNT) {
        if (field->key == PROCESS_REDUCED_READ) process->reduced_bytes[index][0] = value;
        if (field->key == PROCESS_REDUCED_WRITTEN) process->reduced_bytes[index][1] = value;
    }
    if (index < STREAM_COMM_KINDS) {
        if (field->key == PROCESS_COMM_CALLS) process->comm[index].count = value;
        if (field->key == PROCESS_COMM_BYTES) process->comm[index].bytes = value;
        if (field->key == PROCESS_COMM_NS) process->comm[index].time_ns = (int64_t)value;
    }
}

static struct log_process process_of(const struct field f[PROCESS_WITH + 1]) {
    return (struct log_process){
        .id = (uint32_t)f[PROCESS_ID].number,
        .pid = (uint32_t)f[PROCESS_PID].number,
        .ppid = (uint32_t)f[PROCESS_PPID].number,
        .uid = (uint32_t)f[PROCESS_UID].number,
        .start_ns = limit_ns((int64_t)f[PROCESS_START_NS].number),
        .has_end = f[PROCESS_END_NS].key,
        .end_ns = limit_ns((int64_t)f[PROCESS_END_NS].number),
        .exit = (unsigned)f[PROCESS_EXIT].number,
        .exit_value = (uint32_t)f[PROCESS_EXIT_VALUE].number,
        .trace_ended = (unsigned)f[PROCESS_TRACE_ENDED].number,
        .has_rank = f[PROCESS_RANK].number,
        .rank = f[PROCESS_RANK].number ? (int64_t)(uint32_t)f[PROCESS_RANK].number - 1 : 0,
        .local_rank = (int64_t)(uint32_t)f[PROCESS_LOCAL_RANK].number - 1,
        .mpi_size = f[PROCESS_MPI_SIZE].number,
        .clock.origin_units = f[PROCESS_CLOCK_UNITS].number,
        .clock.origin_ns = limit_ns(varint_unfold(f[PROCESS_CLOCK_NS].number)),
        .clock.span_units = f[PROCESS_CLOCK_SPAN_UNITS].number,
        .clock.span_ns = f[PROCESS_CLOCK_SPAN_NS].key ? f[PROCESS_CLOCK_SPAN_NS].number : 1,
        .io_known = f[PROCESS_IO_NS].key,
        .whole_until_ns = INT64_MAX,
        .with = (uint32_t)f[PROCESS_WITH].number,
        .io_ns = limit_ns((int64_t)(f[PROCESS_IO_NS].number & INT64_MAX)),
        .chars_known = f[PROCESS_READ_CHARS].key,
        .chars = {f[PROCESS_READ_CHARS].number, f[PROCESS_WRITE_CHARS].number},
        .load_chars = {f[PROCESS_LOAD_READ_CHARS].number, f[PROCESS_LOAD_WRITE_CHARS].number},
        .left_out_calls = f[PROCESS_LEFT_OUT_CALLS].number,
        .raw_rings = f[PROCESS_RAW_RINGS].number,
        .cpus = f[PROCESS_CPUS].number,
        .via = f[PROCESS_VIA].number < VIA_COUNT ? (enum process_via)f[PROCESS_VIA].number : VIA_COUNT,
        .is_joined = f[PROCESS_JOINED].number,
        .counts_all = f[PROCESS_COUNTS_ALL].number,
        .cpu_wait_known = f[PROCESS_CPU_WAIT_NS].key,
        .cpu_wait_ns = limit_ns((int64_t)(f[PROCESS_CPU_WAIT_NS].number & INT64_MAX)),
        .stdio_kernel = {f[PROCESS_STDIO_KERNEL_READ].number, f[PROCESS_STDIO_KERNEL_WRITE].number},
    };
}

static int parse_process(struct log *log, struct fields_in body) {
    struct field f[PROCESS_WITH + 1], field;
    FORWARD(fields_by_key(body, f, PROCESS_WITH + 1));
    struct log_process process = process_of(f);
    if (process.clock.span_units == 0) process.clock.span_units = process.clock.span_ns = 1;
    FORWARD(log_parse_text(log, &f[PROCESS_HOST], &process.host));
    FORWARD(log_parse_text(log, &f[PROCESS_EXE], &process.exe));
    FORWARD(log_parse_text(log, &f[PROCESS_CWD], &process.cwd));
    FORWARD(log_parse_text(log, &f[PROCESS_MPI], &process.mpi));
    FORWARD(log_parse_words(log, body, PROCESS_ARG, &process.args));
    FORWARD(log_parse_group(log, body, f, &process));
    while (fields_next(&body, &field) > 0) parse_indexed(&process, &field);
    return log_put_row(&log->processes, &log->process_by_id, process.id, &process, sizeof process);
}

static uint64_t record_id_of(const struct field *name, const struct field *object) {
    if (!name->key) return 0;
    return record_id((const char *)name->data, name->len, object->key ? (const char *)object->data : NULL, object->len);
}

size_t log_count_fields(struct fields_in body, unsigned key) {
    struct field field;
    size_t count = 0;
    while (fields_next(&body, &field) > 0) count += field.key == key && field.is_bytes;
    return count;
}

static int parse_stripes(struct log *log, struct fields_in body, struct log_file *file) {
    size_t count = log_count_fields(body, FILE_STRIPE);
    if (!count) return 0;
    struct stripe *stripe = arena_alloc(&log->arena, count * sizeof *stripe);
    struct field field;
    RETURN_IF(!stripe, -ENOMEM);
    file->stripes = stripe;
    while (fields_next(&body, &field) > 0) {
        if (field.key != FILE_STRIPE || !field.is_bytes) continue;
        FORWARD(stripe_get(&stripe[file->stripe_count], field.data, field.len));
        file->stripe_count++;
    }
    return 0;
}

static int parse_file(struct log *log, struct fields_in body) {
    struct field f[FILE_STRIPE + 1];
    FORWARD(fields_by_key(body, f, FILE_STRIPE + 1));
    struct log_file file = {
        .id = f[FILE_ID].key ? (uint32_t)f[FILE_ID].number : log->last_file + 1,
        .name = "",
        .record_id = record_id_of(&f[FILE_NAME], &f[FILE_OBJECT]),
        .device = f[FILE_DEVICE].number,
        .inode = f[FILE_INODE].number,
        .block_size = (uint32_t)f[FILE_BLOCK_SIZE].number,
        .fs_type = f[FILE_FS_TYPE].number,
        .type = (uint32_t)f[FILE_TYPE].number,
    };
    FORWARD(log_parse_text(log, &f[FILE_NAME], &file.name));
    FORWARD(log_parse_text(log, &f[FILE_MOUNT], &file.mount));
    FORWARD(log_parse_text(log, &f[FILE_FS_NAME], &file.fs_name));
    FORWARD(log_parse_text(log, &f[FILE_OBJECT], &file.object));
    FORWARD(parse_stripes(log, body, &file));
    log->last_file = file.id;
    return log_put_row(&log->files, &log->file_by_id, file.id, &file, sizeof file);
}

static int parse_call(struct log *log, struct fields_in body) {
    struct field f[CALL_TRAITS + 1];
    FORWARD(fields_by_key(body, f, CALL_TRAITS + 1));
    RETURN_IF(f[CALL_ID].number >= LOG_MAX_CALL_ID, ERR_FORMAT);
    // Calls with a layer or class of a later version keep their names, without that layer or class.
    struct log_call call = {
        .id = (uint32_t)f[CALL_ID].number,
        .name = "",
        .layer = f[CALL_LAYER].number < LAYER_COUNT ? (uint8_t)f[CALL_LAYER].number : LAYER_NONE,
        .class = f[CALL_CLASS].number < CLASS_COUNT ? (uint8_t)f[CALL_CLASS].number : CLASS_NONE,
        .traits = (uint8_t)f[CALL_TRAITS].number,
    };
    FORWARD(log_parse_text(log, &f[CALL_NAME], &call.name));
    call.build_id = call_find(call.name, call.id);
    return log_put_row(&log->calls, NULL, 0, &call, sizeof call);
}

static int parse_loss(struct log *log, struct fields_in body) {
    struct field f[LOSS_TEXT + 1];
    FORWARD(fields_by_key(body, f, LOSS_TEXT + 1));
    uint32_t process = f[LOSS_PROCESS].key ? (uint32_t)f[LOSS_PROCESS].number + 1 : 0;
    struct log_loss loss = {
        .reason = (unsigned)f[LOSS_REASON].number,
        .count = f[LOSS_COUNT].number,
        .bytes = f[LOSS_BYTES].number,
    };
    FORWARD(log_parse_text(log, &f[LOSS_TEXT], &loss.text));
    FORWARD(log_put_row(&log->losses, NULL, 0, &loss, sizeof loss));
    return log_put_row(&log->loss_processes, NULL, 0, &process, sizeof process);
}

static int parse_setting(struct log *log, struct fields_in body) {
    struct log_setting setting = {0};
    struct field f[SETTING_VALUE + 1];
    FORWARD(fields_by_key(body, f, SETTING_VALUE + 1));
    FORWARD(log_parse_text(log, &f[SETTING_NAME], &setting.name));
    FORWARD(log_parse_text(log, &f[SETTING_VALUE], &setting.value));
    RETURN_IF(!setting.name, ERR_FORMAT);
    return log_put_row(&log->settings, NULL, 0, &setting, sizeof setting);
}

static int parse_stream(struct log *log, struct fields_in body) {
    struct field f[STREAM_LOCAL + 1];
    FORWARD(fields_by_key(body, f, STREAM_LOCAL + 1));
    struct stream_row row = {
        .id = (uint32_t)f[STREAM_ID].number,
        .process = (uint32_t)f[STREAM_PROCESS].number,
        .local = (uint32_t)f[STREAM_LOCAL].number,
    };
    return log_put_row(&log->streams, &log->stream_by_id, row.id, &row, sizeof row);
}

static int parse_link(struct table *links, struct fields_in body) {
    struct field f[LINK_GLOBAL + 1];
    FORWARD(fields_by_key(body, f, LINK_GLOBAL + 1));
    struct link_row row = {
        .process = (uint32_t)f[LINK_PROCESS].number,
        .local = (uint32_t)f[LINK_LOCAL].number,
        .global = (uint32_t)f[LINK_GLOBAL].number,
    };
    return log_put_row(links, NULL, 0, &row, sizeof row);
}

static int parse_callsite(struct log *log, struct fields_in body) {
    struct field f[CALLSITE_PROCESS + 1];
    FORWARD(fields_by_key(body, f, CALLSITE_PROCESS + 1));
    struct callsite_row row = {(uint32_t)f[CALLSITE_PROCESS].number, (uint32_t)f[CALLSITE_ID].number, NULL};
    FORWARD(log_parse_text(log, &f[CALLSITE_LINE], &row.line));
    uint64_t key = lookup_pair(row.process, row.id);
    return log_put_row(&log->callsites, &log->callsite_by_id, key, &row, sizeof row);
}

static int parse_counters(struct log *log, struct fields_in body) {
    struct field f[COUNTERS_FILE + 1];
    size_t len = (size_t)(body.end - body.at);
    FORWARD(fields_by_key(body, f, COUNTERS_FILE + 1));
    struct counters_row row = {
        .process = (uint32_t)f[COUNTERS_PROCESS].number,
        .file = f[COUNTERS_FILE].key ? (uint32_t)f[COUNTERS_FILE].number : log->last_file,
        .reduction = (uint32_t)log->reductions.count, // its record follows
        .number = (uint32_t)log->counters.count,
        .body = arena_copy(&log->arena, body.at, len),
        .len = len,
    };
    RETURN_IF(!row.body, -ENOMEM);
    return log_put_row(&log->counters, NULL, 0, &row, sizeof row);
}

static int parse_reduction(struct log *log, struct fields_in body) {
    struct field f[REDUCTION_PROCESS + 1];
    FORWARD(fields_by_key(body, f, REDUCTION_PROCESS + 1));
    struct log_reduction reduction = {.start_ns = limit_ns(varint_unfold(f[REDUCTION_START_NS].number)),
                                      .process = (uint32_t)f[REDUCTION_PROCESS].number};
    return log_put_row(&log->reductions, NULL, 0, &reduction, sizeof reduction);
}

static int parse_communicator(struct log *log, struct fields_in body) {
    struct communicator comm;
    size_t len = (size_t)(body.end - body.at);
    const uint8_t *own = arena_copy(&log->arena, body.at, len);
    RETURN_IF(!own, -ENOMEM);
    FORWARD(communicator_get((struct fields_in){own, own + len}, &comm));
    uint64_t key = lookup_pair(comm.process, comm.number);
    return log_put_row(&log->communicators, &log->communicator_by_number, key, &comm, sizeof comm);
}

static int parse_mapped(struct log *log, struct fields_in body) {
    struct mapped_row row = {0};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key == MAPPED_PROCESS) row.process = (uint32_t)field.number;
        if (field.key == MAPPED_FILE) row.file = (uint32_t)field.number;
        if (field.key == MAPPED_BYTES && (field.number & 15) < MAPPED_KINDS)
            row.mapped.bytes[field.number & 15] += field.number >> 4;
    }
    RETURN_IF(more < 0, more);
    return log_put_row(&log->mapped, NULL, 0, &row, sizeof row);
}

static void link_mapped(struct log *log) {
    struct mapped_row *row = log->mapped.item;
    for (size_t i = 0; i < log->mapped.count; i++) {
        row[i].mapped.process = log_process_find(log, row[i].process);
        if (row[i].mapped.process) row[i].mapped.file = log_process_file(log, row[i].mapped.process, row[i].file);
    }
}

static int parse_aggregate(struct log *log, struct fields_in body) {
    struct field f[AGGREGATE_FILES + 1];
    FORWARD(fields_by_key(body, f, AGGREGATE_FILES + 1));
    const struct aggregate_row row = {(uint32_t)f[AGGREGATE_PROCESS].number, (uint32_t)f[AGGREGATE_FILE].number,
                                      f[AGGREGATE_FILES].number};
    return log_put_row(&log->aggregates, NULL, 0, &row, sizeof row);
}

static void link_aggregates(struct log *log) {
    const struct aggregate_row *row = log->aggregates.item;
    for (size_t i = 0; i < log->aggregates.count; i++) {
        const struct log_process *process = log_process_find(log, row[i].process);
        const struct log_file *found = process ? log_process_file(log, process, row[i].file) : NULL;
        if (!found) continue;
        struct log_file *file = (struct log_file *)log->files.item + found->index;
        file->is_aggregate = true;
        file->stands_for += row[i].files;
    }
}

static int parse_device(struct log *log, struct fields_in body) {
    struct field f[DEVICE_SAMPLES + 1];
    const char *samples = NULL;
    FORWARD(fields_by_key(body, f, DEVICE_SAMPLES + 1));
    struct log_device device = {
        .id = (uint32_t)f[DEVICE_ID].number,
        .name = "",
        .number = f[DEVICE_NUMBER].number,
        .start_ns = limit_ns((int64_t)f[DEVICE_START_NS].number),
    };
    FORWARD(log_parse_text(log, &f[DEVICE_NAME], &device.name));
    FORWARD(log_parse_text(log, &f[DEVICE_HOST], &device.host));
    FORWARD(log_parse_text(log, &f[DEVICE_SAMPLES], &samples));
    if (samples) {
        const uint8_t *at = (const uint8_t *)samples;
        device.samples = (struct device_samples_in){at, at + f[DEVICE_SAMPLES].len};
        FORWARD(device_samples_sum(device.samples, &device.sample_count, &device.sum));
    }
    return log_put_row(&log->devices, &log->device_by_id, device.id, &device, sizeof device);
}

static int parse_operations(struct log *log, struct fields_in body, struct log_mount *mount) {
    size_t count = log_count_fields(body, MOUNT_NFS_OPERATION);
    struct nfs_operation *operation = arena_alloc(&log->arena, (count + 1) * sizeof *operation);
    struct field field;
    RETURN_IF(!operation, -ENOMEM);
    mount->operations = operation;
    while (fields_next(&body, &field) > 0) {
        if (field.key == MOUNT_NFS_BYTES && (field.number & 15) < NFS_BYTES)
            mount->nfs_bytes[field.number & 15] = field.number >> 4;
        if (field.key != MOUNT_NFS_OPERATION || !field.is_bytes) continue;
        FORWARD(nfs_operation_get(&operation[mount->operation_count], field.data, field.len));
        mount->operation_count++;
    }
    return 0;
}

static int parse_mount(struct log *log, struct fields_in body) {
    struct field f[MOUNT_UNREAD_WHY + 1];
    FORWARD(fields_by_key(body, f, MOUNT_UNREAD_WHY + 1));
    struct log_mount mount = {
        .id = (uint32_t)f[MOUNT_ID].number,
        .point = "",
        .device = f[MOUNT_DEVICE].number,
        .has_nfs = f[MOUNT_NFS_OPERATION].key || f[MOUNT_NFS_BYTES].key,
        .unread = f[MOUNT_UNREAD].number,
    };
    FORWARD(log_parse_text(log, &f[MOUNT_POINT], &mount.point));
    FORWARD(log_parse_text(log, &f[MOUNT_TYPE], &mount.type));
    FORWARD(log_parse_text(log, &f[MOUNT_SOURCE], &mount.source));
    FORWARD(log_parse_text(log, &f[MOUNT_OPTIONS], &mount.options));
    FORWARD(log_parse_text(log, &f[MOUNT_HOST], &mount.host));
    FORWARD(log_parse_text(log, &f[MOUNT_UNREAD_WHY], &mount.unread_why));
    FORWARD(parse_operations(log, body, &mount));
    return log_put_row(&log->mounts, &log->mount_by_id, mount.id, &mount, sizeof mount);
}

static int parse_host(struct log *log, struct fields_in body) {
    struct field f[HOST_CLOCK_REFERENCE + 1];
    FORWARD(fields_by_key(body, f, HOST_CLOCK_REFERENCE + 1));
    struct log_host host = {
        .clock_offset_ns = limit_ns(varint_unfold(f[HOST_CLOCK_OFFSET_NS].number)),
        .has_drift = f[HOST_CLOCK_DRIFT].key,
        .clock_drift = varint_unfold(f[HOST_CLOCK_DRIFT].number),
        .clock_error_ns = limit_ns((int64_t)f[HOST_CLOCK_ERROR_NS].number),
    };
    FORWARD(log_parse_text(log, &f[HOST_NAME], &host.name));
    FORWARD(log_parse_text(log, &f[HOST_CLOCK_REFERENCE], &host.reference));
    RETURN_IF(!host.name || !host.reference, ERR_FORMAT);
    return log_put_row(&log->hosts, NULL, 0, &host, sizeof host);
}

static int parse_record(struct log *log, unsigned kind, struct fields_in body) {
    switch (kind) {
    case RECORD_JOB: return parse_job(log, body);
    case RECORD_PROCESS: return parse_process(log, body);
    case RECORD_FILE: return parse_file(log, body);
    case RECORD_CALL: return parse_call(log, body);
    case RECORD_PROCESS_FILE: return parse_link(&log->process_files, body);
    case RECORD_DATATYPE: return log_parse_datatype(log, body);
    case RECORD_PROCESS_DATATYPE: return parse_link(&log->process_datatypes, body);
    case RECORD_HINTS: return log_parse_hints(log, body);
    case RECORD_PROCESS_HINTS: return parse_link(&log->process_hints, body);
    case RECORD_SELECTION: return log_parse_selection(log, body);
    case RECORD_PROCESS_SELECTION: return parse_link(&log->process_selections, body);
    case RECORD_DATASET: return log_parse_dataset(log, body);
    case RECORD_PROCESS_DATASET: return parse_link(&log->process_datasets, body);
    case RECORD_COMMUNICATOR: return parse_communicator(log, body);
    case RECORD_MAPPED: return parse_mapped(log, body);
    case RECORD_AGGREGATE: return parse_aggregate(log, body);
    case RECORD_STACK: return log_parse_stack(log, body);
    case RECORD_SERVER: return log_parse_server(log, body);
    case RECORD_UNTIED: return log_parse_below(log, body);
    case RECORD_DEVICE: return parse_device(log, body);
    case RECORD_MOUNT: return parse_mount(log, body);
    case RECORD_HOST: return parse_host(log, body);
    case RECORD_CALLSITE: return parse_callsite(log, body);
    case RECORD_LOSS: return parse_loss(log, body);
    case RECORD_COUNTERS: return parse_counters(log, body);
    case RECORD_REDUCTION: return parse_reduction(log, body);
    case RECORD_STREAM: return parse_stream(log, body);
    case RECORD_SETTING: return parse_setting(log, body);
    case RECORD_IMPORT: return log_parse_import(log, body);
    case RECORD_IMPORTED: return log_parse_imported(log, body);
    default: return 0; // from a newer writer
    }
}

int log_parse_records(struct log *log, const struct bytes *raw) {
    struct fields_in in = fields_of(raw);
    struct fields_in body;
    unsigned kind;
    int more;
    log->record_bytes += raw->len;
    log->last_file = 0;
    RETURN_IF(log->record_bytes > LOG_MAX_RECORD_BYTES, ERR_LIMIT);
    while ((more = fields_next_record(&in, &kind, &body)) > 0) {
        int code = parse_record(log, kind, body);
        RETURN_IF(code == -ENOMEM, code);
        log->health.records_damaged += code < 0;
    }
    log->health.records_damaged += more < 0;
    return 0;
}

// By id. Facts that are not in the log come from this build's table, because ids never change.
static int link_calls(struct log *log) {
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
        if (id >= call_table_len || !call_names[id]) continue;
        const struct call_info *info = &call_table[id];
        own[id] = (struct log_call){id, id, call_names[id], info->layer, info->class, info->traits};
        log->call_by_id[id] = &own[id];
        log->traits[id] = info->traits;
    }
    for (size_t i = 0; i < log->calls.count; i++) {
        log->call_by_id[calls[i].id] = &calls[i];
        log->traits[calls[i].id] = calls[i].traits;
    }
    return 0;
}

// Maps the numbers of a process to indices in the log's table.
static int link_locals(const struct table *links, const struct lookup *by_id, struct lookup *by_local) {
    const struct link_row *rows = links->item;
    for (size_t i = 0; i < links->count; i++) {
        uint32_t at = lookup_find(by_id, rows[i].global);
        if (at == LOOKUP_NONE) continue;
        FORWARD(lookup_set(by_local, lookup_pair(rows[i].process, rows[i].local), at));
    }
    return 0;
}

// An object lies where its file lies.
static int link_objects(struct log *log) {
    struct log_file *files = log->files.item;
    struct lookup by_name = {0};
    int code = 0;
    for (size_t i = 0; i < log->files.count && !code; i++) {
        if (!files[i].object) code = lookup_set(&by_name, XXH64(files[i].name, strlen(files[i].name), 0), (uint32_t)i);
    }
    for (size_t i = 0; i < log->files.count && !code; i++) {
        if (!files[i].object) continue;
        uint32_t at = lookup_find(&by_name, XXH64(files[i].name, strlen(files[i].name), 0));
        if (at == LOOKUP_NONE || strcmp(files[at].name, files[i].name)) continue;
        files[i].device = files[at].device;
        files[i].mount = files[at].mount;
        files[i].fs_name = files[at].fs_name;
        files[i].fs_type = files[at].fs_type;
        files[i].stripes = files[at].stripes;
        files[i].stripe_count = files[at].stripe_count;
    }
    lookup_free(&by_name);
    return code;
}

static int link_streams(struct log *log) {
    const struct stream_row *rows = log->streams.item;
    for (size_t i = 0; i < log->streams.count; i++)
        FORWARD(lookup_set(&log->stream_by_local, lookup_pair(rows[i].process, rows[i].local), (uint32_t)i));
    struct log_place *places = log->places.item;
    for (size_t i = 0; i < log->places.count; i++) {
        uint32_t at = places[i].type == BLOCK_EVENTS ? lookup_find(&log->stream_by_id, places[i].stream) : LOOKUP_NONE;
        if (at != LOOKUP_NONE) places[i].process = log_process_find(log, rows[at].process);
        // Without its process, the times and files of an event are unknown.
        if (places[i].type == BLOCK_EVENTS && !places[i].process) log_note_damage(log, &places[i], places[i].events, 0);
    }
    return 0;
}

static bool has_events(const struct log_place *place) { return place->type == BLOCK_EVENTS && place->process; }

// Groups the blocks by process, so that reading one process does not scan the blocks of all others.
static int sort_places(struct log *log) {
    const struct log_place *places = log->places.item;
    size_t processes = log->processes.count;
    log->event_places = malloc((log->places.count + 1) * sizeof *log->event_places);
    log->process_places = calloc(processes + 2, sizeof *log->process_places);
    RETURN_IF(!log->event_places || !log->process_places, -ENOMEM);
    // Filling moves the start of each process to its end, which is the next one's start: so begin one entry later.
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

static int compare_counters(const void *a, const void *b) {
    const struct counters_row *left = a, *right = b;
    if (left->process != right->process) return left->process < right->process ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

// Of damage in a spill, and of a block that a search did not find, nobody knows when and whose events it held.
static void note_gaps(struct log *log) {
    struct log_process *process = log->processes.item;
    const struct log_loss *loss = log->losses.item;
    for (size_t i = 0; i < log->losses.count; i++) {
        if (loss[i].process && loss[i].reason == LOSS_DAMAGED)
            process[loss[i].process->index].whole_until_ns = INT64_MIN;
    }
    for (size_t i = 0; log->has_gap && i < log->processes.count; i++) process[i].whole_until_ns = INT64_MIN;
}

int log_link(struct log *log) {
    for (size_t i = 0; i < log->processes.count; i++)
        ((struct log_process *)log->processes.item)[i].index = (uint32_t)i;
    for (size_t i = 0; i < log->files.count; i++) ((struct log_file *)log->files.item)[i].index = (uint32_t)i;
    struct log_loss *losses = log->losses.item;
    const uint32_t *loss_processes = log->loss_processes.item;
    for (size_t i = 0; i < log->losses.count; i++)
        losses[i].process = loss_processes[i] ? log_process_find(log, loss_processes[i] - 1) : NULL;
    note_gaps(log);
    if (log->counters.count > 1)
        qsort(log->counters.item, log->counters.count, sizeof(struct counters_row), compare_counters);
    FORWARD(link_calls(log));
    FORWARD(link_locals(&log->process_files, &log->file_by_id, &log->file_by_local));
    FORWARD(link_locals(&log->process_datatypes, &log->datatype_by_id, &log->datatype_by_local));
    FORWARD(link_locals(&log->process_hints, &log->hints_by_id, &log->hints_by_local));
    FORWARD(link_locals(&log->process_selections, &log->selection_by_id, &log->selection_by_local));
    FORWARD(link_locals(&log->process_datasets, &log->dataset_by_id, &log->dataset_by_local));
    FORWARD(link_objects(log));
    log_sort_imported(log);
    link_mapped(log);
    link_aggregates(log);
    FORWARD(log_assign_worlds(log));
    FORWARD(link_streams(log));
    return sort_places(log);
}
