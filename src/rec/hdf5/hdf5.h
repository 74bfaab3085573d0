// Probes of HDF5. They know what an id stands for from the calls that made it, so that a transfer asks HDF5 for
// nothing. What they must ask, they ask before the real call or after it has succeeded, because every call clears the
// program's error stack; and only what cannot fail, because a failure prints.
#pragma once

#include "rec/call_types.h"
#include "rec/emit.h"
#include "rec/id_table.h"
#include "rec/selection.h"

enum { HDF5_MAX_RANK = SELECTION_MAX_RANK };

// Facts about a file from the property list with which it was opened.
struct hdf5_access {
    bool by_mpi;
    bool collective_reads, collective_writes; // of metadata
    hsize_t alignment_from, alignment;
};

enum hdf5_kind { HDF5_OBJECT = 1, HDF5_SPACE, HDF5_LIST };

// What an id of HDF5 stands for.
struct hdf5_id {
    struct id_entry entry;
    enum hdf5_kind kind; // 0 while it is made
    // Objects: files, groups, datasets, attributes
    struct file *file; // NULL: not known, or left out
    uint32_t serial;
    bool left_out, is_dataset;
    struct hdf5_access access;
    uint32_t extents;           // of its file when the extent was asked for
    uint64_t bytes;             // of an element of the dataset; of the whole attribute
    int mode;                   // of a property list: whether transfers are collective
    struct selection space;     // of a dataspace; of a dataset, its extent
    struct selection_memo last; // of the latest transfer of a dataset
};

struct hdf5_probe {
    struct thread *thread;
    struct library *library;
    uintptr_t caller;
    uint64_t start;
    struct call_frame frame;
    struct hdf5_id *id; // NULL: not known
    struct hdf5_access access;
    uint64_t offset, size;
    bool has_offset, is_collective;
    uint32_t shape;
};

// Parameters of a regular selection, as a call has them.
struct hdf5_slab {
    const hsize_t *start, *stride, *count, *block;
};
#define HDF5_SLAB(start, stride, count, block) (&(const struct hdf5_slab){start, stride, count, block})

// Datasets of one call, with what it selects in each.
struct hdf5_many {
    size_t count;
    const hid_t *id, *space;
    hid_t list;
};
#define HDF5_MANY(count, id, space, list) (&(const struct hdf5_many){count, id, space, list})

// --- ids.c

struct hdf5_id *hdf5_find(struct hdf5_probe *p, enum hdf5_kind kind, hid_t id);
struct hdf5_id *hdf5_add(struct hdf5_probe *p, enum hdf5_kind kind, hid_t id); // zeroed but for the key; NULL: no room
void hdf5_remove(struct hdf5_probe *p, hid_t id);
void hdf5_remove_all(struct hdf5_probe *p);

// --- ask.c

void hdf5_start(struct library *library); // sets its state, unless it is too old
bool hdf5_is_valid(const struct hdf5_probe *p, hid_t id);
// The object of an id: known, or asked for. NULL if it is no object.
struct hdf5_id *hdf5_object(struct hdf5_probe *p, hid_t id);
void hdf5_add_unnamed(struct hdf5_probe *p, hid_t id); // it was opened without a path
bool hdf5_list_is_collective(struct hdf5_probe *p, hid_t list);
void hdf5_ask_access(struct hdf5_probe *p, hid_t list, struct hdf5_access *access);
void hdf5_ask_space(const struct hdf5_probe *p, hid_t space, struct selection *out);
bool hdf5_ask_attribute(const struct hdf5_probe *p, hid_t attribute, char *name, size_t room, uint64_t *bytes);
uint64_t hdf5_ask_chunk_bytes(const struct hdf5_probe *p, hid_t dataset, const hsize_t *at);
// If the object is a dataset: learns its extent, and returns its number in the log (RECORD_DATASET).
uint32_t hdf5_describe(struct hdf5_probe *p, struct hdf5_id *object, bool old_call);

// --- the probes (hdf5.c)

bool hdf5_enter(struct hdf5_probe *p, hid_t id);
bool hdf5_enter_file(struct hdf5_probe *p, hid_t list);
bool hdf5_enter_close(struct hdf5_probe *p, hid_t id);
bool hdf5_enter_release(struct hdf5_probe *p, hid_t id);
bool hdf5_enter_data(struct hdf5_probe *p, hid_t id, hid_t space, hid_t list);
bool hdf5_enter_chunk(struct hdf5_probe *p, hid_t id, const hsize_t *at, size_t bytes, hid_t list);
bool hdf5_enter_attribute_data(struct hdf5_probe *p, hid_t id);
bool hdf5_enter_multi(struct hdf5_probe *p);
bool hdf5_enter_quietly(struct hdf5_probe *p);

void hdf5_leave_file(struct hdf5_probe *p, uint32_t call, const char *name, unsigned flags, hid_t result);
void hdf5_leave_reopen(struct hdf5_probe *p, uint32_t call, hid_t result);
void hdf5_leave_open(struct hdf5_probe *p, uint32_t call, const char *name, bool old, hid_t result);
void hdf5_leave_attribute(struct hdf5_probe *p, uint32_t call, const char *object, const char *name, hid_t result);
void hdf5_leave_object(struct hdf5_probe *p, uint32_t call, herr_t result);
void hdf5_leave_name(struct hdf5_probe *p, uint32_t call, const char *object, const char *name, herr_t result);
void hdf5_leave_close(struct hdf5_probe *p, uint32_t call, hid_t id, int result);
void hdf5_leave_extent(struct hdf5_probe *p, uint32_t call, hid_t id, herr_t result);
void hdf5_leave_flush(struct hdf5_probe *p, uint32_t call, herr_t result);
void hdf5_leave_multi(struct hdf5_probe *p, uint32_t call, const struct hdf5_many *many, uint32_t each, herr_t result);
void hdf5_leave_chunk(struct hdf5_probe *p, uint32_t call, hid_t id, const hsize_t *at, herr_t result);

void hdf5_leave_space(struct hdf5_probe *p, uint32_t call, int rank, const hsize_t *dims, hid_t result);
void hdf5_leave_copied_space(struct hdf5_probe *p, uint32_t call, hid_t from, hid_t result);
void hdf5_leave_got_space(struct hdf5_probe *p, uint32_t call, hid_t dataset, hid_t result);
void hdf5_leave_select(struct hdf5_probe *p, uint32_t call, hid_t space, int op, const struct hdf5_slab *slab,
                       herr_t result);
void hdf5_leave_select_whole(struct hdf5_probe *p, uint32_t call, hid_t space, unsigned kind, herr_t result);
void hdf5_leave_mode(struct hdf5_probe *p, uint32_t call, hid_t list, int mode, herr_t result);
void hdf5_leave_forget(struct hdf5_probe *p, uint32_t call, hid_t id, herr_t result);
void hdf5_leave_unnamed(struct hdf5_probe *p, uint32_t call, hid_t result);
void hdf5_leave_forget_all(struct hdf5_probe *p, uint32_t call, herr_t result);
