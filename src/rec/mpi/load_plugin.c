#include "rec/mpi/core_interface.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "fmt/fields.h"
#include "rec/fixed_text.h"
#include "rec/probe/probe.h"
#include "rec/real.h"
#include "rec/recorder.h"

extern void *mpi_slots[MPI_SLOTS]; // cpu.c: the stubs jump through these

static const char *const slot_names[MPI_SLOTS] = {
#define MPI_NAME(name) #name,
    MPI_NAMES(MPI_NAME)
#undef MPI_NAME
};
static void *real_functions[MPI_SLOTS];
static void *mpi_library; // dlopen's handle of the object that defines MPI

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

// --- services

static struct file *file_of(const char *path) {
    bool left_out;
    return probe_file(AT_FDCWD, path, &left_out);
}

static void describe(int rank, int size, int local_rank, const char *library) {
    uint8_t buffer[512];
    struct fields_out out = {.at = buffer, .end = buffer + sizeof buffer};
    struct thread *thread = recorder_thread();
    if (!thread || !emit_claim(thread)) return;
    fields_begin(&out, RECORD_PROCESS);
    fields_number(&out, PROCESS_RANK, (uint64_t)rank + 1);
    fields_number(&out, PROCESS_MPI_SIZE, (uint64_t)size);
    if (local_rank >= 0) fields_number(&out, PROCESS_LOCAL_RANK, (uint64_t)local_rank + 1);
    fields_string(&out, PROCESS_MPI, library);
    fields_end(&out);
    if (!out.overflow) spill_record(buffer, (size_t)(out.at - buffer));
    emit_unclaim(thread);
}

static void record(unsigned kind, const uint8_t *fields, size_t len) {
    enum { HEAD_BYTES = 32 };
    struct fields_out out;
    struct thread *thread = recorder_thread();
    if (!thread || thread->trace_ended || !recorder.trace_cap || !emit_claim(thread)) return;
    if (spill_begin_record(&out, HEAD_BYTES + len)) {
        fields_begin(&out, kind);
        fields_copy(&out, (struct fields_in){.at = fields, .end = fields + len});
        fields_end(&out);
        spill_end_record(&out);
    } else {
        spill_count_loss(LOSS_TABLE_FULL, 1);
    }
    emit_unclaim(thread);
}

static struct thread *current(void) { return recorder_thread(); }

static const struct mpi_core core = {.real = real_functions,
                                     .symbol = symbol,
                                     .thread = current,
                                     .file = file_of,
                                     .describe = describe,
                                     .record = record,
                                     .tick = &recorder.tick,
                                     .event_clock_uses_ns = &event_clock_uses_ns,
#define CORE_FUNCTION(name) .name = name,
                                     CORE_FUNCTIONS(CORE_FUNCTION)
#undef CORE_FUNCTION
};

// --- filling the slots

static void *const *open_plugin(void) {
    const char *flavour = real.dlsym(mpi_library, "ompi_mpi_comm_world") ? "openmpi" : "mpich";
    char path[PATH_MAX];
    struct fixed_text text = {path, sizeof path, 0};
    const char *slash = strrchr(recorder.library, '/');
    fixed_text_bytes(&text, recorder.library, slash ? (size_t)(slash - recorder.library) + 1 : 0);
    fixed_text_add(&text, "libioseer-");
    fixed_text_add(&text, flavour);
    fixed_text_add(&text, ".so");
    static const struct mpi_build build = MPI_BUILD;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct mpi_plugin *plugin = library ? real.dlsym(library, MPI_PLUGIN_SYMBOL) : NULL;
    if (plugin && !memcmp(&plugin->build, &build, sizeof build)) return plugin->start(&core);
    spill_count_loss(LOSS_NO_PLUGIN, 1);
    return NULL;
}

static void fill_slots(void) {
    struct thread *thread = recorder_thread(); // sets `real`
    mpi_library = open_library();
    for (unsigned i = 0; i < MPI_SLOTS; i++) real_functions[i] = real_next(slot_names[i], NULL);
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
    for (unsigned i = 0; i < MPI_SLOTS; i++) {
        if (strcmp(slot_names[i], name) == 0) return real_functions[i] == function;
    }
    return false;
}
