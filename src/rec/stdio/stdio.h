// Probes of stdio. libc's own system calls under a stream cannot be seen, but they follow from its buffer:
//
//   logical position = kernel's position - bytes left in the read buffer + bytes pending in the write buffer
//
// The kernel's position moves by what went into or out of the buffer. Macros such as getc_unlocked work on the buffer
// without a call. The next call on the stream sees how far they got and writes one event for all of them.
#pragma once

#include <stdio.h>
#include <string.h>

#include "rec/probe/probe.h"

enum { STDIO_AS_MOVED = -1 }; // the call does not ask for a number of bytes: the number that moved counts as asked

// Bytes of a call that counts items; -1 if fread may have taken part of an item, which only the stream shows.
static inline ssize_t stdio_items(size_t size, size_t count, size_t items) {
    return items == count || size == 1 ? (ssize_t)(size * items) : -1;
}

// Bytes of a line. If it contains zero bytes this is too small, which the stream shows.
static inline ssize_t stdio_text(const char *line) { return line ? (ssize_t)strlen(line) : -1; }

enum stdio_lock {
    STDIO_WAIT, // the call itself takes the lock
    STDIO_TRY,  // the call takes none, and another thread may hold it forever
};

bool enter_stdio(struct probe *p, FILE *stream, enum stdio_lock lock);
bool enter_stdio_number(struct probe *p, FILE *stream); // fileno touches neither buffer nor lock
bool enter_stdio_close(struct probe *p, FILE *stream);

void stdio_unlock(struct probe *p);

void leave_stdio_read(struct probe *p, uint32_t call, FILE *stream, ssize_t asked, ssize_t moved);
void leave_stdio_write(struct probe *p, uint32_t call, FILE *stream, ssize_t asked, ssize_t moved);
void leave_stdio_open(struct probe *p, uint32_t call, const char *path, const char *mode, FILE *result);
void leave_stdio_reopen(struct probe *p, uint32_t call, const char *path, const char *mode, FILE *result);
void leave_stdio_seek(struct probe *p, uint32_t call, FILE *stream, int result);
void leave_stdio_flush(struct probe *p, uint32_t call, FILE *stream, int result);
void leave_stdio_unget(struct probe *p, uint32_t call, FILE *stream, int result);
void leave_print_fd(struct probe *p, uint32_t call, int fd, int result);

// At exit: counts what is still in buffers. libc writes it after the recorder has ended.
void stdio_finish_all(void);
