// The layout of a file on Lustre, as its extended attribute has it: all numbers little-endian.
//
//   plain, 32 bytes:       magic 0x0BD10BD0, pattern, 16 bytes of identity, stripe size (all 32 bits), stripe count
//                          (16 bits), generation or wanted first server (16 bits)
//   with a pool, 48 bytes: the same with magic 0x0BD30BD0 or 0x0BD50BD0, then the pool's name of up to 16 bytes
//   both are followed by one object of 24 bytes per stripe; its last 32 bits are the number of its server
//
//   composite, 32 bytes:   magic 0x0BD60BD0, size of everything, generation (32 bits), flags, number of components (16
//                          bits), mirrors and padding; then one entry of 48 bytes per component: id, flags (32 bits),
//                          start, end of its part of the file (64 bits), offset and size of its layout (32 bits, from
//                          the start of the composite), padding. That layout is a plain one or one with a pool.
#pragma once

#include <stddef.h>

#include "fmt/stripe.h"

enum { LUSTRE_LAYOUT_MOST = 64 }; // further components are left out

// Returns the number of components, 1 for a layout without any; ERR_FORMAT if the bytes are no layout.
int lustre_layout_decode(struct stripe stripes[LUSTRE_LAYOUT_MOST], const uint8_t *data, size_t len);
