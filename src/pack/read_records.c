// Reads the tagged records of a spill.
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fmt/communicator.h"
#include "fmt/datatype.h"
#include "fmt/fields.h"
#include "pack/private.h"

enum {
    MAX_ABOUT_BYTES = 4 << 20, // of one process's own description
    MAX_COMMUNICATOR_BYTES = 64 << 20,
    MAX_CHILD_ENDS = 1 << 20,
};

// Keys that the packer writes itself. All others, known or not, go from the spill into the log as they are.
static bool is_written_by_packer(unsigned key) {
    switch (key) {
    case PROCESS_HOST:
    case PROCESS_EXE:
    case PROCESS_ARG:
    case PROCESS_CWD:
    case PROCESS_RANK:
    case PROCESS_MPI:
    case PROCESS_MPI_SIZE:
    case PROCESS_LOCAL_RANK: return false;
    case PROCESS_REDUCED_READ:
    case PROCESS_REDUCED_WRITTEN: return true;
    default:
        return key >= PROCESS_MEMBERS || key <= PROCESS_IO_NS || key == PROCESS_CPU_WAIT_NS ||
               key == PROCESS_COUNTS_ALL;
    }
}

static int read_process(struct pack *pack, struct pack_process *process, struct fields_in body) {
    struct field field;
    const uint8_t *from = body.at;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        size_t len = (size_t)(body.at - from);
        if (field.key == PROCESS_HOST && field.is_bytes && field.len < sizeof process->host) {
            memcpy(process->host, field.data, field.len);
            process->host[field.len] = 0;
        }
        if (field.key == PROCESS_EXE && field.is_bytes && !process->exe) {
            process->exe = strndup((const char *)field.data, field.len);
        }
        if (field.key == PROCESS_RANK) process->rank = field.number;
        if (field.key == PROCESS_JOINED) process->is_joined = pack->result.joined = true;
        if (!is_written_by_packer(field.key)) {
            RETURN_IF(process->about.len + len > MAX_ABOUT_BYTES, ERR_LIMIT);
            FORWARD(bytes_append(&process->about, from, len));
        }
        from = body.at;
    }
    return more;
}

static bool has_events(const struct pack_process *process) {
    for (size_t i = 0; i < process->spill.count; i++) {
        const struct spill_chunk *chunk = &process->spill.piece[i].chunk;
        if (chunk->kind == CHUNK_EVENTS && chunk->used) return true;
    }
    return false;
}

// The part has the files of a rank, but for those that it used after MPI_Finalize, or that its events name.
static bool is_needed(const struct pack *pack, const struct pack_process *process, struct fields_in body) {
    struct field f[FILE_ID + 1];
    if (!pack_has_handed(pack, process) || has_events(process)) return true;
    if (fields_by_key(body, f, FILE_ID + 1) < 0) return true;
    return lookup_find(&process->needed, f[FILE_ID].number) != LOOKUP_NONE;
}

static int read_file(struct pack *pack, struct pack_process *process, struct fields_in body) {
    struct pack_link link;
    if (!is_needed(pack, process, body)) return 0;
    FORWARD(file_table_add(&pack->files, body, &link.local, &link.global));
    return bytes_append(&process->files, &link, sizeof link);
}

// A form that readers reject must not get into the log.
static int check_datatype(struct fields_in body) {
    struct field f[DATATYPE_FORM + 1];
    struct datatype type = {0};
    FORWARD(fields_by_key(body, f, DATATYPE_FORM + 1));
    int code = f[DATATYPE_FORM].is_bytes ? datatype_get(&type, f[DATATYPE_FORM].data, f[DATATYPE_FORM].len) : 0;
    datatype_free(&type);
    return code;
}

int pack_add_unique(struct intern *records, struct fields_in body, uint32_t *local, uint32_t *global) {
    enum { KEY_ID = 1 };
    struct bytes rest = {0}; // the fields without the number
    struct field field;
    int more, code = 0;
    *local = 0;
    for (const uint8_t *from = body.at; code == 0 && (more = fields_next(&body, &field)) > 0; from = body.at) {
        if (field.key != KEY_ID) code = bytes_append(&rest, from, (size_t)(body.at - from));
        if (field.key == KEY_ID && !field.is_bytes && field.number <= UINT32_MAX) *local = (uint32_t)field.number;
    }
    if (code == 0) code = more;
    if (code == 0) code = *local && rest.len ? intern_add(records, rest.data, rest.len, global) : ERR_FORMAT;
    bytes_free(&rest);
    return code;
}

static int read_unique(struct pack *pack, struct pack_process *process, unsigned kind, struct fields_in body) {
    struct pack_link link;
    unsigned i = 0;
    while (pack_unique[i].kind != kind) i++;
    FORWARD(pack_add_unique(&pack->unique[i], body, &link.local, &link.global));
    return bytes_append(&process->unique[i], &link, sizeof link);
}

static int read_datatype(struct pack *pack, struct pack_process *process, struct fields_in body) {
    FORWARD(check_datatype(body));
    return read_unique(pack, process, RECORD_DATATYPE, body);
}

static int read_communicator(struct pack_process *process, struct fields_in body) {
    struct communicator comm;
    uint8_t head[2 * VARINT_MAX_BYTES];
    size_t len = (size_t)(body.end - body.at);
    FORWARD(communicator_get(body, &comm));
    RETURN_IF(process->communicators.len + len > MAX_COMMUNICATOR_BYTES, ERR_LIMIT);
    const uint8_t *end = varint_put(varint_put(head, RECORD_COMMUNICATOR), len);
    FORWARD(bytes_append(&process->communicators, head, (size_t)(end - head)));
    return bytes_append(&process->communicators, body.at, len);
}

static int read_module(struct pack *pack, const struct pack_process *process, struct lookup *modules,
                       struct fields_in body) {
    struct field f[MODULE_PATH + 1];
    const struct field *path = &f[MODULE_PATH];
    FORWARD(fields_by_key(body, f, MODULE_PATH + 1));
    RETURN_IF(path->len == 0, ERR_FORMAT);
    // The program itself has the name that it was called by, which need not be a path.
    bool is_program = path->data[0] != '/' && process->exe;
    int64_t module = is_program
                         ? callsites_module(&pack->callsites, (const uint8_t *)process->exe, strlen(process->exe))
                         : callsites_module(&pack->callsites, path->data, path->len);
    RETURN_IF(module < 0, (int)module);
    return lookup_set(modules, f[MODULE_ID].number, (uint32_t)module);
}

static int read_callsite(struct pack_process *process, const struct lookup *modules, struct fields_in body) {
    struct field f[CALLSITE_ADDRESS + 1];
    FORWARD(fields_by_key(body, f, CALLSITE_ADDRESS + 1));
    uint32_t module = lookup_find(modules, f[CALLSITE_MODULE].number);
    RETURN_IF(module == LOOKUP_NONE || f[CALLSITE_ID].number > UINT32_MAX, ERR_FORMAT);
    struct pack_site site = {(uint32_t)f[CALLSITE_ID].number, module, f[CALLSITE_ADDRESS].number};
    return bytes_append(&process->sites, &site, sizeof site);
}

static int read_mapped(struct pack_process *process, struct fields_in body) {
    struct field f[MAPPED_SUMS + 1];
    struct pack_mapped mapped;
    FORWARD(fields_by_key(body, f, MAPPED_SUMS + 1));
    RETURN_IF(f[MAPPED_SUMS].len != sizeof mapped.bytes || f[MAPPED_FILE].number > UINT32_MAX, ERR_FORMAT);
    mapped.file = (uint32_t)f[MAPPED_FILE].number;
    memcpy(mapped.bytes, f[MAPPED_SUMS].data, sizeof mapped.bytes);
    return bytes_append(&process->mapped, &mapped, sizeof mapped);
}

static int read_aggregate(struct pack_process *process, struct fields_in body) {
    struct field f[AGGREGATE_MEMBERS + 1];
    struct pack_aggregate aggregate;
    FORWARD(fields_by_key(body, f, AGGREGATE_MEMBERS + 1));
    RETURN_IF(f[AGGREGATE_MEMBERS].len != sizeof aggregate.files || f[AGGREGATE_FILE].number > UINT32_MAX, ERR_FORMAT);
    aggregate.file = (uint32_t)f[AGGREGATE_FILE].number;
    memcpy(&aggregate.files, f[AGGREGATE_MEMBERS].data, sizeof aggregate.files);
    return bytes_append(&process->aggregates, &aggregate, sizeof aggregate);
}

static int read_child_end(struct pack *pack, const struct pack_process *process, struct fields_in body) {
    struct field f[CHILD_END_STATUS + 1];
    FORWARD(fields_by_key(body, f, CHILD_END_STATUS + 1));
    RETURN_IF(pack->child_end_count >= MAX_CHILD_ENDS, ERR_LIMIT);
    struct pack_child_end end = {
        .pid = (uint32_t)f[CHILD_END_PID].number,
        .parent = process->id,
        .status = (int)(uint32_t)f[CHILD_END_STATUS].number,
    };
    return array_push(pack->child_end, pack->child_end_count, end);
}

static int read_record(struct pack *pack, struct pack_process *process, struct lookup *modules, unsigned kind,
                       struct fields_in body) {
    switch (kind) {
    case RECORD_PROCESS: return read_process(pack, process, body);
    case RECORD_FILE: return read_file(pack, process, body);
    case RECORD_DATATYPE: return read_datatype(pack, process, body);
    case RECORD_HINTS:
    case RECORD_SELECTION:
    case RECORD_DATASET: return read_unique(pack, process, kind, body);
    case RECORD_COMMUNICATOR: return read_communicator(process, body);
    case RECORD_MODULE: return read_module(pack, process, modules, body);
    case RECORD_CALLSITE: return read_callsite(process, modules, body);
    case RECORD_MAPPED: return read_mapped(process, body);
    case RECORD_AGGREGATE: return read_aggregate(process, body);
    case RECORD_CHILD_END: return read_child_end(pack, process, body);
    case RECORD_CLOCK: return pack_read_clock(pack, process, body);
    case RECORD_JOB:
    case RECORD_SETTING: return pack_read_job(pack, process, kind, body);
    default: return 0;
    }
}

// A bad record is a loss; only an error of the packer itself ends the work.
static bool is_fatal(int code) { return code == -ENOMEM; }

static int read_piece(struct pack *pack, struct pack_process *process, struct lookup *modules) {
    struct fields_in records = fields_of(&pack->payload);
    struct fields_in body;
    unsigned kind;
    for (;;) {
        const uint8_t *from = records.at;
        int more = fields_next_record(&records, &kind, &body);
        if (more < 0) {
            // Without its length the next record cannot be found.
            process->damaged_bytes += (uint64_t)(records.end - from);
            return 0;
        }
        if (more == 0) return 0;
        int code = read_record(pack, process, modules, kind, body);
        if (is_fatal(code)) return code;
        if (code < 0) process->damaged_bytes += (uint64_t)(records.at - from);
    }
}

int pack_read_records(struct pack *pack, struct pack_process *process) {
    struct spill *spill = &process->spill;
    struct lookup modules = {0};
    int code = spill_read_records_again(spill);
    if (!is_fatal(code)) code = 0;
    if (code == 0 && pack_has_handed(pack, process)) code = pack_find_needed(pack, process);
    for (size_t i = 0; i < spill->count && code == 0; i++) {
        const struct spill_piece *piece = &spill->piece[i];
        if (piece->chunk.kind != CHUNK_RECORDS) continue;
        code = spill_read_payload(spill, piece, &pack->payload);
        if (code == 0) {
            code = read_piece(pack, process, &modules);
        } else if (!is_fatal(code)) {
            process->damaged_bytes += piece->chunk.used;
            code = 0;
        }
    }
    lookup_free(&modules);
    return code;
}
