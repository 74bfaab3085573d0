#include "rec/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "fmt/fields.h"
#include "rec/asking.h"
#include "rec/handles.h"
#include "rec/memory.h"
#include "rec/recorder.h"
#include "rec/spill.h"

enum { BUCKETS = 4096 };

PER_PROCESS static struct file *_Atomic *bucket;
PER_PROCESS static _Atomic uint32_t file_count;
PER_PROCESS static _Atomic uint32_t object_count;     // of these, objects inside files: they must not use up the names
PER_PROCESS static struct file *_Atomic common_file;  // for all names after the file cap
PER_PROCESS static struct file *_Atomic unnamed_file; // for files whose name is not known

// The current directory. It is read when it is first needed, and again after a change.
PER_PROCESS static char cwd[PATH_MAX];
PER_PROCESS static size_t cwd_len;
PER_PROCESS static _Atomic bool cwd_known;
static _Atomic uint32_t cwd_lock;

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

void files_forget_cwd(void) { atomic_store(&cwd_known, false); }

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

static uint64_t hash_name(const char *name, size_t len) {
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

static struct file *make_file(const char *name, size_t len, uint64_t hash) {
    struct file *file = memory_alloc(sizeof *file + len + 1);
    if (!file) return NULL;
    file->hash = hash;
    file->name_len = (uint32_t)len;
    file->counters_generation = UINT32_MAX;
    memcpy(file->name, name, len);
    file->id = atomic_fetch_add(&file_count, 1) + 1;
    return file;
}

static struct file *common(struct file *_Atomic *place, const char *name, enum loss_reason reason) {
    struct file *file = atomic_load(place);
    if (!file && (file = make_file(name, strlen(name), 0))) {
        struct file *expected = NULL;
        if (!atomic_compare_exchange_strong(place, &expected, file)) file = expected;
    }
    spill_count_loss(reason, 1);
    return file;
}

struct file *files_unnamed(void) {
    return common(&unnamed_file, "(files without a name)", LOSS_NO_NAME);
}

static bool is_past_cap(const char *name, size_t len) {
    uint32_t objects = atomic_load(&object_count), files = atomic_load(&file_count) - objects;
    return (memchr(name, 0, len) ? objects : files) >= recorder.file_cap;
}

struct file *files_entry(const char *name, size_t len) {
    uint64_t hash = hash_name(name, len);
    struct file *_Atomic *head = &bucket[hash % BUCKETS];
    struct file *fresh = NULL;
    struct file *first = atomic_load_explicit(head, memory_order_acquire);
    for (;;) {
        for (struct file *file = first; file; file = file->next) {
            if (file->hash == hash && file->name_len == len && memcmp(file->name, name, len) == 0) return file;
        }
        if (!fresh) {
            if (is_past_cap(name, len)) return common(&common_file, "(files past the file cap)", LOSS_FILE_CAP);
            fresh = make_file(name, len, hash);
            if (!fresh) return NULL;
            if (memchr(name, 0, len)) atomic_fetch_add(&object_count, 1);
        }
        fresh->next = first;
        if (atomic_compare_exchange_strong(head, &first, fresh)) return fresh;
    }
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

void files_note_stat(struct file *file, const struct stat *data) {
    if (file == atomic_load(&common_file) || file == atomic_load(&unnamed_file)) return;
    atomic_store_explicit(&file->device, data->st_dev, memory_order_relaxed);
    atomic_store_explicit(&file->inode, data->st_ino, memory_order_relaxed);
    atomic_store_explicit(&file->block_bytes, (uint32_t)data->st_blksize, memory_order_relaxed);
    atomic_store_explicit(&file->type, data->st_mode & S_IFMT, memory_order_release);
}

void files_announce(struct file *file) {
    uint32_t state = (recorder.generation + 1) * 2 + (file->type != 0);
    if (atomic_load_explicit(&file->announced, memory_order_relaxed) >= state) return;
    enum { FIELDS_ROOM = 128 }; // for all but the name
    struct fields_out out;
    if (!spill_begin_record(&out, file->name_len + FIELDS_ROOM)) return;
    fields_begin(&out, RECORD_FILE);
    fields_number(&out, FILE_ID, file->id);
    size_t name_len = strnlen(file->name, file->name_len);
    fields_bytes(&out, FILE_NAME, file->name, name_len);
    if (name_len < file->name_len)
        fields_bytes(&out, FILE_OBJECT, file->name + name_len + 1, file->name_len - name_len - 1);
    if (file->type) {
        fields_number(&out, FILE_DEVICE, file->device);
        fields_number(&out, FILE_INODE, file->inode);
        fields_number(&out, FILE_BLOCK_SIZE, file->block_bytes);
        fields_number(&out, FILE_TYPE, file->type);
    }
    fields_end(&out);
    spill_end_record(&out);
    atomic_store_explicit(&file->announced, state, memory_order_relaxed);
}
