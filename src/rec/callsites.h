// Call sites, with --callsites: return addresses become small numbers, which the packer turns into source lines.
#pragma once

#include <stdint.h>

uint32_t callsites_number(uintptr_t caller); // 0 if it is not known
