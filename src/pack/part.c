// Takes the counters that the ranks of an MPI job have added up at MPI_Finalize (fmt/part.h) into the log: block by
// block, as they are, but for a single one, whose records go into one block with others. Files of other processes get
// numbers behind those of the part, or the part's if it has the name.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "fmt/counters.h"
#include "pack/private.h"

static uint64_t hash_name(const struct field *name, const struct field *object) {
    uint64_t hash = hash_bytes(0, name->data, name->len);
    return object->key ? hash_bytes(hash, object->data, object->len) : hash;
}

static int read_file(struct pack_part *part, struct fields_in body) {
    struct field f[FILE_OBJECT + 1];
    FORWARD(fields_by_key(body, f, FILE_OBJECT + 1));
    uint64_t number = f[FILE_ID].key ? f[FILE_ID].number : part->last_file + 1;
    RETURN_IF(!f[FILE_NAME].len || !number || number > part->head.files, ERR_FORMAT);
    part->last_file = number;
    return lookup_set(&part->by_name, hash_name(&f[FILE_NAME], &f[FILE_OBJECT]), (uint32_t)number);
}

static int read_records(struct pack_part *part, const struct bytes *raw) {
    struct fields_in in = fields_of(raw), body;
    unsigned kind;
    int more;
    while ((more = fields_next_record(&in, &kind, &body)) > 0) {
        RETURN_IF(kind != RECORD_FILE && kind != RECORD_COUNTERS, ERR_FORMAT);
        if (kind == RECORD_FILE) FORWARD(read_file(part, body));
    }
    return more;
}

static int read_at(int fd, void *out, size_t len, uint64_t offset) {
    for (uint8_t *at = out; len;) {
        ssize_t got = pread(fd, at, len, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        RETURN_IF(got <= 0, got ? -errno : ERR_TRUNCATED);
        at += got;
        len -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

// Blocks follow each other without gaps, in the order of the index.
static int check_block(struct pack_part *part, size_t i, uint64_t *offset, struct bytes *raw) {
    const struct part_entry entry = pack_part_entry(part, i);
    struct bytes stored = {0};
    struct log_block block;
    uint64_t bytes = (uint64_t)LOG_SHORT_HEADER_BYTES + entry.stored_len;
    RETURN_IF(entry.offset != *offset || part->head.end - *offset < bytes, ERR_FORMAT);
    uint8_t *at = bytes_reserve(&stored, bytes);
    RETURN_IF(!at, -ENOMEM);
    int code = read_at(part->fd, at, bytes, *offset);
    if (code == 0) code = log_block_get(at, bytes, &block);
    bool is_right = code == 0 && block.type == BLOCK_RECORDS && block.header_bytes == LOG_SHORT_HEADER_BYTES &&
                    block.stored_len == entry.stored_len;
    if (code == 0) code = is_right ? log_block_load(&block, at + LOG_SHORT_HEADER_BYTES, raw) : ERR_FORMAT;
    bytes_free(&stored);
    FORWARD(code);
    *offset += bytes;
    return read_records(part, raw);
}

// The records of a small part stay in memory.
static int check_blocks(struct pack_part *part) {
    uint64_t offset = LOG_HEADER_BYTES;
    int code = 0;
    for (size_t i = 0; i < part->head.blocks && code == 0; i++) code = check_block(part, i, &offset, &part->records);
    return code == 0 && offset != part->head.end ? ERR_FORMAT : code;
}

static int load(struct pack *pack, struct pack_part *part) {
    FORWARD(pack_read_file(pack, PART_INDEX, &part->index));
    RETURN_IF(part->index.len < PART_HEAD_BYTES, ERR_FORMAT);
    FORWARD(part_head_get(part->index.data, &part->head));
    uint64_t blocks = (part->index.len - PART_HEAD_BYTES) / PART_ENTRY_BYTES;
    RETURN_IF(part->head.blocks != blocks || part->head.files > UINT32_MAX / 2 || !part->head.id, ERR_FORMAT);
    part->fd = pack_open_file(pack, PART_BLOCKS);
    RETURN_IF(part->fd < 0, part->fd);
    return check_blocks(part);
}

// A bad part costs nothing but the reduction: the spill files still have all counters.
int pack_load_part(struct pack *pack) {
    struct pack_part *part = &pack->part;
    int code = load(pack, part);
    part->is_there = code == 0;
    if (!part->is_there) pack_free_part(part);
    return code == -ENOMEM ? code : 0;
}

void pack_free_part(struct pack_part *part) {
    if (part->fd >= 0) close(part->fd);
    bytes_free(&part->index);
    bytes_free(&part->records);
    lookup_free(&part->by_name);
    *part = (struct pack_part){.fd = -1};
}

bool pack_has_handed(const struct pack *pack, const struct pack_process *process) {
    return pack->part.is_there && process->spill.header.part == pack->part.head.id;
}

bool pack_is_handed(const struct pack *pack, const struct pack_process *process, const struct spill_piece *piece) {
    return piece->chunk.kind == CHUNK_COUNTERS && pack_has_handed(pack, process) &&
           piece->offset < process->spill.header.handed_until;
}

uint32_t pack_part_file(const struct pack *pack, const uint8_t *name, size_t len) {
    if (!pack->part.is_there) return 0;
    size_t name_len = strnlen((const char *)name, len);
    const struct field file = {.data = name, .len = name_len};
    const struct field object = {.key = name_len < len, .data = name + name_len + 1, .len = len - name_len - 1};
    uint32_t number = lookup_find(&pack->part.by_name, hash_name(&file, &object));
    return number == LOOKUP_NONE ? 0 : number;
}

// --- files that the ranks used after MPI_Finalize

static int need(struct pack_process *process, uint64_t file) {
    return file && file <= UINT32_MAX ? lookup_set(&process->needed, file, 1) : 0;
}

static int need_counted(struct pack_process *process, const struct bytes *payload) {
    struct spill_counters entry;
    for (size_t at = 0; payload->len - at >= sizeof entry; at += sizeof entry) {
        memcpy(&entry, payload->data + at, sizeof entry);
        FORWARD(need(process, entry.file));
        FORWARD(need(process, entry.counters.value[COUNTER_RENAMED_FROM]));
    }
    return 0;
}

static int need_named(struct pack_process *process, const struct bytes *payload) {
    struct fields_in in = fields_of(payload), body;
    struct field f[MAPPED_FILE + 1];
    _Static_assert((unsigned)AGGREGATE_FILE <= MAPPED_FILE, "f has both");
    unsigned kind;
    while (fields_next_record(&in, &kind, &body) > 0) {
        unsigned key = kind == RECORD_MAPPED ? MAPPED_FILE : kind == RECORD_AGGREGATE ? AGGREGATE_FILE : 0;
        if (key && fields_by_key(body, f, MAPPED_FILE + 1) == 0) FORWARD(need(process, f[key].number));
    }
    return 0;
}

int pack_find_needed(struct pack *pack, struct pack_process *process) {
    for (size_t i = 0; i < process->spill.count; i++) {
        const struct spill_piece *piece = &process->spill.piece[i];
        bool has_counters = piece->chunk.kind == CHUNK_COUNTERS && !pack_is_handed(pack, process, piece);
        if (!has_counters && piece->chunk.kind != CHUNK_RECORDS) continue;
        int code = spill_read_payload(&process->spill, piece, &pack->payload);
        RETURN_IF(code == -ENOMEM, code);
        if (code == 0) FORWARD((has_counters ? need_counted : need_named)(process, &pack->payload));
    }
    return 0;
}

// --- writing

int pack_copy_part(struct pack *pack) {
    const struct pack_part *part = &pack->part;
    if (!part->is_there) return 0;
    if (part->head.blocks == 1) {
        log_writer_records(&pack->writer, &part->records);
        return 0;
    }
    FORWARD(log_writer_copy(&pack->writer, part->fd, part->head.end));
    for (size_t i = 0; i < part->head.blocks; i++) {
        const struct part_entry entry = pack_part_entry(part, i);
        const struct log_block block = {.type = BLOCK_RECORDS, .stored_len = entry.stored_len};
        FORWARD(log_writer_index(&pack->writer, entry.offset, &block));
    }
    return 0;
}

void pack_write_reduction(struct pack *pack) {
    enum { ROOM = 64 };
    uint32_t process = 0;
    if (!pack->part.is_there) return;
    for (size_t i = 0; i < pack->process_count && !process; i++) {
        if (pack_has_handed(pack, &pack->process[i])) process = pack->process[i].id;
    }
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_REDUCTION, ROOM);
    fields_number(out, REDUCTION_RANKS, pack->part.head.ranks);
    fields_signed(out, REDUCTION_START_NS, (int64_t)(pack->part.head.epoch_ns - pack->start_epoch_ns));
    if (process) fields_number(out, REDUCTION_PROCESS, process);
    log_writer_end(&pack->writer);
}
