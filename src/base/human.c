#include "base/human.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/terminal.h"
#include "base/utf8.h"

// Halves are rounded up, as on the page: printf makes 1.2 of 1.25 and 1.8 of 1.75.
struct human human_bytes(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct human words;
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(words.text, sizeof words.text, "%.*f %s", unit ? 1 : 0, unit ? round(value * 10) / 10 : value,
             units[unit]);
    return words;
}

struct human human_bandwidth(double bytes_per_second) {
    struct human words = human_bytes((uint64_t)(bytes_per_second + 0.5));
    strcat(words.text, "/s");
    return words;
}

// Three significant digits: times are not measured better than that. Whole numbers, because a thousandth has no exact
// double: halves would be rounded up or down by chance.
struct human human_seconds(int64_t ns) {
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}};
    static const unsigned tens[] = {1, 10, 100, 1000};
    struct human words;
    uint64_t all = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    unsigned unit = 0, digits = 0;
    while (all && unit < 2 && all < units[unit].ns - units[unit].ns / 2000) unit++;        // below 0.9995
    while (all && digits < 3 && all * tens[digits] < units[unit].ns / 20 * 1999) digits++; // below 99.95
    uint64_t value = (all * tens[digits] + units[unit].ns / 2) / units[unit].ns;
    snprintf(words.text, sizeof words.text, "%s%.*f %s", ns < 0 ? "-" : "", (int)digits, (double)value / tens[digits],
             units[unit].name);
    return words;
}

struct human human_time(double seconds) {
    return human_seconds(llround(seconds * 1e9));
}

struct human human_long_time(double seconds) {
    double hours = seconds / 3600;
    if (hours < 2) return human_time(seconds);
    struct human words = human_count((uint64_t)(hours + 0.5), "");
    if (hours < 99.95) snprintf(words.text, sizeof words.text, "%.1f", hours);
    strcat(words.text, " h");
    return words;
}

struct human human_percent(double fraction) {
    struct human words;
    double tenths = round(fraction * 1000);
    if (fraction < 1 && tenths > 999) tenths = 999; // 99.97 % must not become 100
    snprintf(words.text, sizeof words.text, "%.1f %%", tenths / 10);
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

// A terminal obeys U+0080 to U+009F like escapes; the others let text show in another order than it has.
static bool is_control(const unsigned char *character, size_t len) {
    if (len == 2)
        return (character[0] == 0xc2 && character[1] < 0xa0) || (character[0] == 0xd8 && character[1] == 0x9c);
    if (len != 3 || character[0] != 0xe2) return false;
    unsigned char last = character[2];
    if (character[1] == 0x80) return last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae);
    return character[1] == 0x81 && last >= 0xa6 && last <= 0xa9;
}

size_t human_plain(const char *text, size_t len) {
    const unsigned char *byte = (const unsigned char *)text;
    size_t plain = 0;
    while (plain < len) {
        size_t step = byte[plain] < 0x80 ? 1 : utf8_sequence(byte + plain, byte + len);
        bool is_alone = !step; // not UTF-8
        if (is_alone ? byte[plain] < 0xa0 : byte[plain] < 0x20 || byte[plain] == 0x7f || is_control(byte + plain, step))
            break;
        plain += is_alone ? 1 : step;
    }
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

// Up to the next place for a line break: a number stays with its unit or noun, an option with its value.
static size_t word_len(const char *text) {
    size_t len = strcspn(text, " ");
    bool is_option = text[0] == '-' && len > 1, is_number = len && isdigit((unsigned char)text[len - 1]);
    return text[len] && (is_option || is_number) ? len + 1 + strcspn(text + len + 1, " ") : len;
}

void human_words(FILE *out, unsigned indent, unsigned most, const char *text) {
    unsigned column = indent;
    while (*text) {
        unsigned len = (unsigned)word_len(text);
        if (column > indent && column + 1 + len > most) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, len, out);
        column += len;
        text += len;
        while (*text == ' ') text++;
    }
}

void human_paragraph(FILE *out, const char *first, const char *text) {
    unsigned width = terminal_width(out);
    fputs(first, out);
    human_words(out, (unsigned)strlen(first), width && width < HUMAN_LINE ? width : HUMAN_LINE, text);
    fputc('\n', out);
}
