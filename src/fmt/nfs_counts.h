// What an NFS client counts for a mount: bytes, and its requests by kind. A kind is stored as its name, a zero byte,
// and a varint for each enum nfs_count.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

enum nfs_bytes {
    NFS_READ, // asked for by programs, through the page cache
    NFS_WRITTEN,
    NFS_READ_DIRECT, // with O_DIRECT
    NFS_WRITTEN_DIRECT,
    NFS_SERVER_READ, // moved between client and server
    NFS_SERVER_WRITTEN,
    NFS_BYTES
};

enum nfs_count {
    NFS_REQUESTS,
    NFS_TRANSMISSIONS, // more than requests if some were sent again
    NFS_TIMEOUTS,
    NFS_SENT_BYTES,
    NFS_RECEIVED_BYTES,
    NFS_QUEUE_MS,  // before they were sent; times are sums over all requests
    NFS_SERVER_MS, // from sending to the answer
    NFS_ALL_MS,    // from beginning to end
    NFS_COUNTS
};

enum { NFS_NAME_ROOM = 32, NFS_OPERATION_MAX_BYTES = NFS_NAME_ROOM + NFS_COUNTS * VARINT_MAX_BYTES };

struct nfs_operation {
    char name[NFS_NAME_ROOM]; // "READ", "GETATTR" …
    uint64_t count[NFS_COUNTS];
};

// Writes at most NFS_OPERATION_MAX_BYTES and returns their end.
uint8_t *nfs_operation_put(uint8_t *out, const struct nfs_operation *operation);

// ERR_FORMAT on damage. Counts can be turned into nanoseconds without overflow.
int nfs_operation_get(struct nfs_operation *operation, const uint8_t *data, size_t len);
