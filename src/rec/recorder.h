// The recorder's state: one struct per process, one per thread; there is no other.
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fmt/spill.h"
#include "fmt/stream_put.h"
#include "rec/cpu.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

enum recorder_phase {
    RECORDER_FRESH,    // nothing happened yet
    RECORDER_STARTING, // one thread is at it
    RECORDER_ON,
    RECORDER_OFF, // no job to record for, or no spill file to be had: shims pass through
};

enum { RECORDER_SETTINGS = 8, RECORDER_PATTERNS = 64, RECORDER_TYPES = 16 };

struct recorder {
    _Atomic int phase;
    uint32_t pid;        // of the process the state below belongs to; another one means we are its forked child
    uint32_t generation; // counts spill files: a forked child opens the next
    // Not 0: the spill file is this process's own, complete with its first record. On a page that fork wipes: process
    // ids do not tell, two name spaces may use the same one.
    _Atomic uint32_t *spill_is_ours;
    // Settings, read once
    const char *job;                  // directory of the spill files
    const char *library;              // path of this library
    char *setting[RECORDER_SETTINGS]; // "NAME=value" of each that is set, for exec
    unsigned settings;
    uint64_t trace_cap;
    uint64_t file_cap;
    bool callsites;
    bool new_root; // chroot was called: the library may not be reachable any more
    const char *include[RECORDER_PATTERNS];
    const char *exclude[RECORDER_PATTERNS];
    // The spill file
    struct spill_header *spill;  // the whole file is mapped from here
    struct spill_chunk *records; // the chunk that tagged records go to
    _Atomic uint32_t records_lock;
    char spill_path[PATH_MAX];
    // Threads
    pthread_key_t thread_key;
    bool thread_key_made;
    _Atomic uint64_t *tick;      // MPI calls so far, counted by the plugin; NULL without MPI
    struct thread *idle_threads; // states of threads that ended, to be taken over
    _Atomic uint32_t idle_lock;
};

// A datatype of MPI whose size was asked for: programs use few, again and again.
struct type_bytes {
    uintptr_t type;
    uint64_t bytes;
};

// Lies on a page that the kernel wipes in a forked child (MADV_WIPEONFORK): `ready` is then false without any check of
// process ids on the way.
struct thread {
    bool ready;
    bool busy;        // the writer is being changed; a signal handler's events are put aside meanwhile
    bool deferred;    // there are such events
    bool outside_mpi; // ready, and no MPI call is under way
    uint32_t tid;
    uint32_t stream;
    bool trace_ended;
    bool in_library;           // a shim has called a library that may go through syscall(2): that is not the program's
    struct spill_chunk *chunk; // current; NULL where the disk is full
    struct call_frame *frame;  // of the innermost call under way that may have children, or NULL
    uint8_t *limit_aside;      // the writer's limit while something must be written before the next event (emit_attend)
    uint64_t tick_written;     // the tick as the stream knows it
    bool in_mpi_setup;         // inside MPI_Init or MPI_Finalize: the files that it names there are its own affair
    struct stream_comm *comm;  // of the tally: communication since the last event
    uint64_t comm_start;       // of the communication call under way
    uintptr_t type_asked;      // by plugin_type_bytes
    struct type_bytes types[RECORDER_TYPES];
    uint32_t type_numbers[RECORDER_TYPES]; // 0: not asked; 1: contiguous; else that of its RECORD_DATATYPE + 1
    bool name_taken;                       // by the call under way, which a signal handler may interrupt
    char name[PATH_MAX];                   // where names are put together: the program's stack may be small
    uint64_t chunks;                       // number of chunks so far: the first ones are small
    struct thread *next_idle;
    struct spill_tally *tally;      // in the chunk, or spare_tally
    struct spill_tally spare_tally; // where there is no chunk to be had: lost with the process
    struct stream_writer writer;
    struct emit_aside *aside; // EMIT_ASIDE places for them
    struct {                  // with call sites: whose calls the slot stands for
        uintptr_t caller;
        uint64_t key;
        uint64_t chunk; // number of the chunk it was defined in
    } site[STREAM_SLOTS];
};

// A call that may have children: announced in the stream before the first of them.
struct call_frame {
    struct call_frame *up;
    uint64_t number; // CALL_FRAME_SILENT where it is not announced
    uint8_t *before; // where the announcement begins in the chunk
    uint8_t *behind; // and ends: it can be taken back as long as nothing lies behind it. NULL where it must stay
    bool is_known;   // the number is that of the call that this one carries on (a split call's second half)
    // A wait for asynchronous transfers carries on the one that the child serves, and each child may serve another.
    struct pending **choices;
    unsigned choice_count;
    struct pending *chosen;
};

#define CALL_FRAME_SILENT UINT64_MAX

extern struct recorder recorder;
extern __thread struct thread *current_thread __attribute__((tls_model("initial-exec")));

// The calling thread's state, made ready; NULL where nothing is to be recorded. The slow way in of every shim.
struct thread *recorder_attach(void);

static inline struct thread *recorder_thread(void)
{
    struct thread *thread = current_thread;
    return LIKELY(thread && thread->ready) ? thread : recorder_attach();
}

static inline uint64_t recorder_tick(void)
{
    return recorder.tick ? atomic_load_explicit(recorder.tick, memory_order_relaxed) : 0;
}

// Ends the process's story: how it ended, its I/O totals, the clocks.
void recorder_end(enum process_exit how, uint32_t value);
// The calling thread is about to give up system calls or the time counter: it is not recorded from here on, to its last
// moment, and the log says so.
void recorder_stop_here(void);
// After an exec that failed: the process goes on.
void recorder_resume(void);

// A soft limit of the process (RLIMIT_…); UINT64_MAX without one.
uint64_t recorder_limit(int which);

// Short critical sections without libc; not recursive. `busy` of the thread is set around them, so that a signal
// handler on the same thread never waits for itself. A lock that is taken holds its owner, which differs in a forked
// child: what its parent's threads had locked, and will never unlock there, is open to it.
static inline void spin_lock_as(_Atomic uint32_t *lock, uint32_t owner)
{
    uint32_t held = 0;
    while (!atomic_compare_exchange_weak_explicit(lock, &held, owner, memory_order_acquire, memory_order_relaxed)) {
        if (held != owner) continue;
        while (atomic_load_explicit(lock, memory_order_relaxed) == owner) cpu_relax();
        held = 0;
    }
}

// Gives up after some milliseconds: a signal handler may keep the owner from ever going on.
static inline bool spin_lock_in_time(_Atomic uint32_t *lock)
{
    enum { ATTEMPTS = 1 << 18 };
    uint32_t owner = recorder.generation + 1;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint32_t held = atomic_load_explicit(lock, memory_order_relaxed);
        if (held != owner &&
            atomic_compare_exchange_weak_explicit(lock, &held, owner, memory_order_acquire, memory_order_relaxed)) {
            return true;
        }
        cpu_relax();
    }
    return false;
}

static inline void spin_lock(_Atomic uint32_t *lock)
{
    spin_lock_as(lock, recorder.generation + 1);
}

// For those who must not wait.
static inline bool spin_try(_Atomic uint32_t *lock)
{
    uint32_t owner = recorder.generation + 1;
    uint32_t held = atomic_load_explicit(lock, memory_order_relaxed);
    return held != owner &&
           atomic_compare_exchange_strong_explicit(lock, &held, owner, memory_order_acquire, memory_order_relaxed);
}

static inline void spin_unlock(_Atomic uint32_t *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}
