#include "rec/hdf5/hdf5.h"

#include <fcntl.h>
#include <string.h>

#include "calls.h"
#include "rec/probe/probe.h"

enum { INSIDE = 1 << LAYER_HDF5, FAILED = 1 }; // HDF5 has no numbers of errors

// --- entering

static bool watch(struct hdf5_probe *p) {
    p->thread = recorder_thread();
    return p->thread && p->library->state && !(p->thread->inside & INSIDE);
}

static bool start(struct hdf5_probe *p) {
    if (!watch(p)) return false;
    p->id = NULL;
    p->offset = p->size = 0;
    p->shape = 0;
    p->has_offset = p->is_collective = false;
    return true;
}

// The last step before the call.
static bool begin(struct hdf5_probe *p) {
    p->thread->inside |= INSIDE;
    emit_push(p->thread, &p->frame, CALL_FRAME_SILENT);
    p->frame.is_above = true;
    p->start = event_clock_now();
    return true;
}

bool hdf5_enter(struct hdf5_probe *p, hid_t id) {
    if (!start(p)) return false;
    p->id = hdf5_object(p, id);
    return begin(p);
}

bool hdf5_enter_file(struct hdf5_probe *p, hid_t list) {
    if (!start(p)) return false;
    hdf5_ask_access(p, list, &p->access);
    return begin(p);
}

// Nothing is asked about an object that goes.
bool hdf5_enter_close(struct hdf5_probe *p, hid_t id) {
    if (!start(p)) return false;
    p->id = hdf5_find(p, HDF5_OBJECT, id);
    return begin(p);
}

// Any id can be released; only objects make events.
bool hdf5_enter_release(struct hdf5_probe *p, hid_t id) {
    if (!start(p)) return false;
    p->id = hdf5_find(p, HDF5_OBJECT, id);
    if (!p->id) hdf5_remove(p, id); // if others still use it, it is asked for again
    return p->id && begin(p);
}

// Sets offset, size and shape of a transfer, in elements as the file has them.
static void place(struct hdf5_probe *p, struct hdf5_id *dataset, const struct selection *selection) {
    p->has_offset = selection->kind > SELECTION_NONE;
    p->offset = selection_first(selection) * dataset->bytes;
    p->size = selection_points(selection) * dataset->bytes;
    p->shape = selection_number(&dataset->last, selection, dataset->space.can_grow);
}

// Another id of the dataset may have changed its extent.
static struct hdf5_id *with_extent(struct hdf5_probe *p, struct hdf5_id *object) {
    bool is_old = object && object->is_dataset && object->file &&
                  object->extents != atomic_load_explicit(&object->file->extents, memory_order_relaxed);
    if (UNLIKELY(is_old)) hdf5_describe(p, object, false);
    return object;
}

// Sets what a transfer of a dataset moves.
static void locate(struct hdf5_probe *p, hid_t id, hid_t space, hid_t list) {
    enum { ALL = 0 };
    p->id = with_extent(p, hdf5_object(p, id));
    if (UNLIKELY(!p->id)) return;
    struct hdf5_id *known = space == ALL ? p->id : hdf5_find(p, HDF5_SPACE, space);
    if (UNLIKELY(!known || known->space.kind == SELECTION_UNKNOWN) && space > ALL) {
        if (!known) known = hdf5_add(p, HDF5_SPACE, space);
        if (known) hdf5_ask_space(p, space, &known->space);
    }
    if (known) place(p, p->id, &known->space);
    p->is_collective = p->id->access.by_mpi && hdf5_list_is_collective(p, list);
}

bool hdf5_enter_data(struct hdf5_probe *p, hid_t id, hid_t space, hid_t list) {
    if (!start(p)) return false;
    locate(p, id, space, list);
    return begin(p);
}

bool hdf5_enter_multi(struct hdf5_probe *p) { return start(p) && begin(p); }

bool hdf5_enter_chunk(struct hdf5_probe *p, hid_t id, const hsize_t *at, size_t bytes, hid_t list) {
    uint64_t element = 0;
    if (!start(p)) return false;
    p->id = with_extent(p, hdf5_object(p, id));
    if (p->id && at && p->id->space.kind == SELECTION_ALL) {
        for (unsigned i = 0; i < p->id->space.rank; i++) element = element * p->id->space.dims[i] + at[i];
        p->offset = element * p->id->bytes;
        p->has_offset = true;
        p->is_collective = p->id->access.by_mpi && hdf5_list_is_collective(p, list);
    }
    p->size = bytes;
    return begin(p);
}

bool hdf5_enter_attribute_data(struct hdf5_probe *p, hid_t id) {
    if (!start(p)) return false;
    p->id = hdf5_object(p, id);
    if (p->id) p->size = p->id->bytes;
    return begin(p);
}

bool hdf5_enter_quietly(struct hdf5_probe *p) { return watch(p); }

// --- leaving

static void add_place(const struct hdf5_probe *p, struct emission *e) {
    if (!p->has_offset && call_table[e->event.call].traits & CALL_HAS_OFFSET) e->extra.flags |= EVENT_NO_OFFSET;
    if (p->shape) emit_attribute(e, ATTRIBUTE_SELECTION, p->shape);
    if (p->is_collective) emit_attribute(e, ATTRIBUTE_COLLECTIVE, 1);
}

// Writes the event of the call, which ended at `end`.
static void finish(struct hdf5_probe *p, struct emission *e, bool is_done) {
    if (!is_done) emit_result(e, -1, 0, FAILED);
    add_place(p, e);
    // A question after the call may have made HDF5 read, as for a fill value of variable length: inside the call.
    if (p->thread->writer.clock > e->event.end) e->event.end = p->thread->writer.clock;
    emit_finish(p->thread, &p->frame, e);
    p->thread->inside &= ~(uint32_t)INSIDE;
}

static void drop(struct hdf5_probe *p) {
    emit_leave(p->thread, &p->frame);
    p->thread->inside &= ~(uint32_t)INSIDE;
}

// Starts the event. Returns false, and drops it, if the file is left out.
static bool begin_event(struct hdf5_probe *p, struct emission *e, uint32_t call, struct file *file, uint32_t serial,
                        uint64_t end) {
    struct plain_event event = {
        .call = call, .offset = p->offset, .size = p->size, .start = p->start, .end = end, .caller = p->caller};
    if (p->id && p->id->left_out) {
        drop(p);
        return false;
    }
    emit_start(e, event, file, serial);
    return true;
}

static struct file *file_of(const struct hdf5_id *id) { return id ? id->file : NULL; }
static uint32_t serial_of(const struct hdf5_id *id) { return id ? id->serial : 0; }

void hdf5_leave_object(struct hdf5_probe *p, uint32_t call, herr_t result) {
    struct emission e;
    if (begin_event(p, &e, call, file_of(p->id), serial_of(p->id), event_clock_now())) finish(p, &e, result >= 0);
}

// Whatever object of a file is named: the whole file is flushed.
void hdf5_leave_flush(struct hdf5_probe *p, uint32_t call, herr_t result) {
    struct emission e;
    uint64_t end = event_clock_now();
    struct file *file = file_of(p->id);
    if (file) file = files_entry(file->name, strlen(file->name));
    if (begin_event(p, &e, call, file, 0, end)) finish(p, &e, result >= 0);
}

static struct hdf5_probe locate_one(struct hdf5_probe *p, const struct hdf5_many *many, size_t i) {
    struct hdf5_probe one = {.thread = p->thread, .library = p->library};
    locate(&one, many->id[i], many->space[i], many->list);
    if (!p->id) p->id = one.id;
    return one;
}

// A call on several datasets contains a transfer of each.
void hdf5_leave_multi(struct hdf5_probe *p, uint32_t call, const struct hdf5_many *many, uint32_t each, herr_t result) {
    struct emission e;
    uint64_t end = event_clock_now(), bytes = 0;
    for (size_t i = 0; i < many->count && result >= 0; i++) bytes += locate_one(p, many, i).size;
    if (p->thread->writer.clock > end) end = p->thread->writer.clock; // as in finish
    struct emit_parts parts = {p->start, end, bytes};
    for (size_t i = 0; i < many->count && result >= 0; i++) {
        const struct hdf5_probe one = locate_one(p, many, i);
        struct plain_event event = {.call = each, .offset = one.offset, .size = one.size, .caller = p->caller};
        emit_next_part(&parts, &event);
        if (one.id && one.id->left_out) continue;
        emit_start(&e, event, file_of(one.id), serial_of(one.id));
        add_place(&one, &e);
        emit_slowly(p->thread, &e);
    }
    struct file *file = file_of(p->id);
    if (file) file = files_entry(file->name, strlen(file->name));
    if (begin_event(p, &e, call, file, 0, end)) finish(p, &e, result >= 0);
}

void hdf5_leave_chunk(struct hdf5_probe *p, uint32_t call, hid_t id, const hsize_t *at, herr_t result) {
    struct emission e;
    uint64_t end = event_clock_now();
    if (!p->size && p->has_offset && result >= 0) p->size = hdf5_ask_chunk_bytes(p, id, at);
    if (begin_event(p, &e, call, file_of(p->id), serial_of(p->id), end)) finish(p, &e, result >= 0);
}

// Of H5Idec_ref, the result is the number of references that are left.
void hdf5_leave_close(struct hdf5_probe *p, uint32_t call, hid_t id, int result) {
    if (result > 0) {
        drop(p);
        return;
    }
    hdf5_leave_object(p, call, result);
    if (p->id && result >= 0 && !hdf5_is_valid(p, id)) hdf5_remove(p, id);
}

void hdf5_leave_extent(struct hdf5_probe *p, uint32_t call, hid_t id, herr_t result) {
    struct emission e;
    uint64_t end = event_clock_now();
    if (p->id && p->id->file && result >= 0) atomic_fetch_add(&p->id->file->extents, 1);
    uint32_t dataset = p->id && result >= 0 ? hdf5_describe(p, p->id, false) : 0;
    (void)id;
    if (!begin_event(p, &e, call, file_of(p->id), serial_of(p->id), end)) return;
    if (dataset) emit_attribute(&e, ATTRIBUTE_DATASET, dataset);
    finish(p, &e, result >= 0);
}

// --- names

// Appends the parts of a path to name[0..len), as H5Iget_name has them. Returns the length, 0 without room.
static size_t add_path(char name[FILES_NAME_MAX], size_t start, size_t len, const char *path) {
    if (path[0] == '/') len = start;
    while (*path) {
        while (*path == '/') path++;
        size_t part = strcspn(path, "/");
        bool is_here = part == 1 && path[0] == '.';
        if (part && !is_here) {
            if (len + part + 2 > FILES_NAME_MAX) return 0;
            name[len++] = '/';
            memcpy(name + len, path, part);
            len += part;
        }
        path += part;
    }
    return len;
}

static size_t add_text(char name[FILES_NAME_MAX], size_t len, char before, const char *text) {
    size_t more = strlen(text);
    if (len + more + 2 > FILES_NAME_MAX) return 0;
    name[len++] = before;
    memcpy(name + len, text, more);
    return len + more;
}

// The entry of something below an open object: an object by path, an attribute by name, or both. It is the name of the
// file, a zero byte, the path of the object.
static struct file *file_below(const struct hdf5_id *base, const char *path, const char *attribute) {
    char *name = base && base->file ? files_borrow_buffer() : NULL;
    if (!name) return NULL;
    size_t start = strlen(base->file->name) + 1, len = base->file->name_len;
    memcpy(name, base->file->name, len + 1);
    if (len < start) len = start; // the file itself
    if (len == start + 1 && name[start] == '/') len = start;
    if (path) len = add_path(name, start, len, path);
    if (len == start) name[len++] = '/';
    if (len && attribute) len = add_text(name, len, '@', attribute);
    struct file *file = len ? files_entry(name, len) : NULL;
    files_return_buffer();
    return file;
}

static struct hdf5_id *add_object(struct hdf5_probe *p, hid_t id, struct file *file, const struct hdf5_access *access) {
    struct hdf5_id *object = hdf5_add(p, HDF5_OBJECT, id);
    if (!object) return NULL;
    object->file = file;
    object->serial = handles_new_serial();
    if (access) object->access = *access;
    return object;
}

void hdf5_leave_file(struct hdf5_probe *p, uint32_t call, const char *name, unsigned flags, hid_t result) {
    struct emission e;
    uint64_t end = event_clock_now();
    bool left_out = false;
    struct file *file = name ? probe_file(AT_FDCWD, name, &left_out) : NULL;
    if (result >= 0) p->id = add_object(p, result, file, &p->access);
    struct hdf5_id none = {.left_out = left_out};
    if (p->id)
        p->id->left_out = left_out;
    else
        p->id = &none;
    if (!begin_event(p, &e, call, file, p->id->serial, end)) return;
    emit_attribute(&e, ATTRIBUTE_FLAGS, flags);
    p->is_collective = p->access.by_mpi;
    finish(p, &e, result >= 0);
}

void hdf5_leave_reopen(struct hdf5_probe *p, uint32_t call, hid_t result) {
    struct emission e;
    uint64_t end = event_clock_now();
    const struct hdf5_id *from = p->id;
    struct hdf5_id *made = result >= 0 && from ? add_object(p, result, from->file, &from->access) : NULL;
    if (made) made->left_out = from->left_out;
    if (begin_event(p, &e, call, file_of(from), serial_of(made), end)) finish(p, &e, result >= 0);
}

void hdf5_leave_open(struct hdf5_probe *p, uint32_t call, const char *name, bool old, hid_t result) {
    struct emission e;
    uint64_t end = event_clock_now();
    struct file *file = file_below(p->id, name ? name : "/(anonymous)", NULL);
    struct hdf5_id *made = result >= 0 ? add_object(p, result, file, p->id ? &p->id->access : NULL) : NULL;
    if (made && p->id) made->left_out = p->id->left_out;
    uint32_t dataset = made ? hdf5_describe(p, made, old) : 0;
    if (!begin_event(p, &e, call, file, serial_of(made), end)) return;
    if (dataset) emit_attribute(&e, ATTRIBUTE_DATASET, dataset);
    finish(p, &e, result >= 0);
}

void hdf5_leave_attribute(struct hdf5_probe *p, uint32_t call, const char *object, const char *name, hid_t result) {
    enum { ROOM = 1024 };
    char text[ROOM] = "";
    struct emission e;
    uint64_t end = event_clock_now(), bytes = 0;
    if (result >= 0 && hdf5_ask_attribute(p, result, text, ROOM, &bytes) && !name) name = text;
    struct file *file = file_below(p->id, object, name ? name : "");
    struct hdf5_id *made = result >= 0 ? add_object(p, result, file, p->id ? &p->id->access : NULL) : NULL;
    if (made) made->bytes = bytes;
    if (made && p->id) made->left_out = p->id->left_out;
    if (begin_event(p, &e, call, file, serial_of(made), end)) finish(p, &e, result >= 0);
}

// An attribute if there is an object before its name, else a link.
void hdf5_leave_name(struct hdf5_probe *p, uint32_t call, const char *object, const char *name, herr_t result) {
    struct emission e;
    uint64_t end = event_clock_now();
    struct file *file = object ? file_below(p->id, object, name) : file_below(p->id, name, NULL);
    if (begin_event(p, &e, call, file, 0, end)) finish(p, &e, result >= 0);
}

// --- calls without events

void hdf5_leave_space(struct hdf5_probe *p, uint32_t call, int rank, const hsize_t *dims, hid_t result) {
    (void)call;
    struct hdf5_id *made = result >= 0 && rank > 0 && rank <= HDF5_MAX_RANK ? hdf5_add(p, HDF5_SPACE, result) : NULL;
    if (!made) return;
    made->space = (struct selection){.kind = SELECTION_ALL, .rank = (uint8_t)rank};
    memcpy(made->space.dims, dims, (size_t)rank * sizeof *dims);
}

static void copy_space(struct hdf5_probe *p, const struct hdf5_id *from, hid_t result) {
    struct hdf5_id *made = from && from->space.kind && result >= 0 ? hdf5_add(p, HDF5_SPACE, result) : NULL;
    if (made) selection_copy(&made->space, &from->space);
}

void hdf5_leave_copied_space(struct hdf5_probe *p, uint32_t call, hid_t from, hid_t result) {
    (void)call;
    copy_space(p, hdf5_find(p, HDF5_SPACE, from), result);
}

void hdf5_leave_got_space(struct hdf5_probe *p, uint32_t call, hid_t dataset, hid_t result) {
    (void)call;
    copy_space(p, with_extent(p, hdf5_find(p, HDF5_OBJECT, dataset)), result);
}

void hdf5_leave_select(struct hdf5_probe *p, uint32_t call, hid_t space, int op, const struct hdf5_slab *slab,
                       herr_t result) {
    enum { SELECT_SET = 0 };
    (void)call;
    struct hdf5_id *known = hdf5_find(p, HDF5_SPACE, space);
    if (!known || result < 0) return;
    struct selection *to = &known->space;
    if (op != SELECT_SET || to->kind == SELECTION_UNKNOWN) {
        to->kind = SELECTION_UNKNOWN;
        return;
    }
    to->kind = SELECTION_REGULAR;
    to->points = to->blocks = 0;
    for (unsigned i = 0; i < to->rank; i++) {
        to->start[i] = slab->start[i];
        to->stride[i] = slab->stride ? slab->stride[i] : 1;
        to->count[i] = slab->count[i];
        to->block[i] = slab->block ? slab->block[i] : 1;
        bool is_endless = to->count[i] == UINT64_MAX || to->block[i] == UINT64_MAX; // in virtual datasets
        if (is_endless) to->kind = SELECTION_UNKNOWN;
        if (is_endless) return;
        if (!to->count[i] || !to->block[i]) to->kind = SELECTION_NONE;
    }
}

void hdf5_leave_select_whole(struct hdf5_probe *p, uint32_t call, hid_t space, unsigned kind, herr_t result) {
    (void)call;
    struct hdf5_id *known = result >= 0 ? hdf5_find(p, HDF5_SPACE, space) : NULL;
    if (known && known->space.kind) known->space.kind = known->space.rank ? (uint8_t)kind : SELECTION_UNKNOWN;
}

void hdf5_leave_mode(struct hdf5_probe *p, uint32_t call, hid_t list, int mode, herr_t result) {
    (void)call;
    struct hdf5_id *known = result >= 0 ? hdf5_add(p, HDF5_LIST, list) : NULL;
    if (known) known->mode = mode;
}

void hdf5_leave_forget(struct hdf5_probe *p, uint32_t call, hid_t id, herr_t result) {
    (void)call;
    if (result >= 0) hdf5_remove(p, id);
}

void hdf5_leave_unnamed(struct hdf5_probe *p, uint32_t call, hid_t result) {
    (void)call;
    if (result > 0) hdf5_add_unnamed(p, result);
}

void hdf5_leave_forget_all(struct hdf5_probe *p, uint32_t call, herr_t result) {
    (void)call, (void)result;
    hdf5_remove_all(p);
}
