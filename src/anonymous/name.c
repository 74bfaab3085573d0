#include "anonymous/name.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "anonymous/words.h"
#include "base/err.h"
#include "log/log.h"

enum {
    HASH_LETTERS = 12,         // 56 bits: a million different names have equal hashes with a chance of 1 : 150,000
    NAME_MAX_BYTES = 16 << 10, // longer ones are one part: they are no paths
    EXTENSION_MAX = 7,
    SHORT_NUMBER = 4,
    COUNTER_MAX = 12,
};

struct text {
    const char *at;
    size_t len;
};

// Whether the list has the text, between two separators.
static bool is_in(const char *list, struct text text) {
    char separator = *list;
    if (!text.len || memchr(text.at, separator, text.len) || memchr(text.at, 0, text.len)) return false;
    for (size_t len; *++list; list += len) {
        len = (size_t)(strchr(list, separator) - list);
        if (len == text.len && !memcmp(list, text.at, len)) return true;
    }
    return false;
}

int anonymous_text(const struct anonymous_key *key, const void *text, size_t len, struct bytes *out) {
    char letters[HASH_LETTERS];
    uint64_t hash = anonymous_hash(key, DOMAIN_NAME, text, len);
    // Letters only: digits would look like numbers of files.
    for (size_t i = 0; i < sizeof letters; i++, hash /= 26) letters[i] = (char)('a' + hash % 26);
    return bytes_append(out, letters, sizeof letters);
}

// --- names

// The part's end that stays, with its dot; empty if there is none. A dot in front does not begin one.
static struct text extension_of(struct text part, bool is_deep) {
    struct text none = {part.at + part.len, 0}, found = none;
    const char *dot = part.len ? memrchr(part.at, '.', part.len) : NULL;
    if (!dot || dot == part.at) return none;
    found = (struct text){dot + 1, (size_t)(part.at + part.len - dot - 1)};
    if (!found.len || found.len > EXTENSION_MAX || !isalpha((unsigned char)*found.at)) return none;
    for (size_t i = 0; i < found.len; i++) {
        if (!isalnum((unsigned char)found.at[i])) return none;
    }
    return is_deep || is_in(known_extensions, found) ? (struct text){dot, found.len + 1} : none;
}

static size_t digits_at(struct text text) {
    size_t len = 0;
    while (len < text.len && isdigit((unsigned char)text.at[len])) len++;
    return len;
}

static bool is_open_number(struct text number) {
    return number.len <= SHORT_NUMBER || (*number.at == '0' && number.len <= COUNTER_MAX);
}

// The name with a zero byte for each number that stays, which goes to `numbers`: so the hash is the same whatever the
// number is.
static int split_numbers(struct text stem, struct bytes *skeleton, struct bytes *numbers) {
    while (stem.len) {
        size_t len = digits_at(stem), step = len ? len : 1;
        if (len && is_open_number((struct text){stem.at, len})) {
            FORWARD(bytes_append(skeleton, "", 1));
            FORWARD(bytes_append(numbers, "-", 1));
            FORWARD(bytes_append(numbers, stem.at, len));
        } else {
            FORWARD(bytes_append(skeleton, stem.at, step));
        }
        stem = (struct text){stem.at + step, stem.len - step};
    }
    return 0;
}

static int put_deep(const struct anonymous_key *key, struct text stem, struct text extension, struct bytes *out) {
    struct bytes skeleton = {0}, numbers = {0};
    int code = split_numbers(stem, &skeleton, &numbers);
    if (code == 0) code = bytes_append(&skeleton, extension.at, extension.len);
    if (code == 0) code = anonymous_text(key, skeleton.data, skeleton.len, out);
    if (code == 0) code = bytes_append(out, numbers.data, numbers.len);
    bytes_free(&skeleton);
    bytes_free(&numbers);
    return code;
}

static bool is_own_name(struct text part) { return part.len == 0 || is_in(known_names, part); }

// Launchers of MPI are known by their names.
static int put_launcher(struct text part, struct bytes *out) {
    char name[32];
    if (part.len >= sizeof name) return 0;
    memcpy(name, part.at, part.len);
    name[part.len] = 0;
    size_t known = log_launcher_prefix(name);
    if (!known) return 0;
    FORWARD(bytes_append(out, name, known));
    if (known < part.len) FORWARD(bytes_append(out, "-", 1));
    return known == part.len ? 2 : 1;
}

static int put_part(const struct anonymous_key *key, struct text part, bool is_deep, struct bytes *out) {
    if (is_own_name(part)) return bytes_append(out, part.at, part.len);
    int launcher = put_launcher(part, out);
    RETURN_IF(launcher < 0 || launcher == 2, launcher < 0 ? launcher : 0);
    struct text extension = extension_of(part, is_deep), stem = {part.at, part.len - extension.len};
    FORWARD(is_deep ? put_deep(key, stem, extension, out) : anonymous_text(key, part.at, part.len, out));
    return bytes_append(out, extension.at, extension.len);
}

int anonymous_name(const struct anonymous_key *key, unsigned depth, const void *text, size_t len, struct bytes *out) {
    struct text rest = {text, len};
    if (len > NAME_MAX_BYTES) return anonymous_text(key, text, len, out);
    if (len && *rest.at != '/') depth++; // of a path, nothing is above the first `/`
    for (;;) {
        size_t part = 0;
        while (part < rest.len && rest.at[part] != '/' && rest.at[part] != '@') part++;
        FORWARD(put_part(key, (struct text){rest.at, part}, depth > NAME_PUBLIC_DEPTH, out));
        if (part == rest.len) return 0;
        FORWARD(bytes_append(out, rest.at + part, 1));
        rest = (struct text){rest.at + part + 1, rest.len - part - 1};
        depth++;
    }
}

// --- words

// "4", "4.1.4": not an address, which has more dots.
static bool is_number(struct text word) {
    enum { MAX_DIGITS = 20, MAX_DOTS = 2 };
    size_t dots = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (!isdigit((unsigned char)word.at[i]) && word.at[i] != '.') return false;
        dots += word.at[i] == '.';
    }
    return word.len <= MAX_DIGITS && dots <= MAX_DOTS;
}

int anonymous_words(const struct anonymous_key *key, const void *text, size_t len, struct bytes *out) {
    struct text rest = {text, len};
    bool is_value = false;
    if (len > NAME_MAX_BYTES) return anonymous_text(key, text, len, out);
    while (rest.len) {
        struct text word = {rest.at, 0};
        // A dot ends a word but not a number: "fuse.sshfs" is two words, "4.1" is one.
        while (word.len < rest.len && !strchr(" ,=:-", rest.at[word.len]) &&
               !(rest.at[word.len] == '.' && word.len && !isdigit((unsigned char)rest.at[0])))
            word.len++;
        // The value of an option that nobody knows, such as a user's number, does not stay.
        bool stays = (is_number(word) && !is_value) || is_in(known_words, word);
        FORWARD(stays ? bytes_append(out, word.at, word.len) : anonymous_text(key, word.at, word.len, out));
        if (word.len == rest.len) return 0;
        FORWARD(bytes_append(out, rest.at + word.len, 1));
        is_value = rest.at[word.len] == '=' && !stays;
        rest = (struct text){rest.at + word.len + 1, rest.len - word.len - 1};
    }
    return 0;
}

int anonymous_command(const struct anonymous_key *key, const char *command, struct bytes *text) {
    for (bool is_first = true; *command; is_first = false) {
        size_t len = strcspn(command, " "), spaces = strspn(command + len, " ");
        if (len) {
            FORWARD(is_first || *command == '/' ? anonymous_name(key, 0, command, len, text)
                                                : anonymous_text(key, command, len, text));
        }
        FORWARD(bytes_append(text, command + len, spaces));
        command += len + spaces;
    }
    return 0;
}
