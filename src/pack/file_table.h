// The log's files, and objects in them. One name is one file, whichever processes used it.
#pragma once

#include <stdbool.h>

#include "base/mounts.h"
#include "fmt/fields.h"
#include "fmt/stripe.h"
#include "pack/intern.h"
#include "pack/log_writer.h"

struct file_row;
struct pack;

struct file_table {
    struct intern names;  // a file's number is that of its name
    struct intern texts;  // mount points, types of file systems, and encoded stripes
    struct file_row *row; // by number, less one
    size_t count;
};

// Adds the body of a process's RECORD_FILE: sets `local` to the process's number of the file, `global` to the log's.
// Completes the file's row with facts that it does not have yet. ERR_FORMAT without a name or a number.
int file_table_add(struct file_table *table, struct fields_in body, uint32_t *local, uint32_t *global);

// Adds to each file the mount point and the type of its file system, if the list has them.
int file_table_set_mounts(struct file_table *table, const struct mounts *mounts);

// The number in `texts` of the place where the file system of a regular file is mounted, if it is of this type; else 0.
uint32_t file_table_mount(const struct file_table *table, uint32_t file, const char *type);

int file_table_set_stripes(struct file_table *table, uint32_t file, const struct stripe *stripes, size_t count);

uint64_t file_table_inode(const struct file_table *table, uint32_t id); // 0: not known
uint64_t file_table_device(const struct file_table *table, uint32_t id);
// Whether the file is in the file system that is mounted there, or in one below it.
bool file_table_is_under(const struct file_table *table, uint32_t id, const uint8_t *mount, size_t len);

// Whether a file lies on this device, as st_dev has it.
bool file_table_has_device(const struct file_table *table, uint64_t device);
// And at this mount point, as far as is known.
bool file_table_uses_mount(const struct file_table *table, uint64_t device, const char *point);

// Files have their numbers in the log, unless these say otherwise: `known` gives those that the log has already, or 0,
// and all others begin behind `first`.
typedef uint32_t file_table_known(const struct pack *pack, const uint8_t *name, size_t len);
void file_table_number(struct file_table *table, uint32_t first, file_table_known *known, const struct pack *pack);
uint32_t file_table_id(const struct file_table *table, uint32_t file);

void file_table_write(const struct file_table *table, struct log_writer *w);

void file_table_free(struct file_table *table);
