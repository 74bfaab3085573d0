// Where calls come from, with --callsites: return addresses become small numbers; the packer turns them into source
// lines.
#pragma once

#include <stdint.h>

uint32_t callsites_number(uintptr_t caller); // 0 where it cannot be told
