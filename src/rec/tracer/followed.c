#include "rec/tracer/followed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/settings.h"
#include "rec/asking.h"
#include "rec/callsites.h"
#include "rec/emit.h"
#include "rec/event_clock.h"
#include "rec/memory.h"
#include "rec/process_info.h"
#include "rec/spill.h"
#include "rec/triggers.h"

PER_PROCESS struct recorder recorder;
__thread struct thread *current_thread;
bool event_clock_uses_ns;

extern char __start_per_process[], __stop_per_process[];
static char *fresh; // the variables as they are before a process begins
static struct followed *current;
static bool follows_all;
static size_t unclaimed_read; // bytes that the tracer read when it had turned to no process with a spill file

static size_t state_bytes(void) { return (size_t)(__stop_per_process - __start_per_process); }

int followed_init(void) {
    recorder_read_settings();
    recorder.callsites = false;
    event_clock_uses_ns = !cpu_counter_is_steady();
    follows_all = getenv(SETTING_FOLLOW_ALL);
    memory_keep();
    fresh = malloc(state_bytes());
    if (!fresh || !recorder.job) return -ENOENT;
    memcpy(fresh, __start_per_process, state_bytes());
    return 0;
}

bool followed_all(void) { return follows_all; }

struct followed *followed_new(pid_t pid) {
    struct followed *process = calloc(1, sizeof *process);
    char *state = process ? malloc(state_bytes()) : NULL;
    if (!state) {
        free(process);
        return NULL;
    }
    memcpy(state, fresh, state_bytes());
    process->pid = pid;
    process->state = state;
    return process;
}

void followed_turn_to(struct followed *process, pid_t tid) {
    asking_about(tid);
    if (process == current) return;
    if (current) memcpy(current->state, __start_per_process, state_bytes());
    memcpy(__start_per_process, process->state, state_bytes());
    current = process;
}

void followed_count_read(size_t bytes) {
    unclaimed_read += bytes;
    if (!current || !current->has_spill) return;
    recorder.spill->own_chars += (uint32_t)unclaimed_read;
    unclaimed_read = 0;
}

// Frees all that belongs to the current process; its variables are then as before the beginning.
static void forget(struct followed *process) {
    if (recorder.spill) munmap(recorder.spill, recorder.spill->capacity);
    memory_free_all();
    process->has_spill = false;
    memcpy(__start_per_process, fresh, state_bytes());
}

void followed_begin(struct followed *process) {
    recorder.pid = (uint32_t)process->pid;
    recorder.generation = process->generation;
    current_thread = NULL;
    triggers_begin();
    if (handles_init() == 0 && files_init() == 0 && spill_create() == 0) {
        process->has_spill = true;
        process_info_start(VIA_PTRACE, process->is_joined ? BIRTH_JOINED : BIRTH_EXEC);
        process->is_joined = false; // what it executes later is seen from its beginning
        return;
    }
    process->is_recorded = false;
    forget(process);
}

// The kernel reads the new program before the tracer hears of it, and counts that as the process's own.
void followed_before_exec(void) { process_info_end(); }

void followed_end(struct followed *process, enum process_exit how, uint32_t value) {
    if (!process->has_spill) return;
    followed_count_read(0);
    if (how != EXIT_EXEC) process_info_end();
    recorder.spill->exit_value = value;
    spill_update_clock();
    atomic_store(&recorder.spill->exit, how);
    forget(process);
}

void followed_free(struct followed *process) {
    followed_turn_to(process, process->pid);
    forget(process);
    current = NULL;
    free(process->state);
    free(process);
}

struct thread *followed_thread(pid_t tid) {
    struct thread *thread = recorder.idle_threads;
    if (thread) {
        recorder.idle_threads = thread->next_idle;
        thread->tid = (uint32_t)tid;
        if (!thread->trace_ended && thread->writer.at < thread->writer.limit) {
            stream_put_control(&thread->writer, KIND_THREAD, &(uint64_t){(uint64_t)tid}, 1);
        }
    } else {
        thread = memory_pages(sizeof *thread);
        if (!thread) return NULL;
        thread->tid = (uint32_t)tid;
        thread->tally = &thread->spare_tally;
        thread->comm = thread->tally->comm;
        emit_next_chunk(thread, event_clock_now());
    }
    thread->ready = thread->outside_mpi = true;
    return thread;
}

void followed_thread_ended(struct thread *thread) {
    thread->ready = thread->outside_mpi = false;
    thread->frame = NULL; // of a call that will not return
    thread->next_idle = recorder.idle_threads;
    recorder.idle_threads = thread;
}

// --- what the recorder's code needs and the tracer has not

struct thread *recorder_attach(void) {
    return NULL;
}

uint32_t callsites_number(uintptr_t caller) {
    (void)caller;
    return 0;
}
