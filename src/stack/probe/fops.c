// SPDX-License-Identifier: LGPL-3.0-or-later
// Every operation of GlusterFS passes here: on its way down by a function, on its way back by another.
#include "stack/probe/probe.h"

// Operations that have no name of their own in the log.
enum {
    PROBE_lease = PROBE_other,
    PROBE_getactivelk = PROBE_other,
    PROBE_setactivelk = PROBE_other,
    PROBE_put = PROBE_other,
    PROBE_icreate = PROBE_other,
    PROBE_namelink = PROBE_other,
};

static unsigned char *gfid_at(loc_t *loc) {
    return loc->inode && !gf_uuid_is_null(loc->inode->gfid) ? loc->inode->gfid : loc->gfid;
}

#define BARE(...) __VA_ARGS__
#define ON(file) .gfid = (file)->inode->gfid
#define AT(place) .gfid = gfid_at(place)
#define PART(at, bytes) .offset = (uint64_t)(at), .size = (uint64_t)(bytes)
#define RANGE(lock) PART((lock)->l_start, (lock)->l_len)

// What an operation answers: parameters, their names, and which of them tells the file's number.
#define NOTHING (dict_t * xdata), (xdata), NULL
#define FILE_STATUS (struct iatt * status, dict_t * xdata), (status, xdata), NULL
#define TWO_STATUSES (struct iatt * before, struct iatt * after, dict_t * xdata), (before, after, xdata), NULL
#define NEW_FILE                                                                                                       \
    (inode_t * inode, struct iatt * status, struct iatt * before, struct iatt * after, dict_t * xdata),                \
        (inode, status, before, after, xdata), status
#define DESCRIPTOR (fd_t * fd, dict_t * xdata), (fd, xdata), NULL
#define ATTRIBUTES (dict_t * attributes, dict_t * xdata), (attributes, xdata), NULL
#define ENTRIES (gf_dirent_t * entries, dict_t * xdata), (entries, xdata), NULL

#define OPERATION(...) OPERATION_(__VA_ARGS__)
#define OPERATION_(name, details, parameters, arguments, answer, values, found)                                        \
    static int32_t name##_back(call_frame_t *frame, void *cookie, xlator_t *this, int32_t result, int32_t error,       \
                               BARE answer) {                                                                          \
        struct probe_answer to = probe_end(frame->root, cookie, result, error, found, xdata);                          \
        return ((fop_##name##_cbk_t)to.back)(frame, to.cookie, this, result, error, BARE values);                      \
    }                                                                                                                  \
    static int32_t name##_down(call_frame_t *frame, xlator_t *this, BARE parameters, dict_t *xdata) {                  \
        struct probe_call call = {.xdata = xdata};                                                                     \
        if (probe_is_recording(this)) {                                                                                \
            call = (struct probe_call){.operation = (enum probe_operation)PROBE_##name, .xdata = xdata, BARE details}; \
            probe_begin(frame, this, &call, (probe_function)name##_back);                                              \
        }                                                                                                              \
        STACK_WIND_TAIL(frame, FIRST_CHILD(this), FIRST_CHILD(this)->fops->name, BARE arguments, call.xdata);          \
        if (call.own) probe_wound(this, call.own);                                                                     \
        return 0;                                                                                                      \
    }
#include "stack/probe/operations.def"
#undef OPERATION

// What has no row passes by GlusterFS's own default.
struct xlator_fops probe_fops = {
#define OPERATION(name, ...) .name = name##_down,
#include "stack/probe/operations.def"
};
#undef OPERATION

const probe_function probe_backs[GF_FOP_MAXVALUE] = {
#define OPERATION(name, ...) [1 + offsetof(struct xlator_fops, name) / sizeof(void *)] = (probe_function)name##_back,
#include "stack/probe/operations.def"
};
