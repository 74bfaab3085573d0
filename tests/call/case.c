#include "case.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BUFFERS = 16 };

static char scratch[PATH_ROOM - 256];
static const struct test_case *current;
static int error_at_stop;
static int expected_count;

const char *case_scratch(void) { return scratch; }

char *case_path(const char *name) {
    static char buffer[PATH_BUFFERS][PATH_ROOM];
    static unsigned next;
    char *path = buffer[next++ % PATH_BUFFERS];
    snprintf(path, PATH_ROOM, "%s/%s", scratch, name);
    return path;
}

// The report is opened for each line: cases close descriptors, fork, and run other programs. run.py ignores its events.
static void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void report(const char *format, ...) {
    int error = errno;
    char path[PATH_ROOM];
    va_list list;
    snprintf(path, sizeof path, "%s/report", scratch);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) abort();
    va_start(list, format);
    vdprintf(fd, format, list);
    va_end(list);
    close(fd);
    errno = error;
}

static void report_fact(const char *key, const char *value) {
    report("{\"case\": \"%s\", \"%s\": \"%s\"}\n", current->name, key, value);
}

// Leaves an event in the log by which run.py finds the case.
static void mark(const char *what) {
    char path[PATH_ROOM * 2];
    snprintf(path, sizeof path, "%s/%s/%s", scratch, what, current->name);
    access(path, F_OK);
}

void case_start(void) {
    mark("start");
    errno = 0;
}

void case_stop(int64_t returned) {
    error_at_stop = errno;
    mark("stop");
    report("{\"case\": \"%s\", \"returned\": %lld, \"errno\": %d}\n", current->name, (long long)returned,
           error_at_stop);
    errno = error_at_stop;
}

int case_error(void) { return error_at_stop; }

void case_skip(const char *reason) { report_fact("skip", reason); }

void case_check(int holds, const char *what) {
    if (!holds) report_fact("failed", what);
}

void *case_symbol_named(const char *name) {
    static void *libc;
    Dl_info info;
    if (!libc) libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *found = dlsym(RTLD_DEFAULT, name);
    // The recorder exports every name, also those that only another libc has. dlsym does not find those of a library
    // that the program does not have.
    bool is_library =
        !strncmp(name, "io_", 3) || !strncmp(name, "__io_", 5) || !strncmp(name, "H5", 2) || !strncmp(name, "nc", 2);
    if (!found || (!is_library && !dlsym(libc, name))) {
        case_skip(is_library ? "not in this library" : "not in this libc");
        return NULL;
    }
    if (dladdr(found, &info)) {
        report("{\"case\": \"%s\", \"symbol\": \"%s\", \"from\": \"%s\"}\n", current->name, name, info.dli_fname);
    }
    return found;
}

const char *case_name(void) { return current->name; }

void *case_symbol(void) { return case_symbol_named(current->name); }

// --- what the recorder must have seen

static void number_or_null(char *text, size_t room, int64_t value) {
    if (value == NONE) {
        snprintf(text, room, "null");
    } else {
        snprintf(text, room, value == ANY ? "\"any\"" : "%lld", (long long)value);
    }
}

static int report_expected(const char *op, const char *file, int64_t offset, int64_t size, int64_t result, int error,
                           int parent) {
    char words[3][32], quoted[PATH_ROOM + 2];
    number_or_null(words[0], sizeof words[0], offset);
    number_or_null(words[1], sizeof words[1], size);
    number_or_null(words[2], sizeof words[2], result);
    snprintf(quoted, sizeof quoted, file ? "\"%s\"" : "null", file);
    report("{\"case\": \"%s\", \"expected\": %d, \"op\": \"%s\", \"file\": %s, \"offset\": %s, \"size\": %s, "
           "\"result\": %s, \"errno\": %d, \"parent\": %d}\n",
           current->name, expected_count, op, quoted, words[0], words[1], words[2], error, parent);
    return expected_count++;
}

int expect(const char *op, const char *file, int64_t offset, int64_t size, int64_t result) {
    return report_expected(op, file, offset, size, result, result < 0 && result != NONE ? error_at_stop : 0, -1);
}

int expect_error(const char *op, const char *file, int64_t offset, int64_t size, int64_t result, int error) {
    return report_expected(op, file, offset, size, result, error, -1);
}

int expect_child(int parent, const char *op, const char *file, int64_t offset, int64_t size, int64_t result) {
    return report_expected(op, file, offset, size, result, result < 0 ? error_at_stop : 0, parent);
}

void expect_file2(int event, const char *file) {
    report("{\"case\": \"%s\", \"of\": %d, \"file2\": \"%s\"}\n", current->name, event, file);
}

void expect_lasting(int event, int64_t at_least_ns) {
    report("{\"case\": \"%s\", \"of\": %d, \"lasting\": %lld}\n", current->name, event, (long long)at_least_ns);
}

void expect_sum(const char *op, const char *file, int64_t bytes) {
    report("{\"case\": \"%s\", \"sum\": %lld, \"op\": \"%s\", \"file\": \"%s\"}\n", current->name, (long long)bytes, op,
           file);
}

void expect_process(int64_t pid, const char *how) {
    report("{\"case\": \"%s\", \"pid\": %lld, \"exit\": \"%s\"}\n", current->name, (long long)pid, how);
}

int case_main(int argc, char **argv, const struct test_case *cases) {
    if (argc < 2 || strlen(argv[1]) >= sizeof scratch) {
        fprintf(stderr, "usage: %s SCRATCH\n", argv[0]);
        return 2;
    }
    strcpy(scratch, argv[1]);
    unsetenv("PWD"); // the shell would check it at an unpredictable time
    if (chdir(scratch) < 0) return 1;
    for (current = cases; current->name; current++) {
        expected_count = 0;
        report_fact("begin", current->name);
        current->run();
    }
    report("{\"end\": true}\n");
    return 0;
}
