// Every type that occurs in a prototype of calls/*.calls.
#pragma once

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <utime.h>

typedef int (*dirent_filter_t)(const struct dirent *);
typedef int (*dirent_order_t)(const struct dirent **, const struct dirent **);

// libaio and liburing: declared here, so that neither is needed to build.
typedef struct io_context *io_context_t;
struct iocb;
struct io_event;
struct io_uring;
struct io_uring_cqe;
struct __kernel_timespec;

// HDF5: these types are the same in all builds from 1.10 on.
typedef int64_t hid_t;
typedef int herr_t;
typedef unsigned long long hsize_t;
typedef long long hssize_t;
