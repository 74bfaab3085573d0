#include "rec/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "rec/asking.h"
#include "rec/event_clock.h"
#include "rec/fixed_text.h"
#include "rec/host_folder.h"
#include "rec/recorder.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
    RESERVE_BYTES = 64 << 20, // behind the trace, with a third of the trace cap: for names and counters
    LEAST_BYTES = 64 << 10,   // a smaller file is useless
    KEPT_BYTES = 1 << 20,     // free space that stays after spill_give_back()
    FIRST_BYTES = SPILL_HEADER_BYTES + 2 * SPILL_ALIGN, // with a chunk of records and one of events
};

// The kernel maps whole pages, which may be larger than SPILL_ALIGN.
static uint64_t page_before(uint64_t offset) { return offset & -(uint64_t)getpagesize(); }

// Allocates disk blocks before anything writes to the mapping: a full disk must be an error here, not a SIGBUS in the
// program. Needs no descriptor, except on kernels before 5.14.
static int allocate(uint64_t offset, uint64_t bytes) {
    bytes += offset - page_before(offset);
    offset = page_before(offset);
    long code = cpu_syscall(SYS_madvise, (char *)recorder.spill + offset, bytes, MADV_POPULATE_WRITE);
    if (code != -EINVAL) return (int)code;
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, recorder.spill_path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return (int)fd;
    code = cpu_syscall(SYS_fallocate, fd, 0, offset, bytes);
    cpu_syscall(SYS_close, fd);
    return (int)code;
}

// The file stays below a limit on file sizes: ftruncate beyond it would raise SIGXFSZ in the program. Of a limited
// address space it uses a small part.
static uint64_t wanted_bytes(void) {
    uint64_t bytes = recorder.trace_cap + recorder.trace_cap / 3 + RESERVE_BYTES;
    uint64_t file_limit = recorder_limit(RLIMIT_FSIZE);
    uint64_t space_limit = recorder_limit(RLIMIT_AS) / 64;
    if (bytes > file_limit) bytes = file_limit;
    if (bytes > space_limit) bytes = space_limit > LEAST_BYTES ? space_limit : LEAST_BYTES;
    return page_before(bytes);
}

// Under a limit on address space a smaller mapping may still fit.
static int map_file(int fd, uint64_t *bytes) {
    for (; *bytes >= LEAST_BYTES; *bytes = page_before(*bytes / 2)) {
        long address = cpu_syscall(SYS_mmap, 0, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (address > 0 || address < -4095) {
            recorder.spill = (struct spill_header *)address;
            // Without MADV_RANDOM the first touch of the hole reads megabytes ahead: milliseconds at every start.
            cpu_syscall(SYS_madvise, address, *bytes, MADV_RANDOM);
            cpu_syscall(SYS_madvise, address, *bytes, MADV_DONTFORK);
            cpu_syscall(SYS_madvise, address, *bytes, MADV_DONTDUMP);
            return 0;
        }
    }
    return -ENOMEM;
}

static void name_file(char out[PATH_MAX], const char *folder, uint32_t pid, uint64_t units, const char *suffix) {
    struct utsname name = {.nodename = "host"};
    cpu_syscall(SYS_uname, &name);
    struct fixed_text path = {out, PATH_MAX, 0};
    fixed_text_add(&path, folder);
    fixed_text_add(&path, "/");
    fixed_text_add(&path, name.nodename);
    fixed_text_add(&path, ".");
    fixed_text_number(&path, pid, 10);
    fixed_text_add(&path, ".");
    fixed_text_number(&path, units, 16);
    fixed_text_add(&path, suffix);
}

// A process that cannot make a spill file leaves a dangling link in the job's directory. That needs no descriptor and
// no disk space, and no limit applies to it.
static void leave_mark(uint64_t units, const char *suffix, const char *text) {
    char path[PATH_MAX];
    name_file(path, recorder.job, (uint32_t)cpu_syscall(SYS_getpid, 0), units, suffix);
    cpu_syscall(SYS_symlinkat, text, AT_FDCWD, path);
}

uint64_t spill_mark_unfollowed(const char *why) {
    uint64_t now = event_clock_now();
    if (recorder.job) leave_mark(now, SPILL_UNFOLLOWED_SUFFIX, why);
    return now;
}

void spill_unmark_unfollowed(uint64_t mark) {
    char path[PATH_MAX];
    if (!recorder.job) return;
    name_file(path, recorder.job, (uint32_t)cpu_syscall(SYS_getpid, 0), mark, SPILL_UNFOLLOWED_SUFFIX);
    cpu_syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static int create(const char *folder, const struct spill_moment *now) {
    name_file(recorder.spill_path, folder, recorder.pid, now->units, SPILL_SUFFIX);
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, recorder.spill_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                          0600);
    if (fd < 0) return (int)fd;
    uint64_t bytes = wanted_bytes();
    long code = bytes < LEAST_BYTES ? -EFBIG : cpu_syscall(SYS_ftruncate, fd, bytes);
    if (code == 0) code = map_file((int)fd, &bytes);
    if (code == 0) spill_expect_faults((int)fd, recorder.spill, bytes);
    cpu_syscall(SYS_close, fd);
    if (code == 0) code = allocate(0, FIRST_BYTES);
    if (code < 0) {
        if (recorder.spill) cpu_syscall(SYS_munmap, recorder.spill, bytes);
        recorder.spill = NULL;
        cpu_syscall(SYS_unlinkat, AT_FDCWD, recorder.spill_path, 0);
        return (int)code;
    }

    struct spill_header *header = recorder.spill;
    header->version = SPILL_VERSION;
    header->header_bytes = SPILL_HEADER_BYTES;
    header->pid = recorder.pid;
    header->ppid = (uint32_t)ask_parent();
    header->uid = (uint32_t)ask_user();
    header->clock_is_ns = event_clock_uses_ns;
    header->unit_shift = event_clock_uses_ns ? EVENT_CLOCK_NS_SHIFT : CPU_COUNTER_SHIFT;
    header->image = recorder.generation;
    header->start = header->latest = *now;
    header->counts_all = recorder.selects;
    header->capacity = bytes;
    atomic_store(&header->next, SPILL_HEADER_BYTES);
    header->magic = SPILL_MAGIC;
    enum loss_reason reason;
    recorder.records = spill_claim(CHUNK_RECORDS, spill_next_bytes(NULL), &reason);
    return 0;
}

void spill_mark_fault(void) {
    if (recorder.job) leave_mark(event_clock_now(), SPILL_LOST_SUFFIX, "no room in the spill file");
}

int spill_create(void) {
    struct spill_moment now = event_clock_moment();
    const char *host_folder = host_folder_enter();
    int code = host_folder ? create(host_folder, &now) : -ENOENT;
    if (code < 0) code = create(recorder.job, &now); // also if the host's disk is full
    if (code < 0) leave_mark(now.units, SPILL_LOST_SUFFIX, "no spill file");
    return code;
}

struct spill_chunk *spill_claim(enum spill_chunk_kind kind, uint32_t bytes, enum loss_reason *reason) {
    struct spill_header *header = recorder.spill;
    uint64_t limit = header->capacity;
    if (kind == CHUNK_EVENTS) {
        limit -= limit / 4; // even in a small file, names and counters need room
        if (limit > recorder.trace_cap + SPILL_HEADER_BYTES) limit = recorder.trace_cap + SPILL_HEADER_BYTES;
    }
    uint64_t offset = atomic_load(&header->next);
    do {
        if (offset + bytes > limit) {
            *reason = LOSS_TRACE_CAP;
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&header->next, &offset, offset + bytes));
    if (offset + bytes > header->capacity) { // spill_give_back() ran meanwhile
        *reason = LOSS_TRACE_CAP;
        return NULL;
    }
    if (offset + bytes > FIRST_BYTES && allocate(offset, bytes) < 0) {
        *reason = LOSS_DISK_FULL;
        return NULL;
    }
    struct spill_chunk *chunk = (struct spill_chunk *)((char *)header + offset);
    chunk->kind = kind;
    chunk->bytes = bytes;
    atomic_thread_fence(memory_order_release);
    chunk->magic = SPILL_CHUNK_MAGIC;
    spill_update_clock();
    return chunk;
}

// A thread that claims a chunk at the same time either sees the new capacity, or has changed `next` as seen here.
void spill_give_back(void) {
    struct spill_header *header = recorder.spill;
    uint64_t old = header->capacity;
    uint64_t kept = page_before(atomic_load(&header->next) + KEPT_BYTES);
    if (kept >= old) return;
    header->capacity = kept;
    if (atomic_load(&header->next) > kept) {
        header->capacity = old;
    } else {
        cpu_syscall(SYS_munmap, (char *)header + kept, old - kept);
    }
}

void spill_update_clock(void) {
    static _Atomic uint32_t lock;
    if (!spin_try(&lock)) return; // another thread is doing it
    recorder.spill->latest = event_clock_moment();
    spin_unlock(&lock);
}

void spill_retire(struct spill_chunk *chunk) {
    uint64_t offset = (uint64_t)((char *)chunk - (char *)recorder.spill), start = page_before(offset);
    cpu_syscall(SYS_madvise, (char *)recorder.spill + start, offset + chunk->bytes - start, MADV_DONTNEED);
}

bool spill_begin_record(struct fields_out *out, size_t most) {
    if (!spin_lock_in_time(&recorder.records_lock)) {
        spill_count_loss(LOSS_SIGNAL, 1);
        return false;
    }
    struct spill_chunk *chunk = recorder.records;
    uint32_t used = chunk ? atomic_load(&chunk->used) : 0;
    if (chunk && used + most > chunk->bytes - SPILL_CHUNK_HEADER_BYTES) {
        enum loss_reason reason;
        uint32_t bytes = spill_next_bytes(chunk);
        if (most > bytes - SPILL_CHUNK_HEADER_BYTES) bytes = SPILL_LARGE_CHUNK;
        struct spill_chunk *next = spill_claim(CHUNK_RECORDS, bytes, &reason);
        if (next) spill_retire(chunk);
        recorder.records = chunk = next;
        used = 0;
    }
    if (!chunk) {
        spill_count_loss(LOSS_DISK_FULL, 1);
        spin_unlock(&recorder.records_lock);
        return false;
    }
    uint8_t *at = spill_payload(chunk) + used;
    *out = (struct fields_out){.at = at, .end = at + most};
    return true;
}

void spill_end_record(const struct fields_out *out) {
    struct spill_chunk *chunk = recorder.records;
    uint32_t used = (uint32_t)(out->at - spill_payload(chunk));
    if (!out->overflow) atomic_store_explicit(&chunk->used, used, memory_order_release);
    spin_unlock(&recorder.records_lock);
}

void spill_record(const uint8_t *record, size_t len) {
    struct fields_out out;
    if (!spill_begin_record(&out, len)) return;
    memcpy(out.at, record, len);
    out.at += len;
    spill_end_record(&out);
}

void spill_count_loss(enum loss_reason reason, uint64_t events) {
    if (recorder.spill) atomic_fetch_add_explicit(&recorder.spill->lost[reason], events, memory_order_relaxed);
}
