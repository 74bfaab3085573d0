#include "darshan/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "darshan/words.h"

enum { RENAMED_FROM = 12 }; // of POSIX: a record id
enum { NAME_ROOM = 96, VALUE_ROOM = 400 };

struct text {
    darshan_value *print;
    void *context;
};

static void print_number(const struct text *text, const char *counter, int64_t value) {
    char buffer[VALUE_ROOM];
    snprintf(buffer, sizeof buffer, "%" PRId64, value);
    text->print(counter, buffer, text->context);
}

static void print_real(const struct text *text, const char *counter, double value) {
    char buffer[VALUE_ROOM]; // the largest number has 309 digits before the point
    snprintf(buffer, sizeof buffer, "%f", value);
    text->print(counter, buffer, text->context);
}

static void print_id(const struct text *text, const char *counter, uint64_t id) {
    char buffer[VALUE_ROOM];
    snprintf(buffer, sizeof buffer, "%" PRIu64, id);
    text->print(counter, buffer, text->context);
}

// "PREFIX_3"
static void print_indexed(const struct text *text, const char *prefix, size_t index, int64_t value) {
    char counter[NAME_ROOM];
    snprintf(counter, sizeof counter, "%.60s%zu", prefix, index);
    print_number(text, counter, value);
}

static void print_counters(const struct text *text, const struct darshan_record *record) {
    const struct darshan_module *module = darshan_module(record->module);
    for (unsigned i = 0; i < module->numbers; i++) {
        if (record->module == DARSHAN_POSIX && i == RENAMED_FROM)
            print_id(text, module->names[i], (uint64_t)record->number[i]);
        else
            print_number(text, module->names[i], record->number[i]);
    }
    for (unsigned i = 0; i < module->reals; i++) print_real(text, module->names[module->numbers + i], record->real[i]);
}

// --- Lustre

static const char *pattern_text(int64_t pattern) {
    switch (pattern) {
    case 0: return "raid0";
    case 2: return "mdt";
    case 4: return "raid0,overstriped";
    case 8: return "foreign";
    default: return "N/A";
    }
}

static void flags_text(char out[VALUE_ROOM], int64_t flags) {
    static const char *const names[] = {"stale",     "prefrd", "prefwr",   "offline", "init",    "nosync",
                                        "extension", "parity", "compress", "partial", "nocompr", "neg"};
    size_t len = 0;
    snprintf(out, VALUE_ROOM, "%s", flags == -1 ? "N/A" : "0");
    for (size_t i = 0; flags != -1 && i < sizeof names / sizeof *names; i++) {
        if (flags >> i & 1) len += (size_t)snprintf(out + len, VALUE_ROOM - len, "%s%s", len ? "," : "", names[i]);
    }
}

static void print_part(const struct text *text, size_t number, const int64_t *part, const int64_t *servers) {
    static const char *const names[DARSHAN_LAYOUT_NUMBERS] = {"STRIPE_SIZE", "STRIPE_COUNT", "STRIPE_PATTERN", "FLAGS",
                                                              "EXT_START",   "EXT_END",      "MIRROR_ID"};
    char counter[NAME_ROOM], value[VALUE_ROOM], pool[DARSHAN_LAYOUT_POOL_BYTES + 1] = "";
    for (unsigned i = 0; i < DARSHAN_LAYOUT_NUMBERS; i++) {
        snprintf(value, sizeof value, "%" PRId64, part[i]);
        if (i == DARSHAN_STRIPE_PATTERN) snprintf(value, sizeof value, "%s", pattern_text(part[i]));
        if (i == DARSHAN_STRIPE_FLAGS) flags_text(value, part[i]);
        snprintf(counter, sizeof counter, "LUSTRE_COMP%zu_%s", number, names[i]);
        text->print(counter, value, text->context);
    }
    memcpy(pool, part + DARSHAN_LAYOUT_NUMBERS, DARSHAN_LAYOUT_POOL_BYTES);
    snprintf(counter, sizeof counter, "LUSTRE_COMP%zu_POOL_NAME", number);
    text->print(counter, pool[0] ? pool : "N/A", text->context);
    snprintf(counter, sizeof counter, "LUSTRE_COMP%zu_OST_ID_", number);
    for (int64_t i = 0; i < part[DARSHAN_STRIPE_COUNT]; i++) print_indexed(text, counter, (size_t)i, servers[i]);
}

// The lists behind the counters may be shorter than these say, in a damaged log.
static void print_layout(const struct text *text, const struct darshan_record *record) {
    size_t parts = record->number[0] > 0 ? (size_t)record->number[0] : 0, left = record->more_count;
    print_counters(text, record);
    if (!parts || parts > left / DARSHAN_PART_WORDS) return;
    left -= parts * DARSHAN_PART_WORDS;
    const int64_t *part = record->more, *servers = record->more + parts * DARSHAN_PART_WORDS;
    for (size_t i = 0; i < parts; i++, part += DARSHAN_PART_WORDS) {
        size_t count = part[DARSHAN_STRIPE_COUNT] > 0 ? (size_t)part[DARSHAN_STRIPE_COUNT] : 0;
        if (count > left) return;
        print_part(text, i + 1, part, servers);
        servers += count;
        left -= count;
    }
}

// --- other shapes

static void print_bins(const struct text *text, const struct darshan_record *record) {
    size_t bins = record->more_count / 2;
    print_counters(text, record);
    for (size_t i = 0; i < bins; i++) print_indexed(text, "HEATMAP_READ_BIN_", i, record->more[bins + i]);
    for (size_t i = 0; i < bins; i++) print_indexed(text, "HEATMAP_WRITE_BIN_", i, record->more[i]);
}

static void print_file_id(const struct text *text, const struct darshan_record *record) {
    char counter[NAME_ROOM];
    snprintf(counter, sizeof counter, "%s_FILE_REC_ID", darshan_module(record->module)->name);
    print_id(text, counter, record->file);
}

static void print_servers(const struct text *text, const struct darshan_record *record) {
    const struct darshan_module *module = darshan_module(record->module);
    print_counters(text, record);
    for (size_t i = 0; i < record->more_count && (int64_t)i < record->number[module->numbers - 1]; i++)
        print_indexed(text, "MDHIM_SERVER_", i, record->more[i]);
}

// When Darshan's parser (up to 3.5.0) makes the newest version of an old POSIX record, it loses the last floating-point
// numbers of versions 2 and 3, and it does not put three others into the right byte order.
static void misread(struct darshan_record *record, bool is_swapped) {
    enum {
        META_TIME = 10,
        MAX_WRITE_TIME = 12,
        FASTEST_RANK_TIME = 13,
        VARIANCE_RANK_TIME = 15,
        REALS = 17,
        NEWEST = 4
    };
    if (record->module != DARSHAN_POSIX || record->version >= NEWEST) return;
    unsigned lost = record->version == 3 ? VARIANCE_RANK_TIME : record->version == 2 ? FASTEST_RANK_TIME : REALS;
    for (unsigned i = lost; i < REALS; i++) record->real[i] = 0;
    for (unsigned i = META_TIME; is_swapped && i <= MAX_WRITE_TIME; i++)
        record->real[i] = words_f64((const uint8_t *)&record->real[i], true);
}

void darshan_print_record(const struct darshan_record *original, bool is_swapped, darshan_value *print, void *context) {
    const struct text text = {print, context};
    struct darshan_record as_read = *original, *record = &as_read;
    misread(record, is_swapped);
    switch (darshan_module(record->module)->shape) {
    case DARSHAN_LAYOUT: print_layout(&text, record); break;
    case DARSHAN_BINS: print_bins(&text, record); break;
    case DARSHAN_OF_SERVERS: print_servers(&text, record); break;
    case DARSHAN_OF_FILE:
        print_counters(&text, record);
        print_file_id(&text, record);
        break;
    default: print_counters(&text, record);
    }
}

// --- DAOS

static void uuid_text(char *out, const int64_t words[2]) {
    uint8_t bytes[16];
    memcpy(bytes, words, sizeof bytes);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
        out += sprintf(out, "%02x", bytes[i]);
    }
}

struct darshan_place_text darshan_place_text(const struct darshan_record *record) {
    enum { UUIDS = 4, OBJECT = 6, UUID_CHARS = 36 };
    struct darshan_place_text place = {"", ""};
    enum darshan_shape shape = darshan_module(record->module)->shape;
    bool has_object = shape == DARSHAN_OF_OBJECT && record->more_count >= OBJECT;
    if ((shape != DARSHAN_OF_POOL && shape != DARSHAN_OF_OBJECT) || record->more_count < UUIDS) return place;
    uuid_text(place.mount, record->more);
    place.mount[UUID_CHARS] = ':';
    uuid_text(place.mount + UUID_CHARS + 1, record->more + 2);
    if (has_object)
        snprintf(place.name, sizeof place.name, "%" PRIu64 ".%" PRIu64, (uint64_t)record->more[UUIDS],
                 (uint64_t)record->more[UUIDS + 1]);
    return place;
}

const char *darshan_no_name(unsigned module) { return module == DARSHAN_BGQ ? "darshan-bgq-record" : "(null)"; }
