#include "model/variant.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/options.h"

static const char *const interfaces[] = {"", "collective", "independent", "posix"};
static const char *const sieving[] = {"", "sieving=off", "sieving=on"};

enum { MOST_PROCESSES = 1 << 20, MOST_AGGREGATORS = 1 << 20 };
#define MOST_BYTES (UINT64_C(1) << 50)
#define MOST_FACTOR 1e6

// --- as text

struct writing {
    char *out;
    size_t len;
};

static void __attribute__((format(printf, 2, 3))) add(struct writing *w, const char *format, ...) {
    va_list list;
    if (w->len) w->out[w->len++] = ',';
    va_start(list, format);
    w->len += (size_t)vsnprintf(w->out + w->len, VARIANT_TEXT_BYTES - w->len, format, list);
    va_end(list);
}

static void add_bytes(struct writing *w, const char *name, uint64_t bytes) {
    static const char *const units[] = {"", "KiB", "MiB", "GiB"};
    unsigned unit = 0;
    for (; unit < 3 && bytes && bytes % 1024 == 0; bytes /= 1024) unit++;
    if (bytes) add(w, "%s=%" PRIu64 "%s", name, bytes, units[unit]);
}

void variant_text(const struct variant *variant, char out[VARIANT_TEXT_BYTES]) {
    struct writing w = {out, 0};
    *out = 0;
    if (variant->interface) add(&w, "%s", interfaces[variant->interface]);
    if (variant->cb_nodes) add(&w, "cb_nodes=%" PRIu32, variant->cb_nodes);
    add_bytes(&w, "cb_buffer_size", variant->cb_buffer);
    if (variant->sieving) add(&w, "%s", sieving[variant->sieving]);
    add_bytes(&w, "request", variant->request);
    if (variant->request_factor > 0) add(&w, "request*=%g", variant->request_factor);
    add_bytes(&w, "align", variant->alignment);
    if (variant->own_files) add(&w, "own-files");
    if (variant->nonblocking) add(&w, "nonblocking");
    if (variant->np) add(&w, "np=%" PRIu32, variant->np);
    if (!w.len) add(&w, "as-recorded");
}

unsigned variant_changes(const struct variant *v) {
    bool changes[] = {
        v->interface,     v->cb_nodes > 0, v->cb_buffer > 0, v->sieving, v->request || v->request_factor > 0,
        v->alignment > 0, v->own_files,    v->nonblocking,   v->np > 0};
    unsigned count = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) count += changes[i];
    return count;
}

// --- from text

static int find(const char *const *list, size_t count, const char *text) {
    for (size_t i = 1; i < count; i++) {
        if (!strcmp(list[i], text)) return (int)i;
    }
    return 0;
}

// Each may be given once: `now` is what it was before.
static int parse_bytes(const char *text, uint64_t *now) {
    uint64_t bytes;
    RETURN_IF(*now || options_size(text, &bytes) < 0 || !bytes || bytes > MOST_BYTES, ERR_USAGE);
    *now = bytes;
    return 0;
}

static int parse_count(const char *text, uint32_t most, uint32_t *now) {
    size_t digits = strspn(text, "0123456789");
    RETURN_IF(*now || !digits || digits > 9 || text[digits], ERR_USAGE);
    *now = (uint32_t)strtoul(text, NULL, 10);
    return *now && *now <= most ? 0 : ERR_USAGE;
}

static int parse_factor(const char *text, double *now) {
    char *end;
    RETURN_IF(*now > 0 || !strchr("0123456789.", *text) || !*text, ERR_USAGE);
    *now = strtod(text, &end);
    return !*end && *now >= 1 / MOST_FACTOR && *now <= MOST_FACTOR ? 0 : ERR_USAGE;
}

static int parse_flag(bool *now) {
    RETURN_IF(*now, ERR_USAGE);
    *now = true;
    return 0;
}

static int parse_word(struct variant *v, const char *word) {
    char name[24];
    const char *equals = strchr(word, '=');
    int interface = find(interfaces, sizeof interfaces / sizeof *interfaces, word);
    int sieve = find(sieving, sizeof sieving / sizeof *sieving, word);
    if (interface) {
        RETURN_IF(v->interface, ERR_USAGE);
        v->interface = (enum variant_interface)interface;
        return 0;
    }
    if (sieve) {
        RETURN_IF(v->sieving, ERR_USAGE);
        v->sieving = (enum variant_sieving)sieve;
        return 0;
    }
    if (!strcmp(word, "own-files")) return parse_flag(&v->own_files);
    if (!strcmp(word, "nonblocking")) return parse_flag(&v->nonblocking);
    RETURN_IF(!equals || (size_t)(equals - word) >= sizeof name, ERR_USAGE);
    snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
    if (!strcmp(name, "cb_nodes")) return parse_count(equals + 1, MOST_AGGREGATORS, &v->cb_nodes);
    if (!strcmp(name, "np")) return parse_count(equals + 1, MOST_PROCESSES, &v->np);
    if (!strcmp(name, "cb_buffer_size")) return parse_bytes(equals + 1, &v->cb_buffer);
    if (!strcmp(name, "align")) return parse_bytes(equals + 1, &v->alignment);
    if (!strcmp(name, "request")) return v->request_factor > 0 ? ERR_USAGE : parse_bytes(equals + 1, &v->request);
    if (!strcmp(name, "request*")) return v->request ? ERR_USAGE : parse_factor(equals + 1, &v->request_factor);
    return ERR_USAGE;
}

int variant_parse(struct variant *variant, const char *text) {
    struct variant parsed = {0};
    char copy[2 * VARIANT_TEXT_BYTES];
    if (!strcmp(text, "as-recorded")) {
        *variant = parsed;
        return 0;
    }
    RETURN_IF(strlen(text) >= sizeof copy, ERR_USAGE);
    strcpy(copy, text);
    for (char *word = copy, *comma; word; word = comma) {
        comma = strchr(word, ',');
        if (comma) *comma++ = 0;
        FORWARD(parse_word(&parsed, word));
    }
    *variant = parsed;
    return 0;
}

// --- hints

static void hint(struct variant_hint *out, unsigned *count, const char *name, const char *value) {
    out[*count].name = name;
    snprintf(out[(*count)++].value, sizeof out->value, "%s", value);
}

unsigned variant_hints(const struct variant *variant, struct variant_hint out[VARIANT_HINTS]) {
    static const char *const direction[] = {"disable", "enable"};
    unsigned count = 0;
    char number[24];
    if (variant->interface == VARIANT_COLLECTIVE) {
        hint(out, &count, "romio_cb_write", "enable");
        hint(out, &count, "romio_cb_read", "enable");
    }
    if (variant->cb_nodes) {
        snprintf(number, sizeof number, "%" PRIu32, variant->cb_nodes);
        hint(out, &count, "cb_nodes", number);
        uint32_t nodes = variant->nodes ? variant->nodes : 1;
        snprintf(number, sizeof number, "*:%" PRIu32, (variant->cb_nodes - 1) / nodes + 1);
        hint(out, &count, "cb_config_list", number);
    }
    if (variant->cb_buffer) {
        snprintf(number, sizeof number, "%" PRIu64, variant->cb_buffer);
        hint(out, &count, "cb_buffer_size", number);
    }
    if (variant->sieving) {
        hint(out, &count, "romio_ds_write", direction[variant->sieving == SIEVING_ON]);
        hint(out, &count, "romio_ds_read", direction[variant->sieving == SIEVING_ON]);
    }
    return count;
}
