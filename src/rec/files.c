#include "rec/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "fmt/fields.h"
#include "rec/asking.h"
#include "rec/handles.h"
#include "rec/memory.h"
#include "rec/name_pattern.h"
#include "rec/recorder.h"
#include "rec/spill.h"

enum { BUCKETS = 4096 };

PER_PROCESS static struct file *_Atomic *bucket;
PER_PROCESS static _Atomic uint32_t file_count;
PER_PROCESS static _Atomic uint32_t object_count;     // of these, objects inside files: they must not use up the names
PER_PROCESS static _Atomic uint32_t group_count;      // and those that stand for several files
PER_PROCESS static _Atomic uint32_t full_since;       // generation + 1 in which there was no room for further counters
PER_PROCESS static struct file *_Atomic common_file;  // for all names after the caps of files and directories
PER_PROCESS static struct file *_Atomic unnamed_file; // for files whose name is not known

PER_PROCESS static struct { // hashes of names after the file cap; of a sample of them if there is no room for all
    uint64_t *place;
    uint32_t count;
    uint32_t generation;
    unsigned halvings; // one in 2^halvings names is in the sample
} seen;

enum { PATTERN_PLACES = 256, PATTERNS_IN_DIRECTORY = 16 };
PER_PROCESS static _Atomic uint8_t patterns_in[PATTERN_PLACES]; // of directories, by hash of their pattern
PER_PROCESS static struct {
    size_t len;
    uint64_t hash;
} start_folder; // the working directory at the start

// The current directory. It is read when it is first needed, and again after a change.
PER_PROCESS static char cwd[PATH_MAX];
PER_PROCESS static size_t cwd_len;
PER_PROCESS static _Atomic bool cwd_known;
static _Atomic uint32_t cwd_lock;
PER_PROCESS _Atomic uint32_t files_cwd_number;

int files_init(void) {
    bucket = memory_pages(BUCKETS * sizeof *bucket);
    return bucket ? 0 : -ENOMEM;
}

static size_t real_cwd(char out[PATH_MAX]) {
    long len = ask_cwd(out, PATH_MAX);
    return len > 1 && out[0] == '/' ? (size_t)len - 1 : 0;
}

// A signal handler may have interrupted the holder of the lock on the same thread, so no caller waits for the lock: if
// it is taken, the caller asks the kernel.
static size_t copy_cwd(char *out) {
    if (!spin_try(&cwd_lock)) return real_cwd(out);
    // Set before the directory is read: a change in between resets it.
    if (!atomic_exchange(&cwd_known, true)) cwd_len = real_cwd(cwd);
    size_t len = cwd_len;
    memcpy(out, cwd, len);
    spin_unlock(&cwd_lock);
    return len;
}

void files_forget_cwd(void) {
    atomic_store(&cwd_known, false);
    atomic_fetch_add(&files_cwd_number, 1);
}

bool files_has_dotdot(const char *path) {
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 2, "..")) {
        if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2])) return true;
    }
    return false;
}

// Appends the components of `path` to name[0..len), which has no slash at its end.
static size_t fold(char name[FILES_NAME_MAX], size_t len, const char *path) {
    for (const char *at = path; *at;) {
        while (*at == '/') at++;
        size_t part = strcspn(at, "/");
        if (part == 0 || (part == 1 && at[0] == '.')) {
            at += part;
        } else if (part == 2 && at[0] == '.' && at[1] == '.') {
            while (len > 0 && name[--len] != '/') {
            }
            at += part;
        } else {
            if (len + part + 2 > FILES_NAME_MAX) return 0;
            name[len++] = '/';
            memcpy(name + len, at, part);
            len += part;
            at += part;
        }
    }
    if (len == 0) name[len++] = '/';
    name[len] = 0;
    return len;
}

// Most paths are absolute and need no folding.
static size_t copy_clean(char name[FILES_NAME_MAX], const char *path) {
    size_t len = strlen(path);
    if (len < 2 || len >= FILES_NAME_MAX || path[len - 1] == '/') return 0;
    for (const char *at = path; *at; at++) {
        if (at[0] == '/' && (at[1] == '/' || at[1] == '.')) return 0;
    }
    memcpy(name, path, len + 1);
    return len;
}

size_t files_absolute(char name[FILES_NAME_MAX], int dirfd, const char *path) {
    size_t len = 0;
    if (path && path[0] == '/' && dirfd != FILES_SHM_DIRFD) {
        len = copy_clean(name, path);
        return len ? len : fold(name, 0, path);
    }
    if (dirfd == AT_FDCWD) {
        len = copy_cwd(name);
        if (len == 0) return 0;
    } else if (dirfd == FILES_SHM_DIRFD) {
        len = sizeof "/dev/shm" - 1;
        memcpy(name, "/dev/shm", len);
    } else {
        len = handles_name(dirfd, name);
        if (len == 0) return 0;
    }
    if (len == 1) len = 0; // the root: fold() adds the slash
    return fold(name, len, path ? path : "");
}

char *files_borrow_buffer(void) {
    struct thread *thread = current_thread;
    if (!thread || thread->name_taken) return NULL;
    thread->name_taken = true;
    return thread->name;
}

void files_return_buffer(void) { current_thread->name_taken = false; }

uint64_t files_hash(const char *name, size_t len) {
    uint64_t hash = 0x9e3779b97f4a7c15u ^ len;
    for (; len >= 8; name += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, name, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    uint64_t word = 0;
    memcpy(&word, name, len);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

// --- entries

// A name, or a directory and what stands for the other files in it.
struct key {
    const char *name;
    size_t len;
    uint64_t hash;
    enum file_kind kind;
};

static const struct {
    const char *text;
    size_t len;
} suffix[] = {
#define OTHERS "/(other files)"
#define OTHER_OBJECTS OTHERS "\0(other objects)"
    [FILE_ITSELF] = {"", 0},
    [FILE_PATTERN] = {"", 0},
    [FILE_OTHERS] = {OTHERS, sizeof OTHERS - 1},
    [FILE_OTHER_OBJECTS] = {OTHER_OBJECTS, sizeof OTHER_OBJECTS - 1},
    [FILE_COMMON] = {"", 0},
    [FILE_UNNAMED] = {"", 0},
};

static struct file *make_file(const struct key *key) {
    size_t len = key->len + suffix[key->kind].len;
    struct file *file = memory_alloc(sizeof *file + len + 1);
    if (!file) return NULL;
    file->hash = key->hash;
    file->kind = key->kind;
    file->name_len = (uint32_t)len;
    file->counters_generation = UINT32_MAX;
    memcpy(file->name, key->name, key->len);
    memcpy(file->name + key->len, suffix[key->kind].text, suffix[key->kind].len);
    file->id = atomic_fetch_add(&file_count, 1) + 1;
    if (key->kind != FILE_ITSELF)
        atomic_fetch_add(&group_count, 1);
    else if (memchr(key->name, 0, key->len))
        atomic_fetch_add(&object_count, 1);
    return file;
}

static struct file *find(struct file *first, const struct key *key) {
    size_t len = key->len + suffix[key->kind].len;
    for (struct file *file = first; file; file = file->next) {
        if (file->hash == key->hash && file->name_len == len && file->kind == key->kind &&
            memcmp(file->name, key->name, key->len) == 0)
            return file;
    }
    return NULL;
}

static struct file *_Atomic *head_of(const struct key *key) { return &bucket[key->hash % BUCKETS]; }

static struct file *find_entry(const struct key *key) {
    return find(atomic_load_explicit(head_of(key), memory_order_acquire), key);
}

static struct file *find_or_make(const struct key *key) {
    struct file *_Atomic *head = head_of(key);
    struct file *first = atomic_load_explicit(head, memory_order_acquire), *file = find(first, key);
    if (file || !(file = make_file(key))) return file;
    do {
        struct file *others = find(first, key);
        if (others) return others;
        file->next = first;
    } while (!atomic_compare_exchange_strong(head, &first, file));
    return file;
}

static struct file *common(struct file *_Atomic *place, const char *name, enum file_kind kind) {
    struct file *file = atomic_load(place);
    if (!file && (file = make_file(&(struct key){name, strlen(name), 0, kind}))) {
        struct file *expected = NULL;
        if (!atomic_compare_exchange_strong(place, &expected, file)) file = expected;
    }
    return file;
}

struct file *files_unnamed(void) {
    spill_count_loss(LOSS_NO_NAME, 1);
    return common(&unnamed_file, "(files without a name)", FILE_UNNAMED);
}

// --- past the caps: entries of directories

// The length of the name of the directory that it is in, 0 for the root, or of the directory above; SIZE_MAX: none.
static size_t parent_len(const char *name, size_t len) {
    while (len > 0 && name[--len] != '/') {
    }
    return *name == '/' ? len : SIZE_MAX;
}

void files_start_in(const char *folder, size_t len) {
    start_folder.len = len;
    start_folder.hash = files_hash(folder, len);
}

// Numbers in the working directory at the start, or else in two directories below the root, tell file systems, users
// and runs apart.
static size_t kept_of_pattern(const char *name, size_t len) {
    const size_t start = start_folder.len;
    if (start && start < len && name[start] == '/' && files_hash(name, start) == start_folder.hash) return start;
    unsigned slashes = 0;
    for (size_t i = 0; i < len; i++) {
        slashes += name[i] == '/';
        if (slashes == 3) return i;
    }
    return parent_len(name, len);
}

// Names of random letters would use up all entries: a directory has a few patterns. Half of the entries are for
// directories.
static bool may_make_pattern(const char *pattern, size_t len) {
    if (atomic_load(&group_count) >= recorder.directory_cap / 2) return false;
    _Atomic uint8_t *count = &patterns_in[files_hash(pattern, parent_len(pattern, len)) % PATTERN_PLACES];
    return *count < PATTERNS_IN_DIRECTORY && atomic_fetch_add(count, 1) < PATTERNS_IN_DIRECTORY;
}

// The entry for all names that differ in numbers only; NULL: there is none.
static struct file *pattern_of(const char *name, size_t len) {
    char pattern[NAME_PATTERN_MAX];
    if (*name != '/') return NULL;
    struct key key = {pattern, name_pattern(pattern, name, len, kept_of_pattern(name, len)), 0, FILE_PATTERN};
    if (!key.len) return NULL;
    key.hash = files_hash(pattern, key.len) ^ FILE_PATTERN;
    struct file *file = find_entry(&key);
    return file || !may_make_pattern(pattern, key.len) ? file : find_or_make(&key);
}

// Up to a number of directories each gets an entry. After that the nearest directory above that has one stands for its
// files, or else one entry for all.
static struct file *group_of(const char *name, size_t path_len, enum file_kind kind, bool may_make) {
    struct key key = {.name = name, .len = path_len, .kind = kind};
    may_make = may_make && atomic_load(&group_count) < recorder.directory_cap;
    while (key.len && (key.len = parent_len(name, key.len)) != SIZE_MAX) {
        key.hash = files_hash(name, key.len) ^ (uint64_t)kind;
        struct file *file = may_make ? find_or_make(&key) : find_entry(&key);
        if (file) return file;
        may_make = false;
    }
    return common(&common_file, "(files past the file cap)", FILE_COMMON);
}

// Guards what follows, up to the number of files in a group.
static _Atomic uint32_t members_lock;

enum { SEEN_PLACES = 1 << 16, SEEN_MOST = SEEN_PLACES / 4 * 3 };

static bool is_in_sample(uint64_t hash) { return !seen.halvings || hash >> (64 - seen.halvings) == 0; }

static bool add_seen(uint64_t hash) {
    size_t at = (hash >> 1) % SEEN_PLACES;
    while (seen.place[at] && seen.place[at] != hash) at = (at + 1) % SEEN_PLACES;
    if (seen.place[at]) return false;
    seen.place[at] = hash;
    seen.count++;
    return true;
}

// Only names of a sample of half the size are remembered from here on. Those behind an empty place are put back in
// their order, so that each finds a place at or before the one that it had.
static void halve_sample(void) {
    size_t from = 0;
    while (seen.place[from]) from++;
    seen.halvings++;
    seen.count = 0;
    for (size_t i = 1; i <= SEEN_PLACES; i++) {
        uint64_t *place = &seen.place[(from + i) % SEEN_PLACES], hash = *place;
        *place = 0;
        if (hash && is_in_sample(hash)) add_seen(hash);
    }
}

// How many names a name stands for: 0 if it was seen before or is not in the sample. Memory is bounded: all names are
// remembered as long as there is room.
static uint32_t first_use(uint64_t hash) {
    hash |= 1;
    if (!seen.place && !(seen.place = memory_pages(SEEN_PLACES * sizeof *seen.place))) return 0;
    if (seen.generation != recorder.generation) { // a forked child counts its own
        memset(seen.place, 0, SEEN_PLACES * sizeof *seen.place);
        seen.count = seen.halvings = 0;
        seen.generation = recorder.generation;
    }
    if (!is_in_sample(hash) || !add_seen(hash)) return 0;
    uint32_t names = 1u << seen.halvings;
    if (seen.count == SEEN_MOST && seen.halvings < 31) halve_sample();
    return names;
}

static void renew_members(struct file *file) {
    if (file->members_generation == recorder.generation) return;
    file->members_place = NULL;
    file->members_generation = recorder.generation;
    file->members = 0;
}

static void add_members(struct file *file, uint32_t count) {
    renew_members(file);
    file->members += count;
    if (file->members_place) memcpy(file->members_place, &file->members, sizeof file->members);
}

// Objects in files past the cap have names that begin with that of the entry for these files.
static bool names_group(const char *name, size_t path_len) {
    size_t len = suffix[FILE_OTHERS].len;
    if (path_len >= len && memcmp(name + path_len - len, suffix[FILE_OTHERS].text, len) == 0) return true;
    return find_entry(&(struct key){name, path_len, files_hash(name, path_len) ^ FILE_PATTERN, FILE_PATTERN});
}

static struct file *group_of_name(const char *name, size_t path_len, enum file_kind kind) {
    struct file *file = kind == FILE_OTHERS ? pattern_of(name, path_len) : NULL;
    return file ? file : group_of(name, path_len, kind, true);
}

static struct file *count_member(struct file *file, const char *name, size_t path_len, uint64_t hash) {
    spill_count_loss(LOSS_FILE_CAP, 1);
    if (!file || names_group(name, path_len) || !spin_lock_in_time(&members_lock)) return file;
    uint32_t names = first_use(hash);
    if (names) add_members(file, names);
    spin_unlock(&members_lock);
    return file;
}

void files_are_full(void) { atomic_store(&full_since, recorder.generation + 1); }

static bool is_past_cap(const char *name, size_t len) {
    uint32_t objects = atomic_load(&object_count), groups = atomic_load(&group_count);
    uint32_t files = atomic_load(&file_count) - objects - groups;
    return (memchr(name, 0, len) ? objects : files) >= recorder.file_cap ||
           atomic_load(&full_since) == recorder.generation + 1;
}

static struct key key_of(const char *name, size_t len) {
    return (struct key){name, len, files_hash(name, len), FILE_ITSELF};
}

static struct file *make_entry(const struct key *key) {
    if (!is_past_cap(key->name, key->len)) return find_or_make(key);
    size_t path_len = strnlen(key->name, key->len);
    enum file_kind kind = path_len < key->len ? FILE_OTHER_OBJECTS : FILE_OTHERS;
    return count_member(group_of_name(key->name, path_len, kind), key->name, path_len, key->hash);
}

struct file *files_entry(const char *name, size_t len) {
    struct key key = key_of(name, len);
    struct file *file = find_entry(&key);
    return file ? file : make_entry(&key);
}

// What is left out has no entry.
struct file *files_wanted(const char *name, size_t len, bool *left_out) {
    struct key key = key_of(name, len);
    struct file *file = find_entry(&key);
    *left_out = !file && files_is_left_out(name);
    return file || *left_out ? file : make_entry(&key);
}

struct file *files_stand_in(struct file *file) {
    struct file *place = atomic_load(&file->stand_in);
    if (place || file->kind >= FILE_COMMON) return place;
    size_t path_len = strnlen(file->name, file->name_len);
    enum file_kind kind = path_len < file->name_len ? FILE_OTHER_OBJECTS : FILE_OTHERS;
    if (file->kind == FILE_ITSELF)
        place = count_member(group_of_name(file->name, path_len, kind), file->name, path_len, file->hash);
    else // of the directory, or of the one above
        place =
            group_of(file->name, file->kind == FILE_PATTERN ? path_len : parent_len(file->name, path_len), kind, false);
    atomic_store(&file->stand_in, place);
    return place;
}

int files_each(int (*visit)(void *context, struct file *file), void *context) {
    struct file *common[] = {atomic_load(&common_file), atomic_load(&unnamed_file)};
    int code = 0;
    for (unsigned i = 0; i < sizeof common / sizeof *common && code >= 0; i++)
        code = common[i] ? visit(context, common[i]) : 0;
    for (unsigned i = 0; i < BUCKETS && code >= 0; i++) {
        struct file *file = atomic_load_explicit(&bucket[i], memory_order_acquire);
        for (; file && code >= 0; file = file->next) code = visit(context, file);
    }
    return code < 0 ? code : 0;
}

// Of entries for several files: where these are, and their block size, which is mostly the same.
void files_note_stat(struct file *file, const struct stat *data) {
    if (file->kind == FILE_UNNAMED) return;
    bool is_single = file->kind == FILE_ITSELF;
    atomic_store_explicit(&file->device, file->kind == FILE_COMMON ? 0 : data->st_dev, memory_order_relaxed);
    atomic_store_explicit(&file->inode, is_single ? data->st_ino : 0, memory_order_relaxed);
    atomic_store_explicit(&file->type, is_single ? data->st_mode & S_IFMT : 0, memory_order_relaxed);
    atomic_store_explicit(&file->block_bytes, (uint32_t)data->st_blksize, memory_order_release);
}

// The number stays where it is in the spill file and grows there, so that it counts even if the process is killed.
static void announce_members(struct file *file) {
    struct fields_out out;
    if (!spin_lock_in_time(&members_lock)) return;
    renew_members(file);
    if (!file->members_place && spill_begin_record(&out, 64)) {
        fields_begin(&out, RECORD_AGGREGATE);
        fields_number(&out, AGGREGATE_FILE, file->id);
        fields_bytes(&out, AGGREGATE_MEMBERS, &file->members, sizeof file->members);
        file->members_place = out.at - sizeof file->members;
        fields_end(&out); // moves nothing: the length of so short a record takes one byte
        spill_end_record(&out);
    }
    spin_unlock(&members_lock);
}

void files_announce_new(struct file *file, uint32_t state) {
    enum { FIELDS_ROOM = 128 }; // for all but the name
    bool has_facts = state % 2;
    struct fields_out out;
    if (!spill_begin_record(&out, file->name_len + FIELDS_ROOM)) return;
    fields_begin(&out, RECORD_FILE);
    fields_number(&out, FILE_ID, file->id);
    size_t name_len = strnlen(file->name, file->name_len);
    fields_bytes(&out, FILE_NAME, file->name, name_len);
    if (name_len < file->name_len)
        fields_bytes(&out, FILE_OBJECT, file->name + name_len + 1, file->name_len - name_len - 1);
    if (has_facts) {
        fields_number(&out, FILE_DEVICE, file->device);
        fields_number(&out, FILE_INODE, file->inode);
        fields_number(&out, FILE_BLOCK_SIZE, file->block_bytes);
        fields_number(&out, FILE_TYPE, file->type);
    }
    fields_end(&out);
    spill_end_record(&out);
    if (files_is_group(file)) announce_members(file);
    atomic_store_explicit(&file->announced, state, memory_order_relaxed);
}
