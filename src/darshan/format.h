// Bytes of Darshan's logs. A log is a header, the job, the table of names, then one region per module; all but the
// header are compressed. Everything is as in the memory of the machine that wrote it, in its byte order.
#pragma once

#include <stdint.h>

#define DARSHAN_MAGIC INT64_C(6567223)
#define DARSHAN_NEWEST "3.41"

enum {
    DARSHAN_VERSION_BYTES = 8, // text; the magic follows
    DARSHAN_MAGIC_AT = 8,
    DARSHAN_CODEC_AT = 16, // one byte
    // Version 3.41: maps and versions of 64 modules. A map is offset and length, 8 bytes each.
    DARSHAN_PARTIAL_AT = 24, // 8 bytes, bit i: module i is incomplete
    DARSHAN_NAMES_AT = 32,   // the map of the table of names
    DARSHAN_MAPS_AT = 48,
    DARSHAN_VERSIONS_AT = 1072, // 4 bytes each
    DARSHAN_HEADER_BYTES = 1328,
    // Older versions: 16 modules.
    DARSHAN_OLD_SLOTS = 16,
    DARSHAN_OLD_PARTIAL_AT = 20, // 4 bytes
    DARSHAN_OLD_NAMES_AT = 24,
    DARSHAN_OLD_MAPS_AT = 40,
    DARSHAN_OLD_VERSIONS_AT = 296,
    DARSHAN_OLD_HEADER_BYTES = 360,

    // The job: numbers of 8 bytes, then text of a fixed length, then the command and the mounts.
    DARSHAN_JOB_NUMBERS = 7,     // user, start and end in seconds and nanoseconds each, processes, job
    DARSHAN_OLD_JOB_NUMBERS = 5, // without nanoseconds
    DARSHAN_METADATA_BYTES = 1024,
    DARSHAN_JOB_BYTES = 4096, // of all, at most

    DARSHAN_BASE_BYTES = 16, // record id, rank: every record begins with them

    // Lustre. A part of a file is seven numbers and the name of its pool.
    DARSHAN_LAYOUT_NUMBERS = 7,
    DARSHAN_LAYOUT_POOL_BYTES = 16,
    DARSHAN_LAYOUT_PART_BYTES = DARSHAN_LAYOUT_NUMBERS * 8 + DARSHAN_LAYOUT_POOL_BYTES,
    DARSHAN_OLD_LAYOUT_NUMBERS =
        5, // of version 1: servers of two kinds, first server, bytes on one, servers of the file

    // Heat map: width of a bin, number of bins, two words without meaning.
    DARSHAN_BINS_HEAD_BYTES = 32,

    // DXT: shared or not, host, numbers of writes and reads; then the writes, then the reads.
    DARSHAN_TRACE_HEAD_BYTES = 88,
    DARSHAN_TRACE_HOST_BYTES = 64,
    DARSHAN_SEGMENT_BYTES = 32,        // offset, length, start, end
    DARSHAN_SEGMENT_THREAD_BYTES = 40, // the same, and a thread
    DARSHAN_DXT_POSIX_THREADS = 2,     // the version from which segments have a thread
    DARSHAN_DXT_MPIIO_THREADS = 3,
    DARSHAN_DXT_MPIIO_OFFSETS = 2, // the version from which offsets are true
};

enum darshan_codec { DARSHAN_ZLIB, DARSHAN_BZIP2, DARSHAN_PLAIN, DARSHAN_CODECS };

// The numbers of a Lustre part.
enum darshan_layout {
    DARSHAN_STRIPE_SIZE, // -1: this part and those after it are not in use
    DARSHAN_STRIPE_COUNT,
    DARSHAN_STRIPE_PATTERN,
    DARSHAN_STRIPE_FLAGS,
    DARSHAN_EXTENT_START,
    DARSHAN_EXTENT_END,
    DARSHAN_MIRROR_ID
};
