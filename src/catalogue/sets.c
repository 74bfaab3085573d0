#include "catalogue/sets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scoped.h"

void sets_free(struct sets *sets) {
    for (size_t i = 0; i < sets->count; i++) free(sets->row[i].members);
    free(sets->row);
    lookup_free(&sets->place);
    *sets = (struct sets){0};
}

bool sets_has(const struct sets_row *row, int64_t name) {
    char word[32];
    snprintf(word, sizeof word, " %" PRId64 " ", name);
    return strstr(row->members, word);
}

// The place of the set; LOOKUP_NONE and the key that it is to have if it is not there.
static uint32_t find(const struct sets *sets, const char *members, uint64_t *key) {
    *key = hash_text(0, members);
    for (;; ++*key) {
        uint32_t place = lookup_find(&sets->place, *key);
        if (place == LOOKUP_NONE || !strcmp(sets->row[place].members, members)) return place;
    }
}

static int add(struct sets *sets, int64_t id, const char *members) {
    uint64_t key;
    uint32_t place = find(sets, members, &key);
    if (place != LOOKUP_NONE) return 0;
    struct sets_row row = {id, strdup(members)};
    RETURN_IF(!row.members, -ENOMEM);
    int code = lookup_set(&sets->place, key, (uint32_t)sets->count);
    if (code == 0) code = array_push(sets->row, sets->count, row);
    if (code < 0) free(row.members);
    return code;
}

static int note_set(void *context, const struct store_value *value, size_t count) {
    (void)count;
    return add(context, store_integer(&value[0]), store_text(&value[1]));
}

int sets_load(struct sets *sets, struct store *store, struct problem *problem) {
    sets_free(sets);
    return store_ask(store, &store_statement("SELECT id, members FROM system_sets ORDER BY id", NULL, 0), note_set,
                     sets, problem);
}

// --- of jobs

static int compare(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

// A text of malloc.
static char *members_of(int64_t *name, size_t names) {
    char *members = malloc(names * 21 + 2), *at = members;
    if (!members) return NULL;
    if (names) qsort(name, names, sizeof *name, compare);
    *at++ = ' ';
    for (size_t i = 0; i < names; i++) at += sprintf(at, "%" PRId64 " ", name[i]);
    *at = 0;
    return members;
}

static int intern(struct sets *sets, struct store *store, const char *members, int64_t *id, struct problem *problem) {
    uint64_t key;
    uint32_t place = find(sets, members, &key);
    if (place == LOOKUP_NONE) {
        const struct store_value value[] = {store_of_integer((int64_t)sets->count + 1), store_of_text(members)};
        place = (uint32_t)sets->count;
        FORWARD(add(sets, value[0].integer, members));
        FORWARD(store_run(store, "INSERT INTO system_sets (id, members) VALUES ($1, $2)", value, 2, problem));
    }
    *id = sets->row[place].id;
    return 0;
}

int sets_put(struct sets *sets, struct store *store, int64_t job, int64_t *name, size_t names,
             struct problem *problem) {
    SCOPED_FREE char *members = members_of(name, names);
    struct store_value value[] = {store_of_integer(job), store_of_integer(0)};
    RETURN_IF(!members, -ENOMEM);
    FORWARD(intern(sets, store, members, &value[1].integer, problem));
    return store_run(store, "INSERT INTO job_sets (job_id, set_id) VALUES ($1, $2)", value, 2, problem);
}

// --- of all jobs

struct use {
    int64_t job, name;
    bool has_name;
};

struct uses {
    struct use *use;
    size_t count;
};

static int note_use(void *context, const struct store_value *value, size_t count) {
    struct uses *uses = context;
    (void)count;
    const struct use use = {store_integer(&value[0]), store_integer(&value[1]), value[1].kind != STORE_NULL};
    return array_push(uses->use, uses->count, use);
}

static int put_uses(struct sets *sets, struct store *store, const struct uses *uses, struct problem *problem) {
    SCOPED_FREE int64_t *name = malloc((uses->count + 1) * sizeof *name);
    RETURN_IF(!name, -ENOMEM);
    for (size_t i = 0, names = 0; i < uses->count; i++) {
        if (uses->use[i].has_name) name[names++] = uses->use[i].name;
        if (i + 1 < uses->count && uses->use[i + 1].job == uses->use[i].job) continue;
        FORWARD(sets_put(sets, store, uses->use[i].job, name, names, problem));
        names = 0;
    }
    return 0;
}

int sets_of_all_jobs(struct store *store, int64_t last, struct problem *problem) {
    enum { STEP = 10000 }; // so that memory does not grow with the number of jobs
    SCOPED(sets_free) struct sets sets = {0};
    for (int64_t at = 0; at <= last; at += STEP) {
        struct uses uses = {0};
        const struct store_value range[] = {store_of_integer(at), store_of_integer(at + STEP)};
        int code = store_ask(store,
                             &store_statement("SELECT j.id, s.name_id FROM jobs j LEFT JOIN job_systems s ON s.job_id "
                                              "= j.id WHERE j.id >= $1 AND j.id < $2 ORDER BY j.id",
                                              range, 2),
                             note_use, &uses, problem);
        if (code == 0) code = put_uses(&sets, store, &uses, problem);
        free(uses.use);
        if (code < 0) return code;
    }
    return 0;
}
