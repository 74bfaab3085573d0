// The real functions of a recorder that is linked into a program. See link.h.
#include "rec/real.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/program_file.h"
#include "base/settings.h"
#include "fmt/spill.h"
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
extern const uint32_t ioseer_linked[3];
_Static_assert(PROGRAM_NOTE_VERSION == SPILL_VERSION, "the note says what the recorder writes");
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define NOTE_TYPE TEXT(PROGRAM_NOTE_VERSION)
__asm__(".pushsection .note.ioseer, \"a\", %note\n"
        ".balign 4\n"
        ".globl ioseer_linked\n"
        "ioseer_linked:\n"
        ".long 2f - 1f, 0, " NOTE_TYPE "\n"
        "1:  .asciz \"" PROGRAM_NOTE_OWNER "\"\n"
        "2:  .balign 4\n"
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

// Whether the job's ioseer reads what this recorder writes. If not, it follows the program.
static bool is_readable(void) {
    const char *version = getenv(SETTING_SPILL_VERSION);
    return !version || strtoul(version, NULL, 10) == ioseer_linked[2];
}

// A program that gains rights by its start must not write files where its user wants them.
bool real_resolve(void) {
    return is_readable() && !has_preload(&(struct link_map){0}) && !getauxval(AT_SECURE) && !getenv(SETTING_FOLLOW_ALL);
}

const char *real_path(void) { return NULL; }

static long missing(void) { return -ENOSYS; }

void *real_find_late(void **slot, const char *name) {
    (void)slot, (void)name;
    return (void *)missing;
}

EXPORT const struct mpi_core *ioseer_link_core(const void *pmpi_init) {
    struct link_map map = {0};
    if (!has_preload(&map)) return recorder_thread() ? ioseer_core() : NULL;
    const struct mpi_core *(*core)(void) = NULL;
    const struct symbols in = symbols_of(&map);
    *(void **)&core = symbols_find(&in, MPI_CORE_SYMBOL, symbols_hash(MPI_CORE_SYMBOL));
    if (!core || symbols_find(&in, "PMPI_Init", symbols_hash("PMPI_Init")) == pmpi_init) return NULL;
    return mpi_same_build(&core()->build) && core()->thread() ? core() : NULL;
}
