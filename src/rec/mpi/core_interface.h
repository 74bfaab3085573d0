// One recorder for any MPI. The core knows none: it exports MPI_x and PMPI_x as jumps through a table of slots. The
// first call finds out which MPI the process has loaded, opens the plugin that was compiled for it and fills the slots,
// with the plugin's shims or with the functions themselves.
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

// What the core does for a plugin, which must not link to it: nothing but the table of calls may be exported.
struct mpi_core {
    void *const *real;                 // by slot: the next function of that name
    void *(*symbol)(const char *name); // any symbol of the MPI library, data too
    void *(*alloc)(size_t bytes);      // zeroed, never given back, and nothing that changes the program's heap
    struct thread *(*thread)(void);
    struct file *(*file)(const char *path); // entry of a name; NULL where it is left out
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

// A plugin's one exported function: its shims by slot, NULL for functions it does not know.
typedef void *const *mpi_plugin_function(const struct mpi_core *core);
#define MPI_PLUGIN_SYMBOL "ioseer_mpi_plugin"

void *mpi_resolve(unsigned slot); // called by the stubs (cpu.c)

// Whether a name has a slot, for names that the recorder exports.
static inline bool mpi_is_name(const char *name)
{
    const char *rest = name[0] == 'P' ? name + 1 : name;
    return rest[0] == 'M' && rest[1] == 'P' && rest[2] == 'I' && rest[3] == '_';
}

bool mpi_is_here(void);
// Whether this is the function behind our own of that name.
bool mpi_is_real(const char *name, const void *function);
