// The application's I/O as phases: what a MODEL file holds (doc/model.md), and how it is made from a log.
//
// `structure` is what the application does on any machine: programs, families of phases, their patterns and order.
// `observed` is what one run on one machine saw. Both are in the same structs; comments say which fields are observed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "fmt/call.h"
#include "model/datatypes.h"
#include "model/expr.h"
#include "model/file_set.h"
#include "model/fit.h"
#include "model/loops.h"
#include "model/op.h"

enum { MODEL_VERSION = 1 };

// A number that depends on the rank and on the phase of the family: an expression, or a table.
struct model_value {
    const char *text; // NULL for a table
    struct expr *expr;
    int64_t *table; // [place of the ph * ranks + place of the rank] in its part
};

struct model_item;

struct model_items {
    struct model_item *item;
    size_t count;
};

// The same as struct loops, but for all ranks and phases at once.
struct model_item {
    uint8_t type; // enum loops_type
    uint8_t steps;
    uint32_t kind; // LOOPS_OP
    uint64_t count;
    uint64_t ops; // of one process in one phase
    struct model_value at[AT_COUNT];
    struct model_value logical; // transfers in a view: the offset if the ranks' pieces lay in rank order; or all zero
    struct loops_step *step;
    struct model_items body;   // LOOPS_LOOP
    struct op **list;          // [as a table]: `count` operations
    struct model_pause *think; // observed, before each operation; NULL if it is not known
    struct model_async *async; // observed; NULL if operations end before they return
};

// Between the start of an asynchronous transfer and the moment when its end was seen.
struct model_overlap {
    uint64_t ahead;  // operations that the thread began during that time: median
    int64_t work_ns; // work that it did during that time, if it began no operation: mean
};

// In turn, the transfers of one item. Five that the program waits for together have 4, 3, 2, 1 and 0 operations ahead.
struct model_async {
    struct model_overlap *turn;
    size_t turns;
};

// A distribution of times.
struct model_pause {
    uint64_t count;
    int64_t total_ns;
    int64_t quantile_ns[5]; // smallest, quarter, median, three quarters, largest
};

// Threads that do the same at different places, in some phases of a family.
struct model_part {
    uint32_t *ph; // ascending
    size_t phs;
    uint32_t *rank; // ascending
    size_t ranks;
    uint32_t thread;
    struct model_items items;
};

// One phase of a family, as observed.
struct model_phase {
    uint32_t family;
    uint32_t ph; // from 1
    uint64_t tick;
    int64_t start_ns;
    int64_t span_ns;
    int64_t duration_ns;
    int64_t other_ns; // the same as duration_ns, for operations that are not transfers
    int64_t comm_ns;  // between the previous phase and this one: the maximum over processes
    int64_t idle_ns;  // the same
    uint64_t comm_calls;
    uint64_t comm_bytes;
};

// The time from which a thread was in a phase, with its first transfer there.
struct model_stay {
    uint32_t process; // id in the log
    uint32_t tid;
    uint32_t rank; // in its program
    uint32_t phase;
    int64_t start_ns;
};

// Operations of a thread that use a file or a name which another thread opens, makes or removes, or that close a file
// or change a name which the other thread uses. They begin when the other thread has done a number of its operations.
// Both are counted from 1 in the order of their thread through all phases, without barriers.
struct model_wait {
    uint32_t program;
    uint32_t rank;
    uint32_t thread;
    uint32_t behind_rank, behind; // process and number of the other thread
    int64_t *op;                  // ascending
    int64_t *done;                // of the other, by then
    size_t count;
};

enum { MODEL_CAME_LATER = -2 };

// Members of a set of files that another program of the job had made, removed or changed before this program used them.
struct model_found {
    uint32_t program;
    uint32_t file;
    uint32_t *member; // ascending
    int64_t *bytes; // of each when the program opened it; -1: it was not there; MODEL_CAME_LATER - bytes: not at first
    size_t count;
};

struct model_family {
    uint32_t program;
    uint32_t count;          // of phases
    enum model_cut cut;      // what separates each phase (but the first) from the one before
    struct model_part *part; // transfers, and metadata that makes phases; each holds all phases of the family
    size_t parts;
    struct model_part *other; // all other operations: mostly in the first and last phase
    size_t others;
    uint64_t weight;       // bytes of one phase: all have the same
    bool has_period;       // observed, with three phases or more
    int64_t period_ns;     // from start to start: median
    uint64_t period_ticks; // the same
    double irregularity;   // of it: standard deviation / mean
};

struct model_program {
    bool is_mpi;
    uint32_t np;
    const char *name;  // observed; or NULL
    size_t first, end; // of its phases
};

// The communicators that one call made, with MPI: ranks of the same color are in the same one.
struct model_communicator {
    uint32_t program;
    const char *origin;       // how it was made: "world", "self", "split" …
    struct model_value color; // by rank; negative: the rank is in none
    struct model_value key;   // by rank: orders the ranks of a communicator; equal keys: by rank
};

struct model_file {
    const struct file_set *set; // names; structure counts the members only
    uint64_t size_before;       // observed: of all members when they were first opened
    uint64_t existed;           // observed: members that existed before
    uint32_t *before;           // which, ascending; NULL: the first ones
    int64_t *before_bytes;      // of each of these; NULL: all alike
    uint64_t read_before;       // observed: bytes read that existed before
    uint64_t read_cached;       // of these, bytes that came from memory, judged by the time of the read
    uint64_t size_after;        // observed: as far as the transfers reached
};

// A name for a file that stands in for one of the program: letters for the set and a number for the member, so that the
// files form the same sets again.
enum { MODEL_PLAIN_NAME_BYTES = 32 };
struct model;
void model_plain_name(const struct model *model, uint32_t file, uint32_t member, char name[MODEL_PLAIN_NAME_BYTES]);

struct model_hint {
    const char *name;
    const char *value;
};

// The hints that the program asked for (structure), and those in force in MPI (observed).
struct model_hints {
    struct model_hint *asked;
    size_t asked_count;
    struct model_hint *in_force;
    size_t in_force_count;
};

struct log_selection;

struct model {
    struct arena arena;
    unsigned layer; // that was asked for; LAYER_NONE: the highest one per file
    int64_t gap_ns;
    struct op_kind *kind;
    size_t kinds;
    struct model_communicator *communicator; // by op_kind.communicator - 1
    size_t communicators;
    struct types types; // of views and memory
    struct model_hints *hints;
    size_t hints_count;
    const struct log_selection **selection; // of a layer above MPI-IO (log/log.h), by op_kind.selection - 1
    size_t selections;
    struct file_sets sets;
    struct model_file *file; // by op_kind.set
    size_t files;
    struct model_program *program;
    size_t programs;
    struct model_family *family;
    size_t families;
    struct model_phase *phase; // program after program, each in its order
    size_t phases;
    struct model_stay *stay; // observed, of a model made from a log: by process, thread and start
    size_t stays;
    struct model_wait *wait; // observed
    size_t waits;
    struct model_found *found; // observed; by program and file
    size_t founds;
    uint64_t bytes;    // of all phases
    uint64_t unphased; // observed: bytes in the log that are in no phase, the sum of these:
    uint64_t unphased_launchers;
    uint64_t unphased_inherited; // of files that were open before the job began
    uint64_t unphased_unnamed;   // of no file
    uint64_t unphased_untraced;  // after the trace had ended
    // Observed, texts or NULL.
    const char *command;
    const char *host;
    const char *mpi;
    double start; // of the job, seconds since the epoch
    double run_seconds;
};

struct log;
struct log_consumer;

struct model_options {
    // LAYER_NONE: the highest that moved the bytes. A model of a layer above MPI-IO is only for looking at its phases:
    // names of file sets are those of objects (model_object_name), and there is nothing to replay.
    unsigned layer;
    int64_t gap_ns;        // a pause that separates phases in programs without MPI; 0: MODEL_GAP_NS
    uint64_t most_calls;   // that the program made; 0: any number
    bool standard_streams; // also files that were open before the job began, such as its standard output
};

#define MODEL_GAP_NS INT64_C(200000000)

int model_from_log(struct model *model, struct log *log, const struct model_options *options);

// The same as part of a visit of the whole log with other consumers (log/visit.h): model_build_begin makes a consumer,
// model_build_finish follows the visit. ERR_LIMIT: more than most_calls. model_build_free in any case.
struct building;
int model_build_begin(struct building **building, struct log *log, const struct model_options *options,
                      struct log_consumer *consumer);
int model_build_finish(struct building *building, struct model *model);
void model_build_free(struct building *building); // or NULL

void model_free(struct model *model);

int model_value_at(const struct model_value *value, const struct expr_variables *variables, size_t index, int64_t *out);

// Every operation of one thread of a process in order; others come between transfers as in the program.
struct model_step {
    const struct op_kind *kind;
    const struct op *op; // AT_POSITION is meaningless
    bool is_other;
    uint32_t phase;                  // place in model.phase
    const struct model_pause *think; // before operations of this kind; NULL if it is not known
    const struct model_async *async; // the same; NULL if operations end before they return
};
typedef int model_callback(const struct model_step *step, void *context);
int model_expand(const struct model *model, uint32_t program, uint32_t rank, uint32_t thread, model_callback *callback,
                 void *context);
int model_expand_phase(const struct model *model, uint32_t phase, uint32_t rank, uint32_t thread,
                       model_callback *callback, void *context);

// Where a rank is in a communicator. A negative color: it is in none.
struct model_membership {
    int64_t color, key;
};
int model_membership(const struct model *model, uint32_t communicator, uint32_t rank, struct model_membership *out);

// For each rank of the program a hash of the ranks in its communicator, in their order; 0: it is in none.
int model_hash_members(const struct model *model, uint32_t communicator, uint64_t *hash);
// Finds the communicators of a program in a model that has none: the ranks that open a file (communicators.c).
int model_infer_communicators(struct model *model, uint32_t program);

// Changes a model to another number of processes (scale.c).
//
// Expressions hold for any number of processes. A rank that was not recorded does what the rank modulo the recorded
// number did. If that is known only as a table or a list, the rank does it further on in the file, after everything
// that the recorded ranks touch, as if another copy of the program worked on another copy of the file.
int model_scale(struct model *model, uint32_t program, uint32_t np);

uint32_t model_threads(const struct model *model, uint32_t program); // thread numbers are below this
uint32_t model_main_program(const struct model *model);              // that moved the most bytes

// Iterates over the operations and lists of items as they are written, inside and outside of loops, without recursion.
struct model_leaves {
    struct {
        const struct model_items *items;
        size_t next;
        uint64_t times; // repetitions of the loops around
    } level[LOOPS_MAX_DEPTH + 1];
    unsigned depth;
};
struct model_leaves model_leaves(const struct model_items *items);
struct model_item *model_next_leaf(struct model_leaves *leaves); // NULL at the end

// One process of a part in one phase, by their places in the part.
struct model_process {
    const struct model *model;
    const struct model_family *family;
    const struct model_part *part;
    size_t ph_place, rank_place;
};
// Its operations in order; a return value of `callback` other than 0 ends the walk and is returned.
int model_walk(const struct model_process *process, loops_callback *callback, void *context);
size_t model_place(const uint32_t *sorted, size_t count, uint32_t value); // or SIZE_MAX

// Operations of one family; similar ones are one row.
struct op_summary {
    const char *name;           // op_kind_name of all
    bool moves;                 // bytes: it reads or writes
    const struct op_kind *kind; // of the first
    bool is_of_sets;            // of files, if it moves no bytes
    size_t folder;              // bytes of the first pattern that all of them begin with
    uint32_t last_set;
    const struct model_part *part;
    const struct model_item *item; // the expressions describe its first operation
    bool has_more;                 // items than that one
    uint64_t rep;                  // of one process
    bool has_size;                 // all have the same; false if they move no bytes
    uint64_t size;                 // valid if has_size
    bool has_disp;
    int64_t disp;
    uint64_t count;   // over all processes
    uint64_t bytes;   // over all processes
    uint64_t largest; // bytes moved by one operation
    int64_t low;      // of what moved, over all processes: first byte in the file
    int64_t high;     // and end
    uint64_t bits;    // all offsets and sizes, or-ed: its lowest bit is their alignment
    const char *mode; // sequential, strided, random, irregular, single
};
int model_summarise_ops(const struct model *model, const struct model_family *family, struct op_summary **rows,
                        size_t *count);
// Size of a request: what was asked for; of programs that ask for all that there is, the most that one got.
uint64_t op_summary_size(const struct op_summary *row);

const char *model_pointer_name(const struct op_kind *kind); // explicit, individual, shared
// Counts the operations of one phase that are in no row of op_summary, over all processes, by enum call_class; barriers
// are under CLASS_NONE.
int model_count_others(const struct model *model, const struct model_family *family, uint32_t ph,
                       uint64_t count[CLASS_COUNT]);

// How many processes are at a phase at the same time, if they take turns; else 0 (turns.c).
int model_count_turns(const struct model *model, const struct model_family *family, uint32_t ph, uint32_t *at_once);

struct model_file_use {
    uint64_t files;
    uint64_t objects; // in the files, of layers above MPI-IO: datasets, variables
    bool shared;      // one of them by several processes
};
int model_count_files(const struct model *model, const struct model_family *family, struct model_file_use *use);

// In a model of a layer above MPI-IO, a name is that of a file, this byte, and that of an object in it.
enum { MODEL_OBJECT_MARK = 0x1f };
const char *model_object_name(const struct model *model, const char *name); // behind the mark; NULL: the file itself
const char *model_set_object(const struct model *model, uint32_t set);      // the same of a set; also OP_NO_SET

// Where the selection of a row begins, by dimension: expressions over the ranks, as of offset_expr (selections.c). And
// by how much it moves from one repetition to the next. A selection without a rule has neither.
struct selection_place {
    const struct log_selection *selection; // NULL: the row has none
    char (*start)[FIT_TEXT_BYTES];         // NULL: not known, or without a rule
    int64_t *step;                         // NULL: the same
};
int model_place_selection(const struct model *model, const struct model_family *family, const struct op_summary *row,
                          struct selection_place *place);
void selection_place_free(struct selection_place *place);
