#include "base/json_in.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"

enum { MAX_NUMBER_BYTES = 400 }; // of a number that is not a 64-bit integer

struct parser {
    struct json_in *in;
    struct json_in_error *error;
    const char *at;
    const char *end;
    const char *line_start;
    unsigned line;
    unsigned depth;
    // Items of open arrays and objects; they move to the arena when their container closes.
    struct json_value *stack;
    size_t stack_len;
};

static int parse_value(struct parser *p, struct json_value *out);

static int fail(struct parser *p, int code, const char *message) {
    p->error->line = p->line;
    p->error->column = (unsigned)(p->at - p->line_start) + 1;
    snprintf(p->error->message, sizeof p->error->message, "%s", message);
    return code;
}

static int no_memory(struct parser *p) { return fail(p, -ENOMEM, err_text(-ENOMEM)); }

static int unexpected(struct parser *p, const char *message) {
    return p->at == p->end ? fail(p, ERR_TRUNCATED, "the text ends too early") : fail(p, ERR_FORMAT, message);
}

static void skip_space(struct parser *p) {
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
static bool accept(struct parser *p, char byte) {
    skip_space(p);
    if (p->at == p->end || *p->at != byte) return false;
    p->at++;
    return true;
}

static bool is_digit(const char *at, const char *end) { return at < end && *at >= '0' && *at <= '9'; }

static int parse_digits(struct parser *p) {
    if (!is_digit(p->at, p->end)) return unexpected(p, "expected a digit");
    while (is_digit(p->at, p->end)) p->at++;
    return 0;
}

// False if 64 bits cannot hold it, and for -0, which only a double can be.
static bool put_integer(struct json_value *out, bool negative, const char *digits, const char *end) {
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

static int put_double(struct parser *p, struct json_value *out, const char *text, size_t len) {
    char copy[MAX_NUMBER_BYTES + 1];
    if (len > MAX_NUMBER_BYTES) return fail(p, ERR_LIMIT, "the number is too long");
    memcpy(copy, text, len);
    copy[len] = 0;
    out->type = JSON_DOUBLE;
    out->real = strtod(copy, NULL);
    return isfinite(out->real) ? 0 : fail(p, ERR_FORMAT, "the number is too large");
}

static int parse_number(struct parser *p, struct json_value *out) {
    const char *begin = p->at;
    bool negative = *begin == '-';
    const char *digits = begin + negative;
    if (!negative && !is_digit(digits, p->end)) return fail(p, ERR_FORMAT, "expected a value");
    p->at = digits;
    FORWARD(parse_digits(p));
    if (*digits == '0' && p->at - digits > 1) return fail(p, ERR_FORMAT, "the number begins with a zero");
    const char *whole_end = p->at;
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        FORWARD(parse_digits(p));
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-')) p->at++;
        FORWARD(parse_digits(p));
    }
    if (p->at == whole_end && put_integer(out, negative, digits, whole_end)) return 0;
    return put_double(p, out, begin, (size_t)(p->at - begin));
}

static int hex_digit(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

// The number of a \uXXXX at `at`, or -1.
static int unicode_escape(const char *at, const char *end) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    int code = 0;
    for (unsigned i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        code = code << 4 | digit;
    }
    return code;
}

static char *put_utf8(char *out, unsigned code) {
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

// \uXXXX, or two of them for one character. `end` is the closing quote.
static int parse_unicode(struct parser *p, const char *end, char **out) {
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
static int parse_escape(struct parser *p, const char *end, char **out) {
    static const char names[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    if (p->at[1] == 'u') return parse_unicode(p, end, out);
    const char *name = p->at[1] ? strchr(names, p->at[1]) : NULL;
    if (!name) return fail(p, ERR_FORMAT, "unknown escape in a string");
    *(*out)++ = bytes[name - names];
    p->at += 2;
    return 0;
}

static const char *closing_quote(const char *at, const char *end) {
    while (at < end && *at != '"') at += *at == '\\' && end - at > 1 ? 2 : 1;
    return at;
}

// Starts at the opening quote. The output is never longer than the input.
static int parse_string(struct parser *p, struct json_value *out) {
    const char *quote = closing_quote(p->at + 1, p->end);
    if (quote == p->end) return fail(p, ERR_TRUNCATED, "the string has no end");
    p->at++;
    char *text = arena_alloc(&p->in->arena, (size_t)(quote - p->at) + 1);
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

static int push(struct parser *p, const struct json_value *value) {
    return array_push(p->stack, p->stack_len, *value) ? no_memory(p) : 0;
}

// The items since `first` become those of `out`.
static int close_container(struct parser *p, struct json_value *out, size_t first) {
    size_t count = p->stack_len - first;
    struct json_value *item = arena_copy(&p->in->arena, count ? p->stack + first : NULL, count * sizeof *item);
    if (!item) return no_memory(p);
    p->stack_len = first;
    out->count = count;
    out->item = item;
    p->depth--;
    return 0;
}

static int open_container(struct parser *p) {
    if (++p->depth > JSON_IN_MAX_DEPTH) return fail(p, ERR_LIMIT, "too many arrays and objects inside each other");
    p->at++;
    return 0;
}

static int parse_array(struct parser *p, struct json_value *out) {
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

static int compare_keys(const void *a, const void *b) {
    const struct json_value *left = a;
    const struct json_value *right = b;
    return strcmp(left->text, right->text);
}

// Sorts a copy, because an object in a hostile file may have millions of members.
static int check_keys(struct parser *p, const struct json_value *object) {
    size_t count = object->count;
    struct json_value few[16];
    struct json_value *key = count <= 16 ? few : reallocarray(NULL, count, sizeof *key);
    if (!key) return no_memory(p);
    for (size_t i = 0; i < count; i++) key[i] = object->item[2 * i];
    qsort(key, count, sizeof *key, compare_keys);
    unsigned twice_at = 0; // line of the second key
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

static int parse_member(struct parser *p) {
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

static int parse_object(struct parser *p, struct json_value *out) {
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

static int parse_word(struct parser *p, struct json_value *out) {
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

static int parse_value(struct parser *p, struct json_value *out) {
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

static int parse_text(struct parser *p) {
    if (p->end - p->at > JSON_IN_MAX_BYTES) return fail(p, ERR_LIMIT, "the text is too long");
    struct json_value *root = arena_alloc(&p->in->arena, sizeof *root);
    if (!root) return no_memory(p);
    FORWARD(parse_value(p, root));
    skip_space(p);
    if (p->at < p->end) return fail(p, ERR_FORMAT, "there is more after the end");
    p->in->root = root;
    return 0;
}

int json_in_parse(struct json_in *in, const char *text, size_t len, struct json_in_error *error) {
    struct parser parser = {.in = in, .error = error, .at = text, .end = text + len, .line_start = text, .line = 1};
    *in = (struct json_in){0};
    *error = (struct json_in_error){0};
    int code = parse_text(&parser);
    free(parser.stack);
    if (code < 0) json_in_free(in);
    return code;
}

int json_in_read(struct json_in *in, const char *path, struct json_in_error *error) {
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

void json_in_free(struct json_in *in) {
    arena_free(&in->arena);
    in->root = NULL;
}

// --- the values of a tree

enum json_type json_in_type(const struct json_value *value) { return value ? (enum json_type)value->type : JSON_NULL; }

size_t json_in_length(const struct json_value *value) {
    return json_in_type(value) == JSON_ARRAY || json_in_type(value) == JSON_OBJECT ? value->count : 0;
}

const struct json_value *json_in_at(const struct json_value *value, size_t index) {
    if (index >= json_in_length(value)) return NULL;
    return value->type == JSON_OBJECT ? &value->item[2 * index + 1] : &value->item[index];
}

const char *json_in_key(const struct json_value *value, size_t index) {
    if (json_in_type(value) != JSON_OBJECT || index >= value->count) return NULL;
    return value->item[2 * index].text;
}

const struct json_value *json_in_member(const struct json_value *value, const char *key) {
    if (json_in_type(value) != JSON_OBJECT) return NULL;
    for (size_t i = 0; i < value->count; i++) {
        if (strcmp(value->item[2 * i].text, key) == 0) return &value->item[2 * i + 1];
    }
    return NULL;
}

int json_in_bool(const struct json_value *value, bool *out) {
    RETURN_IF(!value, ERR_NOTHING);
    RETURN_IF(value->type != JSON_BOOL, ERR_FORMAT);
    *out = value->boolean;
    return 0;
}

int json_in_int64(const struct json_value *value, int64_t *out) {
    RETURN_IF(!value, ERR_NOTHING);
    RETURN_IF(value->type != JSON_INTEGER, ERR_FORMAT);
    *out = value->integer;
    return 0;
}

int json_in_uint64(const struct json_value *value, uint64_t *out) {
    RETURN_IF(!value, ERR_NOTHING);
    bool fits = value->type == JSON_UNSIGNED || (value->type == JSON_INTEGER && value->integer >= 0);
    RETURN_IF(!fits, ERR_FORMAT);
    *out = value->natural;
    return 0;
}

int json_in_double(const struct json_value *value, double *out) {
    RETURN_IF(!value, ERR_NOTHING);
    switch (value->type) {
    case JSON_INTEGER: *out = (double)value->integer; return 0;
    case JSON_UNSIGNED: *out = (double)value->natural; return 0;
    case JSON_DOUBLE: *out = value->real; return 0;
    default: return ERR_FORMAT;
    }
}

int json_in_text(const struct json_value *value, const char **text, size_t *len) {
    RETURN_IF(!value, ERR_NOTHING);
    RETURN_IF(value->type != JSON_STRING, ERR_FORMAT);
    *text = value->text;
    if (len) *len = value->count;
    return 0;
}

int json_in_fail(struct json_in_error *error, const struct json_value *value, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    error->line = value ? value->line : 0;
    error->column = 0;
    return ERR_FORMAT;
}

// Returns the code of reading the member, and fills in the reason.
static int explain(int code, const struct json_value *object, const char *key, const char *wanted,
                   struct json_in_error *error) {
    if (code == 0) return 0;
    const struct json_value *member = json_in_member(object, key);
    if (member) {
        json_in_fail(error, member, "\"%s\" is not %s", key, wanted);
    } else {
        json_in_fail(error, object, "there is no \"%s\"", key);
    }
    return code;
}

int json_in_need_bool(const struct json_value *object, const char *key, bool *out, struct json_in_error *error) {
    return explain(json_in_bool(json_in_member(object, key), out), object, key, "true or false", error);
}

int json_in_need_int64(const struct json_value *object, const char *key, int64_t *out, struct json_in_error *error) {
    return explain(json_in_int64(json_in_member(object, key), out), object, key, "an integer of 64 bits", error);
}

int json_in_need_uint64(const struct json_value *object, const char *key, uint64_t *out, struct json_in_error *error) {
    int code = json_in_uint64(json_in_member(object, key), out);
    return explain(code, object, key, "an integer of 64 bits without a sign", error);
}

int json_in_need_double(const struct json_value *object, const char *key, double *out, struct json_in_error *error) {
    return explain(json_in_double(json_in_member(object, key), out), object, key, "a number", error);
}

int json_in_need_text(const struct json_value *object, const char *key, const char **text, size_t *len,
                      struct json_in_error *error) {
    return explain(json_in_text(json_in_member(object, key), text, len), object, key, "a string", error);
}

static int need_container(const struct json_value *object, const char *key, enum json_type type, const char *wanted,
                          const struct json_value **out, struct json_in_error *error) {
    *out = json_in_member(object, key);
    int code = !*out ? ERR_NOTHING : (*out)->type != type ? ERR_FORMAT : 0;
    return explain(code, object, key, wanted, error);
}

int json_in_need_array(const struct json_value *object, const char *key, const struct json_value **out,
                       struct json_in_error *error) {
    return need_container(object, key, JSON_ARRAY, "an array", out, error);
}

int json_in_need_object(const struct json_value *object, const char *key, const struct json_value **out,
                        struct json_in_error *error) {
    return need_container(object, key, JSON_OBJECT, "an object", out, error);
}
