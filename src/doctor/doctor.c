#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>

#include "doctor/checks.h"

static void set_result(struct doctor_check *check, const char *fix, const char *format, va_list list) {
    vsnprintf(check->detail, sizeof check->detail, format, list);
    check->ok = !fix;
    check->fix = fix;
}

void doctor_pass(struct doctor_check *check, const char *format, ...) {
    va_list list;
    va_start(list, format);
    set_result(check, NULL, format, list);
    va_end(list);
}

void doctor_fail(struct doctor_check *check, const char *fix, const char *format, ...) {
    va_list list;
    va_start(list, format);
    set_result(check, fix, format, list);
    va_end(list);
}

size_t doctor_run(struct doctor_check checks[DOCTOR_MAX_CHECKS], const char *program) {
    static const struct {
        const char *name;
        void (*run)(struct doctor_check *check);
    } table[] = {
        {"library", doctor_library},     {"recording", doctor_recording},
        {"MPICH", doctor_mpich},         {"Open MPI", doctor_openmpi},
        {"replay", doctor_replay},       {"emulate", doctor_emulate},
        {"stack", doctor_stack},         {"page", doctor_page},
        {"libraries", doctor_libraries}, {"clock", doctor_clock},
        {"spill", doctor_spill},         {"byte counts", doctor_byte_counts},
        {"kernel", doctor_kernel},       {"source lines", doctor_source_lines},
    };
    size_t count = sizeof table / sizeof table[0];
    for (size_t i = 0; i < count; i++) {
        checks[i].name = table[i].name;
        table[i].run(&checks[i]);
    }
    if (!program) return count;
    checks[count].name = "program";
    doctor_program(&checks[count], program);
    return count + 1;
}
