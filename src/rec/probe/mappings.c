// Probes of memory mappings of files. They see what is mapped, synced and unmapped, not the program's loads and stores.
// Anonymous mappings pass through.
#include <errno.h>
#include <sys/mman.h>

#include "rec/asking.h"
#include "rec/memory.h"
#include "rec/probe/probe.h"
#include "rec/spill.h"

enum { MAPPINGS = 4096 };

PER_PROCESS static struct mapping {
    uintptr_t start; // 0: free
    uintptr_t end;
    struct file *file;
    uint32_t serial;
    uint64_t offset;
} * mappings;                                      // made with the first one
PER_PROCESS static _Atomic unsigned mapping_count; // length of the used part of the table, free entries included
static _Atomic uint32_t lock;

static void add(struct mapping fresh) {
    unsigned count = atomic_load(&mapping_count);
    unsigned at = 0;
    while (at < count && mappings[at].start) at++;
    if (!mappings) mappings = memory_pages(MAPPINGS * sizeof *mappings);
    if (at == MAPPINGS || !mappings) {
        spill_count_loss(LOSS_MAPPINGS, 1);
        return;
    }
    mappings[at] = fresh;
    if (at == count) atomic_store(&mapping_count, count + 1);
}

static struct mapping *mapping_at(uintptr_t address) {
    unsigned count = atomic_load(&mapping_count);
    for (unsigned i = 0; i < count; i++) {
        if (mappings[i].start && mappings[i].start <= address && address < mappings[i].end) return &mappings[i];
    }
    return NULL;
}

// Removes [start, end) from every mapping; one that is cut in the middle becomes two.
static void cut(uintptr_t start, uintptr_t end) {
    unsigned count = atomic_load(&mapping_count);
    for (unsigned i = 0; i < count; i++) {
        struct mapping *m = &mappings[i];
        if (!m->start || m->end <= start || end <= m->start) continue;
        struct mapping tail = *m;
        if (tail.end > end) {
            tail.offset += end - tail.start;
            tail.start = end;
            add(tail);
        }
        if (m->start < start) {
            m->end = start;
        } else {
            m->start = 0;
        }
    }
}

bool enter_mmap(struct probe *p, int fd, int flags) {
    p->thread = recorder_thread();
    if (!p->thread) return false;
    if (flags & MAP_ANONYMOUS && atomic_load_explicit(&mapping_count, memory_order_relaxed) == 0) return false;
    return probe_start(p, flags & MAP_ANONYMOUS ? &handles_all[LEFT_OUT_OTHER] : probe_handle(fd));
}

void leave_mmap(struct probe *p, uint32_t call, off_t off, size_t len, int protection, int flags, void *result) {
    uint64_t end = event_clock_now();
    int error = result == MAP_FAILED ? errno : 0;
    if (!error && emit_claim(p->thread)) {
        spin_lock(&lock);
        uintptr_t start = (uintptr_t)result;
        if (flags & MAP_FIXED) cut(start, start + len);
        if (p->handle->file) {
            add((struct mapping){start, start + len, p->handle->file, p->handle->serial, (uint64_t)off});
        }
        spin_unlock(&lock);
        emit_unclaim(p->thread);
    }
    if (p->handle->flags & HANDLE_LEFT_OUT) return;
    struct emission e;
    probe_emission(&e, p, probe_event(p, call, (uint64_t)off, len, end));
    emit_attribute(&e, ATTRIBUTE_FLAGS, (uint32_t)flags);
    emit_attribute(&e, ATTRIBUTE_MODE, (uint32_t)protection);
    emit_result(&e, error ? -1 : 0, 0, error);
    emit_slowly(p->thread, &e);
}

bool enter_mapping(struct probe *p, const void *address) {
    p->thread = recorder_thread();
    if (!p->thread || atomic_load_explicit(&mapping_count, memory_order_relaxed) == 0) return false;
    if (!emit_claim(p->thread)) return false;
    spin_lock(&lock);
    struct mapping *found = mapping_at((uintptr_t)address);
    p->file = found ? found->file : NULL;
    p->serial = found ? found->serial : 0;
    p->offset = found ? found->offset + ((uintptr_t)address - found->start) : 0;
    spin_unlock(&lock);
    emit_unclaim(p->thread);
    p->start = event_clock_now();
    return p->file != NULL;
}

static void emit_mapping(struct probe *p, uint32_t call, size_t len, int error, uint64_t end) {
    struct emission e;
    emit_start(&e, probe_event(p, call, p->offset, len, end), p->file, p->serial);
    emit_result(&e, error ? -1 : 0, 0, error);
    emit_slowly(p->thread, &e);
}

// Removes the entries before the call: after it another thread may map the same addresses.
bool enter_munmap(struct probe *p, const void *address, size_t len) {
    if (!enter_mapping(p, address)) return false;
    if (emit_claim(p->thread)) {
        spin_lock(&lock);
        cut((uintptr_t)address, (uintptr_t)address + len);
        spin_unlock(&lock);
        emit_unclaim(p->thread);
    }
    return true;
}

void leave_munmap(struct probe *p, uint32_t call, size_t len, int result) {
    emit_mapping(p, call, len, result < 0 ? errno : 0, event_clock_now());
}

void leave_mremap(struct probe *p, uint32_t call, const void *address, size_t len, size_t new_len, void *result) {
    uint64_t end = event_clock_now();
    int error = result == MAP_FAILED ? errno : 0;
    uintptr_t start = (uintptr_t)address;
    if (!error && emit_claim(p->thread)) {
        spin_lock(&lock);
        cut(start, start + len);
        add((struct mapping){(uintptr_t)result, (uintptr_t)result + new_len, p->file, p->serial, p->offset});
        spin_unlock(&lock);
        emit_unclaim(p->thread);
    }
    emit_mapping(p, call, new_len, error, end);
}
