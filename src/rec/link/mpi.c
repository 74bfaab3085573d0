// The MPI side of a recorder that is linked into a program: the plugin and the functions of the MPI that it is linked
// with. See link.h.
#include "rec/link/link.h"

#include <pthread.h>

#include "rec/mpi/plugin.h"

#define LINKED(name) extern char linked_##name[] __asm__("__real_" #name);
#include "mpi_linked.h"
#undef LINKED

static void *const real_functions[MPI_SLOTS] = {
#define LINKED(name) [SLOT_##name] = linked_##name,
#include "mpi_linked.h"
#undef LINKED
};

extern const struct mpi_plugin ioseer_plugin;

static void *symbol(const char *name) {
    static const struct {
        const char *name;
        void *address;
    } rows[] = {
#define ROW(name) {"PMPI_" #name, (void *)PMPI_##name},
        MPI_ASKED(ROW)
#undef ROW
#ifdef OPEN_MPI
#define ROW(name) {#name, &name},
            ROW(ompi_mpi_comm_world) ROW(ompi_mpi_comm_self) ROW(ompi_mpi_comm_null) ROW(ompi_mpi_group_null)
                ROW(ompi_mpi_byte) ROW(ompi_mpi_datatype_null) ROW(ompi_mpi_info_null) ROW(ompi_request_null)
                    ROW(ompi_mpi_errors_return)
#undef ROW
#endif
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0) return rows[i].address;
    }
    return NULL;
}

static void fill_slots(void) {
    static struct mpi_core core;
    const struct mpi_core *common = ioseer_link_core(real_functions[SLOT_PMPI_Init]);
    void *const *shims = NULL;
    if (common) {
        core = *common;
        core.real = real_functions;
        core.symbol = symbol;
        shims = ioseer_plugin.start(&core);
    }
    for (unsigned i = 0; i < MPI_SLOTS; i++) {
        void *target = shims && shims[i] && real_functions[i] ? shims[i] : real_functions[i];
        if (target) __atomic_store_n(&mpi_slots[i], target, __ATOMIC_RELEASE);
    }
}

void *mpi_resolve(unsigned slot) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_slots);
    return mpi_slots[slot];
}
