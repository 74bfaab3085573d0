#include "model/file_set.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"

enum { MARK = '0' }; // stands for a number in a skeleton, where no other run of digits is shorter than 19

struct digits {
    uint64_t value;
    uint8_t width;
    bool padded; // has zeros in front
};

struct entry {
    const char *name;
    const char *skeleton;  // the name with a MARK for each number
    struct digits *number; // from left to right
    size_t number_count;
    size_t at; // in the caller's list
};

struct scratch {
    struct entry *entry;
    uint64_t *column; // one number of all members of a set
};

static size_t digits_at(const char *text) {
    size_t len = 0;
    while (text[len] >= '0' && text[len] <= '9') len++;
    return len;
}

// Length of the number at `text`, or 0.
static size_t number_at(const char *text) {
    size_t len = digits_at(text);
    return len <= FILE_SET_MAX_DIGITS ? len : 0;
}

// Length of the text before the next number, where no number begins.
static size_t text_at(const char *text) {
    size_t len = digits_at(text);
    return len ? len : 1;
}

static struct digits digits_read(const char *text, size_t len) {
    struct digits digits = {.width = (uint8_t)len, .padded = len > 1 && *text == '0'};
    for (size_t i = 0; i < len; i++) digits.value = digits.value * 10 + (uint64_t)(text[i] - '0');
    return digits;
}

static size_t count_numbers(const char *name) {
    size_t count = 0;
    while (*name) {
        size_t len = number_at(name);
        count += len > 0;
        name += len ? len : text_at(name);
    }
    return count;
}

// Fills in what `entry` points to. Returns the end of the skeleton, after its zero.
static char *entry_read(struct entry *entry, char *skeleton, struct digits *number) {
    const char *at = entry->name;
    entry->skeleton = skeleton;
    entry->number = number;
    while (*at) {
        size_t len = number_at(at);
        if (len) {
            *number++ = digits_read(at, len);
            *skeleton++ = MARK;
        } else {
            len = text_at(at);
            memcpy(skeleton, at, len);
            skeleton += len;
        }
        at += len;
    }
    *skeleton++ = 0;
    entry->number_count = (size_t)(number - entry->number);
    return skeleton;
}

static int scratch_make(struct scratch *scratch, struct arena *arena, const char *const *names, size_t count) {
    size_t bytes = 0, numbers = 0;
    char *skeleton;
    struct digits *number;
    for (size_t i = 0; i < count; i++) {
        bytes += strlen(names[i]) + 1;
        numbers += count_numbers(names[i]);
    }
    FORWARD(arena_array(arena, scratch->entry, count));
    FORWARD(arena_array(arena, scratch->column, count));
    FORWARD(arena_array(arena, skeleton, bytes));
    FORWARD(arena_array(arena, number, numbers));
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = &scratch->entry[i];
        entry->name = names[i];
        entry->at = i;
        skeleton = entry_read(entry, skeleton, number);
        number += entry->number_count;
    }
    return 0;
}

static int by_skeleton(const void *a, const void *b) {
    const struct entry *left = a;
    const struct entry *right = b;
    return strcmp(left->skeleton, right->skeleton);
}

static int compare_widths(const struct entry *left, const struct entry *right) {
    for (size_t i = 0; i < left->number_count; i++) {
        if (left->number[i].width != right->number[i].width) return left->number[i].width - right->number[i].width;
    }
    return 0;
}

static int compare_values(const struct entry *left, const struct entry *right) {
    for (size_t i = 0; i < left->number_count; i++) {
        if (left->number[i].value != right->number[i].value) {
            return left->number[i].value < right->number[i].value ? -1 : 1;
        }
    }
    return 0;
}

// For names with the same skeleton.
static int by_widths_and_values(const void *a, const void *b) {
    int order = compare_widths(a, b);
    return order ? order : compare_values(a, b);
}

// Sets the width of each number to the one that it is padded to, 1 for none, among names with the same skeleton. Zeros
// in front show the width; 123 alone may be either. It joins the padded ones, unless another number without zeros
// cannot: 1, 123 and 007 are {1, 123} and {007}.
static void settle_widths(struct entry *entry, size_t count, size_t column) {
    uint32_t padded = 0; // bit w: there are numbers padded to w digits
    unsigned shortest = FILE_SET_MAX_DIGITS;
    for (size_t i = 0; i < count; i++) {
        const struct digits *digits = &entry[i].number[column];
        if (digits->padded) {
            padded |= 1u << digits->width;
        } else if (digits->width < shortest) {
            shortest = digits->width;
        }
    }
    bool plain = !(padded & ((2u << shortest) - 1));
    for (size_t i = 0; i < count; i++) {
        struct digits *digits = &entry[i].number[column];
        if (digits->padded) continue;
        uint32_t fitting = padded & ((2u << digits->width) - 1);
        digits->width = plain ? 1 : (uint8_t)(31 - __builtin_clz(fitting)); // never 0: the shortest fits
    }
}

// Returns after how many members the number changes, if that is the same each time; else 1.
static size_t count_every(const uint64_t *column, size_t count) {
    size_t every = 1;
    while (every < count && column[every] == column[0]) every++;
    for (size_t i = 0; i < count; i++) {
        if (column[i] != column[i / every * every]) return 1;
    }
    return every;
}

// Returns after how many numbers they repeat; all of them if they do not.
static size_t period_of(const uint64_t *column, size_t count) {
    size_t period = 1;
    while (period < count && column[period] != column[0]) period++;
    for (size_t i = period; i < count; i++) {
        if (column[i] != column[i - period]) return count;
    }
    return period;
}

static bool is_regular(const uint64_t *column, size_t count) {
    for (size_t i = 2; i < count; i++) {
        if (column[i] - column[i - 1] != column[1] - column[0]) return false;
    }
    return true;
}

// Describes numbers that are not all the same, in the order of the members. Overwrites `column`.
static int describe(struct file_set_number *number, uint64_t *column, size_t count) {
    number->every = count_every(column, count);
    size_t places = (count - 1) / number->every + 1;
    for (size_t i = 0; i < places; i++) column[i] = column[i * number->every];
    places = period_of(column, places);
    number->count = places;
    number->first = column[0];
    if (is_regular(column, places)) {
        number->step = (int64_t)(column[1] - column[0]);
        return 0;
    }
    number->value = calloc(places, sizeof *number->value);
    RETURN_IF(!number->value, -ENOMEM);
    memcpy(number->value, column, places * sizeof *number->value);
    return 0;
}

static bool varies(const struct entry *entry, size_t count, size_t column) {
    for (size_t i = 1; i < count; i++) {
        if (entry[i].number[column].value != entry[0].number[column].value) return true;
    }
    return false;
}

static int describe_column(struct file_set *set, const struct entry *entry, size_t column, uint64_t *scratch_column) {
    for (size_t i = 0; i < set->member_count; i++) scratch_column[i] = entry[i].number[column].value;
    struct file_set_number *number = &set->number[set->number_count++];
    number->width = entry->number[column].width;
    return describe(number, scratch_column, set->member_count);
}

static char *put_escaped(char *out, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (strchr("*?[\\", text[i])) *out++ = '\\';
        *out++ = text[i];
    }
    return out;
}

// Pattern and numbers of the set whose members are entry[0 … member_count), in order.
static int describe_set(struct file_set *set, const struct entry *entry, uint64_t *scratch_column) {
    const char *at = entry->name;
    set->pattern = malloc(2 * strlen(at) + 1);
    set->number = calloc(entry->number_count + 1, sizeof *set->number);
    RETURN_IF(!set->pattern || !set->number, -ENOMEM);
    char *out = set->pattern;
    for (size_t column = 0; *at;) {
        size_t number_len = number_at(at);
        size_t len = number_len ? number_len : text_at(at);
        if (number_len && varies(entry, set->member_count, column)) {
            FORWARD(describe_column(set, entry, column, scratch_column));
            *out++ = '*';
        } else {
            out = put_escaped(out, at, len);
        }
        column += number_len > 0;
        at += len;
    }
    *out = 0;
    if (set->number_count == 0) strcpy(set->pattern, entry->name); // not longer than with its escapes
    return 0;
}

static struct file_set *new_set(struct file_sets *sets) {
    struct file_set none = {0};
    return array_push(sets->set, sets->set_count, none) ? NULL : &sets->set[sets->set_count - 1];
}

// Moves the members to the front of `entry`; equal names are one member.
static int add_set(struct file_sets *sets, struct entry *entry, size_t count, uint64_t *scratch_column) {
    struct file_set *set = new_set(sets);
    RETURN_IF(!set, -ENOMEM);
    size_t members = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_values(&entry[members - 1], &entry[i]) != 0) entry[members++] = entry[i];
        struct file_place *place = &sets->place[entry[i].at];
        place->set = (uint32_t)(sets->set_count - 1);
        place->member = (uint32_t)(members - 1);
    }
    set->member_count = members;
    return describe_set(set, entry, scratch_column);
}

// The sets of the names with one skeleton.
static int add_skeleton(struct file_sets *sets, struct entry *entry, size_t count, uint64_t *scratch_column) {
    for (size_t column = 0; column < entry->number_count; column++) settle_widths(entry, count, column);
    qsort(entry, count, sizeof *entry, by_widths_and_values);
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = begin + 1;
        while (end < count && compare_widths(&entry[begin], &entry[end]) == 0) end++;
        FORWARD(add_set(sets, entry + begin, end - begin, scratch_column));
    }
    return 0;
}

static int add_all(struct file_sets *sets, const char *const *names, size_t count) {
    SCOPED(arena_free) struct arena arena = {0};
    struct scratch scratch;
    FORWARD(scratch_make(&scratch, &arena, names, count));
    sets->place = calloc(count + 1, sizeof *sets->place);
    RETURN_IF(!sets->place, -ENOMEM);
    struct entry *entry = scratch.entry;
    qsort(entry, count, sizeof *entry, by_skeleton);
    for (size_t begin = 0, end; begin < count; begin = end) {
        end = begin + 1;
        while (end < count && by_skeleton(&entry[begin], &entry[end]) == 0) end++;
        FORWARD(add_skeleton(sets, entry + begin, end - begin, scratch.column));
    }
    return 0;
}

int file_sets_make(struct file_sets *sets, const char *const *names, size_t count) {
    *sets = (struct file_sets){0};
    RETURN_IF(count > UINT32_MAX, ERR_LIMIT);
    int code = add_all(sets, names, count);
    if (code < 0) file_sets_free(sets);
    return code;
}

void file_sets_free(struct file_sets *sets) {
    for (size_t i = 0; i < sets->set_count; i++) {
        struct file_set *set = &sets->set[i];
        for (size_t k = 0; k < set->number_count; k++) free(set->number[k].value);
        free(set->number);
        free(set->pattern);
    }
    free(sets->set);
    free(sets->place);
    *sets = (struct file_sets){0};
}

int file_set_check(const struct file_set *set) {
    RETURN_IF(!set->pattern || set->member_count == 0, ERR_FORMAT);
    if (set->number_count == 0) return set->member_count == 1 ? 0 : ERR_FORMAT;
    size_t stars = 0;
    for (const char *at = set->pattern; *at; at++) {
        stars += *at == '*';
        if (*at == '\\') at++;
        RETURN_IF(!*at, ERR_FORMAT);
    }
    RETURN_IF(stars != set->number_count, ERR_FORMAT);
    for (size_t i = 0; i < set->number_count; i++) {
        const struct file_set_number *number = &set->number[i];
        RETURN_IF(number->every == 0 || number->count == 0, ERR_FORMAT);
        RETURN_IF(number->width == 0 || number->width > FILE_SET_MAX_DIGITS, ERR_FORMAT);
    }
    return 0;
}

static uint64_t number_of(const struct file_set_number *number, size_t index) {
    uint64_t place = index / number->every % number->count;
    return number->value ? number->value[place] : number->first + (uint64_t)number->step * place;
}

struct name_out {
    char *name;
    size_t size;
    size_t len;
};

static void put(struct name_out *out, char byte) {
    if (out->len < out->size) out->name[out->len] = byte;
    out->len++;
}

static void put_number(struct name_out *out, uint64_t value, unsigned width) {
    char digits[20]; // of 2^64 - 1
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count < width) digits[count++] = '0';
    while (count > 0) put(out, digits[--count]);
}

int file_set_member_name(const struct file_set *set, size_t index, char *name, size_t size) {
    struct name_out out = {.name = name, .size = size};
    const struct file_set_number *number = set->number;
    for (const char *at = set->pattern; *at; at++) {
        if (set->number_count && *at == '*') {
            put_number(&out, number_of(number, index), number->width);
            number++;
        } else {
            if (set->number_count && *at == '\\') at++;
            put(&out, *at);
        }
    }
    RETURN_IF(out.len >= size || out.len > INT_MAX, ERR_LIMIT);
    name[out.len] = 0;
    return (int)out.len;
}
