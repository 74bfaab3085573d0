// What the ranks of a program do to its files, transfer by transfer, with the file views in force.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/datatype.h"
#include "model/model.h"
#include "model/variant.h"

// Whether the page cache has a part in a transfer, if it has room.
enum access_cache {
    ACCESS_BYPASSES,
    ACCESS_NEW,        // it takes what the program writes, and has it afterwards
    ACCESS_OLD_CACHED, // data that was there before the program, and in the page cache when that was recorded
    ACCESS_OLD,        // the same, and was not
};

// A transfer of one rank. `position` and `bytes` are in the view, or in the file if there is none (view.type NULL).
struct access {
    uint32_t rank;
    uint32_t set;
    uint32_t member;
    uint32_t number; // of the rank's transfers in this direction on this file in the phase, from 0
    bool write;
    bool mpiio;
    bool collective;
    bool nonblocking;
    enum access_cache cache;
    uint64_t position;
    uint64_t bytes;
    double think; // seconds before it: median of its kind
    struct datatype_tiling view;
    const struct model_hints *hints; // that its file was opened with; or NULL
};

struct accesses {
    struct access *item; // rank after rank, each in its order
    size_t count;
    uint64_t bytes; // of these
    double share;   // of the bytes of the phase
};

enum {
    ACCESSES_MOST = 1 << 18,     // that are looked at in one program: the first ones of each rank and phase
    ACCESSES_LEAST_OF_RANK = 16, // and phase
};

// All families of a program, by place in model.family; families of other programs are empty. Each is represented by its
// first phase. Free with accesses_free in any case.
// At most about `most` are looked at.
int accesses_of_program(const struct model *model, uint32_t program, size_t most, struct accesses **families);
void accesses_free(struct accesses *families, size_t count); // or NULL

// The transfers as the variant makes them: merged, divided, each rank's in a file of its own.
int accesses_vary(const struct accesses *from, const struct variant *variant, struct accesses *to);

// --- from transfers to the file

// Calls back with the contiguous pieces of the file that it touches. A return value other than 0 ends the walk and is
// returned.
typedef int access_piece(int64_t offset, uint64_t bytes, void *context);
int access_pieces(const struct access *access, access_piece *piece, void *context);
bool access_is_contiguous(const struct access *access); // one piece, or no view

// A hint in force for the file, or as asked for; NULL if it is in neither.
const char *access_hint(const struct access *access, const char *name);
uint64_t access_hint_number(const struct access *access, const char *name, uint64_t otherwise);
