// What the machine offers the recorder.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/human.h"
#include "base/process.h"
#include "base/settings.h"
#include "doctor/checks.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void doctor_clock(struct doctor_check *check) {
    doctor_pass(check, cpu_counter_is_steady()
                           ? "the CPU's counter, which runs at a constant rate"
                           : "clock_gettime, which is slower: the CPU has no counter with a constant rate");
}

void doctor_spill(struct doctor_check *check) {
    const char *given = getenv(SETTING_SPILL);
    const char *folder = given && *given ? given : ".";
    const char *fix = "set IOSEER_SPILL to a directory with room, or put the log there with -o";
    struct statvfs fs;
    if (access(folder, W_OK | X_OK) || statvfs(folder, &fs)) {
        doctor_fail(check, fix, "%s: %s", folder, strerror(errno));
        return;
    }
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    const char *shown = strcmp(folder, ".") ? folder : "the current directory";
    if (room < SETTING_DEFAULT_TRACE_CAP) {
        doctor_fail(check, fix, "%s has room for %s only", shown, human_bytes(room).text);
    } else {
        doctor_pass(check, "%s has room for %s", shown, human_bytes(room).text);
    }
}

// As `record` reads them.
void doctor_byte_counts(struct doctor_check *check) {
    siginfo_t ended;
    uint64_t chars[2];
    int status;
    bool known = false;
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    if (pid > 0 && waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) == 0) process_reap(pid, &status, chars, &known);
    if (known) {
        doctor_pass(check, "the kernel's byte counts (/proc/PID/io) can be read");
    } else {
        doctor_fail(check, "mount /proc without hidepid; recording works without this",
                    "/proc/PID/io of a child cannot be read; coverage will not be known");
    }
}

void doctor_kernel(struct doctor_check *check) {
    struct utsname name;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool populates = memory != MAP_FAILED && madvise(memory, page, MADV_POPULATE_WRITE) == 0;
    if (memory != MAP_FAILED) munmap(memory, page);
    if (uname(&name)) strcpy(name.release, "of unknown version");
    doctor_pass(check, "Linux %s %s", name.release,
                populates ? "with MADV_POPULATE_WRITE"
                          : "without MADV_POPULATE_WRITE (5.14): recording causes some more page faults");
}

void doctor_source_lines(struct doctor_check *check) {
#ifdef HAVE_LIBDW
    doctor_pass(check, "built with libdw: --callsites gives source lines");
#else
    doctor_pass(check, "built without libdw: --callsites gives addresses only");
#endif
}
