// Which operations wait for operations of other threads and processes: what the rules that find them share.
#pragma once

#include "base/lookup.h"
#include "model/build/build.h"

// A thread that may wait for others. Its operations are numbered from 1, barriers left out.
struct wait_user {
    const struct thread_ops *ops;
    uint32_t first, threads; // of its process: place of the first one, and how many
    size_t transfer, other;  // the next of each
    uint32_t number;         // of the current operation
    struct op_time time;     // of the current operation
    bool is_awaited;         // another one waits for the current operation
    struct lookup last;      // by file: number of its last operation on it
    struct lookup own;       // by file: how often it opened it, less how often it closed it
};

struct wait_op {
    uint32_t user; // LOOKUP_NONE: none
    uint32_t number;
};

// What a call showed about a name.
enum name_seen { NAME_UNKNOWN, NAME_MISSING, NAME_THERE };

// How large a file is, and who made it so large.
struct file_size {
    int64_t base;       // before it grew
    struct wait_op cut; // what cut it off there
    bool appends;       // some have opened it to append
    struct file_growth {
        int64_t end;
        struct wait_op by;
    } * growth; // by end
    size_t growths;
    uint32_t seen; // place + 1 of the last use that saw its end, since it grew
    uint32_t used; // place + 1 of the last transfer, since it was cut off
};

// One of a list of operations on a file.
struct file_use {
    struct wait_op op;
    int64_t size;    // that it saw; -1: none
    uint32_t before; // place + 1 of the one before in the list
};

struct wait_file {
    struct wait_op opened;  // the last time, in any process
    struct wait_op closed;  // the same
    struct wait_op changed; // the last time that the name was made or removed
    enum name_seen name;    // after that
    uint32_t asked;         // place + 1 of the last lookup since then
    struct file_size size;
};

// An operation that looked up a name.
struct name_lookup {
    struct wait_op op;
    enum name_seen seen;
    uint32_t before; // place + 1 of the one before, of the same name
};

// For one thread that waits for another: which operation waits for which.
struct wait_rows {
    uint32_t user, behind;
    int64_t *op, *done; // ascending, both
    size_t count;
};

// The names in the log, by set and member.
struct log_names {
    struct lookup place;  // in the log's table
    struct lookup folder; // place of its folder, if the program used that, too
};

struct file_waits {
    const struct recorded *recorded;
    const struct log_names *names;
    struct wait_user *user; // all threads that may wait for each other; those of a process in a row
    uint32_t users;
    struct lookup file_of; // by set and member: place
    struct wait_file *file;
    size_t files;
    struct lookup opener; // by process and file: place
    struct wait_op *open;
    size_t opens;
    struct name_lookup *asked;
    size_t asks;
    struct file_use *use;
    size_t uses;
    struct lookup rows_of; // by both users: place
    struct wait_rows *rows;
    size_t row_count;
};

// Returns the place of a file. Files that are new to it move the others in memory.
int file_waits_place(struct file_waits *w, uint64_t file, uint32_t *place);
// The current operation of `user` waits for an operation of another, unless an earlier one has waited for that.
int file_waits_add(struct file_waits *w, uint32_t user, struct wait_op behind);
// An operation of `user` has begun and not ended, and turns out to come after the current one of `behind`: it waits,
// unless another one waits for it, so that no two wait for each other.
int file_waits_add_late(struct file_waits *w, struct wait_op user, uint32_t behind);
// Whether an operation that began before the current one of `user` had not ended by then.
bool file_waits_is_under_way(const struct file_waits *w, struct wait_op op, uint32_t user);

// The waits of a thread's current operation because of the names that it uses (name_waits.c), and because of the sizes
// of files (size_waits.c).
int name_waits_find(struct file_waits *w, uint32_t user, const struct op *op);
int size_waits_find(struct file_waits *w, uint32_t user, const struct op *op);
void size_waits_move(struct file_size *to, struct file_size *from); // an empty file is left
