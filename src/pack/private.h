// The state of one packing, shared by the files of this folder.
#pragma once

#include "base/bytes.h"
#include "base/lookup.h"
#include "base/text_list.h"
#include "fmt/clock_map.h"
#include "fmt/counters.h"
#include "fmt/part.h"
#include "fmt/spill.h"
#include "pack/callsites.h"
#include "pack/file_table.h"
#include "pack/log_writer.h"
#include "pack/pack.h"
#include "pack/spill_read.h"
#include "pack/stack.h"

// Two readings of the same clocks may differ by this much. A process whose readings agree with the host's clock uses
// the host's clock: then events of different processes are in the right order.
#define PACK_SAME_CLOCK_NS INT64_C(20000)

// Records that many processes have in common, and those that say which of them a process uses.
enum { PACK_DATATYPE, PACK_HINTS, PACK_SELECTION, PACK_DATASET, PACK_UNIQUE };
static const struct {
    unsigned kind, link;
} pack_unique[PACK_UNIQUE] = {
    [PACK_DATATYPE] = {RECORD_DATATYPE, RECORD_PROCESS_DATATYPE},
    [PACK_HINTS] = {RECORD_HINTS, RECORD_PROCESS_HINTS},
    [PACK_SELECTION] = {RECORD_SELECTION, RECORD_PROCESS_SELECTION},
    [PACK_DATASET] = {RECORD_DATASET, RECORD_PROCESS_DATASET},
};

// One spill file: a process, or one of the program images of a process that exec'ed.
struct pack_process {
    char *name;             // of the file
    char *bundle;           // that the file is in; NULL: it is in the directory itself
    uint64_t bundle_offset; // of its entry there
    struct spill spill;
    uint32_t id;        // its place + 1
    char host[256];     // "" if it is not known
    char *exe;          // NULL if it is not known
    uint64_t rank;      // of MPI, + 1
    bool is_local;      // ran on the host of `record`, with the same clock
    bool is_inside;     // in another PID namespace: its thread ids are not those that a stack's client sees
    struct bytes about; // the fields of its RECORD_PROCESS that go into the log as they are
    struct clock_map clock;
    int64_t moved_ns; // from where the system's clock puts it to where its host's messages do
    enum process_exit exit;
    uint32_t exit_value;
    bool end_known;
    uint64_t end_mono_ns;
    bool chars_known;
    uint64_t chars[2];
    uint64_t load_chars[2];           // before the recorder was loaded
    bool is_joined;                   // it ran already
    uint32_t same_pid;                // place of the earlier process with this pid, or LOOKUP_NONE
    struct bytes files;               // struct pack_link
    struct bytes unique[PACK_UNIQUE]; // struct pack_link
    struct bytes communicators;       // RECORD_COMMUNICATOR records
    struct bytes mapped;              // struct pack_mapped
    struct bytes aggregates;          // struct pack_aggregate
    struct bytes sites;               // struct pack_site
    struct spill_counters *joined;    // of a rank whose counters are not in the part, though it tried
    size_t joined_count;
    struct lookup place_of; // lookup_pair(layer, file) -> place in `joined`
    struct lookup needed;   // of a rank whose counters are in the part: files that others refer to
    struct lookup streams;  // its own stream number -> the log's
    uint64_t damaged_bytes;
    uint32_t group; // place in the groups + 1; 0: like no other
};

struct pack_link { // a process's own number of something, and the log's
    uint32_t local;
    uint32_t global;
};

struct pack_mapped { // RECORD_MAPPED
    uint32_t file;   // the process's own number
    uint64_t bytes[MAPPED_KINDS];
};

struct pack_aggregate { // RECORD_AGGREGATE
    uint32_t file;      // the process's own number
    uint64_t files;
};

struct pack_site {
    uint32_t id;
    uint32_t module; // of struct callsites
    uint64_t address;
};

#define PACK_NO_HOST SIZE_MAX

// RECORD_CLOCK: questions of a process to another on another host.
struct pack_exchange {
    uint32_t process; // its place
    char host[256];   // of the other
    uint32_t pid;
    size_t asks, answers; // places of the two hosts in struct pack; PACK_NO_HOST: not there
    size_t count;
    struct clock_sample sample[64];
};

// A host whose processes exchanged such messages.
struct pack_host {
    const char *name;
    const struct pack_process *process; // whose clock stands for all
    struct clock_map clock;
    bool is_known;
    bool has_drift;
    const char *reference; // whose clock it follows; NULL: the system's
    double offset_ns;      // what was added to its times, at the job's start
    double drift;          // and per second since then
    double error_ns;       // at most
};

// How a child ended, as its parent saw it.
struct pack_child_end {
    uint32_t pid;
    uint32_t parent; // the id of the process that saw it
    int status;
};

// Programs that ran unseen for the same reason.
struct pack_unfollowed {
    char why[64];
    uint64_t count;
};

// Files of one mount whose stripes could not be read.
struct pack_unread {
    uint32_t mount; // of file_table.texts
    uint64_t files;
    const char *why;
};

// Counters that the ranks of a program have added up.
struct pack_part {
    struct part_head head;
    struct bytes index;  // as in the file
    int fd;              // of the blocks
    struct bytes hashes; // uint64_t for each file: of its name
    uint64_t last_file;  // that was read
    uint32_t group;      // id of the record that ranks of the program have together; 0: there is none
};

// Processes that are alike; with enough of them they have one record.
struct pack_group {
    uint32_t first; // place of the one whose id the record has
    uint64_t members;
    bool is_reaped; // by processes in the log
};

struct pack {
    const struct pack_job *job; // NULL without `record`
    const struct pack_options *options;
    int dir_fd;
    struct log_writer writer;
    struct bytes job_records; // what `record` knew at the start, or else the process that began the job; may be empty
    uint32_t began;           // id of that process; 0: `record` ran, or is lost
    struct pack_name name;
    uint64_t start_epoch_ns;
    uint64_t start_mono_ns; // on the job's host
    char host[256];
    struct pack_process *process;
    size_t process_count;
    struct lookup spill_names; // hashes: a host that was killed may deliver files twice
    struct text_list away;     // hosts whose records have not arrived
    struct file_table files;
    struct intern unique[PACK_UNIQUE]; // descriptions by all processes, each kept once: bodies without the number
    struct callsites callsites;
    struct pack_child_end *child_end;
    size_t child_end_count;
    struct pack_exchange *exchange;
    size_t exchange_count;
    struct pack_host *hosts;
    size_t host_count;
    struct bytes devices; // RECORD_DEVICE and RECORD_MOUNT records as the hosts' monitors left them
    struct pack_group *groups;
    size_t group_count;
    struct pack_part *parts; // the largest one first: the log has its blocks as they are
    size_t part_count;
    struct lookup part_file;    // hash of a file's name -> its number in the log
    uint32_t part_files;        // numbers so far
    struct pack_unread *unread; // what is not known about files on parallel file systems
    size_t unread_count;
    struct pack_stack *stack; // NULL: recorded without one
    uint32_t streams;
    bool *call_written;   // by number: the log has a record of this call
    struct bytes payload; // of the current chunk
    struct pack_unfollowed *unfollowed;
    size_t unfollowed_count;
    uint64_t unreadable_bytes; // of files without a good header
    uint64_t done_bytes;
    uint64_t all_bytes;
    struct pack_result result;
};

// Takes `fd`, or why there is none. A spill that cannot be read is a loss and does not stop the packing of the others.
int pack_add_spill(struct pack *pack, int fd, const char *name, const char *bundle, uint64_t bundle_offset);

// load_bundle.c: spill files that a host has delivered in one file.
int pack_load_bundle(struct pack *pack, const char *name);
int pack_open_spill(const struct pack *pack, const struct pack_process *process); // wherever it is

// A regular file of the directory, opened without waiting; ERR_FORMAT if it is something else.
int pack_open_file(const struct pack *pack, const char *name);
// Identifies a process: its pid, and the host that gave it. A host without a name is the job's host.
uint64_t pack_process_key(const struct pack *pack, const char *host, uint32_t pid);

// read_records.c: everything in a spill but the events.
int pack_read_records(struct pack *pack, struct pack_process *process);
// Adds the body of a record in which key 1 is the process's own number: sets `local` to that, `global` to the log's.
// Records with the same fields get the same number. ERR_FORMAT if the number or everything else is missing.
int pack_add_unique(struct intern *records, struct fields_in body, uint32_t *local, uint32_t *global);

// job.c: what the log says about the job.
int pack_load_job(struct pack *pack);
// The records of a job without `record`, from the spill of the first process that began it.
int pack_read_job(struct pack *pack, const struct pack_process *process, unsigned kind, struct fields_in body);
void pack_find_job_start(struct pack *pack);
int pack_read_file(const struct pack *pack, const char *name, struct bytes *out); // a small one of the directory
void pack_write_job(struct pack *pack);

// part.c: the parts that ranks have written.
int pack_load_part(struct pack *pack, const char *index_name);
int pack_number_parts(struct pack *pack); // when all are loaded
void pack_free_parts(struct pack *pack);
static inline struct part_entry pack_part_entry(const struct pack_part *part, size_t i) {
    return part_entry_get(part->index.data + PART_HEAD_BYTES + i * PART_ENTRY_BYTES);
}
// The part that has counters of the process, or NULL.
struct pack_part *pack_part_of(const struct pack *pack, const struct pack_process *process);
// Whether counters of the process are in a part, and those of this chunk.
bool pack_has_handed(const struct pack *pack, const struct pack_process *process);
bool pack_is_handed(const struct pack *pack, const struct pack_process *process, const struct spill_piece *piece);
// The number of a file that the part has, by its name as in file_table.names; else 0.
uint32_t pack_part_file(const struct pack *pack, const uint8_t *name, size_t len);
int pack_find_needed(struct pack *pack, struct pack_process *process);
int pack_copy_part(struct pack *pack);        // of the first part, all but its RECORD_REDUCTION
int pack_write_reductions(struct pack *pack); // the rest

// devices.c: what the devices under the job's files did.
// Appends the records of a file of the directory. If it cannot be read, or its writer was killed, only its own are
// lost.
int pack_load_records(struct pack *pack, const char *name, struct bytes *records);
// Writes the records of a kind that the hosts' monitors left, numbered anew. `put` copies the fields that readers know;
// false: the record is not wanted.
typedef bool pack_put_record(struct fields_out *out, const struct pack *pack, struct fields_in body);
void pack_write_kind(struct pack *pack, unsigned kind, pack_put_record *put);
void pack_write_devices(struct pack *pack);

// mounts.c: the mounts of the job's files. stripes.c: how files of parallel file systems lie there.
void pack_write_mounts(struct pack *pack);
int pack_read_stripes(struct pack *pack);

// write_records.c: what the log holds besides the events.
void pack_write_call(struct pack *pack, uint32_t id);
void pack_write_unique(struct pack *pack, const struct intern *records, unsigned kind);
int pack_write_process(struct pack *pack, struct pack_process *process);
uint64_t pack_start_ns(const struct pack *pack, const struct pack_process *process); // since the job's start
uint64_t pack_end_ns(const struct pack *pack, const struct pack_process *process);   // if it is known
uint64_t pack_span_ns(const struct pack_process *process, uint64_t units);

// What a group has instead of what a process has alone.
struct pack_shared {
    uint64_t members, start_ns, end_ns;
    bool is_reaped;
};
void pack_write_shared(struct pack *pack, const struct pack_process *sum, const struct pack_shared *shared);

// Gives a stream of the process a number in the log.
int pack_add_stream(struct pack *pack, struct pack_process *process, uint32_t local);
void pack_write_loss(struct pack *pack, const struct pack_process *process, enum loss_reason reason, uint64_t count,
                     uint64_t bytes);
void pack_write_loss_of(struct pack *pack, enum loss_reason reason, uint64_t count, const char *what);

// align_clocks.c: when the job starts, and how the clock units of each process become nanoseconds since then.
void pack_align_clocks(struct pack *pack);
// A moment on the job's time axis; moments before its start become its start. `moved_ns` is for other hosts' clocks.
uint64_t pack_since_start(const struct pack *pack, bool is_local, int64_t moved_ns, const struct spill_moment *moment);
// Whether a moment was read on the job's host, with the same clock.
bool pack_is_local(const struct pack *pack, const char *host, const struct spill_moment *moment);

// align_hosts.c: the same for hosts whose processes exchanged messages.
int pack_read_clock(struct pack *pack, const struct pack_process *process, struct fields_in body);
int pack_align_hosts(struct pack *pack);
int64_t pack_host_offset_ns(const struct pack *pack, const char *host); // at the job's start; 0 if it is not known
void pack_write_hosts(struct pack *pack);

// process_end.c: how each process ended and what the kernel counted for it.
int pack_find_ends(struct pack *pack);

// group.c: one record for many ranks.
int pack_find_groups(struct pack *pack);
// The group whose record stands for the process; NULL: it has its own.
const struct pack_group *pack_group_of(const struct pack *pack, const struct pack_process *process);
uint32_t pack_record_id(const struct pack *pack, const struct pack_process *process);  // of either
uint32_t pack_group_with(const struct pack *pack, const struct pack_process *process); // PROCESS_WITH, or 0
int pack_write_group(struct pack *pack, const struct pack_process *first);

// write_events.c: chunks of events, then the counters past the end of the trace.
int pack_write_events(struct pack *pack, struct pack_process *process);
// The chunk whose payload is pack->payload. Flags are added to the block's.
int pack_write_chunk(struct pack *pack, struct pack_process *process, const struct spill_piece *piece,
                     enum log_block_flag flags);
int pack_write_counters(struct pack *pack, struct pack_process *process);
