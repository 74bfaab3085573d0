// Names that a thread has used before. Programs name the same files again and again, mostly by the same text at the
// same address: comparing it with what was there takes a tenth of looking the name up.
#pragma once

#include <string.h>

#include "rec/files.h"
#include "rec/recorder.h"

enum { KNOWN_NAME_LEAST = sizeof(uint64_t) }; // bytes, with the zero: shorter ones are looked up

static inline __attribute__((no_sanitize_address)) uint64_t known_name_word(const char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

// Whether a text of the program is this one, which takes so many bytes with its zero. Compares words, which may reach
// behind the end of a shorter text, but not to another page.
static inline __attribute__((no_sanitize_address)) bool known_name_is(const char *given, const char *text,
                                                                      size_t bytes) {
    enum { PAGE = 4096, WORD = sizeof(uint64_t) };
    if (UNLIKELY((uintptr_t)given % PAGE + bytes > PAGE)) return strcmp(given, text) == 0;
    size_t last = bytes - WORD;
    for (size_t at = 0; at < last; at += WORD) {
        if (known_name_word(given + at) != known_name_word(text + at)) return false;
    }
    return known_name_word(given + last) == known_name_word(text + last);
}

static inline struct known_name *known_name_place(struct thread *thread, const char *path) {
    uintptr_t address = (uintptr_t)path;
    address ^= address >> 7; // arrays of PATH_MAX bytes must not share a place
    return &thread->known_names[address / sizeof(struct known_name) % RECORDER_NAMES];
}

// The file that the thread has named before by this text; NULL: not known.
static inline struct file *known_file(struct thread *thread, int dirfd, const char *path) {
    const struct known_name *known = known_name_place(thread, path);
    struct file *file = known->file;
    if (UNLIKELY(!file || !path || dirfd == FILES_SHM_DIRFD || thread->in_mpi_setup)) return NULL;
    if (UNLIKELY(!known_name_is(path, known->text, known->bytes))) return NULL;
    bool is_elsewhere = known->is_relative && (dirfd != AT_FDCWD || known->cwd != atomic_load(&files_cwd_number));
    return UNLIKELY(is_elsewhere) ? NULL : file;
}
