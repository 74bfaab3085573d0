// The functions that the shims stand in front of: `real.pwrite(fd, …)` is the next pwrite in line, usually libc's.
#ifndef IOSEER_REC_REAL_H
#define IOSEER_REC_REAL_H

#include "real_functions.h"

extern struct real_functions real __attribute__((visibility("hidden")));

// Once, before the first call of any. Functions of libraries that may come later (`late` in the table) are looked up
// when they are first called.
void real_resolve(void);
void *real_find_late(void **slot, const char *name);

#define REAL_LATE(name) (real.name ? real.name : (__typeof__(real.name))real_find_late((void **)&real.name, #name))

#endif
