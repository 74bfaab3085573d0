// Test programs that call what the recorder watches. Each case makes its calls between case_start() and case_stop() and
// then says what the recorder must have seen in between. run.py runs the program bare and recorded, and compares: the
// values returned with those of the bare run, the events with what the case expects.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct test_case {
    const char *name; // that of the symbol it tests, "syscall(NAME)", or a few words
    void (*run)(void);
};

enum { PATH_ROOM = 512 };
#define NONE INT64_MIN // no offset, no size: null in the dump
#define ANY INT64_MAX  // not compared

// Runs every case; `cases` ends with a row without a name. argv: PROGRAM SCRATCH, a directory for files and the report.
int case_main(int argc, char **argv, const struct test_case *cases);

// The function that the case's name (or `name`) leads to, in the first library that has it. NULL if libc does not have
// it: the case is then reported as skipped and must return.
void *case_symbol(void);
void *case_symbol_named(const char *name);
const char *case_name(void);
void case_skip(const char *reason);

const char *case_scratch(void);
// A path in the scratch directory, in one of a few buffers used in turn.
char *case_path(const char *name);

// What happens in between is compared; before case_start a case prepares its files, after case_stop it may clean up.
void case_start(void);
void case_stop(int64_t returned); // notes errno too; the same in a bare run
int case_error(void);             // errno at case_stop

// An event that must be there. A negative result goes with the errno of case_stop. Returns a number for
// expect_child and expect_lasting.
int expect(const char *op, const char *file, int64_t offset, int64_t size, int64_t result);
int expect_error(const char *op, const char *file, int64_t offset, int64_t size, int64_t result, int error);
int expect_child(int parent, const char *op, const char *file, int64_t offset, int64_t size, int64_t result);
void expect_file2(int event, const char *file);                   // rename, link
void expect_lasting(int event, int64_t at_least_ns);              // asynchronous: until completion was seen
void expect_sum(const char *op, const char *file, int64_t bytes); // any number of events that do not overlap
void expect_process(int64_t pid, const char *how);                // its end, as `ioseer info` says
// Something that the program can check itself; the case fails if it does not hold.
void case_check(int holds, const char *what);
#define CHECK(condition) case_check(!!(condition), #condition)
