#include "base/preload.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu.h"

// --- the file of a program

enum { SEGMENTS = 32, ENTRIES = 128, SCRIPTS = 4, LINE_ROOM = 256 };

static const char *const runtimes[] = {"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt."};

struct program {
    int fd;
    size_t bytes_read;
    unsigned segments;
    Elf64_Phdr segment[SEGMENTS];
};

static long read_at(struct program *program, uint64_t offset, void *out, size_t bytes) {
    long got = cpu_syscall(SYS_pread64, program->fd, out, bytes, offset);
    if (got > 0) program->bytes_read += (size_t)got;
    return got;
}

static bool read_segments(struct program *program) {
    Elf64_Ehdr head;
    if (read_at(program, 0, &head, sizeof head) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof *program->segment) {
        return false;
    }
    program->segments = head.e_phnum < SEGMENTS ? head.e_phnum : SEGMENTS;
    long bytes = (long)(program->segments * sizeof *program->segment);
    return read_at(program, head.e_phoff, program->segment, (size_t)bytes) == bytes;
}

static const Elf64_Phdr *segment_of_type(const struct program *program, uint32_t type) {
    for (unsigned i = 0; i < program->segments; i++) {
        if (program->segment[i].p_type == type) return &program->segment[i];
    }
    return NULL;
}

// 0: the file does not hold it.
static uint64_t offset_of_address(const struct program *program, uint64_t address) {
    for (unsigned i = 0; i < program->segments; i++) {
        const Elf64_Phdr *part = &program->segment[i];
        if (part->p_type == PT_LOAD && address >= part->p_vaddr && address - part->p_vaddr < part->p_filesz) {
            return address - part->p_vaddr + part->p_offset;
        }
    }
    return 0;
}

struct dynamic {
    Elf64_Dyn entry[ENTRIES];
    size_t count;
};

static bool read_dynamic(struct program *program, struct dynamic *dynamic) {
    const Elf64_Phdr *segment = segment_of_type(program, PT_DYNAMIC);
    if (!segment) return false;
    size_t bytes = segment->p_filesz < sizeof dynamic->entry ? segment->p_filesz : sizeof dynamic->entry;
    long got = read_at(program, segment->p_offset, dynamic->entry, bytes);
    dynamic->count = got > 0 ? (size_t)got / sizeof *dynamic->entry : 0;
    return dynamic->count;
}

// Finds the next entry of a kind from `at` on; moves `at` behind it.
static bool next_entry(const struct dynamic *dynamic, int64_t tag, size_t *at, uint64_t *value) {
    for (; *at < dynamic->count && dynamic->entry[*at].d_tag != DT_NULL; (*at)++) {
        if (dynamic->entry[*at].d_tag != tag) continue;
        *value = dynamic->entry[(*at)++].d_un.d_val;
        return true;
    }
    return false;
}

static bool is_runtime(const char *name) {
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
        if (strncmp(name, runtimes[i], strlen(runtimes[i])) == 0) return true;
    }
    return false;
}

static bool find_runtime(struct program *program, char name[PRELOAD_NAME_ROOM]) {
    uint64_t strings, needed;
    size_t at = 0;
    struct dynamic dynamic;
    if (!read_segments(program) || !read_dynamic(program, &dynamic)) return false;
    if (!next_entry(&dynamic, DT_STRTAB, &at, &strings)) return false;
    strings = offset_of_address(program, strings);
    for (at = 0; next_entry(&dynamic, DT_NEEDED, &at, &needed);) {
        long len = read_at(program, strings + needed, name, PRELOAD_NAME_ROOM);
        if (len > 0 && memchr(name, 0, (size_t)len) && is_runtime(name)) return true;
    }
    return false;
}

// "#!INTERPRETER …": writes the interpreter into `line`.
static bool read_interpreter(struct program *program, char line[LINE_ROOM]) {
    long len = read_at(program, 0, line, LINE_ROOM - 1);
    if (len < 3 || line[0] != '#' || line[1] != '!') return false;
    line[len] = 0;
    size_t start = 2 + strspn(line + 2, " \t");
    size_t bytes = strcspn(line + start, " \t\n");
    memmove(line, line + start, bytes);
    line[bytes] = 0;
    return bytes > 0;
}

size_t preload_runtime(const char *path, char name[PRELOAD_NAME_ROOM]) {
    struct program program;
    program.bytes_read = 0;
    char line[LINE_ROOM];
    bool found = false, is_script = true;
    for (int i = 0; i < SCRIPTS && is_script; i++) {
        // O_NONBLOCK: the name may be that of a pipe.
        program.fd = (int)cpu_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (program.fd < 0) break;
        found = find_runtime(&program, name);
        is_script = !found && read_interpreter(&program, line);
        path = line;
        cpu_syscall(SYS_close, program.fd);
    }
    if (!found) name[0] = 0;
    return program.bytes_read;
}

bool preload_find(const char *file, const char *places, char *path, size_t room) {
    size_t file_len = strlen(file);
    bool has_slash = strchr(file, '/');
    for (const char *at = has_slash ? "" : places ? places : "/bin:/usr/bin";; at++) {
        size_t len = strcspn(at, ":");
        if (len + 1 + file_len < room) {
            memcpy(path, at, len);
            path[len] = '/';
            memcpy(path + len + (len > 0), file, file_len + 1);
            if (has_slash || cpu_syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0) return true;
        }
        at += len;
        if (!*at) return false;
    }
}

// --- the list

static bool is_separator(char c) { return c == ':' || c == ' ' || !c; }

// The next word of the list from *at on, which is then behind it; its length, 0 at the end.
static size_t next_word(const char **at) {
    while (**at && is_separator(**at)) (*at)++;
    size_t len = strcspn(*at, ": ");
    *at += len;
    return len;
}

static bool is_word(const char *word, size_t len, const char *other) {
    return strncmp(word, other, len) == 0 && !other[len];
}

static bool has_word(const char *list, const char *word) {
    for (size_t len; (len = next_word(&list));) {
        if (is_word(list - len, len, word)) return true;
    }
    return false;
}

static char *append(char *out, char separator, const char *word, size_t len) {
    if (separator) *out++ = separator;
    memcpy(out, word, len);
    out[len] = 0;
    return out + len;
}

// The space before the library tells preload_forget_runtime() that the word in front is not the user's.
void preload_join(char *out, const char *list, const char *runtime, const char *library) {
    char *end = out;
    bool adds_runtime = *runtime && !has_word(list, runtime);
    for (size_t len; (len = next_word(&list));) {
        if (!is_word(list - len, len, library)) end = append(end, end > out ? ':' : 0, list - len, len);
    }
    if (adds_runtime) end = append(end, end > out ? ':' : 0, runtime, strlen(runtime));
    append(end, end == out ? 0 : adds_runtime ? ' ' : ':', library, strlen(library));
}

void preload_forget_runtime(char *list, const char *library) {
    size_t len = strlen(list), library_len = strlen(library);
    if (len < library_len + 2 || strcmp(list + len - library_len, library) != 0) return;
    char *word = list + len - library_len - 1;
    if (*word != ' ') return;
    while (word > list && !is_separator(word[-1])) word--;
    memmove(word, list + len - library_len, library_len + 1);
}
