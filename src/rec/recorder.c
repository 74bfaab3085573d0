#include "rec/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/settings.h"
#include "rec/emit.h"
#include "rec/event_clock.h"
#include "rec/files.h"
#include "rec/handles.h"
#include "rec/job.h"
#include "rec/memory.h"
#include "rec/probe/probe.h"
#include "rec/process_info.h"
#include "rec/real.h"
#include "rec/spill.h"
#include "rec/stdio/stdio.h"
#include "rec/triggers.h"

struct recorder recorder __attribute__((aligned(8))); // beside other small variables
__thread struct thread *current_thread __attribute__((tls_model("initial-exec")));
static __thread bool switching __attribute__((tls_model("initial-exec"))); // the thread gets or gives up its state
static __thread bool stopped_here __attribute__((tls_model("initial-exec")));
static __thread bool starting_here __attribute__((tls_model("initial-exec")));
static __thread bool ready_before_vfork __attribute__((tls_model("initial-exec")));
static __thread bool vfork_child __attribute__((tls_model("initial-exec")));
bool event_clock_uses_ns;

// What fork wipes: one page for most of what a process and its first thread write.
struct wiped {
    _Atomic uint32_t spill_is_ours;
    _Atomic uint32_t lock; // of who makes the spill file
    struct thread thread;
};
static struct thread *_Atomic unused_thread; // the one in `struct wiped`, until a thread takes it

// --- fork

static uint64_t last_fork_ns; // of this process or, in a forked child, of its parent

static void before_fork(void) {
    if (recorder.spill) handles_share_all();
    last_fork_ns = clock_ns(CLOCK_MONOTONIC);
}

// Some emulated kernels say that they wipe pages in a child and do not (QEMU). If they do, nothing is ours here, or a
// handler of the program has run before and the child has its own spill file. Storing makes the page at once, where
// loading would first map the page of zeros.
static void wipe_in_child(void) {
    if (!atomic_fetch_add(recorder.spill_is_ours, 0) || recorder.pid == (uint32_t)cpu_syscall(SYS_getpid, 0)) return;
    memset(recorder.spill_is_ours, 0, offsetof(struct wiped, thread));
    if (current_thread) memset(current_thread, 0, sizeof *current_thread);
}

// The state is a copy of the parent's. The child gets a spill file of its own and has none of the other threads.
static void become_child(uint32_t pid) {
    recorder.pid = pid;
    recorder.spill = NULL;
    recorder.records = NULL;
    recorder.idle_threads = NULL;
    recorder.generation++;
    files_forget_cwd(); // daemon() changes it unseen
    handles_share_all();
}

void vfork_before(void) {
    recorder_thread();
    handles_share_all();
    ready_before_vfork = current_thread && current_thread->ready;
    if (ready_before_vfork) current_thread->ready = false;
    vfork_child = true;
}

long vfork_after(long result) {
    vfork_child = false;
    if (ready_before_vfork) current_thread->ready = true;
    if (result >= 0) return result;
    errno = (int)-result;
    return -1;
}

// --- start

static void thread_ended(void *state) {
    struct thread *thread = state;
    if (!thread->ready) return;
    switching = true; // a signal handler that asked for a state now would wait for the lock forever
    thread->ready = thread->outside_mpi = false;
    current_thread = NULL;
    spin_lock(&recorder.idle_lock);
    thread->next_idle = recorder.idle_threads;
    recorder.idle_threads = thread;
    spin_unlock(&recorder.idle_lock);
    switching = false;
}

// Memory that the kernel zeroes in a forked child.
static void *wiped_pages(size_t bytes) {
    bytes = (bytes + SPILL_ALIGN - 1) & ~(size_t)(SPILL_ALIGN - 1);
    void *pages = memory_pages(bytes);
    if (pages) cpu_syscall(SYS_madvise, pages, bytes, MADV_WIPEONFORK);
    return pages;
}

// The processor takes tens of microseconds for the answer in a virtual machine, where each start of a program would
// feel it: a process that has started others tells them.
static bool counter_is_steady(void) {
    const char *host = recorder_variable(SETTING_JOB_COUNTER);
    struct utsname here;
    if (cpu_syscall(SYS_uname, &here) < 0) return cpu_counter_is_steady();
    bool is_steady = (host && !strcmp(host, here.nodename)) || cpu_counter_is_steady();
    if (is_steady) recorder_export(SETTING_JOB_COUNTER, here.nodename, strlen(here.nodename));
    return is_steady;
}

static void start(void) {
    bool in_charge = real_resolve();
    recorder_read_settings();
    if (in_charge) job_begin();
    if (in_charge) triggers_begin();
    if (recorder.job) event_clock_uses_ns = !counter_is_steady();
    bool is_wanted = in_charge && recorder.job;
    struct wiped *wiped = is_wanted ? wiped_pages(sizeof *wiped) : NULL;
    if (wiped) recorder.spill_is_ours = &wiped->spill_is_ours;
    if (wiped) unused_thread = &wiped->thread;
    bool usable = wiped && handles_init() == 0 && files_init() == 0;
    if (usable) {
        recorder.thread_key_made = pthread_key_create(&recorder.thread_key, thread_ended) == 0;
        pthread_atfork(before_fork, NULL, wipe_in_child);
    }
    atomic_store(&recorder.phase, usable ? RECORDER_ON : RECORDER_OFF);
}

static bool started(void) {
    uint32_t fresh = RECORDER_FRESH;
    if (atomic_load(&recorder.phase) == RECORDER_FRESH &&
        atomic_compare_exchange_strong(&recorder.phase, &fresh, RECORDER_STARTING)) {
        starting_here = true;
        start();
        starting_here = false;
    }
    // A fork in the middle of the start leaves the child without the thread that would complete it.
    uint32_t starting = RECORDER_STARTING;
    if (!starting_here && !spin_while(&recorder.phase, starting))
        atomic_compare_exchange_strong(&recorder.phase, &starting, RECORDER_OFF);
    return atomic_load(&recorder.phase) == RECORDER_ON;
}

static enum process_birth birth(bool is_forked) {
    enum { RECENTLY_NS = 5000000 };
    if (!is_forked) return BIRTH_EXEC;
    return clock_ns(CLOCK_MONOTONIC) - last_fork_ns < RECENTLY_NS ? BIRTH_RECENT_FORK : BIRTH_FORK;
}

static void make_spill(void) {
    uint32_t pid = (uint32_t)cpu_syscall(SYS_getpid, 0);
    bool is_forked = recorder.pid;
    if (is_forked) become_child(pid);
    recorder.pid = pid;
    if (spill_create() < 0 && (!job_begin_again() || spill_create() < 0)) {
        atomic_store(&recorder.phase, RECORDER_OFF);
        return;
    }
    process_info_start(real_via, birth(is_forked));
    job_describe();
    mappings_begin();
    atomic_store_explicit(recorder.spill_is_ours, 1, memory_order_release);
}

// The first thread of a process makes the spill file. The lock lies on the page that fork wipes, too.
static bool have_spill(void) {
    _Atomic uint32_t *lock = &((struct wiped *)recorder.spill_is_ours)->lock;
    if (atomic_load_explicit(recorder.spill_is_ours, memory_order_acquire)) return true;
    spin_lock_as(lock, 1);
    if (!atomic_load(recorder.spill_is_ours) && atomic_load(&recorder.phase) == RECORDER_ON) make_spill();
    spin_unlock(lock);
    return atomic_load(recorder.spill_is_ours);
}

static struct thread *idle_thread(void) {
    spin_lock(&recorder.idle_lock);
    struct thread *thread = recorder.idle_threads;
    if (thread) recorder.idle_threads = thread->next_idle;
    spin_unlock(&recorder.idle_lock);
    return thread;
}

static struct thread *attach(void) {
    if (!started() || !have_spill()) return NULL;
    struct thread *thread = current_thread; // not NULL: it was wiped in a forked child
    uint32_t tid = (uint32_t)cpu_syscall(SYS_gettid, 0);
    struct thread *taken = thread ? NULL : idle_thread();
    if (taken) {
        thread = taken;
        thread->tid = tid;
        if (!thread->trace_ended && thread->writer.at < thread->writer.limit) {
            stream_put_control(&thread->writer, KIND_THREAD, &(uint64_t){tid}, 1);
        }
    } else {
        if (!thread) thread = atomic_exchange(&unused_thread, NULL);
        if (!thread) thread = wiped_pages(sizeof *thread);
        if (!thread) return NULL;
        thread->tid = tid;
        thread->tally = &thread->spare_tally;
        thread->comm = thread->tally->comm;
        thread->deferred_events = memory_alloc(sizeof *thread->deferred_events * EMIT_DEFERRED_MOST);
        emit_next_chunk(thread, event_clock_now());
    }
    thread->ready = thread->outside_mpi = true;
    current_thread = thread;
    if (recorder.thread_key_made) pthread_setspecific(recorder.thread_key, thread);
    return thread;
}

// The call of a signal handler whose thread has no state cannot be deferred.
static void count_unseen_call(void) {
    if (recorder.spill_is_ours && atomic_load(recorder.spill_is_ours)) spill_count_loss(LOSS_SIGNAL, 1);
}

struct thread *recorder_attach(void) {
    if (stopped_here || vfork_child) return NULL;
    if (switching) {
        count_unseen_call();
        return NULL;
    }
    int error = errno;
    switching = true;
    struct thread *thread = attach();
    switching = false;
    errno = error;
    return thread;
}

// --- end

// A forked child that made no recorded call has no spill file.
void recorder_end(enum process_exit how, uint32_t value) {
    struct thread *thread = current_thread;
    if (vfork_child || !thread || !thread->ready) return;
    if (how == EXIT_CLEAN) stdio_finish_all();
    emit_flush_comm(thread);
    if (!emit_claim(thread)) return;
    struct spill_header *header = recorder.spill;
    // exit() of a static program calls the linked recorder's _exit.
    bool after_exit = how == EXIT_UNDERSCORE && atomic_load(&header->exit) == EXIT_CLEAN;
    if (after_exit) how = EXIT_CLEAN;
    mappings_end();
    process_info_end();
    header->exit_value = value;
    spill_update_clock();
    atomic_store(&header->exit, how);
    emit_unclaim(thread);
}

void recorder_stop_here(void) {
    struct thread *thread = recorder_thread();
    if (!thread) return;
    process_info_end();
    spill_count_loss(LOSS_SANDBOX, 1);
    stopped_here = true;
    thread->ready = thread->outside_mpi = false;
}

void recorder_pause(void) {
    stopped_here = true;
    current_thread->ready = current_thread->outside_mpi = false;
}

void recorder_end_pause(void) {
    stopped_here = false;
    current_thread->ready = current_thread->outside_mpi = true;
}

void recorder_resume(void) {
    if (!current_thread || !current_thread->ready) return;
    atomic_store(&recorder.spill->exit, EXIT_UNKNOWN);
    if (!emit_claim(current_thread)) return;
    mappings_resume();
    emit_unclaim(current_thread);
}

// In a program that the recorder is linked into, before its own constructors and after its destructors.
#define FIRST_AND_LAST 101
__attribute__((constructor(FIRST_AND_LAST))) static void on_load(void) { recorder_thread(); }

__attribute__((destructor(FIRST_AND_LAST))) static void on_exit_or_unload(void) {
    // The thread that ends the process may have made no call so far. A forked child without one gets no spill file.
    if (recorder.spill_is_ours && atomic_load(recorder.spill_is_ours)) recorder_thread();
    recorder_end(EXIT_CLEAN, 0);
    job_exit();
}
