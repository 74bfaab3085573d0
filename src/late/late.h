// Libraries that are loaded when the first of their functions is needed. NAME.h lists the functions that ioseer calls,
// and makes a struct of them; the module ioseer-NAME.so, from NAME.c, has that struct filled in, and needs the library.
#pragma once

// The struct of the library, or NULL if the module or the library is not installed. It stays loaded.
const void *late_load(const char *name);

extern const char *const late_names[]; // of those that this ioseer was built with; ended by NULL

#define LATE_MEMBER(function) __typeof__(function) *function;
#define LATE_ADDRESS(function) .function = function,
#define LATE_EXPORTED __attribute__((visibility("default")))
