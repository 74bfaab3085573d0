// Jobs without `record`: a process that finds a folder for logs among the settings, and no job, begins one. Everything
// that it starts belongs to it. A step of Slurm is a job of its own, begun by each of its tasks. When the last of those
// that began it ends, `ioseer pack --finish` makes the log.
#pragma once

#include <stdbool.h>

// Sets recorder.job, if a job begins here, or this process belongs to another one than its environment says.
void job_begin(void);
// In a forked child: begins a job of its own, if the log of its parent's has been made already.
bool job_begin_again(void);
// Whether the job has no `record`.
bool job_is_alone(void);

// In the process that began the job: says in its spill file what the log will say about the job.
void job_describe(void);

// After recorder_end: makes the log, if the job is over. In a destructor, where the exit status is not known yet, the
// process that began the job leaves that to a function that libc calls with the status.
void job_end(void);
void job_exit(void);
