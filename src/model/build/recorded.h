// What each thread of the application did, in order: the operations of one layer (or of the highest layer that moved
// the bytes) in the form that the model needs. A program is the processes that ran together: an MPI world, or processes
// of one executable that overlapped in time.
#pragma once

#include "base/arena.h"
#include "base/lookup.h"
#include "log/log.h"
#include "model/datatypes.h"
#include "model/file_set.h"
#include "model/model.h"
#include "model/op.h"

// Communication and time since the previous transfer of the thread.
struct thread_gap {
    uint64_t moving;       // calls that moved data
    uint64_t moving_bytes; // as far as they are known
    uint64_t messages;     // sends and receives among the calls that moved data
    uint64_t synchronising;
    int64_t comm_ns;
    int64_t idle_ns; // neither I/O nor communication
};

// True if the process only told another one that it may go on. Ranks that take turns do that in the middle of a phase.
static inline bool thread_gap_signals(const struct thread_gap *gap) {
    enum { SIGNAL_BYTES = 64 }; // of a message; more are data
    return gap->messages >= gap->moving && gap->moving_bytes <= gap->moving * SIGNAL_BYTES;
}

// What came after `before`, if both began at the same time.
static inline struct thread_gap thread_gap_between(const struct thread_gap *before, const struct thread_gap *gap) {
    return (struct thread_gap){.moving = gap->moving - before->moving,
                               .moving_bytes = gap->moving_bytes - before->moving_bytes,
                               .messages = gap->messages - before->messages,
                               .synchronising = gap->synchronising - before->synchronising,
                               .comm_ns = gap->comm_ns - before->comm_ns,
                               .idle_ns = gap->idle_ns - before->idle_ns};
}

// The calls that show where in the program a process is.
static inline uint64_t thread_gap_calls(const struct thread_gap *gap) {
    return gap->synchronising + (thread_gap_signals(gap) ? 0 : gap->moving);
}

enum { COMMUNICATORS_WORLD = 1 }; // number of MPI_COMM_WORLD in each process

// Communication of a thread with other processes between two of its operations.
struct thread_partner {
    size_t transfers, others; // operations of the thread before it
    uint32_t communicator;    // number in the process
    uint32_t role;            // enum partner_role
    uint32_t peer;            // rank in the communicator
    uint64_t count;           // calls
};

struct thread_ops {
    const struct log_process *process;
    uint32_t program;
    uint32_t rank;   // in the program: MPI's, or the order in which the processes began
    uint32_t tid;    // the system's
    uint32_t number; // among the threads of its process, ordered by where they begin
    struct op *transfer;
    struct op_time *time;
    struct thread_gap *gap;
    uint64_t *tick;
    size_t transfers;
    struct op *other; // operations other than transfers; AT_POSITION counts the thread's transfers before each
    struct op_time *other_time;
    bool *other_parted;           // data moved between the previous operation and this one
    struct thread_gap *other_gap; // since the previous transfer
    uint64_t *other_tick;
    size_t others;
    struct thread_partner *partner;
    size_t partners;
    uint64_t comm_calls; // that moved data or synchronised, also after the last operation; without signals
};

struct recorded_program {
    bool is_mpi;
    uint32_t world;   // with is_mpi
    const char *name; // the executable, or NULL
    uint32_t np;      // MPI's size, or the number of processes
    int64_t start_ns;
    int64_t end_ns;
};

// What is known about a file besides its name.
struct recorded_file {
    bool is_opened; // by a process of the job, so far
    bool seen;
    bool existed;         // before the job's first call on it
    bool sized;           // its size at that time is known
    uint64_t size_before; // when it was first opened
    uint64_t read_before; // bytes read of what was there before
    uint64_t read_cached; // of these, bytes that were served from memory, judged by the time of the read
    uint64_t reach;       // end of the furthest transfer
    bool by_mpi;          // MPI-IO moved bytes of it
    uint64_t counted[2];  // bytes of events that counters contain, too; the second of MPI-IO
};

// The first call of a process on a name.
struct recorded_use {
    uint32_t process, file; // places in the log
    bool existed;
    bool sized;
    uint64_t size; // when the process first opened it
};

// Bytes that are not in the transfers of any thread.
struct recorded_left {
    uint64_t launchers; // moved by mpiexec and its helpers, which are not part of the application
    uint64_t unnamed;   // the file has no name
    uint64_t untraced;  // counted after the trace had ended
    uint64_t inherited; // on files that were open before the job began
};

struct recorded {
    struct arena arena;
    struct thread_ops *thread;
    size_t count;
    struct recorded_program *program;
    size_t programs;
    struct op_kind *kind;
    size_t kinds;
    struct file_sets sets;
    struct recorded_file *file; // by place in the log's table
    struct recorded_use *use;   // in the order of the calls
    size_t uses;
    struct lookup use_of; // by process and file
    struct types types;
    const struct log_hints **hints; // by op_kind.hints - 1
    size_t hints_count;
    struct log_selection **selection; // by op_kind.selection - 1
    size_t selections;
    struct lookup selection_of; // hash of a selection -> place + 1
    struct recorded_left left;
    struct recording *recording; // while the log is read
};

// Makes a consumer of a visit of the whole log (log/visit.h); recorded_finish follows the visit. ERR_LIMIT: more calls
// than options->most_calls. recorded_free in any case.
int recorded_begin(struct recorded *recorded, struct log *log, const struct model_options *options,
                   struct log_consumer *consumer);
int recorded_finish(struct recorded *recorded);
void recorded_free(struct recorded *recorded);
// An operation that is not a transfer, with what a thread keeps about it.
struct other_op {
    struct op op;
    struct op_time time;
    bool parted;
    struct thread_gap gap;
    uint64_t tick;
};
int thread_ops_add_other(struct thread_ops *thread, const struct other_op *other);
void thread_ops_take_others(struct thread_ops *thread, struct thread_ops *from); // instead of its own
void thread_ops_take(struct thread_ops *thread, struct thread_ops *from);        // the same for transfers, too
struct other_op thread_ops_other(const struct thread_ops *thread, size_t place);
int thread_ops_add_transfer(struct thread_ops *thread, const struct op *op, const struct op_time *time,
                            const struct thread_gap *gap, uint64_t tick);
void thread_ops_free(struct thread_ops *thread); // frees what it points to
// Looks at the events of all layers, in their order: only the lowest one sees how large a file was (recorded_files.c).
struct log_event;
int recorded_note_file(struct recorded *recorded, const struct log_event *event);
int recorded_count_untraced(struct recorded *recorded, struct log *log, unsigned layer);
// For a model of a layer above MPI-IO (above.c): names files by their objects, keeps selections.
int recorded_name_objects(struct recorded *recorded, const struct log *log, const char **names);
int recorded_add_selection(struct recorded *recorded, const struct log_selection *from, uint32_t *id); // place + 1
// Gives each thread its program, rank and number (programs.c). Threads without operations are dropped, unless they
// communicate: others may wait for them.
int recorded_find_programs(struct recorded *recorded, const struct log *log);
void recorded_drop_idle(struct recorded *recorded); // threads without operations
