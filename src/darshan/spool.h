// A region of a Darshan log while its size is not known: its bytes wait, compressed, in a file without a name. In a
// build without zlib they are as they came.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "darshan/format.h"

struct spool; // spool.c

enum darshan_codec spool_codec(void); // of all spools of this build
// `beside`: how the file's name begins as long as it has one.
int spool_open(struct spool **spool, const char *beside);
int spool_add(struct spool *spool, const void *data, size_t len);
// Appends all of it to a file; nothing can be added any more. `len` is what it takes there.
int spool_copy(struct spool *spool, int fd, uint64_t *len);
void spool_free(struct spool *spool);

// Makes a file without a name. Returns its descriptor or a negative code.
int spool_file(const char *beside);
