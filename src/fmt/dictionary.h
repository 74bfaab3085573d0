// The contents that zstd takes for granted in small blocks of records.
#pragma once

enum { DICTIONARY_BYTES = 1240 };
extern const char dictionary[DICTIONARY_BYTES];
