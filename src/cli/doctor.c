// `ioseer doctor`: does recording work here, and if not, what to do about it.
#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/err.h"
#include "base/json_keys.h"
#include "base/settings.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "log/describe.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static struct {
    bool json;
    bool calls;
    const char *output;
} options;

static const struct option_row rows[] = {
    {"calls", 0, OPTION_FLAG, &options.calls, NULL, "print the list of captured calls instead"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print one JSON object"},
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {0},
};

void check_passes(struct check *check, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(check->detail, sizeof check->detail, format, list);
    va_end(list);
    check->ok = true;
    check->fix = NULL;
}

void check_fails(struct check *check, const char *fix, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(check->detail, sizeof check->detail, format, list);
    va_end(list);
    check->ok = false;
    check->fix = fix;
}

// The CPU's counter runs at one rate in all states and on all cores.
static bool counter_is_invariant(void)
{
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && edx & 1u << 8;
#else
    return false;
#endif
}

static void check_clock(struct check *check)
{
    if (counter_is_invariant()) {
        check_passes(check, "the CPU's counter, which runs at a constant rate");
    } else {
        check_passes(check, "clock_gettime: the CPU has no counter of constant rate; a little slower");
    }
}

static void check_spill(struct check *check)
{
    const char *given = getenv(SETTING_SPILL);
    const char *folder = given && *given ? given : ".";
    const char *fix = "set IOSEER_SPILL to a directory with room, or put the log there with -o";
    struct statvfs fs;
    if (access(folder, W_OK | X_OK) || statvfs(folder, &fs)) {
        check_fails(check, fix, "%s: %s", folder, strerror(errno));
        return;
    }
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    const char *shown = strcmp(folder, ".") ? folder : "the current directory";
    if (room < SETTING_DEFAULT_TRACE_CAP) {
        check_fails(check, fix, "%s has room for %s only", shown, human_bytes(room).text);
    } else {
        check_passes(check, "%s has room for %s", shown, human_bytes(room).text);
    }
}

// `record` reads the counts of a child that has ended but is not yet reaped.
static void check_proc_io(struct check *check)
{
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    siginfo_t ended;
    char path[64];
    char first[16] = "";
    int fd = -1;
    if (pid > 0 && waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) == 0) {
        snprintf(path, sizeof path, "/proc/%ld/io", (long)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t got = fd < 0 ? -1 : read(fd, first, sizeof first - 1);
    int error = errno;
    if (fd >= 0) close(fd);
    if (pid > 0) waitpid(pid, NULL, 0);
    if (got > 0 && !strncmp(first, "rchar:", 6)) {
        check_passes(check, "the kernel's byte counts (/proc/PID/io) can be read");
    } else if (error == EACCES && access("/proc/self/io", R_OK) == 0) {
        // Newer kernels show the counts of a dead child to root only; processes that end by themselves note their own.
        check_passes(check, "coverage can be told; of processes that are killed it will not be known");
    } else {
        check_fails(check, "mount /proc without hidepid, allow ptrace of own children; recording works without",
                    "/proc/PID/io of a child: %s; coverage will not be known", strerror(error));
    }
}

static void check_kernel(struct check *check)
{
    struct utsname name;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool populates = memory != MAP_FAILED && madvise(memory, page, MADV_POPULATE_WRITE) == 0;
    if (memory != MAP_FAILED) munmap(memory, page);
    if (uname(&name)) strcpy(name.release, "of unknown version");
    check_passes(check, "Linux %s %s", name.release,
                 populates ? "with MADV_POPULATE_WRITE"
                           : "without MADV_POPULATE_WRITE (5.14): recording costs a page fault now and then");
}

static void check_source_lines(struct check *check)
{
#ifdef HAVE_LIBDW
    check_passes(check, "built with libdw: --callsites gives source lines");
#else
    check_passes(check, "built without libdw: --callsites gives addresses only");
#endif
}

enum { MAX_CHECKS = 8 };

static size_t run_checks(struct check checks[MAX_CHECKS], const char *program)
{
    static const struct {
        const char *name;
        void (*run)(struct check *check);
    } table[] = {
        {"library", doctor_library},
        {"recording", doctor_recording},
        {"clock", check_clock},
        {"spill", check_spill},
        {"byte counts", check_proc_io},
        {"kernel", check_kernel},
        {"source lines", check_source_lines},
    };
    size_t count = sizeof table / sizeof table[0];
    for (size_t i = 0; i < count; i++) {
        checks[i].name = table[i].name;
        table[i].run(&checks[i]);
    }
    if (program) {
        checks[count].name = "program";
        doctor_program(&checks[count++], program);
    }
    return count;
}

static int checks_json(const struct check *checks, size_t count, FILE *out)
{
    struct json_out *json = json_out_begin(out, 2);
    RETURN_IF(!json, -ENOMEM);
    json_object(json);
    json_key(json, "checks");
    json_array(json);
    for (size_t i = 0; i < count; i++) {
        json_object(json);
        key_text(json, "name", checks[i].name);
        key_bool(json, "ok", checks[i].ok);
        key_text(json, "detail", checks[i].detail);
        key_text(json, "fix", checks[i].fix);
        json_close(json);
    }
    json_close(json);
    json_close(json);
    return json_out_end(json);
}

static int checks_text(const struct check *checks, size_t count, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%-4s  %-13s ", checks[i].ok ? "ok" : "FAIL", checks[i].name);
        human_print_name(out, checks[i].detail);
        if (checks[i].fix) fprintf(out, "\n      %-13s %s", "", checks[i].fix);
        fputc('\n', out);
    }
    return 0;
}

static int doctor_run(int argc, char **argv)
{
    struct check checks[MAX_CHECKS] = {0};
    struct output output;
    bool well = true;
    size_t count = 0;
    if (argc > 2) return cli_usage("doctor", argv[2], "one PROGRAM is enough");
    if (options.calls && argc > 1) return cli_usage("doctor", argv[1], "--calls takes no PROGRAM");
    if (!options.calls) count = run_checks(checks, argv[1]);
    for (size_t i = 0; i < count; i++) well = well && checks[i].ok;
    int status = output_open(&output, "doctor", options.output);
    if (status != STATUS_OK) return status;
    if (options.calls) {
        output.error = options.json ? doctor_calls_json(output.out) : doctor_calls_text(output.out);
    } else {
        output.error = options.json ? checks_json(checks, count, output.out) : checks_text(checks, count, output.out);
    }
    status = output_close(&output, false);
    return status == STATUS_OK && !well ? STATUS_FAILURE : status;
}

const struct verb verb_doctor = {
    .name = "doctor",
    .summary = "check whether recording works here",
    .usage = "[OPTION]... [PROGRAM]",
    .about = "Checks this machine, and PROGRAM where one is given, and says what to do about what does not work.\n"
             "--calls prints the calls that are captured instead.",
    .options = rows,
    .run = doctor_run,
};
