// The number by which counters name a file, or an object in it: the same as in Darshan's logs, so that a file has one
// number wherever it was recorded. It is Bob Jenkins' hash lookup8 of "NAME" or "NAME:OBJECT".
#pragma once

#include <stddef.h>
#include <stdint.h>

// `object` may be NULL.
uint64_t record_id(const char *name, size_t name_len, const char *object, size_t object_len);
