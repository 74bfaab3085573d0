// One recorder for any MPI. The core depends on none: it exports MPI_x and PMPI_x as jumps through a table of slots.
// The first call finds out which MPI the process has loaded, opens the plugin compiled for it (load_plugin.c), and
// fills the slots with the plugin's shims or with the real functions.
#pragma once

#include "mpi_names.h"
#include "rec/async/pending.h"
#include "rec/emit.h"

enum mpi_slot {
#define MPI_SLOT(name) SLOT_##name,
    MPI_NAMES(MPI_SLOT)
#undef MPI_SLOT
        MPI_SLOTS
};

// The core's functions for a plugin. The plugin cannot link to them: the core exports only the calls in the table.
struct mpi_core {
    void *const *real;                 // by slot: the next function of that name
    void *(*symbol)(const char *name); // any symbol of the MPI library, data too
    void *(*alloc)(size_t bytes);      // zeroed, never freed, not on the program's heap
    struct thread *(*thread)(void);
    struct file *(*file)(const char *path); // entry of a name; NULL if it is left out
    uint32_t (*serial)(void);               // of a new handle
    void (*push)(struct thread *thread, struct call_frame *frame, uint64_t known);
    void (*push_choice)(struct thread *thread, struct call_frame *frame, struct pending **choices, unsigned count);
    void (*finish)(struct thread *thread, struct call_frame *frame, struct emission *emission);
    void (*leave)(struct thread *thread, struct call_frame *frame);
    void (*deferred)(struct thread *thread);
    bool (*next_slowly)(struct thread *thread); // emit_next_slowly
    void (*pending_add)(struct thread *thread, const struct pending *what);
    struct pending *(*pending_find)(struct thread *thread, const void *context, uint64_t id);
    bool (*pending_remove)(struct thread *thread, const void *context, uint64_t id, struct pending *out);
    void (*pending_emit)(struct thread *thread, const struct pending *what, int64_t result, uint64_t call_time);
    uint32_t (*intern)(unsigned kind, const uint8_t *fields, size_t len); // interned_number
    void (*describe)(int rank, int size, int local_rank, const char *library);
    _Atomic uint64_t **tick; // recorder.tick
    const bool *event_clock_uses_ns;
};

// The only function that a plugin exports. Returns its shims by slot, NULL for functions that it does not know.
typedef void *const *mpi_plugin_function(const struct mpi_core *core);
#define MPI_PLUGIN_SYMBOL "ioseer_mpi_plugin"

void *mpi_resolve(unsigned slot); // called by the stubs (cpu.c)

// Whether an exported name has a slot.
static inline bool mpi_is_name(const char *name)
{
    const char *rest = name[0] == 'P' ? name + 1 : name;
    return rest[0] == 'M' && rest[1] == 'P' && rest[2] == 'I' && rest[3] == '_';
}

bool mpi_is_here(void);
// Whether this is the real function behind the recorder's of that name.
bool mpi_is_real(const char *name, const void *function);
