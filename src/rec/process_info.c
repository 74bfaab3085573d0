#include "rec/process_info.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "fmt/fields.h"
#include "rec/asking.h"
#include "rec/files.h"
#include "rec/recorder.h"
#include "rec/spill.h"

enum { WORDS_BYTES = 4096 }; // of the command line; the rest is cut

// A file of the process in /proc.
static long read_file(const char *name, char *out, size_t room) {
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, ask_path(name).text, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fd;
    long len = cpu_syscall(SYS_read, fd, out, room - 1);
    cpu_syscall(SYS_close, fd);
    out[len < 0 ? 0 : len] = 0;
    return len;
}

// The kernel counts what the recorder reads as the process's own.
static long read_own(const char *name, char *out, size_t room) {
    long len = read_file(name, out, room);
    if (len > 0) recorder.spill->own_chars += (uint32_t)len;
    return len;
}

static bool number_after(const char *text, const char *label, uint64_t *value) {
    const char *at = strstr(text, label);
    if (!at) return false;
    *value = 0;
    for (at += strlen(label); *at == ' ' || (*at >= '0' && *at <= '9'); at++) {
        if (*at != ' ') *value = *value * 10 + (uint64_t)(*at - '0');
    }
    return true;
}

// rchar and wchar: all bytes that the process, and children that it has waited for, moved by read and write calls.
// `len` bytes of reading this come on top.
static bool read_chars(uint64_t chars[2], long *len) {
    char text[512];
    if ((*len = read_own("/io", text, sizeof text)) <= 0) return false;
    return number_after(text, "rchar:", &chars[0]) && number_after(text, "wchar:", &chars[1]);
}

// How long the main thread has been runnable without running: the second number. The first is how long it ran: 0 in a
// process that has just begun, and always under a kernel that does not count.
static bool read_cpu_wait(uint64_t *wait_ns, bool *is_counted) {
    char text[128];
    if (read_own("/schedstat", text, sizeof text) <= 0) return false;
    const char *at = strchr(text, ' ');
    if (!at) return false;
    *is_counted = text[0] != '0';
    *wait_ns = 0;
    while (*++at >= '0' && *at <= '9') *wait_ns = *wait_ns * 10 + (uint64_t)(*at - '0');
    return true;
}

bool process_info_is_traced(void) {
    char text[1024];
    uint64_t tracer = 0;
    long len = read_file("/status", text, sizeof text);
    bool is_counted = current_thread && current_thread->ready; // not in a child of vfork, which has its own count
    if (len > 0 && is_counted) recorder.spill->own_chars += (uint32_t)len;
    return len > 0 && number_after(text, "TracerPid:\t", &tracer) && tracer;
}

// The number of processors that the process may use; 0 if there are too many to count.
static uint64_t count_cpus(void) {
    uint64_t mask[64], count = 0;
    long len = cpu_syscall(SYS_sched_getaffinity, recorder.pid, sizeof mask, mask);
    for (long i = 0; i < len / (long)sizeof *mask; i++) count += (uint64_t)__builtin_popcountll(mask[i]);
    return count;
}

PER_PROCESS static uint64_t
    cpu_wait_start_ns; // the kernel counts from the process's first moment, before the loader's work
PER_PROCESS static bool cpu_wait_start_known;

// What a forked child may have changed of what its parent's record says.
struct changeable {
    uint64_t folder, title; // hashes of the working directory and of what the arguments' memory has
    uint64_t cpus;
};

// Where the kernel finds the command line. Programs write titles there.
static uint64_t hash_title(void) {
    extern void *__libc_stack_end;
    static const char *title;
    static size_t len;
    const long *count = __libc_stack_end;
    if (!title && *count > 0) {
        char **words = (char **)(count + 1), *last = words[*count - 1];
        title = words[0];
        if (last >= title) len = (size_t)(last - title) + strlen(last);
    }
    return title ? files_hash(title, len) : 0;
}

static void describe(enum process_via via, enum process_birth birth) {
    // Static, because the stack may be small; only one thread runs this at a time.
    static char text[WORDS_BYTES];
    static uint8_t buffer[WORDS_BYTES * 2 + PATH_MAX * 2 + 512];
    static struct changeable written;
    static size_t written_bytes;
    bool is_forked = birth == BIRTH_FORK || birth == BIRTH_RECENT_FORK;
    long len = ask_cwd(text, sizeof text);
    struct changeable now = {.cpus = count_cpus()};
    if (len > 1) now.folder = files_hash(text, (size_t)len - 1);
    if (ASKING_COUNTS) now.title = hash_title();
    if (is_forked && written_bytes && !memcmp(&now, &written, sizeof now)) {
        spill_record(buffer, written_bytes);
        return;
    }
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    struct utsname name;
    fields_begin(&out, RECORD_PROCESS);
    if (cpu_syscall(SYS_uname, &name) == 0) fields_string(&out, PROCESS_HOST, name.nodename);
    if (len > 1) files_start_in(text, (size_t)len - 1);
    if (len > 1) fields_bytes(&out, PROCESS_CWD, text, (size_t)len - 1);
    len = cpu_syscall(SYS_readlinkat, AT_FDCWD, ask_path("/exe").text, text, sizeof text);
    if (len > 0) fields_bytes(&out, PROCESS_EXE, text, (size_t)len);
    len = read_own("/cmdline", text, sizeof text);
    for (long at = 0; at < len; at += (long)strlen(text + at) + 1) fields_string(&out, PROCESS_ARG, text + at);
    fields_number(&out, PROCESS_CPUS, now.cpus);
    if (via) fields_number(&out, PROCESS_VIA, via);
    if (birth == BIRTH_JOINED) fields_number(&out, PROCESS_JOINED, 1);
    fields_end(&out);
    written_bytes = out.overflow ? 0 : (size_t)(out.at - buffer);
    written = now;
    if (written_bytes) spill_record(buffer, written_bytes);
}

void process_info_start(enum process_via via, enum process_birth birth) {
    long len;
    bool is_counted;
    // What the recorder reads before this is part of what came before it; what it reads later, it counts itself.
    bool is_known = birth == BIRTH_RECENT_FORK || read_chars(recorder.spill->chars_start, &len);
    if (is_known) recorder.spill->chars_known |= 1;
    describe(via, birth);
    cpu_wait_start_ns = 0;
    cpu_wait_start_known = birth == BIRTH_RECENT_FORK || read_cpu_wait(&cpu_wait_start_ns, &is_counted);
}

void process_info_chars(uint64_t chars[2]) {
    long len;
    if (read_chars(chars, &len)) chars[0] += (uint64_t)len;
}

void process_info_end(void) {
    // Before the bytes are read, which include those of this read.
    uint64_t cpu_wait_ns;
    long len;
    bool is_counted = false;
    recorder.spill->cpu_wait_known = cpu_wait_start_known && read_cpu_wait(&cpu_wait_ns, &is_counted) && is_counted;
    if (recorder.spill->cpu_wait_known) recorder.spill->cpu_wait_ns = cpu_wait_ns - cpu_wait_start_ns;
    if (!read_chars(recorder.spill->chars_end, &len)) return;
    recorder.spill->chars_known |= 2;
    // The next image of the process starts with the bytes of this read in its count, too.
    if (ASKING_COUNTS) recorder.spill->chars_end[0] += (uint64_t)len;
}
