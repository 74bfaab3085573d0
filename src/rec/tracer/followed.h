// The processes that a tracer follows. The recorder's own code (probes, handles, files, spill files) keeps its state in
// variables for one process; the tracer exchanges these variables when it turns to another one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fmt/records.h"

struct thread;

struct followed {
    pid_t pid;
    unsigned tasks;      // threads that live
    bool is_recorded;    // no recorder was loaded into it
    bool has_spill;      // its record has begun
    bool is_joined;      // it ran already, and its record has not begun
    uint32_t generation; // 0: it began with exec, 1: with fork
    char *state;         // the recorder's variables, while the tracer has turned to another process
};

// Call first: reads the settings.
int followed_init(void);
bool followed_all(void); // every program is recorded, nothing is preloaded

struct followed *followed_new(pid_t pid); // NULL without memory
void followed_free(struct followed *process);

// Turns to a process; `tid` is one of its threads that lives.
void followed_turn_to(struct followed *process, pid_t tid);

// Of the process that the tracer has turned to: begins its record. On failure it will not be recorded.
void followed_begin(struct followed *process);
// Notes what the kernel has counted: the process calls exec, which may still fail.
void followed_before_exec(void);
// Ends its record. Without one, does nothing.
void followed_end(struct followed *process, enum process_exit how, uint32_t value);

// Of the same: the recorder's state of a thread, made or taken from one that has ended. NULL without memory.
struct thread *followed_thread(pid_t tid);
void followed_thread_ended(struct thread *thread);

// The kernel's count of the job's bytes contains what the tracer reads.
void followed_count_read(size_t bytes);

// memory.c: what was allocated so far is kept forever; frees what the current process has.
void memory_keep(void);
void memory_free_all(void);

// asking.c: which thread the questions are about.
void asking_about(pid_t tid);
long asking_read(const char *path, char *out, size_t room); // ends with a zero byte
long asking_number(const char *path, const char *label, int base);
