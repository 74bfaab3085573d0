// How long each process was in calls on each file: all calls that the program made itself, also those that fail and
// those that no counter of Darshan counts, such as unlink and readdir. Calls inside others are kept apart: MPI-IO uses
// files that the program does not know.
#pragma once

#include "log/visit.h"

// Syncs are part of writing.
enum file_time_kind { FILE_TIME_READ, FILE_TIME_WRITE, FILE_TIME_META, FILE_TIME_KINDS };

struct file_time {
    uint32_t process; // index in the log's table
    uint32_t file;    // the same
    bool is_inside;   // the calls are inside others
    bool is_there;    // a call on it succeeded: otherwise it is a name that was looked up in vain
    struct {
        int64_t ns;       // simultaneous calls of one kind count once
        int64_t until_ns; // the end of the calls so far
    } of[FILE_TIME_KINDS];
};

struct file_times {
    struct log *log;
    struct file_time *time; // by process
    size_t count;
};

struct log_consumer file_times_consumer(struct file_times *times);
void file_times_free(struct file_times *times);
