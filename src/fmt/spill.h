// The spill file: one per process, written through a shared mapping, so that no completed event is lost however the
// process ends. Little-endian and naturally aligned. Spill files are read on the same kind of machine only; logs are
// portable.
//
//   page 0        struct spill_header
//   then chunks   struct spill_chunk, its payload, up to the next multiple of SPILL_ALIGN
//
// Chunks are claimed by moving `next`. A chunk's header is written before its payload; its `used` grows with each
// complete record. A reader reads `used` bytes of each chunk and nothing else.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "fmt/call.h"
#include "fmt/records.h"
#include "fmt/stream.h"

#define SPILL_SUFFIX ".spill"                 // of the file names
#define SPILL_LOST_SUFFIX ".lost"             // of the link that a process leaves if it cannot make one
#define SPILL_UNFOLLOWED_SUFFIX ".unfollowed" // of a link for each program that runs unseen; it points to the reason
// Jobs without `record`: each user's folder for their directories, with the number of the user behind it.
#define SPILL_USER_FOLDER "/.ioseer-"
// In the directory of such a job: its log waits for processes that outlive the one that began it.
#define SPILL_LATE "/late"
// And of a link there for each host that keeps its spill files in a folder of its own; it points to that.
#define SPILL_AWAY_SUFFIX ".away"
// That folder has the name of the job's directory, this, and the host's name. In it: a link to the job's directory, and
// a file that all processes lock that have a spill file there.
#define SPILL_HOST_SUFFIX ".on-"
#define SPILL_HOST_JOB "/job-directory"
#define SPILL_PRESENCE "/present"
// Reasons
#define UNFOLLOWED_RIGHTS "set-user-id"
#define UNFOLLOWED_UNWANTED "--no-ptrace"
#define UNFOLLOWED_MISSING "ioseer-follow is missing; build or install ioseer again"
#define UNFOLLOWED_FORBIDDEN "ptrace is not permitted"
#define UNFOLLOWED_CLOSED "started by a descriptor that exec closes"
#define UNFOLLOWED_FAILED "ioseer-follow could not be started"
#define SPILL_MAGIC 0x3150534545534f49ull // "IOSEESP1"
#define SPILL_CHUNK_MAGIC 0x4b4e4843u     // "CHNK"

enum {
    SPILL_VERSION = 1,
    SPILL_HEADER_BYTES = 4096,
    SPILL_ALIGN = 4096,
    SPILL_CHUNK_HEADER_BYTES = 256,
};

enum spill_chunk_kind {
    CHUNK_EVENTS = 1,   // an event stream (fmt/stream.h)
    CHUNK_RECORDS = 2,  // tagged records (fmt/fields.h)
    CHUNK_COUNTERS = 3, // struct spill_counters, one after the other
};

// One moment on both clocks: `units` of the event clock (already shifted), nanoseconds of CLOCK_MONOTONIC and since the
// epoch.
struct spill_moment {
    uint64_t units;
    uint64_t mono_ns;
    uint64_t epoch_ns;
};

// Reads all clocks. If something comes in between, as another process on this processor, they are read again.
static inline struct spill_moment spill_moment_now(uint64_t (*counter)(void)) {
    enum { MOST_TRIES = 8, GOOD_NS = 1000 };
    struct spill_moment best = {0};
    uint64_t best_ns = UINT64_MAX;
    for (unsigned i = 0; i < MOST_TRIES && best_ns > GOOD_NS; i++) {
        uint64_t before = clock_ns(CLOCK_MONOTONIC);
        struct spill_moment now = {.units = counter()};
        now.epoch_ns = clock_ns(CLOCK_REALTIME);
        uint64_t needed = clock_ns(CLOCK_MONOTONIC) - before;
        if (needed >= best_ns) continue;
        now.mono_ns = before + needed / 2;
        best = now;
        best_ns = needed;
    }
    return best;
}

enum { SPILL_LOSSES = 24 };

struct spill_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t pid;
    uint32_t ppid;
    uint32_t uid;
    uint32_t clock_is_ns; // 1: units are clock_gettime's nanoseconds >> unit_shift; 0: the CPU's counter >> unit_shift
    uint32_t unit_shift;
    uint32_t image; // 0 for the first spill this process image made; counts forks without exec
    struct spill_moment start;
    struct spill_moment latest; // the last calibration; renewed with every chunk and at the end
    _Atomic uint64_t capacity;  // bytes of the file that may be used
    _Atomic uint64_t next;      // where the next chunk will be
    _Atomic uint32_t streams;   // number of event streams so far
    _Atomic uint32_t exit;      // enum process_exit
    uint32_t exit_value;
    _Atomic uint32_t trace_ended;        // enum loss_reason
    uint64_t chars_start[2];             // rchar, wchar at the recorder's start
    uint64_t chars_end[2];               // and at the end
    uint32_t chars_known;                // bit 0: start known, bit 1: end known
    uint32_t own_chars;                  // what the recorder itself read since then
    _Atomic uint64_t lost[SPILL_LOSSES]; // events lost, by enum loss_reason
    _Atomic uint64_t exit_stdio_bytes;   // in stdio buffers at exit: libc writes them after the recorder's end
    _Atomic uint32_t raw_rings;          // io_urings that the program made by system calls of its own
    uint32_t cpu_wait_known;
    uint64_t cpu_wait_ns; // how long the main thread was runnable but did not run
    uint32_t counts_all;  // 1: the counters count all calls; events are some of these, chosen by triggers
    // Counters in chunks before this offset are in the job's part (fmt/part.h) with this number, once that exists.
    uint64_t handed_until;
    _Atomic uint64_t part;
    uint64_t handed_bytes[2][LAYER_COUNT]; // what these counters have: bytes read, bytes written
};

// A message and its answer, in clock units of the two processes.
struct clock_sample {
    uint64_t sent, answered;    // by the clock of the process that sent the message
    uint64_t received, replied; // by the other's
};

struct spill_tally {
    uint64_t left_out[2][LEFT_OUT_COUNT]; // bytes read, bytes written
    uint64_t left_out_calls;
    uint64_t stdio_kernel[2];                   // bytes stdio read from and wrote to the kernel on included files
    struct stream_comm comm[STREAM_COMM_KINDS]; // communication that is not, or not yet, in the stream
    uint64_t io_units;                          // time in calls that are not in the stream, without calls inside others
};

struct spill_chunk {
    uint32_t magic;
    uint32_t kind;
    uint32_t bytes;        // of the whole chunk, header included
    _Atomic uint32_t used; // bytes of payload that are complete
    uint32_t stream;
    uint32_t tid;
    uint64_t first_number;
    uint64_t base; // clock units
    uint64_t tick;
    struct spill_tally tally; // of the stream's thread while this was its current chunk
};

_Static_assert(sizeof(struct spill_header) <= SPILL_HEADER_BYTES, "the header fits its page");
_Static_assert(sizeof(struct spill_chunk) <= SPILL_CHUNK_HEADER_BYTES, "the chunk header fits");
