// What libc itself prints on standard error: perror, warn, err, error. The recorder cannot see the writes, but the
// length of the messages is specified.
//
// Some libraries have functions called error or warn with other parameters, and programs find the recorder's functions
// before those. So each call first looks up the next function of its name. Only if that is libc's, the recorder handles
// the call.
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdlib.h>
#include <string.h>

#include "rec/shims.h"

static void *choose(void *const *next, const void *shim) {
    Dl_info found, libc;
    int error = errno;
    recorder_thread(); // sets `real`
    bool is_libc = dladdr(*next, &found) && dladdr((const void *)real.vfprintf, &libc);
    is_libc = is_libc && found.dli_fbase == libc.dli_fbase;
    errno = error;
    return is_libc ? (void *)shim : *next;
}

#define CHOICE(name)                                                                                                   \
    void *choose_##name(void) __attribute__((used, visibility("hidden")));                                             \
    void *choose_##name(void) { return choose((void *const *)&real.name, (const void *)shim_##name); }                 \
    __asm__(CPU_FUNCTION(name, CPU_SWITCH_TO("choose_" #name)))

struct message {
    struct probe p;
    bool watched;
    size_t bytes;
};

// The stream is not kept locked: error() also locks standard output, and another thread may lock both in the other
// order.
PROBE_INLINE void message_begin(struct message *m) {
    m->p.locked = NULL;
    m->bytes = 0;
    m->p.caller = (uintptr_t)__builtin_return_address(0);
    m->watched = enter_stdio(&m->p, stderr, STDIO_WAIT);
    if (m->watched) stdio_unlock(&m->p);
}

static void message_end(struct message *m, uint32_t call) {
    int error = errno;
    if (m->watched) {
        flockfile(stderr);
        m->p.locked = stderr;
        leave_stdio_write(&m->p, call, stderr, (ssize_t)m->bytes, (ssize_t)m->bytes);
    }
    errno = error;
}

static void add_text(struct message *m, const char *text) { m->bytes += strlen(text); }

static void add_error(struct message *m, int error) {
    char room[1024];
    add_text(m, strerror_r(error, room, sizeof room));
}

static void add_formatted(struct message *m, const char *format, va_list list, int error) {
    va_list copy;
    va_copy(copy, list);
    errno = error; // for %m
    int len = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    if (len > 0) m->bytes += (size_t)len;
}

// --- "text: No such file or directory"

void shim_perror(const char *text) __asm__("perror");
EXPORT void shim_perror(const char *text) {
    struct message m;
    int error = errno;
    message_begin(&m);
    if (text && *text) m.bytes += strlen(text) + strlen(": ");
    add_error(&m, error);
    m.bytes += strlen("\n");
    errno = error;
    real.perror(text);
    message_end(&m, CALL_perror);
}

// --- "program: text: No such file or directory"

enum ending { TEXT_ONLY, WITH_ERROR };

PROBE_INLINE void warn_as(uint32_t call, enum ending ending, const char *format, va_list list) {
    struct message m;
    int error = errno;
    message_begin(&m);
    m.bytes += strlen(program_invocation_short_name) + strlen(": \n");
    if (format) add_formatted(&m, format, list, error);
    if (ending == WITH_ERROR) {
        if (format) m.bytes += strlen(": ");
        add_error(&m, error);
    }
    errno = error;
    if (ending == WITH_ERROR)
        real.vwarn(format, list);
    else
        real.vwarnx(format, list);
    message_end(&m, call);
}

static void shim_vwarn(const char *format, va_list list) { warn_as(CALL_vwarn, WITH_ERROR, format, list); }

static void shim_vwarnx(const char *format, va_list list) { warn_as(CALL_vwarnx, TEXT_ONLY, format, list); }

static void shim_warn(const char *format, ...) {
    va_list list;
    va_start(list, format);
    warn_as(CALL_warn, WITH_ERROR, format, list);
    va_end(list);
}

static void shim_warnx(const char *format, ...) {
    va_list list;
    va_start(list, format);
    warn_as(CALL_warnx, TEXT_ONLY, format, list);
    va_end(list);
}

// err() is warn() and exit(): the event is written in between.
static void shim_verr(int status, const char *format, va_list list) {
    warn_as(CALL_verr, WITH_ERROR, format, list);
    exit(status);
}

static void shim_verrx(int status, const char *format, va_list list) {
    warn_as(CALL_verrx, TEXT_ONLY, format, list);
    exit(status);
}

static void shim_err(int status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    warn_as(CALL_err, WITH_ERROR, format, list);
    exit(status);
}

static void shim_errx(int status, const char *format, ...) {
    va_list list;
    va_start(list, format);
    warn_as(CALL_errx, TEXT_ONLY, format, list);
    exit(status);
}

// --- error(): libc has no variant with a va_list, so the text is formatted here and passed on as a whole

enum { TEXT_ROOM = 4096 };

// Formats the text into `room`, or into allocated memory if it is longer; cuts it without memory.
static char *format_text(char room[TEXT_ROOM], const char *format, va_list list) {
    va_list copy;
    va_copy(copy, list);
    int len = vsnprintf(room, TEXT_ROOM, format, copy);
    va_end(copy);
    if (len < 0) room[0] = 0;
    char *text = len < TEXT_ROOM ? room : malloc((size_t)len + 1);
    if (!text) return room;
    if (text != room) vsnprintf(text, (size_t)len + 1, format, list);
    return text;
}

// Adds everything of "program:file:7: text: No such file or directory" but the text. If the program has set
// error_print_progname, that prints its name.
static void add_surroundings(struct message *m, const char *file, unsigned line, int error) {
    if (!error_print_progname) add_text(m, program_invocation_name);
    if (!error_print_progname) m->bytes += strlen(":");
    m->bytes += file ? (size_t)snprintf(NULL, 0, "%s:%u: ", file, line) : strlen(" ");
    if (error) {
        add_error(m, error);
        m->bytes += strlen(": ");
    }
    m->bytes += strlen("\n");
}

PROBE_INLINE void error_as(uint32_t call, int error, const char *file, unsigned line, const char *format,
                           va_list list) {
    struct message m;
    char room[TEXT_ROOM];
    char *text = format_text(room, format, list);
    message_begin(&m);
    add_surroundings(&m, file, line, error);
    if (call == CALL_error && error_print_progname) m.bytes -= strlen(" ");
    add_text(&m, text);
    unsigned printed = error_message_count;
    if (call == CALL_error_at_line) {
        real.error_at_line(0, error, file, line, "%s", text);
        if (error_message_count == printed) m.watched = false; // error_one_per_line suppressed it
    } else {
        real.error(0, error, "%s", text);
    }
    message_end(&m, call);
    if (text != room) free(text);
}

static void shim_error(int status, int error, const char *format, ...) {
    va_list list;
    va_start(list, format);
    error_as(CALL_error, error, NULL, 0, format, list);
    va_end(list);
    if (status) exit(status);
}

static void shim_error_at_line(int status, int error, const char *file, unsigned line, const char *format, ...) {
    va_list list;
    va_start(list, format);
    error_as(CALL_error_at_line, error, file, line, format, list);
    va_end(list);
    if (status) exit(status);
}

CHOICE(warn);
CHOICE(warnx);
CHOICE(vwarn);
CHOICE(vwarnx);
CHOICE(err);
CHOICE(errx);
CHOICE(verr);
CHOICE(verrx);
CHOICE(error);
CHOICE(error_at_line);
