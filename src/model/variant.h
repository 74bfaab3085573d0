// Another way in which a program could do the same I/O: the same bytes at the same places (or, with own_files, each
// rank's in a file of its own), by other calls, with other hints. The runner does a variant of a model (replay/runner),
// what-if calculates and compares them (whatif).
//
// As text, as in "collective,cb_nodes=2,request*=2": what is not named stays as it was recorded.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/model.h"

enum variant_interface {
    VARIANT_SAME,
    VARIANT_COLLECTIVE,  // "collective": MPI-IO, all ranks of a file together
    VARIANT_INDEPENDENT, // "independent": MPI-IO, each rank for itself
    VARIANT_POSIX,       // "posix": pread and pwrite, one for each contiguous piece of the file
};

enum variant_sieving { SIEVING_SAME, SIEVING_OFF, SIEVING_ON }; // "sieving=off", "sieving=on": of independent requests

struct variant {
    enum variant_interface interface;
    enum variant_sieving sieving;
    uint32_t cb_nodes;     // "cb_nodes=N": aggregators; 0: as recorded
    uint64_t cb_buffer;    // "cb_buffer_size=BYTES": of each aggregator; 0: as recorded
    uint64_t request;      // "request=BYTES": contiguous requests of a rank that follow each other are merged up to so
                           // many bytes, larger ones divided; 0: as recorded
    double request_factor; // "request*=2", "request*=0.5": the same, in sizes of the recorded requests; 0: as recorded
    uint64_t alignment;    // "align=BYTES": requests and blocks of ranks begin at multiples of it; 0: as recorded
    bool own_files;        // "own-files": each rank has a file for itself instead of one that they share
    bool nonblocking;      // "nonblocking": transfers begin early and end before the program's next call on the file
                           // that needs them; its own computation hides them
    uint32_t np;           // "np=N": processes; 0: as recorded
    uint32_t nodes;        // machines that the processes are on, 0 for one: not part of the text, only for the hints
};

enum { VARIANT_TEXT_BYTES = 192 };
void variant_text(const struct variant *variant, char out[VARIANT_TEXT_BYTES]); // "as-recorded" if nothing differs
int variant_parse(struct variant *variant, const char *text); // ERR_USAGE, and leaves *variant as it was

unsigned variant_changes(const struct variant *variant); // how much is not as recorded: the number of words of its text

// Whether the program can do its I/O in this way, all of it or the phases that are moved by MPI-IO; `why` (NULL if it
// can) is a text that needs no free, such as "ranks make different numbers of calls". With `np` the model is scaled to
// it already.
int variant_check(const struct variant *variant, const struct model *model, uint32_t program, const char **why);
// The same of the phases of a list (model/phase_list.h).
int variant_check_phases(const struct variant *variant, const struct model *model, uint32_t program, const char *phases,
                         const char **why);

// The hints of MPI-IO by which a program asks for this, as ROMIO names them; those that `variant` leaves as recorded
// are not among them. ROMIO takes one aggregator of each machine unless cb_config_list allows more. OMPIO knows
// cb_nodes and cb_buffer_size only.
enum { VARIANT_HINTS = 8 };
struct variant_hint {
    const char *name;
    char value[24];
};
unsigned variant_hints(const struct variant *variant, struct variant_hint out[VARIANT_HINTS]);
