// The real functions of a recorder that is linked into a program. See link.h.
#include "rec/real.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/program_file.h"
#include "base/settings.h"
#include "rec/link/link.h"
#include "rec/shims.h"
#include "rec/symbols.h"

const enum process_via real_via = VIA_LINK;

// Weak: a program may lack the library of a function. The options of the linker name those of libc.
#define DECLARE(name) extern char linked_##name[] __asm__("__real_" #name) __attribute__((weak));
REAL_FUNCTIONS(DECLARE, DECLARE)
#undef DECLARE

#define FILL(name) .name = (void *)linked_##name,
struct real_functions real = {REAL_FUNCTIONS(FILL, FILL)};
#undef FILL

// The options name this symbol, so that the recorder is linked even if the program calls none of its functions. The
// note tells whoever starts the program that it records itself (base/program_file.h).
extern const char ioseer_linked;
__asm__(".pushsection .note.ioseer, \"a\", %note\n"
        ".balign 4\n"
        ".long 2f - 1f, 0, " PROGRAM_NOTE_TYPE "\n"
        "1:  .asciz \"" PROGRAM_NOTE_OWNER "\"\n"
        "2:  .balign 4\n"
        ".globl ioseer_linked\n"
        "ioseer_linked:\n"
        ".popsection\n");

static int find_preload(struct dl_phdr_info *info, size_t bytes, void *found) {
    static const char name[] = "/libioseer.so";
    struct link_map *map = found;
    (void)bytes;
    size_t len = info->dlpi_name ? strlen(info->dlpi_name) : 0;
    if (len < sizeof name || strcmp(info->dlpi_name + len - (sizeof name - 1), name) != 0) return 0;
    map->l_addr = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) map->l_ld = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    return 1;
}

static bool has_preload(struct link_map *map) { return dl_iterate_phdr(find_preload, map); }

// A program that gains rights by its start must not write files where its user wants them.
bool real_resolve(void) {
    return !has_preload(&(struct link_map){0}) && !getauxval(AT_SECURE) && !getenv(SETTING_FOLLOW_ALL);
}

static long missing(void) { return -ENOSYS; }

void *real_find_late(void **slot, const char *name) {
    (void)slot, (void)name;
    return (void *)missing;
}

EXPORT const struct mpi_core *ioseer_link_core(const void *pmpi_init) {
    struct link_map map = {0};
    if (!has_preload(&map)) return recorder_thread() ? ioseer_core() : NULL;
    const struct mpi_core *(*core)(void) = NULL;
    *(void **)&core = symbols_find(&map, MPI_CORE_SYMBOL, symbols_hash(MPI_CORE_SYMBOL));
    if (!core || symbols_find(&map, "PMPI_Init", symbols_hash("PMPI_Init")) == pmpi_init) return NULL;
    return mpi_same_build(&core()->build) && core()->thread() ? core() : NULL;
}
