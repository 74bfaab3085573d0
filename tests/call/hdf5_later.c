#define HDF5_LATER
#include "hdf5_later.h"

#if !H5_VERSION_GE(1, 14, 0)
#pragma GCC visibility push(default)
#define AFTER_ALL (void)app_file, (void)app_func, (void)app_line, (void)set

herr_t H5Dread_multi(size_t count, hid_t *id, hid_t *type, hid_t *memory, hid_t *space, hid_t list, void *buf[]) {
    herr_t code = 0;
    for (size_t i = 0; i < count; i++) code |= H5Dread(id[i], type[i], memory[i], space[i], list, buf[i]);
    return code;
}

herr_t H5Dwrite_multi(size_t count, hid_t *id, hid_t *type, hid_t *memory, hid_t *space, hid_t list,
                      const void *buf[]) {
    herr_t code = 0;
    for (size_t i = 0; i < count; i++) code |= H5Dwrite(id[i], type[i], memory[i], space[i], list, buf[i]);
    return code;
}

hid_t H5Fcreate_async(FROM, const char *name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t set) {
    AFTER_ALL;
    return H5Fcreate(name, flags, fcpl, fapl);
}

hid_t H5Fopen_async(FROM, const char *name, unsigned flags, hid_t fapl, hid_t set) {
    AFTER_ALL;
    return H5Fopen(name, flags, fapl);
}

hid_t H5Freopen_async(FROM, hid_t id, hid_t set) {
    AFTER_ALL;
    return H5Freopen(id);
}

herr_t H5Fflush_async(FROM, hid_t id, H5F_scope_t scope, hid_t set) {
    AFTER_ALL;
    return H5Fflush(id, scope);
}

herr_t H5Fclose_async(FROM, hid_t id, hid_t set) {
    AFTER_ALL;
    return H5Fclose(id);
}

hid_t H5Gcreate_async(FROM, hid_t id, const char *name, hid_t a, hid_t b, hid_t c, hid_t set) {
    AFTER_ALL;
    return H5Gcreate2(id, name, a, b, c);
}

hid_t H5Gopen_async(FROM, hid_t id, const char *name, hid_t a, hid_t set) {
    AFTER_ALL;
    return H5Gopen2(id, name, a);
}

herr_t H5Gclose_async(FROM, hid_t id, hid_t set) {
    AFTER_ALL;
    return H5Gclose(id);
}

hid_t H5Oopen_async(FROM, hid_t id, const char *name, hid_t a, hid_t set) {
    AFTER_ALL;
    return H5Oopen(id, name, a);
}

herr_t H5Oclose_async(FROM, hid_t id, hid_t set) {
    AFTER_ALL;
    return H5Oclose(id);
}

herr_t H5Ocopy_async(FROM, hid_t id, const char *name, hid_t to, const char *new_name, hid_t a, hid_t b, hid_t set) {
    AFTER_ALL;
    return H5Ocopy(id, name, to, new_name, a, b);
}

herr_t H5Ldelete_async(FROM, hid_t id, const char *name, hid_t a, hid_t set) {
    AFTER_ALL;
    return H5Ldelete(id, name, a);
}

hid_t H5Dcreate_async(FROM, hid_t id, const char *name, hid_t type, hid_t space, hid_t a, hid_t b, hid_t c, hid_t set) {
    AFTER_ALL;
    return H5Dcreate2(id, name, type, space, a, b, c);
}

hid_t H5Dopen_async(FROM, hid_t id, const char *name, hid_t a, hid_t set) {
    AFTER_ALL;
    return H5Dopen2(id, name, a);
}

herr_t H5Dclose_async(FROM, hid_t id, hid_t set) {
    AFTER_ALL;
    return H5Dclose(id);
}

hid_t H5Dget_space_async(FROM, hid_t id, hid_t set) {
    AFTER_ALL;
    return H5Dget_space(id);
}

herr_t H5Dread_async(FROM, hid_t id, hid_t type, hid_t memory, hid_t space, hid_t list, void *buf, hid_t set) {
    AFTER_ALL;
    return H5Dread(id, type, memory, space, list, buf);
}

herr_t H5Dwrite_async(FROM, hid_t id, hid_t type, hid_t memory, hid_t space, hid_t list, const void *buf, hid_t set) {
    AFTER_ALL;
    return H5Dwrite(id, type, memory, space, list, buf);
}

herr_t H5Dread_multi_async(FROM, size_t count, hid_t *id, hid_t *type, hid_t *memory, hid_t *space, hid_t list,
                           void *buf[], hid_t set) {
    AFTER_ALL;
    return H5Dread_multi(count, id, type, memory, space, list, buf);
}

herr_t H5Dwrite_multi_async(FROM, size_t count, hid_t *id, hid_t *type, hid_t *memory, hid_t *space, hid_t list,
                            const void *buf[], hid_t set) {
    AFTER_ALL;
    return H5Dwrite_multi(count, id, type, memory, space, list, buf);
}

herr_t H5Dset_extent_async(FROM, hid_t id, const hsize_t *size, hid_t set) {
    AFTER_ALL;
    return H5Dset_extent(id, size);
}

hid_t H5Acreate_async(FROM, hid_t id, const char *name, hid_t type, hid_t space, hid_t a, hid_t b, hid_t set) {
    AFTER_ALL;
    return H5Acreate2(id, name, type, space, a, b);
}

hid_t H5Acreate_by_name_async(FROM, hid_t id, const char *object, const char *name, hid_t type, hid_t space, hid_t a,
                              hid_t b, hid_t c, hid_t set) {
    AFTER_ALL;
    return H5Acreate_by_name(id, object, name, type, space, a, b, c);
}

hid_t H5Aopen_async(FROM, hid_t id, const char *name, hid_t a, hid_t set) {
    AFTER_ALL;
    return H5Aopen(id, name, a);
}

hid_t H5Aopen_by_name_async(FROM, hid_t id, const char *object, const char *name, hid_t a, hid_t b, hid_t set) {
    AFTER_ALL;
    return H5Aopen_by_name(id, object, name, a, b);
}

hid_t H5Aopen_by_idx_async(FROM, hid_t id, const char *object, H5_index_t index, H5_iter_order_t order, hsize_t number,
                           hid_t a, hid_t b, hid_t set) {
    AFTER_ALL;
    return H5Aopen_by_idx(id, object, index, order, number, a, b);
}

herr_t H5Aread_async(FROM, hid_t id, hid_t type, void *buf, hid_t set) {
    AFTER_ALL;
    return H5Aread(id, type, buf);
}

herr_t H5Awrite_async(FROM, hid_t id, hid_t type, const void *buf, hid_t set) {
    AFTER_ALL;
    return H5Awrite(id, type, buf);
}

herr_t H5Aclose_async(FROM, hid_t id, hid_t set) {
    AFTER_ALL;
    return H5Aclose(id);
}
#pragma GCC visibility pop
#endif
