#include "fmt/part.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "fmt/record_id.h"

// Both files are read on hosts of one cluster, by the same build.
static const uint8_t magic[8] = {0x89, 'I', 'O', 'P', 'A', 'R', 'T', '2'};

enum { HASHED_BYTES = PART_HEAD_BYTES - sizeof(uint64_t) };
_Static_assert(sizeof magic + sizeof(struct part_head) <= HASHED_BYTES, "the head fits");

uint64_t part_record_id(const char *name, size_t len) {
    size_t name_len = strnlen(name, len);
    return name_len < len ? record_id(name, name_len, name + name_len + 1, len - name_len - 1)
                          : record_id(name, name_len, NULL, 0);
}

void part_file_name(char out[PART_NAME_ROOM], const char *name, uint64_t number) {
    snprintf(out, PART_NAME_ROOM, number ? "%.16s.%" PRIu16 : "%.16s", name, (uint16_t)number);
}

void part_head_put(uint8_t out[PART_HEAD_BYTES], const struct part_head *head) {
    memset(out, 0, PART_HEAD_BYTES);
    memcpy(out, magic, sizeof magic);
    memcpy(out + sizeof magic, head, sizeof *head);
    uint64_t hash = hash_bytes(0, out, HASHED_BYTES);
    memcpy(out + HASHED_BYTES, &hash, sizeof hash);
}

int part_head_get(const uint8_t in[PART_HEAD_BYTES], struct part_head *head) {
    uint64_t hash = hash_bytes(0, in, HASHED_BYTES);
    RETURN_IF(memcmp(in, magic, sizeof magic) || memcmp(in + HASHED_BYTES, &hash, sizeof hash), ERR_FORMAT);
    memcpy(head, in + sizeof magic, sizeof *head);
    return 0;
}

void part_entry_put(uint8_t out[PART_ENTRY_BYTES], const struct part_entry *entry) {
    memset(out, 0, PART_ENTRY_BYTES);
    memcpy(out, &entry->offset, sizeof entry->offset);
    memcpy(out + sizeof entry->offset, &entry->stored_len, sizeof entry->stored_len);
}

struct part_entry part_entry_get(const uint8_t in[PART_ENTRY_BYTES]) {
    struct part_entry entry;
    memcpy(&entry.offset, in, sizeof entry.offset);
    memcpy(&entry.stored_len, in + sizeof entry.offset, sizeof entry.stored_len);
    return entry;
}
