// Probes of memory mappings of files. They see what is mapped, synced and unmapped, not the program's loads and stores:
// what these moved is estimated from what the kernel says about the pages before they are unmapped or synced, and at
// the end of the process. Anonymous mappings pass through.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fmt/fields.h"
#include "rec/asking.h"
#include "rec/memory.h"
#include "rec/probe/probe.h"
#include "rec/smaps.h"
#include "rec/spill.h"

enum { MAPPINGS = 4096 };

PER_PROCESS static struct mapping {
    uintptr_t start; // 0: free
    uintptr_t end;
    struct file *file;
    uint32_t serial;
    bool can_be_copied; // private and writable: fork passes its pages on
    uint64_t offset;
    float inherited_read, inherited_copied;        // parts of it that were there when this process began
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

// --- what was moved through mappings

// The bytes of a file in the spill file: they count even if the process is killed later. NULL without room.
static uint64_t *file_sums(struct file *file) {
    struct fields_out out;
    if (file->mapped && file->mapped_generation == recorder.generation) return file->mapped;
    if (!spill_begin_record(&out, 64)) return NULL;
    fields_begin(&out, RECORD_MAPPED);
    fields_number(&out, MAPPED_FILE, file->id);
    fields_bytes(&out, MAPPED_SUMS, (const uint64_t[MAPPED_KINDS]){0}, MAPPED_KINDS * sizeof(uint64_t));
    file->mapped = (uint64_t *)(out.at - MAPPED_KINDS * sizeof(uint64_t));
    file->mapped_generation = recorder.generation;
    fields_end(&out); // moves nothing: the length of so short a record takes one byte
    spill_end_record(&out);
    files_announce(file);
    return file->mapped;
}

static void add_to_file(struct file *file, const uint64_t bytes[MAPPED_KINDS]) {
    uint64_t any = 0;
    for (int i = 0; i < MAPPED_KINDS; i++) any |= bytes[i];
    if (!any) return;
    uint64_t *sums = file_sums(file);
    for (int i = 0; sums && i < MAPPED_KINDS; i++) {
        uint64_t sum; // need not be aligned
        memcpy(&sum, &sums[i], sizeof sum);
        sum = (int64_t)bytes[i] < 0 && sum < -bytes[i] ? 0 : sum + bytes[i];
        memcpy(&sums[i], &sum, sizeof sum);
    }
}

struct estimate {
    uintptr_t start; // of what is unmapped or synced
    uintptr_t end;
    bool is_beginning; // of a forked process: notes what its parent has moved
    bool is_sync;
    bool is_undone;               // the process goes on after all: takes back what was added
    const struct file *file;      // whose bytes are of interest
    uint64_t bytes[MAPPED_KINDS]; // of that file
};

static uint64_t above_zero(double value) { return value > 0 ? (uint64_t)value : 0; }

// The kernel joins mappings that continue each other: each has its share of the area.
static void add_share(struct estimate *e, struct mapping *m, const struct smaps_area *area, uintptr_t bytes) {
    double len = (double)bytes, share = len / (double)(area->end - area->start);
    double resident = (double)area->resident * share, copied = area->is_shared ? 0 : (double)area->copied * share;
    uint64_t part[MAPPED_KINDS] = {0};
    if (e->is_beginning) {
        m->inherited_read += (float)(resident / (double)(m->end - m->start));
        m->inherited_copied += (float)(copied / (double)(m->end - m->start));
        return;
    }
    if (!e->is_sync) part[MAPPED_READ] = above_zero(resident - m->inherited_read * len);
    if (!e->is_sync) part[MAPPED_COPIED] = above_zero(copied - m->inherited_copied * len);
    // Without the right to write, others have changed the pages.
    if (area->is_shared && area->is_writable) part[MAPPED_DIRTY] = (uint64_t)((double)area->dirty * share);
    for (int i = 0; e->is_undone && i < MAPPED_KINDS; i++) part[i] = -part[i];
    add_to_file(m->file, part);
    for (int i = 0; m->file == e->file && i < MAPPED_KINDS; i++) e->bytes[i] += part[i];
}

static uintptr_t later(uintptr_t a, uintptr_t b) { return a > b ? a : b; }
static uintptr_t earlier(uintptr_t a, uintptr_t b) { return a < b ? a : b; }

static bool add_area(void *context, const struct smaps_area *area) {
    const uintptr_t page_bytes = (uintptr_t)getpagesize();
    struct estimate *e = context;
    if (area->start >= e->end) return false;
    if (area->end <= e->start || !area->resident) return true;
    spin_lock(&lock);
    for (unsigned i = 0; i < atomic_load(&mapping_count); i++) {
        struct mapping *m = &mappings[i];
        uintptr_t start = later(later(m->start, e->start), area->start);
        uintptr_t end = earlier(earlier((m->end + page_bytes - 1) & -page_bytes, e->end), area->end);
        if (m->start && start < end) add_share(e, m, area, end - start);
    }
    spin_unlock(&lock);
    return true;
}

// All mappings whose pages the call concerns have no estimate.
static void count_missed(const struct estimate *e) {
    spin_lock(&lock);
    for (unsigned i = 0; i < atomic_load(&mapping_count); i++) {
        const struct mapping *m = &mappings[i];
        if (m->start && m->start < e->end && m->end > e->start)
            add_to_file(m->file, (const uint64_t[MAPPED_KINDS]){[MAPPED_MISSED] = 1});
    }
    spin_unlock(&lock);
}

// The kernel walks all pages of the process for this. Programs that map and unmap all the time must not wait for it: it
// takes at most a fiftieth of their time, after the first ten milliseconds, and ends after a hundred. The others are
// counted. It is processor time, so that a busy machine does not change the result. The caller has claimed its thread.
static bool estimate(struct estimate *e) {
    enum { FIRST_NS = 10000000, MOST_NS = 10 * FIRST_NS, PART_OF_TIME = 50 };
    PER_PROCESS static _Atomic uint32_t walking;
    PER_PROCESS static uint64_t spent_ns;
    PER_PROCESS static uint32_t spent_generation;
    bool known = false;
    if (atomic_load(&mapping_count) == 0) return true;
    if (spin_try(&walking)) {
        uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        uint64_t run_ns = clock_ns(CLOCK_MONOTONIC) - recorder.spill->start.mono_ns;
        if (spent_generation != recorder.generation) spent_ns = 0;
        spent_generation = recorder.generation;
        known = spent_ns <= FIRST_NS + run_ns / PART_OF_TIME;
        known = known && smaps_walk(add_area, e, begin_ns + MOST_NS);
        spent_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
        spin_unlock(&walking);
    }
    if (!known) count_missed(e);
    return known;
}

PER_PROCESS static bool end_is_estimated;

static bool estimate_all(bool is_undone) {
    struct estimate all = {.end = UINTPTR_MAX & ~(uintptr_t)4095, .is_undone = is_undone};
    return estimate(&all);
}

// Fork passes on the pages of private mappings that the parent may have changed, and those alone.
void mappings_begin(void) {
    struct estimate all = {.end = UINTPTR_MAX & ~(uintptr_t)4095, .is_beginning = true};
    bool any = false;
    for (unsigned i = 0; i < atomic_load(&mapping_count); i++) {
        mappings[i].inherited_read = mappings[i].inherited_copied = 0;
        any |= mappings[i].start && mappings[i].can_be_copied;
    }
    if (any) estimate(&all);
}

void mappings_end(void) { end_is_estimated = estimate_all(false); }

void mappings_resume(void) {
    if (end_is_estimated) estimate_all(true);
    end_is_estimated = false;
}

// Before the call: afterwards the pages are gone, or clean.
static void estimate_call(struct probe *p, const void *address, size_t len, bool is_sync) {
    uintptr_t start = (uintptr_t)address;
    struct estimate e = {
        .start = start, .end = (start + len + 4095) & ~(uintptr_t)4095, .is_sync = is_sync, .file = p->file};
    p->mapped_known = estimate(&e);
    memcpy(p->mapped, e.bytes, sizeof p->mapped);
}

// --- probes

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
            add((struct mapping){.start = start,
                                 .end = start + len,
                                 .file = p->handle->file,
                                 .serial = p->handle->serial,
                                 .can_be_copied = flags & MAP_PRIVATE && protection & PROT_WRITE,
                                 .offset = (uint64_t)off});
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
    p->mapped_known = false;
    spin_unlock(&lock);
    emit_unclaim(p->thread);
    p->start = event_clock_now();
    return p->file != NULL;
}

static void emit_mapping(struct probe *p, uint32_t call, size_t len, int error, uint64_t end) {
    struct emission e;
    emit_start(&e, probe_event(p, call, p->offset, len, end), p->file, p->serial);
    for (uint32_t i = 0; p->mapped_known && i < MAPPED_MISSED; i++) {
        if (p->mapped[i]) emit_attribute(&e, ATTRIBUTE_MAPPED_READ + i, p->mapped[i]);
    }
    emit_result(&e, error ? -1 : 0, 0, error);
    emit_slowly(p->thread, &e);
}

// Removes the entries before the call: after it another thread may map the same addresses.
bool enter_munmap(struct probe *p, const void *address, size_t len) {
    if (!enter_mapping(p, address)) return false;
    if (emit_claim(p->thread)) {
        estimate_call(p, address, len, false);
        spin_lock(&lock);
        cut((uintptr_t)address, (uintptr_t)address + len);
        spin_unlock(&lock);
        emit_unclaim(p->thread);
    }
    p->start = event_clock_now();
    return true;
}

// MS_ASYNC leaves the pages as they are: they count later.
bool enter_msync(struct probe *p, const void *address, size_t len, int flags) {
    if (!enter_mapping(p, address)) return false;
    if (flags & MS_SYNC && emit_claim(p->thread)) {
        estimate_call(p, address, len, true);
        emit_unclaim(p->thread);
    }
    p->start = event_clock_now();
    return true;
}

// A mapping that becomes shorter loses the pages at its end.
bool enter_mremap(struct probe *p, const void *address, size_t len, size_t new_len) {
    if (!enter_mapping(p, address)) return false;
    if (new_len < len && emit_claim(p->thread)) {
        estimate_call(p, (const char *)address + new_len, len - new_len, false);
        emit_unclaim(p->thread);
    }
    p->start = event_clock_now();
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
        const struct mapping *old = mapping_at(start);
        struct mapping moved = old ? *old : (struct mapping){.file = p->file, .serial = p->serial};
        moved.start = (uintptr_t)result;
        moved.end = moved.start + new_len;
        moved.offset = p->offset;
        cut(start, start + len);
        add(moved);
        spin_unlock(&lock);
        emit_unclaim(p->thread);
    }
    emit_mapping(p, call, new_len, error, end);
}
