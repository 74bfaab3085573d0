// The functions of <string.h> that the recorder uses, hidden in its library. Those of a sanitizer, which would be
// called otherwise, may not be called before it has started, and ThreadSanitizer takes the recorder's own memory, whose
// locks it does not know, for the program's races.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    char *out = to;
    const char *in = from;
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), in += sizeof(uint64_t), out += sizeof(uint64_t)) {
        __builtin_memcpy(out, in, sizeof(uint64_t));
    }
    while (bytes--) *out++ = *in++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    char *out = to;
    const char *in = from;
    if ((uintptr_t)out - (uintptr_t)in >= bytes) return memcpy(to, from, bytes); // copies forwards
    while (bytes--) out[bytes] = in[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    char *out = to;
    const uint64_t word = (unsigned char)value * UINT64_C(0x0101010101010101);
    for (; bytes >= sizeof word; bytes -= sizeof word, out += sizeof word) __builtin_memcpy(out, &word, sizeof word);
    while (bytes--) *out++ = (char)value;
    return to;
}

static uint64_t word_at(const void *memory) {
    uint64_t word;
    __builtin_memcpy(&word, memory, sizeof word);
    return word;
}

int memcmp(const void *one, const void *other, size_t bytes) {
    const unsigned char *a = one, *b = other;
    for (; bytes >= sizeof(uint64_t) && word_at(a) == word_at(b); bytes -= sizeof(uint64_t)) {
        a += sizeof(uint64_t), b += sizeof(uint64_t);
    }
    for (; bytes; a++, b++, bytes--) {
        if (*a != *b) return *a - *b;
    }
    return 0;
}

void *memchr(const void *memory, int value, size_t bytes) {
    for (const unsigned char *at = memory; bytes; at++, bytes--) {
        if (*at == (unsigned char)value) return (void *)at;
    }
    return NULL;
}

// Whole aligned words: what is behind the end is on the same page.
size_t strlen(const char *text) {
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    const char *end = text;
    for (; (uintptr_t)end % sizeof ones; end++) {
        if (!*end) return (size_t)(end - text);
    }
    while (!((word_at(end) - ones) & ~word_at(end) & highs)) end += sizeof ones;
    while (*end) end++;
    return (size_t)(end - text);
}

size_t strnlen(const char *text, size_t most) {
    const char *end = memchr(text, 0, most);
    return end ? (size_t)(end - text) : most;
}

int strncmp(const char *one, const char *other, size_t most) {
    const unsigned char *a = (const unsigned char *)one, *b = (const unsigned char *)other;
    for (; most && *a && *a == *b; most--) a++, b++;
    return most ? *a - *b : 0;
}

int strcmp(const char *one, const char *other) { return strncmp(one, other, SIZE_MAX); }

char *strchr(const char *text, int value) {
    for (; *text != (char)value; text++) {
        if (!*text) return NULL;
    }
    return (char *)text;
}

char *strrchr(const char *text, int value) {
    const char *end = text + strlen(text);
    while (end > text && *end != (char)value) end--;
    return *end == (char)value ? (char *)end : NULL;
}

char *strstr(const char *text, const char *part) {
    size_t len = strlen(part);
    for (;; text++) {
        if (*text == *part && strncmp(text, part, len) == 0) return (char *)text;
        if (!*text) return NULL;
    }
}

size_t strspn(const char *text, const char *accepted) {
    size_t len = 0;
    while (text[len] && strchr(accepted, text[len])) len++;
    return len;
}

size_t strcspn(const char *text, const char *rejected) {
    size_t len = 0;
    if (rejected[0] && !rejected[1]) {
        while (text[len] && text[len] != rejected[0]) len++;
    } else {
        while (text[len] && !strchr(rejected, text[len])) len++;
    }
    return len;
}
