// A ring of io_uring, as the probes of uring.c see it.
#pragma once

#include <linux/io_uring.h>
#include <stddef.h>

// The part of liburing's struct io_uring that has not changed since 2.0.
struct ring_view {
    struct {
        unsigned *khead, *ktail, *kring_mask, *kring_entries, *kflags, *kdropped, *array;
        struct io_uring_sqe *sqes;
        unsigned sqe_head, sqe_tail;
        size_t ring_bytes;
        void *ring;
        unsigned pad[4];
    } sq;
    struct {
        unsigned *khead, *ktail, *kring_mask, *kring_entries, *kflags, *koverflow;
        struct io_uring_cqe *cqes;
        size_t ring_bytes;
        void *ring;
        unsigned pad[4];
    } cq;
    unsigned flags;
    int ring_fd;
    unsigned features;
};
