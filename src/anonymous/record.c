#include "anonymous/record.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "anonymous/name.h"
#include "anonymous/private.h"
#include "base/err.h"
#include "base/glob.h"
#include "base/settings.h"
#include "fmt/counters.h"
#include "fmt/group.h"
#include "fmt/record_id.h"
#include "log/import.h"

// What becomes of a field.
enum rule {
    DROP,
    NUMBER,    // stays
    PACKED,    // bytes that hold numbers only: stay
    PATH,      // name of a file
    INSIDE,    // name of something in a file: what is said of deep parts holds for all of its parts
    TEXT,      // letters
    WORD,      // of a command: a path, or letters
    WORDS,     // those that every site has stay
    PAIR,      // words, a zero byte, words
    OPERATION, // of NFS: a word, and numbers
    PLACED,    // a path, a zero byte, numbers of servers
    STRIPE,
    HOSTS,   // of a group of processes: a field for each
    CALL,    // name of a call that ioseer knows
    SETTING, // name of a variable that ioseer stores by itself
    USER,    // another number
    DEVICE,
    INODE,
    MOMENT, // since the epoch
};

enum { MAX_KEYS = 64 };

// Every key of every kind that a log may hold. What is not here is dropped: a new key, too, until somebody has decided.
// Dropped on purpose: the port of a server, numbers of modules and their addresses.
static const uint8_t rules[][MAX_KEYS] = {
    [RECORD_JOB] = {[JOB_COMMAND] = WORD,
                    [JOB_START_NS] = MOMENT,
                    [JOB_END_NS] = MOMENT,
                    [JOB_HOST] = TEXT,
                    [JOB_CWD] = PATH,
                    [JOB_EXIT_STATUS] = NUMBER,
                    [JOB_VERSION] = WORDS,
                    [JOB_READ_CHARS] = NUMBER,
                    [JOB_WRITE_CHARS] = NUMBER,
                    [JOB_CHARS_KNOWN] = NUMBER,
                    [JOB_UID] = USER,
                    [JOB_ID] = TEXT,
                    [JOB_NPROCS] = NUMBER,
                    [JOB_COMPLETE] = NUMBER,
                    [JOB_ONLY] = TEXT},
    [RECORD_PROCESS] = {[PROCESS_ID] = NUMBER,
                        [PROCESS_PID] = NUMBER,
                        [PROCESS_PPID] = NUMBER,
                        [PROCESS_HOST] = TEXT,
                        [PROCESS_EXE] = PATH,
                        [PROCESS_ARG] = WORD,
                        [PROCESS_CWD] = PATH,
                        [PROCESS_START_NS... PROCESS_RANK] = NUMBER,
                        [PROCESS_UID] = USER,
                        [PROCESS_CLOCK_UNITS... PROCESS_STDIO_KERNEL_WRITE] = NUMBER,
                        [PROCESS_MPI] = WORDS,
                        [PROCESS_MPI_SIZE... PROCESS_COUNTS_ALL] = NUMBER,
                        [PROCESS_REDUCED_READ] = NUMBER,
                        [PROCESS_REDUCED_WRITTEN... PROCESS_MEMBERS] = NUMBER,
                        [PROCESS_RANKS] = PACKED,
                        [PROCESS_HOSTS] = HOSTS,
                        [PROCESS_SPREAD] = PACKED,
                        [PROCESS_REAPED... PROCESS_WITH] = NUMBER},
    [RECORD_FILE] = {[FILE_ID] = NUMBER,
                     [FILE_NAME] = PATH,
                     [FILE_DEVICE] = DEVICE,
                     [FILE_INODE] = INODE,
                     [FILE_BLOCK_SIZE] = NUMBER,
                     [FILE_FS_TYPE] = NUMBER,
                     [FILE_MOUNT] = PATH,
                     [FILE_TYPE] = NUMBER,
                     [FILE_FS_NAME] = WORDS,
                     [FILE_OBJECT] = INSIDE,
                     [FILE_STRIPE] = STRIPE},
    [RECORD_CALL] =
        {[CALL_ID] = NUMBER, [CALL_NAME] = CALL, [CALL_LAYER] = NUMBER, [CALL_CLASS] = NUMBER, [CALL_TRAITS] = NUMBER},
    [RECORD_PROCESS_FILE] = {[LINK_PROCESS] = NUMBER, [LINK_LOCAL] = NUMBER, [LINK_GLOBAL] = NUMBER},
    [RECORD_CALLSITE] = {[CALLSITE_ID] = NUMBER, [CALLSITE_LINE] = TEXT, [CALLSITE_PROCESS] = NUMBER},
    [RECORD_LOSS] = {[LOSS_PROCESS] = NUMBER,
                     [LOSS_REASON] = NUMBER,
                     [LOSS_COUNT] = NUMBER,
                     [LOSS_BYTES] = NUMBER,
                     [LOSS_TEXT] = TEXT},
    [RECORD_STREAM] = {[STREAM_ID] = NUMBER, [STREAM_PROCESS] = NUMBER, [STREAM_LOCAL] = NUMBER},
    [RECORD_SETTING] = {[SETTING_NAME] = SETTING, [SETTING_VALUE] = TEXT},
    [RECORD_DATATYPE] = {[DATATYPE_ID] = NUMBER,
                         [DATATYPE_BYTES] = NUMBER,
                         [DATATYPE_LOWER_BOUND] = NUMBER,
                         [DATATYPE_EXTENT] = NUMBER,
                         [DATATYPE_NAME] = WORDS,
                         [DATATYPE_COMBINER] = NUMBER,
                         [DATATYPE_FORM] = PACKED,
                         [DATATYPE_CUT] = NUMBER,
                         [DATATYPE_HASH] = NUMBER},
    [RECORD_HINTS] = {[HINTS_ID] = NUMBER, [HINTS_ASKED] = PAIR, [HINTS_IN_FORCE] = PAIR},
    [RECORD_PROCESS_DATATYPE] = {[LINK_PROCESS] = NUMBER, [LINK_LOCAL] = NUMBER, [LINK_GLOBAL] = NUMBER},
    [RECORD_PROCESS_HINTS] = {[LINK_PROCESS] = NUMBER, [LINK_LOCAL] = NUMBER, [LINK_GLOBAL] = NUMBER},
    [RECORD_DEVICE] = {[DEVICE_ID] = NUMBER,
                       [DEVICE_NAME] = TEXT,
                       [DEVICE_NUMBER] = DEVICE,
                       [DEVICE_HOST] = TEXT,
                       [DEVICE_START_NS] = NUMBER,
                       [DEVICE_SAMPLES] = PACKED,
                       [DEVICE_UNDER] = DEVICE},
    [RECORD_COMMUNICATOR] = {[COMMUNICATOR_PROCESS... COMMUNICATOR_SIZE] = NUMBER,
                             [COMMUNICATOR_MEMBERS] = PACKED,
                             [COMMUNICATOR_HASH] = NUMBER,
                             [COMMUNICATOR_REMOTE_SIZE] = NUMBER,
                             [COMMUNICATOR_REMOTE_MEMBERS] = PACKED,
                             [COMMUNICATOR_REMOTE_HASH] = NUMBER},
    [RECORD_SELECTION] = {[SELECTION_ID... SELECTION_BLOCKS] = NUMBER},
    [RECORD_PROCESS_SELECTION] = {[LINK_PROCESS] = NUMBER, [LINK_LOCAL] = NUMBER, [LINK_GLOBAL] = NUMBER},
    [RECORD_DATASET] = {[DATASET_ID... DATASET_CHUNK] = NUMBER,
                        [DATASET_FILTER] = WORDS,
                        [DATASET_CLASS... DATASET_OLD_CALL] = NUMBER},
    [RECORD_PROCESS_DATASET] = {[LINK_PROCESS] = NUMBER, [LINK_LOCAL] = NUMBER, [LINK_GLOBAL] = NUMBER},
    [RECORD_MAPPED] = {[MAPPED_FILE] = NUMBER, [MAPPED_PROCESS] = NUMBER, [MAPPED_BYTES] = NUMBER},
    [RECORD_STACK] = {[STACK_NAME] = TEXT,
                      [STACK_LAYOUT] = WORDS,
                      [STACK_SHARD_BYTES] = NUMBER,
                      [STACK_REDUNDANCY] = NUMBER,
                      [STACK_MOUNT] = PATH,
                      [STACK_FILE_SYSTEM] = WORDS,
                      [STACK_SERVERS] = NUMBER,
                      [STACK_LAYERS] = NUMBER,
                      [STACK_CACHE] = WORDS,
                      [STACK_PLACED] = PLACED,
                      [STACK_GONE_NS] = NUMBER,
                      [STACK_UNJOINED] = TEXT,
                      [STACK_DEVICE] = DEVICE},
    [RECORD_SERVER] = {[SERVER_ID] = NUMBER,
                       [SERVER_HOST] = TEXT,
                       [SERVER_BRICK] = PATH,
                       [SERVER_STORAGE] = WORDS,
                       [SERVER_DISCONNECTED_NS... SERVER_CLOCK_ERROR_NS] = NUMBER,
                       [SERVER_PID] = NUMBER,
                       [SERVER_CLOCK_DRIFT] = NUMBER,
                       [SERVER_MISSING] = TEXT},
    [RECORD_UNTIED] = {[UNTIED_LAYER... UNTIED_WRITTEN] = NUMBER},
    [RECORD_MOUNT] = {[MOUNT_ID] = NUMBER,
                      [MOUNT_POINT] = PATH,
                      [MOUNT_TYPE] = WORDS,
                      [MOUNT_SOURCE] = TEXT,
                      [MOUNT_OPTIONS] = WORDS,
                      [MOUNT_DEVICE] = DEVICE,
                      [MOUNT_HOST] = TEXT,
                      [MOUNT_NFS_BYTES] = NUMBER,
                      [MOUNT_NFS_OPERATION] = OPERATION,
                      [MOUNT_UNREAD] = NUMBER,
                      [MOUNT_UNREAD_WHY] = TEXT},
    [RECORD_AGGREGATE] = {[AGGREGATE_FILE] = NUMBER, [AGGREGATE_PROCESS] = NUMBER, [AGGREGATE_FILES] = NUMBER},
    [RECORD_HOST] =
        {[HOST_NAME] = TEXT, [HOST_CLOCK_OFFSET_NS... HOST_CLOCK_ERROR_NS] = NUMBER, [HOST_CLOCK_REFERENCE] = TEXT},
    [RECORD_REDUCTION] = {[REDUCTION_RANKS] = NUMBER, [REDUCTION_START_NS] = NUMBER, [REDUCTION_PROCESS] = NUMBER},
};

static enum rule rule_of(unsigned kind, unsigned key) {
    if (kind == RECORD_COUNTERS && key >= COUNTERS_FIRST) return key < COUNTERS_FIRST + COUNTER_COUNT ? NUMBER : DROP;
    if (kind == RECORD_COUNTERS) {
        bool is_packed =
            key == COUNTERS_SIZES || key == COUNTERS_STRIDES || key == COUNTERS_RANKS || key == COUNTERS_OLD_RANKS;
        return is_packed ? PACKED : key >= COUNTERS_PROCESS && key <= COUNTERS_SAME ? NUMBER : DROP;
    }
    return kind < sizeof rules / sizeof rules[0] && key < MAX_KEYS ? rules[kind][key] : DROP;
}

// --- fields

int anonymous_put_number(struct bytes *out, unsigned key, uint64_t value) {
    FORWARD(bytes_append_varint(out, (uint64_t)key << 1));
    return bytes_append_varint(out, value);
}

int anonymous_put_bytes(struct bytes *out, unsigned key, const struct bytes *text) {
    FORWARD(bytes_append_varint(out, (uint64_t)key << 1 | 1));
    FORWARD(bytes_append_varint(out, text->len));
    return bytes_append(out, text->data, text->len);
}

static uint64_t number_of(const struct anonymous *a, enum rule rule, uint64_t value) {
    switch (rule) {
    case USER: return anonymous_number(a->key, DOMAIN_USER, value, ANONYMOUS_USER_BITS);
    case DEVICE: return anonymous_number(a->key, DOMAIN_DEVICE, value, 31);
    case INODE: return anonymous_number(a->key, DOMAIN_INODE, value, 53);
    case MOMENT: return value > a->moved_ns ? value - a->moved_ns : 0;
    default: return value;
    }
}

// --- texts

// The place of the first zero byte, or the end.
static size_t name_len(const struct field *field) {
    const uint8_t *zero = field->len ? memchr(field->data, 0, field->len) : NULL;
    return zero ? (size_t)(zero - field->data) : field->len;
}

static bool are_server_numbers(const uint8_t *data, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (data[i] != ' ' && (data[i] < '0' || data[i] > '9')) return false;
    }
    return true;
}

static int put_pair(const struct anonymous *a, enum rule rule, const struct field *field, struct bytes *text) {
    size_t len = name_len(field);
    const uint8_t *behind = field->data + len + 1;
    FORWARD(rule == PLACED ? anonymous_name(a->key, NAME_PUBLIC_DEPTH, field->data, len, text)
                           : anonymous_words(a->key, field->data, len, text));
    if (len == field->len) return 0;
    FORWARD(bytes_append(text, "", 1));
    size_t rest = field->len - len - 1;
    if (rule == PAIR) return anonymous_words(a->key, behind, rest, text);
    return are_server_numbers(behind, rest) ? bytes_append(text, behind, rest) : 0;
}

static int put_operation(const struct anonymous *a, const struct field *field, struct bytes *text) {
    struct nfs_operation operation;
    struct bytes name = {0};
    FORWARD(nfs_operation_get(&operation, field->data, field->len));
    int code = anonymous_words(a->key, operation.name, strlen(operation.name), &name);
    if (code == 0 && name.len >= sizeof operation.name) code = ERR_FORMAT;
    if (code == 0) {
        memset(operation.name, 0, sizeof operation.name);
        memcpy(operation.name, name.data, name.len);
    }
    uint8_t *at = code == 0 ? bytes_reserve(text, NFS_OPERATION_MAX_BYTES) : NULL;
    if (code == 0 && !at) code = -ENOMEM;
    if (code == 0) text->len += (size_t)(nfs_operation_put(at, &operation) - at);
    bytes_free(&name);
    return code;
}

static int put_stripe(const struct anonymous *a, const struct field *field, struct bytes *text) {
    struct stripe stripe;
    struct bytes pool = {0};
    FORWARD(stripe_get(&stripe, field->data, field->len));
    if (!*stripe.pool) return bytes_append(text, field->data, field->len);
    int code = anonymous_text(a->key, stripe.pool, strlen(stripe.pool), &pool);
    memset(stripe.pool, 0, sizeof stripe.pool);
    if (code == 0) memcpy(stripe.pool, pool.data, pool.len < STRIPE_POOL_ROOM ? pool.len : STRIPE_POOL_ROOM - 1);
    uint8_t *at = code == 0 ? bytes_reserve(text, STRIPE_MAX_BYTES) : NULL;
    if (code == 0 && !at) code = -ENOMEM;
    if (code == 0) text->len += (size_t)(stripe_put(at, &stripe) - at);
    bytes_free(&pool);
    return code;
}

static bool is_known(enum rule rule, const struct field *field) {
    static const char *const stored[] = {SETTINGS_STORED_NAMES, NULL};
    char name[64];
    if (field->len >= sizeof name || name_len(field) < field->len) return false;
    memcpy(name, field->data, field->len);
    name[field->len] = 0;
    if (rule == CALL) return call_find(name, 0) != 0;
    for (size_t i = 0; stored[i]; i++) {
        if (glob_match(stored[i], name)) return true;
    }
    return false;
}

static int put_text(const struct anonymous *a, enum rule rule, const struct field *field, bool is_first,
                    struct bytes *text) {
    bool is_path = rule == PATH || (rule == WORD && (is_first || (field->len && *field->data == '/')));
    if (is_path) return anonymous_name(a->key, 0, field->data, field->len, text);
    switch (rule) {
    case PACKED: return bytes_append(text, field->data, field->len);
    case INSIDE: return anonymous_name(a->key, NAME_PUBLIC_DEPTH, field->data, field->len, text);
    case WORDS: return anonymous_words(a->key, field->data, field->len, text);
    case OPERATION: return put_operation(a, field, text);
    case PAIR:
    case PLACED: return put_pair(a, rule, field, text);
    case STRIPE: return put_stripe(a, field, text);
    case CALL:
    case SETTING:
        if (is_known(rule, field)) return bytes_append(text, field->data, field->len);
        return anonymous_text(a->key, field->data, field->len, text);
    default: return anonymous_text(a->key, field->data, field->len, text);
    }
}

// --- records

static int put_hosts(const struct anonymous *a, const struct field *field, struct bytes *out) {
    struct bytes name = {0}, host = {0}, text = {0};
    struct group_hosts hosts;
    FORWARD(group_hosts_get(field->data, field->len, &hosts));
    char *at = (char *)bytes_reserve(&name, hosts.len + 1);
    int code = at ? 0 : -ENOMEM;
    for (uint64_t i = 0; i < hosts.hosts && code == 0; i++) {
        group_host_name(&hosts, i, at);
        host.len = text.len = 0;
        code = anonymous_text(a->key, at, hosts.len, &host);
        const struct group_hosts one = {1, hosts.each, (const char *)host.data, host.len};
        if (code == 0) code = group_hosts_put(&text, &one);
        if (code == 0) code = anonymous_put_bytes(out, field->key, &text);
    }
    bytes_free(&name);
    bytes_free(&host);
    bytes_free(&text);
    return code;
}

// A rule for numbers keeps no bytes, and the other way round.
static bool is_for_bytes(enum rule rule) { return rule > NUMBER && rule < USER; }

static int put_field(const struct anonymous *a, enum rule rule, const struct field *field, bool is_first,
                     struct bytes *out) {
    struct bytes text = {0};
    if (rule == DROP || is_for_bytes(rule) != field->is_bytes) return 0;
    if (rule == HOSTS) return put_hosts(a, field, out);
    if (!field->is_bytes) return anonymous_put_number(out, field->key, number_of(a, rule, field->number));
    int code = put_text(a, rule, field, is_first, &text);
    if (code == 0) code = anonymous_put_bytes(out, field->key, &text);
    bytes_free(&text);
    return code;
}

int anonymous_record_id(const struct anonymous_key *key, const struct log_file *file, uint64_t *id) {
    struct bytes name = {0}, object = {0};
    int code = anonymous_name(key, 0, file->name, strlen(file->name), &name);
    if (code == 0 && file->object)
        code = anonymous_name(key, NAME_PUBLIC_DEPTH, file->object, strlen(file->object), &object);
    if (code == 0)
        *id = record_id((const char *)name.data, name.len, file->object ? (const char *)object.data : NULL, object.len);
    bytes_free(&name);
    bytes_free(&object);
    return code;
}

// The id of the file that is named anew in the log; another number if none has the old one.
static int other_record(const struct anonymous *a, uint64_t *id) {
    uint32_t at = lookup_find(&a->by_record, *id);
    if (at != LOOKUP_NONE) return anonymous_record_id(a->key, log_file_at(a->log, at), id);
    *id = anonymous_number(a->key, DOMAIN_RECORD, *id, ANONYMOUS_RECORD_BITS);
    return 0;
}

// Numbers that follow from the record before it are written: the blocks of the new log are others.
static int put_number_of_file(struct anonymous *a, unsigned kind, struct fields_in in, bool *is_of_ranks,
                              struct bytes *out) {
    struct field field[COUNTERS_FILE + 1];
    if (kind != RECORD_FILE && kind != RECORD_COUNTERS) return 0;
    FORWARD(fields_by_key(in, field, COUNTERS_FILE + 1));
    *is_of_ranks = kind == RECORD_COUNTERS && !field[COUNTERS_PROCESS].key;
    if (kind == RECORD_COUNTERS)
        return *is_of_ranks && !field[COUNTERS_FILE].key ? anonymous_put_number(out, COUNTERS_FILE, a->last_file) : 0;
    bool is_there = field[FILE_ID].key;
    a->last_file = is_there ? (uint32_t)field[FILE_ID].number : a->last_file + 1;
    return is_there ? 0 : anonymous_put_number(out, FILE_ID, a->last_file);
}

int anonymous_record(struct anonymous *a, unsigned kind, struct fields_in in, struct bytes *out) {
    struct field field;
    unsigned before = 0;
    bool is_of_ranks = false;
    int more;
    out->len = 0;
    if (kind == RECORD_IMPORT) return anonymous_import(a, out);
    if (kind == RECORD_IMPORTED) return anonymous_imported(a, in, out);
    FORWARD(put_number_of_file(a, kind, in, &is_of_ranks, out));
    while ((more = fields_next(&in, &field)) > 0) {
        if (is_of_ranks && field.key == COUNTERS_FIRST + COUNTER_RENAMED_FROM && field.number)
            FORWARD(other_record(a, &field.number));
        FORWARD(put_field(a, rule_of(kind, field.key), &field, field.key != before, out));
        before = field.key;
    }
    return more < 0 ? more : out->len > 0;
}

// Darshan's ids are those of its own names, which need not be the log's.
static int find_imported(struct anonymous *a, struct log *log) {
    struct log_imported imported = {0};
    int code = 0;
    for (size_t i = 0; i < log_imported_count(log) && code == 0; i++) {
        code = log_imported_at(log, i, &imported);
        if (code == 0 && imported.file)
            code = lookup_set(&a->by_record, imported.record.id, (uint32_t)imported.file->index);
        if (code == ERR_FORMAT) code = 0; // a damaged record is left out
    }
    log_imported_free(&imported);
    return code;
}

int anonymous_begin(struct anonymous *a, struct log *log, const struct anonymous_key *key) {
    const uint64_t day_ns = UINT64_C(86400) * 1000000000;
    *a = (struct anonymous){.key = key, .log = log, .moved_ns = log_job(log)->start_ns % day_ns};
    for (size_t i = 0; i < log_file_count(log); i++)
        FORWARD(lookup_set(&a->by_record, log_file_at(log, i)->record_id, (uint32_t)i));
    return find_imported(a, log);
}

void anonymous_end(struct anonymous *a) { lookup_free(&a->by_record); }
