#include "rec/smaps.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "rec/asking.h"
#include "rec/recorder.h"

enum { TEXT_BYTES = 16 << 10 };

static uintptr_t hexadecimal(const char **at) {
    uintptr_t value = 0;
    for (;; (*at)++) {
        char c = **at;
        if (c >= '0' && c <= '9') {
            value = value * 16 + (uintptr_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = value * 16 + (uintptr_t)(c - 'a' + 10);
        } else {
            return value;
        }
    }
}

// "7f00-8f00 rw-s …"
static struct smaps_area parse_head(const char *line) {
    struct smaps_area area = {.start = hexadecimal(&line)};
    line += *line == '-';
    area.end = hexadecimal(&line);
    if (strlen(line) < sizeof " rw-s" - 1) return area;
    area.is_writable = line[2] == 'w';
    area.is_shared = line[4] == 's';
    return area;
}

// "Rss:     12 kB" adds to `bytes` if that is the label.
static void parse_size(const char *line, const char *label, uint64_t *bytes) {
    size_t len = strlen(label);
    uint64_t kilobytes = 0;
    if (strncmp(line, label, len) != 0) return;
    for (line += len; *line == ' ';) line++;
    for (; *line >= '0' && *line <= '9'; line++) kilobytes = kilobytes * 10 + (uint64_t)(*line - '0');
    *bytes += kilobytes * 1024;
}

static void parse_line(struct smaps_area *area, const char *line) {
    parse_size(line, "Rss:", &area->resident);
    parse_size(line, "Shared_Dirty:", &area->dirty);
    parse_size(line, "Private_Dirty:", &area->dirty);
    parse_size(line, "Anonymous:", &area->copied);
}

struct walk {
    bool (*visit)(void *context, const struct smaps_area *area);
    void *context;
    struct smaps_area area; // whose lines are being read; without an end before the first
};

// Only names of fields begin with a capital letter.
static bool walk_line(struct walk *walk, const char *line) {
    if (line[0] >= 'A' && line[0] <= 'Z') {
        parse_line(&walk->area, line);
        return true;
    }
    bool goes_on = !walk->area.end || walk->visit(walk->context, &walk->area);
    walk->area = parse_head(line);
    return goes_on;
}

// Goes through the whole lines in text[0..*len); keeps the rest.
static bool walk_lines(struct walk *walk, char *text, size_t *len) {
    char *line = text, *end;
    while ((end = memchr(line, '\n', *len - (size_t)(line - text)))) {
        *end = 0;
        if (!walk_line(walk, line)) return false;
        line = end + 1;
    }
    *len -= (size_t)(line - text);
    memmove(text, line, *len);
    return *len < TEXT_BYTES; // a line without end
}

bool smaps_walk(bool (*visit)(void *context, const struct smaps_area *area), void *context, uint64_t deadline_ns) {
    static char text[TEXT_BYTES]; // static: the stack may be small
    struct walk walk = {.visit = visit, .context = context};
    size_t len = 0;
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, ask_path("/smaps").text, O_RDONLY | O_CLOEXEC);
    long got = fd;
    bool goes_on = true, in_time = true;
    while (goes_on && in_time && fd >= 0 && (got = cpu_syscall(SYS_read, fd, text + len, TEXT_BYTES - len)) > 0) {
        recorder.spill->own_chars += (uint32_t)got;
        len += (size_t)got;
        goes_on = walk_lines(&walk, text, &len);
        in_time = clock_ns(CLOCK_THREAD_CPUTIME_ID) < deadline_ns;
    }
    if (fd >= 0) cpu_syscall(SYS_close, fd);
    if (got == 0 && walk.area.end) visit(context, &walk.area);
    return got >= 0 && (in_time || !goes_on);
}
