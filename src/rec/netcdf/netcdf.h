// Probes of PnetCDF and NetCDF. Both name a file by a number and its variables by others. What a probe does not know it
// asks for after a call that succeeded: then the answer needs no I/O, and neither library prints or remembers errors.
#pragma once

#include "rec/call_types.h"
#include "rec/emit.h"
#include "rec/id_table.h"
#include "rec/selection.h"

enum { NC_WHOLE_FILE = -1 }; // instead of a variable's number

// A variable, or a whole file.
struct nc_object {
    struct id_entry entry;
    int file_id, id;
    struct file *file; // NULL: not known, or left out
    uint32_t serial;
    bool left_out;
    bool by_mpi, is_collective; // its transfers; a file: those of variables that are not known yet
    bool is_described;          // in the log
    uint32_t grows;             // dimensions that can, a bit each
    int type;                   // enum nc_type of a variable
    uint64_t bytes;             // of an element
    struct selection space;     // all of a variable
    struct selection_memo last; // of its latest transfer
    uint64_t last_size;
};

struct nc_probe {
    struct thread *thread;
    struct library *library;
    uintptr_t caller;
    uint64_t start;
    struct call_frame frame;
    int file_id, id;        // of a transfer's variable
    struct pending *waited; // transfers that the call waits for, in the order of their requests
};

// A part of a variable, as a call has it. Without a count it is one element, without a stride there are no gaps.
struct nc_slab {
    const int64_t *start, *count, *stride;
    bool to_end; // no count: as many as there are
};
#define NC_SLAB(start, count, stride) (&(const struct nc_slab){start, count, stride, false})
// NetCDF begins with the first element if there is no start, and takes all from there on if there is no count.
#define NC_PART(start, count, stride)                                                                                  \
    ((start) || (count) ? &(const struct nc_slab){start, count, stride, !(count)} : NULL)

// Several parts of a variable. Without counts they are single elements.
struct nc_list {
    int number;
    int64_t *const *start;
    int64_t *const *count;
};
#define NC_LIST(number, start, count) (&(const struct nc_list){number, start, count})

// A part of each of several variables. Without starts it is all of each.
struct nc_many {
    int number;
    const int *variable;
    int64_t *const *start, *const *count, *const *stride;
};
#define NC_MANY(number, variables, start, count, stride)                                                               \
    (&(const struct nc_many){number, variables, start, count, stride})

struct pending; // rec/async/pending.h

// --- ids.c

struct nc_object *nc_find(struct nc_probe *p, int file_id, int id);
struct nc_object *nc_add(struct nc_probe *p, int file_id, int id); // zeroed but for the key; NULL: no room
void nc_remove(struct nc_probe *p, int file_id, int id);
void nc_remove_file(struct nc_probe *p, int file_id); // and its variables
void nc_forget_variables(struct nc_probe *p, int file_id);

// --- ask.c

void nc_start(struct library *library); // sets its state
// The file or the variable of a call that has succeeded: known, or asked for. NULL if the library does not know it.
struct nc_object *nc_object(struct nc_probe *p, int file_id, int id);
// The number of the variable's description in the log (RECORD_DATASET).
uint32_t nc_describe(struct nc_object *variable);
// All of a variable as it is now: it may have grown.
void nc_ask_space(struct nc_probe *p, struct nc_object *variable);
uint64_t nc_ask_type_bytes(const struct nc_probe *p, const void *datatype); // of a datatype of MPI

// --- the probes (netcdf.c)

bool nc_enter(struct nc_probe *p);
bool nc_enter_quietly(struct nc_probe *p);
void nc_leave_open(struct nc_probe *p, uint32_t call, const char *name, int flags, const int *file_id, int result);
void nc_leave_file(struct nc_probe *p, uint32_t call, int file_id, int result);
void nc_leave_close(struct nc_probe *p, uint32_t call, int file_id, int result);
void nc_leave_variable(struct nc_probe *p, uint32_t call, int file_id, const int *variable, int result);
bool nc_enter_data(struct nc_probe *p, int file_id, int variable);
void nc_leave_part(struct nc_probe *p, uint32_t call, const struct nc_slab *slab, bool none, int result);
void nc_leave_parts(struct nc_probe *p, uint32_t call, const struct nc_list *list, bool none, int result);
void nc_leave_many(struct nc_probe *p, uint32_t call, int file_id, const struct nc_many *many, uint32_t each,
                   int result);
void nc_leave_typed(struct nc_probe *p, uint32_t call, const void *datatype, int result);
void nc_leave_post(struct nc_probe *p, uint32_t call, const struct nc_slab *slab, bool none, const int *request,
                   int result);
void nc_leave_posts(struct nc_probe *p, uint32_t call, const struct nc_list *list, bool none, const int *request,
                    int result);
bool nc_enter_wait(struct nc_probe *p, int file_id, int count, const int *requests);
void nc_leave_wait(struct nc_probe *p, uint32_t call, int file_id, int count, const int *statuses, int result);
void nc_leave_cancel(struct nc_probe *p, uint32_t call, int result);
void nc_leave_mode(struct nc_probe *p, uint32_t call, int file_id, int variable, int mode, int result);
void nc_leave_rename(struct nc_probe *p, uint32_t call, int file_id, int variable, int result);
