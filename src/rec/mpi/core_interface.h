// One recorder for any MPI. The core does not depend on an MPI: it exports MPI_x and PMPI_x as jumps through a table of
// slots (stubs.c). The first call finds out which MPI the process has loaded, opens the plugin compiled for it
// (load_plugin.c), and fills the slots with the plugin's shims or with the real functions.
#pragma once

#include <string.h>

#include "mpi_names.h"
#include "rec/async/pending.h"
#include "rec/emit.h"
#include "rec/hand_over.h"
#include "rec/interned.h"
#include "rec/memory.h"
#include "rec/mpi/launch.h"
#include "rec/spill.h"

enum mpi_slot {
#define MPI_SLOT(name) SLOT_##name,
    MPI_NAMES(MPI_SLOT)
#undef MPI_SLOT
        MPI_SLOTS
};

// Functions of the core that a plugin calls by their own names.
// clang-format off
#define CORE_FUNCTIONS(NAME)                                                                                           \
    NAME(emit_deferred) NAME(emit_finish) NAME(emit_leave) NAME(emit_push) NAME(emit_push_choice)                      \
    NAME(hand_over_begin) NAME(hand_over_clock) NAME(hand_over_end) NAME(hand_over_folder) NAME(handles_new_serial)    \
    NAME(interned_number) NAME(launch_each_mark) NAME(launch_find) NAME(launch_leave_mark) NAME(launch_name)           \
    NAME(memory_alloc) NAME(pending_add) NAME(pending_emit) NAME(pending_find) NAME(pending_remove)                    \
    NAME(spill_count_loss)
// clang-format on

// What core and plugin share. They are installed together, but one of them may be of another build.
struct mpi_build {
    char version[32];
    size_t slots, core_bytes, thread_bytes, file_bytes;
};

// What the core gives to a plugin. The plugin cannot link to the core, which exports only the calls in the table.
struct mpi_core {
    struct mpi_build build;
    void *const *real;                 // by slot: the next function of that name
    void *(*symbol)(const char *name); // any symbol of the MPI library, data too
    struct thread *(*thread)(void);
    struct file *(*file)(const char *path); // entry of a name; NULL if it is left out
    void (*describe)(int rank, int size, int local_rank, const char *library);
    void (*record)(unsigned kind, const uint8_t *fields, size_t len); // appends a record, if there is a trace
    void (*note)(const uint8_t *record, size_t len);                  // appends a record in any case
    _Atomic uint64_t **tick;                                          // recorder.tick
    const bool *event_clock_uses_ns;
    const struct reducer *(*reducer)(void); // NULL, or returns NULL, if it cannot be loaded
#define CORE_POINTER(name) __typeof__(&name) name;
    CORE_FUNCTIONS(CORE_POINTER)
#undef CORE_POINTER
};

#define MPI_BUILD                                                                                                      \
    { IOSEER_VERSION, MPI_SLOTS, sizeof(struct mpi_core), sizeof(struct thread), sizeof(struct file) }

// All that a plugin exports, under this name.
struct mpi_plugin {
    struct mpi_build build;
    void *const *(*start)(const struct mpi_core *core); // its shims by slot, NULL for functions that it does not know
};
#define MPI_PLUGIN_SYMBOL "ioseer_plugin"

static inline bool mpi_same_build(const struct mpi_build *other) {
    static const struct mpi_build own = MPI_BUILD;
    return memcmp(other, &own, sizeof own) == 0;
}

// All but `real` and `symbol`. Exported: an MPI that is linked into a program cannot be seen by the preload library, so
// the plugin that is linked with it asks for the core of that library (link/mpi.c).
const struct mpi_core *ioseer_core(void);
#define MPI_CORE_SYMBOL "ioseer_core"

void *mpi_resolve(unsigned slot);  // called by the stubs (stubs.c)
extern void *mpi_slots[MPI_SLOTS]; // the stubs jump through these

// Whether an exported name has a slot.
static inline bool mpi_is_name(const char *name) {
    const char *rest = name[0] == 'P' ? name + 1 : name;
    return rest[0] == 'M' && rest[1] == 'P' && rest[2] == 'I' && rest[3] == '_';
}

bool mpi_is_here(void);
// Whether this is the real function that the recorder's function of that name calls.
bool mpi_is_real(const char *name, const void *function);
