#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// A stream cannot say itself where it leads.
static struct {
    FILE *out;
    bool passes_color;
} led;

void terminal_lead(FILE *out, bool passes_color) {
    led.out = out;
    led.passes_color = passes_color;
}

// The terminal's descriptor, or -1.
static int terminal_fd(FILE *out) {
    int fd = out == led.out ? STDOUT_FILENO : fileno(out);
    return fd >= 0 && isatty(fd) ? fd : -1;
}

static struct winsize size_of(FILE *out) {
    struct winsize size = {0};
    int fd = terminal_fd(out);
    if (fd >= 0) ioctl(fd, TIOCGWINSZ, &size);
    return size;
}

bool terminal_is(FILE *out) { return terminal_fd(out) >= 0; }
unsigned terminal_width(FILE *out) { return size_of(out).ws_col; }
unsigned terminal_height(FILE *out) { return size_of(out).ws_row; }

bool terminal_has_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

bool terminal_has_keys(void) {
    const char *kind = getenv("TERM");
    return kind && *kind && strcmp(kind, "dumb");
}

bool terminal_has_color(FILE *out) {
    const char *no_color = getenv("NO_COLOR");
    return !(no_color && *no_color) && terminal_has_keys() && terminal_is(out) && (out != led.out || led.passes_color);
}

const char *terminal_style(FILE *out, enum terminal_style style) {
    static const char *const sequence[] = {[STYLE_NONE] = "\033[0m",
                                           [STYLE_HEAD] = "\033[1m",
                                           [STYLE_BAD] = "\033[1;31m",
                                           [STYLE_WARNING] = "\033[33m",
                                           [STYLE_FOOT] = "\033[7m"};
    return terminal_has_color(out) ? sequence[style] : "";
}
