// From return addresses to source lines.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/lookup.h"
#include "pack/intern.h"

struct callsites_module;

struct callsites {
    struct intern paths;             // of the objects; each is there once for all processes
    struct callsites_module *module; // by number of the path, less one
    size_t count;
    struct bytes text;   // all lines, each ended by a zero byte
    struct lookup known; // hash of module and address -> where its text starts
};

// The number of the object at `path`, for callsites_line; negative on failure.
int64_t callsites_module(struct callsites *sites, const uint8_t *path, size_t len);

// "file.c:123", else "function+0x1f", else "lib.so+0x1234". `address` is a return address less the start of the
// object's image. The result is valid until the next call; NULL without memory.
const char *callsites_line(struct callsites *sites, size_t module, uint64_t address);

void callsites_free(struct callsites *sites);
