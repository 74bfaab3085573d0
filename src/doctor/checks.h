// The checks. Each ends with doctor_pass or doctor_fail; the last call counts.
#pragma once

#include "doctor/doctor.h"

void doctor_pass(struct doctor_check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doctor_fail(struct doctor_check *check, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// program.c: whether a program (searched in PATH) can be recorded.
void doctor_program(struct doctor_check *check, const char *program);
// program_mpi.c: adds to a passed check which MPI the program uses.
void doctor_program_mpi(struct doctor_check *check, const char *program);

// recording.c, with small recordings in a temporary directory
void doctor_library(struct doctor_check *check);   // libioseer.so is found and can be loaded
void doctor_recording(struct doctor_check *check); // a recording works from end to end
void doctor_mpich(struct doctor_check *check);     // plugin and runner are found, and MPI-IO is recorded
void doctor_openmpi(struct doctor_check *check);   // the same

// other_verbs.c, with trials
void doctor_replay(struct doctor_check *check);
void doctor_emulate(struct doctor_check *check);
void doctor_stack(struct doctor_check *check);
void doctor_page(struct doctor_check *check);
void doctor_libraries(struct doctor_check *check); // those that are loaded late

// machine.c: what the machine offers
void doctor_clock(struct doctor_check *check);
void doctor_spill(struct doctor_check *check);
void doctor_byte_counts(struct doctor_check *check);
void doctor_kernel(struct doctor_check *check);
void doctor_source_lines(struct doctor_check *check);
