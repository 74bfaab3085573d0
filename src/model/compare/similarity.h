// How alike two runs are, operation by operation: a program and its replay.
#pragma once

#include "model/model.h"

// Which file of A a name of B's stands for; false where it is none of them.
typedef bool similarity_file(const char *name, uint32_t *set, uint32_t *member, void *context);

// Pauses agree where the means before operations of this kind at this place differ by no more than the larger of these.
#define SIMILARITY_PAUSE_SHARE 0.2
#define SIMILARITY_PAUSE_NS INT64_C(100000)

enum { SIMILARITY_TEXT = 1024 };

struct similarity {
    uint64_t ops;                // of the longer of the two
    uint64_t alike;              // agree in order, call, size, offset and file
    uint64_t extra;              // in B only
    uint64_t missing;            // in A only
    uint64_t paused;             // of those that are alike: the pause before it is as long, within the tolerance below
    char first[SIMILARITY_TEXT]; // the first difference in words, empty where there is none; names may be cut
};

// The call that replays do it by: asynchronous transfers of the system all by one interface, calls for standard input
// and output by those that name a stream, temporary files by open. It counts as the same.
const char *similarity_call(const struct op_kind *kind);

// Program `a_program` of A (scaled to B's processes) with program `b_program` of B. Of A only the phases of the list
// count (NULL: all). Where A was scaled, offsets in the file behind views are not compared: the views are others.
int similarity_compare(const struct model *a, uint32_t a_program, const char *phases, const struct model *b,
                       uint32_t b_program, bool scaled, similarity_file *file, void *context, struct similarity *out);
