// What is typed into the lab's form, and what follows from it: the commands that are run.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "base/text_list.h"

// What is recorded, unless less is chosen.
#define LAB_ALL_LAYERS "hdf5,netcdf,pnetcdf,mpiio,stdio,posix"
#define LAB_ALL_CLASSES "read,write,open,close,sync,seek,meta"

// All texts are from malloc and never NULL.
struct lab_setup {
    char *program;
    char *arguments; // words as in a shell, see lab/words.h
    char *folder;    // in which the program runs
    char *mpi;       // the name of a launcher of lab_mpi, or "none"
    char *include;   // files that are recorded although they are left out by default, words
    char *exclude;   // files that are not recorded, words
    char *calls_of;  // layers whose calls are recorded, by commas
    char *classes;   // of calls that are recorded, by commas
    char *storage;   // "folder", "emulated", "stack" or "new-stack"
    char *preset;    // of the emulated storage; of the bricks of a new stack, where "none" is as well
    char *stack;     // name of a stack
    char *layout;    // of a new stack
    char *layers;    // of a new stack, that have probes; by commas
    uint64_t processes;
    uint64_t servers;   // of a new stack
    bool callsites;     // record source lines
    bool counters_only; // record no single calls
    bool follow;        // record system calls that bypass the C library, with ptrace
};

// Why a request is refused, and which field of the form it is about.
struct lab_refusal {
    const char *field; // NULL: none
    char why[512];
};
int lab_refuse(struct lab_refusal *refusal, int code, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// A form as it is at the beginning, for programs that run in this folder.
int lab_setup_init(struct lab_setup *setup, const char *folder);
void lab_setup_free(struct lab_setup *setup);
// Members that are missing keep their values; unknown ones and those of another type are refused with ERR_USAGE. On
// failure nothing changes.
int lab_setup_read(struct lab_setup *setup, const struct json_value *object, struct lab_refusal *refusal);
void lab_setup_json(const struct lab_setup *setup, struct json_out *json);

struct lab_mpi {
    const char *name, *title, *launcher;
};
extern const struct lab_mpi lab_mpis[]; // ends with a row without a name

enum lab_storage { LAB_FOLDER, LAB_EMULATED, LAB_STACK, LAB_NEW_STACK };

// The commands of a run. Each ends with NULL.
struct lab_plan {
    enum lab_storage storage;
    char folder[PATH_MAX];    // as typed, resolved
    char program[PATH_MAX];   // the file
    char place[PATH_MAX];     // where the program runs
    char mount[PATH_MAX];     // of the storage, unless it is the folder itself
    char stack[80];           // its name, or empty
    char words[160];          // what the storage is
    char log[PATH_MAX];       // that will be made
    struct text_list prepare; // makes the storage; may be empty
    struct text_list record;
    struct text_list end; // removes the storage; may be empty
};

// Where a run works.
struct lab_places {
    unsigned number;  // of the run
    const char *work; // an empty directory of the lab itself
    const char *logs; // the folder of its log
};

// Checks what was typed and makes the plan of a run. ERR_USAGE if it cannot be run. lab_plan_free() in any case.
int lab_plan_make(struct lab_plan *plan, const struct lab_setup *setup, const struct lab_places *places,
                  struct lab_refusal *refusal);
void lab_plan_free(struct lab_plan *plan);
// Where the program runs, once its storage is there.
int lab_plan_find_place(struct lab_plan *plan, struct lab_refusal *refusal);
