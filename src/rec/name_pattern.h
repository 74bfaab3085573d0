// Names that differ in numbers only have one pattern: "dump_0001/part-07.dat" is "dump_*/part-*.dat".
#pragma once

#include <stddef.h>

enum { NAME_PATTERN_MAX = 1024 };

// Writes the pattern of a name, whose first `kept` bytes stay. Returns its length without the final zero; 0 if it is
// too long or nothing in it is a number.
size_t name_pattern(char out[NAME_PATTERN_MAX], const char *name, size_t len, size_t kept);
