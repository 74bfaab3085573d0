// What an executable file is, before it runs: can a library be preloaded into it? Nothing here allocates or calls a
// function that the recorder watches, because the recorder asks in the child of vfork, too.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum program_kind {
    PROGRAM_OTHER,      // neither ELF nor a script with #!
    PROGRAM_SCRIPT,     // `head` has its first line
    PROGRAM_NOT_64_BIT, // ELF
    PROGRAM_OF_OTHER_MACHINE,
    PROGRAM_STATIC,  // the kernel starts it without a dynamic loader
    PROGRAM_LINKED,  // the same, and the recorder is linked into it (rec/link)
    PROGRAM_DYNAMIC, // the dynamic loader starts it and loads preloads
};

// A note in the file of a program that the recorder is linked into.
#define PROGRAM_NOTE_OWNER "ioseer"
#define PROGRAM_NOTE_VERSION 1 // the note's type: SPILL_VERSION of what that recorder writes

enum { PROGRAM_HEAD_BYTES = 512, PROGRAM_INTERPRETERS = 4, PROGRAM_NOTE_BYTES = 1024 }; // the kernel follows five

struct program_file {
    enum program_kind kind;
    bool is_outdated;  // PROGRAM_STATIC: a recorder is linked into it whose files this ioseer cannot read
    size_t bytes_read; // so far; the kernel has counted them as this process's
    char head[PROGRAM_HEAD_BYTES + 1]; // ends with a zero byte
};

// Returns 0, or -errno if the file cannot be read.
int program_file_look(struct program_file *file, const char *path);

// The same, of the program that the kernel starts for the path: of a script, that is its interpreter. PROGRAM_OTHER if
// there are too many in a row. Does not know that `env` starts a third program: that one is looked at when `env` does.
int program_file_look_through(struct program_file *file, const char *path);

// The version of the recorder that is linked into a program, from its notes as they are in its file or memory. 0: none
// is.
uint32_t program_file_recorder(const void *notes, size_t bytes);

// Whether the program gains rights when it starts: the loader then ignores preloads. A user with these rights gains
// none.
bool program_file_gains_rights(const char *path);
