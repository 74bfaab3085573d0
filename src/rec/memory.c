#include "rec/memory.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/cpu.h"

enum { MEMORY_BLOCK_BYTES = 64 << 10, MEMORY_ALIGN = 16 };

struct memory_block {
    _Atomic size_t used;
    size_t bytes;
};

static struct memory_block *_Atomic current;

void *memory_pages(size_t bytes) {
    long address =
        cpu_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return address < 0 && address > -4096 ? NULL : (void *)address;
}

// Lock-free: a thread that finds the block full replaces it. If two do so at once, one new block is wasted.
void *memory_alloc(size_t bytes) {
    bytes = (bytes + MEMORY_ALIGN - 1) & ~(size_t)(MEMORY_ALIGN - 1);
    size_t header = (sizeof(struct memory_block) + MEMORY_ALIGN - 1) & ~(size_t)(MEMORY_ALIGN - 1);
    if (bytes > MEMORY_BLOCK_BYTES / 4) return memory_pages(bytes);
    for (;;) {
        struct memory_block *block = atomic_load(&current);
        if (block) {
            size_t at = atomic_fetch_add(&block->used, bytes);
            if (at + bytes <= block->bytes) return (char *)block + at;
        }
        struct memory_block *fresh = memory_pages(MEMORY_BLOCK_BYTES);
        if (!fresh) return NULL;
        fresh->bytes = MEMORY_BLOCK_BYTES;
        fresh->used = header;
        atomic_compare_exchange_strong(&current, &block, fresh);
    }
}
