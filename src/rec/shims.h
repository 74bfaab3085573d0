// Included by the generated shims and by shims written by hand.
#pragma once

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "rec/async/pending.h"
#include "rec/hdf5/hdf5.h"
#include "rec/netcdf/netcdf.h"
#include "rec/probe/probe.h"
#include "rec/real.h"
#include "rec/stdio/stdio.h"
#include "rec/system_call.h"

// Macros of <stdio.h> that would replace real.fread_unlocked.
#undef fread_unlocked
#undef fwrite_unlocked

#define EXPORT __attribute__((visibility("default")))

// The head of a shim written by hand: SHIM(int, aio_read, struct aiocb *block) { … real.aio_read(block) … }
#define SHIM(type, name, ...)                                                                                          \
    type shim_##name(__VA_ARGS__) __asm__(#name);                                                                      \
    EXPORT type shim_##name(__VA_ARGS__)
