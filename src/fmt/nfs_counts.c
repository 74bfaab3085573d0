#include "fmt/nfs_counts.h"

#include "base/err.h"

#define LARGEST (UINT64_C(1) << 42) // milliseconds of 139 years; bytes may be more

uint8_t *nfs_operation_put(uint8_t *out, const struct nfs_operation *operation) {
    size_t len = strnlen(operation->name, sizeof operation->name - 1);
    memcpy(out, operation->name, len);
    out += len;
    *out++ = 0;
    for (unsigned i = 0; i < NFS_COUNTS; i++) out = varint_put(out, operation->count[i]);
    return out;
}

int nfs_operation_get(struct nfs_operation *operation, const uint8_t *data, size_t len) {
    const uint8_t *zero = len ? memchr(data, 0, len) : NULL, *at, *end = data + len;
    *operation = (struct nfs_operation){0};
    RETURN_IF(!zero || zero == data || (size_t)(zero - data) >= sizeof operation->name, ERR_FORMAT);
    memcpy(operation->name, data, (size_t)(zero - data));
    at = zero + 1;
    for (unsigned i = 0; i < NFS_COUNTS; i++) {
        at = varint_get(at, end, &operation->count[i]);
        RETURN_IF(!at || (i >= NFS_QUEUE_MS && operation->count[i] > LARGEST), ERR_FORMAT);
    }
    return 0;
}
