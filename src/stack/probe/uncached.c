// SPDX-License-Identifier: LGPL-3.0-or-later
// A translator above all others of a client, with or without probes, so that no file of its mount uses the kernel's
// page cache. GlusterFS forgets of a file that the kernel opened by CREATE that it bypasses the cache, and as long as
// that file is open, all further opens of it use the cache. A kernel that is told once that there is no CREATE sends
// MKNOD and OPEN instead.
#include <errno.h>
#include <glusterfs/defaults.h>
#include <glusterfs/xlator.h>

static int32_t refuse_create(call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, mode_t mode, mode_t mask,
                             fd_t *fd, dict_t *xdata) {
    (void)this, (void)loc, (void)flags, (void)mode, (void)mask, (void)fd, (void)xdata;
    STACK_UNWIND_STRICT(create, frame, -1, ENOSYS, NULL, NULL, NULL, NULL, NULL, NULL);
    return 0;
}

static int32_t uncached_init(xlator_t *this) { return this->children && !this->children->next ? 0 : -1; }

static void uncached_fini(xlator_t *this) { (void)this; }

static struct xlator_fops uncached_fops = {.create = refuse_create};
static struct xlator_cbks uncached_cbks;

__attribute__((visibility("default"))) xlator_api_t xlator_api = {
    .init = uncached_init,
    .fini = uncached_fini,
    .op_version = {1},
    .fops = &uncached_fops,
    .cbks = &uncached_cbks,
    .identifier = "ioseer-uncached",
    .category = GF_EXPERIMENTAL,
};
