// Functions that HDF5 has since 1.14, for tests with an older one: they call those that it has.
#pragma once

#include <hdf5.h>

#if !H5_VERSION_GE(1, 14, 0)
#define FROM const char *app_file, const char *app_func, unsigned app_line
herr_t H5Dread_multi(size_t count, hid_t *id, hid_t *type, hid_t *memory, hid_t *space, hid_t list, void *buf[]);
herr_t H5Dwrite_multi(size_t count, hid_t *id, hid_t *type, hid_t *memory, hid_t *space, hid_t list, const void *buf[]);
hid_t H5Fcreate_async(FROM, const char *name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t set);
hid_t H5Fopen_async(FROM, const char *name, unsigned flags, hid_t fapl, hid_t set);
hid_t H5Freopen_async(FROM, hid_t id, hid_t set);
herr_t H5Fflush_async(FROM, hid_t id, H5F_scope_t scope, hid_t set);
herr_t H5Fclose_async(FROM, hid_t id, hid_t set);
hid_t H5Gcreate_async(FROM, hid_t id, const char *name, hid_t a, hid_t b, hid_t c, hid_t set);
hid_t H5Gopen_async(FROM, hid_t id, const char *name, hid_t a, hid_t set);
herr_t H5Gclose_async(FROM, hid_t id, hid_t set);
hid_t H5Oopen_async(FROM, hid_t id, const char *name, hid_t a, hid_t set);
herr_t H5Oclose_async(FROM, hid_t id, hid_t set);
herr_t H5Ocopy_async(FROM, hid_t id, const char *name, hid_t to, const char *new_name, hid_t a, hid_t b, hid_t set);
herr_t H5Ldelete_async(FROM, hid_t id, const char *name, hid_t a, hid_t set);
hid_t H5Dcreate_async(FROM, hid_t id, const char *name, hid_t type, hid_t space, hid_t a, hid_t b, hid_t c, hid_t set);
hid_t H5Dopen_async(FROM, hid_t id, const char *name, hid_t a, hid_t set);
herr_t H5Dclose_async(FROM, hid_t id, hid_t set);
hid_t H5Dget_space_async(FROM, hid_t id, hid_t set);
herr_t H5Dread_async(FROM, hid_t id, hid_t type, hid_t memory, hid_t space, hid_t list, void *buf, hid_t set);
herr_t H5Dwrite_async(FROM, hid_t id, hid_t type, hid_t memory, hid_t space, hid_t list, const void *buf, hid_t set);
herr_t H5Dread_multi_async(FROM, size_t count, hid_t *id, hid_t *type, hid_t *memory, hid_t *space, hid_t list,
                           void *buf[], hid_t set);
herr_t H5Dwrite_multi_async(FROM, size_t count, hid_t *id, hid_t *type, hid_t *memory, hid_t *space, hid_t list,
                            const void *buf[], hid_t set);
herr_t H5Dset_extent_async(FROM, hid_t id, const hsize_t *size, hid_t set);
hid_t H5Acreate_async(FROM, hid_t id, const char *name, hid_t type, hid_t space, hid_t a, hid_t b, hid_t set);
hid_t H5Acreate_by_name_async(FROM, hid_t id, const char *object, const char *name, hid_t type, hid_t space, hid_t a,
                              hid_t b, hid_t c, hid_t set);
hid_t H5Aopen_async(FROM, hid_t id, const char *name, hid_t a, hid_t set);
hid_t H5Aopen_by_name_async(FROM, hid_t id, const char *object, const char *name, hid_t a, hid_t b, hid_t set);
hid_t H5Aopen_by_idx_async(FROM, hid_t id, const char *object, H5_index_t index, H5_iter_order_t order, hsize_t number,
                           hid_t a, hid_t b, hid_t set);
herr_t H5Aread_async(FROM, hid_t id, hid_t type, void *buf, hid_t set);
herr_t H5Awrite_async(FROM, hid_t id, hid_t type, const void *buf, hid_t set);
herr_t H5Aclose_async(FROM, hid_t id, hid_t set);

#ifndef HDF5_LATER
#define CALLED_FROM __FILE__, __func__, __LINE__
#define H5Fcreate_async(...) H5Fcreate_async(CALLED_FROM, __VA_ARGS__)
#define H5Fopen_async(...) H5Fopen_async(CALLED_FROM, __VA_ARGS__)
#define H5Freopen_async(...) H5Freopen_async(CALLED_FROM, __VA_ARGS__)
#define H5Fflush_async(...) H5Fflush_async(CALLED_FROM, __VA_ARGS__)
#define H5Fclose_async(...) H5Fclose_async(CALLED_FROM, __VA_ARGS__)
#define H5Gcreate_async(...) H5Gcreate_async(CALLED_FROM, __VA_ARGS__)
#define H5Gopen_async(...) H5Gopen_async(CALLED_FROM, __VA_ARGS__)
#define H5Gclose_async(...) H5Gclose_async(CALLED_FROM, __VA_ARGS__)
#define H5Oopen_async(...) H5Oopen_async(CALLED_FROM, __VA_ARGS__)
#define H5Oclose_async(...) H5Oclose_async(CALLED_FROM, __VA_ARGS__)
#define H5Ocopy_async(...) H5Ocopy_async(CALLED_FROM, __VA_ARGS__)
#define H5Ldelete_async(...) H5Ldelete_async(CALLED_FROM, __VA_ARGS__)
#define H5Dcreate_async(...) H5Dcreate_async(CALLED_FROM, __VA_ARGS__)
#define H5Dopen_async(...) H5Dopen_async(CALLED_FROM, __VA_ARGS__)
#define H5Dclose_async(...) H5Dclose_async(CALLED_FROM, __VA_ARGS__)
#define H5Dget_space_async(...) H5Dget_space_async(CALLED_FROM, __VA_ARGS__)
#define H5Dread_async(...) H5Dread_async(CALLED_FROM, __VA_ARGS__)
#define H5Dwrite_async(...) H5Dwrite_async(CALLED_FROM, __VA_ARGS__)
#define H5Dread_multi_async(...) H5Dread_multi_async(CALLED_FROM, __VA_ARGS__)
#define H5Dwrite_multi_async(...) H5Dwrite_multi_async(CALLED_FROM, __VA_ARGS__)
#define H5Dset_extent_async(...) H5Dset_extent_async(CALLED_FROM, __VA_ARGS__)
#define H5Acreate_async(...) H5Acreate_async(CALLED_FROM, __VA_ARGS__)
#define H5Acreate_by_name_async(...) H5Acreate_by_name_async(CALLED_FROM, __VA_ARGS__)
#define H5Aopen_async(...) H5Aopen_async(CALLED_FROM, __VA_ARGS__)
#define H5Aopen_by_name_async(...) H5Aopen_by_name_async(CALLED_FROM, __VA_ARGS__)
#define H5Aopen_by_idx_async(...) H5Aopen_by_idx_async(CALLED_FROM, __VA_ARGS__)
#define H5Aread_async(...) H5Aread_async(CALLED_FROM, __VA_ARGS__)
#define H5Awrite_async(...) H5Awrite_async(CALLED_FROM, __VA_ARGS__)
#define H5Aclose_async(...) H5Aclose_async(CALLED_FROM, __VA_ARGS__)
#endif
#endif
