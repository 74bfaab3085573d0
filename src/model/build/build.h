// Shared by the steps from aligned phases to a model (build.c calls them in order).
#pragma once

#include "base/hash.h"
#include "model/build/align.h"
#include "model/build/communicators.h"
#include "model/builder.h"

// One thread in one phase of a family, or a run of its items.
struct piece {
    uint32_t ph;
    uint32_t rank;
    uint32_t thread;
    uint32_t place; // in recorded.thread
    size_t segment;
    size_t first_item, items; // of the segment's transfers or others
    uint32_t slot;            // pieces of a thread follow each other in the order of these
    uint64_t shape;           // of the items
};

struct pieces {
    struct piece *piece;
    size_t count;
};

struct building {
    struct log *log;
    struct model_options options;
    struct model *model;
    struct model_builder builder;
    struct recorded recorded;
    struct communicators communicators;
    struct segments segments;
    struct thread_segments *of_thread;
    struct align align;
    struct pieces *family; // by family: in the order of phases and threads
};

// Puts synchronisations among the other operations (syncs.c).
int build_syncs(struct building *b);
// Finds the uses and closes of files that wait for opens and uses by other threads (file_waits.c).
int build_file_waits(struct building *b);
// Makes transfers of metadata operations that form a pattern of their own (metadata.c).
int build_metadata(struct building *b);
// Gives each aligned phase its family, and adds what was observed (families.c).
int build_families(struct building *b);
// Changes the signatures (one per aligned phase, equal in a family) of phases from where their family follows another
// rule on (rules.c).
int build_rules(const struct building *b, uint64_t *signatures);
struct loops_seq piece_items(const struct building *b, const struct piece *piece, bool others);
uint64_t items_shape(struct loops_seq items);
// Cuts pieces so that what all ranks do, by a rule, is apart from what only some do (common.c).
int build_common(const struct building *b, struct pieces *pieces, uint32_t np, bool others);
// Turns the pieces of a family into parts with expressions: transfers, or others (parts.c).
int build_parts(struct building *b, uint32_t family, bool others);
// Adds the pauses before the operations of a part, and how regularly the phases of each family come (observed.c).
int build_think(struct building *b, struct model_part *part, const struct piece *pieces, size_t count, bool others);
int build_periods(struct building *b);
// Numbers kinds and files in the order in which the phases use them, so that equal programs have equal numbers
// (numbers.c).
int build_numbers(struct building *b, struct log *log);
// Finds what each program found otherwise than the job; `file_of` has the numbers of the sets of files (found.c).
int build_found(struct building *b, const uint32_t *file_of);
