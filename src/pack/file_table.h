// The log's files, and objects in them. One name is one file, whichever processes used it.
#pragma once

#include <stdbool.h>

#include "base/mounts.h"
#include "fmt/fields.h"
#include "pack/intern.h"
#include "pack/log_writer.h"

struct file_row;

struct file_table {
    struct intern names;  // a file's number is that of its name
    struct intern texts;  // mount points and types of file systems
    struct file_row *row; // by number, less one
    size_t count;
};

// Adds the body of a process's RECORD_FILE: sets `local` to the process's number of the file, `global` to the log's.
// Completes the file's row with facts that it does not have yet. ERR_FORMAT without a name or a number.
int file_table_add(struct file_table *table, struct fields_in body, uint32_t *local, uint32_t *global);

// Adds to each file the mount point and the type of its file system, if the list has them.
int file_table_set_mounts(struct file_table *table, const struct mounts *mounts);

// Whether a file lies on this device, as st_dev has it.
bool file_table_has_device(const struct file_table *table, uint64_t device);

void file_table_write(const struct file_table *table, struct log_writer *w);

void file_table_free(struct file_table *table);
