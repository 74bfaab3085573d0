// Copies all tables row by row. Numbers of logs, jobs and folders stay; names get new numbers, because one name may be
// a user, a program and a file, and becomes another text as each.
#include "catalogue/anonymous.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anonymous/name.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scoped.h"
#include "catalogue/job.h"
#include "catalogue/names.h"
#include "catalogue/schema.h"

// What becomes of a value.
enum rule {
    STAYS,
    DAY,     // a moment: midnight (UTC) of its day
    INODE,   // another number
    HASH,    // of the name that follows
    PATH,    // name of a folder or file
    COMMAND, // a path, and letters
    LETTERS,
    // Numbers of names.
    WORD, // one that ioseer gives: of a layer, a size, a finding
    USER,
    PROGRAM,
    FILES,
    SYSTEM,
    RULES
};

enum { MOST_COLUMNS = 32 };

// Columns behind those with a rule stay. A table is read in steps of its first column, so that not all of it is in
// memory.
static const struct table {
    const char *name, *first;
    int64_t step;
    uint8_t rule[MOST_COLUMNS];
} tables[] = {
    {"folders", "id", 10000, {STAYS, HASH, PATH}},
    {"logs", "id", 10000, {STAYS, STAYS, PATH, STAYS, DAY, INODE, LETTERS, LETTERS, LETTERS, COMMAND}},
    {"jobs", "id", 10000, {STAYS, USER, PROGRAM, DAY}},
    {"job_layers", "job_id", 10000, {STAYS, WORD}},
    {"job_sizes", "job_id", 10000, {STAYS, WORD}},
    {"job_files", "job_id", 5000, {STAYS, FILES}},
    {"job_systems", "job_id", 10000, {STAYS, SYSTEM}},
    {"job_findings", "job_id", 10000, {STAYS, WORD}},
    {"sums", "month", 1, {STAYS, USER, PROGRAM}},
    {"layer_sums", "month", 1, {STAYS, USER, PROGRAM, WORD}},
    {"size_sums", "month", 1, {STAYS, USER, PROGRAM, WORD}},
    {"file_sums", "month", 1, {STAYS, USER, PROGRAM, FILES}},
    {"system_sums", "month", 1, {STAYS, USER, PROGRAM, SYSTEM}},
    {"finding_sums", "month", 1, {STAYS, USER, PROGRAM, WORD}},
    {"slower", "user_id", 1000, {USER, PROGRAM, STAYS, STAYS, DAY}},
};

struct copying {
    const struct catalogue_copy *copy;
    struct store *to;
    struct lookup names; // (number in the old catalogue, rule) -> number in the new one
    int64_t next_name;
    struct bytes text; // of the row under way
    const struct table *table;
    char insert[256];
    uint64_t rows, done;
    struct problem *problem;
};

// --- texts

// A group of files has a `*` for each number, which stays where numbers do. There are no other digits, so `0` can stand
// for it.
static int put_files(const struct anonymous_key *key, char *name, struct bytes *out) {
    size_t start = out->len;
    for (char *at = name; *at; at++) *at = *at == '*' ? '0' : *at;
    FORWARD(anonymous_name(key, 0, name, strlen(name), out));
    for (size_t i = start; i < out->len; i++) out->data[i] = out->data[i] == '0' ? '*' : out->data[i];
    return 0;
}

// "/scratch (lustre)"
static int put_system(const struct anonymous_key *key, const char *name, struct bytes *out) {
    const char *type = strstr(name, " (");
    if (!strcmp(name, JOB_UNKNOWN_SYSTEM)) return bytes_append(out, name, strlen(name));
    FORWARD(anonymous_name(key, 0, name, type ? (size_t)(type - name) : strlen(name), out));
    size_t len = type ? strcspn(type + 2, ")") : 0;
    if (!type) return 0;
    FORWARD(bytes_append(out, " (", 2));
    FORWARD(anonymous_words(key, type + 2, len, out));
    return bytes_append(out, ")", 1);
}

// Appends the new text and a closing zero. `text` is as the database has it.
static int put_text(struct copying *copying, enum rule rule, const char *text, struct bytes *out) {
    const struct anonymous_key *key = copying->copy->key;
    SCOPED_FREE char *name = strdup(text);
    RETURN_IF(!name, -ENOMEM);
    name_get(name);
    size_t len = strlen(name);
    switch (rule) {
    case PATH:
    case PROGRAM: FORWARD(anonymous_name(key, 0, name, len, out)); break;
    case COMMAND: FORWARD(anonymous_command(key, name, out)); break;
    case FILES: FORWARD(put_files(key, name, out)); break;
    case SYSTEM: FORWARD(put_system(key, name, out)); break;
    case WORD: FORWARD(bytes_append(out, name, len)); break;
    default: FORWARD(anonymous_text(key, name, len, out)); break;
    }
    return bytes_append(out, "", 1);
}

// --- names

struct found {
    struct copying *copying;
    enum rule rule;
    struct bytes name;
};

static int note_name(void *context, const struct store_value *value, size_t count) {
    struct found *found = context;
    found->name.len = 0;
    return count ? put_text(found->copying, found->rule, store_text(&value[0]), &found->name) : 0;
}

static int new_name(struct copying *copying, enum rule rule, int64_t *id) {
    SCOPED(bytes_free) struct bytes name = {0};
    struct found found = {copying, rule, name};
    const struct store_value old = store_of_integer(*id);
    int code = store_ask(copying->copy->from->store, &store_statement("SELECT name FROM names WHERE id = $1", &old, 1),
                         note_name, &found, copying->problem);
    name = found.name;
    if (code == 0 && !name.len) code = bytes_append(&name, "", 1); // a number without a name
    RETURN_IF(code < 0, code);
    const char *text = (const char *)name.data;
    *id = copying->next_name++;
    const struct store_value row[] = {store_of_integer(*id), store_of_integer((int64_t)hash_text(0, text)),
                                      store_of_text(text)};
    return store_run(copying->to, "INSERT INTO names (id, hash, name) VALUES ($1, $2, $3)", row, 3, copying->problem);
}

static int replace_name(struct copying *copying, enum rule rule, struct store_value *value) {
    uint64_t key = (uint64_t)store_integer(value) * RULES + rule;
    uint32_t known = lookup_find(&copying->names, key);
    if (known != LOOKUP_NONE) {
        *value = store_of_integer(known);
        return 0;
    }
    FORWARD(new_name(copying, rule, &value->integer));
    return lookup_set(&copying->names, key, (uint32_t)value->integer);
}

// --- rows

static int64_t day_of(int64_t ns) {
    const int64_t day_ns = INT64_C(86400) * 1000000000;
    return ns > 0 ? ns - ns % day_ns : ns;
}

static int64_t inode_of(const struct anonymous_key *key, int64_t inode) {
    enum { INODE_BITS = 53 };
    return (int64_t)anonymous_number(key, DOMAIN_INODE, (uint64_t)inode, INODE_BITS);
}

static int replace_value(struct copying *copying, enum rule rule, struct store_value *value) {
    if (value->kind == STORE_NULL || rule == STAYS || rule == HASH) return 0;
    if (rule >= WORD) return replace_name(copying, rule, value);
    if (rule == DAY) value->integer = day_of(value->integer);
    if (rule == INODE) value->integer = inode_of(copying->copy->key, value->integer);
    if (rule < PATH) return 0;
    value->integer = (int64_t)copying->text.len; // until all texts are there: they may still move
    return put_text(copying, rule, store_text(value), &copying->text);
}

static int replace_values(struct copying *copying, struct store_value *value, size_t count) {
    const uint8_t *rule = copying->table->rule;
    copying->text.len = 0;
    for (size_t i = 0; i < count; i++) FORWARD(replace_value(copying, rule[i], &value[i]));
    for (size_t i = count; i-- > 0;) {
        if (value[i].kind == STORE_TEXT) value[i].text = (const char *)copying->text.data + value[i].integer;
        if (rule[i] == HASH) value[i].integer = (int64_t)hash_text(0, value[i + 1].text);
    }
    return 0;
}

static int copy_row(void *context, const struct store_value *value, size_t count) {
    enum { ROWS_BETWEEN = 1000 };
    struct copying *copying = context;
    const struct catalogue_copy *copy = copying->copy;
    struct store_value own[MOST_COLUMNS];
    RETURN_IF(count > MOST_COLUMNS, ERR_LIMIT);
    memcpy(own, value, count * sizeof *own);
    FORWARD(replace_values(copying, own, count));
    size_t len =
        (size_t)snprintf(copying->insert, sizeof copying->insert, "INSERT INTO %s VALUES ($1", copying->table->name);
    for (size_t i = 2; i <= count; i++)
        len += (size_t)snprintf(copying->insert + len, sizeof copying->insert - len, ", $%zu", i);
    strcat(copying->insert, ")");
    FORWARD(store_run(copying->to, copying->insert, own, count, copying->problem));
    bool is_time = ++copying->rows % ROWS_BETWEEN == 0;
    return copy->progress && is_time ? copy->progress(copy->context, copying->done) : 0;
}

// --- tables

struct range {
    int64_t first, last;
};

static int note_range(void *context, const struct store_value *value, size_t count) {
    struct range *range = context;
    if (count == 2 && value[0].kind != STORE_NULL)
        *range = (struct range){store_integer(&value[0]), store_integer(&value[1])};
    return 0;
}

// As if all tables were the same work.
static uint64_t done_of(size_t before, double share) {
    return (uint64_t)(((double)before + share) / (double)(sizeof tables / sizeof *tables) * CATALOGUE_COPY_ALL);
}

static int copy_table(struct copying *copying, const struct table *table) {
    struct store *from = copying->copy->from->store;
    struct range range = {0, -1};
    char text[256];
    copying->table = table;
    snprintf(text, sizeof text, "SELECT MIN(%s), MAX(%s) FROM %s", table->first, table->first, table->name);
    FORWARD(store_ask(from, &store_statement(text, NULL, 0), note_range, &range, copying->problem));
    snprintf(text, sizeof text, "SELECT * FROM %s WHERE %s >= $1 AND %s < $2", table->name, table->first, table->first);
    for (int64_t at = range.first; at <= range.last; at += table->step) {
        copying->done =
            done_of((size_t)(table - tables), (double)(at - range.first) / (double)(range.last - range.first + 1));
        const struct store_value limit[] = {store_of_integer(at), store_of_integer(at + table->step)};
        FORWARD(store_ask(from, &store_statement(text, limit, 2), copy_row, copying, copying->problem));
    }
    return 0;
}

static int note_number(void *context, const struct store_value *value, size_t count) {
    if (count) *(int64_t *)context = store_integer(&value[0]);
    return 0;
}

static int copy_all(struct copying *copying) {
    struct store *from = copying->copy->from->store;
    int64_t next = 1;
    FORWARD(store_ask(from, &store_statement("SELECT next_log FROM catalogue", NULL, 0), note_number, &next,
                      copying->problem));
    const struct store_value next_log = store_of_integer(next);
    FORWARD(store_run(copying->to, "UPDATE catalogue SET next_log = $1", &next_log, 1, copying->problem));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) FORWARD(copy_table(copying, &tables[i]));
    return schema_fill_cells(copying->to, copying->problem);
}

// Both in one transaction: what is read is of one moment, what is written is there when it is whole.
static int copy_at_once(struct copying *copying) {
    struct store *from = copying->copy->from->store;
    FORWARD(from->operations->begin(from, STORE_READS, copying->problem));
    int code = copying->to->operations->begin(copying->to, STORE_WRITES, copying->problem);
    if (code == 0) code = copy_all(copying);
    if (code == 0) code = copying->to->operations->commit(copying->to, copying->problem);
    if (code < 0) copying->to->operations->roll_back(copying->to);
    from->operations->roll_back(from);
    return code;
}

int catalogue_write_anonymous(const struct catalogue_copy *copy, const char *path, struct problem *problem) {
    struct catalogue made;
    FORWARD(catalogue_open(&made, path, STORE_WRITES, problem));
    struct copying copying = {.copy = copy, .to = made.store, .next_name = 1, .problem = problem};
    int code = copy_at_once(&copying);
    lookup_free(&copying.names);
    bytes_free(&copying.text);
    catalogue_close(&made);
    return code;
}
