// What libc prints on standard error, which is a file here.
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

static off_t stderr_bytes(void) {
    struct stat data;
    return fstat(STDERR_FILENO, &data) == 0 ? data.st_size : -1;
}

// What `print` prints must be one event with the name of the case; the kernel tells how many bytes it was.
static void message(void (*print)(void *)) {
    void *symbol = case_symbol();
    if (!symbol) return;
    off_t before = stderr_bytes();
    case_start();
    errno = ENOENT;
    print(symbol);
    case_stop(0);
    int64_t bytes = stderr_bytes() - before;
    CHECK(bytes > 0);
    expect(case_name(), case_path("stderr"), before, bytes, bytes);
}

// The same in a child, where it ends the program.
static void last_message(void (*print)(void *)) {
    void *symbol = case_symbol();
    int status = -1;
    if (!symbol) return;
    off_t before = stderr_bytes();
    case_start();
    pid_t pid = fork();
    if (pid == 0) {
        errno = ENOENT;
        print(symbol);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    case_stop(WEXITSTATUS(status));
    CHECK(WEXITSTATUS(status) == 3);
    int64_t bytes = stderr_bytes() - before;
    expect(case_name(), case_path("stderr"), before, bytes, bytes);
}

static void print_perror(void *symbol) { ((void (*)(const char *))symbol)("text"); }

static void print_warn(void *symbol) { ((void (*)(const char *, ...))symbol)("%s %d", "text", 7); }

static void print_list(void *symbol, ...) {
    va_list list;
    va_start(list, symbol);
    ((void (*)(const char *, va_list))symbol)("%s %d %m", list);
    va_end(list);
}

static void print_vwarn(void *symbol) { print_list(symbol, "text", 7); }

static void print_err(void *symbol) { ((void (*)(int, const char *, ...))symbol)(3, "%s %d", "text", 7); }

static void print_status_and_list(void *symbol, ...) {
    va_list list;
    va_start(list, symbol);
    ((void (*)(int, const char *, va_list))symbol)(3, "%s %d", list);
    va_end(list);
}

static void print_verr(void *symbol) { print_status_and_list(symbol, "text", 7); }

static void print_error(void *symbol) { ((void (*)(int, int, const char *, ...))symbol)(0, EIO, "%s %d", "text", 7); }

static void print_last_error(void *symbol) {
    (void)symbol;
    error(3, 0, "%s %d", "text", 7);
}

static void print_error_at_line(void *symbol) {
    ((void (*)(int, int, const char *, unsigned, const char *, ...))symbol)(0, 0, "file.c", 12, "%s", "text");
}

static void perror_case(void) { message(print_perror); }

static void warn_case(void) { message(print_warn); }

static void vwarn_case(void) { message(print_vwarn); }

static void err_case(void) { last_message(print_err); }

static void verr_case(void) { last_message(print_verr); }

static void error_case(void) { message(print_error); }

static void error_at_line_case(void) { message(print_error_at_line); }

static void error_and_exit(void) {
    off_t before = stderr_bytes();
    int status = -1;
    case_start();
    pid_t pid = fork();
    if (pid == 0) print_last_error(NULL);
    waitpid(pid, &status, 0);
    case_stop(WEXITSTATUS(status));
    int64_t bytes = stderr_bytes() - before;
    expect("error", case_path("stderr"), before, bytes, bytes);
    expect_process(pid, "clean");
}

static void long_error(void) {
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    off_t before = stderr_bytes();
    case_start();
    error(0, ENOENT, "%s", text);
    case_stop(0);
    int64_t bytes = stderr_bytes() - before;
    CHECK(bytes > (int64_t)sizeof text);
    expect("error", case_path("stderr"), before, bytes, bytes);
}

static void empty_messages(void) {
    off_t before = stderr_bytes();
    case_start();
    errno = ENOENT;
    perror(NULL);
    off_t between = stderr_bytes();
    warn(NULL);
    case_stop(0);
    expect("fstat", case_path("stderr"), NONE, NONE, 0);
    expect("perror", case_path("stderr"), before, between - before, between - before);
    expect("warn", case_path("stderr"), between, stderr_bytes() - between, stderr_bytes() - between);
}

static void one_per_line(void) {
    error_one_per_line = 1;
    off_t before = stderr_bytes();
    case_start();
    error_at_line(0, 0, "file.c", 40, "first");
    error_at_line(0, 0, "file.c", 40, "second");
    case_stop((int64_t)error_message_count);
    int64_t bytes = stderr_bytes() - before;
    expect("error_at_line", case_path("stderr"), before, bytes, bytes);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"perror", perror_case},
        {"warn", warn_case},
        {"warnx", warn_case},
        {"vwarn", vwarn_case},
        {"vwarnx", vwarn_case},
        {"err", err_case},
        {"errx", err_case},
        {"verr", verr_case},
        {"verrx", verr_case},
        {"error", error_case},
        {"error_at_line", error_at_line_case},
        {"error that ends the program", error_and_exit},
        {"a long error", long_error},
        {"messages without a text", empty_messages},
        {"one message a line", one_per_line},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
