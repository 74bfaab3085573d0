#include "base/json_keys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/utf8.h"

static void flush(struct json_out *j) {
    if (j->used && !j->error && fwrite(j->buffer, 1, j->used, j->out) != j->used) j->error = errno ? -errno : -EIO;
    j->used = 0;
}

// Makes room for `len` bytes, far fewer than the size of the buffer.
static inline char *reserve(struct json_out *j, size_t len) {
    if (j->used + len > sizeof j->buffer) flush(j);
    return j->buffer + j->used;
}

static inline void put(struct json_out *j, const char *text, size_t len) {
    memcpy(reserve(j, len), text, len);
    j->used += len;
}

static inline void put_byte(struct json_out *j, char byte) {
    *reserve(j, 1) = byte;
    j->used++;
}

static void new_line(struct json_out *j) {
    put_byte(j, '\n');
    for (unsigned i = 0; i < j->depth; i++) put(j, "  ", 2);
}

static bool is_unfolded(const struct json_out *j) {
    return j->depth <= j->unfold && !(j->folded && j->depth >= j->folded);
}

// Writes what comes before a key, or before a value without one: comma, newline, space.
static void before_member(struct json_out *j) {
    if (!j->depth) return;
    uint64_t bit = UINT64_C(1) << j->depth;
    if (j->started & bit) put_byte(j, ',');
    if (is_unfolded(j)) {
        new_line(j);
    } else if (j->started & bit && !j->tight) {
        put_byte(j, ' ');
    }
    j->started |= bit;
}

static inline void before_value(struct json_out *j) {
    if (!j->after_key) before_member(j);
    j->after_key = false;
}

struct json_out *json_out_begin(FILE *out, unsigned unfold) {
    struct json_out *j = malloc(sizeof *j);
    if (!j) return NULL;
    memset(j, 0, offsetof(struct json_out, buffer));
    j->out = out;
    j->unfold = unfold;
    return j;
}

int json_out_end(struct json_out *j) {
    put_byte(j, '\n');
    flush(j);
    if (!j->error && fflush(j->out)) j->error = -errno;
    int error = j->error;
    free(j);
    return error;
}

static void container_open(struct json_out *j, bool object) {
    before_value(j);
    if (j->depth + 1 >= JSON_OUT_MAX_DEPTH) abort(); // a bug in the program, never in its input
    put_byte(j, object ? '{' : '[');
    j->depth++;
    uint64_t bit = UINT64_C(1) << j->depth;
    j->started &= ~bit;
    j->objects = object ? j->objects | bit : j->objects & ~bit;
}

void json_object(struct json_out *j) { container_open(j, true); }

void json_array(struct json_out *j) { container_open(j, false); }

void json_close(struct json_out *j) {
    uint64_t bit = UINT64_C(1) << j->depth;
    bool unfolded = is_unfolded(j) && j->started & bit;
    char closing = j->objects & bit ? '}' : ']';
    if (j->depth == j->folded) j->folded = 0;
    j->depth--;
    if (unfolded) new_line(j);
    put_byte(j, closing);
}

void json_fold(struct json_out *j) {
    if (!j->folded) j->folded = j->depth + 1;
}

void json_key(struct json_out *j, const char *name) {
    before_member(j);
    put_byte(j, '"');
    put(j, name, strlen(name));
    put(j, "\": ", j->tight ? 2 : 3);
    j->after_key = true;
}

void json_null(struct json_out *j) {
    before_value(j);
    put(j, "null", 4);
}

void json_bool(struct json_out *j, bool value) {
    before_value(j);
    put(j, value ? "true" : "false", value ? 4 : 5);
}

static void put_unsigned(struct json_out *j, uint64_t value) {
    char room[20], *end = room + sizeof room, *digits = human_digits(end, value, 1);
    put(j, digits, (size_t)(end - digits));
}

void json_unsigned(struct json_out *j, uint64_t value) {
    before_value(j);
    put_unsigned(j, value);
}

void json_signed(struct json_out *j, int64_t value) {
    before_value(j);
    if (value < 0) put_byte(j, '-');
    put_unsigned(j, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_double(struct json_out *j, double value) {
    if (!isfinite(value)) {
        json_null(j);
        return;
    }
    before_value(j);
    char text[40];
    int len = snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) len = snprintf(text, sizeof text, "%.17g", value);
    put(j, text, (size_t)len);
}

void json_seconds(struct json_out *j, int64_t value_ns) {
    enum { NS_PER_SECOND = 1000000000, DECIMALS = 9 };
    before_value(j);
    uint64_t magnitude = value_ns < 0 ? -(uint64_t)value_ns : (uint64_t)value_ns;
    if (value_ns < 0) put_byte(j, '-');
    put_unsigned(j, magnitude / NS_PER_SECOND);
    char decimals[1 + DECIMALS] = ".";
    size_t len = sizeof decimals;
    human_digits(decimals + len, magnitude % NS_PER_SECOND, DECIMALS);
    // Keeps one decimal, so that readers see a floating-point number.
    while (len > 2 && decimals[len - 1] == '0') len--;
    put(j, decimals, len);
}

static void put_escape(struct json_out *j, uint8_t byte) {
    static const char hex[] = "0123456789abcdef";
    char escape[6] = {'\\', 'u', byte < 0x80 ? '0' : 'd', byte < 0x80 ? '0' : 'c', hex[byte >> 4], hex[byte & 15]};
    switch (byte) {
    case '"':
    case '\\': put(j, (char[]){'\\', (char)byte}, 2); break;
    case '\n': put(j, "\\n", 2); break;
    case '\t': put(j, "\\t", 2); break;
    default: put(j, escape, sizeof escape);
    }
}

// '<' is escaped so that JSON can be embedded in a page: it cannot end a script.
static inline bool is_plain(uint8_t byte) {
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\' && byte != '<';
}

static void put_quoted(struct json_out *j, const void *data, size_t len) {
    enum { LONGEST_PUT = 4096 };
    const uint8_t *at = data;
    const uint8_t *end = at + len;
    put_byte(j, '"');
    while (at < end) {
        const uint8_t *run = at;
        while (at < end && at - run < LONGEST_PUT && is_plain(*at)) at++;
        if (at == run && *at >= 0x80) at += utf8_sequence(at, end);
        if (at > run) {
            put(j, (const char *)run, (size_t)(at - run));
        } else {
            put_escape(j, *at++);
        }
    }
    put_byte(j, '"');
}

void json_bytes(struct json_out *j, const void *data, size_t len) {
    before_value(j);
    put_quoted(j, data, len);
}

void json_key_text(struct json_out *j, const char *name) {
    before_member(j);
    put_quoted(j, name, strlen(name));
    put(j, ": ", j->tight ? 1 : 2);
    j->after_key = true;
}

void json_text(struct json_out *j, const char *text) {
    if (text) {
        json_bytes(j, text, strlen(text));
    } else {
        json_null(j);
    }
}

int json_out_memory(char **text, size_t *len, json_write *write, void *context) {
    int code = -ENOMEM, written = 0;
    *text = NULL;
    FILE *out = open_memstream(text, len);
    struct json_out *json = out ? json_out_begin(out, 0) : NULL;
    if (json) {
        json->tight = true;
        code = write(context, json);
        written = json_out_end(json);
    }
    if (out && fclose(out)) written = -ENOMEM;
    if (code >= 0) code = written;
    if (code >= 0) return 0;
    free(*text);
    *text = NULL;
    return code;
}

void json_write_members(struct json_out *json, const struct json_member *member, size_t count) {
    for (const struct json_member *end = member + count; member < end; member++) {
        if (member->key) json_key(json, member->key);
        switch (member->kind) {
        case JSON_IS_NULL: json_null(json); break;
        case JSON_IS_TEXT: json_text(json, member->text); break;
        case JSON_IS_BOOL: json_bool(json, member->number); break;
        case JSON_IS_NUMBER: json_unsigned(json, member->number); break;
        case JSON_IS_SIGNED: json_signed(json, member->integer); break;
        case JSON_IS_DOUBLE: json_double(json, member->real); break;
        case JSON_IS_SECONDS: json_seconds(json, member->integer); break;
        }
    }
}
