// What the ranks of an MPI program leave in the job's directory at MPI_Finalize: the blocks of their reduced counters,
// as they go into the log, and an index of these blocks. The index gets its name last: with it, the counters in the
// ranks' spill files that the part has do not count any more. Further programs of the job have names with a number
// behind them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PART_BLOCKS "reduced.part"
#define PART_INDEX "reduced.index"
#define PART_INDEX_NEW "reduced.new" // before it is complete
enum { PART_NAME_ROOM = 32, PART_MOST = 1000 };
void part_file_name(char out[PART_NAME_ROOM], const char *name, uint64_t number); // one of these; numbers begin with 0

// Behind the name of a launch, or this one: a rank has not waited for the others.
#define PART_GIVEN_UP ".not"
#define PART_NO_LAUNCH "reduced"

enum { PART_HEAD_BYTES = 80, PART_ENTRY_BYTES = 16 };

struct part_head {
    uint64_t id;       // as in struct spill_header
    uint64_t end;      // bytes of PART_BLOCKS; the first LOG_HEADER_BYTES are left free
    uint64_t blocks;   // entries of the index
    uint64_t files;    // their numbers in the log are 1 to this
    uint64_t ranks;    // of the world
    uint64_t epoch_ns; // moments count from here
};

struct part_entry {
    uint64_t offset;
    uint32_t stored_len;
};

// The record id of a file by its name in a part: an object has the name of its file, a zero byte, its path.
uint64_t part_record_id(const char *name, size_t len);

void part_head_put(uint8_t out[PART_HEAD_BYTES], const struct part_head *head);
int part_head_get(const uint8_t in[PART_HEAD_BYTES], struct part_head *head); // checks magic and hash
void part_entry_put(uint8_t out[PART_ENTRY_BYTES], const struct part_entry *entry);
struct part_entry part_entry_get(const uint8_t in[PART_ENTRY_BYTES]);
