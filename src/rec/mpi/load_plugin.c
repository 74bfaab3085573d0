#include "rec/mpi/core_interface.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "rec/fixed_text.h"
#include "rec/real.h"
#include "rec/recorder.h"
#include "rec/symbols.h"
#include "reduce/run.h"

static const char slot_names[] = MPI_NAMES(SYMBOLS_NAME);
static void *real_functions[MPI_SLOTS];
static void *mpi_library; // dlopen's handle of the object that defines MPI
static struct mpi_core core;

// --- finding the MPI

// Opens the object that defines PMPI_Init once more, so that it stays loaded. It may have been opened with RTLD_LOCAL,
// so dlsym cannot find it.
static void *open_library(void) {
    const struct link_map *object = NULL;
    return real_next("PMPI_Init", &object) ? dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

bool mpi_is_here(void) { return real_next("PMPI_Init", NULL) != NULL; }

static void *symbol(const char *name) {
    void *found = real.dlsym(RTLD_DEFAULT, name); // data symbols resolve to the program's copy
    if (!found && mpi_library) found = real.dlsym(mpi_library, name);
    return found;
}

// --- filling the slots

// A symbol of a library that was installed beside this one.
static const void *symbol_beside(const char *library, const char *name) {
    char path[PATH_MAX];
    struct fixed_text text = {path, sizeof path, 0};
    const char *slash = strrchr(recorder.library, '/');
    fixed_text_bytes(&text, recorder.library, slash ? (size_t)(slash - recorder.library) + 1 : 0);
    fixed_text_add(&text, "libioseer-");
    fixed_text_add(&text, library);
    fixed_text_add(&text, ".so");
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return opened ? real.dlsym(opened, name) : NULL;
}

static const struct reducer *open_reducer(void) {
    static const struct reducer own = {REDUCER_BUILD, NULL};
    const struct reducer *found = symbol_beside("reduce", REDUCER_SYMBOL);
    dlerror();
    return found && !memcmp(found, &own, offsetof(struct reducer, run)) ? found : NULL;
}

static void *const *open_plugin(void) {
    const char *flavour = real.dlsym(mpi_library, "ompi_mpi_comm_world") ? "openmpi" : "mpich";
    const struct mpi_plugin *plugin = symbol_beside(flavour, MPI_PLUGIN_SYMBOL);
    core = *ioseer_core();
    core.real = real_functions;
    core.symbol = symbol;
    core.reducer = open_reducer;
    if (plugin && mpi_same_build(&plugin->build)) return plugin->start(&core);
    spill_count_loss(LOSS_NO_PLUGIN, 1);
    return NULL;
}

static void fill_slots(void) {
    struct thread *thread = recorder_thread(); // sets `real`
    mpi_library = open_library();
    void **function = real_functions;
    for (const char *name = slot_names; *name; name = symbols_next_name(name)) *function++ = real_next(name, NULL);
    void *const *shims = thread && recorder.library && mpi_library ? open_plugin() : NULL;
    for (unsigned i = 0; i < MPI_SLOTS; i++) {
        void *target = shims && shims[i] && real_functions[i] ? shims[i] : real_functions[i];
        if (target) __atomic_store_n(&mpi_slots[i], target, __ATOMIC_RELEASE);
    }
    dlerror();
}

static void fill_slots_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_slots);
}

// A program with weak references to MPI finds the recorder's functions even if there is no MPI behind them.
static int missing(void) {
    enum { SOME_ERROR = 16 };
    return SOME_ERROR;
}

void *mpi_resolve(unsigned slot) {
    if (mpi_is_here()) fill_slots_once();
    return real_functions[slot] ? mpi_slots[slot] : (void *)missing;
}

bool mpi_is_real(const char *name, const void *function) {
    if (!mpi_is_here()) return false;
    fill_slots_once();
    void *const *real_function = real_functions;
    for (const char *at = slot_names; *at; at = symbols_next_name(at), real_function++) {
        if (strcmp(at, name) == 0) return *real_function == function;
    }
    return false;
}
