// Takes the counters that the ranks of MPI programs have added up at MPI_Finalize (fmt/part.h) into the log: those of
// the program with the most files block by block, as they are, but for a single block, whose records go into one with
// others. Files of other programs and processes get numbers behind those of the first, or the same number if the name
// is there.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
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
    RETURN_IF(!f[FILE_NAME].len || number != part->last_file + 1 || number > part->head.files, ERR_FORMAT);
    part->last_file = number;
    const uint64_t hash = hash_name(&f[FILE_NAME], &f[FILE_OBJECT]);
    return bytes_append(&part->hashes, (const uint8_t *)&hash, sizeof hash);
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
static int read_block(const struct pack_part *part, size_t i, uint64_t *offset, struct bytes *stored,
                      struct bytes *raw) {
    const struct part_entry entry = pack_part_entry(part, i);
    struct log_block block;
    uint64_t bytes = (uint64_t)LOG_SHORT_HEADER_BYTES + entry.stored_len;
    RETURN_IF(entry.offset != *offset || part->head.end - *offset < bytes, ERR_FORMAT);
    stored->len = 0;
    uint8_t *at = bytes_reserve(stored, bytes);
    RETURN_IF(!at, -ENOMEM);
    FORWARD(read_at(part->fd, at, bytes, *offset));
    FORWARD(log_block_get(at, bytes, &block));
    RETURN_IF(block.type != BLOCK_RECORDS || block.header_bytes != LOG_SHORT_HEADER_BYTES, ERR_FORMAT);
    RETURN_IF(block.stored_len != entry.stored_len, ERR_FORMAT);
    *offset += bytes;
    return log_block_load(&block, at + LOG_SHORT_HEADER_BYTES, raw);
}

// Calls a function with the records of each block.
static int for_each_block(struct pack *pack, struct pack_part *part,
                          int (*work)(struct pack *pack, struct pack_part *part, const struct bytes *raw)) {
    struct bytes stored = {0}, raw = {0};
    uint64_t offset = LOG_HEADER_BYTES;
    int code = 0;
    part->last_file = 0;
    for (size_t i = 0; i < part->head.blocks && code == 0; i++) {
        code = read_block(part, i, &offset, &stored, &raw);
        if (code == 0) code = work(pack, part, &raw);
    }
    bytes_free(&stored);
    bytes_free(&raw);
    return code == 0 && offset != part->head.end ? ERR_FORMAT : code;
}

static int check_block(struct pack *pack, struct pack_part *part, const struct bytes *raw) {
    (void)pack;
    return read_records(part, raw);
}

static int load(struct pack *pack, const char *index_name, struct pack_part *part) {
    char blocks_name[NAME_MAX + sizeof PART_BLOCKS];
    snprintf(blocks_name, sizeof blocks_name, PART_BLOCKS "%s", index_name + sizeof PART_INDEX - 1);
    FORWARD(pack_read_file(pack, index_name, &part->index));
    RETURN_IF(part->index.len < PART_HEAD_BYTES, ERR_FORMAT);
    FORWARD(part_head_get(part->index.data, &part->head));
    uint64_t blocks = (part->index.len - PART_HEAD_BYTES) / PART_ENTRY_BYTES;
    RETURN_IF(part->head.blocks != blocks || part->head.files > UINT32_MAX / 2 || !part->head.id, ERR_FORMAT);
    part->fd = pack_open_file(pack, blocks_name);
    RETURN_IF(part->fd < 0, part->fd);
    FORWARD(for_each_block(pack, part, check_block));
    return part->last_file == part->head.files ? 0 : ERR_FORMAT;
}

static void free_part(struct pack_part *part) {
    if (part->fd >= 0) close(part->fd);
    bytes_free(&part->index);
    bytes_free(&part->hashes);
}

// A bad part costs nothing but the reduction: the spill files still have all counters.
int pack_load_part(struct pack *pack, const char *index_name) {
    struct pack_part part = {.fd = -1};
    int code = pack->part_count < PART_MOST ? load(pack, index_name, &part) : ERR_LIMIT;
    if (code == 0) code = array_push(pack->parts, pack->part_count, part);
    if (code < 0) free_part(&part);
    return code == -ENOMEM ? code : 0;
}

void pack_free_parts(struct pack *pack) {
    for (size_t i = 0; i < pack->part_count; i++) free_part(&pack->parts[i]);
    free(pack->parts);
    lookup_free(&pack->part_file);
}

static int by_files(const void *a, const void *b) {
    const struct part_head *left = &((const struct pack_part *)a)->head, *right = &((const struct pack_part *)b)->head;
    if (left->files != right->files) return left->files > right->files ? -1 : 1;
    return left->epoch_ns < right->epoch_ns ? -1 : left->epoch_ns > right->epoch_ns;
}

static uint64_t hash_of_file(const struct pack_part *part, uint64_t number) {
    uint64_t hash;
    memcpy(&hash, part->hashes.data + (number - 1) * sizeof hash, sizeof hash);
    return hash;
}

int pack_number_parts(struct pack *pack) {
    if (pack->part_count) qsort(pack->parts, pack->part_count, sizeof *pack->parts, by_files);
    for (size_t i = 0; i < pack->part_count; i++) {
        const struct pack_part *part = &pack->parts[i];
        for (uint64_t number = 1; number <= part->head.files; number++) {
            uint64_t hash = hash_of_file(part, number);
            bool is_known = i && lookup_find(&pack->part_file, hash) != LOOKUP_NONE;
            RETURN_IF(pack->part_files >= UINT32_MAX / 2, ERR_LIMIT);
            if (!is_known) FORWARD(lookup_set(&pack->part_file, hash, ++pack->part_files));
        }
    }
    return 0;
}

struct pack_part *pack_part_of(const struct pack *pack, const struct pack_process *process) {
    for (size_t i = 0; i < pack->part_count; i++) {
        if (process->spill.header.part == pack->parts[i].head.id) return &pack->parts[i];
    }
    return NULL;
}

bool pack_has_handed(const struct pack *pack, const struct pack_process *process) {
    return pack_part_of(pack, process);
}

bool pack_is_handed(const struct pack *pack, const struct pack_process *process, const struct spill_piece *piece) {
    return piece->chunk.kind == CHUNK_COUNTERS && pack_has_handed(pack, process) &&
           piece->offset < process->spill.header.handed_until;
}

uint32_t pack_part_file(const struct pack *pack, const uint8_t *name, size_t len) {
    size_t name_len = strnlen((const char *)name, len);
    const struct field file = {.data = name, .len = name_len};
    const struct field object = {.key = name_len < len, .data = name + name_len + 1, .len = len - name_len - 1};
    uint32_t number = lookup_find(&pack->part_file, hash_name(&file, &object));
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

static int copy_records(struct pack *pack, struct pack_part *part, const struct bytes *raw) {
    (void)part;
    log_writer_records(&pack->writer, raw);
    return 0;
}

int pack_copy_part(struct pack *pack) {
    struct pack_part *part = pack->parts;
    if (!part) return 0;
    if (part->head.blocks == 1) return for_each_block(pack, part, copy_records);
    FORWARD(log_writer_copy(&pack->writer, part->fd, part->head.end));
    for (size_t i = 0; i < part->head.blocks; i++) {
        const struct part_entry entry = pack_part_entry(part, i);
        const struct log_block block = {.type = BLOCK_RECORDS, .stored_len = entry.stored_len};
        FORWARD(log_writer_index(&pack->writer, entry.offset, &block));
    }
    return 0;
}

// Copies records that do not say their file's number, or say that of the part. `key` is for the log's number.
static int put_renumbered(struct pack *pack, unsigned kind, unsigned key, uint32_t number, struct fields_in body) {
    enum { ROOM = 64 };
    struct field field;
    struct fields_out *out = log_writer_begin(&pack->writer, kind, ROOM + (size_t)(body.end - body.at));
    fields_number(out, key, number);
    int more = 1;
    for (const uint8_t *from = body.at; (more = fields_next(&body, &field)) > 0; from = body.at) {
        if (field.key != key) fields_copy(out, (struct fields_in){.at = from, .end = body.at});
    }
    log_writer_end(&pack->writer);
    return more;
}

static int write_renumbered(struct pack *pack, struct pack_part *part, const struct bytes *raw) {
    struct fields_in in = fields_of(raw), body;
    unsigned kind;
    int more;
    while ((more = fields_next_record(&in, &kind, &body)) > 0) {
        part->last_file += kind == RECORD_FILE;
        RETURN_IF(!part->last_file || part->last_file > part->head.files, ERR_FORMAT);
        uint32_t number = lookup_find(&pack->part_file, hash_of_file(part, part->last_file));
        bool is_written = kind == RECORD_FILE && number <= pack->part_files;
        if (is_written) continue;
        if (kind == RECORD_FILE) pack->part_files = number; // they come in the order of their numbers
        unsigned key = kind == RECORD_FILE ? (unsigned)FILE_ID : (unsigned)COUNTERS_FILE;
        FORWARD(put_renumbered(pack, kind, key, number, body));
    }
    return more;
}

// Moments count from rank 0's clock, which is not the job's if that rank ran on another host.
static int64_t start_of(const struct pack *pack, const struct pack_part *part) {
    for (size_t i = 0; i < pack->process_count; i++) {
        const struct pack_process *process = &pack->process[i];
        const struct spill_moment *start = &process->spill.header.start;
        if (process->rank != 1 || pack_part_of(pack, process) != part) continue;
        return (int64_t)(pack_since_start(pack, process->is_local, process->moved_ns, start) + part->head.epoch_ns -
                         start->epoch_ns);
    }
    return (int64_t)(part->head.epoch_ns - pack->start_epoch_ns);
}

static void write_reduction(struct pack *pack, const struct pack_part *part) {
    enum { ROOM = 64 };
    uint32_t process = 0;
    for (size_t i = 0; i < pack->process_count && !process; i++) {
        if (pack_part_of(pack, &pack->process[i]) == part) process = pack_record_id(pack, &pack->process[i]);
    }
    struct fields_out *out = log_writer_begin(&pack->writer, RECORD_REDUCTION, ROOM);
    fields_number(out, REDUCTION_RANKS, part->head.ranks);
    fields_signed(out, REDUCTION_START_NS, start_of(pack, part));
    if (process) fields_number(out, REDUCTION_PROCESS, process);
    log_writer_end(&pack->writer);
}

int pack_write_reductions(struct pack *pack) {
    for (size_t i = 0; i < pack->part_count; i++) {
        struct pack_part *part = &pack->parts[i];
        if (i == 0) pack->part_files = (uint32_t)part->head.files; // are written
        if (i > 0) FORWARD(for_each_block(pack, part, write_renumbered));
        write_reduction(pack, part);
    }
    return 0;
}
