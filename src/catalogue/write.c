#include "catalogue/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/scoped.h"
#include "catalogue/names.h"

enum { MOST_REASON_BYTES = 1000 };

void writer_init(struct writer *writer, struct store *store) { *writer = (struct writer){.store = store}; }

void writer_free(struct writer *writer) {
    lookup_free(&writer->names);
    lookup_free(&writer->folders);
    sets_free(&writer->sets);
    lookup_free(&writer->series_of);
    free(writer->added);
    free(writer->series);
    bytes_free(&writer->text);
}

static int note_integer(void *context, const struct store_value *value, size_t count) {
    if (count) *(int64_t *)context = store_integer(&value[0]);
    return 0;
}

static int ask_integer(struct writer *writer, const char *statement, int64_t *number, struct problem *problem) {
    return store_ask(writer->store, &store_statement(statement, NULL, 0), note_integer, number, problem);
}

// --- names and folders: numbers instead of texts

struct naming {
    struct lookup *known;
    int64_t *next;
    const char *find, *insert;
};

static struct naming naming_of_names(struct writer *writer) {
    return (struct naming){&writer->names, &writer->next_name, "SELECT id FROM names WHERE hash = $1 AND name = $2",
                           "INSERT INTO names (id, hash, name) VALUES ($1, $2, $3)"};
}

static struct naming naming_of_folders(struct writer *writer) {
    return (struct naming){&writer->folders, &writer->next_folder,
                           "SELECT id FROM folders WHERE hash = $1 AND name = $2",
                           "INSERT INTO folders (id, hash, name) VALUES ($1, $2, $3)"};
}

// 0 if there is none.
static int find_name(struct writer *writer, const struct naming *naming, const char *text, int64_t *id,
                     struct problem *problem) {
    writer->text.len = 0;
    FORWARD(name_put(&writer->text, text));
    uint64_t hash = hash_text(0, (const char *)writer->text.data);
    uint32_t known = lookup_find(naming->known, hash);
    const struct store_value value[] = {store_of_integer((int64_t)hash),
                                        store_of_text((const char *)writer->text.data)};
    *id = known == LOOKUP_NONE ? 0 : known;
    if (*id) return 0;
    FORWARD(store_ask(writer->store, &store_statement(naming->find, value, 2), note_integer, id, problem));
    return *id ? lookup_set(naming->known, hash, (uint32_t)*id) : 0;
}

static int intern(struct writer *writer, const struct naming *naming, const char *text, int64_t *id,
                  struct problem *problem) {
    FORWARD(find_name(writer, naming, text, id, problem));
    if (*id) return 0;
    uint64_t hash = hash_text(0, (const char *)writer->text.data);
    *id = (*naming->next)++;
    const struct store_value value[] = {store_of_integer(*id), store_of_integer((int64_t)hash),
                                        store_of_text((const char *)writer->text.data)};
    FORWARD(store_run(writer->store, naming->insert, value, 3, problem));
    return lookup_set(naming->known, hash, (uint32_t)*id);
}

int writer_find_folder(struct writer *writer, const char *folder, int64_t *id, struct problem *problem) {
    const struct naming naming = naming_of_folders(writer);
    return find_name(writer, &naming, folder, id, problem);
}

// --- transactions

int writer_begin(struct writer *writer, struct problem *problem) {
    FORWARD(writer->store->operations->begin(writer->store, STORE_WRITES, problem));
    free(writer->added);
    free(writer->series);
    writer->added = NULL;
    writer->series = NULL;
    writer->added_count = writer->series_count = 0;
    writer->has_removed = false;
    lookup_clear(&writer->series_of);
    FORWARD(ask_integer(writer, "SELECT COALESCE(MAX(id), 0) + 1 FROM names", &writer->next_name, problem));
    FORWARD(ask_integer(writer, "SELECT COALESCE(MAX(id), 0) + 1 FROM folders", &writer->next_folder, problem));
    FORWARD(sets_load(&writer->sets, writer->store, problem));
    // Numbers of logs are not used again: another process may be about to remove one of them.
    FORWARD(ask_integer(writer, "SELECT next_log FROM catalogue", &writer->next_log, problem));
    writer->first_log = writer->next_log;
    return 0;
}

static int run_sums(struct writer *writer, const struct store_value *id, size_t ids, char sign,
                    struct problem *problem) {
    for (int kind = -1; kind < PART_KINDS; kind++) {
        SCOPED_FREE char *text = kind < 0 ? sums_statement(sign) : sums_part_statement((enum part_kind)kind, sign);
        SCOPED_FREE char *of_cells = sums_cell_statement(kind, sign);
        RETURN_IF(!text || !of_cells, -ENOMEM);
        FORWARD(store_run(writer->store, text, id, ids, problem));
        FORWARD(store_run(writer->store, of_cells, id, ids, problem));
    }
    SCOPED_FREE char *of_days = sums_day_statement(sign);
    RETURN_IF(!of_days, -ENOMEM);
    return store_run(writer->store, of_days, id, ids, problem);
}

static int add_sums(struct writer *writer, struct problem *problem) {
    for (size_t at = 0; at < writer->added_count; at += SUMS_AT_ONCE) {
        struct store_value id[SUMS_AT_ONCE];
        for (size_t i = 0; i < SUMS_AT_ONCE; i++)
            id[i] = store_of_integer(at + i < writer->added_count ? writer->added[at + i] : -1);
        FORWARD(run_sums(writer, id, SUMS_AT_ONCE, '+', problem));
    }
    const struct store_value range[] = {store_of_integer(writer->first_log), store_of_integer(writer->next_log)};
    return writer->next_log > writer->first_log ? run_sums(writer, range, 2, 0, problem) : 0;
}

// Sums of no job, and programs whose runs have changed.
static int add_consequences(struct writer *writer, struct problem *problem) {
    static const char *const statements[] = {"DELETE FROM sums WHERE jobs < 0.5",
                                             "DELETE FROM layer_sums WHERE jobs < 0.5",
                                             "DELETE FROM size_sums WHERE jobs < 0.5",
                                             "DELETE FROM file_sums WHERE jobs < 0.5",
                                             "DELETE FROM system_sums WHERE jobs < 0.5",
                                             "DELETE FROM finding_sums WHERE jobs < 0.5",
                                             "DELETE FROM cell_sums WHERE jobs < 0.5",
                                             "DELETE FROM cell_layer_sums WHERE jobs < 0.5",
                                             "DELETE FROM cell_size_sums WHERE jobs < 0.5",
                                             "DELETE FROM cell_file_sums WHERE jobs < 0.5",
                                             "DELETE FROM cell_system_sums WHERE jobs < 0.5",
                                             "DELETE FROM cell_finding_sums WHERE jobs < 0.5",
                                             "DELETE FROM day_sums WHERE jobs < 0.5"};
    const struct store_value next = store_of_integer(writer->next_log);
    FORWARD(store_run(writer->store, "UPDATE catalogue SET next_log = $1", &next, 1, problem));
    FORWARD(add_sums(writer, problem));
    for (size_t i = 0; i < sizeof statements / sizeof *statements && writer->has_removed; i++)
        FORWARD(store_run(writer->store, statements[i], NULL, 0, problem));
    for (size_t i = 0; i < writer->series_count; i++)
        FORWARD(slower_update(writer->store, &writer->series[i], problem));
    return 0;
}

int writer_end(struct writer *writer, int code, struct problem *problem) {
    if (code >= 0) code = add_consequences(writer, problem);
    if (code >= 0) code = writer->store->operations->commit(writer->store, problem);
    if (code >= 0) return code;
    writer->store->operations->roll_back(writer->store);
    lookup_clear(&writer->names); // numbers of this transaction are not taken
    lookup_clear(&writer->folders);
    return code;
}

// --- jobs

static int note_series(struct writer *writer, const int64_t key[3]) {
    uint32_t place;
    const struct series series = {key[0], key[1], key[2]};
    return lookup_intern(&writer->series_of, hash_bytes(0, key, 3 * sizeof *key), place, writer->series,
                         writer->series_count, series);
}

static int note_old_series(void *context, const struct store_value *value, size_t count) {
    int64_t *key = context;
    for (size_t i = 0; i < 3 && i < count; i++) key[i] = store_integer(&value[i]);
    return 0;
}

// Takes a job, if the log has one, out of the sums and its tables.
static int forget_job(struct writer *writer, int64_t id, struct problem *problem) {
    static const char *const statements[] = {"DELETE FROM job_layers WHERE job_id = $1",
                                             "DELETE FROM job_sizes WHERE job_id = $1",
                                             "DELETE FROM job_files WHERE job_id = $1",
                                             "DELETE FROM job_systems WHERE job_id = $1",
                                             "DELETE FROM job_findings WHERE job_id = $1",
                                             "DELETE FROM job_sets WHERE job_id = $1",
                                             "DELETE FROM jobs WHERE id = $1"};
    struct store_value ids[SUMS_AT_ONCE];
    int64_t key[3] = {-1, -1, -1};
    ids[0] = store_of_integer(id);
    for (size_t i = 1; i < SUMS_AT_ONCE; i++) ids[i] = store_of_integer(-1);
    FORWARD(store_ask(writer->store,
                      &store_statement("SELECT user_id, program_id, nprocs FROM jobs WHERE id = $1", ids, 1),
                      note_old_series, key, problem));
    if (key[0] < 0) return 0;
    FORWARD(note_series(writer, key));
    if (id < writer->first_log) FORWARD(run_sums(writer, ids, SUMS_AT_ONCE, '-', problem));
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        FORWARD(store_run(writer->store, statements[i], ids, 1, problem));
    writer->has_removed = true;
    return 0;
}

int writer_remove(struct writer *writer, int64_t id, struct problem *problem) {
    const struct store_value value = store_of_integer(id);
    FORWARD(forget_job(writer, id, problem));
    return store_run(writer->store, "DELETE FROM logs WHERE id = $1", &value, 1, problem);
}

static int put_numbers(struct writer *writer, int64_t id, const int64_t number[JOBS_NUMBERS], struct problem *problem) {
    struct store_value value[JOBS_NUMBERS + 2] = {store_of_integer(id)};
    char text[1024] = "INSERT INTO jobs VALUES ($1";
    for (size_t i = 0, len = strlen(text); i <= JOBS_NUMBERS; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, ", $%zu", i + 2);
    strcat(text, ")");
    for (size_t i = 0; i < JOBS_NUMBERS; i++) value[i + 1] = store_of_integer(number[i]);
    double share = number[JOBS_SHARE_KNOWN] ? (double)number[JOBS_IO] / (double)number[JOBS_RUN] : -1;
    value[JOBS_NUMBERS + 1] = (struct store_value){.kind = STORE_REAL, .real = share < 1 ? share : 1};
    return store_run(writer->store, text, value, JOBS_NUMBERS + 2, problem);
}

static int put_part(struct writer *writer, int64_t id, const struct job_part *part, int64_t *name,
                    struct problem *problem) {
    const struct naming naming = naming_of_names(writer);
    const struct part_table *table = &part_tables[part->kind];
    struct store_value value[2 + PART_NUMBERS] = {store_of_integer(id)};
    char text[256];
    FORWARD(intern(writer, &naming, part->name, name, problem));
    value[1] = store_of_integer(*name);
    size_t count = 2, len = (size_t)snprintf(text, sizeof text, "INSERT INTO %s VALUES ($1, $2", table->rows);
    for (; table->column[count - 2]; count++) {
        value[count] = store_of_integer(part->number[count - 2]);
        len += (size_t)snprintf(text + len, sizeof text - len, ", $%zu", count + 1);
    }
    strcat(text, ")");
    return store_run(writer->store, text, value, count, problem);
}

static int put_job(struct writer *writer, int64_t id, const struct job *job, struct problem *problem) {
    const struct naming naming = naming_of_names(writer);
    SCOPED_FREE int64_t *system = malloc((job->parts + 1) * sizeof *system);
    int64_t number[JOBS_NUMBERS], name;
    size_t systems = 0;
    RETURN_IF(!system, -ENOMEM);
    memcpy(number, job->number, sizeof number);
    FORWARD(intern(writer, &naming, job->text[JOB_TEXT_USER], &number[JOBS_USER], problem));
    FORWARD(intern(writer, &naming, job->text[JOB_TEXT_PROGRAM], &number[JOBS_PROGRAM], problem));
    FORWARD(put_numbers(writer, id, number, problem));
    for (size_t i = 0; i < job->parts; i++) {
        FORWARD(put_part(writer, id, &job->part[i], &name, problem));
        if (job->part[i].kind == PART_SYSTEM) system[systems++] = name;
    }
    FORWARD(sets_put(&writer->sets, writer->store, id, system, systems, problem));
    FORWARD(note_series(writer, (int64_t[]){number[JOBS_USER], number[JOBS_PROGRAM], number[JOBS_NPROCS]}));
    return id < writer->first_log ? array_push(writer->added, writer->added_count, id) : 0;
}

// --- logs

struct known_log {
    int64_t id;
    struct log_state state;
    bool is_bad;
};

static int note_log(void *context, const struct store_value *value, size_t count) {
    (void)count;
    *(struct known_log *)context =
        (struct known_log){store_integer(&value[0]),
                           {store_integer(&value[1]), store_integer(&value[2]), store_integer(&value[3])},
                           value[4].kind == STORE_TEXT};
    return 0;
}

enum { PUT_TEXTS = 5 }; // name, reason, host, batch, command

// The texts of the row as the database takes them; those that are empty are not known.
static int put_log(struct writer *writer, const struct store_value key[2], const char *const text[PUT_TEXTS],
                   const struct log_state *state, struct problem *problem) {
    SCOPED(bytes_free) struct bytes store = {0};
    size_t at[PUT_TEXTS];
    for (size_t i = 0; i < PUT_TEXTS; i++) {
        at[i] = store.len;
        FORWARD(name_put(&store, text[i] ? text[i] : ""));
    }
    struct store_value value[10] = {key[0], key[1]};
    static const size_t place[PUT_TEXTS] = {2, 6, 7, 8, 9};
    for (size_t i = 0; i < PUT_TEXTS; i++) {
        if (text[i] && *text[i]) value[place[i]] = store_of_text((const char *)store.data + at[i]);
    }
    value[3] = store_of_integer(state->size);
    value[4] = store_of_integer(state->mtime_ns);
    value[5] = store_of_integer(state->inode);
    return store_run(
        writer->store,
        "INSERT INTO logs (id, folder_id, name, size, mtime_ns, inode, reason, host, batch, command) VALUES "
        "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO UPDATE SET size = excluded.size, "
        "mtime_ns = excluded.mtime_ns, inode = excluded.inode, reason = excluded.reason, host = "
        "excluded.host, batch = excluded.batch, command = excluded.command",
        value, 10, problem);
}

static int find_log(struct writer *writer, int64_t folder, const char *name, struct known_log *known,
                    struct problem *problem) {
    writer->text.len = 0;
    FORWARD(name_put(&writer->text, name));
    const struct store_value value[] = {store_of_integer(folder), store_of_text((const char *)writer->text.data)};
    return store_ask(
        writer->store,
        &store_statement("SELECT id, size, mtime_ns, inode, reason FROM logs WHERE folder_id = $1 AND name = $2", value,
                         2),
        note_log, known, problem);
}

int writer_put(struct writer *writer, const struct log_entry *log, const struct job *job, const char *reason,
               struct problem *problem) {
    const struct naming naming = naming_of_folders(writer);
    char why[MOST_REASON_BYTES];
    struct known_log known = {0};
    int64_t folder;
    FORWARD(intern(writer, &naming, log->folder, &folder, problem));
    FORWARD(find_log(writer, folder, log->name, &known, problem));
    if (known.id && !known.is_bad && !memcmp(&known.state, &log->state, sizeof known.state)) return WRITER_SAME;
    if (known.id) FORWARD(forget_job(writer, known.id, problem));
    int64_t id = known.id ? known.id : writer->next_log++;
    snprintf(why, sizeof why, "%s", reason ? reason : "");
    const struct store_value key[] = {store_of_integer(id), store_of_integer(folder)};
    const char *const text[PUT_TEXTS] = {log->name, job ? NULL : why, job ? job->text[JOB_TEXT_HOST] : NULL,
                                         job ? job->text[JOB_TEXT_BATCH] : NULL,
                                         job ? job->text[JOB_TEXT_COMMAND] : NULL};
    FORWARD(put_log(writer, key, text, &log->state, problem));
    if (job) FORWARD(put_job(writer, id, job, problem));
    return known.id && !known.is_bad ? WRITER_UPDATED : WRITER_ADDED;
}
