// SPDX-License-Identifier: LGPL-3.0-or-later
#include "stack/probe/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static const size_t SEGMENT_BYTES = PROBE_SEGMENT_RECORDS * sizeof(struct probe_record);
static const size_t WINDOW_RECORDS = (size_t)RECORD_FILE_SLOTS * PROBE_SEGMENT_RECORDS;
static const uint64_t RETRY_NS = 100000000; // a full disk is asked this often

enum { DISK_SHARE = 4, MEMORY_SHARE = 8 }; // a quarter and an eighth stay free

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t record_file_now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

static struct probe_moment this_moment(void) {
    return (struct probe_moment){clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME)};
}

static struct probe_record *slot_records(const struct record_file *file, const struct record_slot *slot) {
    return file->window + (size_t)(slot - file->slot) * PROBE_SEGMENT_RECORDS;
}

// Addresses without memory; in place of what is there if `at` is not null.
static void *reserve(void *at, size_t bytes, int protection) {
    return mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

static int open_header(struct record_file *file, const struct probe_header *wanted) {
    int error = posix_fallocate(file->fd, 0, PROBE_HEADER_BYTES);
    if (error) return -error;
    file->header = mmap(NULL, PROBE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (file->header == MAP_FAILED) return -errno;
    struct probe_header *header = file->header;
    uint64_t next = 0;
    if (header->magic == PROBE_MAGIC) {
        if (header->version != PROBE_VERSION || header->number != wanted->number) return -EEXIST;
        next = atomic_load(&header->next) + PROBE_SEGMENT_RECORDS - 1;
    } else {
        *header = *wanted;
        header->version = PROBE_VERSION;
        header->start = this_moment();
        gethostname(header->host, sizeof header->host - 1);
    }
    // The places that the process before left free in its last segment stay so: each segment has one owner.
    atomic_store(&header->next, next - next % PROBE_SEGMENT_RECORDS);
    header->pid = (uint32_t)getpid();
    header->latest = this_moment();
    header->magic = PROBE_MAGIC;
    return 0;
}

int record_file_open(struct record_file *file, const char *path, const struct probe_header *wanted) {
    memset(file, 0, sizeof *file);
    pthread_mutex_init(&file->lock, NULL);
    file->header = MAP_FAILED;
    file->window = reserve(NULL, WINDOW_RECORDS * sizeof *file->window, PROT_NONE);
    file->notes = reserve(NULL, WINDOW_RECORDS * sizeof *file->notes, PROT_READ | PROT_WRITE);
    file->fd =
        file->window == MAP_FAILED || file->notes == MAP_FAILED ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int status = file->fd < 0 ? -errno : open_header(file, wanted);
    if (status < 0) record_file_close(file);
    return status;
}

void record_file_close(struct record_file *file) {
    if (file->fd >= 0) close(file->fd);
    if (file->header != MAP_FAILED) munmap(file->header, PROBE_HEADER_BYTES);
    if (file->window != MAP_FAILED) munmap(file->window, WINDOW_RECORDS * sizeof *file->window);
    if (file->notes != MAP_FAILED) munmap(file->notes, WINDOW_RECORDS * sizeof *file->notes);
    pthread_mutex_destroy(&file->lock);
}

// Under the lock.
static void free_slot(struct record_file *file, struct record_slot *slot) {
    struct probe_record *records = slot_records(file, slot);
    reserve(records, SEGMENT_BYTES, PROT_NONE);
    madvise(record_file_note(file, records), PROBE_SEGMENT_RECORDS * sizeof *file->notes, MADV_DONTNEED);
    slot->owner = 0;
    atomic_store_explicit(&slot->over, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->mapped, 0, memory_order_release);
}

// The machine's memory, and what programs can have of it without swapping. False if the kernel does not say.
static bool read_memory(uint64_t *total_bytes, uint64_t *free_bytes) {
    char text[512], *found;
    int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length < 0 ? 0 : length] = 0;
    *total_bytes = (found = strstr(text, "MemTotal:")) ? strtoull(found + sizeof "MemTotal:", NULL, 10) << 10 : 0;
    *free_bytes =
        (found = strstr(text, "MemAvailable:")) ? strtoull(found + sizeof "MemAvailable:", NULL, 10) << 10 : 0;
    return *total_bytes && found;
}

// The files are in memory, which the program and its MPI need as well, and may be long: what they need comes first.
static bool is_room_left(const struct record_file *file) {
    struct statvfs disk;
    uint64_t total_bytes, free_bytes;
    if (fstatvfs(file->fd, &disk) != 0) return false;
    if (disk.f_bavail * disk.f_frsize < disk.f_blocks * disk.f_frsize / DISK_SHARE + SEGMENT_BYTES) return false;
    return !read_memory(&total_bytes, &free_bytes) || free_bytes >= total_bytes / MEMORY_SHARE + SEGMENT_BYTES;
}

static bool map_segment(struct record_file *file, struct record_slot *slot, uint64_t segment) {
    uint64_t now_ns = record_file_now_ns();
    if (slot->tried_ns && now_ns - slot->tried_ns < RETRY_NS) return false;
    slot->tried_ns = now_ns;
    off_t offset = (off_t)(PROBE_HEADER_BYTES + segment * SEGMENT_BYTES);
    if (!is_room_left(file) || posix_fallocate(file->fd, offset, (off_t)SEGMENT_BYTES) != 0) return false;
    void *at = slot_records(file, slot);
    if (mmap(at, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file->fd, offset) != at) return false;
    file->header->latest = this_moment();
    atomic_store_explicit(&slot->mapped, segment + 1, memory_order_release);
    return true;
}

// Makes `segment` writable. Under the lock. The slot may have a segment in which a call has not returned since more
// calls began than there is room for: all of the new segment is lost then, so that its records need not be counted.
static bool prepare(struct record_file *file, struct record_slot *slot, uint64_t segment) {
    if (slot->refused == segment + 1) return false;
    if (slot->owner == 0) {
        slot->owner = segment + 1;
        slot->tried_ns = 0;
    }
    if (slot->owner != segment + 1) {
        slot->refused = segment + 1;
        return false;
    }
    return atomic_load_explicit(&slot->mapped, memory_order_relaxed) == segment + 1 || map_segment(file, slot, segment);
}

static bool one_more_is_over(struct record_slot *slot) {
    return atomic_fetch_add_explicit(&slot->over, 1, memory_order_acq_rel) + 1 == PROBE_SEGMENT_RECORDS;
}

static bool prepare_or_lose(struct record_file *file, struct record_slot *slot, uint64_t segment) {
    pthread_mutex_lock(&file->lock);
    bool prepared = prepare(file, slot, segment);
    if (!prepared) {
        atomic_fetch_add_explicit(&file->header->lost, 1, memory_order_relaxed);
        if (slot->owner == segment + 1 && one_more_is_over(slot)) free_slot(file, slot);
    }
    pthread_mutex_unlock(&file->lock);
    return prepared;
}

struct probe_record *record_file_claim(struct record_file *file) {
    uint64_t place = atomic_fetch_add_explicit(&file->header->next, 1, memory_order_relaxed);
    uint64_t segment = place / PROBE_SEGMENT_RECORDS;
    struct record_slot *slot = &file->slot[segment % RECORD_FILE_SLOTS];
    if (atomic_load_explicit(&slot->mapped, memory_order_acquire) != segment + 1 &&
        !prepare_or_lose(file, slot, segment))
        return NULL;
    return file->window + place % WINDOW_RECORDS;
}

uint64_t record_file_id(const struct record_file *file, const struct probe_record *record) {
    size_t index = (size_t)(record - file->window);
    const struct record_slot *slot = &file->slot[index / PROBE_SEGMENT_RECORDS];
    uint64_t segment = atomic_load_explicit(&slot->mapped, memory_order_relaxed) - 1;
    return probe_id(file->header->number, segment * PROBE_SEGMENT_RECORDS + index % PROBE_SEGMENT_RECORDS);
}

void record_file_end(struct record_file *file, struct probe_record *record, uint64_t end_ns) {
    struct record_slot *slot = &file->slot[(size_t)(record - file->window) / PROBE_SEGMENT_RECORDS];
    atomic_store_explicit(&record->end_ns, end_ns, memory_order_release);
    if (!one_more_is_over(slot)) return;
    pthread_mutex_lock(&file->lock);
    free_slot(file, slot);
    pthread_mutex_unlock(&file->lock);
}
