#include "base/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cpu.h"

static long read_at(struct program_file *file, long fd, void *out, size_t room, uint64_t offset) {
    long got = cpu_syscall(SYS_pread64, fd, out, room, offset);
    if (got > 0) file->bytes_read += (size_t)got;
    return got;
}

uint32_t program_file_recorder(const void *notes, size_t bytes) {
    const char *at = notes, *end = at + bytes;
    Elf64_Nhdr note;
    while ((size_t)(end - at) >= sizeof note) {
        memcpy(&note, at, sizeof note);
        at += sizeof note;
        size_t rest = (size_t)(end - at), name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t total = name + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (total > rest) return 0;
        if (note.n_namesz == sizeof PROGRAM_NOTE_OWNER && !memcmp(at, PROGRAM_NOTE_OWNER, sizeof PROGRAM_NOTE_OWNER))
            return note.n_type;
        at += total;
    }
    return 0;
}

static uint32_t recorder_in(struct program_file *file, long fd, const Elf64_Phdr *segment) {
    char notes[PROGRAM_NOTE_BYTES];
    size_t bytes = segment->p_filesz < sizeof notes ? segment->p_filesz : sizeof notes;
    long got = read_at(file, fd, notes, bytes, segment->p_offset);
    return got > 0 ? program_file_recorder(notes, (size_t)got) : 0;
}

// Tools that patch programs move this table to the end of the file.
static enum program_kind kind_by_segments(struct program_file *file, long fd, const Elf64_Ehdr *elf) {
    enum { SEGMENTS = 16 };
    Elf64_Phdr segment[SEGMENTS];
    enum program_kind kind = PROGRAM_STATIC;
    for (unsigned first = 0; first < elf->e_phnum; first += SEGMENTS) {
        long got = read_at(file, fd, segment, sizeof segment, elf->e_phoff + first * sizeof *segment);
        for (unsigned i = 0; i < SEGMENTS && first + i < elf->e_phnum; i++) {
            if (got < (long)((i + 1) * sizeof *segment)) return kind;
            if (segment[i].p_type == PT_INTERP) return PROGRAM_DYNAMIC;
            uint32_t recorder = segment[i].p_type == PT_NOTE ? recorder_in(file, fd, &segment[i]) : 0;
            if (recorder == PROGRAM_NOTE_VERSION) kind = PROGRAM_LINKED;
            file->is_outdated |= recorder && recorder != PROGRAM_NOTE_VERSION;
        }
    }
    return kind;
}

static enum program_kind kind_of(struct program_file *file, long fd, size_t len) {
    Elf64_Ehdr elf;
    if (strncmp(file->head, "#!", 2) == 0) return PROGRAM_SCRIPT;
    if (len < SELFMAG || memcmp(file->head, ELFMAG, SELFMAG) != 0) return PROGRAM_OTHER;
    if (len < sizeof elf || file->head[EI_CLASS] != ELFCLASS64) return PROGRAM_NOT_64_BIT;
    memcpy(&elf, file->head, sizeof elf);
    if (elf.e_machine != CPU_ELF_MACHINE) return PROGRAM_OF_OTHER_MACHINE;
    if (elf.e_phentsize != sizeof(Elf64_Phdr)) return PROGRAM_OTHER;
    return kind_by_segments(file, fd, &elf);
}

static int look(struct program_file *file, const char *path) {
    file->kind = PROGRAM_OTHER;
    file->is_outdated = false;
    long fd = cpu_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return (int)fd;
    long got = read_at(file, fd, file->head, PROGRAM_HEAD_BYTES, 0);
    file->head[got < 0 ? 0 : got] = 0;
    file->kind = got < 0 ? PROGRAM_OTHER : kind_of(file, fd, (size_t)got);
    cpu_syscall(SYS_close, fd);
    return got < 0 ? (int)got : 0;
}

int program_file_look(struct program_file *file, const char *path) {
    file->bytes_read = 0;
    return look(file, path);
}

int program_file_look_through(struct program_file *file, const char *path) {
    file->bytes_read = 0;
    int code = look(file, path);
    for (int i = 0; i < PROGRAM_INTERPRETERS && code == 0 && file->kind == PROGRAM_SCRIPT; i++) {
        char interpreter[PROGRAM_HEAD_BYTES];
        const char *word = file->head + 2 + strspn(file->head + 2, " \t");
        size_t len = strcspn(word, " \t\r\n");
        memcpy(interpreter, word, len);
        interpreter[len] = 0;
        code = look(file, interpreter);
    }
    if (code == 0 && file->kind == PROGRAM_SCRIPT) file->kind = PROGRAM_OTHER;
    return code;
}

bool program_file_gains_rights(const char *path) {
    struct stat status;
    long user = cpu_syscall(SYS_geteuid, 0), group = cpu_syscall(SYS_getegid, 0);
    if (cpu_syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_NO_AUTOMOUNT) < 0) return false;
    if (status.st_mode & S_ISUID && status.st_uid != user) return true;
    if (status.st_mode & S_ISGID && status.st_gid != group) return true;
    return user != 0 && cpu_syscall(SYS_getxattr, path, "security.capability", 0, 0) > 0;
}
