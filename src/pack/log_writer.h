// Writes a log under a temporary name and renames it when it is complete. Blocks are written as they come; only the
// index is kept in memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "fmt/block.h"
#include "fmt/call.h"
#include "fmt/fields.h"

struct log_writer {
    int fd;
    char *path;
    char *beside; // the temporary name; NULL once it is renamed
    uint64_t offset;
    struct bytes stored;   // the block that is written next
    struct bytes records;  // of the next block of records
    struct fields_out out; // the current record, at the end of `records`
    int error;             // the first one, 0 or a negative code
    struct bytes index;    // RECORD_BLOCK records so far
    bool has_events;       // otherwise the log has no index
    bool has_source;       // what the log is made from stays: it need not be on the disk at once
    uint32_t blocks;       // of events so far
    struct log_queue
        *queue; // of a long log: a thread stores its blocks; offset, stored and index are its own meanwhile
};

// What the index says about an event block in addition to the block's header.
struct log_summary {
    uint32_t process;
    uint64_t count[CLASS_COUNT];
    uint64_t bytes[CLASS_COUNT];
    uint64_t duration_ns[CLASS_COUNT];
};

// Adds an event that moved so many bytes.
static inline void log_summary_add(struct log_summary *summary, unsigned class, uint64_t duration, uint64_t moved) {
    if (class >= CLASS_COUNT) class = CLASS_NONE;
    summary->count[class]++;
    summary->bytes[class] += moved;
    summary->duration_ns[class] += duration;
}

// Turns the sums of clock units into nanoseconds.
struct clock_map;
void log_summary_end(struct log_summary *summary, const struct clock_map *clock);

// End it with log_writer_publish or log_writer_abandon, whatever this returns.
int log_writer_open(struct log_writer *w, const char *path, const struct log_header *header);

// 0 if a log may get this name: nothing is there, or with `replace` a regular file or symbolic link. Else
// ERR_EXISTS: renaming over a device would remove it for every program.
int log_writer_may_replace(const char *path, bool replace);

// Removes the unfinished log of a process that was killed.
void log_writer_remove_unfinished(const char *path, int pid);

// A record of up to `room` bytes of fields: put them into the result of begin, then end. An error stays in `error`, and
// log_writer_flush and log_writer_publish return it.
struct fields_out *log_writer_begin(struct log_writer *w, unsigned kind, size_t room);
void log_writer_end(struct log_writer *w);

// The same for callers that write whole records themselves.
struct fields_out *log_writer_room(struct log_writer *w, size_t room);
void log_writer_added(struct log_writer *w);

// Adds records as they are.
void log_writer_records(struct log_writer *w, const struct bytes *records);

// Writes the records so far as one block.
int log_writer_flush(struct log_writer *w);

// Copies the first `end` bytes of a file, but for the header: blocks as they are. Then say where each of them is. Both
// only right after log_writer_open.
int log_writer_copy(struct log_writer *w, int fd, uint64_t end);
int log_writer_index(struct log_writer *w, uint64_t offset, const struct log_block *block);

// Writes the records so far, then events.
int log_writer_events(struct log_writer *w, struct log_block *block, const uint8_t *raw, size_t len,
                      const struct log_summary *summary);

// Index and trailer, then the final name. Without `replace` a log of that name is never overwritten (ERR_EXISTS).
int log_writer_publish(struct log_writer *w, bool replace);

// Releases everything and removes what was written, unless it was published.
void log_writer_abandon(struct log_writer *w);
