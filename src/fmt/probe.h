// What the probes of a stack write (src/stack/probe), and where they find out whether anybody listens.
//
// A probe is an instance of the translator at one place of one GlusterFS process. It has one file:
//
//   page 0           struct probe_header
//   then segments    PROBE_SEGMENT_RECORDS records of 64 bytes each
//
// A record's place is claimed when the call begins and never used again; the file only grows. The id of a record is
// its probe's number and its place. A call hands its id to the calls below it, so each of them knows its parent. The
// `end_ns` of a record is stored last: a record without it is of a call that never returned, or is not yet over.
// Segments that nobody needs any more become holes.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define PROBE_MAGIC 0x31424f5250534f49ull // "IOSPROB1"
#define PROBE_SUFFIX ".probe"             // of the file names
#define STACK_SUFFIX ".stack"             // of the file beside their copies that describes the stack

enum {
    PROBE_VERSION = 1,
    PROBE_HEADER_BYTES = 4096,
    PROBE_SEGMENT_RECORDS = 1 << 14, // 1 MiB
    PROBE_NO_SERVER = 0xffff,
    PROBE_RECORDERS = 32,
};

// The operations, by the names that the calls of each layer have behind the layer's own (calls/stack.calls). Numbers
// are in files of stacks that run: append only.
#define PROBE_OPERATIONS(OPERATION)                                                                                    \
    OPERATION(readv)                                                                                                   \
    OPERATION(writev)                                                                                                  \
    OPERATION(open)                                                                                                    \
    OPERATION(create)                                                                                                  \
    OPERATION(opendir)                                                                                                 \
    OPERATION(flush)                                                                                                   \
    OPERATION(fsync)                                                                                                   \
    OPERATION(fsyncdir)                                                                                                \
    OPERATION(lookup)                                                                                                  \
    OPERATION(stat)                                                                                                    \
    OPERATION(fstat)                                                                                                   \
    OPERATION(access)                                                                                                  \
    OPERATION(readlink)                                                                                                \
    OPERATION(statfs)                                                                                                  \
    OPERATION(readdir)                                                                                                 \
    OPERATION(readdirp)                                                                                                \
    OPERATION(mknod)                                                                                                   \
    OPERATION(mkdir)                                                                                                   \
    OPERATION(symlink)                                                                                                 \
    OPERATION(link)                                                                                                    \
    OPERATION(unlink)                                                                                                  \
    OPERATION(rmdir)                                                                                                   \
    OPERATION(rename)                                                                                                  \
    OPERATION(truncate)                                                                                                \
    OPERATION(ftruncate)                                                                                               \
    OPERATION(fallocate)                                                                                               \
    OPERATION(discard)                                                                                                 \
    OPERATION(zerofill)                                                                                                \
    OPERATION(seek)                                                                                                    \
    OPERATION(setattr)                                                                                                 \
    OPERATION(fsetattr)                                                                                                \
    OPERATION(setxattr)                                                                                                \
    OPERATION(fsetxattr)                                                                                               \
    OPERATION(getxattr)                                                                                                \
    OPERATION(fgetxattr)                                                                                               \
    OPERATION(removexattr)                                                                                             \
    OPERATION(fremovexattr)                                                                                            \
    OPERATION(xattrop)                                                                                                 \
    OPERATION(fxattrop)                                                                                                \
    OPERATION(lk)                                                                                                      \
    OPERATION(inodelk)                                                                                                 \
    OPERATION(finodelk)                                                                                                \
    OPERATION(entrylk)                                                                                                 \
    OPERATION(fentrylk)                                                                                                \
    OPERATION(copy_file_range)                                                                                         \
    OPERATION(rchecksum)                                                                                               \
    OPERATION(ipc)                                                                                                     \
    OPERATION(other)

enum probe_operation {
    PROBE_none, // a place that was claimed but not filled
#define PROBE_OPERATION(name) PROBE_##name,
    PROBE_OPERATIONS(PROBE_OPERATION)
#undef PROBE_OPERATION
        PROBE_operations,
    // Not calls: what the probe above the network saw of its server. Such a record has a start and an end at once.
    PROBE_connected = 200,
    PROBE_disconnected = 201,
};

// One moment on two clocks of one host.
struct probe_moment {
    uint64_t mono_ns; // CLOCK_MONOTONIC
    uint64_t epoch_ns;
};

struct probe_header {
    uint64_t magic;
    uint32_t version;
    uint16_t number; // of this probe in its stack, from 1
    uint16_t server; // from 0; PROBE_NO_SERVER: the client
    uint32_t layer;  // enum call_layer: LAYER_CLIENT, LAYER_NET, LAYER_SERVER, LAYER_DISK
    uint32_t pid;
    char host[256];
    struct probe_moment start;
    struct probe_moment latest; // renewed with every segment
    uint64_t first;             // the first place in this file that counts: 0, or where a copy of it begins
    _Atomic uint64_t next;      // the next free place
    _Atomic uint64_t lost;      // calls without a record, because there was no room
};

struct probe_record {
    uint64_t parent;         // id of the call above; 0: none
    uint64_t start_ns;       // CLOCK_MONOTONIC
    _Atomic uint64_t end_ns; // 0: not over
    uint64_t offset;
    uint64_t size;
    uint64_t inode; // the number that stat shows for the file at the mount; 0: not known
    int32_t result; // bytes of a transfer; -1 on an error
    uint32_t tid;   // the application's thread, as the client knows it; 0: none (the kernel's own work)
    uint16_t operation;
    uint16_t error; // errno
    uint32_t flags; // of open and create; else 0
};

_Static_assert(sizeof(struct probe_header) <= PROBE_HEADER_BYTES, "the header fits its page");
_Static_assert(sizeof(struct probe_record) == 64, "records are 64 bytes");

enum { PROBE_PLACE_BITS = 48 };
static inline uint64_t probe_id(unsigned number, uint64_t place) {
    return (uint64_t)number << PROBE_PLACE_BITS | (place + 1);
}
static inline unsigned probe_id_number(uint64_t id) { return (unsigned)(id >> PROBE_PLACE_BITS); }
static inline uint64_t probe_id_place(uint64_t id) { return (id & ((1ull << PROBE_PLACE_BITS) - 1)) - 1; }

// The stack's page that all its probes map: they record while `recording` is not 0. Each recording has an entry, so
// that one that was killed can be found and taken out.
struct probe_control {
    _Atomic uint32_t recording; // number of entries in use
    uint32_t reserved;
    struct probe_recorder {
        _Atomic uint32_t pid; // 0: free
        uint32_t reserved;
        uint64_t start_ticks; // when the process began, field 22 of /proc/PID/stat: its number may be used again
    } recorder[PROBE_RECORDERS];
};
