// Into which calls a variant turns the transfers of a program. The replay makes these calls; what is said of a variant
// without doing it (variant_check, whatif) goes through the same functions.
#pragma once

#include "base/lookup.h"
#include "model/model.h"
#include "model/variant.h"

// --- which ranks use a file, and how

struct variant_file {
    uint32_t set, member;
    uint32_t users;   // ranks that transfer data of it
    uint32_t first;   // of them
    uint64_t *shared; // a bit for each rank; NULL: no other than the first
    bool by_posix;    // some of these transfers are POSIX calls
};

// Transfers of one kind and file in a phase: whether ranks could make them together.
struct variant_group {
    uint64_t count;   // of the first rank
    uint64_t current; // of the last one so far
    uint32_t ranks, last;
    int64_t size; // of the first transfer
    bool differs; // ranks make different numbers of them
    bool sizes_differ;
};

struct variant_files {
    struct variant_file *file;
    size_t count;
    struct lookup of; // set and member -> place
    uint32_t np;
    struct variant_group *group;
    size_t groups;
    struct lookup group_of; // hash of phase, kind and member -> place
};

// In the phases of the list (model/phase_list.h).
int variant_files_find(struct variant_files *files, const struct model *model, uint32_t program, const char *phases);
void variant_files_free(struct variant_files *files);
const struct variant_file *variant_file_of(const struct variant_files *files, uint32_t set, uint32_t member); // or NULL
bool variant_file_used_by(const struct variant_file *file, uint32_t rank);

// --- by which calls

enum variant_way {
    WAY_RECORDED, // the recorded call
    WAY_COLLECTIVE,
    WAY_INDEPENDENT,
    WAY_POSIX, // one for each contiguous piece of the file
};

// Of a transfer. Independent ones become collective where all ranks of the file make the same number of them in the
// phase: not those by which a library, or rank 0, moves what describes the data.
enum variant_way variant_way(const struct variant *variant, const struct variant_files *files,
                             const struct model_step *step);
// Whether a variant makes calls other than the recorded ones.
bool variant_changes_calls(const struct variant *variant);

// --- of which size

// Transfers of a thread that follow each other without a gap, of which calls of another size are made.
struct variant_stream {
    const struct op_kind *kind; // NULL: there are none
    int64_t member;
    int64_t at;     // where those begin that are not done: in the view if there is one, else in the file
    uint64_t bytes; // of these
    uint64_t size;  // of a call
    bool aligns;    // all calls but the first begin at multiples of the alignment, and `size` is one
};

// Makes a call.
typedef int variant_call(int64_t at, uint64_t bytes, void *context);

// Whether calls of another size are made of the transfer. Collective ones stay as they are where the ranks have
// different sizes: they would need different numbers of calls.
bool variant_resizes(const struct variant *variant, const struct variant_files *files, const struct model_step *step);
// Whether the transfer goes on where the stream ends.
bool variant_stream_joins(const struct variant_stream *stream, const struct op_kind *kind, int64_t member, int64_t at);
// Adds a transfer that joins the stream, or begins one that is empty, and makes the calls that are complete.
// `unit`: bytes of the elementary type of the view that `at` is in; 0: `at` is in the file.
int variant_stream_add(struct variant_stream *stream, const struct variant *variant, const struct op_kind *kind,
                       int64_t member, int64_t at, uint64_t bytes, uint64_t unit, variant_call *call, void *context);
// Makes the calls that are left, and empties the stream.
int variant_stream_end(struct variant_stream *stream, const struct variant *variant, variant_call *call, void *context);
// Whether an operation may come between two transfers of a stream: one that only moves the position in a file.
bool variant_stream_lets_pass(const struct op_kind *kind);
