#include "model/file/packed.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/varint.h"

enum {
    LEVEL = 9,
    MOST_RATIO = 128,       // bytes of columns for one compressed byte
    ALWAYS_BYTES = 1 << 16, // of columns that are accepted with any ratio
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// --- columns

int packed_add(struct bytes *columns, const void *first, size_t stride, size_t count) {
    const uint8_t *at = first;
    int64_t last = 0, value;
    for (size_t i = 0; i < count; i++, at += stride) {
        memcpy(&value, at, sizeof value);
        FORWARD(bytes_append_varint(columns, varint_fold((int64_t)((uint64_t)value - (uint64_t)last))));
        last = value;
    }
    return 0;
}

int packed_get(const uint8_t **at, const uint8_t *end, void *first, size_t stride, size_t count) {
    uint8_t *to = first;
    uint64_t value = 0, folded;
    for (size_t i = 0; i < count; i++, to += stride) {
        *at = varint_get(*at, end, &folded);
        RETURN_IF(!*at, ERR_FORMAT);
        value += (uint64_t)varint_unfold(folded);
        memcpy(to, &value, sizeof value);
    }
    return 0;
}

// --- base64 (RFC 4648)

static int encode(const uint8_t *data, size_t len, struct bytes *text) {
    uint8_t *to = bytes_reserve(text, (len + 2) / 3 * 4 + 1);
    RETURN_IF(!to, -ENOMEM);
    const uint8_t *start = to;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t group = (uint32_t)data[i] << 16;
        if (left > 1) group |= (uint32_t)data[i + 1] << 8;
        if (left > 2) group |= data[i + 2];
        *to++ = (uint8_t)digits[group >> 18];
        *to++ = (uint8_t)digits[group >> 12 & 63];
        *to++ = left > 1 ? (uint8_t)digits[group >> 6 & 63] : '=';
        *to++ = left > 2 ? (uint8_t)digits[group & 63] : '=';
    }
    *to = 0;
    text->len += (size_t)(to - start);
    return 0;
}

static int digit_value(char digit) {
    if (digit >= 'A' && digit <= 'Z') return digit - 'A';
    if (digit >= 'a' && digit <= 'z') return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9') return digit - '0' + 52;
    return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

static int decode(const char *text, size_t len, struct bytes *data) {
    RETURN_IF(len % 4, ERR_FORMAT);
    uint8_t *to = bytes_reserve(data, len / 4 * 3 + 1);
    RETURN_IF(!to, -ENOMEM);
    size_t padding = len && text[len - 1] == '=' ? text[len - 2] == '=' ? 2 : 1 : 0;
    for (size_t i = 0; i < len; i += 4) {
        uint32_t group = 0;
        for (size_t k = 0; k < 4; k++) {
            int value = i + k >= len - padding ? 0 : digit_value(text[i + k]);
            RETURN_IF(value < 0, ERR_FORMAT);
            group = group << 6 | (uint32_t)value;
        }
        for (size_t k = 0; k < 3; k++) *to++ = (uint8_t)(group >> (16 - 8 * k));
    }
    data->len += len / 4 * 3 - padding;
    return 0;
}

// --- both

int packed_text(const struct bytes *columns, struct bytes *text, const char **key) {
    struct bytes compressed = {0};
    size_t most = ZSTD_compressBound(columns->len);
    RETURN_IF(!bytes_reserve(&compressed, most), -ENOMEM);
    size_t len = ZSTD_compress(compressed.data, most, columns->data, columns->len, LEVEL);
    bool small =
        !ZSTD_isError(len) && len < columns->len && (columns->len <= ALWAYS_BYTES || columns->len / MOST_RATIO <= len);
    *key = small ? "zstd" : "base64";
    int code = small ? encode(compressed.data, len, text) : encode(columns->data, columns->len, text);
    bytes_free(&compressed);
    return code;
}

static int decompress(const struct bytes *compressed, struct bytes *columns) {
    unsigned long long len = ZSTD_getFrameContentSize(compressed->data, compressed->len);
    RETURN_IF(len == ZSTD_CONTENTSIZE_ERROR || len == ZSTD_CONTENTSIZE_UNKNOWN, ERR_FORMAT);
    RETURN_IF(len > ALWAYS_BYTES && len / MOST_RATIO > compressed->len, ERR_LIMIT);
    RETURN_IF(!bytes_reserve(columns, len + 1), -ENOMEM);
    size_t got = ZSTD_decompress(columns->data + columns->len, len, compressed->data, compressed->len);
    RETURN_IF(ZSTD_isError(got) || got != len, ERR_FORMAT);
    columns->len += got;
    return 0;
}

int packed_columns(const char *text, size_t len, const char *key, struct bytes *columns) {
    if (!strcmp(key, "base64")) return decode(text, len, columns);
    struct bytes compressed = {0};
    int code = decode(text, len, &compressed);
    if (!code) code = decompress(&compressed, columns);
    bytes_free(&compressed);
    return code;
}
