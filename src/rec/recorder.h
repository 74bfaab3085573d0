// The recorder's state: one struct per process and one per thread, nothing else.
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"
#include "fmt/spill.h"
#include "fmt/stream_put.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum recorder_phase {
    RECORDER_FRESH,    // nothing has happened yet
    RECORDER_STARTING, // one thread runs the start
    RECORDER_ON,
    RECORDER_OFF, // there is no job, or no spill file could be made: shims pass through
};

enum {
    RECORDER_SETTINGS = 48,
    RECORDER_PATTERNS = 64,
    RECORDER_TYPES = 16,
    RECORDER_PARTNERS = 32,
    RECORDER_FURTHER = 56, // and how many are written: which of more have a place depends on the handles' addresses
    RECORDER_GROUPS = 8,   // partners that are a whole communicator
    RECORDER_NAMES = 16,
};

// What changes while the process runs comes last: its page is copied in a forked child, together with other small
// variables.
struct recorder {
    // Settings, read once
    const char *job;                  // directory of the job, with its spill files
    const char *library;              // path of this library
    const char *follower;             // path of ioseer-follow; "-": no program is to be followed; NULL: there is none
    char *setting[RECORDER_SETTINGS]; // "NAME=value" of each one that is set, for exec
    unsigned settings;
    uint64_t trace_cap;
    uint64_t file_cap;
    uint64_t directory_cap;   // of entries for the files past the file cap
    uint64_t counter_cap;     // bytes of counters in the spill file
    uint32_t unwanted_layers; // bit n: calls of layer n are not recorded
    uint32_t unwanted_classes;
    bool callsites;
    bool selects;  // some calls become events, chosen by triggers; all are counted
    bool declined; // the job is not recorded, and what this process starts belongs to it
    bool new_root; // chroot was called: the library may be out of reach
    const char *include[RECORDER_PATTERNS];
    const char *exclude[RECORDER_PATTERNS];
    char spill_path[PATH_MAX];
    _Atomic uint32_t phase;
    uint32_t pid;        // of the process that the state below belongs to; in a forked child it is the parent's
    uint32_t generation; // counts spill files: a forked child opens the next one
    // Not 0: the spill file is this process's own and has its first record. Lies on a page that fork wipes, because
    // process ids cannot tell: two process id namespaces may use the same one.
    _Atomic uint32_t *spill_is_ours;
    // The spill file
    struct spill_header *spill;  // the mapping of the whole file
    struct spill_chunk *records; // the chunk for tagged records
    _Atomic uint32_t records_lock;
    const char *spill_parent; // the setting `spill` of a job without `record`, or NULL
    const char *host_folder;  // host_folder.h: where the spill file is, or NULL: it is in the job's directory
    void *presence;           // the mapping whose lock tells others there that this process runs
    // Threads
    pthread_key_t thread_key;
    bool thread_key_made;
    _Atomic uint64_t *tick;      // number of MPI calls so far, counted by the plugin; NULL without MPI
    struct thread *idle_threads; // states of threads that have ended, for reuse
    _Atomic uint32_t idle_lock;
};

// A datatype of MPI and its size: programs use few types, again and again.
struct type_bytes {
    uintptr_t type;
    uint64_t bytes;
};

// With whom a thread communicated, and how often since the last event.
struct partner {
    uintptr_t comm;       // handle; 0: none, or it was freed
    int32_t peer;         // as the program gives it
    uint32_t entry_bytes; // 0: not a partner (MPI_PROC_NULL)
    uint8_t entry[8];     // of KIND_PARTNERS, without the number of calls
    uint64_t calls;       // less 1: the first call of a gap makes it 0, which the hot path notices without a comparison
};

#define PARTNER_IDLE UINT64_MAX // of `calls`

struct partners {
    struct partner place[RECORDER_PARTNERS];                                          // by a hash
    struct partner group[RECORDER_GROUPS];                                            // the same, of PARTNER_ALL
    struct partner further[RECORDER_FURTHER];                                         // those whose place is taken
    struct partner *used[RECORDER_PARTNERS + RECORDER_GROUPS + RECORDER_FURTHER + 1]; // in the order of first use
    uint32_t used_count;
    uint32_t further_count;
    struct partner rest; // calls for whose partners there was no room
};

// A path, as the program gives it.
struct known_name {
    struct file *file; // NULL: none
    const char *text;  // the end of the file's name
    size_t bytes;      // with the zero
    uint32_t cwd;      // files_cwd_number
    bool is_relative;  // to that working directory
};

// Lies on pages that the kernel wipes in a forked child (MADV_WIPEONFORK). `ready` is then false, and the hot path
// needs no check of process ids. What most threads use comes first: the pages behind stay untouched.
struct thread {
    bool ready;
    bool busy;        // the writer is being changed; events of signal handlers are deferred meanwhile
    bool deferred;    // there are deferred events
    bool outside_mpi; // ready, and no MPI call is under way
    uint32_t tid;
    uint32_t stream;
    bool trace_ended;
    bool in_library;           // a shim has called a library; its calls of syscall(2) are not the program's
    struct spill_chunk *chunk; // current; NULL if the disk is full
    struct call_frame *frame;  // of the innermost call under way that may have children, or NULL
    uint8_t *saved_limit;      // the writer's limit, while emit_next_slowly() has set that to NULL
    uint64_t tick_written;     // the tick as the stream has it
    uint32_t inside;   // bit n: a call of layer n is under way that is above MPI-IO; only the outermost one counts
    bool in_mpi_setup; // inside MPI_Init or MPI_Finalize: files that MPI names there are left out
    struct stream_comm *comm;                      // in the tally: communication since the last event
    uint64_t comm_start;                           // of the communication call under way, not shifted
    bool name_taken;                               // by the call under way, which a signal handler may interrupt
    struct known_name known_names[RECORDER_NAMES]; // that calls have named, by the address of the text
    uint64_t chunks;                               // number of chunks so far: the first one is small
    struct thread *next_idle;
    struct spill_tally *tally;              // in the chunk, or spare_tally
    struct spill_tally spare_tally;         // used without a chunk; lost with the process
    struct deferred_event *deferred_events; // EMIT_DEFERRED_MOST places
    struct stream_writer writer;
    char name[PATH_MAX]; // buffer for names: the program's stack may be small
    struct partners partners;
    uintptr_t type_asked; // parameter of plugin_ask_type_bytes()
    struct type_bytes types[RECORDER_TYPES];
    uint32_t type_numbers[RECORDER_TYPES]; // 0: not known; 1: contiguous; else the number of its RECORD_DATATYPE + 1
    struct {                               // with call sites: the calls that the slot stands for
        uintptr_t caller;
        uint64_t key;
        uint64_t chunk; // number of the chunk that defines it
    } site[STREAM_SLOTS];
};

// A call that may have children. It is announced in the stream before its first child.
struct call_frame {
    struct call_frame *up;
    uint64_t number; // CALL_FRAME_SILENT if it is not announced
    uint8_t *before; // start of the announcement in the chunk
    uint8_t *behind; // its end; it can be withdrawn while the writer is still there; NULL: it must stay
    bool is_above;   // of a layer above MPI-IO: what happens inside counts by itself
    bool is_known;   // the number is that of an earlier call, which this one continues (second half of a split call)
    // A wait for asynchronous transfers continues the transfer that the child serves; each child may serve a different
    // one.
    struct pending **choices;
    unsigned choice_count;
    struct pending *chosen;
};

#define CALL_FRAME_SILENT UINT64_MAX

extern struct recorder recorder;
extern __thread struct thread *current_thread __attribute__((tls_model("initial-exec")));

// The calling thread's state, made ready if needed; NULL if nothing is to be recorded. The slow path of every shim.
struct thread *recorder_attach(void);

static inline struct thread *recorder_thread(void) {
    struct thread *thread = current_thread;
    return LIKELY(thread && thread->ready) ? thread : recorder_attach();
}

static inline uint64_t recorder_tick(void) {
    return recorder.tick ? atomic_load_explicit(recorder.tick, memory_order_relaxed) : 0;
}

// Writes how the process ends, its I/O totals and the clocks.
void recorder_end(enum process_exit how, uint32_t value);
// The calling thread is about to lose system calls or the time counter. It is not recorded any more, and the log says
// so.
void recorder_stop_here(void);
// What the calling thread does until the end of the pause is the recorder's own work.
void recorder_pause(void);
void recorder_end_pause(void);
// After an exec that failed: the process goes on.
void recorder_resume(void);

// settings.c
void recorder_read_settings(void);
char **recorder_environment(void);               // also before libc knows it
char *recorder_variable(const char *name);       // of the environment, or NULL
const char *recorder_setting(const char *name);  // of the environment or ioseer.conf, or NULL; exec passes it on
uint64_t recorder_number(const char *name);      // the same as a number; its default if it is not set, or 0
uint64_t recorder_number_of(const char *text);   // perhaps with k, M or G; 0 for NULL
uint64_t recorder_duration_ns(const char *name); // a setting such as 5ms; 0 if it is not set
void recorder_patterns(const char *name, const char **patterns); // all lines of the setting; RECORDER_PATTERNS places
const char *recorder_export(const char *name, const char *value, size_t len); // exec passes it on; its copy, or NULL

// A soft limit of the process (RLIMIT_…); UINT64_MAX without one.
uint64_t recorder_limit(int which);

// Called by vfork (cpu.c) in the parent. While the child runs, every shim passes through: the child has descriptors of
// its own but writes into the parent's memory.
void vfork_before(void);
long vfork_after(long result); // sets errno from a negative result, as libc does

// Locks for short critical sections, without libc; not recursive. The thread is `busy` while it holds one, so a signal
// handler never waits for its own thread. The lock holds its owner's generation, which differs in a forked child: the
// child sees locks held by the parent's threads, which would never be released in the child, as free. Each waiter that
// takes the lock over turns SPIN_TURN, so that others who wait for the same owner notice it.
#define SPIN_TURN 0x80000000u

// Waits while the word has this value; returns false after SPIN_PATIENCE_NS.
#define SPIN_PATIENCE_NS UINT64_C(10000000000)
bool spin_while(_Atomic uint32_t *word, uint32_t value);

// Waits for the lock. An owner may never release it, if a signal handler left its call by siglongjmp; then the lock is
// taken over.
void spin_wait(_Atomic uint32_t *lock, uint32_t owner);

static inline void spin_lock_as(_Atomic uint32_t *lock, uint32_t owner) {
    uint32_t held = 0;
    if (!LIKELY(
            atomic_compare_exchange_strong_explicit(lock, &held, owner, memory_order_acquire, memory_order_relaxed)))
        spin_wait(lock, owner);
}

static inline void spin_lock(_Atomic uint32_t *lock) { spin_lock_as(lock, recorder.generation + 1); }

// For callers that must not wait.
static inline bool spin_try(_Atomic uint32_t *lock) {
    uint32_t owner = recorder.generation + 1;
    uint32_t held = atomic_load_explicit(lock, memory_order_relaxed);
    return (held & ~SPIN_TURN) != owner &&
           atomic_compare_exchange_strong_explicit(lock, &held, owner, memory_order_acquire, memory_order_relaxed);
}

// Gives up after some milliseconds: a signal handler may stop the owner forever.
static inline bool spin_lock_in_time(_Atomic uint32_t *lock) {
    enum { ATTEMPTS = 1 << 18 };
    for (int i = 0; i < ATTEMPTS; i++) {
        if (spin_try(lock)) return true;
        cpu_relax();
    }
    return false;
}

static inline void spin_unlock(_Atomic uint32_t *lock) { atomic_store_explicit(lock, 0, memory_order_release); }
