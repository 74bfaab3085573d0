// With the setting `spill`, a host keeps a job's spill files in a folder of its own, until its last process has them
// delivered to the job's folder. Each process that has a spill file there holds a lock, by a mapping of the locked
// file, which needs no descriptor: the kernel gives it back however the process ends.
#pragma once

// The job's folder then has a mark for this host. NULL: there is no such folder, or it is just being delivered.
const char *host_folder_enter(void);
// Gives the lock back. The folder, if no other process holds it; else NULL.
const char *host_folder_leave(void);
