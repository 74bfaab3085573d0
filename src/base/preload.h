// The value of LD_PRELOAD for a program that is to be recorded. Used by `record` and, at each exec, by the recorder
// itself: nothing here allocates or goes through libc's functions for files.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { PRELOAD_NAME_ROOM = 64 }; // of a runtime's name

// Writes into `name` the sanitizer runtime that the program needs as a shared library ("libasan.so.8"), or "". The
// program is the file `path`, or, if that is a script, its interpreter. ASan refuses to start if another library is
// loaded before its runtime. Returns how many bytes it read, which the kernel counts as this process's.
size_t preload_runtime(const char *path, char name[PRELOAD_NAME_ROOM]);

// The file that execvp would run: a `file` without a slash is searched for in `places`, the value of PATH. False if
// there is none.
bool preload_find(const char *file, const char *places, char *path, size_t room);

// Writes the new value: what is in `list`, then the runtime, then the library. `out` must have room for all of them and
// 3 bytes more.
void preload_join(char *out, const char *list, const char *runtime, const char *library);

// Removes the runtime that preload_join() added: the children of the program do not need it.
void preload_forget_runtime(char *list, const char *library);
