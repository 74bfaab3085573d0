// The state of one import, shared by import.c and import_events.c.
#pragma once

#include "base/lookup.h"
#include "darshan/read.h"
#include "darshan/stored.h"
#include "fmt/stream_put.h"
#include "pack/import.h"
#include "pack/log_writer.h"

// A rank that has records of its own.
struct import_rank {
    int64_t rank;
    char host[DARSHAN_TRACE_HOST_BYTES + 1]; // "": not known
};

struct import_segment {
    struct darshan_segment segment;
    uint32_t file;   // the log's number
    uint32_t number; // as they were read: of equal times the first comes first
};

// A segment of MPI-IO. What POSIX did to the same file within its time is part of it.
struct import_span {
    uint64_t of; // lookup_pair(process, file)
    uint64_t start, end;
    uint32_t stream;
    uint32_t number;
};

struct import {
    const struct darshan_log *from;
    struct log_writer writer;
    struct darshan_part part[DARSHAN_SLOTS]; // of each module
    struct lookup file_by_id;                // record id -> the log's number
    uint32_t files;
    struct import_rank *rank;
    size_t ranks;
    struct lookup rank_by_number; // rank + 1 -> place in `rank`
    struct lookup links;          // lookup_pair(process, file): the process has used it
    uint32_t streams;
    double latest_s; // the last moment in any record
    // Segments of one rank and module, until they are written.
    struct import_segment *segment;
    size_t segments;
    struct import_span *span; // once the module is read, by what they are of and by start
    size_t spans;
    struct bytes payload;
    struct import_result result;
};

// The process of a rank; 0: no rank can have this number.
static inline uint32_t import_process(int64_t rank) { return rank >= 0 && rank < INT32_MAX ? (uint32_t)(rank + 1) : 0; }

// import.c
int import_note_rank(struct import *import, int64_t rank, const char *host);
// The log's number of the file with this record id, which gets a record on first use. A `layout` has its stripes.
int import_add_file(struct import *import, uint64_t id, const struct darshan_record *object,
                    const struct darshan_record *layout, uint32_t *number);

// import_events.c: the segments of a module of DXT as events.
int import_traces(struct import *import, struct darshan_records *records, uint64_t *count);
