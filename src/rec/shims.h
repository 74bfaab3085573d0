// What the generated shims need.
#ifndef IOSEER_REC_SHIMS_H
#define IOSEER_REC_SHIMS_H

#include <string.h>
#include <sys/syscall.h>

#include "rec/probe.h"
#include "rec/real.h"
#include "rec/stream.h"
#include "rec/system_call.h"

// Macros of <stdio.h> that would get in the way of real.fread_unlocked.
#undef fread_unlocked
#undef fwrite_unlocked

#define EXPORT __attribute__((visibility("default")))

#endif
