// Writes JSON as a stream of calls, fast enough for millions of objects; memory is one buffer. The first output error
// is kept; json_out_end returns it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_OUT_BUFFER_BYTES = 1 << 16, JSON_OUT_MAX_DEPTH = 48 };

struct json_out {
    FILE *out;
    int error;        // 0 or -errno
    unsigned depth;   // of open objects and arrays
    unsigned unfold;  // each member of objects and arrays above this depth gets its own line
    unsigned folded;  // except from this depth on, until its container is closed; 0: none
    bool after_key;   // the next value belongs to a key
    bool tight;       // no spaces; false unless set after json_out_begin
    uint64_t started; // bit n: the container of depth n has a member already
    uint64_t objects; // bit n: the container of depth n is an object
    size_t used;
    char buffer[JSON_OUT_BUFFER_BYTES];
};

struct json_out *json_out_begin(FILE *out, unsigned unfold); // NULL if there is no memory
// Ends the last line, flushes, and frees. Returns 0 or the first error as -errno.
int json_out_end(struct json_out *j);

void json_object(struct json_out *j);
void json_array(struct json_out *j);
void json_close(struct json_out *j); // the object or array that was opened last
// The next object or array is written on one line, with everything in it.
void json_fold(struct json_out *j);

void json_key(struct json_out *j, const char *name);      // plain ASCII, nothing that needs an escape
void json_key_text(struct json_out *j, const char *name); // any text
void json_null(struct json_out *j);
void json_bool(struct json_out *j, bool value);
void json_unsigned(struct json_out *j, uint64_t value);
void json_signed(struct json_out *j, int64_t value);
void json_double(struct json_out *j, double value);      // as many digits as needed; null unless finite
void json_seconds(struct json_out *j, int64_t value_ns); // exact: 1500000000 is 1.5
void json_text(struct json_out *j, const char *text);    // null for NULL
// Any bytes: invalid UTF-8 becomes U+DC80 … U+DCFF (Python's surrogateescape).
void json_bytes(struct json_out *j, const void *data, size_t len);

// Writes one value.
typedef int json_write(void *context, struct json_out *json);

// One value without spaces, in memory of malloc that ends with a 0. Returns 0, or a negative code with *text NULL.
int json_out_memory(char **text, size_t *len, json_write *write, void *context);
