#include "rec/netcdf/netcdf.h"

#include <fcntl.h>
#include <string.h>

#include "calls.h"
#include "rec/async/pending.h"
#include "rec/file_system_name.h"
#include "rec/probe/probe.h"

enum { FAILED = 1 }; // numbers of errors are results

static uint32_t inside(const struct nc_probe *p) { return 1u << p->library->layer; }

static bool watch(struct nc_probe *p) {
    p->thread = recorder_thread();
    return p->thread && p->library->state && !(p->thread->inside & inside(p));
}

static bool begin(struct nc_probe *p) {
    p->thread->inside |= inside(p);
    emit_push(p->thread, &p->frame, CALL_FRAME_SILENT);
    p->frame.is_above = true;
    p->start = event_clock_now();
    return true;
}

bool nc_enter_quietly(struct nc_probe *p) { return watch(p); }

bool nc_enter(struct nc_probe *p) { return watch(p) && begin(p); }

bool nc_enter_data(struct nc_probe *p, int file_id, int id) {
    p->file_id = file_id;
    p->id = id;
    return watch(p) && begin(p);
}

static void drop(struct nc_probe *p) {
    emit_leave(p->thread, &p->frame);
    p->thread->inside &= ~inside(p);
}

// What a transfer moves.
struct transfer {
    uint64_t offset, size;
    bool has_offset;
    uint32_t shape;
};

static const struct transfer nothing;

static void add_place(struct emission *e, const struct transfer *t) {
    if (!t->has_offset && call_table[e->event.call].traits & CALL_HAS_OFFSET) e->extra.flags |= EVENT_NO_OFFSET;
    if (t->shape) emit_attribute(e, ATTRIBUTE_SELECTION, t->shape);
}

// Starts the event. Returns false, and drops it, if the file is left out.
static bool begin_event(struct nc_probe *p, struct emission *e, uint32_t call, const struct nc_object *object,
                        const struct transfer *t, uint64_t end) {
    struct plain_event event = {
        .call = call, .offset = t->offset, .size = t->size, .start = p->start, .end = end, .caller = p->caller};
    if (object && object->left_out) {
        drop(p);
        return false;
    }
    emit_start(e, event, object ? object->file : NULL, object ? object->serial : 0);
    add_place(e, t);
    return true;
}

static void finish(struct nc_probe *p, struct emission *e, int result) {
    if (result) emit_result(e, result, 0, FAILED);
    // A question after the call may have made the library read: inside the call.
    if (p->thread->writer.clock > e->event.end) e->event.end = p->thread->writer.clock;
    emit_finish(p->thread, &p->frame, e);
    p->thread->inside &= ~inside(p);
}

// Writes the events of the transfers that the call waited for, or ended.
static void complete(struct nc_probe *p, bool is_collective, uint64_t call_time, int count, const int *statuses,
                     int result) {
    for (struct pending *what = p->waited; what; what = what->next) {
        int status = count > 0 && statuses ? statuses[what->id] : result;
        what->is_collective = is_collective;
        pending_emit(p->thread, what, status ? -FAILED : (int64_t)what->size, call_time);
        call_time = 0; // counted once, however many there are
    }
    pending_give_back(p->thread, p->waited);
}

// --- files and variables

// NULL if the name is an address: "https://host/x".
static const char *path_of(const struct nc_probe *p, const char *name) {
    if (name && p->library->layer == LAYER_PNETCDF) name = without_file_system(name);
    return name && strncmp(name + strcspn(name, ":/"), "://", 3) != 0 ? name : NULL;
}

void nc_leave_open(struct nc_probe *p, uint32_t call, const char *name, int flags, const int *file_id, int result) {
    struct emission e;
    uint64_t end = event_clock_now();
    struct nc_object opened = {0};
    const char *path = path_of(p, name);
    opened.file = path ? probe_file(AT_FDCWD, path, &opened.left_out) : NULL;
    opened.serial = result ? 0 : handles_new_serial();
    if (!result && file_id) {
        nc_remove_file(p, *file_id);
        struct nc_object *object = nc_add(p, *file_id, NC_WHOLE_FILE);
        if (object) {
            object->file = opened.file;
            object->left_out = opened.left_out;
            object->by_mpi = call_table[call].traits & CALL_COLLECTIVE;
            object->serial = opened.serial;
        }
    }
    if (!begin_event(p, &e, call, &opened, &nothing, end)) return;
    emit_attribute(&e, ATTRIBUTE_FLAGS, (unsigned)flags);
    finish(p, &e, result);
}

// What a call that has failed says may be wrong, so the library is not asked about it.
static struct nc_object *object_of(struct nc_probe *p, int file_id, int id, int result) {
    return result ? nc_find(p, file_id, id) : nc_object(p, file_id, id);
}

void nc_leave_file(struct nc_probe *p, uint32_t call, int file_id, int result) {
    struct emission e;
    uint64_t end = event_clock_now();
    const struct nc_object *object = object_of(p, file_id, NC_WHOLE_FILE, result);
    if (begin_event(p, &e, call, object, &nothing, end)) finish(p, &e, result);
}

// Whatever the result, the file is closed. Transfers that nobody waited for did not take place.
void nc_leave_close(struct nc_probe *p, uint32_t call, int file_id, int result) {
    struct emission e;
    uint64_t end = event_clock_now();
    const struct pending_group all = {.context = p->library, .number = (uint32_t)file_id};
    const struct nc_object *object = nc_find(p, file_id, NC_WHOLE_FILE);
    if (begin_event(p, &e, call, object, &nothing, end)) finish(p, &e, result);
    nc_remove_file(p, file_id);
    p->waited = NULL;
    pending_take_group(p->thread, &all, &p->waited);
    complete(p, false, 0, 0, NULL, FAILED);
}

void nc_leave_variable(struct nc_probe *p, uint32_t call, int file_id, const int *variable, int result) {
    struct emission e;
    uint64_t end = event_clock_now();
    bool is_known = !result && variable;
    struct nc_object *object = object_of(p, file_id, is_known ? *variable : NC_WHOLE_FILE, result);
    uint32_t number = object && is_known ? nc_describe(object) : 0;
    if (!begin_event(p, &e, call, object, &nothing, end)) return;
    if (number) emit_attribute(&e, ATTRIBUTE_DATASET, number);
    finish(p, &e, result);
}

// --- transfers

static unsigned long long start_of(const struct nc_slab *slab, unsigned i) {
    return slab->start ? (unsigned long long)slab->start[i] : 0;
}

static unsigned long long stride_of(const struct nc_slab *slab, unsigned i) {
    return slab->stride && slab->stride[i] > 0 ? (unsigned long long)slab->stride[i] : 1;
}

static unsigned long long count_of(const struct nc_slab *slab, unsigned i, unsigned long long dim) {
    unsigned long long start = start_of(slab, i), stride = stride_of(slab, i);
    if (slab->to_end) return start < dim ? (dim - start + stride - 1) / stride : 0;
    return slab->count ? (unsigned long long)slab->count[i] : 1;
}

static void set_regular(struct selection *to, const struct nc_slab *slab) {
    to->kind = SELECTION_REGULAR;
    for (unsigned i = 0; i < to->rank; i++) {
        to->start[i] = start_of(slab, i);
        to->count[i] = count_of(slab, i, to->dims[i]);
        to->stride[i] = stride_of(slab, i);
        to->block[i] = 1;
        if (!to->count[i]) to->kind = SELECTION_NONE;
    }
}

// The box around all parts. A part without elements does not count.
static void set_box(struct selection *to, const struct nc_list *list) {
    to->kind = list->count ? SELECTION_IRREGULAR : SELECTION_ELEMENTS;
    for (int n = 0; n < list->number; n++) {
        uint64_t points = 1;
        const int64_t *count = list->count ? list->count[n] : NULL;
        for (unsigned i = 0; count && i < to->rank; i++) points *= (uint64_t)count[i];
        if (!points) continue;
        for (unsigned i = 0; i < to->rank; i++) {
            unsigned long long start = (unsigned long long)list->start[n][i];
            unsigned long long end = start + (count ? (unsigned long long)count[i] : 1);
            if (!to->points || start < to->start[i]) to->start[i] = start;
            if (!to->points || end > to->block[i]) to->block[i] = end;
        }
        to->points += points;
        to->blocks++;
    }
    if (!to->points) to->kind = SELECTION_NONE;
    if (!list->count) to->blocks = 0;
    for (unsigned i = 0; to->points && i < to->rank; i++) {
        to->block[i] -= to->start[i]; // it was the end
        to->stride[i] = to->count[i] = 1;
    }
}

// Like the variable, without elements yet.
static void begin_selection(struct selection *to, const struct nc_object *variable) {
    to->kind = SELECTION_ALL;
    to->rank = variable->space.rank;
    to->can_grow = false;
    to->points = variable->space.points;
    to->blocks = 0;
    memcpy(to->dims, variable->space.dims, to->rank * sizeof to->dims[0]);
}

static struct transfer place(struct nc_object *variable, const struct selection *selection) {
    variable->last_size = selection_points(selection) * variable->bytes;
    return (struct transfer){
        .has_offset = selection->kind > SELECTION_NONE,
        .offset = selection_first(selection) * variable->bytes,
        .size = variable->last_size,
        .shape = selection_number(&variable->last, selection, variable->space.can_grow),
    };
}

// Most transfers repeat the shape of the one before. A variable has only one extent, but for its first dimension.
static bool repeats(const struct nc_object *variable, const struct nc_slab *slab, struct transfer *t) {
    const struct selection *last = &variable->last.selection;
    uint64_t element = 0;
    if (last->kind != SELECTION_REGULAR || variable->last.generation != recorder.generation || !slab) return false;
    if (slab->to_end || !slab->start) return false;
    for (unsigned i = 0; i < last->rank; i++) {
        unsigned long long count = slab->count ? (unsigned long long)slab->count[i] : 1;
        unsigned long long stride = slab->stride ? (unsigned long long)slab->stride[i] : 1;
        if (count != last->count[i] || stride != last->stride[i]) return false;
        element = element * last->dims[i] + (uint64_t)slab->start[i];
    }
    *t = (struct transfer){element * variable->bytes, variable->last_size, true, variable->last.number};
    return true;
}

// A variable is described with the first transfer that has its extent.
static void leave_moved(struct nc_probe *p, uint32_t call, struct nc_object *variable, const struct transfer *t,
                        uint64_t end, int result) {
    struct emission e;
    struct plain_event event = {
        .call = call, .offset = t->offset, .size = t->size, .start = p->start, .end = end, .caller = p->caller};
    bool is_plain =
        !result && t->has_offset && t->shape && variable->file && variable->is_described && !variable->is_collective;
    if (is_plain &&
        emit_finish_plain(p->thread, &p->frame, variable->serial, event, ATTRIBUTE_SELECTION, t->shape, true)) {
        p->thread->inside &= ~inside(p);
        return;
    }
    uint32_t number = t->shape && !variable->is_described ? nc_describe(variable) : 0;
    if (!begin_event(p, &e, call, variable, t, end)) return;
    if (number) emit_attribute(&e, ATTRIBUTE_DATASET, number);
    if (variable && variable->is_collective) emit_attribute(&e, ATTRIBUTE_COLLECTIVE, 1);
    finish(p, &e, result);
}

// What a part of a variable is, if the call has succeeded.
static struct transfer place_part(struct nc_probe *p, struct nc_object *variable, const struct nc_slab *slab,
                                  int result) {
    struct transfer t = nothing;
    if (result || !variable || variable->space.kind != SELECTION_ALL) return t;
    bool changes = variable->grows & ~1u, needs_extent = !slab || slab->to_end;
    if (changes || (needs_extent && variable->grows)) nc_ask_space(p, variable);
    if (!changes && repeats(variable, slab, &t)) return t;
    struct selection selection;
    begin_selection(&selection, variable);
    if (slab && selection.rank) set_regular(&selection, slab);
    return place(variable, &selection);
}

static struct transfer place_parts(struct nc_object *variable, const struct nc_list *list, int result) {
    if (result || !variable || variable->space.kind != SELECTION_ALL) return nothing;
    struct selection selection;
    begin_selection(&selection, variable);
    // Without dimensions, or without parts, PnetCDF does not look at the lists: they may be anything.
    if (selection.rank && list->number == 1) {
        const struct nc_slab only = {list->start[0], list->count ? list->count[0] : NULL, NULL, false};
        set_regular(&selection, &only);
    } else if (selection.rank) {
        set_box(&selection, list);
    }
    return place(variable, &selection);
}

void nc_leave_part(struct nc_probe *p, uint32_t call, const struct nc_slab *slab, bool none, int result) {
    uint64_t end = event_clock_now();
    struct nc_object *variable = object_of(p, p->file_id, p->id, result);
    struct transfer t = none ? nothing : place_part(p, variable, slab, result);
    leave_moved(p, call, variable, &t, end, result);
}

void nc_leave_parts(struct nc_probe *p, uint32_t call, const struct nc_list *list, bool none, int result) {
    uint64_t end = event_clock_now();
    struct nc_object *variable = object_of(p, p->file_id, p->id, result);
    struct transfer t = none ? nothing : place_parts(variable, list, result);
    leave_moved(p, call, variable, &t, end, result);
}

static struct transfer place_one(struct nc_probe *p, const struct nc_many *many, int i, struct nc_object *variable) {
    const struct nc_slab slab = {many->start ? many->start[i] : NULL, many->count ? many->count[i] : NULL,
                                 many->stride ? many->stride[i] : NULL, false};
    return place_part(p, variable, many->start ? &slab : NULL, 0);
}

// A call on several variables contains a transfer of each.
void nc_leave_many(struct nc_probe *p, uint32_t call, int file_id, const struct nc_many *many, uint32_t each,
                   int result) {
    struct emission e;
    uint64_t end = event_clock_now();
    const struct nc_object *whole = object_of(p, file_id, NC_WHOLE_FILE, result);
    int number = result || (whole && whole->left_out) ? 0 : many->number;
    struct emit_parts parts = {p->start, end, 0};
    for (int i = 0; i < number; i++)
        parts.bytes += place_one(p, many, i, nc_object(p, file_id, many->variable[i])).size;
    for (int i = 0; i < number; i++) {
        struct nc_object *variable = nc_object(p, file_id, many->variable[i]);
        if (!variable) continue;
        struct transfer t = place_one(p, many, i, variable);
        uint32_t description = t.shape && !variable->is_described ? nc_describe(variable) : 0;
        struct plain_event event = {.call = each, .offset = t.offset, .size = t.size, .caller = p->caller};
        emit_next_part(&parts, &event);
        emit_start(&e, event, variable->file, variable->serial);
        if (description) emit_attribute(&e, ATTRIBUTE_DATASET, description);
        add_place(&e, &t);
        emit_slowly(p->thread, &e);
    }
    if (begin_event(p, &e, call, whole, &nothing, end)) finish(p, &e, result);
}

// Which elements a datatype of MPI selects is not looked at.
void nc_leave_typed(struct nc_probe *p, uint32_t call, const void *datatype, int result) {
    uint64_t end = event_clock_now();
    struct nc_object *variable = object_of(p, p->file_id, p->id, result);
    struct transfer t = {.size = result ? 0 : nc_ask_type_bytes(p, datatype)};
    leave_moved(p, call, variable, &t, end, result);
}

// --- nonblocking transfers: from the call to the end of the wait for them

enum { NO_REQUEST = -1, NO_PLACE = -2 };            // instead of a request; the first is PnetCDF's
enum { ALL = -1, ALL_READS = -2, ALL_WRITES = -3 }; // instead of a count

static uint64_t request_id(int file_id, int request) { return (uint64_t)(uint32_t)file_id << 32 | (uint32_t)request; }

// A transfer of nothing needs no request. A program that gives no place for the request waits for all.
static void post(struct nc_probe *p, uint32_t call, const struct transfer *t, uint64_t end, const int *request,
                 int result) {
    const struct nc_object *variable = nc_find(p, p->file_id, p->id);
    bool is_over = result || (request && *request == NO_REQUEST);
    drop(p);
    if (variable && variable->left_out) return;
    struct pending what = {.context = p->library,
                           .id = request_id(p->file_id, request ? *request : NO_PLACE),
                           .call = call,
                           .serial = variable ? variable->serial : 0,
                           .file = variable ? variable->file : NULL,
                           .offset = t->offset,
                           .has_offset = t->has_offset,
                           .size = t->size,
                           .start = p->start,
                           .call_time = end - p->start,
                           .caller = p->caller,
                           .tick = recorder_tick(),
                           .selection = t->shape,
                           .own_stream = p->thread->stream,
                           .own_number = p->frame.number,
                           .parent_number = STREAM_NO_PARENT,
                           .unique = request != NULL};
    if (is_over)
        pending_emit(p->thread, &what, result ? -FAILED : 0, 0);
    else
        pending_add(p->thread, &what);
}

void nc_leave_post(struct nc_probe *p, uint32_t call, const struct nc_slab *slab, bool none, const int *request,
                   int result) {
    uint64_t end = event_clock_now();
    struct nc_object *variable = object_of(p, p->file_id, p->id, result);
    struct transfer t = none ? nothing : place_part(p, variable, slab, result);
    post(p, call, &t, end, request, result);
}

void nc_leave_posts(struct nc_probe *p, uint32_t call, const struct nc_list *list, bool none, const int *request,
                    int result) {
    uint64_t end = event_clock_now();
    struct nc_object *variable = object_of(p, p->file_id, p->id, result);
    struct transfer t = none ? nothing : place_parts(variable, list, result);
    post(p, call, &t, end, request, result);
}

// The wait changes the requests, so their transfers are looked up before it.
bool nc_enter_wait(struct nc_probe *p, int file_id, int count, const int *requests) {
    if (!watch(p)) return false;
    p->waited = NULL;
    struct pending **last = &p->waited;
    struct pending_group group = {.context = p->library, .number = (uint32_t)file_id};
    if (count == ALL_READS) group.class = CLASS_READ;
    if (count == ALL_WRITES) group.class = CLASS_WRITE;
    if (count < 0) pending_take_group(p->thread, &group, last);
    for (int i = 0; i < count; i++) {
        pending_take(p->thread, p->library, request_id(file_id, requests[i]), last);
        if (!*last) continue;
        (*last)->id = (uint64_t)i; // now its place among the statuses
        last = &(*last)->next;
    }
    return begin(p);
}

void nc_leave_wait(struct nc_probe *p, uint32_t call, int file_id, int count, const int *statuses, int result) {
    struct emission e;
    uint64_t end = event_clock_now();
    const struct nc_object *object = object_of(p, file_id, NC_WHOLE_FILE, result);
    if (begin_event(p, &e, call, object, &nothing, end)) finish(p, &e, result);
    complete(p, call_table[call].traits & CALL_COLLECTIVE, end - p->start, count, statuses, result);
}

void nc_leave_cancel(struct nc_probe *p, uint32_t call, int result) {
    (void)call, (void)result;
    drop(p);
    complete(p, false, 0, 0, NULL, FAILED);
}

// --- calls without events

void nc_leave_mode(struct nc_probe *p, uint32_t call, int file_id, int id, int mode, int result) {
    (void)call;
    struct nc_object *object = result ? NULL : nc_object(p, file_id, id);
    if (object) object->is_collective = mode != 0;
    if (object && id == NC_WHOLE_FILE) nc_forget_variables(p, file_id);
}

void nc_leave_rename(struct nc_probe *p, uint32_t call, int file_id, int id, int result) {
    (void)call;
    if (!result) nc_remove(p, file_id, id);
}
