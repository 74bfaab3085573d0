#include "base/json_in.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"

enum { MAX_NUMBER_BYTES = 400 }; // of one that is not a 64-bit integer

struct json_chunk {
    struct json_chunk *next;
    size_t used;
    size_t size;
    _Alignas(struct json_value) char data[];
};

struct parser {
    struct json_in *in;
    struct json_in_error *error;
    const char *at;
    const char *end;
    const char *line_start;
    unsigned line;
    unsigned depth;
    // Items of the arrays and objects that are still open; each moves to its place when it closes.
    struct json_value *stack;
    size_t stack_len;
    size_t stack_capacity;
};

static int parse_value(struct parser *p, struct json_value *out);

static int fail(struct parser *p, int code, const char *message)
{
    p->error->line = p->line;
    p->error->column = (unsigned)(p->at - p->line_start) + 1;
    snprintf(p->error->message, sizeof p->error->message, "%s", message);
    return code;
}

static int no_memory(struct parser *p)
{
    return fail(p, -ENOMEM, err_text(-ENOMEM));
}

static int unexpected(struct parser *p, const char *message)
{
    return p->at == p->end ? fail(p, ERR_TRUNCATED, "the text ends too early") : fail(p, ERR_FORMAT, message);
}

// Memory that is freed with the tree. Chunks grow with the tree, so that there are few.
static void *take(struct json_in *in, size_t len, size_t alignment)
{
    enum { SMALLEST = 1 << 14, LARGEST = 1 << 26 };
    struct json_chunk *chunk = in->chunk;
    size_t start = chunk ? (chunk->used + alignment - 1) & ~(alignment - 1) : 0;
    if (!chunk || start > chunk->size || chunk->size - start < len) {
        size_t size = !chunk ? SMALLEST : chunk->size < LARGEST ? 2 * chunk->size : LARGEST;
        if (size < len) size = len;
        struct json_chunk *larger = malloc(sizeof *larger + size);
        if (!larger) return NULL;
        larger->next = chunk;
        larger->size = size;
        in->chunk = chunk = larger;
        start = 0;
    }
    chunk->used = start + len;
    return chunk->data + start;
}

static void skip_space(struct parser *p)
{
    for (; p->at < p->end; p->at++) {
        if (*p->at == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        } else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r') {
            return;
        }
    }
}

// Consumes the next byte after white space if it is this one.
static bool accept(struct parser *p, char byte)
{
    skip_space(p);
    if (p->at == p->end || *p->at != byte) return false;
    p->at++;
    return true;
}

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (is_digit(at, end)) at++;
    return at;
}

// False where 64 bits do not hold it, and for -0, which is a double only.
static bool put_integer(struct json_value *out, bool negative, const char *digits, const char *end)
{
    uint64_t magnitude = 0;
    for (const char *at = digits; at < end; at++) {
        if (__builtin_mul_overflow(magnitude, (uint64_t)10, &magnitude)) return false;
        if (__builtin_add_overflow(magnitude, (uint64_t)(*at - '0'), &magnitude)) return false;
    }
    if (negative) {
        if (magnitude == 0 || magnitude > (uint64_t)INT64_MAX + 1) return false;
        out->integer = (int64_t)-magnitude;
    } else {
        out->natural = magnitude;
    }
    out->type = negative || magnitude <= INT64_MAX ? JSON_INTEGER : JSON_UNSIGNED;
    return true;
}

static int put_double(struct parser *p, struct json_value *out, const char *text, size_t len)
{
    char copy[MAX_NUMBER_BYTES + 1];
    if (len > MAX_NUMBER_BYTES) return fail(p, ERR_LIMIT, "the number is too long");
    memcpy(copy, text, len);
    copy[len] = 0;
    out->type = JSON_DOUBLE;
    out->real = strtod(copy, NULL);
    return isfinite(out->real) ? 0 : fail(p, ERR_FORMAT, "the number is too large");
}

static int parse_number(struct parser *p, struct json_value *out)
{
    const char *begin = p->at;
    bool negative = *begin == '-';
    const char *digits = begin + negative;
    if (!negative && !is_digit(digits, p->end)) return fail(p, ERR_FORMAT, "expected a value");
    p->at = skip_digits(digits, p->end);
    if (p->at == digits) return unexpected(p, "expected a digit");
    if (*digits == '0' && p->at - digits > 1) return fail(p, ERR_FORMAT, "the number begins with a zero");
    const char *whole_end = p->at;
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        if (!is_digit(p->at, p->end)) return unexpected(p, "expected a digit");
        p->at = skip_digits(p->at, p->end);
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-')) p->at++;
        if (!is_digit(p->at, p->end)) return unexpected(p, "expected a digit");
        p->at = skip_digits(p->at, p->end);
    }
    if (p->at == whole_end && put_integer(out, negative, digits, whole_end)) return 0;
    return put_double(p, out, begin, (size_t)(p->at - begin));
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

// The number of a \uXXXX at `at`, or -1.
static int unicode_escape(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    int code = 0;
    for (unsigned i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        code = code << 4 | digit;
    }
    return code;
}

static char *put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; // bytes after the first
    static const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    *out++ = (char)(lead[more] | code >> 6 * more);
    while (more-- > 0) *out++ = (char)(0x80 | (code >> 6 * more & 0x3f));
    return out;
}

// \uXXXX, or two of them that are one character. `end` is the closing quote.
static int parse_unicode(struct parser *p, const char *end, char **out)
{
    int code = unicode_escape(p->at, end);
    if (code < 0) return fail(p, ERR_FORMAT, "expected four hexadecimal digits after \\u");
    if (code == 0) return fail(p, ERR_FORMAT, "a string has a zero byte");
    size_t len = 6;
    if (code >= 0xdc80 && code <= 0xdcff) {
        *(*out)++ = (char)(code & 0xff);
    } else if (code >= 0xd800 && code <= 0xdfff) {
        int low = unicode_escape(p->at + 6, end);
        if (code >= 0xdc00 || low < 0xdc00 || low > 0xdfff) return fail(p, ERR_FORMAT, "half of a surrogate pair");
        *out = put_utf8(*out, 0x10000u + (((unsigned)code & 0x3ff) << 10) + ((unsigned)low & 0x3ff));
        len = 12;
    } else {
        *out = put_utf8(*out, (unsigned)code);
    }
    p->at += len;
    return 0;
}

// `end` is the closing quote, and a byte follows the backslash before it.
static int parse_escape(struct parser *p, const char *end, char **out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    if (p->at[1] == 'u') return parse_unicode(p, end, out);
    const char *name = p->at[1] ? strchr(names, p->at[1]) : NULL;
    if (!name) return fail(p, ERR_FORMAT, "unknown escape in a string");
    *(*out)++ = bytes[name - names];
    p->at += 2;
    return 0;
}

static const char *closing_quote(const char *at, const char *end)
{
    while (at < end && *at != '"') at += *at == '\\' && end - at > 1 ? 2 : 1;
    return at;
}

// From the opening quote. What comes out is never longer than what goes in.
static int parse_string(struct parser *p, struct json_value *out)
{
    const char *quote = closing_quote(p->at + 1, p->end);
    if (quote == p->end) return fail(p, ERR_TRUNCATED, "the string has no end");
    p->at++;
    char *text = take(p->in, (size_t)(quote - p->at) + 1, 1);
    if (!text) return no_memory(p);
    char *end = text;
    while (p->at < quote) {
        if (*p->at == '\\') {
            FORWARD(parse_escape(p, quote, &end));
        } else if ((unsigned char)*p->at < 0x20) {
            return fail(p, ERR_FORMAT, "control character in a string");
        } else {
            *end++ = *p->at++;
        }
    }
    *end = 0;
    p->at++;
    out->type = JSON_STRING;
    out->count = (uint64_t)(end - text);
    out->text = text;
    return 0;
}

static int push(struct parser *p, const struct json_value *value)
{
    if (p->stack_len == p->stack_capacity) {
        size_t capacity = p->stack_capacity ? 2 * p->stack_capacity : 256;
        struct json_value *larger = reallocarray(p->stack, capacity, sizeof *larger);
        if (!larger) return no_memory(p);
        p->stack = larger;
        p->stack_capacity = capacity;
    }
    p->stack[p->stack_len++] = *value;
    return 0;
}

// The items since `first` become those of `out`.
static int close_container(struct parser *p, struct json_value *out, size_t first)
{
    size_t count = p->stack_len - first;
    struct json_value *item = take(p->in, count * sizeof *item, _Alignof(struct json_value));
    if (!item) return no_memory(p);
    if (count) memcpy(item, p->stack + first, count * sizeof *item);
    p->stack_len = first;
    out->count = count;
    out->item = item;
    p->depth--;
    return 0;
}

static int open_container(struct parser *p)
{
    if (++p->depth > JSON_IN_MAX_DEPTH) return fail(p, ERR_LIMIT, "too many arrays and objects inside each other");
    p->at++;
    return 0;
}

static int parse_array(struct parser *p, struct json_value *out)
{
    size_t first = p->stack_len;
    out->type = JSON_ARRAY;
    FORWARD(open_container(p));
    if (accept(p, ']')) return close_container(p, out, first);
    do {
        struct json_value item = {0};
        FORWARD(parse_value(p, &item));
        FORWARD(push(p, &item));
    } while (accept(p, ','));
    if (!accept(p, ']')) return unexpected(p, "expected ',' or ']'");
    return close_container(p, out, first);
}

static int compare_keys(const void *a, const void *b)
{
    const struct json_value *left = a;
    const struct json_value *right = b;
    return strcmp(left->text, right->text);
}

// Sorts a copy, as an object of a hostile file may have millions of members.
static int check_keys(struct parser *p, const struct json_value *object)
{
    size_t count = object->count;
    struct json_value few[16];
    struct json_value *key = count <= 16 ? few : reallocarray(NULL, count, sizeof *key);
    if (!key) return no_memory(p);
    for (size_t i = 0; i < count; i++) key[i] = object->item[2 * i];
    qsort(key, count, sizeof *key, compare_keys);
    unsigned twice_at = 0; // line of the second one
    for (size_t i = 1; i < count && !twice_at; i++) {
        if (compare_keys(&key[i - 1], &key[i]) != 0) continue;
        twice_at = key[i].line > key[i - 1].line ? key[i].line : key[i - 1].line;
    }
    if (key != few) free(key);
    if (!twice_at) return 0;
    p->error->line = twice_at;
    p->error->column = 0;
    snprintf(p->error->message, sizeof p->error->message, "the object has this key twice");
    return ERR_FORMAT;
}

static int parse_member(struct parser *p)
{
    struct json_value key = {0};
    struct json_value value = {0};
    skip_space(p);
    if (p->at == p->end || *p->at != '"') return unexpected(p, "expected a key in quotes");
    key.line = p->line;
    FORWARD(parse_string(p, &key));
    if (!accept(p, ':')) return unexpected(p, "expected ':' after the key");
    FORWARD(parse_value(p, &value));
    FORWARD(push(p, &key));
    return push(p, &value);
}

static int parse_object(struct parser *p, struct json_value *out)
{
    size_t first = p->stack_len;
    out->type = JSON_OBJECT;
    FORWARD(open_container(p));
    if (accept(p, '}')) return close_container(p, out, first);
    do {
        FORWARD(parse_member(p));
    } while (accept(p, ','));
    if (!accept(p, '}')) return unexpected(p, "expected ',' or '}'");
    FORWARD(close_container(p, out, first));
    out->count /= 2;
    return check_keys(p, out);
}

static int parse_word(struct parser *p, struct json_value *out)
{
    static const struct {
        const char *text;
        enum json_type type;
        bool boolean;
    } words[] = {{"null", JSON_NULL, false}, {"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i].text);
        if ((size_t)(p->end - p->at) < len || memcmp(p->at, words[i].text, len) != 0) continue;
        out->type = words[i].type;
        out->boolean = words[i].boolean;
        p->at += len;
        return 0;
    }
    return fail(p, ERR_FORMAT, "expected a value");
}

static int parse_value(struct parser *p, struct json_value *out)
{
    skip_space(p);
    if (p->at == p->end) return unexpected(p, "");
    out->line = p->line;
    switch (*p->at) {
    case '{': return parse_object(p, out);
    case '[': return parse_array(p, out);
    case '"': return parse_string(p, out);
    case 'n':
    case 't':
    case 'f': return parse_word(p, out);
    default: return parse_number(p, out);
    }
}

static int parse_text(struct parser *p)
{
    if (p->end - p->at > JSON_IN_MAX_BYTES) return fail(p, ERR_LIMIT, "the text is too long");
    struct json_value *root = take(p->in, sizeof *root, _Alignof(struct json_value));
    if (!root) return no_memory(p);
    *root = (struct json_value){0};
    FORWARD(parse_value(p, root));
    skip_space(p);
    if (p->at < p->end) return fail(p, ERR_FORMAT, "there is more after the end");
    p->in->root = root;
    return 0;
}

int json_in_parse(struct json_in *in, const char *text, size_t len, struct json_in_error *error)
{
    struct parser parser = {.in = in, .error = error, .at = text, .end = text + len, .line_start = text, .line = 1};
    *in = (struct json_in){0};
    *error = (struct json_in_error){0};
    int code = parse_text(&parser);
    free(parser.stack);
    if (code < 0) json_in_free(in);
    return code;
}

int json_in_read(struct json_in *in, const char *path, struct json_in_error *error)
{
    struct bytes text = {0};
    *in = (struct json_in){0};
    *error = (struct json_in_error){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = fd < 0 ? -errno : io_read_all(fd, &text, JSON_IN_MAX_BYTES);
    if (fd >= 0) close(fd);
    if (code < 0) {
        snprintf(error->message, sizeof error->message, "%s", err_text(code));
    } else {
        code = json_in_parse(in, (const char *)text.data, text.len, error);
    }
    bytes_free(&text);
    return code;
}

void json_in_free(struct json_in *in)
{
    while (in->chunk) {
        struct json_chunk *next = in->chunk->next;
        free(in->chunk);
        in->chunk = next;
    }
    in->root = NULL;
}
