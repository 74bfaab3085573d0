// Keeps a store to the spill file from ending the program.
//
// spill.c allocates disk space before anything is stored. File systems that write each change to another place (btrfs)
// need space again when a page that the kernel has written is changed once more; a full disk or a quota then makes the
// store fail, with SIGBUS. So does a network file system that has lost its server. There the recorder handles this one
// signal: the page becomes memory of the process, and the file keeps what it has.
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rec/asking.h"
#include "rec/recorder.h"
#include "rec/spill.h"

enum { EXT = 0xef53, XFS = 0x58465342, TMPFS = 0x01021994 }; // changed pages stay where they are

PER_PROCESS static uintptr_t begin, end; // of the mapping
PER_PROCESS static bool is_marked;       // the job's directory says that something is lost
static _Atomic long copying;             // the thread that is at it
static uintptr_t replaced;               // the last page

static void *new_page(uintptr_t bytes) {
    long at = cpu_syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at > 0 || at < -4095 ? (void *)at : NULL;
}

static bool replace(uintptr_t page, uintptr_t bytes, bool keeps) {
    const uint64_t *old = (const uint64_t *)page;
    uint64_t *new = new_page(bytes);
    if (!new) return false;
    for (size_t i = 0; keeps && i < bytes / sizeof *new; i++) new[i] = old[i];
    return cpu_syscall(SYS_mremap, new, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, page) == (long)page;
}

// Several threads may fault on one page at once. If even reading a page faults, its contents are lost.
static bool replace_page(uintptr_t address) {
    uintptr_t bytes = (uintptr_t)getpagesize(), page = address & -bytes;
    long nobody = 0, self = cpu_syscall(SYS_gettid, 0);
    if (atomic_load(&copying) == self) return replace(page, bytes, false);
    while (!atomic_compare_exchange_strong(&copying, &nobody, self)) {
        cpu_syscall(SYS_sched_yield, 0);
        nobody = 0;
    }
    bool is_done = page == replaced || replace(page, bytes, true);
    replaced = page;
    atomic_store(&copying, 0);
    return is_done;
}

// Any other fault is the program's own: it happens again, with the default action.
static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)context;
    uintptr_t address = (uintptr_t)info->si_addr;
    bool is_ours = info->si_code > 0 && begin <= address && address < end;
    if (!is_ours || !replace_page(address)) {
        sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        return;
    }
    if (!is_marked) spill_mark_fault();
    is_marked = true;
}

void spill_expect_faults(int fd, const void *mapping, uint64_t bytes) {
    const int flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    struct statfs found;
    struct sigaction now;
    if (cpu_syscall(SYS_fstatfs, fd, &found) == 0 &&
        (found.f_type == EXT || found.f_type == XFS || found.f_type == TMPFS))
        return;
    begin = (uintptr_t)mapping;
    end = begin + bytes;
    replaced = 0;
    is_marked = false;
    bool is_free = sigaction(SIGBUS, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
    if (is_free) sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = on_fault, .sa_flags = flags}, NULL);
}
