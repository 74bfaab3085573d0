#include "base/human.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct human human_bytes(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct human words;
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(words.text, sizeof words.text, "%.*f %s", unit ? 1 : 0, value, units[unit]);
    return words;
}

struct human human_bandwidth(double bytes_per_second) {
    struct human words = human_bytes((uint64_t)bytes_per_second);
    strcat(words.text, "/s");
    return words;
}

// Three significant digits: times are not measured better than that.
struct human human_seconds(int64_t ns) {
    static const char *const units[] = {"s", "ms", "us"};
    struct human words;
    double value = (double)ns / 1e9, magnitude = fabs(value);
    unsigned unit = 0;
    for (; ns && magnitude < 0.9995 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value *= 1e3, magnitude *= 1e3;
    int digits = !ns || magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : 3;
    snprintf(words.text, sizeof words.text, "%.*f %s", digits, value, units[unit]);
    return words;
}

struct human human_time(double seconds) {
    return human_seconds((int64_t)(seconds * 1e9));
}

struct human human_percent(double fraction) {
    struct human words;
    double percent = fraction * 100;
    // 99.97 % must not become 100.
    if (percent > 0 && percent < 100) percent = (double)(int64_t)(percent * 10) / 10;
    snprintf(words.text, sizeof words.text, "%.1f %%", percent);
    return words;
}

static const char *plural_of(const char *noun) { return noun[strlen(noun) - 1] == 's' ? "es" : "s"; }

struct human human_count(uint64_t count, const char *noun) {
    struct human words;
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *out = words.text;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    snprintf(out, sizeof words.text - (size_t)(out - words.text), "%s%s%s", *noun ? " " : "", noun,
             count == 1 || !*noun ? "" : plural_of(noun));
    return words;
}

size_t human_plain(const char *text, size_t len) {
    size_t plain = 0;
    while (plain < len && (unsigned char)text[plain] >= 0x20 && text[plain] != 0x7f) plain++;
    return plain;
}

struct human human_escape(unsigned char byte) {
    struct human words;
    if (byte == '\n' || byte == '\t')
        snprintf(words.text, sizeof words.text, "\\%c", byte == '\n' ? 'n' : 't');
    else
        snprintf(words.text, sizeof words.text, "\\x%02x", byte);
    return words;
}

void human_print_name(FILE *out, const char *name) {
    for (size_t left = strlen(name); left;) {
        size_t plain = human_plain(name, left);
        fwrite(name, 1, plain, out);
        if (plain == left) return;
        fputs(human_escape((unsigned char)name[plain]).text, out);
        name += plain + 1;
        left -= plain + 1;
    }
}
