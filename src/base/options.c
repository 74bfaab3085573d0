#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/err.h"
#include "base/human.h"

// Digits only: strtoull would also accept a sign and leading space.
static int number_parse(const char *text, uint64_t *value, const char **end) {
    RETURN_IF(*text < '0' || *text > '9', ERR_USAGE);
    char *stop;
    errno = 0;
    *value = strtoull(text, &stop, 10);
    RETURN_IF(errno, ERR_USAGE);
    *end = stop;
    return 0;
}

// A plain decimal number: no signs, exponents, hexadecimals, "inf" or "nan", which strtod would read too.
static int decimal_parse(const char *text, double *value, const char **end) {
    size_t plain = strspn(text, "0123456789.");
    char *stop;
    *value = strtod(text, &stop);
    RETURN_IF(plain == 0 || stop != text + plain || !isfinite(*value), ERR_USAGE);
    *end = stop;
    return 0;
}

// Bytes of a unit: k, KiB (1024), kB (1000), and so on; 0: no such unit.
static uint64_t size_unit(const char *unit) {
    static const char prefixes[] = "kmgtpe";
    if (!*unit || !strcasecmp(unit, "b")) return 1;
    const char *prefix = strchr(prefixes, tolower((unsigned char)*unit));
    bool decimal = !strcasecmp(unit + 1, "b");
    if (!prefix || (unit[1] && !decimal && strcasecmp(unit + 1, "ib"))) return 0;
    uint64_t bytes = 1;
    for (long i = 0; i <= prefix - prefixes; i++) bytes *= decimal ? 1000 : 1024;
    return bytes;
}

int options_size(const char *text, uint64_t *bytes) {
    const char *end;
    double fraction;
    FORWARD(decimal_parse(text, &fraction, &end));
    uint64_t unit = size_unit(end);
    RETURN_IF(!unit, ERR_USAGE);
    if (number_parse(text, bytes, &end) == 0 && *end != '.')
        return __builtin_mul_overflow(*bytes, unit, bytes) ? ERR_USAGE : 0;
    fraction = round(fraction * (double)unit);
    RETURN_IF(fraction >= 0x1p64, ERR_USAGE);
    *bytes = (uint64_t)fraction;
    return 0;
}

int options_duration(const char *text, double *seconds) {
    // Divisors are exact where factors below 1 are not.
    static const struct {
        const char *name;
        double factor, divisor;
    } units[] = {{"", 1, 1},     {"s", 1, 1},    {"ms", 1, 1e3}, {"us", 1, 1e6},
                 {"ns", 1, 1e9}, {"min", 60, 1}, {"h", 3600, 1}};
    const char *end;
    FORWARD(decimal_parse(text, seconds, &end));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name)) continue;
        *seconds = *seconds * units[i].factor / units[i].divisor;
        return 0;
    }
    return ERR_USAGE;
}

bool options_percent(const char *text, double *fraction) {
    char *end;
    *fraction = strtod(text, &end) / 100;
    end += strspn(end, " ");
    end += *end == '%';
    return end > text && !*end && *fraction > 0 && *fraction < 1;
}

bool options_are_ranks(const char *text) {
    for (;; text++) {
        size_t digits = strspn(text, "0123456789");
        if (!digits || digits > 9) return false;
        text += digits;
        if (*text == '-') {
            digits = strspn(++text, "0123456789");
            if (!digits || digits > 9) return false;
            text += digits;
        }
        if (*text != ',') return !*text;
    }
}

static bool is_choice(const char *words, const char *value, size_t len) {
    for (size_t word; *words; words += word + (words[word] == '|')) {
        word = strcspn(words, "|");
        if (word == len && !strncmp(words, value, len)) return true;
    }
    return false;
}

static bool are_choices(const char *words, const char *value) {
    size_t len = strcspn(value, ",");
    return is_choice(words, value, len) && (!value[len] || are_choices(words, value + len + 1));
}

// "must be none or kernel"
static const char *choice_wants(const struct option_row *row, char text[128]) {
    size_t used = (size_t)snprintf(text, 128, row->type == OPTION_CHOICE ? "must be " : "must be some of ");
    const char *words = row->argument, *before = "";
    for (size_t len; *words && used < 128; words += len + (words[len] == '|')) {
        len = strcspn(words, "|");
        used += (size_t)snprintf(text + used, 128 - used, "%s%.*s", before, (int)len, words);
        before = strchr(words + len + !!words[len], '|') ? ", " : row->type == OPTION_CHOICE ? " or " : " and ";
    }
    return text;
}

// The expected kind of value, for the message.
static const char *row_wants(const struct option_row *row, char text[128]) {
    switch (row->type) {
    case OPTION_CHOICE:
    case OPTION_CHOICES: return choice_wants(row, text);
    case OPTION_NUMBER: return "not a whole number, 0 or more";
    case OPTION_COUNT: return "not a whole number, 1 or more";
    case OPTION_SIZE: return "not a size (such as 4k, 16M, 1.5GiB, 100MB)";
    case OPTION_DURATION: return "not a duration (such as 10us, 5ms, 2s, 5min)";
    default: return "cannot be used";
    }
}

static int value_store(const struct option_row *row, const char *value) {
    const char *end;
    struct option_list *list = row->target;
    switch (row->type) {
    case OPTION_FLAG: *(bool *)row->target = true; return 0;
    case OPTION_CHOICE:
    case OPTION_CHOICES:
        if (row->type == OPTION_CHOICE ? !is_choice(row->argument, value, strlen(value))
                                       : !are_choices(row->argument, value))
            return ERR_USAGE;
        // fall through
    case OPTION_TEXT: *(const char **)row->target = value; return 0;
    case OPTION_NUMBER:
    case OPTION_COUNT:
        FORWARD(number_parse(value, row->target, &end));
        return *end || (row->type == OPTION_COUNT && !*(uint64_t *)row->target) ? ERR_USAGE : 0;
    case OPTION_SIZE: return options_size(value, row->target);
    case OPTION_DURATION: return options_duration(value, row->target);
    case OPTION_LIST:
    case OPTION_WORDS: return array_push(list->item, list->count, value);
    }
    return ERR_USAGE;
}

static const struct option_row *row_find(const struct option_row *rows, const char *name, size_t len, char letter) {
    for (const struct option_row *row = rows; row->name; row++) {
        if (letter ? row->letter == letter : strlen(row->name) == len && !strncmp(row->name, name, len)) return row;
    }
    return NULL;
}

struct parse {
    const struct option_row *rows;
    int argc;
    char **argv;
    int at; // index of the current word
    char *problem;
};

static int complain(struct parse *p, const char *option, int option_len, const char *why) {
    snprintf(p->problem, 256, "%.*s: %s", option_len < 100 ? option_len : 100, option, why);
    return ERR_USAGE;
}

// Stores the value, or the next word if `value` is NULL and the option needs one.
static int option_take(struct parse *p, const struct option_row *row, const char *value, const char *shown,
                       int shown_len) {
    if (row->type != OPTION_FLAG && !value) {
        if (p->at + 1 >= p->argc) return complain(p, shown, shown_len, "needs a value");
        value = p->argv[++p->at];
    }
    int code = value_store(row, value);
    while (code == 0 && row->type == OPTION_WORDS && p->at + 1 < p->argc && p->argv[p->at + 1][0] != '-')
        code = value_store(row, p->argv[++p->at]);
    if (code == 0) return 0;
    char wants[128];
    snprintf(p->problem, 256, "%.*s %.50s: %s", shown_len < 50 ? shown_len : 50, shown, value, row_wants(row, wants));
    return ERR_USAGE;
}

static int long_option(struct parse *p, const char *word) {
    const char *equals = strchr(word, '=');
    int len = (int)(equals ? (size_t)(equals - word) : strlen(word));
    const struct option_row *row = row_find(p->rows, word + 2, (size_t)len - 2, 0);
    if (!row) return complain(p, word, len, "unknown option");
    if (row->type == OPTION_FLAG && equals) return complain(p, word, len, "takes no value");
    return option_take(p, row, equals ? equals + 1 : NULL, word, len);
}

// One or more letters; the rest of the word is the value of the first that needs one.
static int short_options(struct parse *p, const char *word) {
    for (const char *letter = word + 1; *letter; letter++) {
        char shown[3] = {'-', *letter, 0};
        const struct option_row *row = row_find(p->rows, NULL, 0, *letter);
        if (!row) return complain(p, shown, 2, "unknown option");
        bool flag = row->type == OPTION_FLAG;
        FORWARD(option_take(p, row, !flag && letter[1] ? letter + 1 : NULL, shown, 2));
        if (!flag) break;
    }
    return 0;
}

int options_parse(const struct option_row *rows, bool stop_at_word, int argc, char **argv, char problem[256]) {
    struct parse p = {.rows = rows, .argc = argc, .argv = argv, .at = 1, .problem = problem};
    int kept = 1;
    for (; p.at < argc; p.at++) {
        char *word = argv[p.at];
        if (!strcmp(word, "--")) {
            p.at++;
            break;
        }
        if (word[0] == '-' && word[1]) {
            FORWARD(word[1] == '-' ? long_option(&p, word) : short_options(&p, word));
        } else if (stop_at_word) {
            break;
        } else {
            argv[kept++] = word;
        }
    }
    while (p.at < argc) argv[kept++] = argv[p.at++];
    argv[kept] = NULL;
    return kept;
}

// "-o, --output FILE", without the letter if there is none.
static int row_label(const struct option_row *row, char *out, size_t size) {
    char letter[5] = "    ";
    if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
    return snprintf(out, size, "  %s--%s%s%s%s", letter, row->name, row->argument ? " " : "",
                    row->argument ? row->argument : "", row->type == OPTION_CHOICES ? ",..." : "");
}

void options_print(const struct option_row *rows, FILE *out) {
    enum { WIDEST = 30 }; // the text of a longer option begins on the next line
    char label[256];
    int width = 0;
    for (const struct option_row *row = rows; row->name; row++) {
        int len = row_label(row, label, sizeof label);
        if (len > width && len <= WIDEST) width = len;
    }
    for (const struct option_row *row = rows; row->name; row++) {
        char first[WIDEST + 3];
        bool is_long = row_label(row, label, sizeof label) > width;
        if (is_long) fprintf(out, "%s\n", label);
        snprintf(first, sizeof first, "%-*.*s  ", width, WIDEST, is_long ? "" : label);
        human_paragraph(out, first, row->help);
    }
}
