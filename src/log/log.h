// An open log: the job, its processes, files and calls, and the location of its events. Opening reads the records, not
// the events (log/iter.h, log/visit.h). A damaged or truncated log can be opened, too; struct log_health says what is
// missing. Returned pointers are valid until log_close.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "fmt/block.h"
#include "fmt/call.h"
#include "fmt/clock_map.h"
#include "fmt/communicator.h"
#include "fmt/datatype.h"
#include "fmt/device_samples.h"
#include "fmt/group.h"
#include "fmt/nfs_counts.h"
#include "fmt/records.h"
#include "fmt/stream.h"
#include "fmt/stripe.h"

struct log; // log/private.h

struct log_strings {
    const char **word;
    size_t count;
};

struct log_job {
    struct log_strings command;
    uint64_t start_ns; // since the epoch
    uint64_t end_ns;   // since the epoch; 0: unknown
    const char *host;  // texts are NULL if unknown
    const char *cwd;
    const char *version;
    const char *id;
    const char *only; // what was to be recorded; NULL: everything
    uint64_t uid;
    uint64_t nprocs;   // 0: unknown
    uint64_t chars[2]; // read, written
    bool chars_known;
    bool complete;
    bool has_exit_status;
    int exit_status; // as from waitpid
};

struct log_comm_sum {
    uint64_t count;
    uint64_t bytes;
    int64_t time_ns;
};

// Processes that have one record together: many ranks of a program that are alike, or the images that became them.
struct log_group {
    uint64_t members;
    const struct group_ranks *ranges; // none: they are no ranks
    size_t range_count;
    const struct group_hosts *hosts;
    size_t host_count; // of these
    struct group_spread spread[GROUP_TIMES];
    bool is_reaped; // their parents are in the log, and waited for them
};

struct log_process {
    uint32_t id;
    uint32_t index; // index in the log's table
    uint32_t pid;
    uint32_t ppid;
    uint32_t uid;
    const char *host; // texts are NULL if unknown
    const char *exe;
    const char *cwd;
    const char *mpi;
    struct log_strings args;
    int64_t start_ns;
    int64_t end_ns; // valid if has_end
    bool has_end;
    unsigned exit; // enum process_exit
    uint32_t exit_value;
    bool has_rank;
    int64_t rank;
    int64_t local_rank; // -1: unknown
    uint64_t mpi_size;
    uint32_t world;   // the MPI job that the rank belongs to; LOG_NO_WORLD without a rank
    bool is_launcher; // mpiexec and the like
    struct clock_map clock;
    bool chars_known;
    uint64_t chars[2]; // read, written
    uint64_t load_chars[2];
    uint64_t left_out[2][LEFT_OUT_COUNT];
    uint64_t left_out_calls;
    uint64_t stdio_kernel[2];
    uint64_t raw_rings;   // io_urings made without liburing
    unsigned trace_ended; // enum loss_reason; 0: the trace is complete
    uint64_t cpus;        // that it may run on; 0: unknown
    enum process_via via; // VIA_COUNT: in a way that this version does not know
    bool is_joined;       // it ran already when its recording began
    bool counts_all; // its counters have all calls; events are some of these, chosen by triggers, and must not be added
    bool cpu_wait_known;
    int64_t cpu_wait_ns; // its main thread was runnable but did not run
    // Communication that is not in the events: from after the trace, or after the last event of a process that was
    // killed.
    struct log_comm_sum comm[STREAM_COMM_KINDS];
    bool io_known;                          // false: neither of the two was counted after the end of the trace
    int64_t io_ns;                          // time in calls, without calls inside others
    uint64_t reduced_bytes[LAYER_COUNT][2]; // read and written, in counters that are those of several ranks
    const struct log_group *group; // NULL: one process; else numbers are sums, `rank` is the first, and start and end
                                   // are those of the earliest and the latest
    uint32_t with;                 // id of a group of the same MPI program; 0: none
    int64_t whole_until_ns;        // from then on events are missing between others; use log_process_is_whole
};

// Whether the recording began while its processes ran.
bool log_is_joined(const struct log *log);

// Whether no event that is missing is known to lie before this time. Damage becomes known when its block is read, which
// is before any later event of the process is.
static inline bool log_process_is_whole(const struct log_process *process, int64_t before_ns) {
    return before_ns < __atomic_load_n(&process->whole_until_ns, __ATOMIC_RELAXED);
}

#define LOG_NO_WORLD UINT32_MAX

// Ranks that ran together, as far as the log shows it (mpi_worlds.c).
struct log_world {
    uint64_t size;   // of MPI_COMM_WORLD; if unknown, as many as there are ranks in the log
    uint64_t ranks;  // number of its ranks in the log
    const char *mpi; // name and version; NULL: unknown
};

struct log_file {
    uint32_t id;
    uint32_t index;     // index in the log's table
    const char *name;   // never NULL
    const char *object; // path of an object in the file: a dataset …; NULL: the file itself
    uint64_t record_id; // of name and object (fmt/record_id.h)
    uint64_t device;
    uint64_t inode;
    uint64_t fs_type;
    const char *mount;   // NULL: unknown
    const char *fs_name; // "ext4" …; NULL: unknown
    uint32_t block_size;
    uint32_t type;                // st_mode & S_IFMT
    bool is_aggregate;            // it stands for files past the recorder's caps
    uint64_t stands_for;          // how many, as each process counted its own
    const struct stripe *stripes; // its parts on a parallel file system
    size_t stripe_count;          // 0: none, or not known
};

// The part that describes a file best: the last one that has servers, as `lfs getstripe -c` prints it. NULL without
// parts.
const struct stripe *log_file_stripe(const struct log_file *file);

// A datatype of MPI.
struct log_datatype {
    uint32_t id;
    uint64_t bytes; // that one instance moves
    int64_t lower_bound;
    int64_t extent;
    const char *name;  // as in MPI; NULL if it has none
    unsigned combiner; // enum datatype_combiner
    bool cut;          // the form has only the first pieces
    uint64_t hash;     // of everything that the type was made of, if `cut`
    const uint8_t *form;
    size_t form_len;
    struct datatype *flat; // of log_datatype_flat
};

// Elements of a dataset, without their place. Lists have `rank` values.
struct log_selection {
    uint32_t id;
    unsigned kind; // enum selection_kind
    unsigned rank;
    const uint64_t *dims;                   // of the dataset; 0: it can grow
    const uint64_t *stride, *count, *block; // NULL for all and none
    bool points_known;
    uint64_t points; // number of elements
    uint64_t blocks;
};

// A dataset as it was when it was opened.
struct log_dataset {
    uint32_t id;
    unsigned rank, chunk_rank;
    const uint64_t *dims, *max_dims, *chunk;
    int layout; // of HDF5; -1: unknown
    struct log_strings filters;
    int type_class;
    uint64_t bytes; // of an element
    int allocation_time, fill_time;
    uint64_t alignment_from, alignment;
    bool by_mpi, collective_reads, collective_writes, old_call;
};

struct log_hint {
    const char *name;
    const char *value;
};

struct log_hint_list {
    struct log_hint *hint;
    size_t count;
};

struct log_hints {
    uint32_t id;
    struct log_hint_list asked;    // by the program
    struct log_hint_list in_force; // according to MPI
};

struct log_call {
    uint32_t id;       // in the log
    uint32_t build_id; // this build's id of the call with that name; 0: none
    const char *name;
    uint8_t layer;
    uint8_t class;
    uint8_t traits;
};

// What a process moved through its mappings of a file: an estimate (enum mapped_kind).
struct log_mapped {
    const struct log_process *process; // or NULL
    const struct log_file *file;       // or NULL
    uint64_t bytes[MAPPED_KINDS];
};

struct log_loss {
    const struct log_process *process; // NULL: the whole job
    unsigned reason;                   // enum loss_reason
    uint64_t count;
    uint64_t bytes;
    const char *text; // or NULL
};

// A block device that stores files of the job, and what it did for all programs of the machine.
struct log_device {
    uint32_t id;
    const char *name;                 // never NULL
    const char *host;                 // NULL: unknown
    uint64_t number;                  // as in st_dev
    int64_t start_ns;                 // start of the samples
    struct device_samples_in samples; // checked, for device_samples_next
    size_t sample_count;
    struct device_sample sum;
};

// A mounted file system with files of the job.
struct log_mount {
    uint32_t id;
    const char *point; // never NULL
    const char *type;  // texts are NULL if unknown
    const char *source;
    const char *options;
    const char *host;
    uint64_t device; // st_dev of its files
    bool has_nfs;    // the members below are of an NFS client, for all programs of the host while the job ran
    uint64_t nfs_bytes[NFS_BYTES];
    const struct nfs_operation *operations;
    size_t operation_count;
    uint64_t unread;        // files whose stripes could not be read
    const char *unread_why; // or NULL
};

// A host whose clock was aligned by messages between its processes and another's.
struct log_host {
    const char *name, *reference; // never NULL; the reference is the host whose clock it follows
    int64_t clock_offset_ns;      // what was added to its times
    bool has_drift;
    int64_t clock_drift;    // what was added for each second since the job's start, ns
    int64_t clock_error_ns; // by how much its times may be wrong since the first messages
};

// The file system with probes that the job was recorded with, and its servers.
struct log_stack {
    const char *name, *layout, *mount, *file_system, *cache; // NULL if unknown
    uint64_t shard_bytes;                                    // 0: no shards
    uint64_t redundancy;                                     // servers of a dispersed file that may be lost
    uint64_t servers;
    unsigned layers;  // bit n: enum call_layer n has probes
    bool is_gone;     // it was gone before the end
    int64_t gone_ns;  // and was found so then
    uint64_t *device; // of its files, as far as known
    size_t devices;
    const char *unjoined;      // why calls below the system call are missing; or NULL
    struct log_strings placed; // directories whose files are on some servers only: "path: 0 2"
};

struct log_times {
    int64_t *ns;
    size_t count;
};

struct log_server {
    uint32_t id;
    const char *host, *brick, *storage; // NULL if unknown
    const char *missing;                // why nothing of it was recorded; NULL: it was
    uint64_t port, pid;
    struct log_times lost, back; // when the client lost its connection, and had it again
    bool is_aligned;             // its clock is not the job's
    int64_t clock_offset_ns;     // what was added to its times
    int64_t clock_error_ns;      // by how much that may be wrong
    int64_t clock_drift;         // what was added for each second since the job's start, ns
};

// Sums over calls of one layer below the system call.
struct log_below {
    unsigned layer;
    unsigned reason; // enum untied_reason; UNTIED_NONE: of those that are events
    uint64_t calls;
    uint64_t bytes[2]; // read, written
};

struct log_setting {
    const char *name;
    const char *value; // or NULL
};

// One entry of the block index.
struct log_place {
    uint64_t offset; // of the block's header
    uint16_t type;   // enum log_block_type
    uint32_t stream;
    const struct log_process *process; // NULL: none or unknown
    uint64_t events;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t stored_len;
    bool below;   // all its events are calls below the system call
    bool damaged; // the block could not be read
    uint64_t class_count[CLASS_COUNT];
    uint64_t class_bytes[CLASS_COUNT];
    uint64_t class_ns[CLASS_COUNT];
};

// What could not be read. Damage inside an event block becomes known when the block is read.
struct log_health {
    bool truncated;           // no trailer: the log was not finished, or its end is missing
    bool index_missing;       // or the way from block to block without one: they were found by a search
    bool header_damaged;      // the file's own header; the blocks are readable without it
    uint64_t bytes_skipped;   // bytes outside of good blocks
    uint64_t blocks_damaged;  // found, but not readable
    uint64_t events_damaged;  // events in these blocks, as far as known
    uint64_t below_damaged;   // the same for calls below the system call, which are not the program's
    uint64_t records_damaged; // tagged records that make no sense
};

int log_open(struct log **log, const char *path);
void log_close(struct log *log);

const struct log_header *log_header(const struct log *log); // all 0 if it is damaged
const struct log_job *log_job(const struct log *log);
int64_t log_run_ns(const struct log *log); // of the job; if its end is unknown, until its last known moment
const struct log_health *log_health(const struct log *log);
uint64_t log_blocks_read(const struct log *log); // of events, so far; one that is read twice counts twice
uint64_t log_size_bytes(const struct log *log);
// As the block headers say, without those found damaged so far, and without calls below the system call.
uint64_t log_events(const struct log *log);
// False: it has counters only. A Darshan log has a trace only if DXT was on.
bool log_has_trace(const struct log *log);
uint64_t log_events_below(const struct log *log); // these

// Tables in the log's order; index i is below the count.
size_t log_process_count(const struct log *log);
const struct log_process *log_process_at(const struct log *log, size_t i);
size_t log_world_count(const struct log *log);
const struct log_world *log_world_at(const struct log *log, size_t i);
const struct log_world *log_largest_world(const struct log *log); // the first of the largest; NULL without MPI
size_t log_file_count(const struct log *log);
const struct log_file *log_file_at(const struct log *log, size_t i);
size_t log_communicator_count(const struct log *log); // of all processes
const struct communicator *log_communicator_at(const struct log *log, size_t i);
size_t log_datatype_count(const struct log *log);
const struct log_datatype *log_datatype_at(const struct log *log, size_t i);
size_t log_hints_count(const struct log *log);
const struct log_hints *log_hints_at(const struct log *log, size_t i);
size_t log_device_count(const struct log *log);
const struct log_device *log_device_at(const struct log *log, size_t i);
size_t log_mount_count(const struct log *log);
const struct log_mount *log_mount_at(const struct log *log, size_t i);
size_t log_host_count(const struct log *log); // of aligned ones
const struct log_host *log_host_at(const struct log *log, size_t i);
size_t log_loss_count(const struct log *log);
const struct log_loss *log_loss_at(const struct log *log, size_t i);
size_t log_mapped_count(const struct log *log);
const struct log_mapped *log_mapped_at(const struct log *log, size_t i);
const struct log_stack *log_stack(const struct log *log); // NULL: it was recorded without one
size_t log_server_count(const struct log *log);           // by number
const struct log_server *log_server_at(const struct log *log, size_t i);
size_t log_below_count(const struct log *log);
const struct log_below *log_below_at(const struct log *log, size_t i);
size_t log_setting_count(const struct log *log);
const struct log_setting *log_setting_at(const struct log *log, size_t i);
size_t log_place_count(const struct log *log);
const struct log_place *log_place_at(const struct log *log, size_t i);

// The process whose event has this id, if there is one. Reads nothing. NULL: no event has it.
const struct log_process *log_event_process(const struct log *log, uint64_t id);

// By number; NULL if there is none.
const struct log_process *log_process_find(const struct log *log, uint32_t id);
const struct log_file *log_file_find(const struct log *log, uint32_t id);
const struct log_file *log_process_file(const struct log *log, const struct log_process *process, uint32_t local);
const struct communicator *log_process_communicator(const struct log *log, const struct log_process *process,
                                                    uint64_t number);
const struct log_datatype *log_process_datatype(const struct log *log, const struct log_process *process,
                                                uint64_t local);
const struct log_hints *log_process_hints(const struct log *log, const struct log_process *process, uint64_t local);
const struct log_selection *log_process_selection(const struct log *log, const struct log_process *process,
                                                  uint64_t local);
const struct log_dataset *log_process_dataset(const struct log *log, const struct log_process *process, uint64_t local);
const struct log_selection *log_selection_find(const struct log *log, uint32_t id);
const struct log_call *log_call_find(const struct log *log, uint32_t id);
const char *log_callsite(const struct log *log, const struct log_process *process, uint32_t id);

// The call, if an event that was read so far has this id; otherwise NULL.
const struct log_call *log_call_seen(const struct log *log, uint32_t id);
uint32_t log_call_ids(const struct log *log); // one more than the highest id

// The type as nested loops, built on first use. Returns 0 or -ENOMEM.
int log_datatype_flat(struct log *log, const struct log_datatype *type, const struct datatype **flat);
// The type repeated end to end over a file or memory, for datatype_map_start.
int log_datatype_tiling(struct log *log, const struct log_datatype *type, int64_t displacement,
                        struct datatype_tiling *tiling);

// Indices in the tables, for arrays parallel to them.
static inline size_t log_file_index(const struct log *log, const struct log_file *file) {
    (void)log;
    return file->index;
}

static inline size_t log_process_index(const struct log *log, const struct log_process *process) {
    (void)log;
    return process->index;
}

// Whether the process, which ended in an exec, may go on as the other one. Process numbers are used again: the caller
// looks for the next one with that number.
bool log_process_goes_on(const struct log_process *process, const struct log_process *as);
// Of the name of a program, without its folder: how many of its bytes show that it starts the ranks of MPI programs
// (mpiexec.hydra: 7); 0 if it does not.
size_t log_launcher_prefix(const char *name);
bool log_process_same_host(const struct log_process *a, const struct log_process *b);

// Compares world, then rank. Processes without a rank come last and are equal.
int log_process_compare(const struct log_process *left, const struct log_process *right);

// group.c
uint64_t log_process_members(const struct log_process *process); // how many it stands for
bool log_process_has_rank(const struct log_process *process, int64_t rank);
// How long they ran, all together. `end_ns` is for those whose end is not known.
int64_t log_process_run_ns(const struct log_process *process, int64_t end_ns);
uint64_t log_group_host_count(const struct log_group *group);

// Reads the block at a place. Replaces the contents of `raw`.
int log_read_block(struct log *log, const struct log_place *place, struct log_block *block, struct bytes *raw);
// The same of a block of events, and starts a decoder, which uses `raw`. Replaces the contents of `stored`, too.
int log_read_events(struct log *log, const struct log_place *place, struct log_block *block, struct bytes *stored,
                    struct bytes *raw, struct stream_decoder *decoder);
