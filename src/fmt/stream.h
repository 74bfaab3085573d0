// Event streams: what one thread did, call after call, in two to six bytes per call.
//
// A stream is written and read in chunks. Every chunk can be decoded by itself: the table of slots is empty at its
// start. A *slot* stands for "this call on this open file". It remembers the last transfer and expects the next one to
// continue the run: same size, the offset moved by the same displacement. A call that does so is one head byte and its
// times.
//
//   record := head byte (slot << 2 | form), then by form
//     FORM_RUN       continues the run
//     FORM_MOVE      varint folded displacement from the slot's last offset; it becomes the run's displacement
//     FORM_RESIZE    the same, then varint size; the run is expected to go on without a gap (displacement = size)
//     FORM_EXTENDED  one byte, enum stream_kind, then by kind
//   An event (the first three forms and KIND_EVENT) ends with varint gap, varint duration: clock units from the end of
//   the stream's last event to this one's start, and from its start to its end. The first gap counts from the chunk's
//   base.
//
// A slot's state is (last offset, displacement, size), all 0 when it is defined; the next event is expected at last +
// displacement with the same size. Every event that has an offset sets `last` to it. A displacement given by FORM_MOVE
// or EVENT_OFFSET becomes the slot's, unless the same record gives a size: then the displacement becomes that size.
// KIND_EVENT without EVENT_OFFSET is at the expected offset; with EVENT_NO_OFFSET it does not change `last` and
// displacement (a given size still becomes the slot's). Calls that never have an offset stay at 0.
//
// Events are numbered in the order in which they first appear. A call with children is announced by KIND_BEGIN before
// the first of them. Its own event comes when it returns, is marked EVENT_ENDS_BEGUN, and has the number of the
// announcement. Events between the two are its children.
//
// A call that is over before its event can be written, because it submitted a transfer, leaves by KIND_LEAVE. Its event
// comes when the completion is seen, in any stream. ATTRIBUTE_OWN_NUMBER (and ATTRIBUTE_OWN_STREAM in another stream)
// names its announcement. It takes no new number, and calls that are open around it are not its parent: only attributes
// can name a parent.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"
#include "fmt/call.h"
#include "fmt/communicator.h"

// No record, together with what must come before it, is longer than STREAM_MAX_RECORD bytes.
enum { STREAM_SLOTS = 64, STREAM_MAX_RECORD = 2048, STREAM_MAX_DEPTH = 32, STREAM_MAX_PARTNERS = 64 };

enum stream_form { FORM_RUN, FORM_MOVE, FORM_RESIZE, FORM_EXTENDED };

enum stream_kind {
    KIND_EVENT = 0,    // varint flags (enum event_flag), the fields they announce in that order, gap, duration
    KIND_SLOT = 1,     // defines the head's slot: varint call, file, handle, flags (enum slot_flag) [, call site]
    KIND_THREAD = 2,   // varint thread id: the following events are of this thread
    KIND_BEGIN = 3,    // takes the next number; the call is the parent of what follows, until its own event
    KIND_REOPEN = 4,   // varint number: at a chunk's start, a call announced in an earlier chunk; outermost first
    KIND_LOST = 5,     // varint enum loss_reason, varint number of events
    KIND_COMM = 6,     // varint advance of the tick, varint mask of enum stream_comm_kind, then for each bit varint
                       // number, bytes, clock units: communication since the last event
    KIND_LEAVE = 7,    // closes the innermost announced call; its event comes later, by its number
    KIND_PARTNERS = 8, // behind KIND_COMM: varint number of entries, each varint communicator << 3 | enum
                       // partner_role, varint peer, varint number of calls, in the order of first use
};

enum stream_comm_kind { COMM_SYNCHRONISING, COMM_MOVING, COMM_COMPLETING, STREAM_COMM_KINDS };

struct stream_comm {
    uint64_t count;
    uint64_t bytes;
    uint64_t units; // in a log event: of its process's clock
};

// With whom a thread communicated between two events.
struct stream_partner {
    uint32_t comm; // the process's number of RECORD_COMMUNICATOR
    uint32_t role; // enum partner_role
    uint32_t peer; // rank in the communicator: of the root, the receiver or the sender
    uint64_t count;
};

enum event_flag {
    EVENT_OFFSET = 1 << 0,       // varint folded displacement from the slot's last offset; absent: the run's
    EVENT_SIZE = 1 << 1,         // varint; absent: the slot's
    EVENT_RESULT = 1 << 2,       // varint folded; absent: the size for transfers, else 0
    EVENT_ERROR = 1 << 3,        // varint errno; the result is then -1 unless given
    EVENT_NEGATIVE_GAP = 1 << 4, // the gap counts backwards
    EVENT_ENDS_BEGUN = 1 << 5,   // this is the innermost announced call
    EVENT_ATTRIBUTES = 1 << 6,   // varint count, then (varint enum event_attribute, varint value) each
    EVENT_NO_OFFSET = 1 << 7,    // the offset is not known
    EVENT_NO_RESULT = 1 << 8,    // the result was not seen (asynchronous)
};

enum slot_flag {
    SLOT_UNALIGNED = 1 << 0, // the memory is not a multiple of 8
    SLOT_CALLSITE = 1 << 1,  // a varint call site number follows
    SLOT_STEP = 1 << 2,      // file and handle are folded differences from those of the slot that was defined before
};

enum event_attribute {
    ATTRIBUTE_FLAGS = 0, // open flags, fcntl command …, as the call got them
    ATTRIBUTE_MODE = 1,
    ATTRIBUTE_FD = 2,
    ATTRIBUTE_FILE_SIZE = 3, // at open
    ATTRIBUTE_FILE2 = 4,     // the other file: rename's and link's target
    ATTRIBUTE_CALL_TIME = 5, // clock units inside calls, for asynchronous ones
    ATTRIBUTE_PARENT_STREAM = 6,
    ATTRIBUTE_PARENT_NUMBER = 7,
    ATTRIBUTE_WHENCE = 8,
    ATTRIBUTE_PIECES = 9, // vector length
    ATTRIBUTE_VIEW_OFFSET = 10,
    ATTRIBUTE_COMM_SIZE = 11, // of MPI_File_open's communicator
    ATTRIBUTE_ETYPE_BYTES = 12,
    ATTRIBUTE_FILETYPE_BYTES = 13,
    ATTRIBUTE_FILETYPE_EXTENT = 14,
    ATTRIBUTE_OWN_STREAM = 15, // the process's own number of the stream in which the call was announced
    ATTRIBUTE_OWN_NUMBER = 16, // and the number that the announcement took
    ATTRIBUTE_TICK = 17,       // at submission, for asynchronous calls
    ATTRIBUTE_HINTS = 18,      // 1 if the call had an info object
    ATTRIBUTE_HINTS_ID = 19,   // the process's number of RECORD_HINTS: what was asked for and what is in force
    ATTRIBUTE_ETYPE = 20,      // of a file view: the process's number of RECORD_DATATYPE
    ATTRIBUTE_FILETYPE = 21,
    ATTRIBUTE_DATATYPE = 22,    // of a transfer whose memory is not contiguous
    ATTRIBUTE_COMM = 23,        // of MPI_File_open: the process's number of RECORD_COMMUNICATOR
    ATTRIBUTE_SELECTION = 24,   // of a transfer of a dataset: the process's number of RECORD_SELECTION
    ATTRIBUTE_DATASET = 25,     // of a call that opens or extends a dataset: the process's number of RECORD_DATASET
    ATTRIBUTE_COLLECTIVE = 26,  // 1: all processes make the call together, as its property list says
    ATTRIBUTE_MAPPED_READ = 27, // of munmap, mremap, msync: estimated bytes, by enum mapped_kind
    ATTRIBUTE_MAPPED_DIRTY = 28,
    ATTRIBUTE_MAPPED_COPIED = 29,
    ATTRIBUTE_SERVER = 30, // of a call at or below the network: the number of the server, from 0
    ATTRIBUTE_LIMIT = 32
};

#define STREAM_NO_PARENT UINT64_MAX

struct stream_event {
    uint64_t number;        // within its stream
    uint32_t stream;        // this chunk's own unless the event says otherwise (ATTRIBUTE_OWN_STREAM)
    uint64_t parent_number; // or STREAM_NO_PARENT
    uint32_t parent_stream; // meaningful with a parent; this chunk's own unless the event says otherwise
    uint32_t tid;
    uint32_t call;
    uint32_t file;     // the process's own number, 0 for none
    uint32_t handle;   // counts the process's opens: which open file it went through
    uint32_t callsite; // 0 for none
    uint64_t offset;
    uint64_t size;
    int64_t result;
    int error;
    bool has_offset;
    bool has_result;
    bool unaligned;
    uint64_t start; // clock units
    uint64_t duration;
    uint64_t tick;
    uint32_t comm_mask; // bit n: comm[n] is set: communication since the stream's last event
    struct stream_comm comm[STREAM_COMM_KINDS];
    uint64_t comm_number;   // with comm_mask: the call around this one that followed it; STREAM_NO_PARENT: this one
    uint32_t partner_count; // with comm_mask
    const struct stream_partner *partners; // with comm_mask; valid until the next event is decoded
    uint32_t attribute_mask;               // bit n: attribute[n] is set
    uint64_t attribute[ATTRIBUTE_LIMIT];
};

struct stream_slot_state {
    bool defined;
    bool unaligned;
    uint8_t traits; // of the call, enum call_trait
    uint32_t call;
    uint32_t file;
    uint32_t handle;
    uint32_t callsite;
    uint64_t last;
    int64_t displacement;
    uint64_t size;
};

struct stream_decoder {
    const uint8_t *at;
    const uint8_t *end;
    const uint8_t *traits; // as in struct stream_start
    uint32_t traits_len;
    uint32_t stream;
    uint32_t tid;
    uint64_t next_number;
    uint64_t clock; // end of the last event
    uint64_t tick;
    uint32_t comm_mask; // for the next event; after the last event, what followed it
    struct stream_comm comm[STREAM_COMM_KINDS];
    uint64_t comm_number;   // of the first call announced since; STREAM_NO_PARENT without one
    uint32_t partner_count; // with comm_mask
    struct stream_partner partners[STREAM_MAX_PARTNERS];
    unsigned depth;
    uint64_t open_numbers[STREAM_MAX_DEPTH];
    uint64_t lost;                   // sum of the KIND_LOST records seen so far
    uint32_t last_file, last_handle; // of the slot that was defined last; 0 before
    struct stream_slot_state slot[STREAM_SLOTS];
};

struct stream_start {
    uint32_t stream;
    uint32_t tid;
    uint64_t first_number;
    uint64_t base; // clock units
    uint64_t tick;
    const uint8_t *traits; // of the calls by id, from the log; NULL: those of this build (call_table)
    uint32_t traits_len;
};

void stream_decoder_init(struct stream_decoder *d, const struct stream_start *start, const uint8_t *data, size_t len);

// An event of the first three forms: a call that went as expected.
struct stream_plain {
    unsigned slot;
    uint64_t start; // clock units
    uint64_t duration;
};

// The fast path of stream_decode for callers that use the slot's state. Returns 1 with an event, whose offset and size
// are the slot's `last` and `size`. Returns 0, and does nothing, if another kind of record follows, or if the event
// carries communication or has a parent.
static inline int stream_decode_plain(struct stream_decoder *d, struct stream_plain *plain) {
    enum { LONGEST = 1 + 4 * VARINT_MAX_BYTES };
    if (d->end - d->at < LONGEST || (*d->at & 3) == FORM_EXTENDED || d->comm_mask || d->depth) return 0;
    const uint8_t *at = d->at;
    unsigned head = *at++;
    struct stream_slot_state *slot = &d->slot[head >> 2];
    if (!slot->defined) return 0;
    int64_t displacement = slot->displacement;
    uint64_t size = slot->size, value, duration;
    if ((head & 3) != FORM_RUN) {
        if (!(at = varint_get_inside(at, &value))) return 0;
        displacement = varint_unfold(value);
        if ((head & 3) == FORM_RESIZE && !(at = varint_get_inside(at, &size))) return 0;
    }
    if (!(at = varint_get_inside(at, &value)) || !(at = varint_get_inside(at, &duration))) return 0;
    d->at = at;
    plain->slot = head >> 2;
    plain->start = d->clock + value;
    plain->duration = duration;
    d->clock = plain->start + duration;
    d->next_number++;
    slot->last += (uint64_t)displacement;
    slot->size = size;
    slot->displacement = (head & 3) == FORM_RESIZE ? (int64_t)size : displacement;
    return 1;
}

// The bytes that an event moved: none if its call does not transfer, failed, or has an unknown result.
static inline uint64_t stream_moved(unsigned traits, const struct stream_event *event) {
    return traits & CALL_TRANSFERS && event->has_result && event->result > 0 ? (uint64_t)event->result : 0;
}

// Adds to a list with room for STREAM_MAX_PARTNERS. The last place is for what does not fit.
void stream_add_partner(struct stream_partner *list, uint32_t *count, struct stream_partner partner);

// Returns 1 with the next event, 0 at the end, a negative code on damage; the events before that are good.
// Only the attributes whose bit is set in attribute_mask are written.
int stream_decode(struct stream_decoder *d, struct stream_event *event);
