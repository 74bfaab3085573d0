// The log's files: what several processes did to one name is one file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/lookup.h"
#include "base/mounts.h"
#include "fmt/fields.h"
#include "pack/log_writer.h"

struct file_row;

struct file_table {
    struct file_row *row; // the file's number less one is its place
    size_t count;
    size_t capacity;
    struct bytes text;     // names, mount points and types of file systems
    struct lookup by_name; // hash of the name -> number
};

// Takes in the body of a process's RECORD_FILE: `local` becomes its own number of the file, `global` the log's.
// What is not known yet of the file is added to its row. ERR_FORMAT without a name or a number.
int file_table_add(struct file_table *table, struct fields_in body, uint64_t *local, uint32_t *global);

// Says of each file where its file system is mounted and of which type it is, where the list tells.
int file_table_set_mounts(struct file_table *table, const struct mounts *mounts);

// Whether a file lies on this device, as st_dev has it.
bool file_table_has_device(const struct file_table *table, uint64_t device);

int file_table_write(const struct file_table *table, struct log_writer *w);

void file_table_free(struct file_table *table);
