// The tracer's memory for what it knows about a process. It is freed with the process.
#include "rec/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "rec/asking.h"
#include "rec/tracer/followed.h"

struct piece {
    struct piece *next;
    size_t pages_bytes; // 0: the memory lies behind this
    void *pages;
};

PER_PROCESS static struct piece *pieces;

static struct piece *add_piece(size_t bytes) {
    struct piece *piece = calloc(1, sizeof *piece + bytes);
    if (!piece) return NULL;
    piece->next = pieces;
    pieces = piece;
    return piece;
}

void *memory_alloc(size_t bytes) {
    struct piece *piece = add_piece(bytes);
    return piece ? piece + 1 : NULL;
}

void *memory_pages(size_t bytes) {
    struct piece *piece = add_piece(0);
    if (!piece) return NULL;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    piece->pages = pages;
    piece->pages_bytes = bytes;
    return pages;
}

void memory_keep(void) { pieces = NULL; }

void memory_free_all(void) {
    while (pieces) {
        struct piece *piece = pieces;
        pieces = piece->next;
        if (piece->pages_bytes) munmap(piece->pages, piece->pages_bytes);
        free(piece);
    }
}
